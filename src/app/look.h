/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look: observe, correlate, decide. It gives an audit; nothing is signalled here.
 */
#ifndef REAPER_APP_LOOK_H
#define REAPER_APP_LOOK_H

#include "app/cli.h"
#include "app/config.h"
#include "correlate/exits.h"
#include "correlate/growth.h"
#include "correlate/history.h"
#include "correlate/ledger.h"
#include "correlate/tree.h"
#include "model/audit.h"
#include "observe/cpu_clock.h"
#include "observe/markers.h"
#include "observe/processes.h"
#include "observe/room.h"
#include "observe/self.h"
#include "observe/sockets.h"

/* A process that is pinned already: its evidence is read through that very directory. */
struct look_pin {
	struct ident id;
	int dirfd; /* borrowed */
};

/* What is kept between looks. */
struct look {
	const struct config *config;       /* borrowed; may be exchanged between looks */
	struct ident named[CLI_HOSTS_MAX]; /* --host; start 0 until the first look has found it */
	size_t named_count;
	pid_t living[CLI_HOSTS_MAX]; /* those that the last census saw */
	size_t living_count;
	pid_t missing; /* the --host for which a look failed */
	struct self self;
	struct processes *processes;
	struct sockets *sockets; /* NULL: no netlink, tables by /proc only */
	struct cpu_clock *clock;
	struct markers *markers;
	struct ledger *ledger;
	struct markers_counts marker_counts;
	bool logs_read; /* into this ledger, once or more */
	struct history history;
	struct growth growth;
	struct room_mounts mounts; /* where cgroups are, once somebody asked */
	bool mounts_known;
	struct exits exits;       /* filled by watch alone */
	struct argv_cache *argvs; /* owned array */
	size_t argv_count;
	size_t argv_sorted; /* of these, by identity */
	size_t argv_room;
	struct host_runs *runs; /* owned array: when hosts were seen running */
	size_t run_count;
	struct tree_daemon *daemons; /* owned array: tree_daemons() of the last look */
	size_t daemon_count;
	struct ident *helpers; /* owned array: tree_helpers() of it */
	size_t helper_count;
	const struct look_pin *pins; /* for the next look; borrowed; sorted by pid */
	size_t pin_count;
	int stop_fd; /* borrowed; readable when we are told to stop; -1: nobody tells */
};

/**
 * Opens everything that looks need. The history is empty.
 *
 * @return 0; -ENOENT: no /proc; other negative errno. *ret is owned by the caller (look_close()).
 */
int look_open(const struct config *config, const pid_t *hosts, size_t host_count, struct look *ret)
	_must_check_;

/**
 * Takes a look at everything and decides.
 *
 * @param ret	filled; the caller frees it with audit_done().
 * @return 0; -ESRCH: a --host is not there; -EACCES: a --host may not be read; -ENOMEM, -EIO.
 */
int look_take(struct look *l, struct audit *ret) _must_check_;

/**
 * Only says who is who right now, in all trees; nobody is looked at, and no verdict is given.
 *
 * @return as look_take().
 */
int look_who(struct look *l, struct audit *ret) _must_check_;

/**
 * Takes one look, and where there is a worker or a single waits and takes another, so that progress between them can
 * be seen.
 *
 * @param sample_ms	0: one look only.
 * @return as look_take(); -ECANCELED: told to stop.
 */
int look_twice(struct look *l, uint64_t sample_ms, struct audit *ret) _must_check_;

/** Waits. @return false: told to stop. */
bool look_pause(const struct look *l, uint64_t ms);

/** @return the directory of a pinned process, borrowed; -1: it is not among l->pins. */
int look_pinned(const struct look *l, struct ident id);

/** Takes another configuration (reload): windows start afresh. @return 0; -ENOMEM: nothing changed. */
int look_reconfigure(struct look *l, const struct config *config) _must_check_;

/** Closes everything. */
void look_close(struct look *l);

#endif

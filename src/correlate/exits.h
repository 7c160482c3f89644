/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of processes, by group: the workers of one daemon, the daemons of one host and class, the
 * singles of one class and role of one user. Which of them are crashes, how many lie within
 * crash_window, and which new single stands in the place of one that ended. Pure: times are the boot
 * clock's, handed in.
 */
#ifndef REAPER_CORRELATE_EXITS_H
#define REAPER_CORRELATE_EXITS_H

#include "base/macro.h"
#include "model/audit.h"
#include "model/ending.h"

enum {
	EXITS_GROUPS_MAX = 256, /* the one that was touched longest ago makes room */
	EXITS_RESTARTS_MAX = 32,
	EXITS_GONE_MAX = 16, /* singles of a group whose successor has not been seen */
};

/* Whose ends are counted together. */
struct exits_key {
	enum role role; /* ROLE_WORKER, ROLE_DAEMON or ROLE_SINGLE */
	uid_t uid;
	char class_name[CLASS_NAME_MAX];
	char label[CLASS_NAME_MAX]; /* of singles; "" */
	struct ident owner; /* of workers their daemon, of daemons their host; pid 0: none */
};

/* By what a successor is known: the same argv, and the same parent or the same cgroup. */
struct exits_origin {
	uint64_t argv_hash;   /* 0: not known */
	struct ident parent;  /* pid 0: not known */
	uint64_t cgroup_hash; /* 0: not known, or the root, in which everybody is */
};

/* A single that ended, and whose successor has not been seen. */
struct exits_gone {
	struct ident id;
	struct exits_origin origin;
	uint64_t alive_ms; /* when it was last known to live */
	struct ending ending;
};

struct exits_restart {
	uint64_t at_ms; /* when the successor began */
	bool unseen;    /* how the one before it ended was not seen */
};

struct exits_group {
	struct exits_key key;
	struct crash crashes[CRASHES_MAX]; /* by signal; a ring */
	uint64_t crash_count; /* ever; the newest is at (crash_count - 1) % CRASHES_MAX */
	struct exits_restart restarts[EXITS_RESTARTS_MAX]; /* a ring */
	uint64_t restart_count;
	struct exits_gone gone[EXITS_GONE_MAX]; /* oldest first */
	size_t gone_count;
	bool told; /* of its loop */
	uint64_t touched_ms;
};

struct exits {
	struct exits_group *groups; /* owned */
	size_t count;
	size_t room;
};

/** @return the key of a daemon's own group: the daemons of its host and class. */
struct exits_key exits_key_daemon(const struct audit *a, const struct daemon *d);

/** @return the key of the group of a daemon's workers. */
struct exits_key exits_key_workers(const struct audit *a, const struct daemon *d);

/** @return the key of a worker's or single's group. */
struct exits_key exits_key_subject(const struct audit *a, const struct subject *s);

/** @return a hash of bytes that is never 0. */
uint64_t exits_hash(const char *bytes, size_t len);

/**
 * Tells whether an end is a crash: by any signal but those by which people and programs end others, or
 * talk to them. Whom this reaper ended itself is not asked about.
 */
bool exits_is_crash(enum role role, struct ending ending);

/**
 * Remembers a crash. Those that SIGKILL ends together are one: a container that is torn down, or the
 * OOM killer's whole group.
 *
 * @return 1; 0: it is one with the crash before; -ENOMEM.
 */
int exits_note(struct exits *x, const struct exits_key *key, struct ending ending, uint64_t at_ms)
	_must_check_;

/**
 * Remembers a single that ended, so that its successor is known.
 *
 * @param gone	whose alive_ms is not later than its end.
 * @return 0; -ENOMEM.
 */
int exits_gone(struct exits *x, const struct exits_key *key, const struct exits_gone *gone,
	       uint64_t now_ms) _must_check_;

/**
 * Finds out whether a single stands in the place of one that ended; that one is forgotten then, and a
 * restart remembered. Ask again at each look as long as it does not.
 *
 * @param began_ms	when it began, by the boot clock.
 * @return true: it does.
 */
bool exits_born(struct exits *x, const struct exits_key *key, const struct exits_origin *origin,
		uint64_t began_ms, uint64_t now_ms);

/**
 * Adds up what of a group lies within the window.
 *
 * @return true if there is anything; *ret is filled whatever the result.
 */
bool exits_ask(const struct exits *x, const struct exits_key *key, uint64_t now_ms,
	       uint64_t window_ms, struct crashes *ret);

/**
 * Tells whether a group's loop is news: once when it begins, and again only after it was none.
 */
bool exits_tell(struct exits *x, const struct exits_key *key, uint64_t now_ms, uint64_t window_ms);

/** Frees what it holds and makes it empty. */
void exits_done(struct exits *x);

#endif

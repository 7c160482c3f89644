/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is who in one census: hosts, their daemons, the daemons' workers, the workers' helpers, and
 * those that lost their daemon. Pure.
 */
#ifndef REAPER_CORRELATE_TREE_H
#define REAPER_CORRELATE_TREE_H

#include "base/macro.h"
#include "model/audit.h"

/* Whose child somebody was seen to be before its daemon died. */
struct tree_memory {
	struct ident id;
	struct ident daemon;
	struct ident host;
	int class_index;
};

/* A daemon as the last look at it saw it. When it dies it may leave workers behind that no look ever saw. */
struct tree_daemon {
	struct ident id;
	struct ident
		host; /* pid 0: not known, or the daemon is not who it seems: nobody is given to it */
	pid_t sid;
	uid_t uid;
	int class_index; /* -1: not known any more, and nobody is given to its host */
	/* When the youngest process was born of the first look that missed it, in clock ticks since boot: who came
	 * later is no child of it. UNKNOWN_U64: none has missed it. */
	uint64_t last;
};

struct tree_input {
	const pid_t *named_hosts; /* --host: only these; none: every host */
	size_t named_count;
	const struct tree_memory *memory; /* sorted by identity */
	size_t memory_count;
	const struct tree_daemon *daemons; /* sorted by pid */
	size_t daemon_count;
	const struct ident
		*helpers; /* sorted: forks that were seen below a worker, or left behind by one */
	size_t helper_count;
};

/**
 * Tells whether a process' argv must be read before tree_build(): those that may be a daemon (they
 * exec'ed, and lead their group or live below a possible host), and those that may have lost theirs;
 * where there is a class of singles, every process that exec'ed.
 *
 * @return true if it must be read.
 */
bool tree_wants_argv(const struct audit *a, const struct tree_input *in, const struct proc *p);

/**
 * Finds hosts, daemons, workers, singles, helpers and lost helpers in a->snapshot by a->classes.
 *
 * @param a	its snapshot and classes are filled; hosts, daemons and subjects are filled here.
 * @return 0; -ENOMEM.
 */
int tree_build(struct audit *a, const struct tree_input *in) _must_check_;

/**
 * Tells whether a process is a host: named by --host, or called as one of a class' hosts.
 *
 * @param class_index	whose hosts count; -1: any class'.
 */
bool tree_is_host(const struct audit *a, const struct tree_input *in, const struct proc *p,
		  int class_index);

/**
 * Says which process is the nearest ancestor that is a host: named by --host, or called as one of a
 * class' hosts.
 *
 * @param class_index	whose hosts count; -1: any class'.
 * @return the host's record, or NULL.
 */
const struct proc *tree_host_above(const struct audit *a, const struct tree_input *in,
				   const struct proc *p, int class_index);

/** @return true for a dead process that waits for its parent, or a thread of the kernel. */
bool tree_is_nothing(const struct proc *p);

/** @return true if its process group has lost its leader, which for a worker is its daemon. */
bool tree_leader_gone(const struct audit *a, const struct proc *p);

/** @return the first class whose daemon this argv makes, or -1. */
int tree_class_of(const struct audit *a, const struct proc *p);

/** @return the first class of singles to which this argv makes its process belong, or -1. */
int tree_single_class_of(const struct audit *a, const struct proc *p);

/** @return the index of a host, or -1. */
int tree_find_host(const struct audit *a, struct ident id);

/**
 * Adds a host that has no daemon, unless it is listed already. Indices of other hosts stay.
 *
 * @param p	its record in the snapshot.
 * @return its index; -ENOMEM.
 */
int tree_add_host(struct audit *a, const struct proc *p) _must_check_;

/**
 * Says which daemons the next look has to know: those that are there, and of those before them each that has
 * gone as long as anybody is left in its group.
 *
 * @param ret	room for a->daemon_count + before_count; sorted by pid.
 * @return how many.
 */
size_t tree_daemons(const struct audit *a, const struct tree_daemon *before, size_t before_count,
		    struct tree_daemon *ret);

/**
 * Says which processes the next look must not take for workers, whoever dies until then: a worker's forks look
 * just as workers do that lost their daemon.
 *
 * @param before	sorted; those that are gone are left out.
 * @param ret		room for a->subject_count + before_count; sorted.
 * @return how many.
 */
size_t tree_helpers(const struct audit *a, const struct ident *before, size_t before_count,
		    struct ident *ret);

/**
 * Tells whether a process is an ancestor of another.
 *
 * @return true if ancestor is met on the way from pid up; pid itself does not count.
 */
bool tree_is_ancestor(const struct snapshot *s, pid_t ancestor, pid_t pid);

/**
 * Cuts an audit to some hosts' trees (--host, explain): other hosts, daemons and subjects are removed,
 * and what they hold is freed. A subject whose host has gone stays if it was one of these, and so does
 * its daemon.
 *
 * @param keep_hostless	whether daemons and subjects of no known host stay.
 */
void tree_keep_hosts(struct audit *a, const struct ident *hosts, size_t count, bool keep_hostless);

#endif

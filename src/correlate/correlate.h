/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that is known of one worker, put together into struct facts; and what of it is kept for
 * the next look. Pure.
 */
#ifndef REAPER_CORRELATE_CORRELATE_H
#define REAPER_CORRELATE_CORRELATE_H

#include "correlate/history.h"
#include "correlate/tree.h"

struct correlate_input {
	const struct policy *policy;
	const struct audit *audit;
	const struct tree_input *tree;
	const struct history_entry *before; /* what earlier looks left, or NULL */
	pid_t self;                         /* this program */
	bool is_protected;                  /* a rule of [protect] keeps the worker */
};

/**
 * Marks every process that is an ancestor of this program or of a worker (proc.above), and of whatever may be
 * a daemon or a worker, since its argv could not be read.
 *
 * @param self	this program.
 */
void correlate_mark_ancestors(struct audit *a, pid_t self);

/**
 * Tells what SIGTERM does to a process (signal(7)).
 *
 * @return true: it ends it; false: it is caught, ignored or blocked, or nobody knows.
 */
bool correlate_term_is_default(const struct evidence *e);

/**
 * Fills s->facts from its evidence, socket and markers and from the history.
 */
void correlate_facts(const struct correlate_input *in, struct subject *s);

/**
 * Keeps for the next look what this one showed: counters, identity, the wait and since when, and since
 * when each fence has held. A byte, or as much CPU as idle_cpu, begins the wait anew.
 *
 * @param holds	FENCE_COUNT flags: which fences hold now.
 * @param e	the worker's entry, updated.
 */
void correlate_remember(const struct policy *policy, const struct subject *s, const bool *holds,
			uint64_t now_ms, struct history_entry *e);

/**
 * Tells whether the JVM that started a daemon has exited: the way up ends without a host.
 *
 * @return TRI_YES; TRI_NO: a host is above; TRI_UNKNOWN: the way up is broken (a parent was not seen).
 */
enum tri correlate_host_gone(const struct audit *a, const struct tree_input *in,
			     const struct subject *s);

/**
 * Tells whether two looks at one worker, moments apart, agree in everything that can justify a kill.
 *
 * @return NULL if they do, else a phrase that names what differs.
 */
const char *correlate_difference(const struct subject *first, const struct subject *second);

#endif

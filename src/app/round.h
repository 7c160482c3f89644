/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One acting round, as sweep takes it once and watch again and again: look, plan, reap, and the
 * outcomes to audit log, metrics and output.
 */
#ifndef REAPER_APP_ROUND_H
#define REAPER_APP_ROUND_H

#include "app/cli.h"
#include "app/reap.h"
#include "report/metrics.h"

struct round {
	const struct options *options; /* borrowed */
	const struct config *config;   /* borrowed */
	struct look *look;             /* borrowed */
	struct audit_log log;
	int log_error; /* it could not be opened anew: nobody is ended; 0 */
	struct metrics metrics;
	struct audit audit; /* owned: the look that the plan is made of */
	bool audit_taken;
	struct reap reap;
	bool reaping;                  /* something still has to end */
	struct action_record *records; /* owned: of this round */
	size_t record_count;
	size_t record_room;
	struct buf outcomes; /* lines for the audit log that wait for their batch */
	size_t held;         /* workers that the limits hold back */
	bool announce;       /* print one line per action */
	int error;           /* an outcome could not be written, a helper not be ended; 0 */
};

/**
 * Opens the audit log: without it nothing is ended.
 *
 * @return 0; negative errno.
 */
int round_open(const struct options *o, const struct config *c, struct look *l, struct round *ret)
	_must_check_;

/**
 * Looks: a round begins with it.
 *
 * @param sample_ms	between two looks; 0: one look.
 * @return 0; negative errno: r->audit_taken is false.
 */
int round_look(struct round *r, uint64_t sample_ms) _must_check_;

/**
 * Plans, and begins to end what is due by the look. Some may be gone before it returns: who tells of verdicts
 * does so before. In a dry run it does nothing.
 *
 * @return 0; negative errno of the kill path: nothing was signalled.
 */
int round_begin(struct round *r) _must_check_;

/**
 * Goes on as far as it can without waiting, and writes the outcomes of what has ended.
 *
 * @return true: something still has to end.
 */
bool round_step(struct round *r);

/** Says on stderr why round_begin() ended nobody. */
void round_say_failed(const struct round *r, int err);

/** Breaks off: what is alive is reported as held. */
void round_stop(struct round *r, const char *why);

/** @return what is left leaking: due workers that are neither gone nor, before a signal, spared. */
size_t round_left(const struct round *r);

/**
 * Removes the marker logs of hosts and daemons that are gone, marker_keep after their last record; of
 * those in another pid namespace the last record alone tells. Not in a dry run.
 */
void round_clean_markers(struct round *r);

/** Forgets the round; the audit log and the counters stay. */
void round_end(struct round *r);

/** Closes everything. */
void round_close(struct round *r);

#endif

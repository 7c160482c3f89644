/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a host was quiet (ran no task), when its beats came, and when they show that it ran. All times are
 * those of its records; what does not fit is forgotten so that less is proven.
 */
#ifndef REAPER_CORRELATE_LEDGER_TIMES_H
#define REAPER_CORRELATE_LEDGER_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

enum {
	LEDGER_GAPS_MAX = 32,
	LEDGER_RUNS_MAX = 32,
	LEDGER_BEATS_MAX = 512,
	LEDGER_BEATS_APART_MS = 10 * 1000, /* two beats that prove */
	LEDGER_IDLE_EXTRA_MS =
		40 * 1000,             /* beyond pool_timeout: a tick of 10 s, and a gap of 20 s */
	LEDGER_RUN_GAP_MS = 20 * 1000, /* a host is seen running at least so often */
};

/* From a moment up to another; UNKNOWN_U64 for `to`: it has not ended. */
struct ledger_span {
	uint64_t from;
	uint64_t to;
};

/* Spans without a task, oldest first; only those that can hold a proof. */
struct ledger_gaps {
	uint32_t count;
	struct ledger_span gap[LEDGER_GAPS_MAX];
};

/** Forgets all gaps; a quiet host begins a new one. */
void ledger_gaps_reset(struct ledger_gaps *g, bool quiet, uint64_t from);

/** Takes a span out: some task ran in it. */
void ledger_gaps_cut(struct ledger_gaps *g, uint64_t from, uint64_t to);

/** The last task has ended: begins a gap, unless one goes on. */
void ledger_gaps_quiet(struct ledger_gaps *g, uint64_t from);

/**
 * Finds the first moment, from a moment on, that lies in a gap.
 *
 * @param ret_end	when that gap ends.
 * @return the moment; UNKNOWN_U64: there is none.
 */
uint64_t ledger_gaps_seek(const struct ledger_gaps *g, uint64_t from, uint64_t *ret_end);

struct ledger_beat {
	uint64_t ms;
	uint64_t begun_ms; /* its listing began no earlier */
};

/* The beats of one log. */
struct ledger_beats {
	struct ledger_beat
		*beat; /* owned; complete ones, oldest first, the older half thinned out */
	size_t count, room;
	uint32_t run_count;
	struct ledger_span run[LEDGER_RUNS_MAX]; /* beats at most LEDGER_RUN_GAP_MS apart */
};

/**
 * Adds a beat, later than or at the time of the one before.
 *
 * @return 0; -LEDGER_ENOMEM.
 */
int ledger_beats_add(struct ledger_beats *b, uint64_t ms, uint64_t begun_ms, bool complete)
	_must_check_;

/**
 * Finds the first complete beat whose listing began after a moment.
 *
 * @return the beat, owned by the list; NULL: there is none.
 */
const struct ledger_beat *ledger_beats_begun_after(const struct ledger_beats *b, uint64_t ms);

/** Finds the first complete beat at or after a moment. @return as ledger_beats_begun_after(). */
const struct ledger_beat *ledger_beats_from(const struct ledger_beats *b, uint64_t ms);

/**
 * Says up to when beats show that the host ran on from a moment.
 *
 * @return the last beat that follows without a long gap; ms itself: none does.
 */
uint64_t ledger_beats_reach(const struct ledger_beats *b, uint64_t ms);

/** @return the first time after a moment at which a beat shows that it ran; UNKNOWN_U64: none does. */
uint64_t ledger_beats_seen_after(const struct ledger_beats *b, uint64_t ms);

/** Forgets all beats; the memory is kept. */
void ledger_beats_clear(struct ledger_beats *b);

/** Frees what it owns. */
void ledger_beats_done(struct ledger_beats *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts to an ordered, capped list. Pure.
 */
#ifndef REAPER_DECIDE_PLAN_H
#define REAPER_DECIDE_PLAN_H

#include "base/macro.h"
#include "model/audit.h"

struct plan {
	size_t *items; /* owned; indices of subjects in the order in which they are ended */
	size_t count;  /* of these are to be ended now */
	size_t held;   /* stand behind them and are held back: the breaker is open */
};

/**
 * Lists the workers and singles that are due: longest blocked first, then largest, then by pid.
 *
 * @param kills_last_hour	counted against limits->per_hour.
 * @param ret	filled; freed by the caller with plan_done().
 * @return 0; -ENOMEM.
 */
int plan_make(const struct audit *a, const struct limits *limits, uint32_t kills_last_hour,
	      struct plan *ret) _must_check_;

/** Frees what it holds and makes it empty. */
void plan_done(struct plan *p);

#endif

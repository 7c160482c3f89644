/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker does, between two looks and since it last ran: progress, and for how long its main
 * thread has been in one same wait. Pure.
 */
#ifndef REAPER_CORRELATE_ACTIVITY_H
#define REAPER_CORRELATE_ACTIVITY_H

#include "correlate/correlate.h"

/**
 * Fills what a worker does: asleep, wait, wait_forever, age_ms, cpu_ppm, progress, blocked_ms, silent_ms.
 *
 * @param in	in->before: what the look before left; NULL: this is the first.
 */
void activity_facts(const struct correlate_input *in, const struct subject *s, struct facts *f);

/**
 * Keeps for the next look the counters, and the wait with when it began. A byte, or as much CPU as
 * idle_cpu, begins the wait anew.
 *
 * @param now_ms	boot clock, not before s->ev.taken_ms.
 */
void activity_remember(const struct policy *policy, const struct subject *s, uint64_t now_ms,
		       struct history_entry *e);

#endif

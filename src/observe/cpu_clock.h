/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's clock of each CPU, against which se.exec_start of a sleeping thread tells how long
 * ago it last ran. It lags behind uptime by each CPU's own interrupt and steal time, so "now" must
 * come from the CPU on which the thread last ran: one pin of ourselves per CPU and sweep.
 */
#ifndef REAPER_OBSERVE_CPU_CLOCK_H
#define REAPER_OBSERVE_CPU_CLOCK_H

#include <stdint.h>

#include "base/macro.h"

struct cpu_clock;

/**
 * Makes a clock with no readings.
 *
 * @return 0; -ENOMEM. *ret_clock is owned by the caller.
 */
int cpu_clock_new(struct cpu_clock **ret_clock) _must_check_;

/** Forgets all readings: call once at the start of each look. */
void cpu_clock_reset(struct cpu_clock *clock);

/**
 * Says how long ago a thread last ran.
 *
 * Pins the caller to that CPU for a moment at the first question about it and restores its affinity.
 * Where that is refused, the largest exec_start seen on that CPU stands in. A reading counts for
 * 250 ms and is never taken forward (the scheduler's clock leaves out interrupts, steal time and
 * suspend): the answer may be too short by that much, never too long.
 *
 * @param cpu		field 39 of the thread's stat.
 * @param exec_start_us	se.exec_start of its sched file in microseconds; 0: unknown.
 * @return milliseconds; UNKNOWN_U64 if it cannot be told.
 */
uint64_t cpu_clock_since_ms(struct cpu_clock *clock, unsigned cpu, uint64_t exec_start_us);

/** Frees it; NULL is allowed. */
void cpu_clock_free(struct cpu_clock *clock);

/**
 * Reads the CPU time of a whole process without opening a file (clock_gettime(2) on its CPU clock).
 *
 * @return nanoseconds; UNKNOWN_U64.
 */
uint64_t cpu_clock_process_ns(int pid);

#endif

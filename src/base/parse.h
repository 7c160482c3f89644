/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, durations and percentages from users and the kernel: the whole string or an error.
 */
#ifndef REAPER_BASE_PARSE_H
#define REAPER_BASE_PARSE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

/**
 * Reads decimal digits and nothing else.
 *
 * @return 0; -EINVAL: empty, a sign, a blank, a stranger; -ERANGE: above max.
 */
int parse_u64(const char *s, uint64_t max, uint64_t *ret) _must_check_;

/**
 * Reads a process number: 1 to 4194304 (the kernel's PID_MAX_LIMIT).
 *
 * @return 0; -EINVAL; -ERANGE.
 */
int parse_pid(const char *s, pid_t *ret) _must_check_;

/**
 * Reads a duration: digits and ms, s, m, h or d; 0 only as `0s`.
 *
 * @param ret_ms	milliseconds.
 * @return 0; -EINVAL: no unit, a sign, a stranger; -ERANGE: more than 100 years.
 */
int parse_duration(const char *s, uint64_t *ret_ms) _must_check_;

/**
 * Reads a percentage with at most four decimals and a `%` behind it.
 *
 * @param ret_ppm	parts per million (1% is 10000).
 * @return 0; -EINVAL; -ERANGE: above 100%.
 */
int parse_percent(const char *s, uint32_t *ret_ppm) _must_check_;

/**
 * Writes a duration with the largest unit that leaves no rest: 300000 as "5m".
 *
 * @return ret_buf, NUL-ended.
 */
const char *format_duration(uint64_t ms, char *ret_buf, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading position in bytes that need not end in NUL: what the parsers of kernel text share.
 * Every step either takes what it asks for or leaves the position where it was.
 */
#ifndef REAPER_OBSERVE_SCAN_H
#define REAPER_OBSERVE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

struct scan {
	const char *at;
	const char *end; /* one past the last byte */
};

/** Begins at the first byte. */
struct scan scan_of(const char *bytes, size_t len);

/** @return true if nothing is left. */
bool scan_at_end(const struct scan *s);

/** Takes one byte. @return true if it was there. */
bool scan_char(struct scan *s, char c);

/** Takes a string. @return true if it was there. */
bool scan_str(struct scan *s, const char *want);

/** Takes one blank or more (space, tab). @return true if there was one. */
bool scan_blanks(struct scan *s);

/** Takes decimal digits. @return true if there were some and the number is at most max. */
bool scan_u64(struct scan *s, uint64_t max, uint64_t *ret);

/** Takes an optional minus and decimal digits. @return true if the number fits. */
bool scan_i64(struct scan *s, int64_t *ret);

/** Takes hexadecimal digits, no prefix. @return true if there were 1 to max_digits (16 at most). */
bool scan_hex(struct scan *s, unsigned max_digits, uint64_t *ret);

/**
 * Takes one line.
 *
 * @return true and its bytes without the newline; false if no newline is left.
 */
bool scan_line(struct scan *s, struct scan *ret_line);

#endif

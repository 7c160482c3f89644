/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value of a marker record: bytes to member, the whole value or nothing.
 */
#ifndef REAPER_OBSERVE_MARKER_VALUE_H
#define REAPER_OBSERVE_MARKER_VALUE_H

#include "base/macro.h"
#include "observe/marker_keys.h"

/* Bytes of a line that stand between blanks. */
struct marker_token {
	const char *at;
	size_t len;
};

/**
 * Reads decimal digits and nothing else.
 *
 * @return true: *ret is at most max; false: *ret is untouched.
 */
bool marker_value_number(struct marker_token t, uint64_t max, uint64_t *ret) _must_check_;

/**
 * Reads the value of a key into its member.
 *
 * @return NULL, or a constant phrase that says what was expected.
 */
const char *marker_value_read(const struct marker_key_rule *rule, struct marker_token t,
			      struct marker *ret) _must_check_;

/** Tells whether a byte may stand in a value as it is; all others are percent-encoded. */
bool marker_value_plain(char c);

/** Tells whether a value holds only plain bytes and percent signs. */
bool marker_value_encoded(struct marker_token t);

#endif

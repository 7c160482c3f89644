/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One marker record: bytes to struct, no I/O (reaper-markers(5)).
 */
#ifndef REAPER_OBSERVE_MARKER_PARSE_H
#define REAPER_OBSERVE_MARKER_PARSE_H

#include "base/macro.h"
#include "model/marker.h"

/**
 * Reads one record without its newline.
 *
 * Unknown events give MARKER_UNKNOWN, unknown keys are skipped; a repeated key, a byte outside printable
 * ASCII, a value that is not of its form, a needed key that is missing are errors.
 *
 * @param ret_unknown_keys	how many keys were skipped.
 * @return NULL, or a constant phrase that says what was expected; *ret is then not to be used.
 */
const char *marker_parse(const char *line, size_t len, struct marker *ret,
			 unsigned *ret_unknown_keys) _must_check_;

/**
 * Writes a record, for `retire`.
 *
 * @return bytes in ret_buf without NUL, its newline included; -EINVAL: a value that cannot be encoded; -ENOSPC.
 */
int marker_format(const struct marker *m, char ret_buf[MARKER_LINE_MAX + 1]) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one look can say: yes, no, or nothing. Unknown is the zero value, so what was never filled in
 * is unknown, and unknown can only lower a verdict.
 */
#ifndef REAPER_MODEL_TRI_H
#define REAPER_MODEL_TRI_H

#include <stdbool.h>
#include <stdint.h>

enum tri {
	TRI_UNKNOWN,
	TRI_NO,
	TRI_YES,
};

/* A time, an age or a size that is not known. */
#define UNKNOWN_U64 UINT64_MAX

/**
 * Makes a known answer of a truth value.
 *
 * @return TRI_YES or TRI_NO.
 */
static inline enum tri tri_of(bool b)
{
	return b ? TRI_YES : TRI_NO;
}

#endif

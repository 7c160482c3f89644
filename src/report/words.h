/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences: why a verdict is what it is, why a proof holds or does not, how to get it. The same in
 * text and JSON.
 */
#ifndef REAPER_REPORT_WORDS_H
#define REAPER_REPORT_WORDS_H

#include "model/explanation.h"

enum {
	WORDS_MAX = 256
};

/** Says in one sentence why a worker, helper or lost helper got its verdict. @return ret. */
const char *words_why(const struct audit *a, const struct subject *s, char ret[WORDS_MAX]);

/** The same for a daemon. @return ret. */
const char *words_why_daemon(const struct audit *a, const struct daemon *d, char ret[WORDS_MAX]);

/** Says which proof is missing; NULL for MISSING_NOTHING. */
const char *words_missing(enum missing missing);

/** Says how that proof can be had; NULL for MISSING_NOTHING. */
const char *words_how_to_get(enum missing missing);

/** Says why a proof holds, does not hold or is not known. @return ret. */
const char *words_proof(enum fence fence, enum tri holds, const struct facts *f,
			char ret[WORDS_MAX]);

/** Says how a proof can be had; NULL: it needs nothing. */
const char *words_proof_how(enum fence fence);

/** Says what a guard keeps, and why it objects or does not. @return ret. */
const char *words_guard(enum reason guard, bool objects, const struct facts *f,
			char ret[WORDS_MAX]);

/** Writes an age for people: "41s", "12m", "3h12m", "2d4h"; "?" where unknown. @return ret. */
const char *words_age(uint64_t ms, char *ret, size_t size);

/** Writes a size for people: "88 MiB", "1.4 GiB"; "?" where unknown. @return ret. */
const char *words_size(uint64_t bytes, char *ret, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences: why a verdict is what it is, why a proof holds or does not, how to get it. The same in
 * text and JSON. They begin small and end without a full stop, so that they can follow a colon; what
 * is foreign in them is escaped.
 */
#ifndef REAPER_REPORT_WORDS_H
#define REAPER_REPORT_WORDS_H

#include "model/event.h"
#include "model/explanation.h"

enum {
	WORDS_MAX = 256,
	WORDS_NAME_MAX = 40,  /* bytes of a foreign name that a sentence shows, its NUL included */
	WORDS_SHORT_MAX = 24, /* enough for words_age() and words_size() */
};

/**
 * Says in one sentence why a worker, helper or lost helper got its verdict.
 *
 * @param a	the audit that it belongs to, or NULL: nothing is said of others then.
 * @return ret.
 */
const char *words_why(const struct audit *a, const struct subject *s, char ret[WORDS_MAX]);

/** @return what a reason says by itself; NULL: its words need a number or a name. */
const char *words_reason(enum reason reason);

/** The same as words_why() for a daemon. @return ret. */
const char *words_why_daemon(const struct audit *a, const struct daemon *d, char ret[WORDS_MAX]);

/** Says which proof is missing; NULL for MISSING_NOTHING. */
const char *words_missing(enum missing missing);

/** Says how that proof can be had; NULL for MISSING_NOTHING. */
const char *words_how_to_get(enum missing missing);

/**
 * Says why a proof holds, does not hold or is not known.
 *
 * @param f	the worker's facts, or NULL.
 * @return ret.
 */
const char *words_proof(enum fence fence, enum tri holds, const struct facts *f,
			char ret[WORDS_MAX]);

/** Says how a proof can be had; NULL: it is, or nothing helps. */
const char *words_proof_how(enum fence fence, enum tri holds);

/**
 * Says why a guard objects, or that it does not.
 *
 * @param f	the worker's facts, or NULL.
 * @return ret.
 */
const char *words_guard(enum reason guard, bool objects, const struct facts *f,
			char ret[WORDS_MAX]);

/** Writes a rate for people: "+4.0 MiB/s", "-12 KiB/s". @return ret. */
const char *words_rate(int64_t bytes_per_s, char *ret, size_t size);

/** Names a limit of memory: "the 300 MiB of cgroup /job". @return ret. */
const char *words_limit(const struct memory_limit *limit, char ret[WORDS_MAX]);

/** Names whom the kernel would kill if the limit that a process grows into were reached now. @return ret. */
const char *words_victim(const struct audit *a, const struct subject *s, char ret[WORDS_MAX]);

/** Says how a process grows, into what, and who pays for it. @return ret. */
const char *words_growing(const struct audit *a, const struct subject *s, char ret[WORDS_MAX]);

/** Says what waits in a worker's task socket. @return ret. */
const char *words_unread(const struct facts *f, char ret[WORDS_MAX]);

/**
 * Says what was done to a process, without its why: "ended worker 4803 with SIGTERM in 12 ms, 1.4 GiB
 * freed".
 *
 * @return ret.
 */
const char *words_action(const struct action_record *action, char ret[WORDS_MAX]);

/** Says how a process ended: "died by SIGSEGV after 12s, no core dumped". @return ret. */
const char *words_exit(const struct exit_record *exit, char ret[WORDS_MAX]);

/** Says what the ends of a group add up to: how many, by which signals, how far apart. @return ret. */
const char *words_crashes(const struct crashes *c, char ret[WORDS_MAX]);

/** Writes an age for people: "1.2s", "41s", "12m", "3h12m", "2d4h"; "?" where unknown. @return ret. */
const char *words_age(uint64_t ms, char *ret, size_t size);

/** Writes a size for people: "88 MiB", "1.4 GiB"; "?" where unknown. @return ret. */
const char *words_size(uint64_t bytes, char *ret, size_t size);

/**
 * Escapes a foreign name and cuts it, ending in "..." where it was longer.
 *
 * @param size	bytes that may be used of ret, the NUL included: 8 to WORDS_NAME_MAX.
 * @return ret.
 */
const char *words_name(const char *raw, char ret[WORDS_NAME_MAX], size_t size);

/** @return where a worker's main thread waits: a call, a wait channel (escaped), or NULL: unknown. */
const char *words_wait(const struct subject *s, char ret[WORDS_NAME_MAX]);

#endif

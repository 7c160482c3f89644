/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question while it is being answered: who of the writers speaks of the worker, and what was found.
 */
#ifndef REAPER_CORRELATE_LEDGER_CASE_H
#define REAPER_CORRELATE_LEDGER_CASE_H

#include "base/macro.h"
#include "correlate/ledger_state.h"

enum {
	LEDGER_CASE_MAX = 2 * LEDGER_NAMED_MAX,
};

struct ledger_case {
	const struct ledger *ledger;
	const struct ledger_question *question;
	struct marker_facts *facts;
	struct ledger_scope *scope[LEDGER_CASE_MAX]; /* of its host, then of its daemon */
	size_t hosts;                                /* of these */
	size_t count;
	uint64_t bound_ms; /* the newest record that binds it */
	uint64_t word_ms;  /* the newest `pooled` or `leased` */
	uint64_t after_ms; /* what is to prove anything must be later than this */
	bool stale;        /* a time that the answer gives lies before a step of the clock */
};

/** @return the worker's number in a scope; LEDGER_NONE: the scope knows nothing of it. */
uint32_t ledger_case_worker(const struct ledger_case *c, const struct ledger_scope *s);

/** Tells whether a log's promises and its word on workers hold for the worker: they do for its class. */
bool ledger_case_concerns(const struct ledger_case *c, const struct ledger_log *log);

/** @return when the worker said for the last time that it is done; 0: never (ledger_word.c). */
uint64_t ledger_case_done(const struct ledger_case *c);

/** Lists the logs of the host one by one, beginning after NULL. @return the next; NULL: there is none. */
const struct ledger_log *ledger_case_next_log(const struct ledger_case *c,
					      const struct ledger_log *log);

/** Fills what the host said of where the worker is: pooled, leased (ledger_word.c). */
void ledger_case_where(struct ledger_case *c);

/** Fills whether the host gave the worker up; after ledger_case_where() (ledger_word.c). */
void ledger_case_retired(struct ledger_case *c);

/** Fills whether an operator gave it up, whose word is final (ledger_word.c). */
void ledger_case_operators(struct ledger_case *c);

/** @return the one word for all that was found (ledger_word.c). */
enum marker_state ledger_case_state(const struct ledger_case *c);

/** Fills the three proofs that the host neither pools nor leases the worker (ledger_proof.c). */
void ledger_case_prove(struct ledger_case *c);

#endif

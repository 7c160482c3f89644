/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "correlate/ledger_case.h"

/* A word on the pool holds until the host's list, read later, has the worker no more. */
static bool is_outdated(const struct ledger_log *log, const struct ledger_said *said)
{
	const struct ledger_beats *b = &log->beats;

	if (log->pool != POOL_REPORTED || log->epoch != log->scope->epoch)
		return false;
	return b->count && (said->epoch != log->epoch || b->beat[b->count - 1].begun_ms > said->ms);
}

/* What the host said of where the worker is; the latest word counts. */
void ledger_case_where(struct ledger_case *c)
{
	enum ledger_where where = WHERE_UNKNOWN;

	for (size_t i = 0; i < c->hosts; i++) {
		const struct ledger_scope *s = c->scope[i];
		uint32_t worker = ledger_case_worker(c, s);
		const struct ledger_worker *w;
		const struct ledger_log *log;

		if (worker == LEDGER_NONE)
			continue;
		w = ledger_store_worker(&s->store, worker);
		if (w->where == WHERE_UNKNOWN || w->where_said.ms < c->word_ms)
			continue;
		c->word_ms = w->where_said.ms;
		if (w->where_said.epoch == s->epoch)
			c->after_ms = MAX(c->after_ms, w->where_said.ms);
		log = ledger_state_log(c->ledger, w->where_said.log);
		where = log && !is_outdated(log, &w->where_said) ? w->where : WHERE_UNKNOWN;
	}
	c->facts->pooled = where == WHERE_POOLED;
	c->facts->leased = where == WHERE_LEASED;
}

/* A worker that was given up and then pooled, leased or begun upon again was not given up. */
static bool is_retired(const struct ledger_case *c, const struct ledger_said *said)
{
	const struct ledger_log *log = ledger_state_log(c->ledger, said->log);

	return log && ledger_case_concerns(c, log) && c->word_ms < said->ms &&
	       c->bound_ms <= said->ms;
}

void ledger_case_retired(struct ledger_case *c)
{
	struct marker_facts *f = c->facts;

	for (size_t i = 0; i < c->hosts; i++) {
		const struct ledger_scope *s = c->scope[i];
		uint32_t worker = ledger_case_worker(c, s);
		const struct ledger_said *said;

		if (worker == LEDGER_NONE)
			continue;
		said = &ledger_store_worker(&s->store, worker)->retired;
		if (!is_retired(c, said))
			continue;
		f->retired_ms = f->retired ? MIN(f->retired_ms, said->ms) : said->ms;
		f->retired = true;
		c->stale |= said->epoch != s->epoch || said->ms < c->ledger->trusted_ms;
	}
}

/* The operator's word is final, and needs no log of the host. */
void ledger_case_operators(struct ledger_case *c)
{
	struct ledger_scope *found[LEDGER_NAMED_MAX];
	size_t n = ledger_state_named(c->ledger, MARKER_OPERATOR, &c->question->worker,
				      c->question->uid, found);
	struct marker_facts *f = c->facts;

	for (size_t i = 0; i < n; i++) {
		const struct ledger_scope *s = found[i];
		uint32_t worker = ledger_case_worker(c, s);
		const struct ledger_said *said;

		if (worker == LEDGER_NONE)
			continue;
		said = &ledger_store_worker(&s->store, worker)->retired;
		if (!ledger_state_log(c->ledger, said->log) || s->lost)
			continue;
		f->operator_ms = f->retired_by_operator ? MIN(f->operator_ms, said->ms) : said->ms;
		f->retired_by_operator = true;
		c->stale |= said->epoch != s->epoch || said->ms < c->ledger->trusted_ms;
	}
}

uint64_t ledger_case_done(const struct ledger_case *c)
{
	uint64_t done_ms = 0;

	for (size_t i = 0; i < c->count; i++) {
		uint32_t worker = ledger_case_worker(c, c->scope[i]);

		if (worker != LEDGER_NONE)
			done_ms = MAX(done_ms,
				      ledger_store_worker(&c->scope[i]->store, worker)->done_ms);
	}
	return done_ms;
}

/* Python's word that it is done, if it is about the last task that was begun. */
static bool is_done(const struct ledger_case *c)
{
	uint64_t done_ms = ledger_case_done(c);

	return done_ms && done_ms >= c->bound_ms;
}

enum marker_state ledger_case_state(const struct ledger_case *c)
{
	const struct marker_facts *f = c->facts;

	if (f->retired || f->retired_by_operator)
		return MARKS_RETIRED;
	if (f->open)
		return is_done(c) ? MARKS_DONE : MARKS_OPEN;
	if (f->leased)
		return MARKS_LEASED;
	if (f->pooled)
		return MARKS_POOLED;
	if (f->bound)
		return MARKS_ENDED;
	return is_done(c) ? MARKS_DONE : MARKS_NONE;
}

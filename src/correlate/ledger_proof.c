/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "correlate/ledger_case.h"

/* What all logs of the host promise for the worker's class. */
struct promises {
	size_t logs;
	enum pool_promise pool;
	bool tasks_all;
	uint64_t pool_timeout_ms; /* UNKNOWN_U64: nobody knows it */
	uint64_t start_ms;        /* since all of these logs are written */
	bool beats_hold; /* each of them has beats of the time since the clock was stepped */
	bool lossy;
};

/* Goes on to the next log of the host for the worker's class. */
static const struct ledger_log *next_class_log(const struct ledger_case *c,
					       const struct ledger_log *log)
{
	do
		log = ledger_case_next_log(c, log);
	while (log && !ledger_case_concerns(c, log));
	return log;
}

/* The longer of two times; one that is unknown is none. */
static uint64_t longer(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN_U64 || b == UNKNOWN_U64)
		return MIN(a, b);
	return MAX(a, b);
}

static struct promises collect(const struct ledger_case *c)
{
	struct promises p = { .tasks_all = true,
			      .beats_hold = true,
			      .pool_timeout_ms = c->question->class_pool_timeout_ms };

	for (const struct ledger_log *log = NULL; (log = next_class_log(c, log));) {
		/* Of promises that differ the weaker holds. */
		if (p.logs++ && p.pool != log->pool)
			p.pool = POOL_UNKNOWN;
		else
			p.pool = log->pool;
		p.tasks_all &= log->tasks_all;
		p.pool_timeout_ms = longer(p.pool_timeout_ms, log->pool_timeout_ms);
		p.start_ms = MAX(p.start_ms, log->start_ms);
		p.beats_hold &= log->epoch == log->scope->epoch;
		p.lossy |= log->lossy;
	}
	return p;
}

static void say(struct ledger_case *c, enum unpooled proof, enum tri holds, uint64_t since_ms)
{
	c->facts->unpooled[proof] = holds;
	c->facts->unpooled_ms[proof] = since_ms;
}

/* A program that stands alone waits for its tasks, whoever works at them; but once it is done for none that
 * began before: a child that was ended ends no task. */
static bool runs_any(const struct ledger_case *c)
{
	uint64_t done_ms = ledger_case_done(c);

	for (size_t i = 0; i < c->count; i++) {
		const struct ledger_store *s = &c->scope[i]->store;
		const struct ledger_entry *e;

		for (uint32_t at = s->first[LIST_OPEN]; at; at = e->next) {
			e = ledger_store_entry(s, at - 1);
			if (e->begin_ms >= done_ms)
				return true;
		}
	}
	return false;
}

/* A host that never reuses has nothing to do with a worker whose tasks have ended; but that it ever had
 * one must be known, and that no other was lost: a program that stands alone has many. */
static void prove_declared(struct ledger_case *c, const struct promises *p)
{
	const struct marker_facts *f = c->facts;
	bool open = f->open || (!c->question->class_name && runs_any(c));

	if (p->pool == POOL_REPORTED || (p->pool == POOL_NONE && open))
		say(c, UNPOOLED_DECLARED, TRI_NO, 0);
	else if (p->pool == POOL_NONE && f->bound && !p->lossy)
		say(c, UNPOOLED_DECLARED, TRI_YES, f->last_end_ms);
}

/*
 * The first two complete beats far enough apart that a log has after everything that is known of the
 * worker. Those that follow do not list it either, or the word would be newer.
 */
static uint64_t beats_prove(const struct ledger_case *c, const struct ledger_log *log)
{
	const struct ledger_beat *first = ledger_beats_begun_after(&log->beats, c->after_ms),
				 *second;

	if (!first)
		return UNKNOWN_U64;
	second = ledger_beats_from(&log->beats, first->ms + LEDGER_BEATS_APART_MS);
	if (!second || second->ms > c->question->now_ms + LEDGER_FUTURE_MS)
		return UNKNOWN_U64;
	return second->ms;
}

static void prove_reported(struct ledger_case *c, const struct promises *p)
{
	const struct marker_facts *f = c->facts;
	uint64_t since = 0;

	if (p->pool != POOL_REPORTED)
		return;
	if (f->pooled || f->leased || f->open) {
		say(c, UNPOOLED_REPORTED, TRI_NO, 0);
		return;
	}
	if (!p->beats_hold)
		return;
	for (const struct ledger_log *log = NULL; (log = next_class_log(c, log));)
		since = MAX(since, beats_prove(c, log));
	if (since != UNKNOWN_U64)
		say(c, UNPOOLED_REPORTED, TRI_YES, since);
}

/* The first moment, from one on, at which no scope of the host had a task open. */
static uint64_t quiet_from(const struct ledger_case *c, uint64_t from, uint64_t *ret_end)
{
	uint64_t begin, end;

	do {
		begin = from;
		*ret_end = UNKNOWN_U64;
		for (size_t i = 0; i < c->hosts && from != UNKNOWN_U64; i++) {
			from = ledger_gaps_seek(&c->scope[i]->gaps, from, &end);
			if (from != UNKNOWN_U64)
				*ret_end = MIN(*ret_end, end);
		}
	} while (from != begin && from != UNKNOWN_U64);
	return from;
}

/* How many of the moments at which reaper saw the host run are not later than one. */
static size_t runs_until(const struct ledger_question *q, uint64_t ms)
{
	size_t low = 0, high = q->host_run_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (q->host_runs[middle] <= ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Goes on to the next log of the host whose beats are of the time since the clock was stepped. */
static const struct ledger_log *next_beating(const struct ledger_case *c,
					     const struct ledger_log *log)
{
	do
		log = ledger_case_next_log(c, log);
	while (log && log->epoch != log->scope->epoch);
	return log;
}

/* Up to when the host was seen running on from a moment, by our looks or by a log's beats. */
static uint64_t run_reach(const struct ledger_case *c, uint64_t ms)
{
	const struct ledger_question *q = c->question;
	uint64_t reach = ms;

	for (size_t i = runs_until(q, ms);
	     i < q->host_run_count && q->host_runs[i] - reach <= LEDGER_RUN_GAP_MS; i++)
		reach = q->host_runs[i];
	for (const struct ledger_log *log = NULL; (log = next_beating(c, log));)
		reach = MAX(reach, ledger_beats_reach(&log->beats, ms));
	return reach;
}

/* When it was seen next, however much later. */
static uint64_t seen_after(const struct ledger_case *c, uint64_t ms)
{
	const struct ledger_question *q = c->question;
	size_t seen = runs_until(q, ms);
	uint64_t next = seen < q->host_run_count ? q->host_runs[seen] : UNKNOWN_U64;

	for (const struct ledger_log *log = NULL; (log = next_beating(c, log));)
		next = MIN(next, ledger_beats_seen_after(&log->beats, ms));
	return next;
}

/* The beat that closes a stretch in every log: one that could not be written would show no begin. */
static uint64_t closed_at(const struct ledger_case *c, uint64_t end)
{
	uint64_t closed = end;

	for (const struct ledger_log *log = NULL; (log = next_class_log(c, log));) {
		const struct ledger_beat *beat = ledger_beats_from(&log->beats, end);
		if (!beat || beat->ms > c->question->now_ms + LEDGER_FUTURE_MS)
			return UNKNOWN_U64;
		closed = MAX(closed, beat->ms);
	}
	return closed;
}

/* The earliest begin of an open task; looked for once, however many workers ask. */
static uint64_t earliest_open(const struct ledger_case *c, struct ledger_scope *s)
{
	if (s->opened == c->ledger->changes + 1)
		return s->open_ms;
	s->opened = c->ledger->changes + 1;
	s->open_ms = UNKNOWN_U64;
	for (uint32_t at = s->store.first[LIST_OPEN]; at;) {
		const struct ledger_entry *e = ledger_store_entry(&s->store, at - 1);

		s->open_ms = MIN(s->open_ms, e->begin_epoch == s->epoch ? e->begin_ms : 0);
		at = e->next;
	}
	return s->open_ms;
}

/* The earliest begin of an open task that only the Python side told of. */
static uint64_t first_open(const struct ledger_case *c)
{
	uint64_t first = UNKNOWN_U64;

	for (size_t i = c->hosts; i < c->count; i++)
		first = MIN(first, earliest_open(c, c->scope[i]));
	return first;
}

/* Looks for a stretch of that length: quiet, seen running, closed by a beat. Gives that beat's time. */
static uint64_t find_stretch(const struct ledger_case *c, uint64_t from, uint64_t length)
{
	uint64_t limit = first_open(c);

	for (;;) {
		uint64_t end, at, next;

		from = quiet_from(c, from, &end);
		end = MIN(end, limit);
		if (from >= end)
			return UNKNOWN_U64;
		if (end - from < length) {
			from = end;
			continue;
		}
		for (at = from; at < from + length; at = next) {
			next = run_reach(c, at);
			if (next == at)
				break;
		}
		if (at >= from + length)
			return closed_at(c, from + length);
		from = seen_after(c, at);
		if (from == UNKNOWN_U64)
			return UNKNOWN_U64;
	}
}

static void prove_host_idle(struct ledger_case *c, const struct promises *p)
{
	const struct ledger_question *q = c->question;
	uint64_t from = MAX(c->after_ms, p->start_ms), closed;

	if (!p->logs || !p->tasks_all || p->pool_timeout_ms == UNKNOWN_U64)
		return;
	if (c->facts->open) {
		say(c, UNPOOLED_HOST_IDLE, TRI_NO, 0);
		return;
	}
	if (p->lossy || !p->beats_hold || q->last_byte_ms == UNKNOWN_U64)
		return;
	closed = find_stretch(c, MAX(from, q->last_byte_ms),
			      p->pool_timeout_ms + LEDGER_IDLE_EXTRA_MS);
	if (closed != UNKNOWN_U64)
		say(c, UNPOOLED_HOST_IDLE, TRI_YES, closed);
}

void ledger_case_prove(struct ledger_case *c)
{
	struct promises p = collect(c);

	prove_declared(c, &p);
	prove_reported(c, &p);
	prove_host_idle(c, &p);
}

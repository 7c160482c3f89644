/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_scope.h"

#include <string.h>

#include "model/tri.h"

struct ledger_scope *ledger_scope_new(const struct ledger_writer *writer, uint32_t *used)
{
	struct ledger_scope *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->writer = *writer;
	s->store.used = used;
	s->epoch = 1;
	ledger_gaps_reset(&s->gaps, true, 0);
	return s;
}

/* What has no room and what has too many neighbours is not an error of the caller's: it proves nothing. */
static int settle(struct ledger_scope *s, int err)
{
	if (err != -LEDGER_E2BIG)
		return err;
	s->lost = true;
	return 0;
}

/* Tells whether a record can be kept. */
static bool may_add(struct ledger_scope *s)
{
	if (!s->lost && !ledger_store_make_room(&s->store))
		s->lost = true;
	return !s->lost;
}

static void leave_job(struct ledger_scope *s, struct ledger_entry *e)
{
	uint32_t number = e->job - 1;
	struct ledger_entry *job;

	if (!e->job)
		return;
	job = ledger_store_entry(&s->store, number);
	*(e->prev_member ? &ledger_store_entry(&s->store, e->prev_member - 1)->next_member
			 : &job->members) = e->next_member;
	if (e->next_member)
		ledger_store_entry(&s->store, e->next_member - 1)->prev_member = e->prev_member;
	e->job = 0;
	/* A job that was only named is worth nothing without a task. */
	if (!job->members && job->list == LIST_NONE)
		ledger_store_move(&s->store, number, LIST_SPARE);
}

static void close_one(struct ledger_scope *s, uint32_t entry, uint64_t ms, uint32_t epoch)
{
	struct ledger_entry *e = ledger_store_entry(&s->store, entry);

	e->end_ms = ms;
	e->end_epoch = epoch;
	if (epoch == s->epoch)
		s->max_end_ms = MAX(s->max_end_ms, ms);
	/* When it began nobody knows: it may have run all the time. */
	if (e->begin_ms == UNKNOWN_U64)
		ledger_gaps_cut(&s->gaps, 0, ms);
	ledger_store_move(&s->store, entry, LIST_SPARE);
	leave_job(s, e);
}

void ledger_scope_close(struct ledger_scope *s, uint32_t entry, uint64_t ms, uint32_t epoch)
{
	struct ledger_entry *e = ledger_store_entry(&s->store, entry);

	if (e->end_ms != UNKNOWN_U64) {
		if (e->end_epoch == epoch)
			e->end_ms = MIN(e->end_ms, ms);
		return;
	}
	close_one(s, entry, ms, epoch);
	while (e->members)
		close_one(s, e->members - 1, ms, epoch);
	if (!s->store.first[LIST_OPEN])
		ledger_gaps_quiet(&s->gaps, s->max_end_ms);
}

static void open_entry(struct ledger_scope *s, uint32_t entry, uint64_t ms)
{
	struct ledger_entry *e = ledger_store_entry(&s->store, entry);

	if (e->begin_ms == UNKNOWN_U64) {
		e->begin_ms = ms;
		e->begin_epoch = s->epoch;
	} else if (e->begin_epoch == s->epoch) {
		e->begin_ms = MIN(e->begin_ms, ms);
	}
	if (e->end_ms == UNKNOWN_U64) {
		ledger_gaps_cut(&s->gaps, ms, UNKNOWN_U64);
		if (e->list != LIST_OPEN)
			ledger_store_move(&s->store, entry, LIST_OPEN);
	} else if (ms < e->end_ms) {
		ledger_gaps_cut(&s->gaps, ms, e->end_ms);
	}
}

/* Makes an open task one of a job, whose end is then its own. */
static void join_job(struct ledger_scope *s, uint32_t entry, uint32_t number)
{
	struct ledger_entry *e = ledger_store_entry(&s->store, entry);
	struct ledger_entry *job = ledger_store_entry(&s->store, number);

	if (e->two_jobs || e->job == number + 1 || e->end_ms != UNKNOWN_U64)
		return;
	if (e->job) {
		e->two_jobs = true;
		leave_job(s, e);
		return;
	}
	if (job->end_ms != UNKNOWN_U64) {
		ledger_scope_close(s, entry, job->end_ms, job->end_epoch);
		return;
	}
	if (job->list == LIST_SPARE)
		ledger_store_move(&s->store, number, LIST_NONE);
	e->job = number + 1;
	e->prev_member = 0;
	e->next_member = job->members;
	if (job->members)
		ledger_store_entry(&s->store, job->members - 1)->prev_member = entry + 1;
	job->members = entry + 1;
}

static struct ident ports_ident(uint16_t lport, uint16_t dport)
{
	return (struct ident){ .pid = 0, .start = (uint64_t)lport << 16 | dport };
}

static int bind_worker(struct ledger_scope *s, uint32_t entry, const struct marker *m)
{
	struct ident who = m->worker.pid ? m->worker : ports_ident(m->lport, m->dport);
	uint32_t worker;
	int err;

	if (!m->worker.pid && !m->lport)
		return 0;
	err = ledger_store_need_worker(&s->store, who, &worker);
	return err < 0 ? err : ledger_store_bind(&s->store, entry, worker, m->unix_ms, s->epoch);
}

static int begin_record(struct ledger_scope *s, const struct marker *m)
{
	uint32_t job = LEDGER_NONE, entry;
	int err = 0;

	if (*m->job)
		err = ledger_store_need(&s->store, true, m->job, &job);
	if (err < 0)
		return err;
	entry = job;
	if (*m->task)
		err = ledger_store_need(&s->store, false, m->task, &entry);
	if (err < 0)
		return err;
	open_entry(s, entry, m->unix_ms);
	if (entry != job && job != LEDGER_NONE)
		join_job(s, entry, job);
	return bind_worker(s, entry, m);
}

int ledger_scope_begin(struct ledger_scope *s, const struct marker *m)
{
	return may_add(s) ? settle(s, begin_record(s, m)) : 0;
}

int ledger_scope_end(struct ledger_scope *s, const struct marker *m)
{
	bool is_job = !*m->task;
	const char *name = is_job ? m->job : m->task;
	uint32_t entry = ledger_store_find(&s->store, is_job, name, strlen(name));
	int err = 0;

	/* Its begin may stand in a log that was not read yet. */
	if (entry == LEDGER_NONE) {
		if (!may_add(s))
			return 0;
		err = ledger_store_need(&s->store, is_job, name, &entry);
	}
	if (err == 0)
		ledger_scope_close(s, entry, m->unix_ms, s->epoch);
	return settle(s, err);
}

static void note_where(struct ledger_worker *w, enum ledger_where where,
		       const struct ledger_said *said)
{
	/* Within a log the last word counts; between logs, which have no order, the later. */
	if (w->where_said.epoch == said->epoch && w->where_said.ms > said->ms)
		return;
	w->where = where;
	w->where_said = *said;
}

static void note_retired(struct ledger_worker *w, const struct ledger_said *said)
{
	/* That it is said again changes nothing. */
	if (w->retired.log < said->log)
		w->retired = *said;
}

int ledger_scope_note(struct ledger_scope *s, const struct marker *m, uint32_t log)
{
	const struct ledger_said said = { log, s->epoch, m->unix_ms };
	struct ledger_worker *w;
	uint32_t worker;
	int err;

	if (!may_add(s))
		return 0;
	err = ledger_store_need_worker(&s->store, m->worker, &worker);
	if (err < 0)
		return settle(s, err);
	w = ledger_store_worker(&s->store, worker);
	if (m->event == MARKER_RETIRED)
		note_retired(w, &said);
	else if (m->event == MARKER_DONE)
		w->done_ms = MAX(w->done_ms, m->unix_ms);
	else
		note_where(w, m->event == MARKER_POOLED ? WHERE_POOLED : WHERE_LEASED, &said);
	return 0;
}

/* Takes the bindings of a pair of ports one by one: to the worker, or away. */
static int resolve_all(struct ledger_scope *s, uint32_t ports, struct ident id, uint64_t born_ms)
{
	uint32_t binding, worker;

	while ((binding = ledger_store_worker(&s->store, ports)->bindings)) {
		const struct ledger_binding b = *ledger_store_binding(&s->store, binding - 1);

		if (b.epoch == s->epoch && b.ms > born_ms) {
			int err = ledger_store_need_worker(&s->store, id, &worker);

			if (err == 0)
				err = ledger_store_bind(&s->store, b.entry, worker, b.ms, b.epoch);
			if (err < 0)
				return err;
		}
		ledger_store_unbind(&s->store, binding - 1);
	}
	return 0;
}

int ledger_scope_resolve(struct ledger_scope *s, uint16_t lport, uint16_t dport,
			 struct ident worker, uint64_t born_ms)
{
	uint32_t ports = ledger_store_find_worker(&s->store, ports_ident(lport, dport));

	if (ports == LEDGER_NONE || !may_add(s))
		return 0;
	return settle(s, resolve_all(s, ports, worker, born_ms));
}

void ledger_scope_step(struct ledger_scope *s, uint64_t ms)
{
	s->epoch++;
	s->floor_ms = ms;
	s->max_end_ms = ms;
	ledger_gaps_reset(&s->gaps, !s->store.first[LIST_OPEN], ms);
}

void ledger_scope_free(struct ledger_scope *s)
{
	if (!s)
		return;
	ledger_store_done(&s->store);
	free(s);
}

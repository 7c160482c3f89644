/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "correlate/ledger_case.h"

enum {
	ANSWER_LATE_BYTE_MS =
		10 * 1000, /* bytes that follow the host's `end` this closely are its own */
};

uint32_t ledger_case_worker(const struct ledger_case *c, const struct ledger_scope *s)
{
	struct ident id = ledger_state_local(&c->question->worker, s->writer.pid_ns);

	return id.pid ? ledger_store_find_worker(&s->store, id) : LEDGER_NONE;
}

bool ledger_case_concerns(const struct ledger_case *c, const struct ledger_log *log)
{
	const char *class_name = c->question->class_name;

	return !class_name || strcmp(log->class_name, class_name) == 0;
}

const struct ledger_log *ledger_case_next_log(const struct ledger_case *c,
					      const struct ledger_log *log)
{
	const struct ledger_log *next = log ? log->next : NULL;
	size_t i = 0;

	while (log && c->scope[i++] != log->scope)
		;
	while (!next && i < c->hosts)
		next = c->scope[i++]->first_log;
	return next;
}

/* Finds an end of a task or job in the host's logs that may end what stands in a scope: root's word counts
 * everywhere, a user's only against that user's. */
static const struct ledger_entry *find_end(const struct ledger_case *c,
					   const struct ledger_scope *s,
					   const struct ledger_entry *e, bool *ret_current)
{
	for (size_t i = 0; i < c->hosts; i++) {
		const struct ledger_scope *host = c->scope[i];
		const struct ledger_entry *same;
		uint32_t entry;

		if (host == s || (host->writer.owner && host->writer.owner != s->writer.owner))
			continue;
		entry = ledger_store_find(&host->store, e->is_job, ledger_store_name(e),
					  e->name_len);
		if (entry == LEDGER_NONE)
			continue;
		same = ledger_store_entry(&host->store, entry);
		if (same->end_ms == UNKNOWN_U64)
			continue;
		*ret_current = same->end_epoch == host->epoch;
		return same;
	}
	return NULL;
}

/* Names what there is to learn: the records that were read, and the scopes that may end something. */
static uint64_t learn_key(const struct ledger_case *c)
{
	uint64_t key = c->ledger->changes;

	for (size_t i = 0; i < c->hosts; i++)
		key = key * UINT64_C(1099511628211) + c->scope[i]->hash;
	return key;
}

/* Ends here what has ended in the host's other logs. */
static void learn(const struct ledger_case *c, struct ledger_scope *s)
{
	uint32_t at = s->store.first[LIST_OPEN];

	if (s->learned == learn_key(c))
		return;
	s->learned = learn_key(c);
	while (at) {
		uint32_t entry = at - 1;
		const struct ledger_entry *e = ledger_store_entry(&s->store, entry), *end;
		bool current;

		end = find_end(c, s, e, &current);
		if (!end && e->job)
			end = find_end(c, s, ledger_store_entry(&s->store, e->job - 1), &current);
		at = e->next;
		if (!end)
			continue;
		/* A job takes its tasks along: go on behind them. */
		while (at && ledger_store_entry(&s->store, at - 1)->job == entry + 1)
			at = ledger_store_entry(&s->store, at - 1)->next;
		ledger_scope_close(s, entry, end->end_ms, current ? s->epoch : 0);
	}
}

/* Finds what another scope before the i-th knows of the same binding; NULL: it is new. */
static const struct ledger_entry *find_twin(const struct ledger_case *c, size_t i,
					    const struct ledger_entry *e)
{
	for (size_t j = 0; j < i; j++) {
		const struct ledger_store *s = &c->scope[j]->store;
		uint32_t worker = ledger_case_worker(c, c->scope[j]), entry;

		if (worker == LEDGER_NONE)
			continue;
		entry = ledger_store_find(s, e->is_job, ledger_store_name(e), e->name_len);
		if (entry != LEDGER_NONE && ledger_store_is_bound(s, entry, worker))
			return ledger_store_entry(s, entry);
	}
	return NULL;
}

/* The last end of a bound task; what ended before the clock was stepped ended before all that followed. */
struct last_end {
	uint64_t ms;
	uint64_t stale_ms;
};

static void add_end(struct last_end *last, uint64_t ms, bool current)
{
	if (current)
		last->ms = MAX(last->ms, ms);
	else
		last->stale_ms = MAX(last->stale_ms, ms);
}

/* Whether it has an age: it was dated by the wall clock as that is now. */
static bool is_current(const struct ledger_case *c, const struct ledger_scope *s, uint64_t ms,
		       uint32_t epoch)
{
	return epoch == s->epoch && ms >= c->ledger->trusted_ms;
}

static void add_open(struct marker_facts *f, uint64_t begin_ms)
{
	if (!f->open++ || begin_ms < f->open_since_ms)
		f->open_since_ms = begin_ms;
}

static void add_binding(struct ledger_case *c, size_t i, const struct ledger_binding *b,
			struct last_end *last)
{
	const struct ledger_scope *s = c->scope[i];
	const struct ledger_entry *e = ledger_store_entry(&s->store, b->entry);
	const struct ledger_entry *twin = find_twin(c, i, e);
	bool ended = e->end_ms != UNKNOWN_U64;
	bool counted_open = twin && twin->end_ms == UNKNOWN_U64;

	c->bound_ms = MAX(c->bound_ms, b->ms);
	c->facts->bound += !twin;
	if (ended)
		add_end(last, e->end_ms, is_current(c, s, e->end_ms, e->end_epoch));
	else if (!counted_open)
		add_open(c->facts, e->begin_ms);
}

static void add_bindings(struct ledger_case *c, size_t i, struct last_end *last)
{
	const struct ledger_scope *s = c->scope[i];
	uint32_t worker = ledger_case_worker(c, s);
	const struct ledger_worker *w;

	if (worker == LEDGER_NONE) {
		/* It may have been known, and forgotten. */
		c->after_ms = MAX(c->after_ms, s->store.gone_ms);
		return;
	}
	w = ledger_store_worker(&s->store, worker);
	c->facts->bound += w->forgotten;
	if (w->forgotten)
		add_end(last, w->forgotten_end_ms,
			is_current(c, s, w->forgotten_end_ms, w->forgotten_epoch));
	for (uint32_t at = w->bindings; at;) {
		const struct ledger_binding *b = ledger_store_binding(&s->store, at - 1);

		add_binding(c, i, b, last);
		at = b->next_of_worker;
	}
}

static void copy_name(char *ret, const struct ledger_entry *e)
{
	memcpy(ret, ledger_store_name(e), e->name_len);
	ret[e->name_len] = '\0';
}

static bool has_name(const struct marker_facts *f, const struct ledger_entry *e)
{
	for (uint32_t i = 0; i < f->task_count; i++)
		if (strlen(f->tasks[i]) == e->name_len &&
		    memcmp(f->tasks[i], ledger_store_name(e), e->name_len) == 0)
			return true;
	return false;
}

static void add_name(struct marker_facts *f, const struct ledger_scope *s,
		     const struct ledger_entry *e)
{
	const struct ledger_entry *job = e->job ? ledger_store_entry(&s->store, e->job - 1) : NULL;

	if (e->is_job)
		job = e;
	if (job && !*f->job)
		copy_name(f->job, job);
	if (!e->is_job && !has_name(f, e))
		copy_name(f->tasks[f->task_count++], e);
}

/* Names the open tasks, or the others, newest first as far as there is room. */
static void add_names(struct ledger_case *c, bool open)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct ledger_store *s = &c->scope[i]->store;
		uint32_t worker = ledger_case_worker(c, c->scope[i]);
		uint32_t at = worker == LEDGER_NONE ? 0 : ledger_store_worker(s, worker)->bindings;

		while (at && c->facts->task_count < MARKER_TASKS_SHOWN) {
			const struct ledger_binding *b = ledger_store_binding(s, at - 1);
			const struct ledger_entry *e = ledger_store_entry(s, b->entry);

			if ((e->end_ms == UNKNOWN_U64) == open)
				add_name(c->facts, c->scope[i], e);
			at = b->next_of_worker;
		}
	}
}

static bool is_behind(const struct ledger *l, uint32_t uid)
{
	for (uint32_t i = 0; i < l->behind_count; i++)
		if (!l->behind[i] || l->behind[i] == uid)
			return true;
	return false;
}

/* What a program does after its last task, before it says that it is done, is no task. */
static uint64_t last_word(const struct ledger_case *c)
{
	uint64_t done_ms = c->question->class_name ? 0 : ledger_case_done(c);

	return MAX(c->facts->last_end_ms, done_ms);
}

static enum tri late_byte(const struct ledger_case *c, bool end_known)
{
	uint64_t last_byte_ms = c->question->last_byte_ms;

	if (last_byte_ms == UNKNOWN_U64)
		return TRI_UNKNOWN;
	if (c->facts->open || !c->facts->last_end_ms)
		return TRI_NO;
	if (!end_known)
		return TRI_UNKNOWN;
	return tri_of(last_byte_ms > last_word(c) + ANSWER_LATE_BYTE_MS);
}

/* A host that is no longer that process has ended all its tasks, at the latest now. */
static void bury(struct ledger_case *c, struct last_end *last)
{
	if (!c->facts->open || !c->question->host.id.pid || c->question->host_alive)
		return;
	c->facts->open = 0;
	c->facts->open_since_ms = 0;
	last->ms = c->question->now_ms;
}

static void add_tasks(struct ledger_case *c)
{
	struct marker_facts *f = c->facts;
	struct last_end last = { 0 };

	for (size_t i = 0; i < c->count; i++)
		add_bindings(c, i, &last);
	add_names(c, true);
	add_names(c, false);
	bury(c, &last);
	f->last_end_ms = last.ms ? last.ms : last.stale_ms;
	if (!last.ms && last.stale_ms)
		c->stale = true;
	f->late_byte = late_byte(c, last.ms != 0);
	c->after_ms = MAX(c->after_ms, last.ms);
}

/* What the logs of its host and its daemon say. */
static void answer(struct ledger_case *c)
{
	struct marker_facts *f = c->facts;
	bool lost = false;

	c->after_ms = MAX(c->question->born_ms, c->ledger->trusted_ms);
	for (size_t i = 0; i < c->count; i++) {
		learn(c, c->scope[i]);
		lost |= c->scope[i]->lost;
		f->host_log |= i < c->hosts && c->scope[i]->logs;
		c->after_ms = MAX(c->after_ms, c->scope[i]->floor_ms);
	}
	add_tasks(c);
	ledger_case_where(c);
	f->logs_whole = c->ledger->whole && !lost && !is_behind(c->ledger, c->question->uid);
	if (lost)
		return;
	ledger_case_retired(c);
	ledger_case_prove(c);
}

static bool is_future(const struct ledger_case *c, uint64_t ms)
{
	return ms > c->question->now_ms + LEDGER_FUTURE_MS;
}

static int resolve(const struct ledger_case *c)
{
	const struct ledger_question *q = c->question;

	for (size_t i = 0; i < c->count && q->lport && q->dport; i++) {
		struct ident id = ledger_state_local(&q->worker, c->scope[i]->writer.pid_ns);
		int err = id.pid ? ledger_scope_resolve(c->scope[i], q->lport, q->dport, id,
							q->born_ms)
				 : 0;

		if (err < 0)
			return err;
	}
	return 0;
}

int ledger_ask(struct ledger *l, const struct ledger_question *q, struct marker_facts *ret)
{
	struct marker_facts facts = { 0 };
	struct ledger_case c = { .ledger = l, .question = q, .facts = &facts };
	uint32_t logs = 0;
	int err;

	c.hosts = ledger_state_named(l, MARKER_HOST, &q->host, q->uid, c.scope);
	c.count = c.hosts +
		  ledger_state_named(l, MARKER_DAEMON, &q->daemon, q->uid, c.scope + c.hosts);
	err = resolve(&c);
	if (err < 0)
		return err;
	for (size_t i = 0; i < c.count; i++)
		logs += c.scope[i]->logs;
	if (logs)
		answer(&c);
	ledger_case_operators(&c);
	if (logs || facts.retired_by_operator)
		facts.ages_trusted = !c.stale && !is_future(&c, facts.last_end_ms) &&
				     !is_future(&c, facts.retired_ms) &&
				     !is_future(&c, facts.operator_ms);
	facts.state = ledger_case_state(&c);
	*ret = facts;
	return 0;
}

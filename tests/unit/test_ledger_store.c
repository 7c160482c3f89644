/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits, and what is forgotten.
 */
#include "correlate/ledger_store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "correlate/ledger_state.h"
#include "ledger_script.h"

static void add(struct ledger *l, uint32_t log, const struct marker *m)
{
	const struct ledger_source source = { log, SCRIPT_UID, "x.log" };

	cr_assert_eq(ledger_add(l, &source, m), 0);
}

static struct marker host_record(pid_t pid)
{
	return (struct marker){ .unix_ms = 1000,
				.event = MARKER_HOST,
				.host = { pid, 50 },
				.pid_ns = SCRIPT_US,
				.boot = SCRIPT_BOOT,
				.class_name = "pyspark",
				.pool = POOL_NONE,
				.pool_timeout_ms = UNKNOWN_U64 };
}

static struct marker task_record(enum marker_event event, uint64_t ms, unsigned task, pid_t worker)
{
	struct marker m = { .unix_ms = ms, .event = event, .worker = { worker, 80 } };

	(void)snprintf(m.task, sizeof(m.task), "%u", task);
	return m;
}

static void serve(struct ledger *l, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		pid_t worker = i < 10 ? 4801 : 5000 + (pid_t)(i % 64);
		struct marker m = task_record(MARKER_BEGIN, 5000 + i / 10, i, worker);

		add(l, 1, &m);
		m = task_record(MARKER_END, 5000 + i / 10, i, 0);
		add(l, 1, &m);
	}
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Months of a busy host: what is forgotten is the oldest that has ended, memory has a limit, and a worker
 * still knows when its last task ended. */
Test(ledger_store, a_busy_host_is_remembered_within_limits)
{
	struct marker m = host_record(4711);
	struct script s = script_begin();
	struct marker_facts facts;
	double began = cpu_ms(), took;

	add(s.ledger, 1, &m);
	serve(s.ledger, 0, 500000);
	took = cpu_ms() - began;
	/* Far more than it takes; a table that has decayed would need minutes. */
	cr_assert_lt(took, 10000, "1e6 records took %.0f ms", took);
	serve(s.ledger, 500000, 1200000);
	cr_assert_leq(s.ledger->used, LEDGER_STORE_ITEMS);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_str_eq(script_describe(&facts), "ended 0/10 end=5000 declared@5000");

	/* A begin of a task whose end was forgotten is an open task: that can only keep. */
	m = task_record(MARKER_BEGIN, 126000, 3, 4801);
	add(s.ledger, 1, &m);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_eq(facts.open, 1);
	cr_assert(facts.logs_whole);
	ledger_free(s.ledger);
}

/* A host whose tasks never end: there is a limit, and from there on nothing is proven. */
Test(ledger_store, a_host_that_ends_nothing_proves_nothing)
{
	struct ledger_question q = script_usual;
	struct marker m = host_record(4711);
	struct script s = script_begin();
	struct marker_facts facts;

	ask_ports(&q);
	add(s.ledger, 1, &m);
	serve(s.ledger, 0, 10);
	script_run(&s, "log 1 1000\n9000 begin task=x lport=45873 dport=39917", &q);
	for (unsigned i = 10; i < LEDGER_STORE_ITEMS + 10; i++) {
		m = task_record(MARKER_BEGIN, 9000, i, 0);
		add(s.ledger, 1, &m);
	}
	cr_assert_leq(s.ledger->used, LEDGER_STORE_ITEMS);
	script_run(&s,
		   "log 1 1000\n9000 end task=0-never-begun\n9000 retired " W
		   "\n9000 begin task=1 " W "\n9000 end task=10",
		   &q);
	cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
	cr_assert_not(facts.logs_whole);
	cr_assert_not(facts.retired);
	cr_assert_eq(facts.unpooled[UNPOOLED_DECLARED], TRI_UNKNOWN);
	ledger_free(s.ledger);
}

/* However full the others are, a small one has its share. */
Test(ledger_store, a_flood_takes_nothing_from_others)
{
	struct marker m = host_record(4712);
	struct script s = script_begin();
	struct marker_facts facts;

	add(s.ledger, 2, &m);
	m.host.pid = 4713;
	add(s.ledger, 3, &m);
	for (unsigned i = 0; i < LEDGER_STORE_ITEMS; i++) {
		m = task_record(MARKER_BEGIN, 9000, i, 0);
		add(s.ledger, 2, &m);
		add(s.ledger, 3, &m);
	}
	cr_assert_leq(s.ledger->used, LEDGER_ITEMS_MAX);
	cr_assert_gt(s.ledger->used, LEDGER_ITEMS_MAX - 10);
	m = host_record(4711);
	add(s.ledger, 1, &m);
	serve(s.ledger, 0, 3000);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_str_eq(script_describe(&facts), "ended 0/10 end=5000 declared@5000");
	cr_assert_leq(s.ledger->used, LEDGER_ITEMS_MAX + LEDGER_STORE_SHARE);
	ledger_free(s.ledger);
}

static const struct {
	const char *why;
	uint32_t items, used;
	bool room;
} limits[] = {
	{ "the last record of its share, however full the others are", LEDGER_STORE_SHARE - 4,
	  LEDGER_ITEMS_MAX, true },
	{ "beyond its share", LEDGER_STORE_SHARE - 3, LEDGER_ITEMS_MAX, false },
	{ "the last record of all", LEDGER_STORE_SHARE - 3, LEDGER_ITEMS_MAX - 4, true },
	{ "beyond what all may have", LEDGER_STORE_SHARE - 3, LEDGER_ITEMS_MAX - 3, false },
	{ "the last record of one", LEDGER_STORE_ITEMS - 4, LEDGER_STORE_ITEMS, true },
	{ "beyond what one may have", LEDGER_STORE_ITEMS - 3, LEDGER_STORE_ITEMS, false },
};

/* A record can add a job, a task, a worker and a binding. */
Test(ledger_store, there_is_room_up_to_each_limit)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		uint32_t used = limits[i].used;
		struct ledger_store s = { .used = &used, .entries.used = limits[i].items };

		cr_expect_eq(ledger_store_make_room(&s), limits[i].room, "%s", limits[i].why);
	}
}

static struct ledger_scope *new_scope(uint32_t *used)
{
	struct ledger_scope *s = ledger_scope_new(&(struct ledger_writer){ 0 }, used);

	cr_assert_not_null(s);
	return s;
}

static void begin(struct ledger_scope *s, unsigned task)
{
	const struct marker m = task_record(MARKER_BEGIN, 5000, task, 4801);

	cr_assert_eq(ledger_scope_begin(s, &m), 0);
}

static void end(struct ledger_scope *s, unsigned task)
{
	const struct marker m = task_record(MARKER_END, 8000, task, 0);

	cr_assert_eq(ledger_scope_end(s, &m), 0);
}

Test(ledger_store, a_scope_without_room_takes_what_it_can_hold)
{
	uint32_t used = LEDGER_ITEMS_MAX;
	struct ledger_scope *s = new_scope(&used);

	for (unsigned i = 0; i < 2 * LEDGER_STORE_SHARE; i++)
		begin(s, i);
	cr_assert(s->lost);
	cr_assert_leq(used, LEDGER_ITEMS_MAX + LEDGER_STORE_SHARE);
	ledger_scope_free(s);
	cr_assert_eq(used, LEDGER_ITEMS_MAX, "it gives back what it had");
}

/* What proves nothing any more neither learns nor forgets; but what it knows may still end. */
Test(ledger_store, a_scope_that_lost_a_record_takes_only_ends)
{
	struct marker m = {
		.unix_ms = 5000, .event = MARKER_BEGIN, .task = "ports", .lport = 1, .dport = 2
	};
	uint32_t used = 0, entries, workers, bindings, task;
	struct ledger_scope *s = new_scope(&used);

	begin(s, 1);
	cr_assert_eq(ledger_scope_begin(s, &m), 0);
	for (unsigned i = 0; i < LEDGER_STORE_SHARE; i++)
		end(s, 100 + i);
	entries = s->store.entries.used;
	workers = s->store.workers.used;
	bindings = s->store.bindings.used;
	used = LEDGER_ITEMS_MAX;
	s->lost = true;
	begin(s, 2);
	end(s, 3);
	m = (struct marker){ .unix_ms = 6000, .event = MARKER_POOLED, .worker = { 4802, 80 } };
	cr_assert_eq(ledger_scope_note(s, &m, 1), 0);
	cr_assert_eq(ledger_scope_resolve(s, 1, 2, (struct ident){ 4803, 80 }, 1), 0);
	cr_assert_eq(s->store.entries.used, entries);
	cr_assert_eq(s->store.workers.used, workers);
	cr_assert_eq(s->store.bindings.used, bindings);
	end(s, 1);
	task = ledger_store_find(&s->store, false, "1", 1);
	cr_assert_eq(ledger_store_entry(&s->store, task)->end_ms, 8000);
	ledger_scope_free(s);
}

/* Without room a store lives on its share: the oldest ended go first, then workers without a binding. */
Test(ledger_store, workers_are_forgotten_too)
{
	uint32_t used = LEDGER_ITEMS_MAX, first = LEDGER_NONE, entry, worker;
	unsigned seen = 0;
	struct ledger_store s = { .used = &used };

	for (uint32_t i = 0; i < LEDGER_STORE_SHARE / 2; i++) {
		struct ledger_worker *w;

		cr_assert(ledger_store_make_room(&s));
		cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, i }, &worker), 0);
		w = ledger_store_worker(&s, worker);
		w->where_said.ms = i == 1 ? 700 : 5;
		w->retired.ms = i == 2 ? 800 : 5;
		w->forgotten_end_ms = i == 3 ? 900 : 5;
		first = i ? first : worker;
	}
	cr_assert_eq(ledger_store_need(&s, false, "open", &entry), 0);
	ledger_store_move(&s, entry, LIST_OPEN);
	cr_assert_eq(ledger_store_bind(&s, entry, first, 1, 1), 0);
	for (uint32_t i = 0; i < LEDGER_STORE_SHARE; i++) {
		static const uint64_t gone[] = { 700, 800, 900 };
		uint32_t left = s.workers.used;

		cr_assert(ledger_store_make_room(&s));
		for (uint32_t n = 0; n < ARRAY_SIZE(gone); n++)
			if (s.gone_ms == gone[n] && left > s.workers.used)
				seen |= 1u << n;
		cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 2, i }, &worker), 0);
	}
	cr_assert_eq(seen, 7, "the last thing that was known of each: %u", seen);
	cr_assert_neq(ledger_store_find_worker(&s, (struct ident){ 1, 0 }), LEDGER_NONE,
		      "it is bound");
	cr_assert_eq(ledger_store_find_worker(&s, (struct ident){ 1, 1 }), LEDGER_NONE);
	cr_assert_leq(s.workers.used, LEDGER_STORE_SHARE);
	ledger_store_done(&s);
	cr_assert_eq(used, LEDGER_ITEMS_MAX);
}

/* Who is not known may have been forgotten: what proves must be later than all that was. */
Test(ledger_store, a_worker_that_may_have_been_forgotten)
{
	struct script s = script_begin();
	struct marker_facts facts;

	script_run(&s, REPORTED "beats 10000 100000 10000", &script_usual);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_str_eq(script_describe(&facts), "none !declared reported@30000");
	s.ledger->scopes[0]->store.gone_ms = 40000;
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_str_eq(script_describe(&facts), "none !declared reported@70000");
	ledger_free(s.ledger);
}

/* More workers than tasks are worth: then it is their turn although tasks could be forgotten. */
Test(ledger_store, too_many_workers_go_before_tasks)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t worker, open, spare;

	cr_assert_eq(ledger_store_need(&s, true, "spare", &spare), 0);
	cr_assert_eq(ledger_store_need(&s, false, "open", &open), 0);
	ledger_store_move(&s, open, LIST_OPEN);
	for (uint32_t i = 0; i <= LEDGER_STORE_WORKERS; i++) {
		cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, i }, &worker), 0);
		if (i >= 100 && i < 200)
			cr_assert_eq(ledger_store_bind(&s, open, worker, 1, 1), 0);
	}
	*s.used = LEDGER_ITEMS_MAX;
	for (uint32_t i = 0; i < 100; i++) {
		*s.used = LEDGER_ITEMS_MAX - 3;
		cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 2, i }, &worker), 0);
		*s.used = LEDGER_ITEMS_MAX - 3;
		cr_assert(ledger_store_make_room(&s));
		cr_assert_eq(ledger_store_find(&s, true, "spare", 5), spare, "%u", i);
	}
	cr_assert_eq(ledger_store_find_worker(&s, (struct ident){ 1, 99 }), LEDGER_NONE);
	/* A hundred in a row that are bound: so far nobody looks for one. */
	*s.used = LEDGER_ITEMS_MAX - 3;
	cr_assert(ledger_store_make_room(&s));
	cr_assert_eq(ledger_store_find(&s, true, "spare", 5), LEDGER_NONE);
	*s.used = s.entries.used + s.workers.used + s.bindings.used;
	ledger_store_done(&s);
}

Test(ledger_store, tasks_go_before_as_many_workers_as_are_allowed)
{
	uint32_t used = LEDGER_ITEMS_MAX - 3, entry, worker;
	struct ledger_store s = { .used = &used };

	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, 1 }, &worker), 0);
	for (uint32_t more = 0; more <= 1; more++) {
		cr_assert_eq(ledger_store_need(&s, true, "spare", &entry), 0);
		s.workers.used = LEDGER_STORE_WORKERS + more;
		used = LEDGER_ITEMS_MAX - 3;
		cr_assert(ledger_store_make_room(&s));
		cr_assert_eq(ledger_store_find(&s, true, "spare", 5) != LEDGER_NONE, more);
		cr_assert_eq(ledger_store_find_worker(&s, (struct ident){ 1, 1 }) != LEDGER_NONE,
			     !more);
	}
	ledger_store_done(&s);
}

Test(ledger_store, a_worker_is_forgotten_once)
{
	uint32_t used = LEDGER_ITEMS_MAX, worker;
	struct ledger_store s = { .used = &used, .entries.used = LEDGER_STORE_SHARE };

	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, i }, &worker), 0);
	cr_assert_not(ledger_store_make_room(&s));
	cr_assert_eq(s.workers.used, 0);
	cr_assert_eq(used, LEDGER_ITEMS_MAX);
	ledger_store_done(&s);
}

/* The record can be given again. */
Test(ledger_store, what_cannot_be_made_is_said)
{
	uint32_t used = 0, entry, worker, other;
	struct ledger_store s = { .used = &used };

	cr_assert_eq(ledger_store_need(&s, false, "task", &entry), 0);
	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, 1 }, &worker), 0);
	s.entries.count += LEDGER_POOL_MAX;
	s.workers.count += LEDGER_POOL_MAX;
	s.bindings.count += LEDGER_POOL_MAX;
	cr_assert_eq(ledger_store_need(&s, false, "other", &other), -LEDGER_ENOMEM);
	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, 2 }, &other), -LEDGER_ENOMEM);
	cr_assert_eq(ledger_store_bind(&s, entry, worker, 1, 1), -LEDGER_ENOMEM);
	cr_assert_eq(used, 2);
	s.entries.count -= LEDGER_POOL_MAX;
	ledger_store_done(&s);
}

Test(ledger_store, one_scope_more_than_there_may_be_is_not_made)
{
	static struct ledger_scope one, *full[LEDGER_LOGS_MAX + LEDGER_LEFT_MAX + 1];
	struct ledger l = { .scopes = full, .scope_count = ARRAY_SIZE(full) };
	const struct ledger_writer writer = { .kind = MARKER_HOST };
	struct ledger_scope *s = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(full); i++)
		full[i] = &one;
	cr_assert_eq(ledger_state_need_scope(&l, &writer, &s), -LEDGER_ENOMEM);
	cr_assert_null(s);
}

/* A worker whose tasks are forgotten: the end of the latest epoch counts. */
Test(ledger_store, a_worker_remembers_the_end_of_forgotten_tasks)
{
	static const struct {
		uint64_t end_ms;
		uint32_t epoch;
	} ends[] = { { 90, 1 }, { 95, 1 }, { 94, 1 }, { 20, 2 }, { 99, 1 }, { 30, 2 }, { 25, 2 } };
	uint32_t used = LEDGER_ITEMS_MAX, entry, worker;
	struct ledger_store s = { .used = &used };
	char name[16];

	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, 1 }, &worker), 0);
	for (unsigned i = 0; i < LEDGER_STORE_SHARE + 16; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		cr_assert(ledger_store_make_room(&s));
		cr_assert_eq(ledger_store_need(&s, false, name, &entry), 0);
		if (i < ARRAY_SIZE(ends)) {
			cr_assert_eq(ledger_store_bind(&s, entry, worker, 1, 1), 0);
			ledger_store_entry(&s, entry)->end_ms = ends[i].end_ms;
			ledger_store_entry(&s, entry)->end_epoch = ends[i].epoch;
		}
		ledger_store_move(&s, entry, LIST_SPARE);
	}
	cr_assert_eq(ledger_store_worker(&s, worker)->forgotten, ARRAY_SIZE(ends));
	cr_assert_eq(ledger_store_worker(&s, worker)->bindings, 0);
	cr_assert_eq(ledger_store_worker(&s, worker)->forgotten_end_ms, 30);
	cr_assert_eq(ledger_store_worker(&s, worker)->forgotten_epoch, 2);
	ledger_store_done(&s);
}

Test(ledger_store, an_entry_is_in_one_list_or_in_none)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t job, one, other;

	cr_assert_eq(ledger_store_need(&s, true, "job", &job), 0);
	cr_assert_eq(ledger_store_entry(&s, job)->list, LIST_SPARE, "until a task names it");
	cr_assert_eq(ledger_store_need(&s, false, "one", &one), 0);
	cr_assert_eq(ledger_store_entry(&s, one)->list, LIST_NONE);
	cr_assert_eq(ledger_store_need(&s, false, "other", &other), 0);
	ledger_store_move(&s, one, LIST_OPEN);
	ledger_store_move(&s, one, LIST_NONE);
	ledger_store_move(&s, one, LIST_OPEN);
	ledger_store_move(&s, other, LIST_OPEN);
	cr_assert_eq(ledger_store_entry(&s, one)->next, other + 1);
	ledger_store_move(&s, other, LIST_NONE);
	cr_assert_eq(ledger_store_entry(&s, one)->next, 0);
	cr_assert_eq(s.first[LIST_OPEN], one + 1);
	cr_assert_eq(s.last[LIST_OPEN], one + 1);
	ledger_store_done(&s);
}

Test(ledger_store, a_binding_has_the_time_of_its_latest_record)
{
	static const struct {
		uint64_t ms;
		uint32_t epoch;
		uint64_t want_ms;
	} records[] = { { 100, 1, 100 }, { 90, 1, 100 }, { 110, 1, 110 }, { 50, 2, 50 } };
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t entry, worker;

	cr_assert_eq(ledger_store_need(&s, false, "task", &entry), 0);
	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, 1 }, &worker), 0);
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		cr_assert_eq(ledger_store_bind(&s, entry, worker, records[i].ms, records[i].epoch),
			     0);
		cr_expect_eq(ledger_store_binding(&s, 0)->ms, records[i].want_ms, "%zu", i);
	}
	cr_assert_eq(s.bindings.used, 1);
	ledger_store_done(&s);
}

/* A task with so many workers that one of them is not looked for any more. */
Test(ledger_store, bindings_of_one_task)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t entry, worker;

	cr_assert_eq(ledger_store_need(&s, false, "task", &entry), 0);
	for (uint32_t i = 0; i <= LEDGER_TWINS_MAX; i++) {
		cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, i }, &worker), 0);
		cr_assert_eq(ledger_store_bind(&s, entry, worker, 1, 1), 0);
		cr_assert_eq(ledger_store_bind(&s, entry, worker, 1, 1), 0);
	}
	cr_assert_eq(s.bindings.used, LEDGER_TWINS_MAX + 1);
	cr_assert_not(ledger_store_is_bound(&s, entry, 0));
	cr_assert(ledger_store_is_bound(&s, entry, 1));
	/* One from the middle, the one behind it, the last, the first. */
	ledger_store_unbind(&s, ledger_store_worker(&s, 7)->bindings - 1);
	ledger_store_unbind(&s, ledger_store_worker(&s, 6)->bindings - 1);
	cr_assert_not(ledger_store_is_bound(&s, entry, 7));
	cr_assert_not(ledger_store_is_bound(&s, entry, 6));
	cr_assert(ledger_store_is_bound(&s, entry, 0));
	ledger_store_unbind(&s, ledger_store_worker(&s, 0)->bindings - 1);
	ledger_store_unbind(&s, ledger_store_worker(&s, LEDGER_TWINS_MAX)->bindings - 1);
	for (uint32_t i = 0; i <= LEDGER_TWINS_MAX; i++)
		cr_assert_eq(ledger_store_is_bound(&s, entry, i),
			     i && i != 6 && i != 7 && i != LEDGER_TWINS_MAX);
	cr_assert_eq(s.bindings.used, LEDGER_TWINS_MAX - 3);
	ledger_store_done(&s);
}

Test(ledger_store, a_host_with_too_many_logs_proves_nothing)
{
	struct marker m = host_record(4711);
	struct script s = script_begin();
	struct marker_facts facts;

	script_run(&s, NONE SERVED, &script_usual);
	for (uint32_t log = 2; log <= LEDGER_HOST_LOGS_MAX; log++)
		add(s.ledger, log, &m);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert(facts.logs_whole);
	cr_assert_eq(facts.unpooled[UNPOOLED_DECLARED], TRI_YES);
	add(s.ledger, LEDGER_HOST_LOGS_MAX + 1, &m);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_not(facts.logs_whole);
	cr_assert_eq(facts.unpooled[UNPOOLED_DECLARED], TRI_UNKNOWN);
	ledger_free(s.ledger);
}

/* Writers whose logs are gone are remembered for a while, the latest of them. */
Test(ledger_store, writers_without_a_log_are_forgotten_in_turn)
{
	struct script s = script_begin();
	struct marker_facts facts;
	struct ledger_host h;

	script_run(&s, HOST "\n5000 begin task=17 " W "\nforget 1", &script_usual);
	for (unsigned i = 0; i < 2 * LEDGER_LEFT_MAX; i++) {
		struct marker m = host_record(5000 + (pid_t)i);

		add(s.ledger, 100 + i, &m);
		if (i >= LEDGER_LEFT_MAX / 2)
			ledger_forget(s.ledger, 100 + i);
		if (i == LEDGER_LEFT_MAX) {
			script_run(&s, "log 50 1000\n9000 host host=4711:50 WHO class=pyspark",
				   &script_usual);
			cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
			cr_assert_eq(facts.open, 1, "its log came back");
			ledger_forget(s.ledger, 50);
		}
	}
	ledger_clock_stepped(s.ledger, 8000);
	cr_assert(ledger_host_at(s.ledger, LEDGER_LEFT_MAX / 2 - 1, &h));
	cr_assert_not(ledger_host_at(s.ledger, LEDGER_LEFT_MAX / 2, &h));
	cr_assert_not(ledger_host_find(s.ledger, &script_usual.host, SCRIPT_UID, &h));
	for (unsigned i = 0; i < LEDGER_LEFT_MAX / 2; i++)
		ledger_forget(s.ledger, 100 + i);
	script_run(&s, "log 51 1000\n9000 host host=4711:50 WHO class=pyspark", &script_usual);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_eq(facts.open, 0, "it was forgotten");
	ledger_free(s.ledger);
}

Test(ledger_store, the_writer_that_has_no_log_for_longest_is_forgotten)
{
	static const char back[] = "log 50 1000\n9000 host host=4711:50 WHO class=pyspark";
	struct script s = script_begin();
	struct marker_facts facts;

	script_run(&s, HOST "\n5000 begin task=17 " W "\nforget 1", &script_usual);
	for (unsigned i = 1; i <= LEDGER_LEFT_MAX; i++) {
		struct marker m = host_record(5000 + (pid_t)i);

		/* The first is back, and gone again, before there are too many. */
		if (i == LEDGER_LEFT_MAX)
			script_run(&s, back, &script_usual);
		ledger_forget(s.ledger, 50);
		add(s.ledger, 100 + i, &m);
		ledger_forget(s.ledger, 100 + i);
	}
	script_run(&s, back, &script_usual);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_eq(facts.open, 1);
	for (unsigned i = 1; i <= LEDGER_LEFT_MAX; i++) {
		struct marker m = host_record(6000 + (pid_t)i);

		add(s.ledger, 200, &m);
		ledger_forget(s.ledger, 200);
	}
	cr_assert_leq(s.ledger->scope_count, LEDGER_LEFT_MAX + 2, "places are taken again");
	ledger_free(s.ledger);
}

/* A host's log goes, then an operator writes from elsewhere: nothing was read in between. */
Test(ledger_store, of_writers_that_went_together_the_first_is_forgotten)
{
	struct script s = script_begin();
	struct marker_facts facts;

	script_run(&s, HOST "\n5000 begin task=17 " W "\n" OPERATOR "5000 retired " W,
		   &script_usual);
	script_run(&s, "forget 1\nlog 9 1000\n6000 operator uid=1000 boot=BOOT pidns=7",
		   &script_usual);
	for (unsigned i = 1; i < LEDGER_LEFT_MAX; i++) {
		struct marker m = host_record(5000 + (pid_t)i);

		add(s.ledger, 100, &m);
		ledger_forget(s.ledger, 100);
	}
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert(facts.retired_by_operator);
	script_run(&s, "log 1 1000\n9000 host host=4711:50 WHO class=pyspark", &script_usual);
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_eq(facts.open, 0);
	ledger_free(s.ledger);
}

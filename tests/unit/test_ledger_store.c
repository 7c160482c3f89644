/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits, and names that are made to collide: whoever writes a log can compute the hash as well.
 */
#include "correlate/ledger_store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "correlate/ledger_state.h"
#include "ledger_script.h"

enum {
	CROWD = LEDGER_INDEX_RUN_MAX + 2,
	/* A table with so many members has 4096 slots: equal low bits are one place in it. */
	CROWD_BITS = 0xfff,
};

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

/* A worker whose tasks are forgotten: the end of the latest epoch counts. */
Test(ledger_store, a_worker_remembers_the_end_of_forgotten_tasks)
{
	static const struct {
		uint64_t end_ms;
		uint32_t epoch;
	} ends[] = { { 90, 1 }, { 95, 1 }, { 94, 1 }, { 20, 2 }, { 99, 1 }, { 30, 2 } };
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

/* Finds two numbers whose hashes are equal; if asked for, one of them even and one odd. */
static void find_twins(uint32_t (*hash)(uint32_t number), bool mixed, uint32_t *ret_a,
		       uint32_t *ret_b)
{
	uint32_t size = 1u << 22, limit = size / 2, *table = calloc(size, sizeof(*table));

	cr_assert_not_null(table);
	*ret_a = *ret_b = 0;
	for (uint32_t i = 1; i < limit && *ret_a == *ret_b; i++) {
		uint32_t at = hash(i) & (size - 1);

		for (; table[at]; at = (at + 1) & (size - 1))
			if (hash(table[at]) == hash(i) && (!mixed || (table[at] - i) % 2)) {
				*ret_a = table[at];
				*ret_b = i;
			}
		table[at] = i;
	}
	free(table);
	cr_assert_neq(*ret_a, *ret_b, "no twins below %u", limit);
}

static uint32_t hash_number(uint32_t i)
{
	char name[16];

	return ledger_index_hash(name, (size_t)snprintf(name, sizeof(name), "%07u", i));
}

/* Even numbers are tasks, odd ones jobs. */
static uint32_t hash_kind(uint32_t i)
{
	return hash_number(i) + i % 2;
}

static uint32_t hash_start(uint32_t i)
{
	return ledger_index_hash_pair(1, i);
}

static uint32_t hash_owner(uint32_t i)
{
	return ledger_index_hash_pair((uint64_t)4711 << 32 | i,
				      (uint64_t)50 ^ (uint64_t)SCRIPT_US << 16) +
	       MARKER_HOST;
}

Test(ledger_store, equal_hashes_are_not_equal_names)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t a, b, one, other;
	char name[16];

	find_twins(hash_number, false, &a, &b);
	(void)snprintf(name, sizeof(name), "%07u", a);
	cr_assert_eq(ledger_store_need(&s, false, name, &one), 0);
	(void)snprintf(name, sizeof(name), "%07u", b);
	cr_assert_eq(ledger_store_find(&s, false, name, 7), LEDGER_NONE);
	cr_assert_eq(ledger_store_need(&s, false, name, &other), 0);
	cr_assert_neq(one, other);
	cr_assert_eq(ledger_store_find(&s, false, name, 7), other);
	ledger_store_done(&s);
}

Test(ledger_store, equal_hashes_are_not_equal_kinds)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t a, b, one;
	char name[16];

	find_twins(hash_kind, true, &a, &b);
	(void)snprintf(name, sizeof(name), "%07u", a);
	cr_assert_eq(ledger_store_need(&s, a % 2, name, &one), 0);
	(void)snprintf(name, sizeof(name), "%07u", b);
	cr_assert_eq(ledger_store_find(&s, b % 2, name, 7), LEDGER_NONE);
	ledger_store_done(&s);
}

Test(ledger_store, equal_hashes_are_not_equal_workers)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t a, b, one, other;

	find_twins(hash_start, false, &a, &b);
	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, a }, &one), 0);
	cr_assert_eq(ledger_store_find_worker(&s, (struct ident){ 1, b }), LEDGER_NONE);
	cr_assert_eq(ledger_store_need_worker(&s, (struct ident){ 1, b }, &other), 0);
	cr_assert_neq(one, other);
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
	/* One from the middle, the last, the first. */
	ledger_store_unbind(&s, ledger_store_worker(&s, 7)->bindings - 1);
	cr_assert_not(ledger_store_is_bound(&s, entry, 7));
	cr_assert(ledger_store_is_bound(&s, entry, 0));
	ledger_store_unbind(&s, ledger_store_worker(&s, 0)->bindings - 1);
	ledger_store_unbind(&s, ledger_store_worker(&s, LEDGER_TWINS_MAX)->bindings - 1);
	for (uint32_t i = 0; i <= LEDGER_TWINS_MAX; i++)
		cr_assert_eq(ledger_store_is_bound(&s, entry, i),
			     i && i != 7 && i != LEDGER_TWINS_MAX);
	cr_assert_eq(s.bindings.used, LEDGER_TWINS_MAX - 2);
	ledger_store_done(&s);
}

Test(ledger_store, equal_hashes_are_not_equal_owners)
{
	struct ledger_question q = script_usual;
	struct script s = script_begin();
	struct marker_facts facts;
	uint32_t a, b;
	char log[64];

	find_twins(hash_owner, false, &a, &b);
	(void)snprintf(log, sizeof(log), "log 1 %u", a);
	script_run(&s, log, &q);
	script_run(&s, "1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W, &q);
	q.uid = b;
	cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
	cr_assert_not(facts.host_log);
	q.uid = a;
	cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
	cr_assert(facts.host_log);
	ledger_free(s.ledger);
}

/* Names that all belong into one place of the table. */
Test(ledger_store, a_crowd_of_names_proves_nothing)
{
	struct script s = script_begin();
	struct marker_facts facts;
	char record[64];

	script_run(&s, NONE SERVED, &script_usual);
	for (uint32_t i = 0, n = 0; n < CROWD; i++) {
		if (hash_number(i) & CROWD_BITS)
			continue;
		(void)snprintf(record, sizeof(record), "9000 begin task=%07u", i);
		script_run(&s, record, &script_usual);
		n++;
	}
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_not(facts.logs_whole);
	cr_assert_eq(facts.unpooled[UNPOOLED_DECLARED], TRI_UNKNOWN);
	ledger_free(s.ledger);
}

Test(ledger_store, a_crowd_of_workers_proves_nothing)
{
	struct script s = script_begin();
	struct marker_facts facts;
	char record[64];

	script_run(&s, NONE SERVED, &script_usual);
	for (uint32_t i = 0, n = 0; n < CROWD; i++) {
		if (hash_start(i) & CROWD_BITS)
			continue;
		(void)snprintf(record, sizeof(record), "9000 pooled worker=1:%u", i);
		script_run(&s, record, &script_usual);
		n++;
	}
	cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
	cr_assert_not(facts.logs_whole);
	ledger_free(s.ledger);
}

/* A crowd of hosts: the last ones are not believed, the others are. */
Test(ledger_store, a_crowd_of_hosts_is_not_believed)
{
	struct marker m = host_record(4711);
	struct script s = script_begin();
	struct ledger_host h;
	uint32_t log = 1;

	for (uint32_t i = 0; log <= CROWD; i++) {
		uint64_t start = (uint64_t)i << 17;

		if ((ledger_index_hash_pair((uint64_t)4711 << 32 | SCRIPT_UID,
					    start ^ (uint64_t)SCRIPT_US << 16) +
		     MARKER_HOST) &
		    CROWD_BITS)
			continue;
		m.host.start = start;
		add(s.ledger, log++, &m);
	}
	cr_assert(ledger_host_at(s.ledger, LEDGER_INDEX_RUN_MAX - 1, &h));
	cr_assert_not(ledger_host_at(s.ledger, LEDGER_INDEX_RUN_MAX, &h));
	ledger_free(s.ledger);
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

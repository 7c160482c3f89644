/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose word counts for whom, and who is meant by a number. Names that are made to collide: whoever writes a
 * log can compute the hash as well.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "correlate/ledger_state.h"
#include "ledger_script.h"

enum {
	CROWD = LEDGER_INDEX_RUN_MAX + 2,
	/* A table with so many members has 4096 slots: equal low bits are one place in it. */
	CROWD_BITS = 0xfff,
};

static void other_uid(struct ledger_question *q)
{
	q->uid = 1001;
}

static void by_root(struct ledger_question *q)
{
	q->uid = 0;
}

static void contained_unreadable(struct ledger_question *q)
{
	ask_contained(q);
	q->worker.ns_pid = 0;
	q->host.ns_pid = 0;
	q->host.pid_ns = 0;
}

static void contained_unreadable_ports(struct ledger_question *q)
{
	contained_unreadable(q);
	ask_ports(q);
}

static void unshared(struct ledger_question *q)
{
	ask_contained(q);
	q->worker.pid_ns = 8;
}

static void we_are_nowhere(struct ledger_question *q)
{
	q->worker.our_pid_ns = 0;
	q->worker.pid_ns = 0;
	q->host.our_pid_ns = 0;
	q->host.pid_ns = 0;
}

static void other_start(struct ledger_question *q)
{
	q->worker.id.start = 81;
}

static void other_host_start(struct ledger_question *q)
{
	q->host.id.start = 51;
}

#define IN_CONTAINER "log 1 1000\n1000 host host=1:50 boot=BOOT pidns=7 class=pyspark"

static const struct script_row names[] = {
	{ .why = "a log of the worker's uid",
	  HOST "\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "a log of another uid", HOST "\n5000 begin task=17 " W, "none", other_uid },
	{ .why = "a log of root counts for all",
	  "log 1 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17",
	  other_uid },
	{ .why = "root believes root",
	  "log 1 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17",
	  by_root },
	{ .why = "root does not believe a user", HOST "\n5000 begin task=17 " W, "none", by_root },
	{ .why = "a stranger's end ends nothing",
	  HOST "\n5000 begin task=17 " W "\nlog 3 1001\n1000 host host=4711:50 WHO class=pyspark\n"
	       "8000 end task=17",
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "root's end ends a user's task",
	  HOST "\n5000 begin task=17 " W "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n"
	       "8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a user's end ends no task of root's log, though the user's own is",
	  "log 3 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W "\n" HOST
	  "\n5000 begin task=17 " W "\n8000 end task=17",
	  "open 1/1 since=5000 end=8000 tasks=17" },
	{ .why = "the same, where the user's log is asked first",
	  HOST "\n5000 begin task=17 " W "\n5000 begin task=18 " W "\n8000 end task=17\n"
	       "log 2 0\n1500 daemon daemon=4790:60 WHO\n5000 begin task=17 " W,
	  "open 2/2 since=5000 end=8000 tasks=18,17" },
	{ .why = "T13: another process with that number",
	  HOST "\n5000 begin task=17 " W "\n8000 retired " W,
	  "none",
	  other_start },
	{ .why = "another host with that number",
	  HOST "\n5000 begin task=17 " W,
	  "none",
	  other_host_start },
	{ .why = "a host that names itself by its own namespace",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80",
	  "open 1/1 since=5000 tasks=17",
	  ask_contained },
	{ .why = "numbers of that namespace are not ours",
	  IN_CONTAINER "\n5000 begin task=17 " W,
	  "none",
	  ask_contained },
	{ .why = "our numbers are not of that namespace",
	  HOST "\n5000 begin task=17 worker=22:80",
	  "none",
	  ask_contained },
	{ .why = "one writer inside and one outside",
	  IN_CONTAINER
	  "\n5000 begin task=17 worker=22:80\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n"
	  "5001 begin task=18 " W "\n8000 end task=17",
	  "open 1/2 since=5001 end=8000 tasks=18,17",
	  ask_contained },
	{ .why = "Python's side inside, the host's word outside",
	  HOST "\n8000 end task=17\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n"
	       "5000 begin task=17 worker=22:80",
	  "ended 0/1 end=8000 tasks=17",
	  ask_contained },
	{ .why = "a namespace that cannot be read translates nothing",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80",
	  "none",
	  contained_unreadable },
	{ .why = "nor ports",
	  HOST "\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n"
	       "5000 begin task=17 lport=45873 dport=39917",
	  "none",
	  contained_unreadable_ports },
	{ .why = "the host outside can be told, the worker inside cannot",
	  HOST
	  "\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n5000 begin task=17 worker=22:80",
	  "none",
	  contained_unreadable },
	{ .why = "a namespace that is neither",
	  "log 1 1000\n1000 host host=4711:50 boot=BOOT pidns=5 class=pyspark\n"
	  "5000 begin task=17 " W,
	  "none",
	  ask_contained },
	{ .why = "nobody knows where we are",
	  HOST "\n5000 begin task=17 " W,
	  "none",
	  we_are_nowhere },
	{ .why = "a worker in a namespace of its own",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80",
	  "none",
	  unshared },
	{ .why = "another boot's host",
	  "log 1 1000\n1000 host host=4711:50 boot=" SCRIPT_OTHER_BOOT " pidns=1 class=pyspark\n"
	  "5000 begin task=17 " W,
	  "none" },
	{ .why = "records before the identity record",
	  "log 1 1000\n900 begin task=17 " W "\n1000 host host=4711:50 WHO class=pyspark",
	  "none" },
	{ .why = "a second host in a host's log, and Python's log",
	  HOST "\n6000 host host=4712:51 WHO class=pyspark\n" DAEMON "5000 begin task=17 " W,
	  "open 1/1 since=5000 part tasks=17" },
	{ .why = "the same identity record again",
	  HOST "\n5000 begin task=17 " W "\n6000 host host=4711:50 WHO class=pyspark",
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "a second host in one log: nobody is believed any more",
	  HOST "\n5000 begin task=17 " W
	       "\n6000 host host=4712:51 WHO class=pyspark\n8000 end task=17\n"
	       "8001 retired " W,
	  "open 1/1 since=5000 part tasks=17" },
	{ .why = "a daemon of that number in a host's log",
	  HOST "\n5000 begin task=17 " W "\n6000 daemon daemon=4711:50 WHO\n8000 end task=17",
	  "open 1/1 since=5000 part tasks=17" },
	{ .why = "a host of that number in another namespace in one log",
	  HOST "\n5000 begin task=17 " W
	       "\n6000 host host=4711:50 boot=BOOT pidns=7 class=pyspark\n8000 end task=17",
	  "open 1/1 since=5000 part tasks=17" },
	{ .why = "a second boot in one log",
	  HOST "\n6000 host host=4711:50 boot=" SCRIPT_OTHER_BOOT
	       " pidns=1 class=pyspark\n8001 retired " W,
	  "none part" },
	{ .why = "our host in a log of another boot's",
	  "log 1 1000\n1000 host host=4711:50 boot=" SCRIPT_OTHER_BOOT
	  " pidns=1 class=pyspark\n1001 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "none" },
	{ .why = "an operator in a host's log",
	  HOST "\n6000 operator uid=1000 WHO\n8001 retired " W,
	  "none part" },
	{ .why = "a log that is gone leaves what it began and what ended",
	  HOST "\n5000 begin task=17 " W "\n5001 begin task=18 " W "\n8000 end task=17\nforget 1\n"
	       "log 3 1000\n8500 host host=4711:50 WHO class=pyspark\n8501 begin task=17 " W,
	  "open 1/2 since=5001 end=8000 tasks=18,17" },
	{ .why = "without any log nothing is said",
	  HOST "\n5000 begin task=17 " W "\nforget 1",
	  "none" },
	{ .why = "a log that was never there",
	  HOST "\n5000 begin task=17 " W "\nforget 5",
	  "open 1/1 since=5000 tasks=17" },
};

Test(ledger, names_are_those_of_the_writer)
{
	script_check(names, ARRAY_SIZE(names));
}

Test(ledger_names, an_unknown_namespace_is_nobodys)
{
	const struct ledger_name unknown = { .id = { 4801, 80 }, .ns_pid = 4801 };

	cr_assert_eq(ledger_state_local(&unknown, 0).pid, 0);
	cr_assert_eq(ledger_state_local(&unknown, SCRIPT_US).pid, 0);
	cr_assert_eq(ledger_state_local(&script_usual.worker, SCRIPT_US).pid, 4801);
}

/* Else what one log says would count twice. */
Test(ledger_names, a_writer_is_found_once)
{
	const struct ledger_name unnamed = { { 4801, 80 }, SCRIPT_US, 0, SCRIPT_INNER };
	const struct ledger_name *host = &script_usual.host;
	struct ledger_scope *found[LEDGER_NAMED_MAX];
	struct script s = script_begin();

	script_run(&s, "log 1 0\n1000 host host=4711:50 WHO class=pyspark", &script_usual);
	cr_assert_eq(ledger_state_named(s.ledger, MARKER_HOST, host, SCRIPT_UID, found), 1,
		     "its namespace is ours");
	cr_assert_eq(ledger_state_named(s.ledger, MARKER_HOST, host, 0, found), 1,
		     "and its owner is root");
	script_run(&s, "log 9 1000\n1000 operator uid=1000 boot=BOOT pidns=7", &script_usual);
	cr_assert_eq(ledger_state_named(s.ledger, MARKER_OPERATOR, &unnamed, SCRIPT_UID, found), 0,
		     "in its namespace the worker has no name");
	ledger_free(s.ledger);
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

Test(ledger_names, equal_hashes_are_not_equal_names)
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

/* These two were looked for; where the hash changes, others have to be. */
Test(ledger_names, a_name_is_not_the_longer_one_that_begins_with_it)
{
	struct ledger_store s = { .used = &(uint32_t){ 0 } };
	uint32_t longer, shorter;

	cr_assert_eq(ledger_index_hash("5365510181", 10), ledger_index_hash("53655101", 8));
	cr_assert_eq(ledger_store_need(&s, false, "5365510181", &longer), 0);
	cr_assert_eq(ledger_store_find(&s, false, "53655101", 8), LEDGER_NONE);
	cr_assert_eq(ledger_store_need(&s, false, "53655101", &shorter), 0);
	cr_assert_neq(longer, shorter);
	ledger_store_done(&s);
}

Test(ledger_names, equal_hashes_are_not_equal_kinds)
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

Test(ledger_names, equal_hashes_are_not_equal_workers)
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

Test(ledger_names, equal_hashes_are_not_equal_owners)
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
Test(ledger_names, a_crowd_of_names_proves_nothing)
{
	static const char *const records[] = { "begin task", "end task", "begin task=x job" };
	struct marker_facts facts;
	uint32_t crowd[CROWD];
	char record[64];

	for (uint32_t i = 0, n = 0; n < CROWD; i++)
		if (!(hash_number(i) & CROWD_BITS))
			crowd[n++] = i;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct script s = script_begin();

		script_run(&s, NONE SERVED, &script_usual);
		for (uint32_t n = 0; n < CROWD; n++) {
			(void)snprintf(record, sizeof(record), "9000 %s=%07u", records[i],
				       crowd[n]);
			script_run(&s, record, &script_usual);
		}
		cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
		cr_assert_not(facts.logs_whole, "%s", records[i]);
		cr_assert_eq(facts.unpooled[UNPOOLED_DECLARED], TRI_UNKNOWN);
		ledger_free(s.ledger);
	}
}

Test(ledger_names, a_crowd_of_workers_proves_nothing)
{
	static const char *const records[] = { "pooled", "begin task=x" };
	struct marker_facts facts;
	char record[64];

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct script s = script_begin();

		script_run(&s, NONE SERVED, &script_usual);
		for (uint32_t start = 0, n = 0; n < CROWD; start++) {
			if (hash_start(start) & CROWD_BITS)
				continue;
			(void)snprintf(record, sizeof(record), "9000 %s worker=1:%u", records[i],
				       start);
			script_run(&s, record, &script_usual);
			n++;
		}
		cr_assert_eq(ledger_ask(s.ledger, &script_usual, &facts), 0);
		cr_assert_not(facts.logs_whole, "%s", records[i]);
		ledger_free(s.ledger);
	}
}

/* What ports bind is not lost unseen: the worker behind them has no room. */
Test(ledger_names, a_crowd_of_workers_and_ports_prove_nothing)
{
	struct ledger_question q = script_usual;
	struct script s = script_begin();
	struct marker_facts facts;
	char record[64];

	script_run(&s, NONE "5000 begin task=17 lport=45873 dport=39917", &q);
	for (uint32_t start = 0, n = 0; n <= LEDGER_INDEX_RUN_MAX; start++) {
		if (hash_start(start) & CROWD_BITS)
			continue;
		q.worker.id = (struct ident){ 1, start };
		(void)snprintf(record, sizeof(record), "9000 pooled worker=1:%u", start);
		if (n++ < LEDGER_INDEX_RUN_MAX)
			script_run(&s, record, &q);
	}
	cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
	cr_assert(facts.logs_whole, "so far there was room");
	ask_ports(&q);
	cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
	cr_assert_not(facts.logs_whole);
	ledger_free(s.ledger);
}

/* A crowd of hosts: the last ones are not believed, the others are. */
Test(ledger_names, a_crowd_of_hosts_is_not_believed)
{
	struct script s = script_begin();
	struct ledger_host h;
	char records[100];
	uint32_t log = 1;

	for (uint32_t i = 0; log <= CROWD; i++) {
		uint64_t start = (uint64_t)i << 17;

		if ((ledger_index_hash_pair((uint64_t)4711 << 32 | SCRIPT_UID,
					    start ^ (uint64_t)SCRIPT_US << 16) +
		     MARKER_HOST) &
		    CROWD_BITS)
			continue;
		(void)snprintf(records, sizeof(records),
			       "log %u 1000\n1000 host host=4711:%" PRIu64 " WHO class=pyspark",
			       log++, start);
		script_run(&s, records, &script_usual);
	}
	cr_assert(ledger_host_at(s.ledger, LEDGER_INDEX_RUN_MAX - 1, &h));
	cr_assert_not(ledger_host_at(s.ledger, LEDGER_INDEX_RUN_MAX, &h));
	ledger_free(s.ledger);
}

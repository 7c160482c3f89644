/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof `host idle`; then limits, and the tables that a ledger is made of.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "correlate/ledger_index.h"
#include "correlate/ledger_state.h"
#include "ledger_script.h"

static uint64_t seen_running[4096];

static void ran_all_the_time(struct ledger_question *q)
{
	for (size_t i = 0; i < 300; i++)
		seen_running[i] = 1000 + i * 1000;
	q->host_runs = seen_running;
	q->host_run_count = 300;
}

static void stopped_for_25s(struct ledger_question *q)
{
	ran_all_the_time(q);
	for (size_t i = 60; i < 300; i++)
		seen_running[i] += 24000;
}

static void stopped_for_20s(struct ledger_question *q)
{
	ran_all_the_time(q);
	for (size_t i = 60; i < 300; i++)
		seen_running[i] += 19000;
}

static void ran_until_50s(struct ledger_question *q)
{
	ran_all_the_time(q);
	q->host_run_count = 50;
}

static void pyjava_timeout(struct ledger_question *q)
{
	q->class_pool_timeout_ms = UNKNOWN_U64;
}

static void born_at_50s(struct ledger_question *q)
{
	q->born_ms = 50000;
}

static void byte_at_60s(struct ledger_question *q)
{
	q->last_byte_ms = 60000;
}

static const struct script_row idle[] = {
	{ .why = "100 s without a task, seen running, closed by a beat",
	  ALL SERVED "beats 10000 110000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "the proof gets no younger",
	  ALL SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "99 s are too short",
	  ALL SERVED "beats 10000 100000 10000\n108999 beat n=*",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "exactly 100 s since the last byte",
	  ALL SERVED "beats 10000 100000 10000\n109000 beat n=*",
	  "ended 0/1 end=8000 idle@109000 tasks=17" },
	{ .why = "no binding is needed", ALL "beats 10000 110000 10000", "none idle@110000" },
	{ .why = "not all tasks are bracketed",
	  HOST " tasks=some pool_timeout=60000\n" SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a longer pool_timeout of the host",
	  HOST " tasks=all pool_timeout=160000\n" SERVED "beats 10000 210000 10000",
	  "ended 0/1 end=8000 idle@210000 tasks=17" },
	{ .why = "a shorter one is not believed",
	  HOST " tasks=all pool_timeout=1\n" SERVED "beats 10000 100000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "only the class knows it",
	  HOST " tasks=all\n" SERVED "beats 10000 110000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "only the host knows it",
	  ALL SERVED "beats 10000 110000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17",
	  pyjava_timeout },
	{ .why = "nobody knows it",
	  HOST " tasks=all\n" SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17",
	  pyjava_timeout },
	{ .why = "a host that says it later: the longer counts",
	  HOST " tasks=all\n" SERVED
	       "9000 host host=4711:50 WHO class=pyspark tasks=all pool_timeout=90000\n"
	       "9000 host host=4711:50 WHO class=pyspark tasks=all pool_timeout=70000\n"
	       "9000 host host=4711:50 WHO class=pyspark tasks=all\nbeats 10000 140000 10000",
	  "ended 0/1 end=8000 idle@140000 tasks=17",
	  pyjava_timeout },
	{ .why = "a host that says more later",
	  HOST
	  " tasks=all pool_timeout=70000\n" SERVED
	  "9000 host host=4711:50 WHO class=pyspark tasks=all pool_timeout=90000\nbeats 10000 140000 10000",
	  "ended 0/1 end=8000 idle@140000 tasks=17",
	  pyjava_timeout },
	{ .why = "a host that takes tasks=all back",
	  ALL SERVED "9000 host host=4711:50 WHO class=pyspark\n"
		     "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "T5: the promise of another class",
	  ALL SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17",
	  ask_other_class },
	{ .why = "T5: a task of another class counts, pools are not told apart by it",
	  ALL SERVED "log 3 1000\n1000 host host=4711:50 WHO class=pyjava\n20000 begin task=j\n"
		     "log 1 1000\nbeats 21000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "two logs: both must promise",
	  ALL SERVED "beats 10000 110000 10000\n" SECOND "\nbeats 10000 110000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "two logs: both must be closed",
	  ALL SERVED "beats 10000 110000 10000\n" SECOND " tasks=all",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "two logs: the later beat and the longer time",
	  ALL SERVED "beats 10000 190000 10000\n" SECOND
		     " tasks=all pool_timeout=90000\n139500 beat n=*",
	  "ended 0/1 end=8000 idle@140000 tasks=17" },
	{ .why = "two logs: the younger one tells of nothing older",
	  ALL SERVED
	  "beats 10000 150000 10000\nlog 3 1000\n"
	  "50000 host host=4711:50 WHO class=pyspark tasks=all\nbeats 60000 150000 10000",
	  "ended 0/1 end=8000 idle@150000 tasks=17" },
	{ .why = "a task of the host is open",
	  ALL SERVED "9000 begin task=18\nbeats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a task of the worker is open",
	  ALL SERVED "9000 begin task=18 " W "\nbeats 10000 900000 10000",
	  "open 1/2 since=9000 end=8000 !idle tasks=18,17" },
	{ .why = "a task in between: the stretch begins after it",
	  ALL SERVED
	  "beats 10000 50000 10000\n55000 begin task=18\n57000 end task=18\nbeats 60000 160000 10000",
	  "ended 0/1 end=8000 idle@160000 tasks=17" },
	{ .why = "the stretch lies in the past, the host is busy again",
	  ALL SERVED "beats 10000 120000 10000\n125000 begin task=18\nbeats 130000 900000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "the stretch is just long enough when the host is busy again",
	  ALL SERVED "beats 10000 100000 10000\n109000 begin task=18\n110000 beat n=*",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "and when it is busy 1 ms earlier it is not",
	  ALL SERVED "beats 10000 100000 10000\n108999 begin task=18\n110000 beat n=*",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a job's end ends the stretch's last task",
	  ALL SERVED "9000 begin task=18 job=3\n20000 end job=3\nbeats 21000 121000 10000",
	  "ended 0/1 end=8000 idle@121000 tasks=17" },
	{ .why = "a task that only its end tells of may have run all the time",
	  ALL SERVED "beats 10000 120000 10000\n125000 end task=18\nbeats 130000 230000 10000",
	  "ended 0/1 end=8000 idle@230000 tasks=17" },
	{ .why = "a task that began earlier than its first record says",
	  ALL SERVED
	  "beats 10000 110000 10000\n118000 begin task=18\n119000 end task=18\nbeats 120000 210000 10000\n"
	  "log 3 1000\n1000 host host=4711:50 WHO class=other\n30000 begin task=18",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "an open task that only Python tells of",
	  ALL SERVED "beats 10000 900000 10000\n" DAEMON "50000 begin task=18",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "an open task that only Python tells of, later than the stretch",
	  ALL SERVED "beats 10000 900000 10000\n" DAEMON "110000 begin task=18",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "the same before Python's clock was stepped",
	  ALL SERVED "beats 10000 900000 10000\n" DAEMON
		     "130000 begin task=18\n115000 begin task=19",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "root's log knows of a task in the stretch",
	  ALL SERVED "beats 10000 160000 10000\nlog 3 0\n1000 host host=4711:50 WHO class=other\n"
		     "30000 begin task=90\n55000 end task=90",
	  "ended 0/1 end=8000 idle@160000 tasks=17" },
	{ .why = "root's log and the user's know of tasks in turn: the stretch begins after both",
	  ALL SERVED
	  "10000 begin task=18\n65000 end task=18\nbeats 66000 176000 10000\n"
	  "log 3 0\n1000 host host=4711:50 WHO class=other\n60000 begin task=90\n70000 end task=90",
	  "ended 0/1 end=8000 idle@176000 tasks=17" },
	{ .why = "root's log knows of an open task",
	  ALL SERVED "beats 10000 900000 10000\nlog 3 0\n1000 host host=4711:50 WHO class=other\n"
		     "30000 begin task=90",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "T8: a stretch from before the worker was born",
	  ALL SERVED "beats 10000 140000 10000",
	  "ended 0/1 end=8000 tasks=17",
	  born_at_50s },
	{ .why = "T8: and one that is later",
	  ALL SERVED "beats 10000 150000 10000",
	  "ended 0/1 end=8000 idle@150000 tasks=17",
	  born_at_50s },
	{ .why = "the worker moved a byte",
	  ALL SERVED "beats 10000 150000 10000",
	  "ended 0/1 end=8000 late tasks=17",
	  byte_at_60s },
	{ .why = "nobody knows its last byte",
	  ALL SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 late? tasks=17",
	  ask_no_byte_known },
	{ .why = "pooled in the stretch",
	  ALL SERVED "beats 10000 50000 10000\n55000 pooled " W "\nbeats 60000 150000 10000",
	  "pooled 0/1 end=8000 pooled tasks=17" },
	{ .why = "T9: the log breaks off, the host runs on",
	  ALL SERVED "beats 10000 100000 10000",
	  "ended 0/1 end=8000 tasks=17",
	  ran_all_the_time },
	{ .why = "T9: a log that lost a record may have lost a begin",
	  ALL SERVED "9000 beat n=7\nbeats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "T9: the first of two logs lost a record",
	  ALL SERVED "9000 beat n=7\nbeats 10000 900000 10000\n" SECOND
		     " tasks=all\nbeats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "seen running by us alone, but for the last beat",
	  ALL SERVED "9000 beat n=*\n120000 beat n=*",
	  "ended 0/1 end=8000 idle@120000 tasks=17",
	  ran_all_the_time },
	{ .why = "T10: our looks, with 20 s between two",
	  ALL SERVED "9000 beat n=*\n120000 beat n=*",
	  "ended 0/1 end=8000 idle@120000 tasks=17",
	  stopped_for_20s },
	{ .why = "T10: one stop of more than 20 s: the stretch begins after it",
	  ALL SERVED "9000 beat n=*\n184999 beat n=*\n185000 beat n=*",
	  "ended 0/1 end=8000 idle@185000 tasks=17",
	  stopped_for_25s },
	{ .why = "T10: stopped, and the stretch after it is too short",
	  ALL SERVED "9000 beat n=*\n184999 beat n=*",
	  "ended 0/1 end=8000 tasks=17",
	  stopped_for_25s },
	{ .why = "T10: beats at most 20 s apart",
	  ALL SERVED "beats 10000 110000 20000",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "T10: beats more than 20 s apart",
	  ALL SERVED "beats 10000 900000 20001",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "T10: our looks and the beats fill each other's holes",
	  ALL SERVED "beats 60000 120000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17",
	  ran_until_50s },
	{ .why = "T10: both stop",
	  ALL SERVED "beats 10000 60000 10000\nbeats 90000 180000 10000",
	  "ended 0/1 end=8000 tasks=17",
	  ran_until_50s },
	{ .why = "T10: both stop, and a stretch after it",
	  ALL SERVED "beats 10000 60000 10000\nbeats 90000 190000 10000",
	  "ended 0/1 end=8000 idle@190000 tasks=17",
	  ran_until_50s },
	{ .why = "T11: a dead purge thread shows nowhere: the manual says so",
	  ALL SERVED "beats 10000 110000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17" },
	{ .why = "T12: a begin that is written late is as open as its time says",
	  ALL SERVED "beats 10000 60000 10000\n59500 begin task=18\nbeats 70000 900000 10000",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "T12: a begin that is older than the log's last second",
	  ALL SERVED "beats 10000 120000 10000\n50000 begin task=18\nbeats 51000 900000 10000",
	  "ended 0/1 end=8000 late? untrusted tasks=17" },
	{ .why = "a closing beat in the future",
	  ALL SERVED "beats 10000 20000 10000\n1010001 beat n=*",
	  "ended 0/1 end=8000 tasks=17",
	  ran_all_the_time },
	{ .why = "a closing beat right now",
	  ALL SERVED "beats 10000 20000 10000\n1010000 beat n=*",
	  "ended 0/1 end=8000 idle@1010000 tasks=17",
	  ran_all_the_time },
	{ .why = "a stretch from before the clock was stepped",
	  ALL SERVED "beats 10000 900000 10000\nstep 20000",
	  "ended 0/1 end=8000 late? untrusted tasks=17" },
	{ .why = "a stretch after the clock was stepped",
	  ALL SERVED "beats 10000 900000 10000\nstep 20000\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? idle@120000 untrusted tasks=17" },
	{ .why = "the clock was stepped while a task was open",
	  ALL SERVED "9000 begin task=18\nstep 20000\n25000 end task=18\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? idle@130000 untrusted tasks=17" },
	{ .why = "a log of the host whose beats are from before the step",
	  ALL SERVED "beats 10000 110000 10000\n" SECOND
		     " tasks=all\nbeats 10000 150000 10000\nstep 20000\n"
		     "log 1 1000\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? untrusted tasks=17" },
	{ .why = "the same, with a hole in the other log's beats",
	  ALL SERVED
	  "beats 10000 110000 10000\nlog 3 1000\n1000 host host=4711:50 WHO class=other\n"
	  "beats 10000 110000 10000\nstep 20000\nlog 1 1000\nbeats 30000 60000 10000\n"
	  "beats 90000 200000 10000",
	  "ended 0/1 end=8000 late? idle@190000 untrusted tasks=17" },
	{ .why = "a log of another class whose beats are from before the step",
	  ALL SERVED
	  "beats 10000 110000 10000\nlog 3 1000\n1000 host host=4711:50 WHO class=other\n"
	  "beats 10000 110000 10000\nstep 20000\nlog 1 1000\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? idle@120000 untrusted tasks=17" },
};

Test(ledger, host_idle)
{
	script_check(idle, ARRAY_SIZE(idle));
}

Test(ledger, there_is_a_limit_to_the_logs)
{
	struct ledger_source source = { .owner = SCRIPT_UID, .name = "x.log" };
	const struct marker m = { .unix_ms = 1000, .event = MARKER_UNKNOWN };
	struct script f = script_begin();

	while (source.log++ < LEDGER_LOGS_MAX)
		cr_assert_eq(ledger_add(f.ledger, &source, &m), 0);
	cr_assert_eq(ledger_add(f.ledger, &source, &m), -LEDGER_ENOMEM);
	ledger_forget(f.ledger, 1);
	cr_assert_eq(ledger_add(f.ledger, &source, &m), 0, "one went");
	ledger_free(f.ledger);
}

/* The limit is one for the logs of a host, whose open tasks must all be known. */
Test(ledger, operators_may_have_many_logs)
{
	struct script f = script_begin();
	struct marker_facts facts;
	char log[80];

	for (unsigned i = 0; i < LEDGER_HOST_LOGS_MAX; i++) {
		(void)snprintf(log, sizeof(log), "log %u 1000\n1000 operator uid=1000 WHO",
			       100 + i);
		script_run(&f, log, &script_usual);
	}
	script_run(&f, OPERATOR "5000 retired " W, &script_usual);
	cr_assert_eq(ledger_ask(f.ledger, &script_usual, &facts), 0);
	cr_assert(facts.retired_by_operator);
	ledger_free(f.ledger);
}

/* More writers of one hash than are looked through: the log of one more is nobody's. */
Test(ledger, a_host_without_a_place_is_not_believed)
{
	uint32_t hash = ledger_index_hash_pair((uint64_t)4711 << 32 | SCRIPT_UID,
					       (uint64_t)50 ^ (uint64_t)SCRIPT_US << 16) +
			MARKER_HOST;
	struct script f = script_begin();
	struct ledger_host h;

	script_run(&f, "log 2 1000\n1000 host host=4712:51 WHO class=pyspark", &script_usual);
	for (unsigned i = 0; i < LEDGER_INDEX_RUN_MAX; i++)
		cr_assert_eq(ledger_index_put(&f.ledger->by_writer, hash, 0), 0);
	script_run(&f, HOST, &script_usual);
	cr_assert_null(ledger_state_log(f.ledger, 1)->scope);
	cr_assert_not(ledger_host_find(f.ledger, &script_usual.host, SCRIPT_UID, &h));
	ledger_free(f.ledger);
}

static bool is_found(const struct ledger_index *ix, uint32_t hash, uint32_t item)
{
	uint32_t at = 0, found;

	do
		found = ledger_index_next(ix, hash, &at);
	while (found != LEDGER_NONE && found != item);
	return found == item;
}

/* Where items belong in a table of 64: some stand behind their place, some at it, one at the other end. */
static const uint32_t homes[] = { 10, 10, 10, 11, 13, 15, 63, 63 };

Test(ledger_index, what_is_taken_out_hides_nothing)
{
	for (uint32_t out = 0; out < ARRAY_SIZE(homes); out++) {
		struct ledger_index ix = { 0 };

		for (uint32_t i = 0; i < ARRAY_SIZE(homes); i++)
			cr_assert_eq(ledger_index_put(&ix, homes[i], i), 0);
		cr_assert_leq(ix.size, 64, "few need little");
		ledger_index_remove(&ix, homes[out], out);
		for (uint32_t i = 0; i < ARRAY_SIZE(homes); i++)
			cr_assert_eq(is_found(&ix, homes[i], i), i != out, "%u without %u",
				     (unsigned)i, (unsigned)out);
		free(ix.slots);
	}
}

Test(ledger_index, a_hash_of_the_same_place_is_another)
{
	struct ledger_index ix = { 0 };
	uint32_t at = 0;

	cr_assert_eq(ledger_index_put(&ix, 10, 1), 0);
	cr_assert_eq(ledger_index_put(&ix, 10 + ix.size, 2), 0);
	cr_assert_eq(ledger_index_put(&ix, 10, 3), 0);
	cr_assert_eq(ledger_index_next(&ix, 10, &at), 1);
	cr_assert_eq(ledger_index_next(&ix, 10, &at), 3);
	cr_assert_eq(ledger_index_next(&ix, 10, &at), LEDGER_NONE);
	free(ix.slots);
}

/* All of one hash stand in a row, also after the table has grown. */
Test(ledger_index, there_is_a_limit_to_a_row)
{
	struct ledger_index ix = { 0 };

	for (uint32_t i = 0; i < LEDGER_INDEX_RUN_MAX; i++)
		cr_assert_eq(ledger_index_put(&ix, 10, i), 0);
	cr_assert_eq(ledger_index_put(&ix, 10, LEDGER_INDEX_RUN_MAX), -LEDGER_E2BIG);
	cr_assert_eq(ix.used, LEDGER_INDEX_RUN_MAX);
	cr_assert_not(is_found(&ix, 10, LEDGER_INDEX_RUN_MAX), "it was not added");
	for (uint32_t i = 0; i < LEDGER_INDEX_RUN_MAX; i++)
		cr_assert(is_found(&ix, 10, i), "%u", (unsigned)i);
	free(ix.slots);
}

Test(ledger_pool, what_is_given_back_is_taken_again)
{
	struct ledger_pool p = { 0 };
	uint64_t none = 0;

	cr_assert_eq(ledger_pool_take(&p, sizeof(none)), 0);
	cr_assert_eq(ledger_pool_take(&p, sizeof(none)), 1);
	cr_assert_eq(ledger_pool_take(&p, sizeof(none)), 2);
	memset(p.items, 0xff, 3 * sizeof(none));
	ledger_pool_give(&p, sizeof(none), 0);
	ledger_pool_give(&p, sizeof(none), 1);
	cr_assert_eq(ledger_pool_take(&p, sizeof(none)), 1);
	cr_assert_eq(ledger_pool_take(&p, sizeof(none)), 0);
	cr_assert_eq(memcmp(p.items, &none, sizeof(none)), 0, "it is zeroed");
	cr_assert_eq(ledger_pool_take(&p, sizeof(none)), 3, "none is left");
	cr_assert_eq(p.used, 4);
	free(p.items);
}

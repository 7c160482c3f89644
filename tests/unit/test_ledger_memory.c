/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out. Linked with --wrap for malloc, calloc and realloc; without it the tests skip.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "correlate/ledger_state.h"
#include "ledger_script.h"

/* The linker's names: what the ledger calls, and what there is. */
extern void *__real_malloc(size_t size) __attribute__((weak));
extern void *__real_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__real_realloc(void *old, size_t size) __attribute__((weak));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long fails_in; /* the allocation that fails, counted from here; 0: none */

static bool may_allocate(void)
{
	return !fails_in || --fails_in;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
	return may_allocate() ? __real_realloc(old, size) : NULL;
}

static void need_wrap(void)
{
	if (!__real_malloc)
		cr_skip_test("not linked with --wrap");
}

/* Adds a record with its n-th allocation failing: it must say so, and is then given again. */
static bool add_again(struct script *s, const char *record, long n)
{
	const struct script before = *s;
	bool failed;
	int err;

	fails_in = n;
	err = script_add(s, record);
	failed = !fails_in;
	fails_in = 0;
	if (!failed) {
		cr_assert_eq(err, 0, "%s", record);
		return false;
	}
	cr_assert_eq(err, -LEDGER_ENOMEM, "%s: %d", record, err);
	memcpy(s->since_beat, before.since_beat, sizeof(s->since_beat));
	cr_assert_eq(script_add(s, record), 0, "%s", record);
	return true;
}

/* The i-th record: 40 of each of 20 logs, of which the first and the nineteenth are our host's. */
static void write_record(unsigned i, char *ret, size_t size)
{
	unsigned ms = 5000 + i;

	if (i % 40 == 0)
		(void)snprintf(ret, size, "%u host host=4711:%u WHO class=pyspark", ms,
			       50 + i / 40 % 18);
	else if (i % 6 == 0)
		(void)snprintf(ret, size, "%u begin task=%u job=%u-with-a-long-name " W, ms, i, i);
	else if (i % 6 == 1)
		(void)snprintf(ret, size, "%u begin task=%u-with-a-long-name worker=%u:80", ms, i,
			       300 + i);
	else if (i % 6 == 2)
		(void)snprintf(ret, size, "%u begin task=%u-by-ports lport=45873 dport=39917", ms,
			       i);
	else if (i % 6 == 3)
		(void)snprintf(ret, size, "%u pooled worker=%u:1", ms, 300 + i);
	else if (i % 6 == 4)
		(void)snprintf(ret, size, "%u end task=%u-never-begun", ms, i);
	else
		(void)snprintf(ret, size, "%u beat n=*", ms);
}

Test(ledger_memory, every_allocation_may_fail_once)
{
	struct ledger_question q = script_usual;
	unsigned failures = 0;

	need_wrap();
	ask_ports(&q);
	for (long n = 1; n <= 6; n++) {
		struct script s = script_begin();
		struct marker_facts facts;
		char record[200];

		for (unsigned i = 0; i < 800; i++) {
			s.source = (struct ledger_source){ 1 + i / 40, SCRIPT_UID, "x.log" };
			write_record(i, record, sizeof(record));
			failures += add_again(&s, record, n);
		}
		cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
		cr_assert_eq(facts.bound, 26, "%u", (unsigned)facts.bound);
		cr_assert_eq(facts.open, 26);
		cr_assert(facts.logs_whole);
		ledger_free(s.ledger);
	}
	cr_assert_gt(failures, 50, "%u", failures);
}

/* Ports are bound when they are asked about, and that needs memory too. */
Test(ledger_memory, a_question_may_fail)
{
	struct ledger_question q = script_usual;
	unsigned failures = 0;

	need_wrap();
	ask_ports(&q);
	for (long n = 1; n <= 4; n++) {
		struct script s = script_begin();
		struct marker_facts facts = { .bound = 99 };
		char record[100];
		int err;

		script_run(&s, HOST, &q);
		/* So many workers and bindings that one more of each needs a larger array. */
		for (unsigned i = 0; i < 31; i++) {
			(void)snprintf(record, sizeof(record), "5000 begin task=%u worker=%u:1", i,
				       i + 1);
			script_run(&s, record, &q);
		}
		script_run(&s, "5000 begin task=18 lport=45873 dport=39917", &q);
		fails_in = n;
		err = ledger_ask(s.ledger, &q, &facts);
		fails_in = 0;
		if (err < 0) {
			cr_assert_eq(err, -LEDGER_ENOMEM);
			cr_assert_eq(facts.bound, 99, "nothing was filled");
			failures++;
		}
		cr_assert_eq(ledger_ask(s.ledger, &q, &facts), 0);
		cr_assert_eq(facts.bound, 1);
		ledger_free(s.ledger);
	}
	cr_assert_geq(failures, 2, "%u", failures);
}

Test(ledger_memory, a_ledger_may_not_come_to_be)
{
	need_wrap();
	fails_in = 1;
	cr_assert_null(ledger_new(SCRIPT_BOOT));
	ledger_free(NULL);
}

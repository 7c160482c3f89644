/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a host was quiet, and when it was seen; what a scope takes for open.
 */
#include "correlate/ledger_times.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "correlate/ledger_scope.h"
#include "model/tri.h"

#define FOREVER UNKNOWN_U64

static void check_gaps(const struct ledger_gaps *g, size_t count, const struct ledger_span *want,
		       const char *why)
{
	cr_assert_eq(g->count, count, "%s: %u", why, (unsigned)g->count);
	for (size_t i = 0; i < count; i++) {
		cr_assert_eq(g->gap[i].from, want[i].from, "%s: %zu", why, i);
		cr_assert_eq(g->gap[i].to, want[i].to, "%s: %zu", why, i);
	}
}

static const struct {
	const char *why;
	struct ledger_span cut;
	size_t count;
	struct ledger_span left[3];
} cuts[] = {
	{ .why = "nothing", { 5, 5 }, 2, { { 100000, 300000 }, { 400000, FOREVER } } },
	{ .why = "before all", { 0, 100000 }, 2, { { 100000, 300000 }, { 400000, FOREVER } } },
	{ .why = "between", { 300000, 400000 }, 2, { { 100000, 300000 }, { 400000, FOREVER } } },
	{ .why = "the begin of one",
	  { 50000, 150000 },
	  2,
	  { { 150000, 300000 }, { 400000, FOREVER } } },
	{ .why = "the end of one",
	  { 200000, 350000 },
	  2,
	  { { 100000, 200000 }, { 400000, FOREVER } } },
	{ .why = "the middle of one",
	  { 150000, 200000 },
	  3,
	  { { 100000, 150000 }, { 200000, 300000 }, { 400000, FOREVER } } },
	{ .why = "what is left is too short", { 139999, 300000 }, 1, { { 400000, FOREVER } } },
	{ .why = "what is left is just long enough",
	  { 140000, 300000 },
	  2,
	  { { 100000, 140000 }, { 400000, FOREVER } } },
	{ .why = "all of one", { 100000, 300000 }, 1, { { 400000, FOREVER } } },
	{ .why = "both", { 150000, 500000 }, 2, { { 100000, 150000 }, { 500000, FOREVER } } },
	{ .why = "from the last on",
	  { 600000, FOREVER },
	  2,
	  { { 100000, 300000 }, { 400000, 600000 } } },
	{ .why = "from the first on", { 100000, FOREVER }, 0, { { 0, 0 } } },
};

Test(ledger_times, gaps_are_cut)
{
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct ledger_gaps g;

		ledger_gaps_reset(&g, true, 100000);
		ledger_gaps_cut(&g, 300000, 400000);
		ledger_gaps_cut(&g, cuts[i].cut.from, cuts[i].cut.to);
		check_gaps(&g, cuts[i].count, cuts[i].left, cuts[i].why);
	}
}

Test(ledger_times, a_gap_begins_when_the_last_task_has_ended)
{
	struct ledger_gaps g;

	ledger_gaps_reset(&g, false, 0);
	check_gaps(&g, 0, NULL, "a task is open");
	ledger_gaps_cut(&g, 5, 10);
	ledger_gaps_quiet(&g, 1000);
	check_gaps(&g, 1, (struct ledger_span[]){ { 1000, FOREVER } }, "it has ended");
	ledger_gaps_quiet(&g, 2000);
	check_gaps(&g, 1, (struct ledger_span[]){ { 1000, FOREVER } }, "nothing new");
	ledger_gaps_cut(&g, 60000, FOREVER);
	ledger_gaps_cut(&g, 60500, 70000);
	check_gaps(&g, 1, (struct ledger_span[]){ { 1000, 60000 } }, "nothing is left to be cut");
	ledger_gaps_quiet(&g, 61000);
	check_gaps(&g, 2, (struct ledger_span[]){ { 1000, 60000 }, { 61000, FOREVER } }, "another");
}

Test(ledger_times, the_oldest_gap_makes_room)
{
	struct ledger_gaps g;
	uint64_t at = 0, end;

	ledger_gaps_reset(&g, true, 0);
	for (unsigned i = 0; i < LEDGER_GAPS_MAX + 5; i++) {
		at += 50000;
		ledger_gaps_cut(&g, at, FOREVER);
		at += 1;
		ledger_gaps_quiet(&g, at);
	}
	cr_assert_eq(g.count, LEDGER_GAPS_MAX);
	cr_assert_eq(ledger_gaps_seek(&g, 0, &end), 6 * 50001);
	cr_assert_eq(end, 6 * 50001 + 50000);
	cr_assert_eq(ledger_gaps_seek(&g, 6 * 50001 + 7, &end), 6 * 50001 + 7);
	cr_assert_eq(ledger_gaps_seek(&g, 6 * 50001 + 50000, &end), 7 * 50001);
	cr_assert_eq(ledger_gaps_seek(&g, at + 5, &end), at + 5);
	cr_assert_eq(end, FOREVER);
	ledger_gaps_cut(&g, at, FOREVER);
	cr_assert_eq(ledger_gaps_seek(&g, at, &end), FOREVER);
}

static const struct {
	const char *why;
	struct {
		enum marker_event event; /* MARKER_UNKNOWN: the clock is stepped to that time */
		uint64_t ms;
		const char *task;
	} events[4];
	struct ledger_span first; /* the first gap */
} quiet[] = {
	{ .why = "before the begin of a task",
	  .events = { { MARKER_BEGIN, 100000, "1" }, { MARKER_END, 150000, "1" } },
	  .first = { 0, 100000 } },
	{ .why = "not while another task is open",
	  .events = { { MARKER_BEGIN, 10, "1" },
		      { MARKER_BEGIN, 20, "2" },
		      { MARKER_END, 100000, "1" } },
	  .first = { FOREVER, 0 } },
	{ .why = "after an end that is read before its begin",
	  .events = { { MARKER_END, 150000, "1" }, { MARKER_BEGIN, 100000, "1" } },
	  .first = { 150000, FOREVER } },
	{ .why = "a begin after its end cuts nothing",
	  .events = { { MARKER_END, 100000, "1" }, { MARKER_BEGIN, 200000, "1" } },
	  .first = { 100000, FOREVER } },
	{ .why = "a begin at its end cuts nothing, although the clock was stepped back between",
	  .events = { { MARKER_BEGIN, 400000, "1" },
		      { MARKER_END, 500000, "1" },
		      { MARKER_UNKNOWN, 3000, "" },
		      { MARKER_BEGIN, 500000, "1" } },
	  .first = { 3000, FOREVER } },
};

static void feed(struct ledger_scope *s, enum marker_event event, uint64_t ms, const char *task,
		 const char *job)
{
	struct marker m = { .unix_ms = ms, .event = event };

	(void)snprintf(m.task, sizeof(m.task), "%s", task);
	(void)snprintf(m.job, sizeof(m.job), "%s", job);
	if (event == MARKER_BEGIN)
		cr_assert_eq(ledger_scope_begin(s, &m), 0);
	else if (event == MARKER_END)
		cr_assert_eq(ledger_scope_end(s, &m), 0);
	else
		ledger_scope_step(s, ms);
}

static struct ledger_scope *new_scope(uint32_t *used)
{
	struct ledger_scope *s = ledger_scope_new(&(struct ledger_writer){ 0 }, used);

	cr_assert_not_null(s);
	return s;
}

Test(ledger_times, a_host_is_quiet_when_no_task_is_open)
{
	for (size_t i = 0; i < ARRAY_SIZE(quiet); i++) {
		uint32_t used = 0;
		struct ledger_scope *s = new_scope(&used);
		uint64_t end = 0;

		for (size_t j = 0; j < ARRAY_SIZE(quiet[i].events) && quiet[i].events[j].ms; j++)
			feed(s, quiet[i].events[j].event, quiet[i].events[j].ms,
			     quiet[i].events[j].task, "");
		cr_expect_eq(ledger_gaps_seek(&s->gaps, 0, &end), quiet[i].first.from, "%s",
			     quiet[i].why);
		cr_expect_eq(end, quiet[i].first.to, "%s: %" PRIu64, quiet[i].why, end);
		ledger_scope_free(s);
	}
}

/* Times from before the clock was stepped back look later than those that follow. */
Test(ledger_times, a_time_before_a_step_counts_as_early)
{
	uint32_t used = 0, entry;
	struct ledger_scope *s = new_scope(&used);
	uint64_t end;

	feed(s, MARKER_BEGIN, 900000, "1", "");
	feed(s, MARKER_UNKNOWN, 3000, "", "");
	feed(s, MARKER_BEGIN, 4000, "1", "");
	entry = ledger_store_find(&s->store, false, "1", 1);
	cr_assert_eq(ledger_store_entry(&s->store, entry)->begin_ms, 900000,
		     "when it was first begun");
	cr_assert_eq(ledger_gaps_seek(&s->gaps, 0, &end), FOREVER);
	ledger_scope_close(s, entry, 950000, 0);
	cr_assert_eq(ledger_gaps_seek(&s->gaps, 0, &end), 3000, "it ended before the step");
	cr_assert_eq(end, FOREVER);
	ledger_scope_free(s);
}

static struct ledger_entry *entry_of(struct ledger_scope *s, bool is_job, const char *name)
{
	uint32_t entry = ledger_store_find(&s->store, is_job, name, strlen(name));

	cr_assert_neq(entry, LEDGER_NONE, "%s", name);
	return ledger_store_entry(&s->store, entry);
}

/* Only what is spare may be forgotten. */
Test(ledger_times, a_job_is_spare_unless_it_or_a_task_of_it_is_open)
{
	uint32_t used = 0;
	struct ledger_scope *s = new_scope(&used);

	feed(s, MARKER_BEGIN, 5000, "1", "j");
	feed(s, MARKER_BEGIN, 5000, "2", "j");
	cr_assert_eq(entry_of(s, true, "j")->list, LIST_NONE);
	feed(s, MARKER_END, 8000, "2", "");
	cr_assert_eq(entry_of(s, true, "j")->list, LIST_NONE, "a task of it is open");
	feed(s, MARKER_END, 8000, "1", "");
	cr_assert_eq(entry_of(s, true, "j")->list, LIST_SPARE);
	feed(s, MARKER_BEGIN, 5000, "3", "j");
	cr_assert_eq(entry_of(s, true, "j")->list, LIST_NONE, "again");
	feed(s, MARKER_BEGIN, 5000, "", "j");
	feed(s, MARKER_END, 8000, "3", "");
	cr_assert_eq(entry_of(s, true, "j")->list, LIST_OPEN, "it was begun itself");
	cr_assert_eq(entry_of(s, true, "j")->members, 0, "and is no task of its own");
	ledger_scope_free(s);
}

Test(ledger_times, a_job_ends_the_tasks_that_are_left)
{
	static const char *const tasks[] = { "1", "2", "3", "4" };
	uint32_t used = 0;
	struct ledger_scope *s = new_scope(&used);

	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
		feed(s, MARKER_BEGIN, 5000, tasks[i], "j");
	feed(s, MARKER_BEGIN, 5000, "2", "j");
	feed(s, MARKER_BEGIN, 5000, "3", "");
	feed(s, MARKER_END, 8000, "1", "");
	feed(s, MARKER_END, 8000, "4", "");
	feed(s, MARKER_BEGIN, 5000, "5", "");
	feed(s, MARKER_END, 9000, "", "j");
	cr_assert_eq(entry_of(s, false, "1")->end_ms, 8000, "it had ended");
	cr_assert_eq(entry_of(s, false, "2")->end_ms, 9000, "begun twice with one job");
	cr_assert_eq(entry_of(s, false, "3")->end_ms, 9000, "begun again with no job named");
	cr_assert_eq(entry_of(s, false, "5")->end_ms, UNKNOWN_U64, "of no job");
	cr_assert_eq(s->store.entries.used, 6, "five tasks, and no job without a name");
	ledger_scope_free(s);
}

Test(ledger_times, a_begin_that_comes_twice_moves_nothing)
{
	uint32_t used = 0;
	struct ledger_scope *s = new_scope(&used);

	feed(s, MARKER_BEGIN, 5000, "1", "");
	feed(s, MARKER_BEGIN, 5000, "2", "");
	feed(s, MARKER_BEGIN, 5000, "1", "");
	cr_assert_eq(s->store.last[LIST_OPEN], ledger_store_find(&s->store, false, "2", 1) + 1);
	cr_assert_eq(s->store.entries.used, 2);
	ledger_scope_free(s);
}

Test(ledger_times, a_task_without_a_locator_adds_no_worker)
{
	uint32_t used = 0;
	struct ledger_scope *s = new_scope(&used);

	feed(s, MARKER_BEGIN, 5000, "1", "");
	cr_assert_eq(s->store.workers.used, 0);
	cr_assert_eq(s->store.bindings.used, 0);
	ledger_scope_free(s);
}

/* A year of beats every 10 s: bounded, exact for the newest, and reaching back to the first. */
Test(ledger_times, beats_are_thinned_out)
{
	const uint64_t year = UINT64_C(365) * 24 * 3600 * 1000;
	struct ledger_beats b = { 0 };
	const struct ledger_beat *beat;

	for (uint64_t ms = 10000; ms <= year; ms += 10000)
		cr_assert_eq(ledger_beats_add(&b, ms, ms - 10000, true), 0);
	cr_assert_leq(b.count, LEDGER_BEATS_MAX);
	cr_assert_eq(b.run_count, 1);
	cr_assert_eq(ledger_beats_reach(&b, 0), year);
	cr_assert_eq(ledger_beats_seen_after(&b, 0), 10000);
	cr_assert_eq(ledger_beats_seen_after(&b, 10000), FOREVER);
	for (uint64_t back = 10000; back < 200 * 10000; back += 10000) {
		beat = ledger_beats_begun_after(&b, year - back - 1);
		cr_assert_eq(beat ? beat->begun_ms : 0, back > 10000 ? year - back : year - 10000);
		cr_assert_eq(ledger_beats_from(&b, year - back)->ms, year - back);
	}
	cr_assert_null(ledger_beats_begun_after(&b, year - 10000));
	cr_assert_null(ledger_beats_from(&b, year + 1));
	for (size_t i = 1; i < b.count; i++)
		cr_assert_gt(b.beat[i].ms, b.beat[i - 1].ms);
	cr_assert_eq(b.beat[0].ms, 10000);
	cr_assert_geq(b.count, LEDGER_BEATS_MAX / 2);
	ledger_beats_done(&b);
}

Test(ledger_times, the_oldest_run_makes_room)
{
	struct ledger_beats b = { 0 };
	uint64_t ms = 0;

	for (unsigned i = 0; i < LEDGER_RUNS_MAX + 3; i++) {
		ms += LEDGER_RUN_GAP_MS + 1;
		cr_assert_eq(ledger_beats_add(&b, ms, ms, false), 0);
	}
	cr_assert_eq(b.run_count, LEDGER_RUNS_MAX);
	cr_assert_eq(b.count, 0, "none was complete");
	cr_assert_eq(ledger_beats_seen_after(&b, 0), 4 * (LEDGER_RUN_GAP_MS + 1));
	cr_assert_eq(ledger_beats_reach(&b, 0), 0, "the next is too far");
	cr_assert_eq(ledger_beats_reach(&b, ms - LEDGER_RUN_GAP_MS), ms);
	ledger_beats_clear(&b);
	cr_assert_eq(ledger_beats_reach(&b, ms - 1), ms - 1);
	ledger_beats_done(&b);
}

Test(ledger_times, beats_that_are_no_long_gap_apart_are_one_run)
{
	struct ledger_beats b = { 0 };

	cr_assert_eq(ledger_beats_add(&b, 5000, 5000, false), 0);
	cr_assert_eq(ledger_beats_add(&b, 5000 + LEDGER_RUN_GAP_MS, 5000, false), 0);
	cr_assert_eq(ledger_beats_reach(&b, 4000), 5000 + LEDGER_RUN_GAP_MS);
	cr_assert_eq(ledger_beats_add(&b, 5001 + 2 * LEDGER_RUN_GAP_MS, 5000, false), 0);
	cr_assert_eq(ledger_beats_reach(&b, 4000), 5000 + LEDGER_RUN_GAP_MS, "this one is");
	ledger_beats_done(&b);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_times.h"

#include <criterion/criterion.h>

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

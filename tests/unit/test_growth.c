/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/growth.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "build.h"
#include "grow_fail.h"

#define _cleanup_growth_ _cleanup_(growth_done)

enum {
	FROM_MS = 1000000, /* of the boot clock: of the first sample */
	LATER = FROM_MS + 5000,
};

static struct ident name(pid_t pid)
{
	return (struct ident){ pid, 1000 + (uint64_t)pid };
}

static struct memory_sample sample(uint64_t ms, uint64_t anon_bytes)
{
	return (struct memory_sample){ ms, BUILD_MIB * 100 + 2 * anon_bytes, anon_bytes, anon_bytes,
				       anon_bytes };
}

/* ---- what is kept ---- */

Test(growth, found_by_identity_in_whatever_order_they_came)
{
	static const pid_t order[] = { 50, 10, 90, 30, 70 };
	_cleanup_growth_ struct growth g = { 0 };

	cr_expect_null(growth_find(&g, name(50)), "an empty one");
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct memory_sample s = sample(FROM_MS, (uint64_t)order[i]);

		cr_assert_eq(growth_note(&g, name(order[i]), &s, 7), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct memory_series *s = growth_find(&g, name(order[i]));

		cr_assert_not_null(s, "%d", order[i]);
		cr_expect_eq(s->count, 1);
		cr_expect_eq(s->sample[0].anon_bytes, (uint64_t)order[i]);
		cr_expect_eq(s->touched_ms, 7);
	}
	for (size_t i = 1; i < g.count; i++)
		cr_expect_lt(g.series[i - 1].id.pid, g.series[i].id.pid, "sorted");
	cr_expect_null(growth_find(&g, name(55)), "between two");
	cr_expect_null(growth_find(&g, name(99)), "behind the last");
	cr_expect_null(growth_find(&g, (struct ident){ 50, 7 }),
		       "another process of that number, begun before");
}

Test(growth, what_is_no_sample)
{
	static const struct {
		const char *why;
		struct memory_sample sample;
		size_t count;
	} rows[] = {
		{ "VmSize is not known", { LATER, UNKNOWN_U64, 5, 5, 5 }, 1 },
		{ "RssAnon is not known", { LATER, 5, UNKNOWN_U64, UNKNOWN_U64, UNKNOWN_U64 }, 1 },
		{ "more than any process can have",
		  { LATER, 5, MEMORY_BYTES_MAX + 1, 5, MEMORY_BYTES_MAX + 1 },
		  1 },
		{ "as much as a process may have",
		  { LATER, MEMORY_BYTES_MAX, MEMORY_BYTES_MAX, 0, MEMORY_BYTES_MAX },
		  2 },
		{ "later than any clock", { MEMORY_MS_MAX + 1, 5, 5, 5, 5 }, 1 },
		{ "as late as a clock may be", { MEMORY_MS_MAX, 5, 5, 5, 5 }, 2 },
		{ "less than its least", { LATER, 5, 5, 6, 7 }, 1 },
		{ "more than its most", { LATER, 5, 5, 4, 4 }, 1 },
		{ "the same moment", { FROM_MS, 5, 5, 5, 5 }, 1 },
		{ "before the last", { FROM_MS - 1, 5, 5, 5, 5 }, 1 },
		{ "too soon", { FROM_MS + GROWTH_SPACING_MS - 1, 5, 5, 5, 5 }, 1 },
		{ "soon enough", { FROM_MS + GROWTH_SPACING_MS, 5, 5, 5, 5 }, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_growth_ struct growth g = { 0 };
		struct memory_sample first = sample(FROM_MS, BUILD_MIB);
		const struct memory_series *s;

		cr_assert_eq(growth_note(&g, name(5), &first, 1), 0);
		cr_assert_eq(growth_note(&g, name(5), &rows[i].sample, 2), 0);
		s = growth_find(&g, name(5));
		cr_assert_not_null(s);
		cr_expect_eq(s->count, rows[i].count, "%s", rows[i].why);
		cr_expect_eq(s->touched_ms, 2, "%s: it was seen", rows[i].why);
	}
}

Test(growth, a_full_series_gives_up_the_one_that_is_missed_least)
{
	_cleanup_growth_ struct growth g = { 0 };
	const struct memory_series *s;

	for (uint64_t i = 0; i <= MEMORY_SAMPLES_MAX; i++) {
		struct memory_sample one = sample(FROM_MS + i * 1000, 100 - i);

		cr_assert_eq(growth_note(&g, name(5), &one, i), 0);
	}
	s = growth_find(&g, name(5));
	cr_assert_not_null(s);
	cr_expect_eq(s->count, MEMORY_SAMPLES_MAX);
	cr_expect_eq(s->sample[0].anon_bytes, 100, "the first stays");
	cr_expect_eq(s->sample[1].anon_bytes, 98, "the oldest but one went");
	cr_expect_eq(s->sample[1].least_bytes, 98);
	cr_expect_eq(s->sample[1].most_bytes, 99, "what it said is kept");
	cr_expect_eq(s->sample[2].most_bytes, 97);
	cr_expect_eq(s->sample[MEMORY_SAMPLES_MAX - 1].anon_bytes, 100 - MEMORY_SAMPLES_MAX);
}

/* The gap without the second sample is 2/61 of its age, and so is that without the third. */
Test(growth, of_two_that_are_missed_alike_the_older_goes)
{
	_cleanup_growth_ struct growth g = { 0 };
	const struct memory_series *s;

	for (uint64_t i = 0; i <= MEMORY_SAMPLES_MAX; i++) {
		struct memory_sample one = sample(FROM_MS + i * 610 + (i ? 20 : 0), i);

		cr_assert_eq(growth_note(&g, name(5), &one, i), 0);
	}
	s = growth_find(&g, name(5));
	cr_assert_not_null(s);
	cr_expect_eq(s->sample[1].anon_bytes, 2);
	cr_expect_eq(s->sample[2].anon_bytes, 3);
}

Test(growth, the_first_sample_follows_none)
{
	_cleanup_growth_ struct growth g = { 0 };
	struct memory_sample s = sample(0, 1);

	cr_assert_eq(growth_note(&g, name(5), &s, 1), 0);
	cr_expect_eq(growth_find(&g, name(5))->count, 1, "however early it is");
}

/* Ten days, a look each ten seconds. */
Test(growth, a_look_back_over_any_time_finds_some_samples)
{
	_cleanup_growth_ struct growth g = { 0 };
	const struct memory_series *s;
	uint64_t last;

	for (uint64_t i = 0; i < 86400; i++) {
		struct memory_sample one = sample(FROM_MS + i * 10000, i);

		cr_assert_eq(growth_note(&g, name(5), &one, i), 0);
		cr_expect_leq(growth_find(&g, name(5))->count, MEMORY_SAMPLES_MAX);
	}
	s = growth_find(&g, name(5));
	cr_assert_not_null(s);
	cr_expect_eq(s->sample[0].anon_bytes, 0, "the first is never given up");
	last = s->sample[s->count - 1].ms;
	cr_expect_eq(last, FROM_MS + 86399 * UINT64_C(10000));
	for (size_t i = 1; i < s->count; i++) {
		uint64_t gap = s->sample[i].ms - s->sample[i - 1].ms;

		cr_expect_gt(gap, 0);
		cr_expect_leq(gap, MAX((last - s->sample[i].ms) / 3, UINT64_C(20000)),
			      "%zu: %lu ms", i, gap);
		cr_expect_eq(s->sample[i].least_bytes, s->sample[i - 1].anon_bytes + 1, "%zu", i);
		cr_expect_eq(s->sample[i].most_bytes, s->sample[i].anon_bytes, "%zu", i);
	}
}

Test(growth, a_process_too_many_is_not_followed)
{
	_cleanup_growth_ struct growth g = { 0 };
	struct memory_sample s = sample(FROM_MS, 1);

	for (pid_t pid = 1; pid <= MEMORY_SERIES_MAX + 1; pid++)
		cr_assert_eq(growth_note(&g, name(pid), &s, 1), 0);
	cr_expect_eq(g.count, MEMORY_SERIES_MAX);
	cr_expect_null(growth_find(&g, name(MEMORY_SERIES_MAX + 1)));
	s.ms += 1000;
	cr_assert_eq(growth_note(&g, name(1), &s, 2), 0);
	cr_expect_eq(growth_find(&g, name(1))->count, 2, "those that are, are");
}

Test(growth, what_this_look_did_not_see_is_forgotten)
{
	_cleanup_growth_ struct growth g = { 0 };
	struct memory_sample s = sample(FROM_MS, 1);

	for (pid_t pid = 1; pid <= 6; pid++)
		cr_assert_eq(growth_note(&g, name(pid), &s, pid % 2 ? 100 : 200), 0);
	growth_prune(&g, 200);
	cr_expect_eq(g.count, 3);
	for (pid_t pid = 1; pid <= 6; pid++)
		cr_expect_eq(growth_find(&g, name(pid)) != NULL, pid % 2 == 0, "%d", pid);
	growth_prune(&g, 200);
	cr_expect_eq(g.count, 3, "all of them stay where they are");
}

Test(growth, without_memory)
{
	_cleanup_growth_ struct growth g = { 0 };
	struct memory_sample s = sample(FROM_MS, 1);

	grow_fail_at(1);
	cr_expect_eq(growth_note(&g, name(5), &s, 1), -ENOMEM);
	cr_expect_eq(g.count, 0);
}

Test(growth, done_is_empty)
{
	struct growth g = { 0 };
	struct memory_sample s = sample(FROM_MS, 1);

	cr_assert_eq(growth_note(&g, name(5), &s, 1), 0);
	growth_done(&g);
	cr_expect_null(g.series);
	cr_expect_eq(g.count + g.room, 0);
	growth_done(&g);
}

/* ---- what grows ---- */

/* Between -1 and 1, the same at each run. */
static double noise(uint64_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* MiB after so many seconds. */
typedef double shape(double s);

static double flat(double s)
{
	(void)s;
	return 200;
}

static double noisy(double s)
{
	return 200 + 5 * noise((uint64_t)s);
}

static double line(double s)
{
	return 20 + s / 2;
}

static double noisy_line(double s)
{
	return 20 + s / 4 + 5 * noise((uint64_t)s);
}

static double wild_line(double s)
{
	return (uint64_t)s == 250 ? 900 : line(s);
}

static double wild_last(double s)
{
	return s >= 400 ? 900 : 200;
}

static double shrinking(double s)
{
	return 900 - s / 2;
}

static double step(double s)
{
	return s < 200 ? 100 + noise((uint64_t)s) : 300 + noise((uint64_t)s);
}

static double two_steps(double s)
{
	return s < 130 ? 100 : s < 260 ? 200 : 300;
}

static double stairs(double s)
{
	return 100 + 10 * (double)((uint64_t)s / 20);
}

static double warm_up(double s)
{
	return s < 250 ? 100 + 4 * s : 1100 + noise((uint64_t)s);
}

static double levelling(double s)
{
	return 100 + 1000 * s / (s + 40);
}

/* A collector that comes back to the same floor each 40 s. */
static double teeth(double s)
{
	return 100 + 5 * (double)((uint64_t)s % 40);
}

/* A slow one: each half an hour, noisy at its peak. */
static double slow_teeth(double s)
{
	return 100 + (double)((uint64_t)s % 1800) / 2 + noise((uint64_t)s);
}

static double leaking_teeth(double s)
{
	return teeth(s) + s / 2;
}

static double late_leak(double s)
{
	return s < 36000 ? 200 + noise((uint64_t)s) : 200 + (s - 36000) / 2;
}

static double shed(double s)
{
	return s < 3000 ? 2000 : 500 + (s - 3000) / 2;
}

struct row {
	const char *why;
	shape *shape;
	uint64_t seconds; /* that were seen */
	uint64_t every;   /* seconds between two samples */
	uint64_t after;   /* seconds for which it has to grow */
	enum tri growing;
};

static const struct row rows[] = {
	{ "flat", flat, 400, 10, 300, TRI_NO },
	{ "noise", noisy, 400, 10, 300, TRI_NO },
	{ "an even growth", line, 400, 10, 300, TRI_YES },
	{ "the same with noise", noisy_line, 600, 10, 300, TRI_YES },
	{ "with one wild sample", wild_line, 600, 10, 300, TRI_YES },
	{ "one wild sample alone, the last", wild_last, 400, 10, 300, TRI_NO },
	{ "shrinking", shrinking, 400, 10, 300, TRI_NO },
	{ "one step", step, 400, 10, 300, TRI_NO },
	{ "two steps", two_steps, 400, 10, 300, TRI_NO },
	{ "a growth in many steps", stairs, 400, 10, 300, TRI_YES },
	{ "a warm-up that is over", warm_up, 400, 10, 300, TRI_NO },
	{ "the warm-up while it lasts", warm_up, 250, 10, 200, TRI_YES },
	{ "a warm-up that levels off", levelling, 400, 10, 300, TRI_NO },
	{ "teeth of a collector", teeth, 390, 1, 300, TRI_NO },
	{ "teeth seen just so that they climb", teeth, 400, 41, 300, TRI_YES },
	{ "slow teeth, half of the third rise", slow_teeth, 4500, 10, 300, TRI_NO },
	{ "slow teeth, at the third peak", slow_teeth, 5390, 10, 300, TRI_NO },
	{ "teeth on a rising floor", leaking_teeth, 1200, 1, 300, TRI_YES },
	{ "a growth after ten hours without", late_leak, 36400, 10, 300, TRI_YES },
	{ "the same seen each minute", late_leak, 36900, 60, 300, TRI_YES },
	{ "a growth below what it once had", shed, 4000, 10, 300, TRI_NO },
	{ "a growth past what it once had", shed, 6300, 10, 300, TRI_YES },
	{ "for too short a time", line, 290, 10, 300, TRI_UNKNOWN },
	{ "for just long enough", line, 300, 10, 300, TRI_YES },
	{ "too few samples", line, 420, 70, 300, TRI_UNKNOWN },
	{ "just enough of them", line, 490, 70, 300, TRI_YES },
};

/* Lets a series see a shape. */
static void see(struct growth *g, const struct row *r)
{
	for (uint64_t s = 0; s <= r->seconds; s += r->every) {
		struct memory_sample one =
			sample(FROM_MS + s * 1000, (uint64_t)(r->shape((double)s) * BUILD_MIB));

		cr_assert_eq(growth_note(g, name(5), &one, 1), 0);
	}
}

Test(growth, what_grows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_growth_ struct growth g = { 0 };
		struct memory_trend t;

		see(&g, &rows[i]);
		t = growth_judge(growth_find(&g, name(5)), rows[i].after * 1000);
		cr_expect_eq(t.growing, rows[i].growing, "%s: %d, %ld bytes/s over %lu ms",
			     rows[i].why, t.growing, (long)t.anon_per_s, t.window_ms);
		cr_expect_eq(t.window_ms == 0, rows[i].growing == TRI_UNKNOWN, "%s", rows[i].why);
		if (t.window_ms)
			cr_expect_geq(t.window_ms, rows[i].after * 1000, "%s", rows[i].why);
	}
}

enum {
	EXACT_MAX = 9,
	EXACT_GAP_MS = 50 * 1000, /* so that eight are two for each quarter of 350 s */
};

static const struct {
	const char *why;
	enum tri growing;
	uint64_t anon[EXACT_MAX];
	uint64_t least[EXACT_MAX]; /* since the sample before; 0: no less than this one has */
} exact[] = {
	{ "each floor rises by half of the greatest rise",
	  TRI_YES,
	  { 100, 150, 200, 220, 250, 270, 300, 320 },
	  { 0 } },
	{ "one rises by less than half of it",
	  TRI_NO,
	  { 100, 150, 200, 220, 250, 270, 299, 320 },
	  { 0 } },
	{ "it climbs, and comes back to the same floor between two looks",
	  TRI_NO,
	  { 100, 110, 120, 130, 140, 150, 160, 170 },
	  { 0, 50, 0, 50, 0, 50, 0, 50 } },
	{ "the floor of a quarter is the least of all its samples, not the last",
	  TRI_NO,
	  { 100, 110, 120, 130, 140, 150, 160, 170 },
	  { 0, 0, 50, 0, 50, 0, 50, 0 } },
	{ "what was least before the stretch is not of it",
	  TRI_YES,
	  { 100, 110, 120, 130, 140, 150, 160, 170 },
	  { 1, 0, 0, 0, 0, 0, 0, 0 } },
	{ "only what lies between the looks rises",
	  TRI_NO,
	  { 900, 900, 900, 900, 900, 900, 900, 900 },
	  { 0, 100, 200, 200, 300, 300, 400, 400 } },
	{ "as far past what it once had as its floors rise",
	  TRI_YES,
	  { 160, 100, 110, 120, 130, 140, 150, 160, 170 },
	  { 0 } },
	{ "not so far", TRI_NO, { 161, 100, 110, 120, 130, 140, 150, 160, 170 }, { 0 } },
};

Test(growth, what_just_grows)
{
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		_cleanup_growth_ struct growth g = { 0 };

		for (size_t k = 0; k < EXACT_MAX && exact[i].anon[k]; k++) {
			struct memory_sample one =
				sample(FROM_MS + k * EXACT_GAP_MS, exact[i].anon[k]);

			if (exact[i].least[k])
				one.least_bytes = exact[i].least[k];
			cr_assert_eq(growth_note(&g, name(5), &one, 1), 0);
		}
		cr_expect_eq(growth_judge(growth_find(&g, name(5)), 7 * EXACT_GAP_MS).growing,
			     exact[i].growing, "%s", exact[i].why);
	}
}

Test(growth, how_fast)
{
	static const struct {
		const char *why;
		struct row row;
		int64_t least, most; /* KiB per second of RssAnon */
	} fast[] = {
		{ "even", { "", line, 400, 10, 300, 0 }, 511, 513 },
		{ "even, with a wild sample", { "", wild_line, 600, 10, 300, 0 }, 505, 520 },
		{ "with noise", { "", noisy_line, 600, 10, 300, 0 }, 240, 272 },
		{ "not at all", { "", flat, 400, 10, 300, 0 }, 0, 0 },
		{ "backwards", { "", shrinking, 400, 10, 300, 0 }, -513, -511 },
		{ "of late", { "", late_leak, 36400, 10, 300, 0 }, 500, 524 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fast); i++) {
		_cleanup_growth_ struct growth g = { 0 };
		struct memory_trend t;

		see(&g, &fast[i].row);
		t = growth_judge(growth_find(&g, name(5)), fast[i].row.after * 1000);
		cr_expect_geq(t.anon_per_s, fast[i].least * 1024, "%s: %ld", fast[i].why,
			      (long)t.anon_per_s / 1024);
		cr_expect_leq(t.anon_per_s, fast[i].most * 1024, "%s: %ld", fast[i].why,
			      (long)t.anon_per_s / 1024);
		cr_expect_leq(labs((long)(t.vm_per_s - 2 * t.anon_per_s)), 2, "%s: VmSize",
			      fast[i].why);
	}
}

/* A quarter of the stretch in which nobody looked: what went on there is not known. */
Test(growth, an_empty_quarter)
{
	_cleanup_growth_ struct growth g = { 0 };

	for (uint64_t s = 0; s <= 400; s += 10) {
		struct memory_sample one = sample(FROM_MS + s * 1000, s * BUILD_MIB);

		if (s <= 100 || s > 300)
			cr_assert_eq(growth_note(&g, name(5), &one, 1), 0);
	}
	cr_expect_eq(growth_judge(growth_find(&g, name(5)), 300 * 1000).growing, TRI_NO);
}

/* A stretch as long as can be: twice of that is a time, too, and so the search for a longer one ends. */
Test(growth, from_the_first_moment_to_the_last)
{
	_cleanup_growth_ struct growth g = { 0 };

	for (uint64_t i = 0; i < GROWTH_SAMPLES_MIN; i++) {
		uint64_t last = i + 1 == GROWTH_SAMPLES_MIN;
		struct memory_sample one = sample(last ? MEMORY_MS_MAX : i * 1000, BUILD_MIB);

		cr_assert_eq(growth_note(&g, name(5), &one, 1), 0);
	}
	cr_expect_eq(growth_judge(growth_find(&g, name(5)), 1000).window_ms, MEMORY_MS_MAX);
}

/* Nothing but noise, judged at each of many looks. */
Test(growth, noise_for_long)
{
	_cleanup_growth_ struct growth g = { 0 };
	unsigned alarms = 0, looks = 20000;

	for (uint64_t i = 0; i < looks; i++) {
		struct memory_sample one =
			sample(FROM_MS + i * 10000, (uint64_t)((200 + 5 * noise(i)) * BUILD_MIB));

		cr_assert_eq(growth_note(&g, name(5), &one, 1), 0);
		alarms += growth_judge(growth_find(&g, name(5)), 300 * 1000).growing == TRI_YES;
	}
	cr_expect_eq(alarms, 0, "%u of %u looks", alarms, looks);
}

#define CENTURY_S (UINT64_C(100) * 365 * 24 * 3600)

Test(growth, until_the_limit)
{
	static const struct {
		const char *why;
		struct memory_trend trend;
		struct memory_limit limit;
		uint64_t until_ms;
	} until[] = {
		{ "1 MiB/s and 60 MiB of room",
		  { TRI_YES, 1000, 0, BUILD_MIB },
		  { MEMORY_LIMIT_CGROUP, 100 * BUILD_MIB, 60 * BUILD_MIB, "/a" },
		  60000 },
		{ "no room",
		  { TRI_YES, 1000, 0, BUILD_MIB },
		  { MEMORY_LIMIT_MACHINE, 100 * BUILD_MIB, 0, "" },
		  0 },
		{ "no limit that is known",
		  { TRI_YES, 1000, 0, BUILD_MIB },
		  { MEMORY_LIMIT_UNKNOWN, 0, 0, "" },
		  UNKNOWN_U64 },
		{ "it does not grow",
		  { TRI_NO, 1000, 0, BUILD_MIB },
		  { MEMORY_LIMIT_MACHINE, 0, 0, "" },
		  UNKNOWN_U64 },
		{ "less than a byte in a second",
		  { TRI_YES, 1000, 0, 0 },
		  { MEMORY_LIMIT_MACHINE, 0, 0, "" },
		  UNKNOWN_U64 },
		{ "it shrinks",
		  { TRI_YES, 1000, 0, -1 },
		  { MEMORY_LIMIT_MACHINE, 0, 0, "" },
		  UNKNOWN_U64 },
		{ "a second less than a hundred years",
		  { TRI_YES, 1000, 0, 1 },
		  { MEMORY_LIMIT_MACHINE, UINT64_MAX, CENTURY_S - 1, "" },
		  (CENTURY_S - 1) * 1000 },
		{ "a hundred years are as good as never",
		  { TRI_YES, 1000, 0, 1 },
		  { MEMORY_LIMIT_MACHINE, UINT64_MAX, CENTURY_S, "" },
		  UNKNOWN_U64 },
		{ "in hundreds of years",
		  { TRI_YES, 1000, 0, 1 },
		  { MEMORY_LIMIT_MACHINE, UINT64_MAX, UINT64_MAX, "" },
		  UNKNOWN_U64 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(until); i++)
		cr_expect_eq(growth_until(&until[i].trend, &until[i].limit), until[i].until_ms,
			     "%s", until[i].why);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/oom.h"

#include <criterion/criterion.h>

#include "base/macro.h"

static const struct oom_candidate candidates[] = {
	{ { 10, 1 }, "init", 0, 9000, "/init" },
	{ { 20, 1 }, "ps", 671, 800, "/job" },
	{ { 30, 1 }, "worker", 668, 300, "/job/worker" },
	{ { 40, 1 }, "large", 680, 5000, "/jobs" },
	{ { 50, 1 }, "stranger", 700, 100, "" },
	{ { 61, 1 }, "twin", 671, 800, "/job" },
	{ { 62, 1 }, "bigger twin", 668, 301, "/job/worker/inner" },
};

static const struct {
	const char *why;
	struct memory_limit limit;
	pid_t chosen; /* 0: nobody */
} rows[] = {
	{ "the machine: the highest score, wherever it is", { .of = MEMORY_LIMIT_MACHINE }, 50 },
	{ "a cgroup: the highest in it and below it, of two alike the first",
	  { .of = MEMORY_LIMIT_CGROUP, .cgroup = "/job" },
	  20 },
	{ "one below it: of the same score the larger",
	  { .of = MEMORY_LIMIT_CGROUP, .cgroup = "/job/worker" },
	  62 },
	{ "the top: all whose cgroup is known", { .of = MEMORY_LIMIT_CGROUP, .cgroup = "/" }, 40 },
	{ "an empty one", { .of = MEMORY_LIMIT_CGROUP, .cgroup = "/jo" }, 0 },
	{ "a score of 0 is never taken, even where there is no other",
	  { .of = MEMORY_LIMIT_CGROUP, .cgroup = "/init" },
	  0 },
	{ "no limit that is known", { .of = MEMORY_LIMIT_UNKNOWN }, 0 },
};

static void expect_chosen(const struct oom_candidate *among, const char *order)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct oom_candidate *got =
			oom_choose(among, ARRAY_SIZE(candidates), &rows[i].limit);

		cr_expect_eq(got ? got->id.pid : 0, rows[i].chosen, "%s, %s: %d", rows[i].why,
			     order, got ? got->id.pid : 0);
	}
}

Test(oom, whom_the_kernel_takes)
{
	expect_chosen(candidates, "by number");
	cr_expect_null(oom_choose(candidates, 0, &rows[0].limit), "nobody to choose from");
}

Test(oom, in_whatever_order)
{
	struct oom_candidate turned[ARRAY_SIZE(candidates)];

	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++)
		turned[i] = candidates[ARRAY_SIZE(candidates) - 1 - i];
	expect_chosen(turned, "the last first");
}

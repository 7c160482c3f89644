/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/plan.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "build.h"
#include "grow_fail.h"

enum {
	MEMBERS_MAX = 6,
	END = -1,
};

struct member {
	pid_t pid; /* 0: no more */
	uint64_t blocked_ms;
	uint64_t rss_bytes;
	enum action action;
	enum role role;
};

#define DUE(pid, blocked, rss)                              \
	{                                                   \
		pid, blocked, rss, ACTION_REAP, ROLE_WORKER \
	}

static const struct row {
	const char *why;
	struct member members[MEMBERS_MAX];
	uint32_t per_sweep, per_hour, kills_last_hour;
	size_t held;
	int want[MEMBERS_MAX + 1]; /* indices, those held back last; END behind the last */
} rows[] = {
	{ "nobody is there", { { 0 } }, 32, 256, 0, 0, { END } },
	{ "nobody is due",
	  { { 10, 9, 9, ACTION_KEEP, ROLE_WORKER }, { 11, 9, 9, ACTION_SUSPECT, ROLE_WORKER } },
	  32,
	  256,
	  0,
	  0,
	  { END } },
	{ "only workers are planned, their helpers go with them",
	  { DUE(10, 9, 9),
	    { 11, 9, 9, ACTION_REAP, ROLE_HELPER },
	    { 12, 9, 9, ACTION_REAP, ROLE_LOST_HELPER } },
	  32,
	  256,
	  0,
	  0,
	  { 0, END } },
	{ "longest blocked first",
	  { DUE(10, 5, 99), DUE(11, 7, 1), DUE(12, 6, 50) },
	  32,
	  256,
	  0,
	  0,
	  { 1, 2, 0, END } },
	{ "then the largest",
	  { DUE(10, 5, 1), DUE(11, 5, 3), DUE(12, 5, 2) },
	  32,
	  256,
	  0,
	  0,
	  { 1, 2, 0, END } },
	{ "then by number",
	  { DUE(12, 5, 1), DUE(11, 5, 1), DUE(10, 5, 1) },
	  32,
	  256,
	  0,
	  0,
	  { 2, 1, 0, END } },
	{ "by number, in whatever order they were found",
	  { DUE(10, 5, 1), DUE(12, 5, 1), DUE(11, 5, 1) },
	  32,
	  256,
	  0,
	  0,
	  { 0, 2, 1, END } },
	{ "as many as one sweep may",
	  { DUE(10, 1, 1), DUE(11, 2, 1), DUE(12, 3, 1) },
	  2,
	  256,
	  0,
	  1,
	  { 2, 1, 0, END } },
	{ "exactly as many", { DUE(10, 1, 1), DUE(11, 2, 1) }, 2, 256, 0, 0, { 1, 0, END } },
	{ "what the hour leaves",
	  { DUE(10, 1, 1), DUE(11, 2, 1), DUE(12, 3, 1) },
	  32,
	  256,
	  255,
	  2,
	  { 2, 1, 0, END } },
	{ "the hour leaves nothing",
	  { DUE(10, 1, 1), DUE(11, 2, 1) },
	  32,
	  256,
	  256,
	  2,
	  { 1, 0, END } },
	{ "the limit was lowered meanwhile", { DUE(10, 1, 1) }, 32, 10, 256, 1, { 0, END } },
};

static void fill(const struct row *r, struct audit *a)
{
	int host, daemon;

	*a = build_audit();
	build_host(a, 4711);
	host = 0;
	build_daemon(a, host, 4790);
	daemon = 0;
	for (size_t i = 0; i < MEMBERS_MAX && r->members[i].pid; i++) {
		struct subject *s = build_worker(a, daemon, r->members[i].pid);

		s->role = r->members[i].role;
		s->rss_bytes = r->members[i].rss_bytes;
		s->facts.blocked_ms = r->members[i].blocked_ms;
		s->verdict.action = r->members[i].action;
	}
}

static size_t length(const int want[MEMBERS_MAX + 1])
{
	size_t n = 0;

	while (want[n] != END)
		n++;
	return n;
}

Test(plan, order_and_limits)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		const struct limits limits = { r->per_sweep, r->per_hour };
		size_t want = length(r->want);
		struct plan p = { 0 };
		struct audit a;

		fill(r, &a);
		cr_assert_eq(plan_make(&a, &limits, r->kills_last_hour, &p), 0, "%s", r->why);
		cr_assert_eq(p.count + p.held, want, "%s: %zu", r->why, p.count + p.held);
		cr_expect_eq(p.held, r->held, "%s: %zu are held back", r->why, p.held);
		for (size_t k = 0; k < want; k++)
			cr_expect_eq(p.items[k], (size_t)r->want[k], "%s: place %zu is %zu's",
				     r->why, k, p.items[k]);
		plan_done(&p);
		cr_expect_null(p.items, "%s", r->why);
		cr_expect_eq(p.count, 0, "%s", r->why);
		audit_done(&a);
	}
}

Test(plan, without_memory_there_is_no_plan)
{
	const struct limits limits = { 32, 256 };
	struct plan untouched = { .held = 77 };
	unsigned call = 1;
	struct audit a;

	fill(&rows[3], &a);
	for (;; call++) {
		struct plan p = untouched;
		int err;

		grow_fail_at(call);
		err = plan_make(&a, &limits, 0, &p);
		if (!grow_has_failed()) {
			cr_expect_eq(err, 0);
			plan_done(&p);
			break;
		}
		cr_expect_eq(err, -ENOMEM, "call %u", call);
		cr_expect_null(p.items, "call %u: it is not touched", call);
		cr_expect_eq(p.held, 77, "call %u: it is not touched", call);
	}
	cr_expect_eq(call, 7, "three to list, three to order");
	audit_done(&a);
}

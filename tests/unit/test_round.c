/* SPDX-License-Identifier: Apache-2.0 */
#include "app/round.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "base/clock.h"
#include "build.h"

static const struct row {
	const char *why;
	enum role role;
	enum outcome outcome;
	int signal;
	size_t want;
} rows[] = {
	{ "it left at SIGTERM", ROLE_WORKER, OUTCOME_EXITED, SIGTERM, 0 },
	{ "it left at SIGKILL", ROLE_SINGLE, OUTCOME_KILLED, SIGKILL, 0 },
	{ "it left by itself", ROLE_WORKER, OUTCOME_VANISHED, 0, 0 },
	{ "it was found to be of use", ROLE_WORKER, OUTCOME_SPARED, 0, 0 },
	{ "what was signalled and not looked at again", ROLE_WORKER, OUTCOME_SPARED, SIGTERM, 1 },
	{ "it outlives SIGKILL", ROLE_WORKER, OUTCOME_UNKILLABLE, SIGKILL, 1 },
	{ "a limit holds it back", ROLE_WORKER, OUTCOME_HELD, 0, 1 },
	{ "the kernel refused", ROLE_WORKER, OUTCOME_REFUSED, 0, 1 },
	{ "a helper is not judged by itself", ROLE_HELPER, OUTCOME_REFUSED, 0, 0 },
};

Test(round, what_is_left)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct action_record record = {
			.role = rows[i].role,
			.outcome = rows[i].outcome,
			.signal = rows[i].signal,
		};
		const struct round r = { .records = &record, .record_count = 1 };

		cr_expect_eq(round_left(&r), rows[i].want, "%s", rows[i].why);
	}
}

/* ---- what a plan is made of ---- */

static bool begun;     /* it went on to end somebody */
static size_t planned; /* whom */

/* One worker, and it is due. */
int __wrap_look_twice(struct look *l, uint64_t sample_ms, struct audit *ret);
int __wrap_look_twice(struct look *l, uint64_t sample_ms, struct audit *ret)
{
	(void)l;
	(void)sample_ms;
	*ret = build_audit();
	build_reap(build_worker(ret, -1, 4803), FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	return 0;
}

int __wrap_reap_begin(struct reap *r, const struct audit *first, const struct plan *plan);
int __wrap_reap_begin(struct reap *r, const struct audit *first, const struct plan *plan)
{
	(void)r;
	(void)first;
	begun = true;
	planned = plan->count;
	return 0;
}

/* Where one a sweep, and one an hour, may be ended. */
static void begin(bool dry_run, uint64_t ended_ms)
{
	const struct config config = { .limits = { .per_sweep = 1, .per_hour = 1 } };
	const struct options options = { .dry_run = dry_run, .json = true, .quiet = true };
	struct look look = { .stop_fd = -1 };
	struct round r = {
		.options = &options, .config = &config, .look = &look, .log = { .fd = -1 }
	};

	begun = false;
	planned = 0;
	if (ended_ms)
		cr_assert_eq(history_kill(&look.history, ended_ms), 0);
	cr_assert_eq(round_look(&r, 0), 0);
	cr_expect_eq(round_begin(&r), 0);
	cr_expect_eq(r.audit.dry_run, dry_run);
	round_close(&r);
	history_done(&look.history);
}

Test(round, a_dry_run_ends_nobody)
{
	begin(true, 0);
	cr_expect_not(begun);
	begin(false, 0);
	cr_expect(begun);
}

Test(round, what_was_ended_within_the_hour_counts)
{
	begin(false, 0);
	cr_expect_eq(planned, 1, "nobody was");
	begin(false, clock_boot_ms());
	cr_expect(begun);
	cr_expect_eq(planned, 0, "one was");
}

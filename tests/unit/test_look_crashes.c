/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_crashes.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "build.h"

static const struct config config = { .crash_window_ms = 10 * BUILD_MINUTE };

static void crash(struct look *l, const struct audit *a, struct exits_key key, int times)
{
	const struct ending segv = { ENDING_SIGNAL, SIGSEGV, TRI_NO };

	for (int i = 0; i < times; i++)
		cr_assert_eq(exits_note(&l->exits, &key, segv, a->boot_ms - BUILD_MINUTE), 1);
}

Test(look_crashes, of_a_daemons_two_groups_the_one_that_loops_counts)
{
	static const struct {
		int workers, daemons; /* crashed */
		bool loop;
		int shown; /* enum role: whose; -1: nobody's */
		const char *why;
	} rows[] = {
		{ 0, 0, false, -1, "nobody crashed" },
		{ 1, 0, false, ROLE_WORKER, "a worker of it" },
		{ 0, 1, false, ROLE_DAEMON, "one before it" },
		{ 1, 1, false, ROLE_WORKER, "its workers come first" },
		{ 2, 2, false, ROLE_WORKER, "they are not added up" },
		{ 3, 0, true, ROLE_WORKER, "its workers again and again" },
		{ 0, 3, true, ROLE_DAEMON, "those before it again and again" },
		{ 3, 1, true, ROLE_WORKER, "one before it hides nothing" },
		{ 1, 3, true, ROLE_DAEMON, "nor does a worker of it" },
		{ 3, 3, true, ROLE_WORKER, "its workers come first" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(audit_done) struct audit a = build_audit();
		struct look l = { .config = &config };
		const struct crashes *shown;
		struct daemon *d;

		build_host(&a, 4711);
		d = build_daemon(&a, 0, 4790);
		crash(&l, &a, exits_key_workers(&a, d), rows[i].workers);
		crash(&l, &a, exits_key_daemon(&a, d), rows[i].daemons);
		cr_assert_eq(look_crashes_judge(&l, &a), 0);
		cr_expect_eq(d->verdict.action, rows[i].loop ? ACTION_SUSPECT : ACTION_KEEP, "%s",
			     rows[i].why);
		cr_expect_eq(d->verdict.reason, rows[i].loop ? REASON_CRASH_LOOP : REASON_DAEMON,
			     "%s", rows[i].why);
		shown = audit_crashes(&a, d->crashes);
		cr_expect_eq(shown ? shown->role : -1, rows[i].shown, "%s", rows[i].why);
		exits_done(&l.exits);
	}
}

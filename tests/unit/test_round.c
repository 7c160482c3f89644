/* SPDX-License-Identifier: Apache-2.0 */
#include "app/round.h"

#include <criterion/criterion.h>
#include <signal.h>

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

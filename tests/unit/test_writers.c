/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/writers.h"

#include <criterion/criterion.h>

#include "base/macro.h"

enum {
	NOW = 1000000, /* the look, in milliseconds since boot */
};

/* Every worker here is 60 s old, and last ran 30 s ago unless the row says otherwise. */
static const struct {
	const char *why;
	uint64_t began_ms; /* 0: the host has no writer */
	uint64_t blocked_ms;
	bool unknown;
	enum tri want;
} rows[] = {
	{ "no thread writes", .want = TRI_NO },
	{ "its task's: begun with it", NOW - 60000, .want = TRI_YES },
	{ "its task's: it was pooled before", NOW - 40000, .want = TRI_YES },
	{ "begun as it last ran", NOW - 30000, .want = TRI_YES },
	{ "ticks are coarse: a little before it", NOW - 61000, .want = TRI_YES },
	{ "ticks are coarse: a little after it last ran", NOW - 29000, .want = TRI_YES },
	{ "older than the worker: another's", NOW - 61001, .want = TRI_NO },
	{ "begun since it last ran: another's", NOW - 28999, .want = TRI_NO },
	{ "begun since, but when it last ran is not known", NOW - 20000, UNKNOWN_U64,
	  .want = TRI_YES },
	{ "older, and when it last ran is not known", NOW - 62000, UNKNOWN_U64, .want = TRI_NO },
	{ "the host's threads could not be read", .unknown = true, .want = TRI_UNKNOWN },
};

Test(writers, may_write)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t began_ms[] = { 1, rows[i].began_ms }; /* and one that is older than all */
		struct host host = { .writers = { .known = !rows[i].unknown,
						  .began_ms = began_ms,
						  .count = rows[i].began_ms ? 2 : 1 } };
		struct audit a = { .hosts = &host, .host_count = 1 };
		struct subject worker = {
			.ev = { .taken_ms = NOW,
				.age_ms = 60000,
				.blocked_ms = rows[i].blocked_ms ? rows[i].blocked_ms : 30000 },
		};

		cr_expect_eq(writers_may_write(&a, &worker), rows[i].want, "%s", rows[i].why);
	}
}

Test(writers, without_a_host_nothing_is_known)
{
	struct audit a = { 0 };
	struct subject worker = { .host = -1 };

	cr_expect_eq(writers_may_write(&a, &worker), TRI_UNKNOWN);
}

Test(writers, older_than_the_boot_clock_of_a_namespace)
{
	uint64_t began_ms[] = { 0 };
	struct host host = { .writers = { .known = true, .began_ms = began_ms, .count = 1 } };
	struct audit a = { .hosts = &host, .host_count = 1 };
	struct subject worker = {
		.ev = { .taken_ms = 5, .age_ms = UNKNOWN_U64, .blocked_ms = 100 }
	};

	cr_expect_eq(writers_may_write(&a, &worker), TRI_YES, "in doubt it may");
}

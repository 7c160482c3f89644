/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/host_threads.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/pin.h"
#include "live.h"

TestSuite(host_threads, .timeout = 120);

static void *sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* A host whose threads have these names, up to NULL. */
static void run_threads(void *arg)
{
	for (char **name = arg; *name; name++) {
		pthread_t thread;

		live_need(pthread_create(&thread, NULL, sleep_on, NULL) == 0);
		live_need(pthread_setname_np(thread, *name) == 0);
	}
	live_ready();
	sleep_on(NULL);
}

static struct writers read_writers(char **names)
{
	struct writers got = { 0 };
	pid_t pid = live_start(run_threads, names);
	_cleanup_close_ int dirfd = pin_open(pid);

	cr_assert_geq(dirfd, 0);
	cr_assert_eq(host_threads_writers(dirfd, &got), 0);
	live_end(pid);
	return got;
}

Test(host_threads, writers_are_known_by_their_names)
{
	static struct {
		char name[16];
		size_t count;
	} rows
		[] = {
			{ "stdout writer f", 1 }, /* Spark 3.5, pyjava */
			{ "stdout ..ython3", 1 }, /* the same, cut in the middle */
			{ "python-udf-pipe", 1 }, /* Spark 4, pipelined */
			{ "python-..lined0", 1 },
			{ "stdout reader f", 0 }, /* reads what a daemon prints, for ever */
			{ "stderr reader f", 0 },
			{ "Writer Monitor", 0 },
			{ "Executor task l", 0 },
			{ "(stdout writer", 0 },
		};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *names[] = { rows[i].name, NULL };
		struct writers got = read_writers(names);

		cr_expect(got.known);
		cr_expect_eq(got.count, rows[i].count, "%s: %zu", rows[i].name, got.count);
		free(got.began_ms);
	}
}

Test(host_threads, all_are_listed_with_when_they_began)
{
	char writer[] = "stdout writer f", other[] = "other",
	     *names[] = { writer, other, writer, NULL };
	uint64_t before_ms = clock_boot_ms(), after_ms;
	struct writers got = read_writers(names);

	after_ms = clock_boot_ms();
	cr_assert_eq(got.count, 2);
	for (size_t i = 0; i < got.count; i++)
		cr_expect(got.began_ms[i] + 10 >= before_ms && got.began_ms[i] <= after_ms,
			  "%lu is not from %lu to %lu", got.began_ms[i], before_ms, after_ms);
	free(got.began_ms);
}

Test(host_threads, one_that_is_gone_is_not_known)
{
	struct writers got = { .count = 7 };
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);

	cr_assert_geq(dirfd, 0);
	live_end(pid);
	cr_expect_lt(host_threads_writers(dirfd, &got), 0);
	cr_expect_not(got.known);
	cr_expect_eq(got.count, 7, "left as it was");
}

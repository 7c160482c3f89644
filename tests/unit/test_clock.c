/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"

Test(clock, boot_time_is_uptime)
{
	double uptime = 0;
	FILE *file = fopen("/proc/uptime", "re");
	uint64_t now = clock_boot_ms();

	cr_assert_not_null(file);
	cr_assert_eq(fscanf(file, "%lf", &uptime), 1);
	fclose(file);
	cr_assert_float_eq(uptime, (double)now / 1000, 5.0);
}

Test(clock, wall_time_is_since_1970)
{
	uint64_t now = clock_wall_ms(), seconds = (uint64_t)time(NULL);

	cr_assert_leq(now / 1000, seconds + 1);
	cr_assert_geq(now / 1000 + 5, seconds);
}

Test(clock, ticks_do_not_overflow)
{
	/* USER_HZ is 100 on every Linux but alpha and ia64. */
	cr_assert_eq(clock_ticks_to_ms(0), 0);
	cr_assert_eq(clock_ticks_to_ms(7), 70);
	cr_assert_eq(clock_ticks_to_ms(12345), 123450);
	cr_assert_eq(clock_ticks_to_ms(UINT64_MAX / 1000),
		     UINT64_MAX / 1000 / 100 * 1000 + UINT64_MAX / 1000 % 100 * 10);
}

Test(clock, sleeps_as_long_as_asked, .timeout = 20)
{
	uint64_t before = clock_boot_ms();

	clock_sleep_ms(120);
	cr_assert_geq(clock_boot_ms() - before, 119);
}

static void nothing(int signal)
{
	(void)signal;
}

Test(clock, a_signal_ends_a_sleep, .timeout = 20)
{
	struct sigaction act = { .sa_handler = nothing };
	/* Again and again: the first may come before the sleep has begun. */
	struct itimerval soon = { .it_value.tv_usec = 100000, .it_interval.tv_usec = 100000 };
	uint64_t before = clock_boot_ms();

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	clock_sleep_ms(15000);
	cr_assert_lt(clock_boot_ms() - before, 10000);
}

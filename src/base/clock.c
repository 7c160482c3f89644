/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>
#include <unistd.h>

static uint64_t clock_ms(clockid_t which)
{
	struct timespec now;

	if (clock_gettime(which, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t clock_boot_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

/* Read before the other: what passes between the two must not look like a suspend. */
uint64_t clock_suspended_ms(void)
{
	uint64_t boot_ms = clock_ms(CLOCK_BOOTTIME), awake_ms = clock_ms(CLOCK_MONOTONIC);

	return boot_ms > awake_ms ? boot_ms - awake_ms : 0;
}

uint64_t clock_wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

uint64_t clock_ticks_to_ms(uint64_t ticks)
{
	uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);

	/* In two parts: ticks * 1000 could overflow. */
	return ticks / per_second * 1000 + ticks % per_second * 1000 / per_second;
}

void clock_sleep_ms(uint64_t ms)
{
	struct timespec wait = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};

	(void)nanosleep(&wait, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "live.h"
#include "model/tri.h"
#include "observe/cpu_clock.h"
#include "observe/proc_parse.h"

enum {
	NO_CPU = 8000,
	BEYOND_EVERY_CPU = 8192
};

TestSuite(cpu_clock, .timeout = 120);

/* Gives the CPU on which a process last ran, and when by that CPU's clock. */
static uint64_t last_ran_us(pid_t pid, unsigned *ret_cpu)
{
	char path[64], bytes[8192];
	struct proc_stat stat;
	uint64_t us = 0;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	len = fs_read_at(AT_FDCWD, path, bytes, sizeof(bytes));
	cr_assert_gt(len, 0);
	cr_assert_eq(proc_parse_stat(bytes, (size_t)len, &stat), 0);
	snprintf(path, sizeof(path), "/proc/%d/sched", pid);
	len = fs_read_at(AT_FDCWD, path, bytes, sizeof(bytes));
	if (len < 0)
		cr_skip_test("this kernel has no sched files");
	cr_assert_eq(proc_parse_sched(bytes, (size_t)len, &us), 0);
	*ret_cpu = stat.cpu;
	return us;
}

static void spin(void *arg)
{
	(void)arg;
	live_ready();
	for (;;)
		;
}

static void pause_on(void *arg)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*(int *)arg, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		_exit(1);
	live_pause(NULL);
}

enum {
	SLEEPERS_MAX = 16,
	SHORT_MS = 50,
	TRIES = 3
};

struct sleeper {
	pid_t pid;
	uint64_t before_ms; /* it was started later */
	uint64_t since_ms;  /* seen asleep */
};

static int start_sleepers(struct sleeper sleepers[SLEEPERS_MAX])
{
	cpu_set_t ours;
	int count = 0;

	cr_assert_eq(sched_getaffinity(0, sizeof(ours), &ours), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && count < SLEEPERS_MAX; cpu++) {
		if (!CPU_ISSET(cpu, &ours))
			continue;
		sleepers[count].before_ms = live_now_ms();
		sleepers[count].pid = live_start(pause_on, &cpu);
		live_await_state(sleepers[count].pid, 'S');
		sleepers[count++].since_ms = live_now_ms();
	}
	return count;
}

/*
 * Dates a sleeper on each CPU that is ours: never too long.
 *
 * @return by how much the shortest answer was too short, without what was stolen meanwhile.
 */
static uint64_t worst_shortfall(struct cpu_clock *clock)
{
	struct sleeper sleepers[SLEEPERS_MAX];
	int count = start_sleepers(sleepers);
	uint64_t worst = 0, stolen = live_stolen_ms();

	live_sleep_ms(1500);
	for (int i = 0; i < count; i++) {
		unsigned cpu;
		uint64_t us = last_ran_us(sleepers[i].pid, &cpu);
		uint64_t asked = live_now_ms();
		uint64_t told = cpu_clock_since_ms(clock, cpu, us);

		cr_expect_leq(told, live_now_ms() - sleepers[i].before_ms + SHORT_MS,
			      "CPU %u: too long", cpu);
		if (told < asked - sleepers[i].since_ms)
			worst = MAX(worst, asked - sleepers[i].since_ms - told);
	}
	for (int i = 0; i < count; i++)
		live_end(sleepers[i].pid);
	stolen = live_stolen_ms() - stolen;
	return worst > stolen ? worst - stolen : 0;
}

/* The ticks of stolen time are coarse, so a try may fail on a bad moment. */
static void check_sleepers(unsigned spinners)
{
	uint64_t worst = UINT64_MAX;
	struct cpu_clock *clock = NULL;
	pid_t busy[8];

	cr_assert_eq(cpu_clock_new(&clock), 0);
	for (unsigned i = 0; i < spinners; i++)
		busy[i] = live_start(spin, NULL);
	for (int i = 0; i < TRIES && worst > SHORT_MS; i++) {
		cpu_clock_reset(clock);
		worst = worst_shortfall(clock);
	}
	cr_expect_leq(worst, SHORT_MS, "%zu ms too short", (size_t)worst);
	for (unsigned i = 0; i < spinners; i++)
		live_end(busy[i]);
	cpu_clock_free(clock);
}

Test(cpu_clock, dates_sleepers)
{
	check_sleepers(0);
}

Test(cpu_clock, dates_sleepers_under_load)
{
	check_sleepers(4);
}

Test(cpu_clock, gives_the_affinity_back)
{
	struct cpu_clock *clock = NULL;
	cpu_set_t before, after;

	cr_assert_eq(cpu_clock_new(&clock), 0);
	cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		(void)cpu_clock_since_ms(clock, cpu, 1);
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&before, &after));
	cpu_clock_free(clock);
}

/* A CPU that is not there refuses us as one outside our cpuset does. */
Test(cpu_clock, falls_back_to_the_latest_seen)
{
	struct cpu_clock *clock = NULL;

	cr_assert_eq(cpu_clock_new(&clock), 0);
	cr_expect_eq(cpu_clock_since_ms(clock, NO_CPU, 5000000), 0, "nothing later is known");
	cr_expect_eq(cpu_clock_since_ms(clock, NO_CPU, 2000000), 3000, "a lower bound");
	cr_expect_eq(cpu_clock_since_ms(clock, NO_CPU, 9000000), 0);
	cr_expect_eq(cpu_clock_since_ms(clock, NO_CPU, 2000000), 7000);
	cpu_clock_reset(clock);
	cr_expect_eq(cpu_clock_since_ms(clock, NO_CPU, 2000000), 0, "forgotten");
	cpu_clock_free(clock);
}

Test(cpu_clock, knows_what_it_does_not_know)
{
	struct cpu_clock *clock = NULL;

	cr_assert_eq(cpu_clock_new(&clock), 0);
	cpu_clock_reset(clock);
	cr_expect_eq(cpu_clock_since_ms(clock, 0, 0), UNKNOWN_U64, "not run since it migrated");
	cr_expect_eq(cpu_clock_since_ms(clock, BEYOND_EVERY_CPU, 1), UNKNOWN_U64);
	cr_expect_eq(cpu_clock_since_ms(clock, UINT32_MAX, 1), UNKNOWN_U64);
	cr_expect_eq(cpu_clock_since_ms(clock, 0, UINT64_MAX - 1), 0, "later than now is now");
	cpu_clock_free(clock);
	cpu_clock_free(NULL);
}

Test(cpu_clock, a_reading_is_made_anew)
{
	struct cpu_clock *clock = NULL;
	uint64_t first, later, stolen;
	unsigned cpu;
	uint64_t us = last_ran_us(getpid(), &cpu);

	cr_assert_eq(cpu_clock_new(&clock), 0);
	stolen = live_stolen_ms();
	first = cpu_clock_since_ms(clock, cpu, us);
	live_sleep_ms(400);
	later = cpu_clock_since_ms(clock, cpu, us);
	stolen = live_stolen_ms() - stolen; /* that clock stands still meanwhile */
	cr_expect_geq(later + stolen, first + 300, "%zu, then %zu", (size_t)first, (size_t)later);
	cr_expect_leq(later, first + 20000);
	cpu_clock_free(clock);
}

Test(cpu_clock, process_time)
{
	uint64_t before = cpu_clock_process_ns(getpid()), until = live_now_ms() + 100;
	pid_t pid = live_start(live_pause, NULL);
	uint64_t idle;

	cr_assert_neq(before, UNKNOWN_U64);
	while (live_now_ms() < until)
		;
	cr_expect_gt(cpu_clock_process_ns(getpid()), before);
	live_await_state(pid, 'S');
	until = live_now_ms() + LIVE_WAIT_MS;
	do { /* it is in that state a little before it leaves its CPU */
		idle = cpu_clock_process_ns(pid);
		live_sleep_ms(50);
	} while (cpu_clock_process_ns(pid) != idle && live_now_ms() < until);
	cr_expect_eq(cpu_clock_process_ns(pid), idle, "it sleeps");
	live_end(pid);
	cr_expect_eq(cpu_clock_process_ns(pid), UNKNOWN_U64);
}

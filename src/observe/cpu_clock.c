/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/cpu_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "model/tri.h"
#include "observe/proc_parse.h"

enum {
	CPU_CLOCK_CPUS_MAX = 8192, /* NR_CPUS_RANGE_END of x86 and arm64 */
	CPU_CLOCK_STALE_MS = 250, /* then a CPU is asked again: a look at thousands takes seconds */
	CPU_CLOCK_SCHED_MAX = 8192,
	CPU_CLOCK_SET_BYTES = CPU_CLOCK_CPUS_MAX / 8,
};

enum reading_state {
	READING_NONE,
	READING_PINNED,
	READING_REFUSED,
};

struct reading {
	enum reading_state state;
	uint64_t now_us;   /* the CPU's clock when it was read; or the largest exec_start seen */
	uint64_t taken_ms; /* monotonic */
};

struct cpu_clock {
	struct reading *readings; /* owned; by CPU */
	size_t count;
};

int cpu_clock_new(struct cpu_clock **ret_clock)
{
	struct cpu_clock *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	*ret_clock = clock;
	return 0;
}

void cpu_clock_reset(struct cpu_clock *clock)
{
	if (clock->count)
		memset(clock->readings, 0, clock->count * sizeof(*clock->readings));
}

void cpu_clock_free(struct cpu_clock *clock)
{
	if (!clock)
		return;
	free(clock->readings);
	free(clock);
}

/* Not the boot clock: the scheduler's clocks stand still while the machine is suspended. */
static uint64_t cpu_clock_monotonic_ms(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct reading *cpu_clock_at(struct cpu_clock *clock, unsigned cpu)
{
	if (cpu >= CPU_CLOCK_CPUS_MAX)
		return NULL;
	if (cpu >= clock->count) {
		size_t count = cpu + 1;
		struct reading *more = realloc(clock->readings, count * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + clock->count, 0, (count - clock->count) * sizeof(*more));
		clock->readings = more;
		clock->count = count;
	}
	return &clock->readings[cpu];
}

/* Reads the clock of the CPU we are on. */
static int cpu_clock_read_own(unsigned cpu, uint64_t *ret_now_us)
{
	char bytes[CPU_CLOCK_SCHED_MAX];
	uint64_t now_us;
	ssize_t len;
	int r;

	/* Our own exec_start is as old as the last tick; to yield brings it up to now. */
	(void)sched_yield();
	len = fs_read_at(AT_FDCWD, "/proc/thread-self/sched", bytes, sizeof(bytes));
	if (len < 0)
		return (int)len;
	r = proc_parse_sched(bytes, (size_t)len, &now_us);
	if (r < 0)
		return r;
	if (!now_us || sched_getcpu() != (int)cpu)
		return -EAGAIN;
	*ret_now_us = now_us;
	return 0;
}

/* Goes to a CPU for a moment. */
static int cpu_clock_visit(unsigned cpu, uint64_t *ret_now_us)
{
	union {
		cpu_set_t set;
		unsigned char bytes[CPU_CLOCK_SET_BYTES];
	} before = { 0 }, there = { 0 };
	int r;

	if (sched_getaffinity(0, sizeof(before), &before.set) < 0)
		return -errno;
	CPU_SET_S(cpu, sizeof(there), &there.set);
	if (sched_setaffinity(0, sizeof(there), &there.set) < 0)
		return -errno;
	r = cpu_clock_read_own(cpu, ret_now_us);
	if (sched_setaffinity(0, sizeof(before), &before.set) < 0) {
		/* None of the old ones is ours any more: all that the cpuset allows. */
		memset(before.bytes, 0xff, sizeof(before.bytes));
		(void)sched_setaffinity(0, sizeof(before), &before.set);
	}
	return r;
}

static void cpu_clock_refresh(struct reading *reading, unsigned cpu)
{
	uint64_t now_ms = cpu_clock_monotonic_ms();
	uint64_t now_us;

	if (reading->state == READING_REFUSED)
		return;
	if (reading->state == READING_PINNED && now_ms - reading->taken_ms < CPU_CLOCK_STALE_MS)
		return;
	if (cpu_clock_visit(cpu, &now_us) < 0) {
		/* An old reading is a lower bound as well as the largest exec_start is. */
		reading->state = READING_REFUSED;
		return;
	}
	reading->state = READING_PINNED;
	reading->now_us = now_us;
	reading->taken_ms = now_ms;
}

uint64_t cpu_clock_since_ms(struct cpu_clock *clock, unsigned cpu, uint64_t exec_start_us)
{
	struct reading *reading = cpu_clock_at(clock, cpu);

	if (!reading || !exec_start_us)
		return UNKNOWN_U64;
	cpu_clock_refresh(reading, cpu);
	if (reading->now_us >= exec_start_us)
		return (reading->now_us - exec_start_us) / 1000;
	if (reading->state == READING_REFUSED)
		reading->now_us = exec_start_us;
	return 0;
}

uint64_t cpu_clock_process_ns(int pid)
{
	struct timespec used;
	clockid_t which;

	if (clock_getcpuclockid(pid, &which) != 0 || clock_gettime(which, &used) < 0)
		return UNKNOWN_U64;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

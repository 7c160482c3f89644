/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/evidence.h"

TestSuite(evidence_threads, .timeout = 120);

static struct evidence look(pid_t pid)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	struct cpu_clock *clock = NULL;
	struct evidence e;

	cr_assert_geq(dirfd, 0);
	cr_assert_eq(cpu_clock_new(&clock), 0);
	cr_assert_eq(evidence_look(dirfd, pid, EVIDENCE_WAITS, clock, &e), 0);
	cpu_clock_free(clock);
	return e;
}

/* It is asleep as soon as it says so, and off its CPU, which alone has a wchan, a little later. */
static struct evidence look_in_wchan(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct evidence e = look(pid);

	while (!e.main.wchan[0] && live_now_ms() < until) {
		evidence_done(&e);
		live_sleep_ms(5);
		e = look(pid);
	}
	return e;
}

static void *sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void *tick(void *arg)
{
	(void)arg;
	for (;;)
		live_sleep_ms(20);
	return NULL;
}

static void *spin(void *arg)
{
	(void)arg;
	for (;;)
		;
	return NULL;
}

static void start_thread(void *(*body)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	if (pthread_create(&thread, &attr, body, NULL) != 0)
		_exit(1);
}

static void two_sleepers(void *arg)
{
	(void)arg;
	start_thread(sleep_on);
	start_thread(sleep_on);
	live_ready();
	(void)poll(NULL, 0, -1);
}

Test(evidence_threads, all_asleep)
{
	pid_t pid = live_start(two_sleepers, NULL);
	uint64_t stolen;
	struct evidence e;

	live_await_threads(pid, 3);
	stolen = live_stolen_ms();
	live_sleep_ms(500);
	e = look_in_wchan(pid);
	stolen = live_stolen_ms() - stolen; /* the scheduler's clocks stand still meanwhile */
	cr_expect_eq(e.threads, 3);
	cr_expect_eq(e.asleep, TRI_YES);
	cr_expect_str_eq(e.main.wchan, "poll_schedule_timeout", "the main thread's");
	if (e.blocked_ms != UNKNOWN_U64) {
		cr_expect_geq(e.blocked_ms + stolen, 100);
		cr_expect_geq(e.others_blocked_ms + stolen, 100);
		cr_expect_leq(e.others_blocked_ms, 10000);
	}
	evidence_done(&e);
	live_end(pid);
}

static void one_ticks(void *arg)
{
	(void)arg;
	start_thread(sleep_on);
	start_thread(tick);
	live_pause(NULL);
}

Test(evidence_threads, the_others_least_counts)
{
	pid_t pid = live_start(one_ticks, NULL);
	uint64_t stolen, until;
	struct evidence e;

	live_await_state(pid, 'S');
	stolen = live_stolen_ms();
	live_sleep_ms(1000);
	e = look(pid);
	stolen = live_stolen_ms() - stolen;
	if (e.blocked_ms == UNKNOWN_U64)
		cr_skip_test("this kernel has no sched files");
	cr_expect_geq(e.blocked_ms + stolen, 700, "%zu", (size_t)e.blocked_ms);
	/* The one that ticks may have to wait for its CPU; the one that sleeps only gets older. */
	until = live_now_ms() + LIVE_WAIT_MS;
	while (e.others_blocked_ms != UNKNOWN_U64 && e.others_blocked_ms > 500 &&
	       live_now_ms() < until) {
		evidence_done(&e);
		live_sleep_ms(10);
		e = look(pid);
	}
	if (e.others_blocked_ms != UNKNOWN_U64)
		cr_expect_leq(e.others_blocked_ms, 500, "%zu", (size_t)e.others_blocked_ms);
	evidence_done(&e);
	live_end(pid);
}

static void one_runs(void *arg)
{
	(void)arg;
	start_thread(sleep_on);
	start_thread(spin);
	live_pause(NULL);
}

Test(evidence_threads, one_runs_behind_a_sleeping_main)
{
	pid_t pid = live_start(one_runs, NULL);
	struct evidence e;

	live_await_state(pid, 'S');
	live_sleep_ms(50);
	e = look(pid);
	cr_expect_eq(e.state, 'S');
	cr_expect_eq(e.asleep, TRI_NO);
	evidence_done(&e);
	live_end(pid);
}

static void main_left(void *arg)
{
	(void)arg;
	start_thread(sleep_on);
	live_ready();
	syscall(SYS_exit, 0);
}

Test(evidence_threads, a_zombie_leader_with_a_living_thread)
{
	pid_t pid = live_start(main_left, NULL);
	struct evidence e;

	live_await_state(pid, 'Z');
	e = look(pid);
	cr_expect_not(e.vanished);
	cr_expect_eq(e.threads, 2);
	cr_expect_eq(e.asleep, TRI_NO);
	evidence_done(&e);
	live_end(pid);
}

static void many(void *arg)
{
	for (int i = 1; i < *(int *)arg; i++)
		start_thread(sleep_on);
	live_pause(NULL);
}

/* A thread that is there may still be on its way to where it sleeps. */
static struct evidence look_when_asleep(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct evidence e = look(pid);

	while (e.asleep == TRI_NO && live_now_ms() < until) {
		evidence_done(&e);
		live_sleep_ms(10);
		e = look(pid);
	}
	return e;
}

Test(evidence_threads, as_many_as_are_looked_at_and_one_more)
{
	static const struct {
		int threads;
		enum tri asleep;
	} rows[] = {
		{ EVIDENCE_THREADS_MAX, TRI_YES },
		{ EVIDENCE_THREADS_MAX + 1, TRI_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int threads = rows[i].threads;
		pid_t pid = live_start(many, &threads);
		struct evidence e;

		live_await_threads(pid, (unsigned)threads);
		e = look_when_asleep(pid);
		cr_expect_eq(e.threads, (unsigned)threads);
		cr_expect_eq(e.asleep, rows[i].asleep, "%d threads", threads);
		if (rows[i].asleep == TRI_UNKNOWN)
			cr_expect_eq(e.others_blocked_ms, UNKNOWN_U64);
		evidence_done(&e);
		live_end(pid);
	}
}

/* A thread has a /proc/<tid> too, which no listing shows. */
Test(evidence_threads, a_thread_is_no_process)
{
	pid_t pid = live_start(two_sleepers, NULL), tid = 0;
	char path[64];
	struct evidence e;

	for (pid_t at = pid + 1; at < pid + 100 && !tid; at++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, at);
		if (access(path, F_OK) == 0)
			tid = at;
	}
	if (!tid)
		cr_skip_test("its threads have far numbers");
	e = look(tid);
	cr_expect(e.seen && e.vanished);
	evidence_done(&e);
	live_end(pid);
}

/* Writes into a file of a cgroup. @return success. */
static bool put(const char *dir, const char *name, const char *text)
{
	char path[256];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	fs_close(&fd);
	return done;
}

static const char *const roots_v2[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
static const char *const roots_v1[] = { "/sys/fs/cgroup/freezer" };

/* Freezes a child through a cgroup of its own and tells what a look says. */
static void check_frozen(const char *const *roots, size_t count, const char *file, const char *on,
			 const char *off, char state)
{
	pid_t pid = live_start(live_pause, NULL);
	char dir[128] = "", text[32];
	bool frozen = false;
	uint64_t until;
	struct evidence e = { 0 };

	snprintf(text, sizeof(text), "%d", pid);
	live_await_state(pid, 'S');
	for (size_t i = 0; i < count && !frozen; i++) {
		snprintf(dir, sizeof(dir), "%s/reaper-test-%d", roots[i], getpid());
		if (mkdir(dir, 0755) < 0)
			continue;
		frozen = put(dir, "cgroup.procs", text) && put(dir, file, on);
		if (!frozen)
			rmdir(dir);
	}
	until = live_now_ms() + LIVE_WAIT_MS;
	if (frozen) {
		/* It freezes when it runs next, which may take a while. */
		for (e = look(pid); !e.uninterruptible && live_now_ms() < until; e = look(pid)) {
			evidence_done(&e);
			live_sleep_ms(10);
		}
		put(dir, file, off);
	}
	live_end(pid);
	for (int i = 0; i < 100 && frozen && rmdir(dir) < 0; i++)
		live_sleep_ms(20);
	if (!frozen)
		cr_skip_test("no such cgroup can be made here");
	cr_expect_eq(e.state, state);
	cr_expect(e.uninterruptible, "%s", e.main.wchan);
	evidence_done(&e);
}

Test(evidence_threads, frozen_through_cgroup_v2_looks_asleep)
{
	check_frozen(roots_v2, ARRAY_SIZE(roots_v2), "cgroup.freeze", "1", "0", 'S');
}

Test(evidence_threads, frozen_through_cgroup_v1)
{
	check_frozen(roots_v1, ARRAY_SIZE(roots_v1), "freezer.state", "FROZEN", "THAWED", 'D');
}

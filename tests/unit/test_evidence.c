/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "model/proc.h"
#include "observe/evidence.h"

enum {
	ALL = EVIDENCE_IDENTITY | EVIDENCE_SOCKETS | EVIDENCE_WAITS | EVIDENCE_CGROUP |
	      EVIDENCE_PSS,
};

TestSuite(evidence, .timeout = 120);

/* Looks at a process; the caller frees it with evidence_done(). */
static struct evidence look(pid_t pid, unsigned want)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	struct cpu_clock *clock = NULL;
	struct evidence e;

	cr_assert_geq(dirfd, 0);
	cr_assert_eq(cpu_clock_new(&clock), 0);
	memset(&e, 0xa5, sizeof(e));
	cr_assert_eq(evidence_look(dirfd, pid, want, clock, &e), 0);
	cr_assert(e.seen);
	cpu_clock_free(clock);
	return e;
}

/*
 * Waits until its wchan is known: from Linux 6.12 on, a thread that has just fallen asleep on a busy
 * CPU stays in the run queue for a moment, and shows S and no wchan.
 */
static void await_wchan(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	bool known = false;

	live_await_state(pid, 'S');
	while (!known && live_now_ms() < until) {
		struct evidence e = look(pid, EVIDENCE_WAITS);

		known = e.main.wchan[0];
		evidence_done(&e);
		live_sleep_ms(5);
	}
}

static void poll_for_ever(void *arg)
{
	(void)arg;
	live_ready();
	(void)poll(NULL, 0, -1);
}

Test(evidence, a_worker_that_waits)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	pid_t pid = live_start(poll_for_ever, NULL);
	struct evidence e;
	struct stat exe;

	await_wchan(pid);
	e = look(pid, ALL);
	while (e.pss_bytes == UNKNOWN_U64 && live_now_ms() < until) { /* its reader was held up */
		evidence_done(&e);
		live_sleep_ms(5);
		e = look(pid, ALL);
	}
	cr_assert_eq(stat("/proc/self/exe", &exe), 0);
	cr_expect_not(e.vanished);
	cr_expect_eq(e.id.pid, pid);
	cr_expect_gt(e.id.start, 0);
	cr_expect_eq(e.ppid, getpid());
	cr_expect_eq(e.pgrp, getpgrp());
	cr_expect(e.flags & PROC_FORKNOEXEC);
	cr_expect_eq(e.threads, 1);
	cr_expect_eq(e.state, 'S');
	cr_expect(e.ids_known && e.signals_known);
	cr_expect_eq(e.uids[1], geteuid());
	cr_expect_eq(e.tracer, 0);
	cr_expect_eq(e.dumping, TRI_NO);
	cr_expect_gt(e.ns_pid, 0);
	cr_expect_geq(e.ns_depth, 1);
	cr_expect_eq(e.exe.dev, exe.st_dev);
	cr_expect_eq(e.exe.ino, exe.st_ino);
	cr_assert_eq(stat("/proc/self/ns/pid", &exe), 0);
	cr_expect_eq(e.pid_ns, exe.st_ino);
	cr_assert_eq(stat("/proc/self/ns/net", &exe), 0);
	cr_expect_eq(e.net_ns, exe.st_ino);
	cr_expect_lt(e.age_ms, 60000);
	cr_expect_eq(e.asleep, TRI_YES);
	cr_expect_not(e.stopped);
	cr_expect_not(e.uninterruptible);
	cr_expect_not_null(e.cgroup);
	cr_expect_neq(e.rss_bytes, UNKNOWN_U64);
	cr_expect_leq(e.anon_bytes, e.rss_bytes);
	cr_expect_neq(e.vm_bytes, UNKNOWN_U64);
	cr_expect_leq(e.rss_bytes, e.vm_bytes);
	cr_expect_neq(e.pss_bytes, UNKNOWN_U64);
	cr_expect_lt(e.pss_bytes, e.rss_bytes, "it shares pages with us");
	cr_expect_neq(e.main_cpu_ns, UNKNOWN_U64);
	cr_expect_neq(e.main_switches, UNKNOWN_U64);
	cr_expect_neq(e.cpu_ns, UNKNOWN_U64);
	cr_expect_str_eq(e.main.wchan, "poll_schedule_timeout", "no suffix");
	evidence_done(&e);
	live_end(pid);
}

Test(evidence, the_call_and_its_arguments)
{
	pid_t pid = live_start(poll_for_ever, NULL);
	struct evidence e, again;

	live_await_state(pid, 'S');
	e = look(pid, EVIDENCE_WAITS);
	if (!e.main.known)
		cr_skip_test("/proc/<pid>/syscall may not be read here");
#ifdef SYS_poll
	cr_expect_eq(e.main.nr, SYS_poll);
	cr_expect_eq((int)e.main.args[2], -1, "for ever");
#else
	cr_expect_eq(e.main.nr, SYS_ppoll);
#endif
	cr_expect_gt(e.main.sp, UINT32_MAX);
	again = look(pid, EVIDENCE_WAITS);
	cr_expect_eq(again.main.nr, e.main.nr);
	cr_expect_eq(again.main.sp, e.main.sp, "the same wait at every look");
	cr_expect_eq(again.main.pc, e.main.pc);
	cr_expect_eq(again.main_switches, e.main_switches);
	cr_expect_eq(again.main_cpu_ns, e.main_cpu_ns);
	evidence_done(&e);
	evidence_done(&again);
	live_end(pid);
}

Test(evidence, how_long_it_has_been_blocked)
{
	uint64_t shortfall = UINT64_MAX;

	for (int i = 0; i < 3 && shortfall > 50; i++) {
		uint64_t since, asked, before = live_now_ms(), stolen = live_stolen_ms();
		pid_t pid = live_start(poll_for_ever, NULL);
		struct evidence e;

		live_await_state(pid, 'S');
		since = live_now_ms();
		live_sleep_ms(1200);
		asked = live_now_ms();
		e = look(pid, EVIDENCE_WAITS);
		if (e.blocked_ms == UNKNOWN_U64)
			cr_skip_test("this kernel has no sched files");
		cr_expect_leq(e.blocked_ms, live_now_ms() - before + 50, "never too long");
		cr_expect_eq(e.others_blocked_ms, e.blocked_ms, "there are no others");
		stolen = live_stolen_ms() - stolen;
		shortfall = e.blocked_ms + stolen < asked - since
				    ? asked - since - e.blocked_ms - stolen
				    : 0;
		evidence_done(&e);
		live_end(pid);
	}
	cr_expect_leq(shortfall, 50, "%zu ms too short", (size_t)shortfall);
}

Test(evidence, only_what_is_asked_for)
{
	pid_t pid = live_start(live_pause, NULL);
	struct evidence e;

	live_await_state(pid, 'S');
	e = look(pid, EVIDENCE_IDENTITY);
	cr_expect_eq(e.asleep, TRI_UNKNOWN);
	cr_expect_eq(e.blocked_ms, UNKNOWN_U64);
	cr_expect_eq(e.fds_known, TRI_UNKNOWN);
	cr_expect_null(e.sockets);
	cr_expect_null(e.cgroup);
	cr_expect_eq(e.pss_bytes, UNKNOWN_U64);
	cr_expect_not(e.main.known);
	cr_expect_eq(e.state, 'S');
	evidence_done(&e);
	live_end(pid);
}

Test(evidence, without_a_clock_nothing_is_dated)
{
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	struct evidence e;

	live_await_state(pid, 'S');
	cr_assert_eq(evidence_look(dirfd, pid, EVIDENCE_WAITS, NULL, &e), 0);
	cr_expect_eq(e.asleep, TRI_YES);
	cr_expect_eq(e.blocked_ms, UNKNOWN_U64);
	cr_expect_eq(e.others_blocked_ms, UNKNOWN_U64);
	evidence_done(&e);
	live_end(pid);
}

static void spin(void *arg)
{
	(void)arg;
	live_ready();
	for (;;)
		;
}

Test(evidence, one_that_runs)
{
	pid_t pid = live_start(spin, NULL);
	struct evidence e = look(pid, ALL);

	cr_expect_eq(e.state, 'R');
	cr_expect_eq(e.asleep, TRI_NO);
	cr_expect_not(e.main.known);
	cr_expect_str_eq(e.main.wchan, "", "0 is no name");
	evidence_done(&e);
	live_end(pid);
}

Test(evidence, one_that_is_stopped)
{
	pid_t pid = live_start(live_pause, NULL);
	struct evidence e;

	kill(pid, SIGSTOP);
	live_await_state(pid, 'T');
	e = look(pid, ALL);
	cr_expect(e.stopped);
	cr_expect_eq(e.asleep, TRI_NO);
	evidence_done(&e);
	e = look(pid, EVIDENCE_IDENTITY);
	cr_expect(e.stopped, "the first line of its stat says so");
	evidence_done(&e);
	live_end(pid);
}

Test(evidence, one_that_is_traced)
{
	pid_t pid = live_start(live_pause, NULL);
	struct evidence e;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		cr_skip_test("ptrace is not allowed here");
	live_await_state(pid, 'S');
	e = look(pid, EVIDENCE_IDENTITY);
	cr_expect_eq(e.tracer, getpid());
	evidence_done(&e);
	cr_assert_eq(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	live_await_state(pid, 't');
	e = look(pid, EVIDENCE_WAITS);
	cr_expect(e.stopped);
	cr_expect_eq(e.asleep, TRI_NO);
	evidence_done(&e);
	live_end(pid);
}

/* vfork(2) keeps a parent in D until its child has exec'ed or gone. */
static void wait_in_vfork(void *arg)
{
	pid_t parent = getpid();

	(void)arg;
	live_ready();
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* ended before that */
			_exit(0);
		live_sleep_ms(LIVE_WAIT_MS);
		_exit(0);
	}
}

Test(evidence, one_in_uninterruptible_sleep)
{
	pid_t pid = live_start(wait_in_vfork, NULL);
	struct evidence e;

	live_await_state(pid, 'D');
	e = look(pid, EVIDENCE_WAITS);
	cr_expect(e.uninterruptible);
	cr_expect_eq(e.asleep, TRI_NO);
	evidence_done(&e);
	live_end(pid);
}

static void die(void *arg)
{
	(void)arg;
	live_ready();
	_exit(0);
}

Test(evidence, a_zombie)
{
	pid_t pid = live_start(die, NULL);
	struct evidence e;

	live_await_state(pid, 'Z');
	e = look(pid, ALL);
	cr_expect_not(e.vanished, "it is there until its parent reaps it");
	cr_expect_eq(e.state, 'Z');
	cr_expect_eq(e.asleep, TRI_NO);
	cr_expect_eq(e.dumping, TRI_UNKNOWN);
	cr_expect_eq(e.vm_bytes, UNKNOWN_U64);
	cr_expect_eq(e.rss_bytes, UNKNOWN_U64);
	cr_expect_eq(e.pss_bytes, UNKNOWN_U64);
	cr_expect_eq(e.exe.ino, 0);
	evidence_done(&e);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static void ignore_and_block(void *arg)
{
	sigset_t mask;

	(void)arg;
	signal(SIGTERM, SIG_IGN);
	signal(SIGUSR1, _exit);
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	live_pause(NULL);
}

Test(evidence, its_signals)
{
	pid_t pid = live_start(ignore_and_block, NULL);
	struct evidence e = look(pid, EVIDENCE_IDENTITY);

	cr_expect(e.signals_known);
	cr_expect(e.sig_ignored & UINT64_C(1) << (SIGTERM - 1));
	cr_expect(e.sig_caught & UINT64_C(1) << (SIGUSR1 - 1));
	cr_expect_eq(e.sig_blocked, UINT64_C(1) << (SIGHUP - 1));
	evidence_done(&e);
	live_end(pid);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sandbox.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tmpdir.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

enum {
	OTHER_SIGNALS = 64,
	DEADLINE_S = 20, /* of a child */
};

/* Runs a function in a child of its own, because a filter is for good. Returns wait status. */
static int in_child(int (*run)(void *), void *arg)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(DEADLINE_S);
		_exit(run(arg));
	}
	cr_assert_gt(pid, 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A child that waits to be ended, and ends with its parent. */
static pid_t victim(void)
{
	pid_t pid = fork();

	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(DEADLINE_S);
		for (;;)
			(void)pause();
	}
	return pid;
}

/* ---- calls that are refused, whatever their arguments ---- */

struct refused {
	const char *name;
	long number;
};

static const struct refused refused[] = {
	{ "kill", SYS_kill },
	{ "tkill", SYS_tkill },
	{ "tgkill", SYS_tgkill },
	{ "rt_sigqueueinfo", SYS_rt_sigqueueinfo },
	{ "rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "process_madvise", SYS_process_madvise },
	{ "pidfd_getfd", SYS_pidfd_getfd },
	{ "kcmp", SYS_kcmp },
	{ "bpf", SYS_bpf },
	{ "perf_event_open", SYS_perf_event_open },
	{ "open_by_handle_at", SYS_open_by_handle_at },
	{ "execve", SYS_execve },
	{ "execveat", SYS_execveat },
#ifndef WITH_ASAN
	{ "ptrace", SYS_ptrace },
#endif
};

struct
try {
	bool may_signal;
	bool enter; /* false: without the filter, as a proof of the test */
	long number;
	long args[4];
};

/* Leaves with the call's errno, 0 if it had none; 255: no filter. All-ones arguments do no harm. */
static int try_call(void *arg)
{
	const struct try *t = arg;

	if (t->enter && sandbox_enter(t->may_signal))
		return 255;
	return syscall(t->number, t->args[0], t->args[1], t->args[2], t->args[3], -1L, -1L) < 0
		       ? errno
		       : 0;
}

Test(sandbox, calls_that_are_refused_in_both_modes)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		for (int may_signal = 0; may_signal < 2; may_signal++) {
			struct try t = { may_signal, true, refused[i].number, { -1, -1, -1, -1 } };

			/* kill(-1) would be everybody: a number that nobody has instead */
			if (refused[i].number == SYS_kill ||
			    refused[i].number == SYS_rt_sigqueueinfo)
				t.args[0] = INT32_MAX;
			cr_expect_eq(exit_status(in_child(try_call, &t)), EPERM, "%s, mode %d",
				     refused[i].name, may_signal);
			t.enter = false;
			cr_expect_neq(exit_status(in_child(try_call, &t)), EPERM,
				      "%s is refused by the filter and by nothing else",
				      refused[i].name);
		}
}

struct by_argument {
	const char *why;
	long number;
	long args[4];
	bool refused;
};

static const struct by_argument by_argument[] = {
	{ "a signal's receiver", SYS_fcntl, { 0, F_SETOWN, 1 }, true },
	{ "a signal's receiver, by thread", SYS_fcntl, { 0, F_SETOWN_EX, 0 }, true },
	{ "which signal", SYS_fcntl, { 0, F_SETSIG, SIGKILL }, true },
	{ "the kernel reads the lower half alone", SYS_fcntl, { 0, F_SETOWN | 1L << 32, 1 }, true },
	{ "flags are harmless", SYS_fcntl, { 0, F_GETFD }, false },
	{ "locks are harmless", SYS_fcntl, { 0, F_GETFL }, false },
	{ "a receiver by ioctl", SYS_ioctl, { 0, FIOSETOWN, 0 }, true },
	{ "a receiver by its other name", SYS_ioctl, { 0, SIOCSPGRP, 0 }, true },
	{ "bytes into a terminal", SYS_ioctl, { 0, TIOCSTI, 0 }, true },
	{ "another's limits (RLIMIT_CPU ends it)", SYS_prlimit64, { 1, RLIMIT_CPU, 0, 0 }, true },
	{ "our own limits", SYS_prlimit64, { 0, RLIMIT_CPU, 0, 0 }, false },
};

Test(sandbox, calls_that_are_refused_by_argument)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_argument); i++)
		for (int may_signal = 0; may_signal < 2; may_signal++) {
			const struct by_argument *row = &by_argument[i];
			struct try t = { may_signal, true, row->number, { 0 } };
			int r;

			memcpy(t.args, row->args, sizeof(t.args));
			r = exit_status(in_child(try_call, &t));
			cr_expect_eq(r == EPERM, row->refused, "%s: errno %d", row->why, r);
		}
}

/* ---- pidfd_send_signal ---- */

struct send {
	bool may_signal;
	long signal;
	long flags;
	bool info;
	int pidfd;
};

static int try_send(void *arg)
{
	const struct send *s = arg;
	siginfo_t info = { .si_signo = (int)s->signal, .si_code = SI_QUEUE };

	if (sandbox_enter(s->may_signal))
		return 255;
	return syscall(SYS_pidfd_send_signal, (long)s->pidfd, s->signal, s->info ? &info : NULL,
		       s->flags) < 0
		       ? errno
		       : 0;
}

Test(sandbox, only_kill_and_term_to_a_process)
{
	struct send s = { .pidfd = -1 };

	for (int may_signal = 0; may_signal < 2; may_signal++)
		for (long signal = 0; signal <= OTHER_SIGNALS; signal++) {
			bool right = may_signal && (signal == SIGKILL || signal == SIGTERM);

			s = (struct send){ .may_signal = may_signal,
					   .signal = signal,
					   .pidfd = -1 };
			/* What passes the filter fails at the descriptor that is none. */
			cr_expect_eq(exit_status(in_child(try_send, &s)), right ? EBADF : EPERM,
				     "signal %ld, mode %d", signal, may_signal);
		}
}

static const struct {
	const char *why;
	struct send send;
} forms[] = {
	{ "to a thread", { true, SIGKILL, 1, false, -1 } },
	{ "to a thread group by its flag", { true, SIGKILL, 2, false, -1 } },
	{ "to a process group", { true, SIGTERM, 4, false, -1 } },
	{ "flags in the upper half", { true, SIGKILL, 1L << 32, false, -1 } },
	{ "a signal in the upper half", { true, SIGKILL | 1L << 32, 0, false, -1 } },
	{ "a negative signal", { true, -1, 0, false, -1 } },
	{ "a forged sender", { true, SIGTERM, 0, true, -1 } },
	{ "a group, where nothing is allowed", { false, SIGTERM, 4, false, -1 } },
};

Test(sandbox, no_other_form_of_them)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct send s = forms[i].send;

		cr_expect_eq(exit_status(in_child(try_send, &s)), EPERM, "%s", forms[i].why);
	}
}

Test(sandbox, the_allowed_ones_arrive)
{
	static const int signals[] = { SIGKILL, SIGTERM };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		pid_t pid = victim();
		struct send s = { .may_signal = true, .signal = signals[i] };
		int status = 0;

		cr_assert_gt(pid, 0);
		s.pidfd = pidfd_open(pid, 0);
		cr_assert_geq(s.pidfd, 0);
		cr_expect_eq(exit_status(in_child(try_send, &s)), 0);
		cr_expect_eq(waitpid(pid, &status, 0), pid);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == signals[i], "status %x",
			  status);
		(void)close(s.pidfd);
	}
}

/* ---- what must go on working ---- */

/* Says where it stopped, as its exit status. */
#define NEED(n, condition)          \
	do {                        \
		if (!(condition))   \
			return (n); \
	} while (0)

static int use_files(void)
{
	char path[] = "/tmp/reaper-test.XXXXXX", other[sizeof(path) + 2];
	int fd = mkstemp(path);

	NEED(10, fd >= 0 && write(fd, "x", 1) == 1);
	NEED(11, !fdatasync(fd) && !flock(fd, LOCK_EX | LOCK_NB) && !fchmod(fd, 0640));
	(void)snprintf(other, sizeof(other), "%s.o", path);
	NEED(12, !rename(path, other) && !ftruncate(fd, 0) && !unlink(other) && !close(fd));
	fd = open("/proc/1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	NEED(13, fd >= 0 && !faccessat(fd, "stat", R_OK, AT_EACCESS) && !close(fd));
	return 0;
}

static int use_descriptors(void)
{
	struct itimerspec soon = { .it_value = { .tv_nsec = 1000000 } };
	struct pollfd wait = { .events = POLLIN };
	sigset_t set;
	int fd;

	wait.fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	NEED(20, wait.fd >= 0 && !timerfd_settime(wait.fd, 0, &soon, NULL) &&
			 poll(&wait, 1, 5000) == 1);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	NEED(21, fd >= 0 && !sigprocmask(SIG_BLOCK, &set, NULL) && !close(fd));
	fd = pidfd_open(getpid(), 0);
	NEED(22, fd >= 0 && !close(fd));
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	NEED(23, fd >= 0 && !close(fd));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	NEED(24, fd >= 0 && !close(fd) && !close(wait.fd));
	return 0;
}

static int use_rest(void)
{
	struct rlimit limit;
	cpu_set_t cpus;
	char *big = malloc(1 << 20);

	NEED(30, big && memset(big, 1, 1 << 20));
	free(big);
	NEED(31, getpwuid(0));
	NEED(32, !sched_getaffinity(0, sizeof(cpus), &cpus) &&
			 !sched_setaffinity(0, sizeof(cpus), &cpus));
	NEED(33, getpriority(PRIO_PROCESS, 0) > -21 && !getrlimit(RLIMIT_NOFILE, &limit));
	NEED(34, !setrlimit(RLIMIT_NOFILE, &limit));
	return 0;
}

static int use_everything(void *arg)
{
	int r;

	NEED(1, !sandbox_enter(*(const bool *)arg));
	r = use_files();
	if (!r)
		r = use_descriptors();
	if (!r)
		r = use_rest();
	return r;
}

Test(sandbox, everything_else_works)
{
	for (int i = 0; i < 2; i++) {
		bool may_signal = i;
		int status = in_child(use_everything, &may_signal);

		cr_expect_eq(exit_status(status), 0, "mode %d: status %x", i, status);
	}
}

/*
 * In the test's own process, which ends by exit(): what a sanitizer does there must work. (In a
 * child LeakSanitizer takes its parent for a thread of its own.)
 */
Test(sandbox, the_end_of_the_program_works)
{
	cr_expect_eq(sandbox_enter(true), 0);
}

#ifndef WITH_ASAN /* which reports the fault by which abort() ends the program */
static int enter_and_abort(void *arg)
{
	struct rlimit none = { 0 };

	(void)arg;
	(void)setrlimit(RLIMIT_CORE, &none);
	NEED(1, !sandbox_enter(false));
	abort();
}

/* abort() cannot signal any more; it must end the program all the same. */
Test(sandbox, abort_still_ends_the_program)
{
	int status = in_child(enter_and_abort, NULL);

	cr_expect(WIFSIGNALED(status), "status %x", status);
}
#endif

static int enter_twice(void *arg)
{
	(void)arg;
	NEED(1, !sandbox_enter(true));
	NEED(2, !sandbox_enter(false));
	return syscall(SYS_pidfd_send_signal, -1L, (long)SIGKILL, NULL, 0L) < 0 ? errno : 0;
}

Test(sandbox, of_two_filters_the_stricter_holds)
{
	cr_expect_eq(exit_status(in_child(enter_twice, NULL)), EPERM);
}

static int status_of_no_new_privs(void *arg)
{
	(void)arg;
	NEED(2, !sandbox_enter(true));
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
}

Test(sandbox, no_new_privileges)
{
	cr_expect_eq(exit_status(in_child(status_of_no_new_privs, NULL)), 0);
}

#ifdef __x86_64__
static int call_as_x32(void *arg)
{
	struct rlimit none = { 0 };

	(void)arg;
	(void)setrlimit(RLIMIT_CORE, &none);
	NEED(1, !sandbox_enter(true));
	(void)syscall(0x40000000L | SYS_getpid);
	return 0;
}

/* The same numbers mean other calls there. */
Test(sandbox, calls_of_another_architecture_end_the_program)
{
	int status = in_child(call_as_x32, NULL);

	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %x", status);
}
#endif

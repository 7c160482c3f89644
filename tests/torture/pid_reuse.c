/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the number of a victim to a stranger in the middle of its end: `pid_reuse [--control] NUMBERS`.
 *
 * In a pid namespace of its own, where clone3(2) can be told which number to give. Each trial pins a
 * process, looks at it and ends it with reaper's own objects (act.c, pin.c, reap.c, reap_check.c,
 * evidence.c); before one of the system calls of that path, another one in each trial, the process is
 * killed and its number is given away. The stranger must get no signal and keep its priority. With --control the signals go
 * by number, as kill(2) sends them: then strangers must be seen to be hit, or this test sees nothing.
 *
 * Exit status: 0; 1: a stranger was hit (--control: none was), or too few numbers were given away; 77: not allowed to do this here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/reap.h"
#include "app/reap_check.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/pin.h"
#include "observe/evidence.h"

enum {
	NUMBER = 4000,       /* that is given away */
	UNDISTURBED = 8,     /* ends of each kind, to count their calls */
	TRIALS_EACH_MAX = 4, /* for each number that is given away */
	NUMBERS_MAX = 100000000,
	KILL_GRACE_MS = 10000,
	SKIPPED = 77, /* of automake */
	NEVER = -1,
};

static int calls_left = NEVER; /* until the number is given away */
static bool armed;             /* we are in reaper's code */
static bool control;
static unsigned calls;  /* in this trial */
static int our_nice;    /* ours, and so that of whom we start */
static int victim = -1; /* pidfds of ours, beside those that reaper opens */
static int stranger = -1;

static __attribute__((noreturn)) void give_up(const char *what)
{
	(void)fprintf(stderr, "pid_reuse: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A process with that number, which waits for ever; -1: errno. */
static int born(pid_t number, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&number,
		.set_tid_size = 1,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		for (;;)
			(void)pause();
	return pid < 0 ? -1 : 0;
}

/* Ends a child by a signal, if nobody else did, and waits for it; the signal that did end it. */
static int ended_by(int *pidfd, int sig)
{
	siginfo_t how = { 0 };

	(void)pidfd_send_signal(*pidfd, sig, NULL, 0);
	if (waitid(P_PIDFD, (id_t)*pidfd, &how, WEXITED) < 0)
		give_up("waitid");
	(void)close(*pidfd);
	*pidfd = -1;
	return how.si_status;
}

static void give_number_away(void)
{
	(void)ended_by(&victim, SIGKILL);
	if (born(NUMBER, &stranger) < 0)
		give_up("clone3 with the number of a process that has ended");
}

/* Before every system call of the path. */
static void before_call(void)
{
	if (!armed)
		return;
	calls++;
	if (calls_left == NEVER || calls_left-- > 0)
		return;
	armed = false;
	give_number_away();
	calls_left = NEVER;
	armed = true;
}

int __real___openat_2(int dirfd, const char *path, int flags);
int __wrap___openat_2(int dirfd, const char *path, int flags);
int __wrap___openat_2(int dirfd, const char *path, int flags)
{
	before_call();
	return __real___openat_2(dirfd, path, flags);
}

int __real_openat(int dirfd, const char *path, int flags, ...);
int __wrap_openat(int dirfd, const char *path, int flags, ...);
int __wrap_openat(int dirfd, const char *path, int flags, ...)
{
	before_call();
	return __real_openat(dirfd, path, flags, 0);
}

ssize_t __real_read(int fd, void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len)
{
	before_call();
	return __real_read(fd, bytes, len);
}

int __real_fstatat(int dirfd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int dirfd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int dirfd, const char *path, struct stat *ret, int flags)
{
	before_call();
	return __real_fstatat(dirfd, path, ret, flags);
}

int __real_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret)
{
	before_call();
	return __real_statx(dirfd, path, flags, mask, ret);
}

ssize_t __real_readlinkat(int dirfd, const char *path, char *bytes, size_t len);
ssize_t __wrap_readlinkat(int dirfd, const char *path, char *bytes, size_t len);
ssize_t __wrap_readlinkat(int dirfd, const char *path, char *bytes, size_t len)
{
	before_call();
	return __real_readlinkat(dirfd, path, bytes, len);
}

int __real_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags)
{
	before_call();
	return __real_pidfd_open(pid, flags);
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	before_call();
	return __real_poll(fds, count, timeout);
}

int __real_getpriority(enum __priority_which which, id_t who);
int __wrap_getpriority(enum __priority_which which, id_t who);
int __wrap_getpriority(enum __priority_which which, id_t who)
{
	before_call();
	return __real_getpriority(which, who);
}

int __real_setpriority(enum __priority_which which, id_t who, int priority);
int __wrap_setpriority(enum __priority_which which, id_t who, int priority);
int __wrap_setpriority(enum __priority_which which, id_t who, int priority)
{
	before_call();
	return __real_setpriority(which, who, priority);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long arg[4];
	va_list more;

	va_start(more, number);
	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = va_arg(more, long);
	va_end(more);
	before_call();
	if (control && armed && number == SYS_pidfd_send_signal)
		return kill(NUMBER, (int)arg[1]);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3]);
}

static void ignore_record(void *arg, const struct action_record *record)
{
	(void)arg;
	(void)record;
}

/* From the pin to the end, as a sweep does it. @return how it went. */
static enum outcome end_by_reaper(const struct config *config, struct look *look)
{
	struct victim v = { 0 };
	struct subject then = { .role = ROLE_WORKER, .worker = -1 };
	struct reap r = {
		.look = look,
		.config = config,
		.sink = ignore_record,
		.victims = &v,
		.count = 1,
		.second = { .subjects = &then, .subject_count = 1 },
		.settled = true,
	};
	enum outcome outcome = OUTCOME_VANISHED;

	then.id.pid = NUMBER;
	if (act_pin(then.id, ROLE_WORKER, &v) < 0)
		return outcome;
	if (evidence_look(v.dirfd, NUMBER, EVIDENCE_IDENTITY, NULL, &then.ev) < 0)
		give_up("no memory");
	if (!then.ev.vanished) {
		v.id = then.id = then.ev.id;
		while (reap_step(&r, clock_boot_ms())) {
			struct pollfd wait = { .fd = v.pidfd, .events = POLLIN };

			(void)__real_poll(&wait, 1, 1);
		}
		outcome = v.record.outcome;
	}
	evidence_done(&then.ev);
	act_release(&v);
	return outcome;
}

struct sum {
	unsigned long given, ended, wrong, hurried;
};

/* One victim, which ignores SIGTERM or does not; its number is given away before that call. */
static unsigned trial(int before, bool stubborn, struct sum *sum)
{
	static struct config config;
	static struct look look;
	enum outcome outcome;

	config.term_grace_ms = stubborn ? 0 : KILL_GRACE_MS;
	config.kill_grace_ms = KILL_GRACE_MS;
	(void)signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
	if (born(NUMBER, &victim) < 0)
		give_up("clone3 with a number");
	(void)signal(SIGTERM, SIG_DFL);
	calls = 0;
	calls_left = before;
	armed = true;
	outcome = end_by_reaper(&config, &look);
	armed = false;
	if (victim >= 0) {
		int sig = ended_by(&victim, SIGUSR2);

		sum->ended += sig == SIGTERM || sig == SIGKILL;
		sum->wrong +=
			sig == SIGUSR2 || (outcome != OUTCOME_EXITED && outcome != OUTCOME_KILLED);
	}
	if (stranger >= 0) {
		sum->given++;
		sum->hurried += getpriority(PRIO_PROCESS, NUMBER) != our_nice;
		sum->wrong += ended_by(&stranger, SIGUSR2) != SIGUSR2;
	}
	return calls;
}

/* One end takes more calls than another: a wait that is looked at twice. */
static void count_calls(unsigned most[2], struct sum *sum)
{
	for (int i = 0; i < 2 * UNDISTURBED; i++) {
		unsigned took = trial(NEVER, i % 2, sum);

		most[i % 2] = MAX(most[i % 2], took);
	}
}

static int torture(unsigned long numbers)
{
	struct sum sum = { 0 };
	unsigned most[2] = { 0 };
	unsigned long trials = 0;

	our_nice = getpriority(PRIO_PROCESS, 0);
	count_calls(most, &sum);
	if (sum.ended != 2 * UNDISTURBED || sum.wrong) {
		(void)fprintf(stderr, "pid_reuse: a victim does not end\n");
		return 1;
	}
	/* An end that takes fewer calls is over before its number is given away: it counts for nothing. */
	for (; sum.given < numbers && trials < TRIALS_EACH_MAX * (numbers + 100); trials++)
		(void)trial((int)((trials / 2) % most[trials % 2]), trials % 2, &sum);
	(void)printf(
		"pid reuse%s: %lu trials, %lu numbers given away before one of %u or %u calls, "
		"%lu signalled, %lu with another priority\n",
		control ? ", signals by number" : "", trials, sum.given, most[0], most[1],
		sum.wrong, sum.hurried);
	if (!control)
		(void)printf("figure numbers given away in the middle of an end: %lu numbers, "
			     "%lu wrong\n",
			     sum.given, sum.wrong + sum.hurried);
	if (sum.given < numbers)
		return 1;
	return control ? !sum.wrong : sum.wrong || sum.hurried;
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		(void)printf("skipped: %s cannot be written: %s\n", path, strerror(errno));
		exit(SKIPPED);
	}
	(void)close(fd);
}

/* A user who may have a user namespace may do this too. */
static void enter_namespaces(void)
{
	char map[64];
	uid_t uid = geteuid();

	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0) {
		(void)printf("skipped: no pid namespace of its own: %s\n", strerror(errno));
		exit(SKIPPED);
	}
	if (uid)
		write_map("/proc/self/uid_map", map);
}

/* The first process of the namespace. */
static int inside(unsigned long numbers)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
		(void)printf("skipped: no /proc of its own: %s\n", strerror(errno));
		return SKIPPED;
	}
	if (born(NUMBER, &victim) < 0) {
		(void)printf("skipped: clone3 does not take a number: %s\n", strerror(errno));
		return SKIPPED;
	}
	(void)ended_by(&victim, SIGKILL);
	return torture(numbers);
}

int main(int argc, char **argv)
{
	uint64_t numbers;
	int status;
	pid_t child;

	control = argc > 1 && strcmp(argv[1], "--control") == 0;
	if (argc != 2 + control || parse_u64(argv[1 + control], NUMBERS_MAX, &numbers) < 0) {
		(void)fprintf(stderr, "usage: pid_reuse [--control] NUMBERS\n");
		return 2;
	}
	enter_namespaces();
	child = fork();
	if (child < 0)
		give_up("fork");
	if (child == 0)
		exit(inside((unsigned long)numbers));
	if (waitpid(child, &status, 0) < 0)
		give_up("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

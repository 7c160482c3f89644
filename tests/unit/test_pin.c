/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"

TestSuite(pin, .timeout = 60);

/* What the kernel is made to say. */
static int pidfd_error, set_limit_error, stat_error;
static unsigned get_limit_fails; /* the call of that number, from now on */

int __real_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags)
{
	errno = pidfd_error ? pidfd_error : errno;
	return pidfd_error ? -1 : __real_pidfd_open(pid, flags);
}

int __real_setrlimit(int what, const struct rlimit *limit);
int __wrap_setrlimit(int what, const struct rlimit *limit);
int __wrap_setrlimit(int what, const struct rlimit *limit)
{
	errno = set_limit_error ? set_limit_error : errno;
	return set_limit_error ? -1 : __real_setrlimit(what, limit);
}

int __real_getrlimit(int what, struct rlimit *limit);
int __wrap_getrlimit(int what, struct rlimit *limit);
int __wrap_getrlimit(int what, struct rlimit *limit)
{
	if (!get_limit_fails || --get_limit_fails)
		return __real_getrlimit(what, limit);
	errno = EPERM;
	return -1;
}

int __real_fstatat(int fd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *ret, int flags)
{
	errno = stat_error ? stat_error : errno;
	return stat_error ? -1 : __real_fstatat(fd, path, ret, flags);
}

Test(pin, opens_a_living_process)
{
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	_cleanup_close_ int pidfd = -1;

	cr_assert_geq(dirfd, 0);
	cr_assert(fcntl(dirfd, F_GETFD) & FD_CLOEXEC);
	cr_assert_neq(fcntl(dirfd, F_GETFL) & O_PATH, O_PATH, "it must be readable");
	cr_assert(pin_alive(dirfd));
	pidfd = pin_pidfd(dirfd, pid);
	cr_assert_geq(pidfd, 0);
	cr_assert(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
	errno = EXDEV; /* it is not what is said of one that lives */
	cr_assert_eq(pin_wait(pidfd, 0), 0);
	live_end(pid);
}

Test(pin, nobody)
{
	cr_assert_eq(pin_open(0), -ESRCH);
	cr_assert_eq(pin_open(-1), -ESRCH, "never everybody");
	cr_assert_eq(pin_open(4194304), -ENOENT, "above every pid");
	cr_assert_eq(pin_pidfd(-1, 0), -ESRCH);
	cr_assert_eq(pin_pidfd(-1, -1), -ESRCH);
	cr_assert_eq(pin_pidfd(-1, 4194304), -ESRCH);
}

Test(pin, the_first_process_is_one_like_all)
{
	_cleanup_close_ int dirfd = pin_open(1);
	_cleanup_close_ int pidfd = -1;

	cr_assert_neq(dirfd, -ESRCH);
	if (dirfd < 0)
		cr_skip_test("/proc/1 is not to be seen here");
	pidfd = pin_pidfd(dirfd, 1);
	cr_assert_geq(pidfd, 0);
}

/* Where the standard input is closed, the lowest free descriptor is 0. */
Test(pin, descriptor_0_is_one_like_all)
{
	int input = dup(STDIN_FILENO), own = pin_open(getpid());
	int dirfd, pidfd, none = STDIN_FILENO;

	cr_assert_geq(own, 0);
	fs_close(&none);
	errno = EXDEV;
	dirfd = pin_open(getpid());
	none = STDIN_FILENO;
	fs_close(&none);
	errno = EXDEV;
	pidfd = pin_pidfd(own, getpid());
	dup2(input, STDIN_FILENO);
	cr_assert_eq(dirfd, 0);
	cr_assert_eq(pidfd, 0);
	fs_close(&own);
	fs_close(&input);
}

Test(pin, what_the_kernel_says_of_a_number)
{
	static const struct {
		int error;
		int r;
		const char *why;
	} rows[] = {
		{ ESRCH, -ESRCH, "nobody has it" },
		{ EINVAL, -ESRCH, "a thread has it" },
		{ ENOENT, -ESRCH, "the same, on later kernels" },
		{ EMFILE, -EMFILE, "there is no descriptor: it may well be there" },
		{ ENOSYS, -ENOSYS, "there are no pidfds: nothing can be ended" },
	};
	_cleanup_close_ int dirfd = pin_open(getpid());

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pidfd_error = rows[i].error;
		cr_expect_eq(pin_pidfd(dirfd, getpid()), rows[i].r, "%s", rows[i].why);
	}
	pidfd_error = 0;
}

/* A worker that is told as gone while it is there is a leak that nobody looks for any more. */
Test(pin, what_cannot_be_asked_has_not_ended)
{
	cr_assert_eq(pin_pidfd(-1, getpid()), -EBADF);
}

Test(pin, a_zombie_is_there_but_has_ended)
{
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	_cleanup_close_ int pidfd = pin_pidfd(dirfd, pid);

	kill(pid, SIGKILL);
	cr_assert_eq(pin_wait(pidfd, LIVE_WAIT_MS), 1);
	live_await_state(pid, 'Z');
	cr_assert(pin_alive(dirfd));
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	cr_assert_not(pin_alive(dirfd));
	cr_assert_eq(pin_wait(pidfd, 0), 1, "it stays ended");
}

Test(pin, a_pin_outlives_its_process_and_names_no_other)
{
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);

	live_end(pid);
	cr_assert_not(pin_alive(dirfd));
	cr_assert_eq(pin_pidfd(dirfd, pid), -ESRCH);
	/* The number in another's hands: what is pinned is still nobody. */
	cr_assert_eq(pin_pidfd(dirfd, getpid()), -ESRCH);
}

/* Kernels differ in how they say that a pinned process is gone. */
Test(pin, what_the_kernel_says_of_a_pin)
{
	static const struct {
		int error;
		int r;
	} rows[] = {
		{ ENOENT, -ESRCH },
		{ ESRCH, -ESRCH },
		{ EACCES, -EACCES },
	};
	_cleanup_close_ int dirfd = pin_open(getpid());

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		stat_error = rows[i].error;
		cr_expect_eq(pin_pidfd(dirfd, getpid()), rows[i].r, "%s", strerror(rows[i].error));
		cr_expect_not(pin_alive(dirfd));
	}
	stat_error = 0;
}

Test(pin, as_many_descriptors_as_allowed)
{
	struct rlimit limit, few;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = 64;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	cr_expect_eq(pin_make_room(), limit.rlim_max);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &few), 0);
	cr_expect_eq(few.rlim_cur, limit.rlim_max);
}

Test(pin, as_many_descriptors_as_there_are)
{
	struct rlimit limit, few;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = 64;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	set_limit_error = EPERM;
	cr_expect_eq(pin_make_room(), 64, "no more are to be had");
	get_limit_fails = 2;
	cr_expect_eq(pin_make_room(), 0, "nobody knows");
	get_limit_fails = 1;
	cr_expect_eq(pin_make_room(), 0, "nor here");
	set_limit_error = 0;
}

Test(pin, without_descriptors_nobody_looks_dead)
{
	pid_t pid = live_start(live_pause, NULL);
	int dirfd = pin_open(pid);
	struct rlimit before, none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	bool alive = pin_alive(dirfd);
	int opened = pin_open(pid), pidfd = pin_pidfd(dirfd, pid);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_assert(alive);
	cr_assert_eq(opened, -EMFILE);
	cr_assert_eq(pidfd, -EMFILE);
	fs_close(&dirfd);
	live_end(pid);
}

Test(pin, wait_refuses_what_is_no_descriptor)
{
	int fd = open("/", O_RDONLY | O_CLOEXEC), stale = fd;

	fs_close(&fd);
	cr_assert_eq(pin_wait(stale, 0), -EINVAL);
}

Test(pin, wait_ends_with_the_process)
{
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	_cleanup_close_ int pidfd = pin_pidfd(dirfd, pid);
	uint64_t before = live_now_ms();

	cr_assert_eq(pin_wait(pidfd, 100), 0);
	cr_assert_geq(live_now_ms() - before, 99);
	live_end(pid);
	cr_assert_eq(pin_wait(pidfd, LIVE_WAIT_MS), 1);
}

static void on_alarm(int sig)
{
	(void)sig;
}

Test(pin, wait_ends_with_a_signal)
{
	const struct sigaction ring = { .sa_handler = on_alarm };
	const struct itimerval soon = { .it_interval.tv_usec = 50000, .it_value.tv_usec = 50000 };
	const struct itimerval never = { 0 };
	_cleanup_close_ int dirfd = pin_open(getpid());
	_cleanup_close_ int pidfd = pin_pidfd(dirfd, getpid());
	int r;

	cr_assert_eq(sigaction(SIGALRM, &ring, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &soon, NULL), 0);
	r = pin_wait(pidfd, LIVE_WAIT_MS);
	cr_assert_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	cr_assert_eq(r, -EINTR);
}

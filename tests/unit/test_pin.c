/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"

TestSuite(pin, .timeout = 60);

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

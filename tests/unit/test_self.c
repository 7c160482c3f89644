/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "observe/self.h"

TestSuite(self, .timeout = 60);

static uint64_t ino_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return st.st_ino;
}

Test(self, reads_itself)
{
	struct self self = { 0 };

	cr_assert_eq(self_read(&self), 0);
	cr_expect_eq(self.pid, getpid());
	cr_expect_eq(self.euid, geteuid());
	cr_expect_eq(self.pid_ns, ino_of("/proc/self/ns/pid"));
	cr_expect_eq(self.net_ns, ino_of("/proc/self/ns/net"));
	cr_expect_eq(strlen(self.boot_id), SELF_BOOT_MAX - 1);
	cr_expect_eq(self.boot_id[8], '-');
	cr_expect_gt(self.wall_minus_boot_ms, UINT64_C(1600000000000));
}

Test(self, the_offset_of_the_clocks_stands_still)
{
	struct self first = { 0 }, later = { 0 };

	cr_assert_eq(self_read(&first), 0);
	live_sleep_ms(100);
	cr_assert_eq(self_read(&later), 0);
	cr_expect_lt(later.wall_minus_boot_ms - first.wall_minus_boot_ms + 50, 100);
}

/* Its /proc is its parent's: the numbers there are not those by which it would open pidfds. */
static void in_new_pid_ns(void *arg)
{
	struct self self = { .pid = 4711 };
	pid_t inner;
	int status = 1;

	(void)arg;
	live_need(unshare(CLONE_NEWPID) == 0);
	live_ready();
	inner = fork();
	if (!inner)
		_exit(self_read(&self) == -ENOENT && self.pid == 4711 ? 0 : 1);
	waitpid(inner, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

Test(self, refuses_the_proc_of_another_pid_namespace)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make a pid namespace");
	cr_assert_eq(live_wait(live_start(in_new_pid_ns, NULL)), 0);
}

static void without_proc(void *arg)
{
	struct self self = { 0 };

	(void)arg;
	live_need(unshare(CLONE_NEWNS) == 0);
	live_need(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	live_need(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
	live_ready();
	_exit(self_read(&self) == -ENOENT ? 0 : 1);
}

Test(self, says_that_there_is_no_proc)
{
	if (geteuid() != 0)
		cr_skip_test("only root can hide /proc");
	cr_assert_eq(live_wait(live_start(without_proc, NULL)), 0);
}

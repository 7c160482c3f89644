/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "live.h"
#include "observe/processes.h"

#define HOSTILE "a) S 1\n\x1b]0;\xff("

enum {
	NOBODY = 65534
};

TestSuite(processes, .timeout = 120);

static struct processes *source;
static struct snapshot all;

static void take(void)
{
	cr_assert_eq(processes_open(&source), 0);
	cr_assert_eq(processes_census(source, &all), 0);
}

static void drop(void)
{
	snapshot_done(&all);
	processes_close(source);
}

Test(processes, sees_itself_and_init)
{
	const struct proc *own, *init;

	take();
	own = snapshot_find(&all, getpid());
	init = snapshot_find(&all, 1);
	cr_assert_not_null(own);
	cr_expect_eq(own->ppid, getppid());
	cr_expect_eq(own->pgrp, getpgrp());
	cr_expect_eq(own->sid, getsid(0));
	cr_expect_eq(own->uid, geteuid());
	cr_expect_eq(own->state, 'R');
	cr_expect_gt(own->rss_bytes, 500 * 1024);
	cr_expect_lt(own->rss_bytes, UINT64_C(1) << 34, "bytes, not pages of pages");
	cr_expect_leq(clock_ticks_to_ms(own->id.start), clock_boot_ms());
	cr_expect_gt(clock_ticks_to_ms(own->id.start) + 60000, clock_boot_ms());
	cr_assert_not_null(init);
	cr_expect_eq(init->ppid, 0);
	drop();
}

Test(processes, is_sorted_and_without_argv)
{
	take();
	cr_assert_gt(all.count, 2);
	for (size_t i = 0; i < all.count; i++) {
		cr_expect_null(all.procs[i].argv);
		if (i)
			cr_expect_lt(all.procs[i - 1].id.pid, all.procs[i].id.pid);
	}
	drop();
}

/* A name that would break a careless reader, another user's, and not dumpable. */
static void hostile(void *arg)
{
	(void)arg;
	live_need(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	live_die_with_parent();
	prctl(PR_SET_NAME, HOSTILE);
	prctl(PR_SET_DUMPABLE, 0);
	live_pause(NULL);
}

Test(processes, tells_a_hostile_child_as_it_is)
{
	const struct proc *p;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	pid = live_start(hostile, NULL);
	live_await_state(pid, 'S');
	take();
	p = snapshot_find(&all, pid);
	cr_assert_not_null(p);
	cr_expect_str_eq(p->comm, HOSTILE, "raw bytes");
	cr_expect_eq(p->uid, NOBODY, "its directory is its effective user's, dumpable or not");
	cr_expect_eq(p->ppid, getpid());
	cr_expect_eq(p->state, 'S');
	cr_expect_eq(p->threads, 1);
	cr_expect(proc_never_execed(p));
	drop();
	live_end(pid);
}

static void die(void *arg)
{
	(void)arg;
	live_ready();
	_exit(0);
}

Test(processes, sees_zombies_and_kernel_threads)
{
	pid_t pid = live_start(die, NULL);
	const struct proc *zombie;
	struct proc copy;

	live_await_state(pid, 'Z');
	take();
	zombie = snapshot_find(&all, pid);
	cr_assert_not_null(zombie);
	cr_expect_eq(zombie->state, 'Z');
	cr_expect_eq(zombie->rss_bytes, 0);
	copy = *zombie;
	cr_assert_eq(live_read_argv(&copy), 0);
	cr_expect_eq(copy.argv_len, 0, "it has none left");
	cr_expect_str_eq(copy.argv, "");
	cr_expect_null(proc_argv_next(&copy, NULL));
	free(copy.argv);
	if (snapshot_find(&all, 2) && strcmp(snapshot_find(&all, 2)->comm, "kthreadd") == 0)
		cr_expect(snapshot_find(&all, 2)->flags & PROC_KTHREAD);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	drop();
}

/* Runs /bin/sleep with odd arguments. */
static void become_sleep(void *arg)
{
	live_ready();
	execl("/bin/sleep", "sleep", "1000", (const char *)arg, NULL);
}

/* Waits until the child has exec'ed: its argv is not ours any more. */
static struct proc after_exec(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;

	for (;;) {
		struct snapshot s = { 0 };
		struct processes *from = NULL;
		struct proc *found, p = { 0 };

		cr_assert_eq(processes_open(&from), 0);
		cr_assert_eq(processes_census(from, &s), 0);
		found = snapshot_find(&s, pid);
		cr_assert_not_null(found);
		p = *found;
		snapshot_done(&s);
		processes_close(from);
		if (!proc_never_execed(&p) && p.state == 'S')
			return p;
		cr_assert_lt(live_now_ms(), until);
		live_sleep_ms(5);
	}
}

Test(processes, reads_argv_of_the_very_process)
{
	char second[] = "0.5";
	pid_t pid = live_start(become_sleep, second);
	struct proc p = after_exec(pid);
	const char *at;

	cr_assert_eq(live_read_argv(&p), 0);
	cr_expect_eq(p.argv_len, sizeof("sleep\0001000\0000.5"));
	at = proc_argv_next(&p, NULL);
	cr_expect_str_eq(at, "sleep");
	at = proc_argv_next(&p, at);
	cr_expect_str_eq(at, "1000");
	at = proc_argv_next(&p, at);
	cr_expect_str_eq(at, "0.5");
	cr_expect_null(proc_argv_next(&p, at));
	cr_assert_eq(live_read_argv(&p), 0, "again: nothing is lost");
	free(p.argv);
	p.argv = NULL;
	p.id.start++;
	cr_expect_eq(live_read_argv(&p), -ESRCH, "another process by now");
	cr_expect_null(p.argv);
	live_end(pid);
	p.id.start--;
	cr_expect_lt(live_read_argv(&p), 0, "gone");
}

Test(processes, cuts_argv_before_an_element)
{
	char big[PROC_ARGV_MAX * 2];
	struct proc p;
	pid_t pid;

	memset(big, '9', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	pid = live_start(become_sleep, big);
	p = after_exec(pid);
	cr_assert_eq(live_read_argv(&p), 0);
	cr_expect_eq(p.argv_len, sizeof("sleep\0001000"),
		     "the element that does not fit is dropped");
	cr_expect_eq(p.argv[p.argv_len - 1], '\0');
	free(p.argv);
	live_end(pid);
}

static uint64_t own_rss_kib(void)
{
	unsigned long size, resident;
	char bytes[256];

	cr_assert_gt(fs_read_at(AT_FDCWD, "/proc/self/statm", bytes, sizeof(bytes)), 0);
	cr_assert_eq(sscanf(bytes, "%lu %lu", &size, &resident), 2);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static unsigned open_fds(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

#if defined(__SANITIZE_ADDRESS__)
enum {
	RSS_GROWTH_KIB = 1 << 20
}; /* freed memory is kept aside there */
#else
enum {
	RSS_GROWTH_KIB = 256
};
#endif

Test(processes, stays_flat_over_a_thousand_censuses)
{
	uint64_t before = 0;
	unsigned fds = 0;

	cr_assert_eq(processes_open(&source), 0);
	for (int i = 0; i < 1050; i++) {
		if (i == 50) {
			before = own_rss_kib();
			fds = open_fds();
		}
		cr_assert_eq(processes_census(source, &all), 0);
		snapshot_done(&all);
	}
	cr_expect_leq(own_rss_kib(), before + RSS_GROWTH_KIB);
	cr_expect_eq(open_fds(), fds);
	processes_close(source);
}

/* Where /proc is not there libproc2 ends the program by _exit(47). */
static void without_proc(void *arg)
{
	struct processes *from = NULL;

	(void)arg;
	live_need(unshare(CLONE_NEWNS) == 0);
	live_need(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	if (processes_open(&from) != 0)
		_exit(1);
	live_need(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
	live_ready();
	if (processes_census(from, &all) != -EIO)
		_exit(2);
	processes_close(from);
	if (processes_open(&from) != -ENOENT)
		_exit(3);
	_exit(0);
}

Test(processes, survives_without_proc)
{
	if (geteuid() != 0)
		cr_skip_test("only root can hide /proc");
	cr_assert_eq(live_wait(live_start(without_proc, NULL)), 0);
}

Test(processes, close_takes_nothing)
{
	processes_close(NULL);
}

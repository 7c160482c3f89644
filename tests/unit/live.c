/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "observe/processes.h"

enum {
	LIVE_SKIP = 77
};

static int ready_fd = -1;
static pid_t starter;

void live_die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != starter)
		_exit(1);
}

void live_ready(void)
{
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	close(ready_fd);
	ready_fd = -1;
}

pid_t live_start(live_body body, void *arg)
{
	struct pollfd ready = { .events = POLLIN };
	int pipes[2];
	pid_t pid;
	char byte;

	cr_assert_eq(pipe2(pipes, O_CLOEXEC), 0);
	starter = getpid();
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		live_die_with_parent();
		close(pipes[0]);
		ready_fd = pipes[1];
		body(arg);
		_exit(0);
	}
	close(pipes[1]);
	ready.fd = pipes[0];
	cr_assert_eq(poll(&ready, 1, LIVE_WAIT_MS), 1, "the child does not get ready");
	if (read(pipes[0], &byte, 1) != 1)
		cr_assert_fail("the child ended before it was ready: %d", live_wait(pid));
	close(pipes[0]);
	return pid;
}

uint64_t live_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t live_stolen_ms(void)
{
	unsigned long long n[8] = { 0 };
	char bytes[512];

	cr_assert_gt(fs_read_at(AT_FDCWD, "/proc/stat", bytes, sizeof(bytes)), 0);
	cr_assert_eq(sscanf(bytes, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1],
			    &n[2], &n[3], &n[4], &n[5], &n[6], &n[7]),
		     8);
	return (n[5] + n[6] + n[7]) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK);
}

void live_sleep_ms(uint64_t ms)
{
	struct timespec rest = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&rest, &rest) < 0)
		;
}

static char state_of(pid_t pid)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	char stat[2048];
	const char *name_end;

	if (dirfd < 0 || fs_read_at(dirfd, "stat", stat, sizeof(stat)) <= 0)
		return 0;
	name_end = strrchr(stat, ')');
	return name_end ? name_end[2] : 0;
}

void live_await_state(pid_t pid, char state)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;

	while (state_of(pid) != state) {
		cr_assert_lt(live_now_ms(), until, "it is in state %c, not %c", state_of(pid),
			     state);
		live_sleep_ms(2);
	}
}

static char thread_state(pid_t pid, const char *tid)
{
	char path[64], stat[2048];
	const char *name_end;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", pid, tid);
	if (fs_read_at(AT_FDCWD, path, stat, sizeof(stat)) <= 0)
		return 0;
	name_end = strrchr(stat, ')');
	return name_end ? name_end[2] : 0;
}

static bool are_asleep(pid_t pid, unsigned count)
{
	char path[64];
	unsigned seen = 0, asleep = 0;
	const struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		seen++;
		asleep += thread_state(pid, entry->d_name) == 'S';
	}
	if (dir)
		(void)closedir(dir);
	return seen == count && asleep == count;
}

void live_await_threads(pid_t pid, unsigned count)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;

	while (!are_asleep(pid, count)) {
		cr_assert_lt(live_now_ms(), until, "not all of %u threads sleep", count);
		live_sleep_ms(5);
	}
}

int live_read_argv(struct proc *p)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	int err = processes_read_argv(p);

	while ((err == -ETIMEDOUT || err == -EALREADY) && live_now_ms() < until) {
		live_sleep_ms(5);
		err = processes_read_argv(p);
	}
	return err;
}

void live_end(pid_t pid)
{
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

void live_need(bool allowed)
{
	if (!allowed)
		_exit(LIVE_SKIP);
}

int live_wait(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	int status = 0;
	pid_t done;

	while (!(done = waitpid(pid, &status, WNOHANG)) && live_now_ms() < until)
		live_sleep_ms(5);
	if (!done) {
		live_end(pid);
		cr_assert_fail("the child does not end");
	}
	cr_assert(WIFEXITED(status), "the child was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == LIVE_SKIP)
		cr_skip_test("not allowed here");
	return WEXITSTATUS(status);
}

void live_pause(void *arg)
{
	(void)arg;
	live_ready();
	for (;;)
		pause();
}

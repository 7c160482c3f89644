/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/evidence_threads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/parse.h"

enum {
	THREAD_FILE_MAX =
		8192, /* sched grows with the kernel's debug options; stat, wchan are short */
	THREAD_PATH_MAX = 64,
};

/* What one thread adds to the sum. */
struct thread {
	char state;
	char wchan[EVIDENCE_WCHAN_MAX];
	uint64_t blocked_ms;
};

/* What all of them add up to. */
struct threads {
	unsigned listed;
	unsigned others;            /* all but the main thread */
	bool awake;                 /* one is not asleep */
	bool unread;                /* of one not even the state is known */
	bool unclocked;             /* of one of the others it is not known when it last ran */
	uint64_t others_blocked_ms; /* the least */
};

int evidence_read_stat(int dirfd, const char *name, struct proc_stat *ret)
{
	char bytes[THREAD_FILE_MAX];
	ssize_t len = fs_read_at(dirfd, name, bytes, sizeof(bytes));

	if (len < 0)
		return (int)len;
	return proc_parse_stat(bytes, (size_t)len, ret);
}

static void thread_path(pid_t tid, const char *name, char ret[THREAD_PATH_MAX])
{
	snprintf(ret, THREAD_PATH_MAX, "task/%d/%s", tid, name);
}

static void thread_wchan(int dirfd, pid_t tid, char ret[EVIDENCE_WCHAN_MAX])
{
	char path[THREAD_PATH_MAX], bytes[EVIDENCE_WCHAN_MAX * 2];
	ssize_t len;

	ret[0] = '\0';
	thread_path(tid, "wchan", path);
	len = fs_read_at(dirfd, path, bytes, sizeof(bytes));
	if (len < 0 || proc_parse_wchan(bytes, (size_t)len, ret) < 0)
		ret[0] = '\0';
}

static uint64_t thread_exec_start_us(int dirfd, pid_t tid)
{
	char path[THREAD_PATH_MAX], bytes[THREAD_FILE_MAX];
	uint64_t exec_start_us;
	ssize_t len;

	thread_path(tid, "sched", path);
	len = fs_read_at(dirfd, path, bytes, sizeof(bytes));
	if (len < 0 || proc_parse_sched(bytes, (size_t)len, &exec_start_us) < 0)
		return 0;
	return exec_start_us;
}

/*
 * Its stat is read before and after: exec_start is a time of the CPU on which the thread last ran,
 * so that must be the same CPU, and a thread that woke in between counts as awake.
 *
 * @return 0; negative errno: it is gone, or cannot be read.
 */
static int thread_look(int dirfd, pid_t tid, struct cpu_clock *clock, struct thread *ret)
{
	struct proc_stat before, after;
	char path[THREAD_PATH_MAX];
	uint64_t exec_start_us;
	int r;

	thread_path(tid, "stat", path);
	r = evidence_read_stat(dirfd, path, &before);
	if (r < 0)
		return r;
	thread_wchan(dirfd, tid, ret->wchan);
	exec_start_us = clock ? thread_exec_start_us(dirfd, tid) : 0;
	r = evidence_read_stat(dirfd, path, &after);
	if (r < 0)
		return r;
	ret->state = before.state == 'S' || before.state == 'I' ? after.state : before.state;
	ret->blocked_ms = UNKNOWN_U64;
	if (exec_start_us && before.cpu == after.cpu)
		ret->blocked_ms = cpu_clock_since_ms(clock, after.cpu, exec_start_us);
	return 0;
}

/*
 * A process frozen through cgroup v2 shows S like any sleeper; only what it waits in tells (through
 * v1 it shows D).
 */
static bool wchan_is_frozen(const char *wchan)
{
	return strcmp(wchan, "do_freezer_trap") == 0 || strcmp(wchan, "get_signal") == 0;
}

static void threads_add(struct threads *all, struct evidence *e, const struct thread *t)
{
	if (t->state == 'D' || wchan_is_frozen(t->wchan))
		e->uninterruptible = true;
	if (t->state == 'T' || t->state == 't')
		e->stopped = true;
	if (t->state != 'S' && t->state != 'I')
		all->awake = true;
}

/* A stack and code both below 4 GiB are a 32-bit program's, whose call numbers are others. */
static bool wait_is_foreign(const struct wait *w)
{
	return sizeof(void *) == 8 && w->sp <= UINT32_MAX && w->pc <= UINT32_MAX;
}

static void main_wait(int dirfd, struct wait *ret)
{
	char bytes[THREAD_FILE_MAX];
	ssize_t len = fs_read_at(dirfd, "syscall", bytes, sizeof(bytes));
	struct wait wait = { 0 };

	if (len < 0 || proc_parse_syscall(bytes, (size_t)len, &wait) < 0 || wait_is_foreign(&wait))
		wait.known = false;
	if (!wait.known)
		wait = (struct wait){ 0 };
	memcpy(wait.wchan, ret->wchan, sizeof(wait.wchan));
	*ret = wait;
}

static uint64_t main_cpu_ns(int dirfd)
{
	char bytes[THREAD_FILE_MAX];
	ssize_t len = fs_read_at(dirfd, "schedstat", bytes, sizeof(bytes));
	uint64_t ns;

	/* Kernels that do not keep it show zeros; a thread that never ran cannot be asleep. */
	if (len < 0 || proc_parse_schedstat(bytes, (size_t)len, &ns) < 0 || !ns)
		return UNKNOWN_U64;
	return ns;
}

static void threads_visit(struct threads *all, int dirfd, pid_t tid, struct cpu_clock *clock,
			  struct evidence *e)
{
	struct thread t = { .blocked_ms = UNKNOWN_U64 };
	bool is_main = tid == e->id.pid;
	int r = thread_look(dirfd, tid, clock, &t);

	if (r == -ENOENT || r == -ESRCH)
		return;
	all->listed++;
	if (r < 0)
		all->unread = true;
	else
		threads_add(all, e, &t);
	if (!is_main) {
		all->others++;
		all->others_blocked_ms = MIN(all->others_blocked_ms, t.blocked_ms);
		if (t.blocked_ms == UNKNOWN_U64)
			all->unclocked = true;
		return;
	}
	e->blocked_ms = t.blocked_ms;
	memcpy(e->main.wchan, t.wchan, sizeof(t.wchan));
	main_wait(dirfd, &e->main);
	e->main_cpu_ns = main_cpu_ns(dirfd);
}

/* @return false: not all could be listed. */
static bool threads_list(struct threads *all, int dirfd, struct cpu_clock *clock,
			 struct evidence *e)
{
	DIR *dir = fs_open_dir(dirfd, "task");
	const struct dirent *entry;
	bool whole = true;

	if (!dir)
		return false;
	errno = 0;
	while (whole && (entry = readdir(dir))) {
		pid_t tid;

		if (parse_pid(entry->d_name, &tid) == 0) {
			whole = all->listed < EVIDENCE_THREADS_MAX;
			if (whole)
				threads_visit(all, dirfd, tid, clock, e);
		}
		errno = 0;
	}
	if (errno)
		whole = false;
	(void)closedir(dir);
	return whole;
}

void evidence_look_threads(int dirfd, struct cpu_clock *clock, struct evidence *e,
			   unsigned *ret_listed)
{
	struct threads all = { .others_blocked_ms = UNKNOWN_U64 };
	bool whole = threads_list(&all, dirfd, clock, e);

	if (all.awake)
		e->asleep = TRI_NO;
	else if (whole && all.listed && !all.unread)
		e->asleep = TRI_YES;
	if (whole && !all.unclocked)
		e->others_blocked_ms = all.others ? all.others_blocked_ms : e->blocked_ms;
	*ret_listed = all.listed;
}

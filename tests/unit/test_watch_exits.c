/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of children that end while they are watched. The audits are written by hand: they say
 * that a child is a single, a worker or a daemon.
 */
#include "app/watch_exits.h"
#include "app/watch_members.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/proc_parse.h"

enum {
	TOLD_MAX = 64,
	CROWD = 12,
};

TestSuite(watch_exits, .timeout = 60);

struct told {
	struct exit_record exit;
	struct crashes crashes;
	enum event_kind kind;
};

static struct told told[TOLD_MAX];
static size_t told_count;

static void take(void *arg, struct event *e)
{
	cr_assert_eq(arg, told);
	cr_assert_lt(told_count, TOLD_MAX);
	told[told_count] = (struct told){ .exit = *e->exit, .kind = e->kind };
	if (e->crashes)
		told[told_count].crashes = *e->crashes;
	told_count++;
}

struct stage {
	struct config *config;
	struct look look;
	struct watch_exits exits;
};

static void open_stage(struct stage *s, bool verbose)
{
	struct problem problem;

	told_count = 0;
	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &s->config, &problem), 0);
	cr_assert_eq(look_open(s->config, NULL, 0, &s->look), 0);
	cr_assert_eq(watch_exits_open(&s->look, take, told, verbose, &s->exits), 0);
}

static void close_stage(struct stage *s)
{
	watch_exits_close(&s->exits);
	look_close(&s->look);
	config_free(s->config);
}

static struct ident name_of(pid_t pid)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	char bytes[2048];
	struct proc_stat stat = { 0 };
	ssize_t len = dirfd < 0 ? -1 : fs_read_at(dirfd, "stat", bytes, sizeof(bytes));

	cr_assert_gt(len, 0);
	cr_assert_eq(proc_parse_stat(bytes, (size_t)len, &stat), 0);
	return (struct ident){ pid, stat.start };
}

static void add_proc(struct audit *a, pid_t pid, pid_t ppid, const char *argv)
{
	struct proc *p = snapshot_add(&a->snapshot);

	cr_assert_not_null(p);
	p->id = name_of(pid);
	p->ppid = ppid;
	p->argv = strdup(argv);
	p->argv_len = strlen(argv) + 1;
}

/* Those are there, in the role; this test is their parent. */
static struct audit audit_of(struct stage *s, const pid_t *pids, size_t count, enum role role)
{
	struct audit a = { .boot_ms = clock_boot_ms(), .classes = s->config->classes };

	a.subjects = calloc(count + 1, sizeof(*a.subjects));
	cr_assert_not_null(a.subjects);
	add_proc(&a, getpid(), getppid(), "test");
	for (size_t i = 0; i < count; i++) {
		add_proc(&a, pids[i], getpid(), "server");
		a.subjects[a.subject_count++] = (struct subject){
			.id = name_of(pids[i]),
			.role = role,
			.daemon_id = { role == ROLE_WORKER ? 4790 : 0, 1 },
		};
	}
	snapshot_sort(&a.snapshot);
	return a;
}

static void look_at(struct stage *s, const pid_t *pids, size_t count, enum role role)
{
	struct audit a = audit_of(s, pids, count, role);

	cr_assert_eq(watch_members_update(&s->exits, &a, NULL), 0);
	audit_done(&a);
}

static void no_core(void *arg)
{
	struct rlimit none = { 0 };

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL); /* a sanitizer's runtime catches it */
	live_pause(arg);
}

/* Ends a child, and does not ask for its end yet. */
static void end(pid_t pid, int signal)
{
	siginfo_t info;

	cr_assert_eq(kill(pid, signal), 0);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void reap(pid_t pid)
{
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static bool is_readable(const struct stage *s)
{
	struct pollfd fd = { .fd = s->exits.epoll, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

Test(watch_exits, an_end_is_told_at_once)
{
	struct stage s;
	pid_t pid = live_start(no_core, NULL);

	open_stage(&s, false);
	look_at(&s, &pid, 1, ROLE_SINGLE);
	cr_expect_eq(s.exits.pinned, 1);
	cr_expect_not(is_readable(&s));
	watch_exits_read(&s.exits, NULL);
	cr_expect_eq(told_count, 0);
	end(pid, SIGSEGV);
	cr_expect(is_readable(&s));
	watch_exits_read(&s.exits, NULL);
	reap(pid);
	watch_exits_read(&s.exits, NULL);
	cr_assert_eq(told_count, 1);
	cr_expect_eq(told[0].kind, EVENT_EXIT);
	cr_expect_eq(told[0].exit.id.pid, pid);
	cr_expect_eq(told[0].exit.role, ROLE_SINGLE);
	cr_expect_eq(told[0].exit.ending.how, ENDING_SIGNAL);
	cr_expect_eq(told[0].exit.ending.number, SIGSEGV);
	cr_expect_eq(told[0].exit.ending.core, TRI_NO);
	cr_expect(told[0].exit.counts);
	cr_expect_eq(s.exits.pinned, 0);
	cr_expect_not(is_readable(&s));
	look_at(&s, NULL, 0, ROLE_SINGLE);
	cr_expect_eq(s.exits.count, 0);
	cr_expect_eq(told_count, 1);
	cr_expect_neq(watch_members_census_ms(&s.exits), UNKNOWN_U64, "it may come back");
	close_stage(&s);
}

/* The look lists it still: that is no second process of that name, whose end nobody saw. */
Test(watch_exits, one_that_ends_during_a_look_is_told_once)
{
	struct stage s;
	pid_t pid = live_start(no_core, NULL);
	struct audit a;

	open_stage(&s, false);
	look_at(&s, &pid, 1, ROLE_SINGLE);
	a = audit_of(&s, &pid, 1, ROLE_SINGLE);
	end(pid, SIGSEGV);
	watch_exits_read(&s.exits, NULL);
	reap(pid);
	watch_exits_read(&s.exits, NULL);
	cr_assert_eq(watch_members_update(&s.exits, &a, NULL), 0);
	look_at(&s, NULL, 0, ROLE_SINGLE);
	cr_expect_eq(told_count, 1);
	cr_expect_eq(s.exits.count, 0);
	audit_done(&a);
	close_stage(&s);
}

Test(watch_exits, three_crashes_are_a_loop)
{
	struct stage s;
	pid_t pid = live_start(no_core, NULL);

	open_stage(&s, false);
	for (int i = 0; i < 4; i++) {
		look_at(&s, &pid, 1, ROLE_SINGLE);
		end(pid, SIGSEGV);
		watch_exits_read(&s.exits, NULL);
		reap(pid);
		watch_exits_read(&s.exits, NULL);
		pid = live_start(no_core, NULL);
	}
	look_at(&s, &pid, 1, ROLE_SINGLE);
	cr_assert_eq(told_count, 5, "four ends, and one loop");
	cr_expect_eq(told[3].kind, EVENT_CRASH_LOOP);
	cr_expect_eq(told[3].crashes.by_signal, 3);
	cr_expect_eq(told[3].crashes.restarts, 2);
	cr_expect_eq(told[3].crashes.count, 3);
	for (size_t i = 1; i < 3; i++)
		cr_expect_geq(told[3].crashes.crash[i].at_ms, told[3].crashes.crash[i - 1].at_ms);
	cr_expect_eq(s.look.exits.groups[0].restart_count, 4);
	live_end(pid);
	close_stage(&s);
}

static const struct {
	enum role role;
	int signal;
	bool verbose;
	bool told, counts;
	const char *why;
} rows[] = {
	{ ROLE_WORKER, SIGSEGV, false, true, true, "a worker that crashed" },
	{ ROLE_WORKER, SIGKILL, false, false, false, "Spark's own way to end a worker" },
	{ ROLE_WORKER, SIGKILL, true, true, false, "but it can be heard of" },
	{ ROLE_WORKER, SIGTERM, false, false, false, "told to end" },
	{ ROLE_SINGLE, SIGKILL, false, true, true, "a server that was killed" },
	{ ROLE_SINGLE, SIGTERM, false, false, false, "told to end" },
	{ ROLE_SINGLE, SIGTERM, true, true, false, "but it can be heard of" },
};

Test(watch_exits, what_is_told)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stage s;
		pid_t pid = live_start(no_core, NULL);

		open_stage(&s, rows[i].verbose);
		look_at(&s, &pid, 1, rows[i].role);
		end(pid, rows[i].signal);
		reap(pid);
		watch_exits_read(&s.exits, NULL);
		cr_expect_eq(told_count, rows[i].told, "%s", rows[i].why);
		if (told_count)
			cr_expect_eq(told[0].exit.counts, rows[i].counts, "%s", rows[i].why);
		close_stage(&s);
	}
}

/* @return how long it took to read that five were killed, in ms. */
static uint64_t kill_together(void)
{
	struct stage s;
	pid_t pids[5];
	uint64_t took;

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = live_start(no_core, NULL);
	open_stage(&s, false);
	look_at(&s, pids, ARRAY_SIZE(pids), ROLE_SINGLE);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		end(pids[i], SIGKILL);
	took = live_now_ms();
	watch_exits_read(&s.exits, NULL);
	took = live_now_ms() - took;
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		reap(pids[i]);
	close_stage(&s);
	return took;
}

/* A container that is torn down: all at once, and once. Each counts from when it is read. */
Test(watch_exits, killed_together_is_no_loop)
{
	for (int i = 0; i < 5; i++)
		if (kill_together() < 500)
			break;
	cr_expect_eq(told_count, 1);
	cr_expect(told[0].exit.counts);
}

static void exit_3(void *arg)
{
	(void)arg;
	live_ready();
	pause();
	_exit(3);
}

static void on_usr1(int number)
{
	(void)number;
	_exit(3);
}

static void exit_3_when_told(void *arg)
{
	signal(SIGUSR1, on_usr1);
	exit_3(arg);
}

Test(watch_exits, a_code_is_told_of_a_single_and_does_not_count)
{
	struct stage s;
	pid_t pid = live_start(exit_3_when_told, NULL);

	open_stage(&s, false);
	look_at(&s, &pid, 1, ROLE_SINGLE);
	end(pid, SIGUSR1);
	reap(pid);
	watch_exits_read(&s.exits, NULL);
	cr_assert_eq(told_count, 1);
	cr_expect_eq(told[0].exit.ending.how, ENDING_CODE);
	cr_expect_eq(told[0].exit.ending.number, 3);
	cr_expect_not(told[0].exit.counts);
	close_stage(&s);
}

Test(watch_exits, what_this_program_ended_is_no_crash)
{
	struct stage s;
	pid_t pid = live_start(no_core, NULL), other = live_start(no_core, NULL);
	const pid_t both[] = { pid, other };
	struct victim victims[] = { { .id = name_of(pid), .record.signal = SIGKILL },
				    { .id = name_of(other) } };
	struct reap r = { .victims = victims, .count = 2 };

	open_stage(&s, true);
	look_at(&s, both, 2, ROLE_SINGLE);
	watch_exits_read(&s.exits, &r); /* marked before it is dead, and for good */
	end(pid, SIGKILL);
	end(other, SIGKILL);
	reap(pid);
	reap(other);
	watch_exits_read(&s.exits, NULL);
	cr_assert_eq(told_count, 1, "the other was not signalled yet");
	cr_expect_eq(told[0].exit.id.pid, other);
	close_stage(&s);
}

Test(watch_exits, who_is_no_member_any_more_is_let_go)
{
	struct stage s;
	pid_t pid = live_start(no_core, NULL);

	open_stage(&s, true);
	look_at(&s, &pid, 1, ROLE_WORKER);
	look_at(&s, &pid, 1, ROLE_WORKER);
	cr_expect_eq(s.exits.count, 1, "once");
	look_at(&s, &pid, 1, ROLE_HELPER);
	cr_expect_eq(s.exits.count, 0);
	cr_expect_eq(s.exits.pinned, 0);
	live_end(pid);
	watch_exits_read(&s.exits, NULL);
	cr_expect_eq(told_count, 0);
	close_stage(&s);
}

static unsigned open_fds(void)
{
	unsigned count = 0;
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d))
		count++;
	if (d)
		(void)closedir(d);
	return count;
}

Test(watch_exits, never_more_descriptors_than_allowed)
{
	struct stage s;
	pid_t pids[CROWD];
	unsigned before;

	for (size_t i = 0; i < CROWD; i++)
		pids[i] = live_start(no_core, NULL);
	open_stage(&s, false);
	before = open_fds();
	s.exits.most = 5;
	look_at(&s, pids, CROWD, ROLE_WORKER);
	cr_expect_eq(s.exits.pinned, 5);
	cr_expect_eq(s.exits.count, 5, "nothing is kept of the others");
	cr_expect_eq(open_fds(), before + 5);
	cr_expect(s.exits.said_left_out);
	for (size_t i = 0; i < CROWD; i++) {
		end(pids[i], SIGSEGV);
		reap(pids[i]);
	}
	watch_exits_read(&s.exits, NULL);
	cr_expect_eq(open_fds(), before);
	cr_expect_eq(told_count, 5 + 1, "five ends, and a loop");
	close_stage(&s);
}

/* Of a single that cannot be held its restart shows, and not how it ended. */
Test(watch_exits, restarts_without_descriptors)
{
	struct stage s;
	pid_t pid = live_start(no_core, NULL);

	open_stage(&s, false);
	s.exits.most = 0;
	look_at(&s, &pid, 1, ROLE_SINGLE);
	cr_expect_eq(s.exits.count, 1);
	for (int i = 0; i < 3; i++) {
		live_end(pid);
		pid = live_start(no_core, NULL);
		look_at(&s, &pid, 1, ROLE_SINGLE);
	}
	cr_assert_eq(told_count, 4, "three ends, and a loop");
	cr_expect_eq(told[0].exit.ending.how, ENDING_UNKNOWN);
	cr_expect_not(told[0].exit.counts);
	cr_expect_eq(told[3].kind, EVENT_CRASH_LOOP);
	cr_expect_eq(told[3].crashes.unseen, 3);
	cr_expect_eq(told[3].crashes.by_signal, 0);
	live_end(pid);
	close_stage(&s);
}

Test(watch_exits, many_ends_are_told_as_one_number)
{
	struct stage s;
	pid_t pids[WATCH_EXITS_LINES + 3];

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = live_start(no_core, NULL);
	open_stage(&s, false);
	look_at(&s, pids, ARRAY_SIZE(pids), ROLE_WORKER);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		end(pids[i], SIGSEGV);
		reap(pids[i]);
	}
	watch_exits_read(&s.exits, NULL);
	cr_expect_eq(told_count, WATCH_EXITS_LINES + 1, "and a loop");
	cr_expect_eq(s.exits.untold, 3);
	look_at(&s, NULL, 0, ROLE_WORKER);
	cr_expect_eq(s.exits.untold, 0);
	cr_expect_eq(s.exits.lines, 0);
	close_stage(&s);
}

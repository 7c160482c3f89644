/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the kill path on living processes: who is signalled when, and what is told of it.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "app/reap_check.h"
#include "base/fs.h"
#include "reap_scene.h"
#include "tmpdir.h"

TestSuite(reap, .timeout = 120);

Test(reap, a_helper_that_ends_before_its_worker_is_not_waited_for)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER)->stage = ACT_KILLED; /* as if it took its time */
	s.reap.victims[0].began_ms = clock_boot_ms();
	s.reap.victims[0].deadline_ms = clock_boot_ms() + LONG_MS;
	live_end(add(&s, helper, ROLE_HELPER)->id.pid);
	cr_expect(reap_step(&s.reap, clock_boot_ms()), "the worker is still there");
	cr_expect_not(reap_waits_for(&s.reap.victims[1]), "poll(2) would return at once, for ever");
	cr_expect_eq(outcome_of(&s, helper), (int)OUTCOME_VANISHED);
	cr_expect_null(told_of(&s, worker));
	scene_done(&s);
	live_end(worker);
}

Test(reap, who_is_told_to_stop_signals_nobody_more)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	const struct action_record *told;
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER);
	add(&s, helper, ROLE_HELPER);
	cr_expect(reap_step(&s.reap, clock_boot_ms()));
	await_end(&s.reap.victims[0]);
	reap_stop(&s.reap, "told to stop");
	told = told_of(&s, worker);
	cr_assert_not_null(told);
	cr_expect_eq(told->outcome, OUTCOME_EXITED);
	cr_expect_lt(told->took_ms, LIVE_WAIT_MS, "it took %lu ms", told->took_ms);
	told = told_of(&s, helper);
	cr_assert_not_null(told);
	cr_expect_eq(told->outcome, OUTCOME_HELD);
	cr_expect_eq(told->signal, 0);
	cr_expect_eq(pin_wait(s.reap.victims[1].pidfd, SOON_MS), 0, "the helper was signalled");
	scene_done(&s);
	live_end(worker);
	live_end(helper);
}

Test(reap, a_helper_is_ended_after_its_worker)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER)->kill_at_once = true;
	add(&s, helper, ROLE_HELPER);
	cr_expect(reap_step(&s.reap, clock_boot_ms()));
	cr_expect_eq(s.reap.victims[1].stage, ACT_PINNED);
	await_end(&s.reap.victims[0]);
	cr_expect(reap_step(&s.reap, clock_boot_ms()));
	await_end(&s.reap.victims[1]);
	cr_expect_not(reap_step(&s.reap, clock_boot_ms()));
	cr_assert_eq(s.told_count, 2);
	cr_expect_eq(s.told[0].outcome, OUTCOME_KILLED);
	cr_expect_eq(s.told[0].signal, SIGKILL);
	cr_expect_eq(s.told[1].outcome, OUTCOME_EXITED);
	cr_expect_eq(s.told[1].signal, SIGTERM);
	scene_done(&s);
	live_end(worker);
	live_end(helper);
}

/* ---- what happens between the second look and a signal ---- */

static void sleep_on_signal(void *arg)
{
	sigset_t set;
	int got;

	(void)arg;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	live_ready();
	(void)sigwait(&set, &got);
	execl("/bin/sleep", "sleep", "600", NULL);
	_exit(1);
}

static void start_another_program(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	char comm[32] = "";

	kill(pid, SIGUSR1);
	while (strcmp(comm, "sleep\n") != 0) {
		_cleanup_close_ int dirfd = pin_open(pid);

		cr_assert_lt(live_now_ms(), until);
		live_sleep_ms(2);
		cr_assert_gt(fs_read_at(dirfd, "comm", comm, sizeof(comm)), 0);
	}
}

static void stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	live_await_state(pid, 'T');
}

static void trace(pid_t pid)
{
	cr_assert_eq(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
}

static void let_be(pid_t pid)
{
	(void)pid;
}

static const struct {
	const char *why;
	void (*happens)(pid_t pid);
	enum act_stage stage; /* before */
	enum role role;
	bool spared;
} events[] = {
	{ "nothing", let_be, ACT_PINNED, ROLE_WORKER, false },
	{ "nothing, and SIGTERM did not help", let_be, ACT_TERMED, ROLE_WORKER, false },
	{ "it starts another program", start_another_program, ACT_PINNED, ROLE_WORKER, true },
	{ "the same after SIGTERM", start_another_program, ACT_TERMED, ROLE_WORKER, true },
	{ "it is stopped", stop, ACT_PINNED, ROLE_WORKER, true },
	{ "the same after SIGTERM", stop, ACT_TERMED, ROLE_WORKER, true },
	{ "somebody traces it", trace, ACT_PINNED, ROLE_WORKER, true },
	{ "the same after SIGTERM", trace, ACT_TERMED, ROLE_WORKER, true },
	{ "a helper may start what it likes", start_another_program, ACT_PINNED, ROLE_HELPER,
	  false },
	{ "somebody traces a helper", trace, ACT_PINNED, ROLE_HELPER, true },
	{ "the same after SIGTERM", trace, ACT_TERMED, ROLE_HELPER, true },
};

Test(reap, what_changed_since_the_second_look_is_spared)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		pid_t worker = live_start(live_pause, NULL);
		pid_t pid = live_start(sleep_on_signal, NULL);
		struct victim *v;
		struct scene s;

		scene_make(&s);
		if (events[i].role == ROLE_HELPER)
			add(&s, worker, ROLE_WORKER)->stage = ACT_UNKILLABLE;
		v = add(&s, pid, events[i].role);
		v->stage = events[i].stage;
		v->kill_at_once = true;
		v->began_ms = v->deadline_ms = 1;
		events[i].happens(pid);
		(void)reap_step(&s.reap, clock_boot_ms());
		cr_expect_eq(v->record.signal, events[i].spared ? 0 : SIGKILL, "%s: signal %d",
			     events[i].why, v->record.signal);
		cr_expect_eq(v->stage == ACT_DONE, events[i].spared, "%s", events[i].why);
		cr_expect_eq(told_of(&s, pid) != NULL, events[i].spared, "%s", events[i].why);
		scene_done(&s);
		live_end(pid);
		live_end(worker);
	}
}

Test(reap, helpers_of_a_worker_that_is_spared_are_spared)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER);
	add(&s, helper, ROLE_HELPER);
	stop(worker);
	cr_expect_not(reap_step(&s.reap, clock_boot_ms()));
	cr_assert_eq(s.told_count, 2);
	cr_expect_eq(s.told[0].outcome, OUTCOME_SPARED);
	cr_expect_eq(s.told[1].outcome, OUTCOME_SPARED);
	cr_expect_eq(pin_wait(s.reap.victims[1].pidfd, SOON_MS), 0, "the helper was signalled");
	scene_done(&s);
	live_end(worker);
	live_end(helper);
}

/* ---- the last check, by what stands in a /proc/<pid> that the test writes ---- */

enum {
	NUMBER = 4711,
	EXECED = 1 << 0, /* it has called execve(2), whichever program that gave it */
	TRACED = 1 << 1,
	DUMPING = 1 << 2,
	STOPPED = 1 << 3,
	ANOTHERS = 1 << 4, /* its effective user is another */
	SLEEP = 1 << 5,    /* another program */
	SETUID = 1 << 6,   /* a program that is its owner's */
	NO_EXE = 1 << 7,
	NO_STATUS = 1 << 8,
	NO_STAT = 1 << 9,
	UNSEEN = 1 << 10, /* the second look did not see it */
	IN_D = 1 << 11,
	SIGNALLED = 1 << 12, /* SIGTERM was sent already */
};

#define STAT_REST                                                                                   \
	"0 0 0 0 0 0 0 0 20 0 1 0 8812345 100 200 18446744073709551615 1 1 1 0 0 0 0 0 2 1 0 0 17 " \
	"1 0 0 0 0 0 1 1 1 1 1 1 1 0\n"
#define STATUS_REST                            \
	"SigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\n" \
	"voluntary_ctxt_switches:\t5\n"        \
	"nonvoluntary_ctxt_switches:\t6\n"

static void write_stat(const struct tmpdir *dir, unsigned is)
{
	char text[512];
	int len = snprintf(text, sizeof(text), "%d (python) %c 1 2 3 0 -1 %u " STAT_REST, NUMBER,
			   is & STOPPED ? 'T'
			   : is & IN_D  ? 'D'
					: 'S',
			   is & EXECED ? 0 : PROC_FORKNOEXEC);

	if (!(is & NO_STAT))
		tmpdir_write(dir, "stat", text, (size_t)len, 0600);
}

static void write_status(const struct tmpdir *dir, unsigned is)
{
	char text[512];
	int len =
		snprintf(text, sizeof(text),
			 "Tgid:\t%d\nTracerPid:\t%d\nUid:\t7\t%d\t7\t7\n"
			 "CoreDumping:\t%d\n" STATUS_REST,
			 NUMBER, is & TRACED ? 1 : 0, is & ANOTHERS ? 8 : 7, is & DUMPING ? 1 : 0);

	if (!(is & NO_STATUS))
		tmpdir_write(dir, "status", text, (size_t)len, 0600);
}

/* Three programs, so that no two have the same inode. */
static void write_exe(const struct tmpdir *dir, unsigned is)
{
	const char *program = is & SETUID ? "su" : is & SLEEP ? "sleep" : "python";
	char path[PATH_MAX];

	tmpdir_write(dir, "python", "", 0, 0700);
	tmpdir_write(dir, "sleep", "", 0, 0700);
	tmpdir_write(dir, "su", "", 0, 04700);
	(void)unlink(tmpdir_path(dir, "exe", path));
	if (!(is & NO_EXE))
		cr_assert_eq(symlink(program, path), 0);
}

static void write_proc(const struct tmpdir *dir, unsigned is)
{
	char path[PATH_MAX];

	(void)unlink(tmpdir_path(dir, "stat", path));
	(void)unlink(tmpdir_path(dir, "status", path));
	write_stat(dir, is);
	write_status(dir, is);
	write_exe(dir, is);
}

/* What the last check says of a victim that was nothing of all that at the second look. */
static const char *check(enum role role, unsigned is, enum act_stage worker, enum outcome outcome)
{
	_cleanup_tmpdir_ struct tmpdir dir = tmpdir_make();
	_cleanup_close_ int dirfd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct victim victims[] = {
		{ .id.pid = NUMBER, .role = ROLE_WORKER, .stage = worker },
		{ .id.pid = NUMBER,
		  .role = role,
		  .dirfd = dirfd,
		  .stage = is & SIGNALLED ? ACT_TERMED : ACT_PINNED },
	};
	struct reap r = { .second = build_audit(), .victims = victims, .count = 2 };
	struct subject *then = build_worker(&r.second, -1, NUMBER);
	const char *why;

	victims[0].record.outcome = outcome;
	evidence_done(&then->ev);
	write_proc(&dir, 0);
	cr_assert_eq(evidence_look(dirfd, NUMBER, 0, NULL, &then->ev), 0);
	write_proc(&dir, is);
	victims[0].id.pid += is & UNSEEN ? 1 : 0;
	why = reap_check(&r, &victims[1]);
	audit_done(&r.second);
	return why ? why : "";
}

Test(reap, the_last_check)
{
	static const struct {
		const char *why;
		enum role role;
		unsigned is;
		const char *want; /* "": nothing objects */
	} rows[] = {
		{ "a worker as it was", ROLE_WORKER, 0, "" },
		{ "a worker that starts its own program anew is none any more", ROLE_WORKER, EXECED,
		  "it runs another program" },
		{ "a single has started its program, too", ROLE_SINGLE, EXECED, "" },
		{ "a single that starts another", ROLE_SINGLE, EXECED | SLEEP,
		  "it runs another program" },
		{ "a worker with another program", ROLE_WORKER, SLEEP, "it runs another program" },
		{ "a helper may start what it likes", ROLE_HELPER, EXECED | SLEEP, "" },
		{ "one that is about to end has no program", ROLE_WORKER, NO_EXE, "" },
		{ "a worker that becomes another user's", ROLE_WORKER, ANOTHERS,
		  "it is another user's" },
		{ "a helper that becomes another user's", ROLE_HELPER, ANOTHERS,
		  "it is another user's" },
		{ "a helper that starts a program of its owner's", ROLE_HELPER, EXECED | SETUID,
		  "it is another user's" },
		{ "it is traced", ROLE_WORKER, TRACED, "it is traced" },
		{ "a helper is traced", ROLE_HELPER, TRACED, "it is traced" },
		{ "its core is wanted", ROLE_WORKER, DUMPING, "it is traced" },
		{ "a helper's core is wanted", ROLE_HELPER, DUMPING, "it is traced" },
		{ "it is stopped", ROLE_WORKER, STOPPED, "it is stopped" },
		{ "and was signalled before", ROLE_WORKER, STOPPED | SIGNALLED, "it is stopped" },
		{ "it is in uninterruptible sleep, or frozen", ROLE_WORKER, IN_D,
		  "it is in uninterruptible sleep" },
		{ "a single, too", ROLE_SINGLE, IN_D, "it is in uninterruptible sleep" },
		{ "it may be on its way out", ROLE_WORKER, IN_D | SIGNALLED, "" },
		{ "it has ended", ROLE_WORKER, NO_STAT, "" },
		{ "whose it is cannot be told", ROLE_WORKER, NO_STATUS,
		  "it cannot be looked at again" },
		{ "whose a helper is cannot be told", ROLE_HELPER, NO_STATUS,
		  "it cannot be looked at again" },
		{ "nothing to compare it with", ROLE_WORKER, UNSEEN,
		  "it cannot be looked at again" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = check(rows[i].role, rows[i].is, ACT_DONE, OUTCOME_KILLED);

		cr_expect_str_eq(got, rows[i].want, "%s: \"%s\"", rows[i].why, got);
	}
}

Test(reap, a_helper_outlives_no_worker_and_is_not_ended_without_it)
{
	static const struct {
		const char *why;
		enum act_stage stage;
		enum outcome outcome;
		const char *want;
	} rows[] = {
		{ "gone after SIGTERM", ACT_DONE, OUTCOME_EXITED, "" },
		{ "gone after SIGKILL", ACT_DONE, OUTCOME_KILLED, "" },
		{ "gone by itself", ACT_DONE, OUTCOME_VANISHED, "" },
		{ "SIGKILL was sent and stays pending", ACT_UNKILLABLE, OUTCOME_UNKILLABLE, "" },
		{ "spared", ACT_DONE, OUTCOME_SPARED, "its worker is not ended" },
		{ "held back", ACT_DONE, OUTCOME_HELD, "its worker is not ended" },
		{ "refused", ACT_DONE, OUTCOME_REFUSED, "its worker is not ended" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_str_eq(check(ROLE_HELPER, 0, rows[i].stage, rows[i].outcome),
				 rows[i].want, "%s", rows[i].why);
}

Test(reap, who_runs_as_the_same_users)
{
	static const struct {
		const char *why;
		struct evidence a, b;
		bool same;
	} rows[] = {
		{ "all four",
		  { .ids_known = true, .uids = { 1, 2, 3, 4 } },
		  { .ids_known = true, .uids = { 1, 2, 3, 4 } },
		  true },
		{ "the first is unknown", { .uids = { 0 } }, { .ids_known = true }, false },
		{ "the second is unknown", { .ids_known = true }, { .uids = { 0 } }, false },
		{ "another real user",
		  { .ids_known = true, .uids = { 9, 2, 3, 4 } },
		  { .ids_known = true, .uids = { 1, 2, 3, 4 } },
		  false },
		{ "another effective user",
		  { .ids_known = true, .uids = { 1, 9, 3, 4 } },
		  { .ids_known = true, .uids = { 1, 2, 3, 4 } },
		  false },
		{ "another saved user",
		  { .ids_known = true, .uids = { 1, 2, 9, 4 } },
		  { .ids_known = true, .uids = { 1, 2, 3, 4 } },
		  false },
		{ "another user of files",
		  { .ids_known = true, .uids = { 1, 2, 3, 9 } },
		  { .ids_known = true, .uids = { 1, 2, 3, 4 } },
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(reap_same_uids(&rows[i].a, &rows[i].b), rows[i].same, "%s",
			     rows[i].why);
}

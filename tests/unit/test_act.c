/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to processes that the test itself started; each dies with the test, however that ends.
 */
#include "act/act.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pin.h"
#include "live.h"
#include "tmpdir.h"

enum {
	TERM_MS = 300,
	KILL_MS = 5000,
	HIGHEST = -20,
	BEGAN = 1000, /* the clock of the test, which it moves itself */
};

static const struct act_graces graces = { TERM_MS, KILL_MS };

TestSuite(act, .timeout = 60);

static void ignore_term(void *arg)
{
	signal(SIGTERM, SIG_IGN);
	live_pause(arg);
}

static void on_term(int sig)
{
	_exit(sig);
}

/* A newborn's: the daemon's own handler, which would end the whole pool. */
static void catch_term(void *arg)
{
	signal(SIGTERM, on_term);
	live_pause(arg);
}

static struct victim pinned(pid_t pid)
{
	struct victim v = { .dirfd = -1, .pidfd = -1 };

	cr_assert_eq(act_pin((struct ident){ pid, 7 }, ROLE_WORKER, &v), 0);
	return v;
}

/* As the conductor does: until the pidfd says so. */
static void await_end(const struct victim *v)
{
	cr_assert_eq(pin_wait(v->pidfd, LIVE_WAIT_MS), 1, "it does not end");
}

static int reap_child(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Test(act, pin_says_who_it_is)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	cr_expect_eq(v.id.pid, pid);
	cr_expect_eq(v.id.start, 7);
	cr_expect_eq(v.stage, ACT_PINNED);
	cr_expect_eq(v.record.id.pid, pid);
	cr_expect_eq(v.record.role, ROLE_WORKER);
	cr_expect_eq(v.record.signal, 0);
	cr_expect_eq(v.record.freed_bytes, UNKNOWN_U64);
	cr_expect_eq(v.anon_bytes, UNKNOWN_U64);
	cr_expect(pin_alive(v.dirfd));
	cr_expect_eq(pin_wait(v.pidfd, 0), 0, "nothing was sent");
	act_release(&v);
	cr_expect_eq(v.dirfd, -1);
	cr_expect_eq(v.pidfd, -1);
	live_end(pid);
}

Test(act, what_is_gone_cannot_be_pinned)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = { .dirfd = 77 };

	live_end(pid);
	cr_expect_eq(act_pin((struct ident){ pid, 7 }, ROLE_WORKER, &v), -ESRCH);
	cr_expect_eq(v.dirfd, 77, "it is not touched");
	cr_expect_eq(act_pin((struct ident){ 0, 7 }, ROLE_WORKER, &v), -ESRCH);
}

Test(act, without_descriptors_nothing_is_pinned)
{
	pid_t pid = live_start(live_pause, NULL);
	struct rlimit none = { 3, 3 }, before;
	struct victim v = { .dirfd = 77 };
	int dirfd;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(act_pin((struct ident){ pid, 7 }, ROLE_WORKER, &v), -EMFILE);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	/* One is left: the directory is opened, the pidfd is not, and the directory is closed again. */
	dirfd = pin_open(pid);
	cr_assert_geq(dirfd, 0);
	close(dirfd);
	none.rlim_cur = (rlim_t)dirfd + 1;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(act_pin((struct ident){ pid, 7 }, ROLE_WORKER, &v), -EMFILE);
	cr_expect_eq(pin_open(pid), dirfd, "nothing leaks");
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(v.dirfd, 77, "it is not touched");
	close(dirfd);
	live_end(pid);
}

Test(act, without_standard_input_0_is_a_descriptor_like_any_other)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v;

	(void)close(STDIN_FILENO);
	v = pinned(pid);
	cr_expect_eq(v.dirfd, STDIN_FILENO);
	cr_expect(pin_alive(v.dirfd));
	act_release(&v);
	live_end(pid);
}

static void pin_without_open(void *arg)
{
	const pid_t *pid = arg;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct victim v;

	live_need(filter &&
		  seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 0) == 0 &&
		  seccomp_load(filter) == 0);
	live_ready();
	_exit(-act_pin((struct ident){ *pid, 7 }, ROLE_WORKER, &v));
}

Test(act, a_directory_that_may_not_be_opened)
{
	pid_t pid = live_start(live_pause, NULL);

	cr_expect_eq(live_wait(live_start(pin_without_open, &pid)), EACCES, "it is not gone");
	live_end(pid);
}

Test(act, sigterm_ends_it)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	v.anon_bytes = 4096;
	errno = EIO; /* of another call */
	cr_expect_not(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.stage, ACT_TERMED);
	cr_expect_eq(v.record.signal, SIGTERM);
	cr_expect_eq(v.deadline_ms, BEGAN + TERM_MS);
	await_end(&v);
	cr_expect(act_step(&v, &graces, BEGAN + 12));
	cr_expect_eq(v.stage, ACT_DONE);
	cr_expect_eq(v.record.outcome, OUTCOME_EXITED);
	cr_expect_eq(v.record.took_ms, 12);
	cr_expect_eq(v.record.freed_bytes, 4096);
	cr_expect(act_step(&v, &graces, BEGAN + 99), "done is done");
	cr_expect_eq(v.record.took_ms, 12);
	cr_expect_eq(reap_child(pid), SIGTERM);
	act_release(&v);
}

Test(act, who_ignores_sigterm_gets_sigkill_after_the_grace)
{
	pid_t pid = live_start(ignore_term, NULL);
	struct victim v = pinned(pid);

	v.anon_bytes = 4096;
	cr_expect_not(act_step(&v, &graces, BEGAN));
	cr_expect_not(act_step(&v, &graces, BEGAN + TERM_MS - 1));
	cr_expect_eq(v.stage, ACT_TERMED, "not before the deadline");
	cr_expect_eq(pin_wait(v.pidfd, 0), 0);
	cr_expect_not(act_step(&v, &graces, BEGAN + TERM_MS));
	cr_expect_eq(v.stage, ACT_KILLED);
	cr_expect_eq(v.record.signal, SIGKILL);
	cr_expect_eq(v.deadline_ms, BEGAN + TERM_MS + KILL_MS);
	cr_expect_eq(v.began_ms, BEGAN, "the first signal counts");
	await_end(&v);
	cr_expect(act_step(&v, &graces, BEGAN + TERM_MS + 5));
	cr_expect_eq(v.record.outcome, OUTCOME_KILLED);
	cr_expect_eq(v.record.took_ms, TERM_MS + 5);
	cr_expect_eq(v.record.freed_bytes, 4096);
	cr_expect_eq(reap_child(pid), SIGKILL);
	act_release(&v);
}

Test(act, who_catches_sigterm_gets_sigkill_at_once)
{
	pid_t pid = live_start(catch_term, NULL);
	struct victim v = pinned(pid);

	v.kill_at_once = true;
	cr_expect_not(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.stage, ACT_KILLED);
	cr_expect_eq(v.record.signal, SIGKILL);
	cr_expect_eq(v.deadline_ms, BEGAN + KILL_MS);
	await_end(&v);
	cr_expect(act_step(&v, &graces, BEGAN + 1));
	cr_expect_eq(v.record.outcome, OUTCOME_KILLED);
	cr_expect_eq(reap_child(pid), SIGKILL, "its handler never ran");
	act_release(&v);
}

Test(act, a_stopped_one_is_killed_all_the_same)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	cr_assert_eq(kill(pid, SIGSTOP), 0);
	live_await_state(pid, 'T');
	cr_expect_not(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.record.signal, SIGTERM);
	cr_expect_eq(pin_wait(v.pidfd, 50), 0, "SIGTERM waits for it to go on");
	cr_expect_not(act_step(&v, &graces, BEGAN + TERM_MS));
	await_end(&v);
	cr_expect(act_step(&v, &graces, BEGAN + TERM_MS + 1));
	cr_expect_eq(v.record.outcome, OUTCOME_KILLED);
	cr_expect_eq(reap_child(pid), SIGKILL);
	act_release(&v);
}

Test(act, gone_before_a_signal)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	v.anon_bytes = 4096;
	live_end(pid);
	cr_expect(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.record.outcome, OUTCOME_VANISHED);
	cr_expect_eq(v.record.signal, 0, "nothing was sent");
	cr_expect_eq(v.record.took_ms, 0);
	cr_expect_eq(v.record.freed_bytes, UNKNOWN_U64, "it freed nothing by us");
	act_release(&v);
}

Test(act, a_zombie_has_ended)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	cr_assert_eq(kill(pid, SIGKILL), 0);
	live_await_state(pid, 'Z');
	cr_expect(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.record.outcome, OUTCOME_VANISHED);
	cr_expect_eq(v.record.signal, 0);
	cr_expect_eq(reap_child(pid), SIGKILL);
	act_release(&v);
}

Test(act, what_is_no_pidfd_signals_nobody)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);
	int pidfd = v.pidfd, pipes[2];

	cr_assert_eq(pipe(pipes), 0);
	v.pidfd = pipes[0];
	cr_expect(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.record.outcome, OUTCOME_REFUSED);
	cr_expect_eq(v.record.signal, 0, "none was sent");
	cr_expect_eq(v.record.took_ms, 0);
	cr_expect(strstr(v.record.why, "refused signal 15"), "%s", v.record.why);
	cr_expect_eq(pin_wait(pidfd, 0), 0, "it lives on: there is no second way to signal");
	v.pidfd = pidfd;
	act_release(&v);
	close(pipes[0]);
	close(pipes[1]);
	live_end(pid);
}

Test(act, a_signal_that_the_kernel_refuses)
{
	const struct passwd *nobody = getpwnam("nobody");
	pid_t pid = live_start(live_pause, NULL), child;
	int status = 0;

	if (geteuid() != 0 || !nobody) {
		live_end(pid);
		cr_skip_test("only root can become another user who may not signal");
	}
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		struct victim v = { .dirfd = -1, .pidfd = -1 };

		alarm(LIVE_WAIT_MS / 1000);
		if (act_pin((struct ident){ pid, 7 }, ROLE_WORKER, &v) < 0)
			_exit(2);
		if (setresuid(nobody->pw_uid, nobody->pw_uid, nobody->pw_uid) < 0)
			_exit(3);
		if (!act_step(&v, &graces, BEGAN) || v.record.outcome != OUTCOME_REFUSED)
			_exit(4);
		if (!strstr(v.record.why, "refused signal 15") || v.record.signal)
			_exit(5);
		_exit(v.stage == ACT_DONE ? 0 : 6);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "step %d failed",
		  WEXITSTATUS(status));
	cr_expect_eq(kill(pid, 0), 0, "it lives on");
	live_end(pid);
}

static void be_told_that_it_is_gone(void *arg)
{
	const pid_t *pid = arg;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct victim v = { .dirfd = -1, .pidfd = -1 };

	live_need(filter &&
		  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ESRCH), SCMP_SYS(pidfd_send_signal), 0) ==
			  0 &&
		  seccomp_load(filter) == 0);
	live_need(act_pin((struct ident){ *pid, 7 }, ROLE_WORKER, &v) == 0);
	live_ready();
	_exit(act_step(&v, &graces, BEGAN) ? (int)v.record.outcome : 0xFF);
}

Test(act, who_lives_is_not_gone_whatever_a_signal_call_says)
{
	pid_t pid = live_start(live_pause, NULL);

	cr_expect_eq(live_wait(live_start(be_told_that_it_is_gone, &pid)), OUTCOME_REFUSED);
	cr_expect_eq(kill(pid, 0), 0, "it lives on");
	live_end(pid);
}

/* No process can be made to outlive SIGKILL here; one to which none was sent is there after it. */
Test(act, unkillable_is_what_the_pidfd_shows_after_the_grace)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	v.stage = ACT_KILLED;
	v.began_ms = BEGAN;
	v.deadline_ms = BEGAN + KILL_MS;
	cr_expect_not(act_step(&v, &graces, BEGAN + KILL_MS - 1));
	cr_expect(act_step(&v, &graces, BEGAN + KILL_MS));
	cr_expect_eq(v.stage, ACT_UNKILLABLE);
	cr_expect_eq(v.record.outcome, OUTCOME_UNKILLABLE);
	cr_expect_eq(v.record.took_ms, KILL_MS);
	cr_expect_eq(v.record.freed_bytes, UNKNOWN_U64);
	cr_expect(strstr(v.record.why, "still there after SIGKILL, in "), "%s", v.record.why);
	cr_expect(act_step(&v, &graces, BEGAN + 2 * KILL_MS), "its story is over");
	cr_expect_eq(v.record.took_ms, KILL_MS);
	act_release(&v);
	live_end(pid);
}

Test(act, where_an_unkillable_one_hangs)
{
	static const struct {
		const char *why, *wchan, *want;
	} rows[] = {
		{ "its wchan says it", "nfs_wait", "still there after SIGKILL, in nfs_wait" },
		{ "it says nothing", "", "still there after SIGKILL, in an unknown place" },
		{ "nobody can ask", NULL, "still there after SIGKILL, in an unknown place" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_tmpdir_ struct tmpdir dir = tmpdir_make();
		struct victim v = { .stage = ACT_KILLED, .pidfd = -1 };

		if (rows[i].wchan)
			tmpdir_write(&dir, "wchan", rows[i].wchan, strlen(rows[i].wchan), 0600);
		v.dirfd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		cr_assert_geq(v.dirfd, 0);
		cr_expect(act_step(&v, &graces, BEGAN), "%s", rows[i].why);
		cr_expect_str_eq(v.record.why, rows[i].want, "%s", rows[i].why);
		act_release(&v);
	}
}

Test(act, a_victim_that_is_not_signalled)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	act_close(&v, OUTCOME_SPARED, "its task socket changed");
	cr_expect_eq(v.stage, ACT_DONE);
	cr_expect_eq(v.record.outcome, OUTCOME_SPARED);
	cr_expect_str_eq(v.record.why, "its task socket changed");
	cr_expect(act_step(&v, &graces, BEGAN), "it is over");
	cr_expect_eq(pin_wait(v.pidfd, 0), 0, "it lives on");
	act_release(&v);
	live_end(pid);
}

Test(act, a_long_reason_is_cut)
{
	char why[2 * AUDIT_TEXT_MAX];
	struct victim v = { .dirfd = -1, .pidfd = -1 };

	memset(why, 'x', sizeof(why));
	why[sizeof(why) - 1] = '\0';
	act_close(&v, OUTCOME_HELD, why);
	cr_expect_eq(strlen(v.record.why), sizeof(v.record.why) - 1);
}

/* ---- the priority: two calls in place of the C library's, so that nobody has to be root ---- */

static struct {
	int was;           /* what the number has */
	int get_error;     /* errno of getpriority(2); 0 */
	bool refused;      /* setpriority(2) is not allowed */
	pid_t ends_at_get; /* a process that ends meanwhile; 0 */
	pid_t ends_at_set;
	id_t who; /* the last that was changed */
	size_t count;
	int set[2];
} asked;

static void end_meanwhile(pid_t *pid)
{
	if (*pid)
		live_end(*pid);
	*pid = 0;
}

int getpriority(__priority_which_t which, id_t who)
{
	(void)which;
	(void)who;
	end_meanwhile(&asked.ends_at_get);
	if (asked.get_error)
		errno = asked.get_error;
	return asked.get_error ? -1 : asked.was;
}

int setpriority(__priority_which_t which, id_t who, int prio)
{
	(void)which;
	end_meanwhile(&asked.ends_at_set);
	asked.who = who;
	if (asked.count < ARRAY_SIZE(asked.set))
		asked.set[asked.count] = prio;
	asked.count++;
	if (asked.refused)
		errno = EACCES;
	return asked.refused ? -1 : 0;
}

static const struct priority_row {
	const char *why;
	int was, get_error;
	bool refused, ends_at_get, ends_at_set;
	size_t count;
	int set[2];
} priorities[] = {
	{ .why = "it ends sooner so", .was = 5, .count = 1, .set = { HIGHEST } },
	{ .why = "-1 is a priority, too", .was = -1, .count = 1, .set = { HIGHEST } },
	{ .why = "what nobody says cannot be given back", .get_error = ESRCH },
	{ .why = "the number may be another's by now", .ends_at_get = true },
	{ .why = "whoever has the number gets back what it had",
	  .was = 7,
	  .ends_at_set = true,
	  .count = 2,
	  .set = { HIGHEST, 7 } },
	{ .why = "what was refused is not given back",
	  .was = 7,
	  .refused = true,
	  .ends_at_set = true,
	  .count = 1,
	  .set = { HIGHEST } },
	{ .why = "what is refused is killed all the same",
	  .refused = true,
	  .count = 1,
	  .set = { HIGHEST } },
};

Test(act, its_priority_is_raised_before_sigkill)
{
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		const struct priority_row *r = &priorities[i];
		bool ends = r->ends_at_get || r->ends_at_set;
		pid_t pid = live_start(live_pause, NULL);
		struct victim v = pinned(pid);

		memset(&asked, 0, sizeof(asked));
		asked.was = r->was;
		asked.get_error = r->get_error;
		asked.refused = r->refused;
		asked.ends_at_get = r->ends_at_get ? pid : 0;
		asked.ends_at_set = r->ends_at_set ? pid : 0;
		v.kill_at_once = true;
		errno = EIO; /* of another call */
		cr_expect_eq(act_step(&v, &graces, BEGAN), ends, "%s", r->why);
		cr_expect_eq(v.record.signal, ends ? 0 : SIGKILL, "%s", r->why);
		cr_assert_eq(asked.count, r->count, "%s: %zu times", r->why, asked.count);
		for (size_t k = 0; k < r->count; k++)
			cr_expect_eq(asked.set[k], r->set[k], "%s: %d", r->why, asked.set[k]);
		cr_expect_eq(asked.who, r->count ? (id_t)pid : 0, "%s", r->why);
		act_release(&v);
		if (!ends)
			live_end(pid);
	}
}

Test(act, sigterm_raises_no_priority)
{
	pid_t pid = live_start(ignore_term, NULL);
	struct victim v = pinned(pid);

	cr_expect_not(act_step(&v, &graces, BEGAN));
	cr_expect_eq(asked.count, 0, "it may take its time");
	act_release(&v);
	live_end(pid);
}

Test(act, gone_when_its_first_signal_comes)
{
	pid_t pid = live_start(live_pause, NULL);
	struct victim v = pinned(pid);

	v.kill_at_once = true;
	v.anon_bytes = 4096;
	asked.ends_at_get = pid;
	cr_expect(act_step(&v, &graces, BEGAN));
	cr_expect_eq(v.stage, ACT_DONE);
	cr_expect_eq(v.record.outcome, OUTCOME_VANISHED);
	cr_expect_eq(v.record.signal, 0, "none has reached it");
	cr_expect_eq(v.record.freed_bytes, UNKNOWN_U64, "it freed nothing by us");
	cr_expect_str_eq(v.record.why, "", "nobody refused anything");
	act_release(&v);
}

Test(act, gone_when_sigkill_comes)
{
	pid_t pid = live_start(ignore_term, NULL);
	struct victim v = pinned(pid);

	v.anon_bytes = 4096;
	cr_expect_not(act_step(&v, &graces, BEGAN));
	asked.ends_at_get = pid;
	cr_expect(act_step(&v, &graces, BEGAN + TERM_MS));
	cr_expect_eq(v.stage, ACT_DONE);
	cr_expect_eq(v.record.outcome, OUTCOME_EXITED, "after SIGTERM");
	cr_expect_eq(v.record.signal, SIGTERM, "the last that has reached it");
	cr_expect_eq(v.record.took_ms, TERM_MS);
	cr_expect_eq(v.record.freed_bytes, 4096);
	act_release(&v);
}

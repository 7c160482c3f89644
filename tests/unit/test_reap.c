/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the kill path on living processes: who is signalled when, and what is told of it.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/fs.h"
#include "reap_scene.h"

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

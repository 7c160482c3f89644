/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the kill path on living processes: who is signalled when, and what is told of it.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "app/reap.h"
#include "base/clock.h"
#include "base/pin.h"
#include "live.h"
#include "model/grow.h"

TestSuite(reap, .timeout = 120);

enum {
	TOLD_MAX = 8,
	SOON_MS = 200,
	LONG_MS = 60 * 1000,
};

struct scene {
	struct look look;
	struct config config;
	struct reap reap;
	struct action_record told[TOLD_MAX];
	size_t told_count;
};

static void tell(void *arg, const struct action_record *record)
{
	struct scene *s = arg;

	cr_assert_lt(s->told_count, TOLD_MAX);
	s->told[s->told_count++] = *record;
}

static void scene_make(struct scene *s)
{
	*s = (struct scene){
		.config = { .term_grace_ms = LONG_MS, .kill_grace_ms = LONG_MS },
		.reap = { .look = &s->look, .config = &s->config, .sink = tell, .arg = s },
	};
	s->reap.settled = true; /* no list of the tree: all are here */
}

static void scene_done(struct scene *s)
{
	reap_done(&s->reap);
	history_done(&s->look.history);
}

/* Adds a process; a helper belongs to the first, a worker. */
static struct victim *add(struct scene *s, pid_t pid, enum role role)
{
	struct reap *r = &s->reap;
	struct victim *more = grow(r->victims, r->count, &r->room, sizeof(*more), TOLD_MAX);

	cr_assert_not_null(more);
	r->victims = more;
	cr_assert_eq(act_pin((struct ident){ .pid = pid }, role, &more[r->count]), 0);
	more[r->count].worker = 0;
	return &more[r->count++];
}

static const struct action_record *told_of(const struct scene *s, pid_t pid)
{
	const struct action_record *found = NULL;

	for (size_t i = 0; i < s->told_count; i++)
		if (s->told[i].id.pid == pid) {
			cr_expect_null(found, "%d is told of twice", pid);
			found = &s->told[i];
		}
	return found;
}

static void await_end(const struct victim *v)
{
	cr_assert_eq(pin_wait(v->pidfd, LIVE_WAIT_MS), 1);
}

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
	cr_assert_not_null(told_of(&s, helper));
	cr_expect_eq(told_of(&s, helper)->outcome, OUTCOME_VANISHED);
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

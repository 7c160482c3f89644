/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "app/history_file.h"
#include "app/reap_check.h"
#include "app/reap_helpers.h"
#include "base/clock.h"
#include "base/fs.h"
#include "correlate/correlate.h"
#include "model/grow.h"
#include "report/json.h"

enum {
	PAUSE_LEAST_MS = 50,
	PAUSE_SPAN_MS = 200,
	SPARE_FDS = 32,
};

int reap_add(struct reap *r, struct ident id, enum role role, size_t worker)
{
	struct victim *v = grow(r->victims, r->count, &r->room, sizeof(*v), AUDIT_SUBJECTS_MAX);
	int err;

	if (!v)
		return -ENOMEM;
	r->victims = v;
	err = act_pin(id, role, &v[r->count]);
	if (err < 0)
		return err;
	v[r->count++].worker = worker;
	return 0;
}

static void close_and_tell(struct reap *r, struct victim *v, enum outcome outcome, const char *why)
{
	act_close(v, outcome, why);
	r->sink(r->arg, &v->record);
}

static void tell_unpinned(struct reap *r, const struct subject *s, int err)
{
	struct action_record record = {
		.id = s->id,
		.role = s->role,
		.outcome = err == -ESRCH ? OUTCOME_VANISHED : OUTCOME_REFUSED,
		.freed_bytes = UNKNOWN_U64,
	};

	(void)snprintf(record.why, sizeof(record.why), "cannot be pinned: %s", strerror(-err));
	r->sink(r->arg, &record);
}

/* A worker and its helpers, or none of them: one that is left would keep the task socket open. */
static void pin_group(struct reap *r, const struct audit *first, size_t worker)
{
	const struct subject *s = &first->subjects[worker];
	size_t at = r->count;
	int err = reap_add(r, s->id, s->role, at);

	if (err == 0)
		err = reap_pin_helpers(r, first, worker, at);
	if (err == 0)
		return;
	while (r->count > at)
		act_release(&r->victims[--r->count]);
	tell_unpinned(r, s, err);
}

/* Pins must leave as many descriptors as the second look and the lists after it need. */
static void pin_planned(struct reap *r, const struct audit *first, const struct plan *plan)
{
	int spare[SPARE_FDS];

	for (size_t i = 0; i < SPARE_FDS; i++)
		spare[i] = fcntl(r->log->fd, F_DUPFD_CLOEXEC, 0);
	for (size_t i = 0; i < plan->count; i++)
		pin_group(r, first, plan->items[i]);
	for (size_t i = 0; i < SPARE_FDS; i++)
		fs_close(&spare[i]);
}

static void tell_held(struct reap *r, const struct audit *first, const struct plan *plan)
{
	for (size_t i = plan->count; i < plan->count + plan->held; i++) {
		struct action_record held = {
			.id = first->subjects[plan->items[i]].id,
			.role = first->subjects[plan->items[i]].role,
			.outcome = OUTCOME_HELD,
			.freed_bytes = UNKNOWN_U64,
			.why = "max_kills_per_sweep or max_kills_per_hour is reached",
		};

		r->sink(r->arg, &held);
	}
}

/* So short that nothing is lost, so uneven that nothing periodic hides from it. */
static bool pause_a_little(const struct reap *r)
{
	uint8_t dice = 0;

	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice))
		dice = (uint8_t)clock_boot_ms();
	return look_pause(r->look, PAUSE_LEAST_MS + (uint64_t)dice * PAUSE_SPAN_MS / UINT8_MAX);
}

static int compare_pins(const void *a, const void *b)
{
	const struct look_pin *p = a, *q = b;

	return ident_compare(p->id, q->id);
}

static int look_again(struct reap *r)
{
	_cleanup_free_ struct look_pin *pins = calloc(r->count, sizeof(*pins));
	int err;

	if (!pins)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++)
		pins[i] = (struct look_pin){ r->victims[i].id, r->victims[i].dirfd };
	qsort(pins, r->count, sizeof(*pins), compare_pins);
	r->look->pins = pins;
	r->look->pin_count = r->count;
	err = look_take(r->look, &r->second);
	r->look->pins = NULL;
	r->look->pin_count = 0;
	r->second_taken = err == 0;
	return err;
}

/* The second look must give the same verdict from the same evidence, through the pinned directory. */
static void spare_changed(struct reap *r, const struct audit *first, struct victim *v)
{
	const struct subject *was = audit_find(first, v->id.pid);
	const struct subject *is = audit_find(&r->second, v->id.pid);
	char why[AUDIT_TEXT_MAX];
	const char *differs;

	if (act_see(v, clock_boot_ms())) {
		r->sink(r->arg, &v->record);
		return;
	}
	if (!is || is->ev.vanished) {
		close_and_tell(r, v, OUTCOME_SPARED, "it is no worker any more");
		return;
	}
	if (is->verdict.action != ACTION_REAP) {
		(void)snprintf(why, sizeof(why), "the second look says %s %s",
			       action_name(is->verdict.action), reason_name(is->verdict.reason));
		close_and_tell(r, v, OUTCOME_SPARED, why);
		return;
	}
	differs = correlate_difference(was, is);
	if (differs)
		close_and_tell(r, v, OUTCOME_SPARED, differs);
}

static void prepare(struct reap *r, struct victim *v)
{
	const struct subject *s = audit_find(&r->second, v->id.pid);

	if (!s)
		return;
	/* A worker's handler may be its daemon's, which ends the whole group; a program's is its own. */
	v->kill_at_once = v->role == ROLE_WORKER && !s->facts.term_default;
	if (v->role == ROLE_HELPER)
		reap_prepare_helper(r, v, &s->ev);
	v->anon_bytes = s->ev.pss_bytes != UNKNOWN_U64 ? s->ev.pss_bytes : s->ev.anon_bytes;
}

static int add_intent(const struct reap *r, const struct victim *v, struct buf *lines)
{
	const struct subject *s = audit_find(&r->second, v->id.pid);
	struct json_intent intent = {
		.wall_ms = clock_wall_ms(),
		.boot_id = r->look->self.boot_id,
		.subject = s,
		.worker = audit_find(&r->second, r->victims[v->worker].id.pid),
		.policy = &r->config->policy,
		.kill_at_once = v->kill_at_once,
	};

	return s ? json_intent(&intent, lines) : -ESRCH;
}

static int write_intents(struct reap *r)
{
	_cleanup_(buf_done) struct buf lines = { 0 };
	int err = 0;

	for (size_t i = 0; i < r->count && err == 0; i++) {
		prepare(r, &r->victims[i]);
		if (r->victims[i].stage == ACT_PINNED)
			err = add_intent(r, &r->victims[i], &lines);
	}
	return err < 0 ? err : audit_log_append(r->log, &lines, true);
}

static void hold_all(struct reap *r, const char *why)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->victims[i].stage == ACT_PINNED)
			close_and_tell(r, &r->victims[i], OUTCOME_HELD, why);
}

/* What max_kills_per_hour would not know of is not ended, and it must know even if we are killed. */
static int count_kills(struct reap *r)
{
	const struct look *l = r->look;

	for (size_t i = 0; i < r->count; i++) {
		struct victim *v = &r->victims[i];

		if (!role_is_judged(v->role) || v->stage != ACT_PINNED ||
		    history_kill(&r->look->history, clock_boot_ms()) == 0)
			continue;
		close_and_tell(r, v, OUTCOME_HELD, "it cannot be counted: no memory");
		r->error = -ENOMEM;
	}
	return history_file_save(l->config->state_dir, l->self.boot_id, &l->history);
}

/* Whatever stops it before the first signal stops all of it. */
static int get_ready(struct reap *r, const struct audit *first)
{
	int err;

	r->need = REAP_LOOK;
	err = look_again(r);
	if (err < 0)
		return err;
	for (size_t i = 0; i < r->count; i++)
		if (role_is_judged(r->victims[i].role))
			spare_changed(r, first, &r->victims[i]);
	reap_spare_helpers(r, 0);
	r->need = REAP_INTENTS;
	err = write_intents(r);
	if (err < 0)
		return err;
	r->need = REAP_COUNT;
	return count_kills(r);
}

int reap_begin(struct reap *r, const struct audit *first, const struct plan *plan)
{
	static const char *const why[] = {
		[REAP_LOOK] = "the second look failed",
		[REAP_INTENTS] = "the audit log cannot be written",
		[REAP_COUNT] = "the count of kills cannot be written to state_dir",
	};
	int err;

	tell_held(r, first, plan);
	pin_planned(r, first, plan);
	r->settled = !r->count;
	if (!r->count)
		return 0;
	if (!pause_a_little(r)) {
		hold_all(r, "reaper was told to stop");
		r->settled = true;
		return 0;
	}
	err = get_ready(r, first);
	if (err < 0) {
		hold_all(r, why[r->need]);
		r->settled = true;
		return err;
	}
	(void)reap_step(r, clock_boot_ms());
	return 0;
}

static bool is_over(const struct victim *v)
{
	return v->stage == ACT_DONE || v->stage == ACT_UNKILLABLE;
}

/* A helper is ended after its worker: a pool would fork a new one in its place. */
static bool may_step(const struct reap *r, const struct victim *v)
{
	return role_is_judged(v->role) || is_over(&r->victims[v->worker]);
}

static void note_unkillable(struct reap *r, const struct victim *v)
{
	struct history_entry *e = history_find(&r->look->history, v->id);

	if (e && v->stage == ACT_UNKILLABLE)
		e->unkillable = true;
}

static bool is_about_to_be_signalled(const struct victim *v, uint64_t now_ms)
{
	return v->stage == ACT_PINNED || (v->stage == ACT_TERMED && now_ms >= v->deadline_ms);
}

/* Takes one victim as far as it goes without waiting. @return true: its story has ended. */
static bool step_one(const struct reap *r, struct victim *v, uint64_t now_ms)
{
	const struct act_graces graces = { r->config->term_grace_ms, r->config->kill_grace_ms };
	const char *why;

	if (act_see(v, now_ms))
		return true;
	if (!may_step(r, v))
		return false;
	why = is_about_to_be_signalled(v, now_ms) ? reap_check(r, v) : NULL;
	if (!why)
		return act_step(v, &graces, now_ms);
	act_close(v, OUTCOME_SPARED, why);
	return true;
}

static bool step_all(struct reap *r, uint64_t now_ms)
{
	bool alive = false;

	for (size_t i = 0; i < r->count; i++) {
		struct victim *v = &r->victims[i];

		if (is_over(v))
			continue;
		if (step_one(r, v, now_ms)) {
			note_unkillable(r, v);
			r->sink(r->arg, &v->record);
		}
		alive |= !is_over(v);
	}
	return alive;
}

bool reap_step(struct reap *r, uint64_t now_ms)
{
	bool alive = step_all(r, now_ms);

	/* What was forked while the signals were on their way goes too. */
	while (alive && !r->settled && r->rounds++ < REAP_ROUNDS_MAX) {
		int added = reap_find_new_helpers(r);

		if (added < 0 && !r->error)
			r->error = added;
		if (added <= 0)
			r->settled = true;
		alive = step_all(r, now_ms);
	}
	return alive;
}

bool reap_waits_for(const struct victim *v)
{
	return !is_over(v);
}

uint64_t reap_deadline_ms(const struct reap *r)
{
	uint64_t deadline = UNKNOWN_U64;

	for (size_t i = 0; i < r->count; i++)
		if (!is_over(&r->victims[i]) && r->victims[i].stage != ACT_PINNED)
			deadline = MIN(deadline, r->victims[i].deadline_ms);
	return deadline;
}

void reap_stop(struct reap *r, const char *why)
{
	for (size_t i = 0; i < r->count; i++) {
		struct victim *v = &r->victims[i];

		if (is_over(v))
			continue;
		if (act_see(v, clock_boot_ms()))
			r->sink(r->arg, &v->record);
		else
			close_and_tell(r, v, OUTCOME_HELD, why);
	}
}

void reap_done(struct reap *r)
{
	for (size_t i = 0; i < r->count; i++)
		act_release(&r->victims[i]);
	free(r->victims);
	if (r->second_taken)
		audit_done(&r->second);
	r->victims = NULL;
	r->count = 0;
	r->room = 0;
	r->second_taken = false;
	r->rounds = 0;
	r->settled = false;
}

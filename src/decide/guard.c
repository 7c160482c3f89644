/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/guard.h"

#include <assert.h>

#include "base/macro.h"
#include "decide/fence.h"

static bool vanished(const struct policy *policy _unused_, const struct facts *f)
{
	return f->vanished;
}

static bool self(const struct policy *policy _unused_, const struct facts *f)
{
	return f->is_self;
}

static bool ancestor(const struct policy *policy _unused_, const struct facts *f)
{
	return f->is_ancestor;
}

static bool protected(const struct policy *policy _unused_, const struct facts *f)
{
	return f->is_protected;
}

static bool foreign_uid(const struct policy *policy _unused_, const struct facts *f)
{
	return f->foreign_uid;
}

static bool other_pidns(const struct policy *policy _unused_, const struct facts *f)
{
	return f->other_pidns;
}

static bool changed(const struct policy *policy _unused_, const struct facts *f)
{
	return f->changed;
}

static bool traced(const struct policy *policy _unused_, const struct facts *f)
{
	return f->traced;
}

static bool dumping(const struct policy *policy _unused_, const struct facts *f)
{
	return f->dumping;
}

static bool stopped(const struct policy *policy _unused_, const struct facts *f)
{
	return f->stopped;
}

static bool uninterruptible(const struct policy *policy _unused_, const struct facts *f)
{
	return f->uninterruptible;
}

static bool unreadable(const struct policy *policy _unused_, const struct facts *f)
{
	return f->unreadable;
}

static bool running(const struct policy *policy _unused_, const struct facts *f)
{
	return f->asleep != TRI_YES;
}

static bool unknown_wait(const struct policy *policy _unused_, const struct facts *f)
{
	return f->wait == WAIT_UNKNOWN;
}

static bool progress(const struct policy *policy _unused_, const struct facts *f)
{
	return f->progress != TRI_NO;
}

static bool too_young(const struct policy *policy, const struct facts *f)
{
	return f->age_ms == UNKNOWN_U64 || f->age_ms < policy->min_age_ms;
}

/* Objections to every proof. `suspects`: they also say why a silent worker is no suspect. */
static const struct {
	enum reason reason;
	bool (*objects)(const struct policy *policy, const struct facts *facts);
	bool suspects;
} guards[] = {
	{ REASON_VANISHED, vanished, true },
	{ REASON_SELF, self, true },
	{ REASON_ANCESTOR, ancestor, true },
	{ REASON_PROTECTED, protected, true },
	{ REASON_FOREIGN_UID, foreign_uid, true },
	{ REASON_OTHER_PIDNS, other_pidns, true },
	{ REASON_CHANGED, changed, true },
	{ REASON_TRACED, traced, true },
	{ REASON_DUMPING, dumping, true },
	{ REASON_STOPPED, stopped, true },
	{ REASON_UNINTERRUPTIBLE, uninterruptible, true },
	{ REASON_UNREADABLE, unreadable, true },
	{ REASON_RUNNING, running, true },
	{ REASON_UNKNOWN_WAIT, unknown_wait, false },
	{ REASON_PROGRESS, progress, true },
	{ REASON_TOO_YOUNG, too_young, false },
};

enum reason guard_first(const struct policy *policy, const struct facts *facts, bool fenced)
{
	for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
		if ((fenced || guards[i].suspects) && guards[i].objects(policy, facts))
			return guards[i].reason;
	return REASON_COUNT;
}

/* The operator's word stands above an open task and above waiting bytes: that is what it is for. */
static bool by_operator(enum fence fence, const struct facts *f)
{
	return fence == FENCE_RETIRED && f->retired_by_operator;
}

/* The kernel knows better than a log that lost its end. */
static bool open_task(enum fence fence, const struct policy *policy _unused_, const struct facts *f)
{
	bool by_markers =
		fence == FENCE_RETIRED || fence == FENCE_TASK_ENDED || fence == FENCE_ASSUMED;

	return by_markers && f->tasks_open && !by_operator(fence, f);
}

/* The host's own word: not that its tasks have ended, since it may have gone on to one that no log bound to it,
 * but that nobody has it any more. */
static bool host_is_done(const struct policy *policy, const struct facts *f)
{
	return fence_holds(FENCE_TASK_ENDED, policy, f) == TRI_YES;
}

/* While somebody holds the host's end, bytes in the task socket are wanted; after that they are a
 * dead task's leftovers. What a worker that its host gave up has to say is wanted by nobody; what was
 * said to it may be a new task. A worker that signed off may also not be ended while the host has not read all,
 * or has a thread that may write to it: the write would fail, and with it the task, and what the host
 * has not read would be lost. */
static bool unread_bytes(enum fence fence, const struct policy *policy, const struct facts *f)
{
	if (by_operator(fence, f) || f->host_held == TRI_NO)
		return false;
	if (f->recv_queue != 0)
		return true;
	if (fence == FENCE_RETIRED)
		return false;
	if (f->send_queue != 0)
		return true;
	return fence == FENCE_SIGNED_OFF && !host_is_done(policy, f) &&
	       (f->host_recv_queue != 0 || f->host_writes != TRI_NO);
}

static bool fence_off(enum fence fence, const struct policy *policy, const struct facts *f _unused_)
{
	return fence != FENCE_ASSUMED && !(policy->fences & (1u << fence));
}

/* Objections to one proof; another may stand without them. */
static const struct {
	enum reason reason;
	bool (*objects)(enum fence fence, const struct policy *policy, const struct facts *facts);
} objections[] = {
	{ REASON_OPEN_TASK, open_task },
	{ REASON_UNREAD_BYTES, unread_bytes },
	{ REASON_FENCE_OFF, fence_off },
};
static_assert(ARRAY_SIZE(guards) + ARRAY_SIZE(objections) == REASON_FENCE_OFF + 1,
	      "every reason to keep that is a guard's has its guard");

enum reason guard_fence(enum fence fence, const struct policy *policy, const struct facts *facts)
{
	for (size_t i = 0; i < ARRAY_SIZE(objections); i++)
		if (objections[i].objects(fence, policy, facts))
			return objections[i].reason;
	return REASON_COUNT;
}

/* Of several objections to one proof each is told, not only the first. */
static bool objects_to_all(size_t objection, const struct policy *policy, const struct facts *facts)
{
	bool any = false;

	for (enum fence f = FENCE_NONE + 1; f < FENCE_COUNT; f++) {
		if (fence_holds(f, policy, facts) != TRI_YES)
			continue;
		if (!objections[objection].objects(f, policy, facts))
			return false;
		any = true;
	}
	return any;
}

bool guard_objects(enum reason guard, const struct policy *policy, const struct facts *facts)
{
	for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
		if (guards[i].reason == guard)
			return guards[i].objects(policy, facts);
	for (size_t i = 0; i < ARRAY_SIZE(objections); i++)
		if (objections[i].reason == guard)
			return objects_to_all(i, policy, facts);
	return false;
}

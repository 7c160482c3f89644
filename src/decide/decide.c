/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/decide.h"

#include "base/macro.h"
#include "decide/fence.h"
#include "decide/guard.h"

static struct verdict keep(enum reason reason)
{
	return (struct verdict){
		.action = ACTION_KEEP,
		.reason = reason,
		.fence_age_ms = UNKNOWN_U64,
		.due_in_ms = UNKNOWN_U64,
	};
}

static struct verdict suspect(enum reason reason, enum missing missing)
{
	struct verdict v = keep(reason);

	v.action = ACTION_SUSPECT;
	v.missing = missing;
	return v;
}

/* Which proof a silent worker lacks. */
static enum missing missing_proof(const struct facts *f)
{
	if (f->socket == SOCKET_UNKNOWN)
		return MISSING_EVIDENCE;
	if (f->tasks_open)
		return MISSING_TASK_END;
	if (!f->host_log)
		return MISSING_MARKERS;
	if (!f->logs_whole)
		return MISSING_LOG_END;
	return f->tasks_bound ? MISSING_POOL_WORD : MISSING_BINDING;
}

/* Which proof a program that stands alone lacks. */
static enum missing missing_word(const struct facts *f, bool proven)
{
	if (proven)
		return MISSING_MAY_KILL;
	if (!f->host_log)
		return MISSING_OWN_LOG;
	return f->logs_whole ? MISSING_OWN_END : MISSING_LOG_END;
}

/* Nothing speaks against it. */
static enum reason calm(const struct facts *f)
{
	if (f->leased)
		return REASON_LEASED;
	if (f->pooled)
		return REASON_POOLED;
	return f->tasks_open || f->asleep == TRI_NO ? REASON_SERVING : REASON_IDLE;
}

/* One proof that holds, and how far it is from being due. */
struct candidate {
	enum fence fence;
	enum reason objection; /* REASON_COUNT: none */
	uint64_t age_ms;
	uint64_t due_in_ms;
};

/* Blocked without progress for the timeout, and for as long since the proof. */
static uint64_t due_in(const struct policy *policy, const struct facts *f, uint64_t age_ms)
{
	uint64_t waited = f->blocked_ms == UNKNOWN_U64 ? 0 : MIN(f->blocked_ms, age_ms);

	return policy->timeout_ms - MIN(waited, policy->timeout_ms);
}

static struct candidate candidate(enum fence fence, const struct policy *policy,
				  const struct facts *f)
{
	struct candidate c = { .fence = fence, .objection = guard_fence(fence, policy, f) };

	c.age_ms = fence_age_ms(fence, policy, f);
	if (fence >= FENCE_RETIRED)
		c.age_ms = MIN(c.age_ms, f->blocked_ms); /* by a marker's clock */
	c.due_in_ms = due_in(policy, f, c.age_ms);
	if (c.objection == REASON_COUNT && c.due_in_ms)
		c.objection = REASON_WAITING;
	return c;
}

/* The first that is due; else the one to which the least is objected (the order of reasons), and of
 * these the one due soonest. No proof at all is the worst. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->objection > b->objection)
		return true;
	return a->objection == b->objection && a->due_in_ms < b->due_in_ms;
}

static struct candidate best_candidate(const struct policy *policy, const struct facts *f)
{
	struct candidate best = { .fence = FENCE_NONE, .objection = 0 };

	for (enum fence fence = FENCE_NONE + 1; fence < FENCE_COUNT; fence++) {
		struct candidate c;

		if (fence_holds(fence, policy, f) != TRI_YES)
			continue;
		c = candidate(fence, policy, f);
		if (is_better(&c, &best))
			best = c;
	}
	return best;
}

static struct verdict fenced(const struct policy *policy, const struct facts *f,
			     const struct candidate *best)
{
	enum reason guard = guard_first(policy, f, true);
	enum reason reason = guard != REASON_COUNT ? guard : best->objection;
	struct verdict v = keep(reason);

	v.fence = best->fence;
	v.fence_age_ms = best->age_ms;
	if (reason == REASON_WAITING)
		v.due_in_ms = best->due_in_ms;
	if (reason == REASON_COUNT) {
		v.action = ACTION_REAP;
		v.reason = fence_reason(best->fence);
	}
	return v;
}

static bool is_silent(const struct policy *policy, const struct facts *f)
{
	return f->silent_ms != UNKNOWN_U64 && f->silent_ms >= policy->silent_after_ms;
}

/* In a wait for others that nothing ends but them. Who waits for a child, or for a time, is not stuck. */
static bool is_stuck(const struct policy *policy, const struct facts *f)
{
	static const bool waits_for_others[WAIT_KIND_COUNT] = {
		[WAIT_POLL] = true,  [WAIT_PPOLL] = true, [WAIT_EPOLL] = true, [WAIT_SELECT] = true,
		[WAIT_FUTEX] = true, [WAIT_READ] = true,  [WAIT_RECV] = true,
	};

	return waits_for_others[f->wait] && f->wait_forever == TRI_YES &&
	       f->blocked_ms != UNKNOWN_U64 && f->blocked_ms >= policy->silent_after_ms;
}

/* Towards a limit that is near. Nothing that speaks against a kill makes it untrue. */
static bool is_growing(const struct policy *policy, const struct facts *f)
{
	return f->growing == TRI_YES && f->until_limit_ms <= policy->growing_within_ms &&
	       !f->vanished && !f->is_protected;
}

static struct verdict growing(void)
{
	return suspect(REASON_GROWING, MISSING_NOTHING);
}

/* It ends what grows as well. */
static bool is_ending(const struct verdict *v)
{
	return v->action == ACTION_REAP || v->reason == REASON_WAITING;
}

/* A program without a task socket: how long it waits says what its silence says of a worker. */
static struct verdict decide_single(const struct policy *policy, const struct facts *f, bool proven)
{
	enum reason guard;

	if (is_growing(policy, f))
		return growing();
	if (!is_stuck(policy, f))
		return keep(calm(f));
	guard = guard_first(policy, f, false);
	if (guard != REASON_COUNT)
		return keep(guard);
	return suspect(REASON_STUCK_WAIT, missing_word(f, proven));
}

struct verdict decide(const struct policy *policy, const struct facts *facts)
{
	struct candidate best = best_candidate(policy, facts);
	enum reason guard;

	if (best.fence && (!facts->single || facts->may_kill)) {
		struct verdict v = fenced(policy, facts, &best);

		return is_ending(&v) || !is_growing(policy, facts) ? v : growing();
	}
	if (facts->single)
		return decide_single(policy, facts, best.fence);
	if (!is_silent(policy, facts))
		return keep(calm(facts));
	guard = guard_first(policy, facts, false);
	if (guard != REASON_COUNT)
		return keep(guard);
	return suspect(REASON_SILENT, missing_proof(facts));
}

struct verdict decide_daemon(const struct policy *policy, uint32_t workers, uint64_t idle_ms)
{
	if (!workers && idle_ms != UNKNOWN_U64 && idle_ms >= policy->silent_after_ms)
		return suspect(REASON_IDLE_DAEMON, MISSING_NOTHING);
	return keep(REASON_DAEMON);
}

struct verdict decide_lost_helper(void)
{
	return suspect(REASON_LOST_HELPER, MISSING_NOTHING);
}

/* Nobody is ended for it, so only those are let alone that are none of our business, or for whom a proof
 * has begun to count: what a guard says of the one that lives now (it runs, it is young) is true of
 * every crash loop. */
struct verdict decide_crash_loop(struct verdict verdict, const struct crashes *crashes)
{
	if (verdict.action != ACTION_KEEP || verdict.fence != FENCE_NONE ||
	    verdict.reason <= REASON_PROTECTED || !crashes_loop(crashes))
		return verdict;
	return suspect(REASON_CRASH_LOOP, MISSING_NOTHING);
}

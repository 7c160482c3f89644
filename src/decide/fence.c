/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/fence.h"

#include <assert.h>

#include "base/macro.h"

enum tri fence_host_end_closed(const struct facts *f)
{
	switch (f->socket) {
	case SOCKET_PEER_CLOSED:
	case SOCKET_GONE:
		return TRI_YES;
	case SOCKET_UNKNOWN:
		return TRI_UNKNOWN;
	default:
		return TRI_NO;
	}
}

static enum tri signed_off(const struct policy *policy _unused_, const struct facts *f)
{
	if (f->socket == SOCKET_UNKNOWN)
		return TRI_UNKNOWN;
	return tri_of(f->socket == SOCKET_SIGNED_OFF && f->in_signoff_call);
}

static enum tri peer_closed(const struct policy *policy _unused_, const struct facts *f)
{
	return fence_host_end_closed(f);
}

/* A dead JVM alone proves little: an orphan of a living one has no host above it either. */
static enum tri host_gone(const struct policy *policy _unused_, const struct facts *f)
{
	enum tri closed = fence_host_end_closed(f);

	if (f->host_gone == TRI_NO || closed == TRI_NO)
		return TRI_NO;
	return f->host_gone == TRI_YES ? closed : TRI_UNKNOWN;
}

/* What is still to be read may say that its host took it back, or that a task of it is open. */
static enum tri retired(const struct policy *policy _unused_, const struct facts *f)
{
	if (f->retired_by_operator)
		return TRI_YES;
	if (!f->retired)
		return TRI_NO;
	return f->logs_whole ? TRI_YES : TRI_UNKNOWN;
}

static bool is_unpooled(const struct facts *f)
{
	if (f->tasks_bound && f->unpooled[UNPOOLED_DECLARED] == TRI_YES)
		return true;
	/* A program that is the host of itself has no pool of which it could speak. */
	if (f->single)
		return false;
	return f->unpooled[UNPOOLED_REPORTED] == TRI_YES ||
	       f->unpooled[UNPOOLED_HOST_IDLE] == TRI_YES;
}

/* A byte later than the last end means that a binding was missed; without any there is no last end. */
static bool no_late_byte(const struct facts *f)
{
	return !f->tasks_bound || f->late_byte == TRI_NO;
}

static enum tri task_ended(const struct policy *policy _unused_, const struct facts *f)
{
	if (!f->host_log || !f->logs_whole)
		return TRI_UNKNOWN;
	return tri_of(!f->tasks_open && !f->pooled && !f->leased && no_late_byte(f) &&
		      is_unpooled(f));
}

static enum tri assumed(const struct policy *policy, const struct facts *f)
{
	if (policy->assume_leaked_after_ms == UNKNOWN_U64)
		return TRI_NO;
	if (!f->host_log || !f->logs_whole || f->silent_ms == UNKNOWN_U64)
		return TRI_UNKNOWN;
	return tri_of(f->tasks_bound && !f->tasks_open && !f->pooled && !f->leased &&
		      f->silent_ms >= policy->assume_leaked_after_ms);
}

static uint64_t seen(const struct facts *f, enum fence fence)
{
	return f->seen_ms[fence] == UNKNOWN_U64 ? 0 : f->seen_ms[fence];
}

static uint64_t known_or(uint64_t value, uint64_t other)
{
	return value == UNKNOWN_U64 ? other : value;
}

/* It sits in that very call. */
static uint64_t signed_off_age(const struct policy *policy _unused_, const struct facts *f)
{
	return known_or(f->blocked_ms, seen(f, FENCE_SIGNED_OFF));
}

/* Exact at the first look while the worker's end is CLOSE_WAIT: the last acknowledgement is the FIN. */
static uint64_t peer_closed_age(const struct policy *policy _unused_, const struct facts *f)
{
	return known_or(f->hangup_ms, seen(f, FENCE_PEER_CLOSED));
}

static uint64_t host_gone_age(const struct policy *policy _unused_, const struct facts *f)
{
	return seen(f, FENCE_HOST_GONE);
}

static uint64_t retired_age(const struct policy *policy _unused_, const struct facts *f)
{
	return known_or(f->retired_age_ms, seen(f, FENCE_RETIRED));
}

static uint64_t task_ended_age(const struct policy *policy _unused_, const struct facts *f)
{
	return known_or(f->ended_age_ms, seen(f, FENCE_TASK_ENDED));
}

static uint64_t assumed_age(const struct policy *policy, const struct facts *f)
{
	return f->silent_ms - policy->assume_leaked_after_ms;
}

static const struct {
	enum tri (*holds)(const struct policy *policy, const struct facts *facts);
	uint64_t (*age_ms)(const struct policy *policy, const struct facts *facts);
} fences[] = {
	[FENCE_HOST_GONE] = { host_gone, host_gone_age },
	[FENCE_SIGNED_OFF] = { signed_off, signed_off_age },
	[FENCE_PEER_CLOSED] = { peer_closed, peer_closed_age },
	[FENCE_RETIRED] = { retired, retired_age },
	[FENCE_TASK_ENDED] = { task_ended, task_ended_age },
	[FENCE_ASSUMED] = { assumed, assumed_age },
};
static_assert(ARRAY_SIZE(fences) == FENCE_COUNT, "every fence has its proof");

/* No host feeds a program that stands alone, so nothing is proven by what a host does. */
static bool is_of_a_host(enum fence fence)
{
	return fence != FENCE_RETIRED && fence != FENCE_TASK_ENDED;
}

enum tri fence_holds(enum fence fence, const struct policy *policy, const struct facts *facts)
{
	if (facts->single && is_of_a_host(fence))
		return TRI_NO;
	return fence == FENCE_NONE ? TRI_NO : fences[fence].holds(policy, facts);
}

uint64_t fence_age_ms(enum fence fence, const struct policy *policy, const struct facts *facts)
{
	return fence == FENCE_NONE ? 0 : fences[fence].age_ms(policy, facts);
}

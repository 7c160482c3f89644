/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be true of every verdict, tried on many random facts with a fixed seed.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "build.h"
#include "decide/decide.h"

enum {
	ROUNDS = 200000,
	LEAST_OF_EACH = 100, /* of every fence, else the rounds prove little */
};

static uint64_t seed;

/* xorshift64*: the same on every machine */
static uint64_t dice(uint64_t sides)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * 0x2545f4914f6cdd1du >> 11) % sides;
}

static bool one_in(uint64_t sides)
{
	return dice(sides) == 0;
}

/* Around every threshold of the policy. */
static uint64_t some_time(void)
{
	static const uint64_t times[] = {
		0,
		1,
		59999,
		60000,
		299999,
		300000,
		300001,
		10 * BUILD_MINUTE,
		15 * BUILD_MINUTE,
		BUILD_HOUR,
		BUILD_HOUR,
		UNKNOWN_U64,
	};

	return times[dice(ARRAY_SIZE(times))];
}

static uint64_t some_bytes(void)
{
	return one_in(3) ? (one_in(3) ? UNKNOWN_U64 : dice(100000)) : 0;
}

static enum tri some_tri(enum tri usual)
{
	return one_in(4) ? (enum tri)dice(3) : usual;
}

/* An age that is known is no less than the time for which it has been seen. */
static void seen_within(struct facts *f, enum fence fence, uint64_t age_ms)
{
	if (f->seen_ms[fence] != UNKNOWN_U64 && age_ms != UNKNOWN_U64)
		f->seen_ms[fence] = MIN(f->seen_ms[fence], age_ms);
}

static void some_guards(struct facts *f)
{
	bool *const guards[] = { &f->vanished,     &f->is_self,         &f->is_ancestor,
				 &f->is_protected, &f->foreign_uid,     &f->other_pidns,
				 &f->changed,      &f->traced,          &f->dumping,
				 &f->stopped,      &f->uninterruptible, &f->unreadable };

	if (one_in(4))
		*guards[dice(ARRAY_SIZE(guards))] = true;
	f->single = one_in(4);
	f->may_kill = one_in(2);
	f->asleep = some_tri(TRI_YES);
	f->progress = some_tri(TRI_NO);
	f->wait = one_in(8) ? WAIT_UNKNOWN : (enum wait_kind)dice(WAIT_KIND_COUNT);
	f->age_ms = one_in(4) ? some_time() : BUILD_HOUR;
	f->blocked_ms = some_time();
	f->silent_ms = some_time();
}

static void some_socket(struct facts *f)
{
	f->socket = (enum socket_state)dice(SOCKET_STATE_COUNT);
	f->transport = (enum transport)dice(3);
	f->host_held = some_tri(
		f->socket == SOCKET_PEER_CLOSED || f->socket == SOCKET_GONE ? TRI_NO : TRI_YES);
	f->closing = one_in(2);
	f->in_signoff_call = f->socket == SOCKET_SIGNED_OFF && !one_in(3);
	f->recv_queue = some_bytes();
	f->send_queue = some_bytes();
	f->host_recv_queue = some_bytes();
	f->host_writes = some_tri(TRI_NO);
	f->hangup_ms = some_time();
	f->host_gone = (enum tri)dice(3);
}

static void some_markers(struct facts *f)
{
	f->host_log = one_in(2);
	f->logs_whole = !one_in(4);
	f->tasks_bound = (uint32_t)dice(3);
	f->tasks_open = one_in(3) ? (uint32_t)dice(f->tasks_bound + 1) : 0;
	f->pooled = one_in(6);
	f->leased = one_in(6);
	f->retired = one_in(6);
	f->retired_by_operator = one_in(6);
	f->retired_age_ms = some_time();
	f->late_byte = some_tri(TRI_NO);
	for (size_t i = 0; i < UNPOOLED_COUNT; i++)
		f->unpooled[i] = (enum tri)dice(3);
	f->ended_age_ms = some_time();
	f->last_end_age_ms = some_time();
}

static struct facts some_facts(void)
{
	struct facts f = build_facts((struct ident){ 4801, 8812400 });

	some_guards(&f);
	some_socket(&f);
	some_markers(&f);
	for (size_t i = 0; i < FENCE_COUNT; i++)
		f.seen_ms[i] = some_time();
	seen_within(&f, FENCE_SIGNED_OFF, f.blocked_ms);
	seen_within(&f, FENCE_PEER_CLOSED, f.hangup_ms);
	seen_within(&f, FENCE_RETIRED, f.retired_age_ms);
	seen_within(&f, FENCE_TASK_ENDED, f.ended_age_ms);
	return f;
}

static struct policy some_policy(void)
{
	struct policy p = build_policy();

	if (one_in(4))
		p.fences = (uint32_t)dice(1u << FENCE_COUNT);
	if (one_in(2))
		p.assume_leaked_after_ms = 10 * BUILD_MINUTE;
	if (one_in(4))
		p.timeout_ms = 1000;
	return p;
}

/* Said again in other words, so that no mistake of the program is repeated here. */
static const char *guard_against(const struct policy *p, const struct facts *f)
{
	if (f->vanished || f->is_self || f->is_ancestor || f->is_protected || f->foreign_uid ||
	    f->other_pidns || f->changed)
		return "it is not the one that may be ended";
	if (f->traced || f->dumping || f->stopped || f->uninterruptible || f->unreadable)
		return "its state forbids it";
	if (f->asleep != TRI_YES || f->wait == WAIT_UNKNOWN || f->progress != TRI_NO)
		return "it may be at work";
	if (f->age_ms == UNKNOWN_U64 || f->age_ms < p->min_age_ms)
		return "it may be too young";
	if (f->blocked_ms == UNKNOWN_U64 || f->blocked_ms < p->timeout_ms)
		return "it may have run within the timeout";
	return NULL;
}

static bool is_closed(const struct facts *f)
{
	return f->socket == SOCKET_PEER_CLOSED || f->socket == SOCKET_GONE;
}

static bool is_quiet(const struct facts *f)
{
	return f->host_held == TRI_NO || (f->recv_queue == 0 && f->send_queue == 0);
}

static bool is_over(const struct facts *f)
{
	return f->host_log && f->logs_whole && !f->tasks_open && !f->pooled && !f->leased;
}

static bool is_proven(enum fence fence, const struct facts *f)
{
	bool declared = f->unpooled[UNPOOLED_DECLARED] == TRI_YES && f->tasks_bound;
	bool unpooled = f->unpooled[UNPOOLED_REPORTED] == TRI_YES ||
			f->unpooled[UNPOOLED_HOST_IDLE] == TRI_YES || declared;

	if (f->single && (!f->may_kill || (fence == FENCE_TASK_ENDED && !declared)))
		return false;
	if (f->single && fence != FENCE_TASK_ENDED && fence != FENCE_RETIRED)
		return false;
	switch (fence) {
	case FENCE_HOST_GONE:
		return f->host_gone == TRI_YES && is_closed(f) && is_quiet(f);
	case FENCE_SIGNED_OFF:
		return f->in_signoff_call && is_quiet(f) &&
		       (f->host_held == TRI_NO ||
			(f->host_recv_queue == 0 && f->host_writes == TRI_NO) ||
			(is_over(f) && unpooled && (!f->tasks_bound || f->late_byte == TRI_NO)));
	case FENCE_PEER_CLOSED:
		return is_closed(f) && is_quiet(f);
	case FENCE_RETIRED:
		return f->retired_by_operator || (f->retired && f->logs_whole && !f->tasks_open &&
						  (f->host_held == TRI_NO || f->recv_queue == 0));
	case FENCE_TASK_ENDED:
		return is_over(f) && is_quiet(f) && unpooled &&
		       (!f->tasks_bound || f->late_byte == TRI_NO);
	case FENCE_ASSUMED:
		return is_over(f) && is_quiet(f) && f->tasks_bound;
	default:
		return false;
	}
}

static const char *wrong_reap(const struct policy *p, const struct facts *f,
			      const struct verdict *v)
{
	const char *guard = guard_against(p, f);

	if (guard)
		return guard;
	if (!is_proven(v->fence, f))
		return "its fence does not hold";
	if (v->fence == FENCE_ASSUMED ? p->assume_leaked_after_ms == UNKNOWN_U64
				      : !(p->fences & 1u << v->fence))
		return "its fence may not kill";
	if (v->fence_age_ms == UNKNOWN_U64 || v->fence_age_ms < p->timeout_ms)
		return "its fence has not held for the timeout";
	return NULL;
}

static bool same(const struct verdict *a, const struct verdict *b)
{
	return a->action == b->action && a->reason == b->reason && a->fence == b->fence &&
	       a->fence_age_ms == b->fence_age_ms && a->due_in_ms == b->due_in_ms &&
	       a->missing == b->missing;
}

/* What an unread member looks like; false: it has no such value. */
static bool make_unknown(const struct facts_field *field, size_t element, struct facts *f)
{
	static const char *const words[] = { "in_signoff_call", "host_log", "logs_whole", "retired",
					     "retired_by_operator" };
	char *at = (char *)f + field->offset;

	switch (field->type) {
	case FACTS_U64:
		((uint64_t *)at)[element] = UNKNOWN_U64;
		return strcmp(field->name, "start") != 0;
	case FACTS_TRI:
		((enum tri *)at)[element] = TRI_UNKNOWN;
		return true;
	case FACTS_ENUM:
		*(int *)at = 0;
		return true;
	case FACTS_U32:
		*(uint32_t *)at = UINT32_MAX;
		return strcmp(field->name, "cpu_ppm") == 0;
	case FACTS_BOOL:
		*(bool *)at = false;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (strcmp(field->name, words[i]) == 0)
				return true;
		return false;
	default:
		return false;
	}
}

static void expect_unknown_never_reaps(const struct policy *p, const struct facts *f)
{
	for (size_t i = 0; i < facts_field_count; i++)
		for (size_t k = 0; k < facts_fields[i].count; k++) {
			struct facts less = *f;

			if (make_unknown(&facts_fields[i], k, &less))
				cr_assert_neq(decide(p, &less).action, ACTION_REAP,
					      "without %s[%zu] it is ended, with it not",
					      facts_fields[i].name, k);
		}
}

Test(decide_property, random_facts)
{
	unsigned fences[FENCE_COUNT] = { 0 };

	seed = 0x9e3779b97f4a7c15u;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct policy p = some_policy();
		struct facts f = some_facts();
		struct verdict v = decide(&p, &f), again = decide(&p, &f);

		cr_assert(same(&v, &again), "the same facts give the same verdict");
		cr_assert_lt(v.reason, REASON_COUNT);
		if (v.action == ACTION_REAP) {
			cr_assert_null(wrong_reap(&p, &f, &v), "round %u, %s: %s", i,
				       fence_name(v.fence), wrong_reap(&p, &f, &v));
			cr_assert_eq(v.reason, fence_reason(v.fence));
			fences[v.fence]++;
		} else {
			expect_unknown_never_reaps(&p, &f);
		}
	}
	for (enum fence fence = FENCE_NONE + 1; fence < FENCE_COUNT; fence++)
		cr_expect_geq(fences[fence], LEAST_OF_EACH, "%s came up %u times only",
			      fence_name(fence), fences[fence]);
}

/* Everything known and nothing against it: then one unread piece of evidence must keep it. */
Test(decide_property, evidence_that_a_kill_needs)
{
	static const char *const needed[] = { "asleep",     "wait",   "progress", "age_ms",
					      "blocked_ms", "socket", "hangup_ms" };
	struct policy p = build_policy();
	struct facts f = build_facts((struct ident){ 4801, 8812400 });

	f.socket = SOCKET_PEER_CLOSED;
	f.host_held = TRI_NO;
	f.blocked_ms = f.silent_ms = f.hangup_ms = 10 * BUILD_MINUTE;
	cr_assert_eq(decide(&p, &f).action, ACTION_REAP);
	for (size_t i = 0; i < facts_field_count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(needed); k++) {
			struct facts less = f;

			if (strcmp(facts_fields[i].name, needed[k]) != 0)
				continue;
			cr_assert(make_unknown(&facts_fields[i], 0, &less));
			cr_expect_neq(decide(&p, &less).action, ACTION_REAP, "%s", needed[k]);
		}
}

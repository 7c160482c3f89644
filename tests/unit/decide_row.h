/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for decide(): what is known of a worker, and the verdict that must come of it.
 */
#ifndef REAPER_TESTS_DECIDE_ROW_H
#define REAPER_TESTS_DECIDE_ROW_H

#include <criterion/criterion.h>

#include "build.h"
#include "change.h"
#include "decide/decide.h"

#define SECONDS(n) ((uint64_t)(n)*BUILD_SECOND)
#define MINUTES(n) ((uint64_t)(n)*BUILD_MINUTE)

/* Blocked and silent for so long. */
#define FOR(ms) F(blocked_ms, ms), F(silent_ms, ms)
/* The host hung up so long ago. */
#define HUNG_UP(ms)                                                                                \
	F(socket, SOCKET_PEER_CLOSED), F(host_held, TRI_NO), F(closing, true), F(wait, WAIT_POLL), \
		F(hangup_ms, ms)
#define SIGNED_OFF F(socket, SOCKET_SIGNED_OFF), F(in_signoff_call, true), F(wait, WAIT_RECV)
#define RESET      F(socket, SOCKET_GONE), F(host_held, TRI_NO), F(wait, WAIT_POLL)
#define ENDED(ms)                                                                        \
	F(host_log, true), F(tasks_bound, 1), F(late_byte, TRI_NO), F(ended_age_ms, ms), \
		F(last_end_age_ms, ms)
#define REPORTED(ms) ENDED(ms), F(unpooled[UNPOOLED_REPORTED], TRI_YES)
#define ORPHAN       F(host_gone, TRI_YES)
#define UNIX         F(transport, TRANSPORT_UNIX), F(hangup_ms, UNKNOWN_U64)

struct row {
	const char *why;
	enum action action;
	enum reason reason;
	enum fence fence;
	uint64_t due_in_ms; /* 0: not said */
	enum missing missing;
	struct change facts[CHANGES_MAX];
	struct change policy[CHANGES_MAX];
};

static inline bool is_proof(enum fence fence)
{
	return fence != FENCE_NONE;
}

/** Decides, and compares all that a verdict says. */
static inline void check(const struct row *r)
{
	struct facts f = build_facts((struct ident){ 4801, 8812400 });
	struct policy p = build_policy();
	struct verdict v;

	change_all(&f, r->facts);
	change_all(&p, r->policy);
	v = decide(&p, &f);
	cr_expect_eq(v.action, r->action, "%s: %s, not %s", r->why, action_name(v.action),
		     action_name(r->action));
	cr_expect_eq(v.reason, r->reason, "%s: %s, not %s", r->why,
		     v.reason < REASON_COUNT ? reason_name(v.reason) : "none",
		     reason_name(r->reason));
	cr_expect_eq(v.fence, r->fence, "%s: fence %s, not %s", r->why, fence_name(v.fence),
		     fence_name(r->fence));
	cr_expect_eq(v.missing, r->missing, "%s: it lacks %d, not %d", r->why, v.missing,
		     r->missing);
	cr_expect_eq(v.due_in_ms, r->due_in_ms ? r->due_in_ms : UNKNOWN_U64, "%s: due in %lu",
		     r->why, v.due_in_ms);
	cr_expect_eq(is_proof(v.fence), v.fence_age_ms != UNKNOWN_U64,
		     "%s: only a proof has an age", r->why);
}

#define CHECK_ALL(rows)                               \
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) \
	check(&(rows)[i])

#endif

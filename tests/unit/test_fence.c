/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/fence.h"

#include <criterion/criterion.h>

#include "build.h"
#include "change.h"

#define MINUTES(n) ((uint64_t)(n)*BUILD_MINUTE)

/* All that a task-ended needs, but the word on the pool. */
#define ENDED                                                                        \
	F(host_log, true), F(logs_whole, true), F(tasks_bound, 2), F(tasks_open, 0), \
		F(late_byte, TRI_NO), F(last_end_age_ms, MINUTES(9))
#define SIGNED_OFF F(socket, SOCKET_SIGNED_OFF), F(in_signoff_call, true)

static const struct {
	const char *why;
	enum fence fence;
	enum tri want;
	struct change facts[CHANGES_MAX];
	struct change policy[CHANGES_MAX];
} proofs[] = {
	{ "no fence is none", FENCE_NONE, TRI_NO, { F(socket, SOCKET_PEER_CLOSED) }, {} },

	{ "it left the protocol and waits for the host to hang up",
	  FENCE_SIGNED_OFF,
	  TRI_YES,
	  { SIGNED_OFF },
	  {} },
	{ "another call than the last one of the protocol",
	  FENCE_SIGNED_OFF,
	  TRI_NO,
	  { SIGNED_OFF, F(in_signoff_call, false) },
	  {} },
	{ "that call on a socket that is judged to be something else",
	  FENCE_SIGNED_OFF,
	  TRI_NO,
	  { SIGNED_OFF, F(socket, SOCKET_ESTABLISHED) },
	  {} },
	{ "a socket that could not be read",
	  FENCE_SIGNED_OFF,
	  TRI_UNKNOWN,
	  { SIGNED_OFF, F(socket, SOCKET_UNKNOWN) },
	  {} },
	{ "a pooled worker reads its task socket too", FENCE_SIGNED_OFF, TRI_NO, {}, {} },

	{ "nobody holds the host's end",
	  FENCE_PEER_CLOSED,
	  TRI_YES,
	  { F(socket, SOCKET_PEER_CLOSED) },
	  {} },
	{ "a reset left it in no table",
	  FENCE_PEER_CLOSED,
	  TRI_YES,
	  { F(socket, SOCKET_GONE) },
	  {} },
	{ "a row that was not seen proves nothing",
	  FENCE_PEER_CLOSED,
	  TRI_UNKNOWN,
	  { F(socket, SOCKET_UNKNOWN) },
	  {} },
	{ "the host holds it", FENCE_PEER_CLOSED, TRI_NO, { F(socket, SOCKET_ESTABLISHED) }, {} },
	{ "a half shutdown is no fence",
	  FENCE_PEER_CLOSED,
	  TRI_NO,
	  { F(socket, SOCKET_HALF_CLOSED), F(closing, true) },
	  {} },
	{ "without a task socket there is nothing to close",
	  FENCE_PEER_CLOSED,
	  TRI_NO,
	  { F(socket, SOCKET_NONE) },
	  {} },
	{ "signed off, the host still holds its end",
	  FENCE_PEER_CLOSED,
	  TRI_NO,
	  { SIGNED_OFF },
	  {} },

	{ "the JVM exited and nobody holds its end",
	  FENCE_HOST_GONE,
	  TRI_YES,
	  { F(host_gone, TRI_YES), F(socket, SOCKET_PEER_CLOSED) },
	  {} },
	{ "the same after a reset",
	  FENCE_HOST_GONE,
	  TRI_YES,
	  { F(host_gone, TRI_YES), F(socket, SOCKET_GONE) },
	  {} },
	{ "a pooled orphan of a living JVM has no host above it either, and its port is unknown",
	  FENCE_HOST_GONE,
	  TRI_NO,
	  { F(host_gone, TRI_YES), F(socket, SOCKET_NONE) },
	  {} },
	{ "an orphan whose socket is held",
	  FENCE_HOST_GONE,
	  TRI_NO,
	  { F(host_gone, TRI_YES) },
	  {} },
	{ "an orphan of which nobody knows who holds the other end",
	  FENCE_HOST_GONE,
	  TRI_UNKNOWN,
	  { F(host_gone, TRI_YES), F(socket, SOCKET_UNKNOWN) },
	  {} },
	{ "the JVM lives",
	  FENCE_HOST_GONE,
	  TRI_NO,
	  { F(host_gone, TRI_NO), F(socket, SOCKET_PEER_CLOSED) },
	  {} },
	{ "the JVM lives, the socket is unknown",
	  FENCE_HOST_GONE,
	  TRI_NO,
	  { F(host_gone, TRI_NO), F(socket, SOCKET_UNKNOWN) },
	  {} },
	{ "the way up to the JVM is broken",
	  FENCE_HOST_GONE,
	  TRI_UNKNOWN,
	  { F(host_gone, TRI_UNKNOWN), F(socket, SOCKET_PEER_CLOSED) },
	  {} },
	{ "nothing is known",
	  FENCE_HOST_GONE,
	  TRI_UNKNOWN,
	  { F(host_gone, TRI_UNKNOWN), F(socket, SOCKET_UNKNOWN) },
	  {} },
	{ "the way up is broken, but the socket is held",
	  FENCE_HOST_GONE,
	  TRI_NO,
	  { F(host_gone, TRI_UNKNOWN) },
	  {} },

	{ "its host gave it up", FENCE_RETIRED, TRI_YES, { F(retired, true) }, {} },
	{ "its host gave it up, and may have taken it back in what is not read",
	  FENCE_RETIRED,
	  TRI_UNKNOWN,
	  { F(retired, true), F(logs_whole, false) },
	  {} },
	{ "the operator's word is final",
	  FENCE_RETIRED,
	  TRI_YES,
	  { F(retired_by_operator, true), F(logs_whole, false) },
	  {} },
	{ "the operator gave it up", FENCE_RETIRED, TRI_YES, { F(retired_by_operator, true) }, {} },
	{ "nobody gave it up", FENCE_RETIRED, TRI_NO, {}, {} },

	{ "the host never reuses, and a task was bound",
	  FENCE_TASK_ENDED,
	  TRI_YES,
	  { ENDED, F(unpooled[UNPOOLED_DECLARED], TRI_YES) },
	  {} },
	{ "two beats do not list it",
	  FENCE_TASK_ENDED,
	  TRI_YES,
	  { ENDED, F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "the host was idle for longer than its pool keeps anybody",
	  FENCE_TASK_ENDED,
	  TRI_YES,
	  { ENDED, F(unpooled[UNPOOLED_HOST_IDLE], TRI_YES) },
	  {} },
	{ "that every task has ended is empty where no task was ever bound",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(tasks_bound, 0), F(unpooled[UNPOOLED_DECLARED], TRI_YES) },
	  {} },
	{ "a worker that never got a byte has no binding, and is in no beat",
	  FENCE_TASK_ENDED,
	  TRI_YES,
	  { ENDED, F(tasks_bound, 0), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "and likewise when the host was idle",
	  FENCE_TASK_ENDED,
	  TRI_YES,
	  { ENDED, F(tasks_bound, 0), F(unpooled[UNPOOLED_HOST_IDLE], TRI_YES) },
	  {} },
	{ "without a task there is no end for a byte to be later than",
	  FENCE_TASK_ENDED,
	  TRI_YES,
	  { ENDED, F(tasks_bound, 0), F(late_byte, TRI_UNKNOWN),
	    F(unpooled[UNPOOLED_HOST_IDLE], TRI_YES) },
	  {} },
	{ "an end alone: the host may pool it", FENCE_TASK_ENDED, TRI_NO, { ENDED }, {} },
	{ "the host's words on its pool are no",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(unpooled[UNPOOLED_DECLARED], TRI_NO), F(unpooled[UNPOOLED_REPORTED], TRI_NO),
	    F(unpooled[UNPOOLED_HOST_IDLE], TRI_NO) },
	  {} },
	{ "a task is open",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(tasks_open, 1), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "the host's latest word is that it is in the pool",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(pooled, true), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "the host's latest word is that it is leased",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(leased, true), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "a byte later than the last end: a binding was missed",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(late_byte, TRI_YES), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "whether there was a later byte is not known",
	  FENCE_TASK_ENDED,
	  TRI_NO,
	  { ENDED, F(late_byte, TRI_UNKNOWN), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "there is no log of its host",
	  FENCE_TASK_ENDED,
	  TRI_UNKNOWN,
	  { ENDED, F(host_log, false), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },
	{ "the rest of the logs may say begin",
	  FENCE_TASK_ENDED,
	  TRI_UNKNOWN,
	  { ENDED, F(logs_whole, false), F(unpooled[UNPOOLED_REPORTED], TRI_YES) },
	  {} },

	{ "as shipped nothing is assumed",
	  FENCE_ASSUMED,
	  TRI_NO,
	  { ENDED, F(silent_ms, MINUTES(90)) },
	  {} },
	{ "and that is known without a log", FENCE_ASSUMED, TRI_NO, { F(host_log, false) }, {} },
	{ "the operator takes the risk",
	  FENCE_ASSUMED,
	  TRI_YES,
	  { ENDED, F(silent_ms, MINUTES(30)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "not silent for long enough",
	  FENCE_ASSUMED,
	  TRI_NO,
	  { ENDED, F(silent_ms, MINUTES(30) - 1) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "how long it has been silent is not known",
	  FENCE_ASSUMED,
	  TRI_UNKNOWN,
	  { ENDED, F(silent_ms, UNKNOWN_U64) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "no task was ever bound",
	  FENCE_ASSUMED,
	  TRI_NO,
	  { ENDED, F(tasks_bound, 0), F(silent_ms, MINUTES(90)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "a task is open, so nothing is assumed",
	  FENCE_ASSUMED,
	  TRI_NO,
	  { ENDED, F(tasks_open, 1), F(silent_ms, MINUTES(90)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "it is pooled, so nothing is assumed",
	  FENCE_ASSUMED,
	  TRI_NO,
	  { ENDED, F(pooled, true), F(silent_ms, MINUTES(90)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "it is leased, so nothing is assumed",
	  FENCE_ASSUMED,
	  TRI_NO,
	  { ENDED, F(leased, true), F(silent_ms, MINUTES(90)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "without its host's log no task is known to have ended",
	  FENCE_ASSUMED,
	  TRI_UNKNOWN,
	  { ENDED, F(host_log, false), F(silent_ms, MINUTES(90)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ "half a log may lack a begin",
	  FENCE_ASSUMED,
	  TRI_UNKNOWN,
	  { ENDED, F(logs_whole, false), F(silent_ms, MINUTES(90)) },
	  { P(assume_leaked_after_ms, MINUTES(30)) } },
};

Test(fence, holds)
{
	for (size_t i = 0; i < ARRAY_SIZE(proofs); i++) {
		struct facts f = build_facts((struct ident){ 4801, 8812400 });
		struct policy p = build_policy();
		enum tri got;

		change_all(&f, proofs[i].facts);
		change_all(&p, proofs[i].policy);
		got = fence_holds(proofs[i].fence, &p, &f);
		cr_expect_eq(got, proofs[i].want, "%s, %s: %d, not %d", fence_name(proofs[i].fence),
			     proofs[i].why, got, proofs[i].want);
	}
}

static const struct {
	const char *why;
	enum fence fence;
	uint64_t want_ms;
	struct change facts[CHANGES_MAX];
} ages[] = {
	{ "no fence has no age", FENCE_NONE, 0, { F(seen_ms[FENCE_NONE], 7) } },
	{ "it has sat in that very call for so long",
	  FENCE_SIGNED_OFF,
	  5000,
	  { F(blocked_ms, 5000), F(seen_ms[FENCE_SIGNED_OFF], 3000) } },
	{ "when it last ran is not known: since it was first seen so",
	  FENCE_SIGNED_OFF,
	  3000,
	  { F(blocked_ms, UNKNOWN_U64), F(seen_ms[FENCE_SIGNED_OFF], 3000) } },
	{ "at the first look nothing is known",
	  FENCE_SIGNED_OFF,
	  0,
	  { F(blocked_ms, UNKNOWN_U64) } },
	{ "the FIN was the last that came",
	  FENCE_PEER_CLOSED,
	  75004,
	  { F(hangup_ms, 75004), F(seen_ms[FENCE_PEER_CLOSED], 10) } },
	{ "unix sockets have no ages",
	  FENCE_PEER_CLOSED,
	  10,
	  { F(hangup_ms, UNKNOWN_U64), F(seen_ms[FENCE_PEER_CLOSED], 10) } },
	{ "a full window counts from before the hang-up, so it is not asked",
	  FENCE_PEER_CLOSED,
	  0,
	  { F(silent_ms, 10700), F(blocked_ms, 10700) } },
	{ "a death is dated by who saw it",
	  FENCE_HOST_GONE,
	  60000,
	  { F(hangup_ms, 75004), F(seen_ms[FENCE_HOST_GONE], 60000) } },
	{ "or begins now", FENCE_HOST_GONE, 0, { F(hangup_ms, 75004) } },
	{ "the marker's own time",
	  FENCE_RETIRED,
	  9000,
	  { F(retired_age_ms, 9000), F(seen_ms[FENCE_RETIRED], 10) } },
	{ "the clock was stepped", FENCE_RETIRED, 10, { F(seen_ms[FENCE_RETIRED], 10) } },
	{ "the clock was stepped, first look", FENCE_RETIRED, 0, {} },
	{ "the last end, or the proof that it is in no pool, whichever is later",
	  FENCE_TASK_ENDED,
	  8000,
	  { F(ended_age_ms, 8000), F(last_end_age_ms, 9000), F(seen_ms[FENCE_TASK_ENDED], 10) } },
	{ "after a clock step",
	  FENCE_TASK_ENDED,
	  10,
	  { F(last_end_age_ms, 9000), F(seen_ms[FENCE_TASK_ENDED], 10) } },
	{ "after a clock step, first look", FENCE_TASK_ENDED, 0, { F(last_end_age_ms, 9000) } },
	{ "from the moment on from which it is assumed",
	  FENCE_ASSUMED,
	  500,
	  { F(silent_ms, MINUTES(30) + 500) } },
};

Test(fence, age)
{
	struct policy p = build_policy();

	p.assume_leaked_after_ms = MINUTES(30);
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		struct facts f = build_facts((struct ident){ 4801, 8812400 });
		uint64_t got;

		change_all(&f, ages[i].facts);
		got = fence_age_ms(ages[i].fence, &p, &f);
		cr_expect_eq(got, ages[i].want_ms, "%s, %s: %lu, not %lu",
			     fence_name(ages[i].fence), ages[i].why, got, ages[i].want_ms);
	}
}

static const struct {
	const char *why;
	enum socket_state socket;
	enum tri want;
} ends[] = {
	{ "not read", SOCKET_UNKNOWN, TRI_UNKNOWN },
	{ "none", SOCKET_NONE, TRI_NO },
	{ "held", SOCKET_ESTABLISHED, TRI_NO },
	{ "closed", SOCKET_PEER_CLOSED, TRI_YES },
	{ "half closed", SOCKET_HALF_CLOSED, TRI_NO },
	{ "held by a host that has yet to read", SOCKET_SIGNED_OFF, TRI_NO },
	{ "reset", SOCKET_GONE, TRI_YES },
};

Test(fence, host_end_closed)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct facts f = build_facts((struct ident){ 4801, 8812400 });

		f.socket = ends[i].socket;
		cr_expect_eq(fence_host_end_closed(&f), ends[i].want, "%s", ends[i].why);
	}
}

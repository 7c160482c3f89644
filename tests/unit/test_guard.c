/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/guard.h"

#include <criterion/criterion.h>

#include "build.h"
#include "change.h"

/* In the order in which they are asked: the first that applies is told. */
static const struct {
	const char *why;
	enum reason reason;
	bool suspects; /* it also says why a silent worker is no suspect */
	struct change facts[CHANGES_MAX];
} guards[] = {
	{ "it is gone", REASON_VANISHED, true, { F(vanished, true) } },
	{ "it is reaper itself", REASON_SELF, true, { F(is_self, true) } },
	{ "it is pid 1, a kernel thread, a host, a daemon or somebody's ancestor",
	  REASON_ANCESTOR,
	  true,
	  { F(is_ancestor, true) } },
	{ "a rule names it", REASON_PROTECTED, true, { F(is_protected, true) } },
	{ "another uid than its daemon's", REASON_FOREIGN_UID, true, { F(foreign_uid, true) } },
	{ "another pid namespace", REASON_OTHER_PIDNS, true, { F(other_pidns, true) } },
	{ "it is not what it was", REASON_CHANGED, true, { F(changed, true) } },
	{ "a debugger holds it", REASON_TRACED, true, { F(traced, true) } },
	{ "it dumps core", REASON_DUMPING, true, { F(dumping, true) } },
	{ "it is stopped", REASON_STOPPED, true, { F(stopped, true) } },
	{ "it is in D or frozen", REASON_UNINTERRUPTIBLE, true, { F(uninterruptible, true) } },
	{ "evidence was denied", REASON_UNREADABLE, true, { F(unreadable, true) } },
	{ "a thread is not asleep", REASON_RUNNING, true, { F(asleep, TRI_NO) } },
	{ "its main thread is in no known wait",
	  REASON_UNKNOWN_WAIT,
	  false,
	  { F(wait, WAIT_UNKNOWN) } },
	{ "it moved between the looks", REASON_PROGRESS, true, { F(progress, TRI_YES) } },
	{ "it is younger than min_age",
	  REASON_TOO_YOUNG,
	  false,
	  { F(age_ms, 60 * BUILD_SECOND - 1) } },
};

static struct facts worker(void)
{
	return build_facts((struct ident){ 4801, 8812400 });
}

Test(guard, none_objects_to_a_sleeping_worker)
{
	struct policy p = build_policy();
	struct facts f = worker();

	cr_expect_eq(guard_first(&p, &f, true), REASON_COUNT);
	cr_expect_eq(guard_first(&p, &f, false), REASON_COUNT);
	for (enum reason r = 0; r < REASON_COUNT; r++)
		cr_expect_not(guard_objects(r, &p, &f), "%s", reason_name(r));
}

Test(guard, each_objects_alone)
{
	struct policy p = build_policy();

	for (size_t i = 0; i < ARRAY_SIZE(guards); i++) {
		enum reason reason = guards[i].reason, got;
		struct facts f = worker();

		change_all(&f, guards[i].facts);
		got = guard_first(&p, &f, true);
		cr_expect_eq(got, reason, "%s: %s", guards[i].why, reason_name(reason));
		got = guard_first(&p, &f, false);
		cr_expect_eq(got, guards[i].suspects ? reason : REASON_COUNT, "silent, %s: %s",
			     guards[i].why, reason_name(reason));
		for (enum reason r = 0; r < REASON_COUNT; r++)
			cr_expect_eq(guard_objects(r, &p, &f), r == reason, "%s: %s, for explain",
				     guards[i].why, reason_name(r));
	}
}

Test(guard, the_first_is_told)
{
	struct policy p = build_policy();

	for (size_t i = 0; i < ARRAY_SIZE(guards); i++)
		for (size_t j = i + 1; j < ARRAY_SIZE(guards); j++) {
			struct facts f = worker();

			change_all(&f, guards[j].facts);
			change_all(&f, guards[i].facts);
			cr_expect_eq(guard_first(&p, &f, true), guards[i].reason,
				     "%s comes before %s", reason_name(guards[i].reason),
				     reason_name(guards[j].reason));
			cr_expect(guard_objects(guards[j].reason, &p, &f), "explain tells both");
		}
}

/* Unknown evidence objects like the worst that it could be. */
static const struct {
	const char *why;
	enum reason want;
	struct change facts[CHANGES_MAX];
} unknowns[] = {
	{ "whether a thread runs", REASON_RUNNING, { F(asleep, TRI_UNKNOWN) } },
	{ "what it waits in", REASON_UNKNOWN_WAIT, { F(wait, WAIT_UNKNOWN) } },
	{ "whether it moved", REASON_PROGRESS, { F(progress, TRI_UNKNOWN) } },
	{ "how old it is", REASON_TOO_YOUNG, { F(age_ms, UNKNOWN_U64) } },
	{ "old enough to the millisecond", REASON_COUNT, { F(age_ms, 60 * BUILD_SECOND) } },
};

Test(guard, unknown_objects)
{
	struct policy p = build_policy();

	for (size_t i = 0; i < ARRAY_SIZE(unknowns); i++) {
		struct facts f = worker();

		change_all(&f, unknowns[i].facts);
		cr_expect_eq(guard_first(&p, &f, true), unknowns[i].want, "%s", unknowns[i].why);
	}
}

#define OPEN F(tasks_bound, 2), F(tasks_open, 1)
#define OVER                                                                         \
	F(host_log, true), F(logs_whole, true), F(tasks_bound, 2), F(tasks_open, 0), \
		F(late_byte, TRI_NO), F(unpooled[UNPOOLED_DECLARED], TRI_YES)
#define OPERATOR F(retired_by_operator, true)
#define FREE     F(host_held, TRI_NO)

static const struct {
	const char *why;
	enum fence fence;
	enum reason want;
	struct change facts[CHANGES_MAX];
	struct change policy[CHANGES_MAX];
} objections[] = {
	{ "nothing speaks against it", FENCE_HOST_GONE, REASON_COUNT, {}, {} },
	{ "nor against this", FENCE_SIGNED_OFF, REASON_COUNT, {}, {} },
	{ "nor this", FENCE_PEER_CLOSED, REASON_COUNT, {}, {} },
	{ "nor this", FENCE_RETIRED, REASON_COUNT, {}, {} },
	{ "nor this", FENCE_TASK_ENDED, REASON_COUNT, {}, {} },
	{ "nor what is assumed", FENCE_ASSUMED, REASON_COUNT, {}, {} },

	{ "the kernel knows better than a log that lost its end",
	  FENCE_HOST_GONE,
	  REASON_COUNT,
	  { OPEN, FREE },
	  {} },
	{ "it left the protocol, whatever the log says",
	  FENCE_SIGNED_OFF,
	  REASON_COUNT,
	  { OPEN },
	  {} },
	{ "its peer is closed, whatever the log says",
	  FENCE_PEER_CLOSED,
	  REASON_COUNT,
	  { OPEN, FREE },
	  {} },
	{ "a host that gave up a worker with an open task errs",
	  FENCE_RETIRED,
	  REASON_OPEN_TASK,
	  { OPEN, F(retired, true) },
	  {} },
	{ "an open task has not ended", FENCE_TASK_ENDED, REASON_OPEN_TASK, { OPEN }, {} },
	{ "an open task is not assumed to have ended",
	  FENCE_ASSUMED,
	  REASON_OPEN_TASK,
	  { OPEN },
	  {} },
	{ "a close that hangs: open task, full queues, only the operator helps",
	  FENCE_RETIRED,
	  REASON_COUNT,
	  { OPEN, OPERATOR, F(recv_queue, 128136), F(host_recv_queue, UNKNOWN_U64),
	    F(send_queue, 3700000) },
	  {} },
	{ "the operator's word stands above the host's",
	  FENCE_RETIRED,
	  REASON_COUNT,
	  { OPEN, OPERATOR, F(retired, true) },
	  {} },
	{ "the operator's word helps no other proof",
	  FENCE_TASK_ENDED,
	  REASON_OPEN_TASK,
	  { OPEN, OPERATOR },
	  {} },
	{ "nor over bytes",
	  FENCE_TASK_ENDED,
	  REASON_UNREAD_BYTES,
	  { OVER, OPERATOR, F(recv_queue, 1) },
	  {} },

	{ "bytes for the worker, and the host holds its end",
	  FENCE_RETIRED,
	  REASON_UNREAD_BYTES,
	  { F(recv_queue, 1) },
	  {} },
	{ "bytes for the host", FENCE_TASK_ENDED, REASON_UNREAD_BYTES, { F(send_queue, 1) }, {} },
	{ "bytes for the host that gave it up",
	  FENCE_RETIRED,
	  REASON_COUNT,
	  { F(send_queue, 1) },
	  {} },
	{ "how many is not known",
	  FENCE_RETIRED,
	  REASON_COUNT,
	  { F(send_queue, UNKNOWN_U64), F(host_recv_queue, UNKNOWN_U64) },
	  {} },
	{ "bytes from the host that gave it up",
	  FENCE_RETIRED,
	  REASON_UNREAD_BYTES,
	  { F(recv_queue, 1) },
	  {} },
	{ "unknown bytes are bytes",
	  FENCE_TASK_ENDED,
	  REASON_UNREAD_BYTES,
	  { F(recv_queue, UNKNOWN_U64) },
	  {} },
	{ "in both directions",
	  FENCE_TASK_ENDED,
	  REASON_UNREAD_BYTES,
	  { F(send_queue, UNKNOWN_U64) },
	  {} },
	{ "who holds the end is unknown, so the bytes may be wanted",
	  FENCE_RETIRED,
	  REASON_UNREAD_BYTES,
	  { F(host_held, TRI_UNKNOWN), F(recv_queue, 1) },
	  {} },
	{ "leftovers of a dead task",
	  FENCE_PEER_CLOSED,
	  REASON_COUNT,
	  { FREE, F(recv_queue, 35331) },
	  {} },
	{ "unsent leftovers, the window is full",
	  FENCE_HOST_GONE,
	  REASON_COUNT,
	  { FREE, F(recv_queue, 124278), F(send_queue, 7) },
	  {} },

	{ "a host that writes once more would lose what it has not read",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { F(host_recv_queue, 129192) },
	  {} },
	{ "its own unsent bytes",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { F(send_queue, 308856) },
	  {} },
	{ "what waits at the host's end is not known",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { F(host_recv_queue, UNKNOWN_U64) },
	  {} },
	{ "a write to a dead worker would fail its task",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { F(host_writes, TRI_YES) },
	  {} },
	{ "whether its host still writes to it is not known",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { F(host_writes, TRI_UNKNOWN) },
	  {} },
	{ "the host's end of its tasks came: it writes no more",
	  FENCE_SIGNED_OFF,
	  REASON_COUNT,
	  { OVER, F(host_writes, TRI_YES) },
	  {} },
	{ "who writes matters to no other proof",
	  FENCE_TASK_ENDED,
	  REASON_COUNT,
	  { F(host_writes, TRI_YES), F(host_recv_queue, 129192) },
	  {} },
	{ "nor to the word of a host that gave it up",
	  FENCE_RETIRED,
	  REASON_COUNT,
	  { F(host_writes, TRI_YES), F(host_recv_queue, 129192) },
	  {} },
	{ "the host's end of its tasks came: it reads no more",
	  FENCE_SIGNED_OFF,
	  REASON_COUNT,
	  { OVER, F(host_recv_queue, 129192) },
	  {} },
	{ "one of its tasks is open",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(tasks_open, 1), F(host_recv_queue, 129192) },
	  {} },
	{ "no task was bound, so none is known to have ended",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(tasks_bound, 0), F(host_recv_queue, 129192) },
	  {} },
	{ "its tasks have ended, and its host may have given it another that no log bound to it",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(unpooled[UNPOOLED_DECLARED], TRI_UNKNOWN), F(host_recv_queue, 129192) },
	  {} },
	{ "no log of its host is there",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(host_log, false), F(host_recv_queue, 129192) },
	  {} },
	{ "the log was not read to its end",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(logs_whole, false), F(host_recv_queue, 129192) },
	  {} },
	{ "a later byte is of a task that was not bound",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(late_byte, TRI_YES), F(host_recv_queue, 129192) },
	  {} },
	{ "when its last byte moved is not known",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(late_byte, TRI_UNKNOWN), F(host_writes, TRI_YES) },
	  {} },
	{ "a task that was not bound has it",
	  FENCE_SIGNED_OFF,
	  REASON_UNREAD_BYTES,
	  { OVER, F(leased, true), F(host_writes, TRI_YES) },
	  {} },
	{ "what the host has not read matters to no other proof",
	  FENCE_RETIRED,
	  REASON_COUNT,
	  { F(host_recv_queue, 316) },
	  {} },

	{ "the policy does not let it kill",
	  FENCE_PEER_CLOSED,
	  REASON_FENCE_OFF,
	  {},
	  { P(fences, ~(1u << FENCE_PEER_CLOSED)) } },
	{ "another one is off",
	  FENCE_PEER_CLOSED,
	  REASON_COUNT,
	  {},
	  { P(fences, 1u << FENCE_PEER_CLOSED) } },
	{ "not even the operator's word turns it on",
	  FENCE_RETIRED,
	  REASON_FENCE_OFF,
	  { OPERATOR },
	  { P(fences, ~(1u << FENCE_RETIRED)) } },
	{ "what is assumed is no fence, and has a setting of its own",
	  FENCE_ASSUMED,
	  REASON_COUNT,
	  {},
	  { P(fences, 0) } },

	{ "an open task is told before bytes",
	  FENCE_RETIRED,
	  REASON_OPEN_TASK,
	  { OPEN, F(recv_queue, 1) },
	  { P(fences, 0) } },
	{ "bytes are told before a fence that is off",
	  FENCE_PEER_CLOSED,
	  REASON_UNREAD_BYTES,
	  { F(recv_queue, 1) },
	  { P(fences, 0) } },
};

Test(guard, fence)
{
	for (size_t i = 0; i < ARRAY_SIZE(objections); i++) {
		struct policy p = build_policy();
		struct facts f = worker();
		enum reason got;

		change_all(&f, objections[i].facts);
		change_all(&p, objections[i].policy);
		got = guard_fence(objections[i].fence, &p, &f);
		cr_expect_eq(got, objections[i].want, "%s, %s: %d, not %d",
			     fence_name(objections[i].fence), objections[i].why, got,
			     objections[i].want);
	}
}

static const struct {
	const char *why;
	enum reason guard;
	bool want;
	struct change facts[CHANGES_MAX];
} explained[] = {
	{ "no proof holds, so there is nothing to object to",
	  REASON_UNREAD_BYTES,
	  false,
	  { F(recv_queue, 1) } },
	{ "the only proof", REASON_OPEN_TASK, true, { OPEN, F(retired, true) } },
	{ "another proof stands without it",
	  REASON_OPEN_TASK,
	  false,
	  { OPEN, F(retired, true), F(socket, SOCKET_PEER_CLOSED), FREE } },
	{ "of two objections to one proof both are told: the first",
	  REASON_OPEN_TASK,
	  true,
	  { OPEN, F(retired, true), F(recv_queue, 1) } },
	{ "and the second",
	  REASON_UNREAD_BYTES,
	  true,
	  { OPEN, F(retired, true), F(recv_queue, 1) } },
	{ "but not what does not object",
	  REASON_FENCE_OFF,
	  false,
	  { OPEN, F(retired, true), F(recv_queue, 1) } },
	{ "a reason that is no guard's", REASON_WAITING, false, { F(retired, true) } },
};

Test(guard, explained)
{
	struct policy p = build_policy();

	for (size_t i = 0; i < ARRAY_SIZE(explained); i++) {
		struct facts f = worker();

		change_all(&f, explained[i].facts);
		cr_expect_eq(guard_objects(explained[i].guard, &p, &f), explained[i].want, "%s",
			     explained[i].why);
	}
}

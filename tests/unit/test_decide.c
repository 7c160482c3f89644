/* SPDX-License-Identifier: Apache-2.0 */
#include "decide_row.h"

/* When a worker with a proof is due. */
static const struct row dues[] = {
	{ .why = "exactly the timeout",
	  .action = ACTION_REAP,
	  .reason = REASON_PEER_CLOSED,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { HUNG_UP(MINUTES(5)), FOR(MINUTES(5)) } },
	{ .why = "a millisecond less",
	  .reason = REASON_WAITING,
	  .fence = FENCE_PEER_CLOSED,
	  .due_in_ms = 1,
	  .facts = { HUNG_UP(MINUTES(5) - 1), FOR(MINUTES(5)) } },
	{ .why = "hung up long ago, blocked since a minute",
	  .reason = REASON_WAITING,
	  .fence = FENCE_PEER_CLOSED,
	  .due_in_ms = MINUTES(4),
	  .facts = { HUNG_UP(MINUTES(60)), FOR(MINUTES(1)) } },
	{ .why = "blocked long before the host hung up",
	  .reason = REASON_WAITING,
	  .fence = FENCE_PEER_CLOSED,
	  .due_in_ms = MINUTES(4),
	  .facts = { HUNG_UP(MINUTES(1)), FOR(MINUTES(60)) } },
	{ .why = "when it last ran is not known: from now on",
	  .reason = REASON_WAITING,
	  .fence = FENCE_PEER_CLOSED,
	  .due_in_ms = MINUTES(5),
	  .facts = { HUNG_UP(MINUTES(60)), F(blocked_ms, UNKNOWN_U64) } },
	{ .why = "a marker's clock counts no longer than it has been blocked",
	  .reason = REASON_WAITING,
	  .fence = FENCE_RETIRED,
	  .due_in_ms = MINUTES(4),
	  .facts = { F(retired, true), F(retired_age_ms, MINUTES(60)), FOR(MINUTES(1)) } },
	{ .why = "nor does it if that is not known",
	  .reason = REASON_WAITING,
	  .fence = FENCE_RETIRED,
	  .due_in_ms = MINUTES(5),
	  .facts = { F(retired, true), F(retired_age_ms, MINUTES(60)),
		     F(blocked_ms, UNKNOWN_U64) } },
	{ .why = "two beats, the last end six minutes ago",
	  .action = ACTION_REAP,
	  .reason = REASON_TASK_ENDED,
	  .fence = FENCE_TASK_ENDED,
	  .facts = { REPORTED(MINUTES(6)), FOR(MINUTES(7)) } },
	{ .why = "two beats, the last end a minute ago",
	  .reason = REASON_WAITING,
	  .fence = FENCE_TASK_ENDED,
	  .due_in_ms = MINUTES(4),
	  .facts = { REPORTED(MINUTES(1)), FOR(MINUTES(7)) } },
	{ .why = "assumed for less than the timeout",
	  .reason = REASON_WAITING,
	  .fence = FENCE_ASSUMED,
	  .due_in_ms = MINUTES(4),
	  .facts = { ENDED(MINUTES(31)), FOR(MINUTES(31)) },
	  .policy = { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ .why = "assumed",
	  .action = ACTION_REAP,
	  .reason = REASON_ASSUMED,
	  .fence = FENCE_ASSUMED,
	  .facts = { ENDED(MINUTES(35)), FOR(MINUTES(35)) },
	  .policy = { P(assume_leaked_after_ms, MINUTES(30)) } },
	{ .why = "assumed, though no fence may kill",
	  .action = ACTION_REAP,
	  .reason = REASON_ASSUMED,
	  .fence = FENCE_ASSUMED,
	  .facts = { ENDED(MINUTES(35)), FOR(MINUTES(35)) },
	  .policy = { P(assume_leaked_after_ms, MINUTES(30)), P(fences, 0) } },
};

/* Of several proofs the first that is due is named, else the one that is due soonest. */
static const struct row orders[] = {
	{ .why = "the JVM's death comes first",
	  .action = ACTION_REAP,
	  .reason = REASON_HOST_GONE,
	  .fence = FENCE_HOST_GONE,
	  .facts = { ORPHAN, HUNG_UP(MINUTES(9)), F(seen_ms[FENCE_HOST_GONE], MINUTES(6)),
		     F(retired, true), F(retired_age_ms, MINUTES(9)), FOR(MINUTES(9)) } },
	{ .why = "signed off comes before a marker",
	  .action = ACTION_REAP,
	  .reason = REASON_SIGNED_OFF,
	  .fence = FENCE_SIGNED_OFF,
	  .facts = { SIGNED_OFF, F(retired, true), F(retired_age_ms, MINUTES(9)),
		     FOR(MINUTES(9)) } },
	{ .why = "a closed peer comes before a marker",
	  .action = ACTION_REAP,
	  .reason = REASON_PEER_CLOSED,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { HUNG_UP(MINUTES(9)), F(retired, true), F(retired_age_ms, MINUTES(9)),
		     FOR(MINUTES(9)) } },
	{ .why = "given up comes before ended",
	  .action = ACTION_REAP,
	  .reason = REASON_RETIRED,
	  .fence = FENCE_RETIRED,
	  .facts = { REPORTED(MINUTES(9)), F(retired, true), F(retired_age_ms, MINUTES(9)),
		     FOR(MINUTES(9)) } },
	{ .why = "proven comes before assumed",
	  .action = ACTION_REAP,
	  .reason = REASON_TASK_ENDED,
	  .fence = FENCE_TASK_ENDED,
	  .facts = { REPORTED(MINUTES(9)), FOR(MINUTES(9)) },
	  .policy = { P(assume_leaked_after_ms, MINUTES(1)) } },
	{ .why = "due comes before soon",
	  .action = ACTION_REAP,
	  .reason = REASON_RETIRED,
	  .fence = FENCE_RETIRED,
	  .facts = { HUNG_UP(MINUTES(1)), F(retired, true), F(retired_age_ms, MINUTES(9)),
		     FOR(MINUTES(9)) } },
	{ .why = "soon comes before later",
	  .reason = REASON_WAITING,
	  .fence = FENCE_RETIRED,
	  .due_in_ms = MINUTES(3),
	  .facts = { HUNG_UP(MINUTES(1)), F(retired, true), F(retired_age_ms, MINUTES(2)),
		     FOR(MINUTES(9)) } },
	{ .why = "of two equally soon the first is named",
	  .reason = REASON_WAITING,
	  .fence = FENCE_PEER_CLOSED,
	  .due_in_ms = MINUTES(3),
	  .facts = { HUNG_UP(MINUTES(2)), F(retired, true), F(retired_age_ms, MINUTES(2)),
		     FOR(MINUTES(9)) } },
	{ .why = "waiting comes before one to which a guard objects",
	  .reason = REASON_WAITING,
	  .fence = FENCE_PEER_CLOSED,
	  .due_in_ms = MINUTES(3),
	  .facts = { HUNG_UP(MINUTES(2)), F(retired, true), F(retired_age_ms, MINUTES(9)),
		     F(tasks_bound, 1), F(tasks_open, 1), FOR(MINUTES(9)) } },
	{ .why = "one that is off does not hide one that is on",
	  .action = ACTION_REAP,
	  .reason = REASON_PEER_CLOSED,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { ORPHAN, HUNG_UP(MINUTES(9)), F(seen_ms[FENCE_HOST_GONE], MINUTES(9)),
		     FOR(MINUTES(9)) },
	  .policy = { P(fences, 1u << FENCE_PEER_CLOSED) } },
	{ .why = "all are off: the first is named",
	  .reason = REASON_FENCE_OFF,
	  .fence = FENCE_HOST_GONE,
	  .facts = { ORPHAN, HUNG_UP(MINUTES(9)), F(seen_ms[FENCE_HOST_GONE], MINUTES(9)),
		     FOR(MINUTES(9)) },
	  .policy = { P(fences, 0) } },
	{ .why = "all are off: the one that would be due soonest is named",
	  .reason = REASON_FENCE_OFF,
	  .fence = FENCE_RETIRED,
	  .facts = { HUNG_UP(MINUTES(1)), F(retired, true), F(retired_age_ms, MINUTES(9)),
		     FOR(MINUTES(9)) },
	  .policy = { P(fences, 0) } },
	{ .why = "off and not yet due: off is told",
	  .reason = REASON_FENCE_OFF,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { HUNG_UP(MINUTES(1)), FOR(MINUTES(9)) },
	  .policy = { P(fences, 0) } },
	{ .why = "an open task against the host's word",
	  .reason = REASON_OPEN_TASK,
	  .fence = FENCE_RETIRED,
	  .facts = { F(host_log, true), F(retired, true), F(retired_age_ms, MINUTES(9)),
		     F(tasks_bound, 2), F(tasks_open, 1), FOR(MINUTES(9)) } },
	{ .why = "a guard comes before what objects to one proof",
	  .reason = REASON_TOO_YOUNG,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { HUNG_UP(MINUTES(9)), FOR(MINUTES(9)), F(age_ms, SECONDS(59)) },
	  .policy = { P(fences, 0) } },
	{ .why = "a guard comes before waiting, and then nothing is due",
	  .reason = REASON_PROGRESS,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { HUNG_UP(MINUTES(1)), FOR(MINUTES(1)), F(progress, TRI_YES) } },
	{ .why = "a guard shows on a worker with a proof",
	  .reason = REASON_STOPPED,
	  .fence = FENCE_PEER_CLOSED,
	  .facts = { HUNG_UP(MINUTES(9)), FOR(MINUTES(9)), F(stopped, true) } },
	{ .why = "and past silent_after",
	  .reason = REASON_STOPPED,
	  .facts = { FOR(MINUTES(20)), F(stopped, true) } },
	{ .why = "otherwise not",
	  .reason = REASON_IDLE,
	  .facts = { FOR(MINUTES(1)), F(stopped, true) } },
};

Test(decide, due)
{
	CHECK_ALL(dues);
}

Test(decide, order_of_proofs_and_reasons)
{
	CHECK_ALL(orders);
}

static const struct {
	const char *why;
	uint64_t want_ms;
	struct change facts[CHANGES_MAX];
} ages[] = {
	{ "the FIN", MINUTES(6), { HUNG_UP(MINUTES(6)), FOR(MINUTES(9)) } },
	{ "the FIN, though it ran since", MINUTES(6), { HUNG_UP(MINUTES(6)), FOR(MINUTES(1)) } },
	{ "a marker, no longer than it has been blocked",
	  MINUTES(1),
	  { F(retired, true), F(retired_age_ms, MINUTES(6)), FOR(MINUTES(1)) } },
	{ "a marker later than that",
	  MINUTES(1),
	  { F(retired, true), F(retired_age_ms, MINUTES(1)), FOR(MINUTES(6)) } },
	{ "a marker, of a worker of which it is not known",
	  MINUTES(6),
	  { F(retired, true), F(retired_age_ms, MINUTES(6)), F(blocked_ms, UNKNOWN_U64) } },
	{ "without a proof there is none", UNKNOWN_U64, { FOR(MINUTES(6)) } },
};

Test(decide, age_of_the_proof)
{
	struct policy p = build_policy();

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		struct facts f = build_facts((struct ident){ 4801, 8812400 });

		change_all(&f, ages[i].facts);
		cr_expect_eq(decide(&p, &f).fence_age_ms, ages[i].want_ms, "%s: %lu", ages[i].why,
			     decide(&p, &f).fence_age_ms);
	}
}

static const struct {
	const char *why;
	uint32_t workers;
	uint64_t idle_ms;
	enum action action;
	enum reason reason;
} daemons[] = {
	{ "it has workers", 3, UNKNOWN_U64, ACTION_KEEP, REASON_DAEMON },
	{ "it has workers, whatever was before", 1, MINUTES(60), ACTION_KEEP, REASON_DAEMON },
	{ "its last worker left just now", 0, MINUTES(1), ACTION_KEEP, REASON_DAEMON },
	{ "not yet", 0, MINUTES(15) - 1, ACTION_KEEP, REASON_DAEMON },
	{ "since when is not known", 0, UNKNOWN_U64, ACTION_KEEP, REASON_DAEMON },
	{ "Spark Connect leaves one per session", 0, MINUTES(15), ACTION_SUSPECT,
	  REASON_IDLE_DAEMON },
};

Test(decide, daemon)
{
	struct policy p = build_policy();

	for (size_t i = 0; i < ARRAY_SIZE(daemons); i++) {
		struct verdict v = decide_daemon(&p, daemons[i].workers, daemons[i].idle_ms);

		cr_expect_eq(v.action, daemons[i].action, "%s", daemons[i].why);
		cr_expect_eq(v.reason, daemons[i].reason, "%s", daemons[i].why);
		cr_expect_eq(v.missing, MISSING_NOTHING, "%s", daemons[i].why);
		cr_expect_eq(v.fence, FENCE_NONE, "%s", daemons[i].why);
		cr_expect_eq(v.due_in_ms, UNKNOWN_U64, "%s", daemons[i].why);
	}
}

Test(decide, lost_helper_is_reported_and_never_touched)
{
	struct verdict v = decide_lost_helper();

	cr_expect_eq(v.action, ACTION_SUSPECT);
	cr_expect_eq(v.reason, REASON_LOST_HELPER);
	cr_expect_eq(v.fence, FENCE_NONE);
	cr_expect_eq(v.missing, MISSING_NOTHING);
}

static const struct {
	const char *why;
	enum action action;
	enum reason reason;
	uint32_t crashes;
	bool suspect;
} loops[] = {
	{ "a daemon", ACTION_KEEP, REASON_DAEMON, CRASH_LOOP, true },
	{ "one that just began, and runs", ACTION_KEEP, REASON_RUNNING, CRASH_LOOP, true },
	{ "one that may not be read", ACTION_KEEP, REASON_UNREADABLE, CRASH_LOOP, true },
	{ "pid 1 of a container", ACTION_KEEP, REASON_OTHER_PIDNS, CRASH_LOOP, true },
	{ "two are no loop", ACTION_KEEP, REASON_DAEMON, CRASH_LOOP - 1, false },
	{ "who says to let it alone is obeyed", ACTION_KEEP, REASON_PROTECTED, CRASH_LOOP, false },
	{ "one that is gone", ACTION_KEEP, REASON_VANISHED, CRASH_LOOP, false },
	{ "reaper itself", ACTION_KEEP, REASON_SELF, CRASH_LOOP, false },
	{ "one that is suspect for more", ACTION_SUSPECT, REASON_SILENT, CRASH_LOOP, false },
	{ "one that is ended", ACTION_REAP, REASON_RETIRED, CRASH_LOOP, false },
};

Test(decide, crash_loops)
{
	struct verdict calm = { .reason = REASON_DAEMON };
	struct crashes many = { .by_signal = CRASH_LOOP };

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct crashes c = { .by_signal = loops[i].crashes };
		struct verdict v = { .action = loops[i].action, .reason = loops[i].reason };

		v = decide_crash_loop(v, &c);
		cr_expect_eq(v.action, loops[i].suspect ? ACTION_SUSPECT : loops[i].action, "%s",
			     loops[i].why);
		cr_expect_eq(v.reason, loops[i].suspect ? REASON_CRASH_LOOP : loops[i].reason, "%s",
			     loops[i].why);
		cr_expect_eq(v.fence, FENCE_NONE, "%s", loops[i].why);
	}
	cr_expect_eq(decide_crash_loop(calm, NULL).action, ACTION_KEEP, "nobody watches");
	calm.fence = FENCE_RETIRED;
	calm.reason = REASON_WAITING;
	cr_expect_eq(decide_crash_loop(calm, &many).reason, REASON_WAITING, "it is given up");
}

Test(decide, nothing_known_is_keep)
{
	struct policy p = build_policy();
	struct facts nothing = { 0 };
	struct verdict zero = { 0 };

	cr_expect_eq(decide(&p, &nothing).action, ACTION_KEEP);
	cr_expect_eq(zero.action, ACTION_KEEP, "the zero value of a verdict is keep");
}

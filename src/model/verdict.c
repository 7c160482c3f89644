/* SPDX-License-Identifier: Apache-2.0 */
#include "model/verdict.h"

#include <assert.h>
#include <string.h>

#include "base/macro.h"

static const char *const action_names[] = {
	[ACTION_KEEP] = "keep",
	[ACTION_SUSPECT] = "suspect",
	[ACTION_REAP] = "reap",
};
static_assert(ARRAY_SIZE(action_names) == ACTION_COUNT, "every action has a name");

static const char *const reason_names[] = {
	[REASON_VANISHED] = "vanished",
	[REASON_SELF] = "self",
	[REASON_ANCESTOR] = "ancestor",
	[REASON_PROTECTED] = "protected",
	[REASON_FOREIGN_UID] = "foreign-uid",
	[REASON_OTHER_PIDNS] = "other-pidns",
	[REASON_CHANGED] = "changed",
	[REASON_TRACED] = "traced",
	[REASON_DUMPING] = "dumping",
	[REASON_STOPPED] = "stopped",
	[REASON_UNINTERRUPTIBLE] = "uninterruptible",
	[REASON_UNREADABLE] = "unreadable",
	[REASON_RUNNING] = "running",
	[REASON_UNKNOWN_WAIT] = "unknown-wait",
	[REASON_PROGRESS] = "progress",
	[REASON_TOO_YOUNG] = "too-young",
	[REASON_OPEN_TASK] = "open-task",
	[REASON_UNREAD_BYTES] = "unread-bytes",
	[REASON_FENCE_OFF] = "fence-off",
	[REASON_WAITING] = "waiting",
	[REASON_LEASED] = "leased",
	[REASON_POOLED] = "pooled",
	[REASON_SERVING] = "serving",
	[REASON_IDLE] = "idle",
	[REASON_DAEMON] = "daemon",
	[REASON_SILENT] = "silent",
	[REASON_IDLE_DAEMON] = "idle-daemon",
	[REASON_LOST_HELPER] = "lost-helper",
	[REASON_STUCK_WAIT] = "stuck-wait",
	[REASON_GROWING] = "growing",
	[REASON_CRASH_LOOP] = "crash-loop",
	[REASON_UNKILLABLE] = "unkillable",
	[REASON_HOST_GONE] = "host-gone",
	[REASON_SIGNED_OFF] = "signed-off",
	[REASON_PEER_CLOSED] = "peer-closed",
	[REASON_RETIRED] = "retired",
	[REASON_TASK_ENDED] = "task-ended",
	[REASON_ASSUMED] = "assumed",
};
static_assert(ARRAY_SIZE(reason_names) == REASON_COUNT, "every reason has a name");

static const struct {
	const char *name;
	enum reason reason;
} fences[] = {
	[FENCE_NONE] = { "none", REASON_IDLE },
	[FENCE_HOST_GONE] = { "host-gone", REASON_HOST_GONE },
	[FENCE_SIGNED_OFF] = { "signed-off", REASON_SIGNED_OFF },
	[FENCE_PEER_CLOSED] = { "peer-closed", REASON_PEER_CLOSED },
	[FENCE_RETIRED] = { "retired", REASON_RETIRED },
	[FENCE_TASK_ENDED] = { "task-ended", REASON_TASK_ENDED },
	[FENCE_ASSUMED] = { "assumed", REASON_ASSUMED },
};
static_assert(ARRAY_SIZE(fences) == FENCE_COUNT, "every fence has a name");

const char *action_name(enum action action)
{
	return action_names[action];
}

const char *reason_name(enum reason reason)
{
	return reason_names[reason];
}

const char *fence_name(enum fence fence)
{
	return fences[fence].name;
}

enum reason fence_reason(enum fence fence)
{
	return fences[fence].reason;
}

enum fence fence_from_name(const char *name)
{
	for (int f = FENCE_NONE + 1; f < FENCE_ASSUMED; f++)
		if (strcmp(fences[f].name, name) == 0)
			return f;
	return FENCE_NONE;
}

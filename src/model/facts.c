/* SPDX-License-Identifier: Apache-2.0 */
#include "model/facts.h"

#include <assert.h>

#include "base/macro.h"
#include "model/policy.h"

#define FACT(member_name, member, member_type, elements)                    \
	{                                                                   \
		.name = member_name, .type = member_type,                   \
		.offset = offsetof(struct facts, member), .count = elements \
	}
#define KNOB(member, member_type)                                                                \
	{                                                                                        \
		.name = #member, .type = member_type, .offset = offsetof(struct policy, member), \
		.count = 1                                                                       \
	}

// clang-format off
const struct facts_field facts_fields[] = {
	FACT("pid", id.pid, FACTS_PID, 1),
	FACT("start", id.start, FACTS_U64, 1),
	FACT("uid", uid, FACTS_U32, 1),
	FACT("single", single, FACTS_BOOL, 1),
	FACT("may_kill", may_kill, FACTS_BOOL, 1),
	FACT("vanished", vanished, FACTS_BOOL, 1),
	FACT("is_self", is_self, FACTS_BOOL, 1),
	FACT("is_ancestor", is_ancestor, FACTS_BOOL, 1),
	FACT("is_protected", is_protected, FACTS_BOOL, 1),
	FACT("foreign_uid", foreign_uid, FACTS_BOOL, 1),
	FACT("other_pidns", other_pidns, FACTS_BOOL, 1),
	FACT("changed", changed, FACTS_BOOL, 1),
	FACT("traced", traced, FACTS_BOOL, 1),
	FACT("dumping", dumping, FACTS_BOOL, 1),
	FACT("stopped", stopped, FACTS_BOOL, 1),
	FACT("uninterruptible", uninterruptible, FACTS_BOOL, 1),
	FACT("unreadable", unreadable, FACTS_BOOL, 1),
	FACT("asleep", asleep, FACTS_TRI, 1),
	FACT("wait", wait, FACTS_ENUM, 1),
	FACT("wait_forever", wait_forever, FACTS_TRI, 1),
	FACT("progress", progress, FACTS_TRI, 1),
	FACT("age_ms", age_ms, FACTS_U64, 1),
	FACT("blocked_ms", blocked_ms, FACTS_U64, 1),
	FACT("silent_ms", silent_ms, FACTS_U64, 1),
	FACT("cpu_ppm", cpu_ppm, FACTS_U32, 1),
	FACT("socket", socket, FACTS_ENUM, 1),
	FACT("transport", transport, FACTS_ENUM, 1),
	FACT("host_held", host_held, FACTS_TRI, 1),
	FACT("closing", closing, FACTS_BOOL, 1),
	FACT("in_signoff_call", in_signoff_call, FACTS_BOOL, 1),
	FACT("recv_queue", recv_queue, FACTS_U64, 1),
	FACT("send_queue", send_queue, FACTS_U64, 1),
	FACT("host_recv_queue", host_recv_queue, FACTS_U64, 1),
	FACT("host_writes", host_writes, FACTS_TRI, 1),
	FACT("hangup_ms", hangup_ms, FACTS_U64, 1),
	FACT("host_gone", host_gone, FACTS_TRI, 1),
	FACT("seen_ms", seen_ms, FACTS_U64, FENCE_COUNT),
	FACT("host_log", host_log, FACTS_BOOL, 1),
	FACT("logs_whole", logs_whole, FACTS_BOOL, 1),
	FACT("tasks_bound", tasks_bound, FACTS_U32, 1),
	FACT("tasks_open", tasks_open, FACTS_U32, 1),
	FACT("pooled", pooled, FACTS_BOOL, 1),
	FACT("leased", leased, FACTS_BOOL, 1),
	FACT("retired", retired, FACTS_BOOL, 1),
	FACT("retired_by_operator", retired_by_operator, FACTS_BOOL, 1),
	FACT("retired_age_ms", retired_age_ms, FACTS_U64, 1),
	FACT("late_byte", late_byte, FACTS_TRI, 1),
	FACT("unpooled", unpooled, FACTS_TRI, UNPOOLED_COUNT),
	FACT("ended_age_ms", ended_age_ms, FACTS_U64, 1),
	FACT("last_end_age_ms", last_end_age_ms, FACTS_U64, 1),
	FACT("growing", growing, FACTS_TRI, 1),
	FACT("until_limit_ms", until_limit_ms, FACTS_U64, 1),
	FACT("term_default", term_default, FACTS_BOOL, 1),
};

const struct facts_field policy_fields[] = {
	KNOB(timeout_ms, FACTS_U64),
	KNOB(silent_after_ms, FACTS_U64),
	KNOB(assume_leaked_after_ms, FACTS_U64),
	KNOB(min_age_ms, FACTS_U64),
	KNOB(growing_within_ms, FACTS_U64),
	KNOB(idle_cpu_ppm, FACTS_U32),
	KNOB(fences, FACTS_U32),
	KNOB(helpers, FACTS_BOOL),
};
// clang-format on

const size_t facts_field_count = ARRAY_SIZE(facts_fields);
const size_t policy_field_count = ARRAY_SIZE(policy_fields);

static_assert(sizeof(enum tri) == sizeof(uint32_t), "enums are written as 32-bit numbers");
static_assert(sizeof(pid_t) == sizeof(uint32_t), "pids are written as 32-bit numbers");

static const char *const wait_names[] = {
	[WAIT_UNKNOWN] = NULL,  [WAIT_POLL] = "poll",     [WAIT_PPOLL] = "ppoll",
	[WAIT_EPOLL] = "epoll", [WAIT_SELECT] = "select", [WAIT_FUTEX] = "futex",
	[WAIT_READ] = "read",   [WAIT_WRITE] = "write",   [WAIT_RECV] = "recv",
	[WAIT_SEND] = "send",   [WAIT_ACCEPT] = "accept", [WAIT_SLEEP] = "sleep",
	[WAIT_CHILD] = "wait",  [WAIT_FLOCK] = "flock",   [WAIT_RESTART] = "restart_syscall",
};
static_assert(ARRAY_SIZE(wait_names) == WAIT_KIND_COUNT, "every wait has a name");

const char *wait_kind_name(enum wait_kind wait)
{
	return wait_names[wait];
}

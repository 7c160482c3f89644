/* SPDX-License-Identifier: Apache-2.0 */
#include "model/event.h"

#include <assert.h>

#include "base/macro.h"

static const char *const kind_names[] = {
	[EVENT_START] = "start",           [EVENT_VERDICT] = "verdict",
	[EVENT_ACTION] = "action",         [EVENT_SWEEP] = "sweep",
	[EVENT_RELOAD] = "reload",         [EVENT_BREAKER] = "breaker",
	[EVENT_HOST_GONE] = "host-gone",   [EVENT_EXIT] = "exit",
	[EVENT_CRASH_LOOP] = "crash-loop", [EVENT_STOP] = "stop",
};
static_assert(ARRAY_SIZE(kind_names) == EVENT_KIND_COUNT, "every event has a name");

static const char *const outcome_names[] = {
	[OUTCOME_EXITED] = "exited",         [OUTCOME_KILLED] = "killed",
	[OUTCOME_UNKILLABLE] = "unkillable", [OUTCOME_VANISHED] = "vanished",
	[OUTCOME_SPARED] = "spared",         [OUTCOME_HELD] = "held",
	[OUTCOME_REFUSED] = "refused",
};
static_assert(ARRAY_SIZE(outcome_names) == OUTCOME_COUNT, "every outcome has a name");

const char *event_kind_name(enum event_kind kind)
{
	return kind_names[kind];
}

const char *outcome_name(enum outcome outcome)
{
	return outcome_names[outcome];
}

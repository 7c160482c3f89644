/* SPDX-License-Identifier: Apache-2.0 */
#include "model/marker.h"

#include <assert.h>

#include "base/macro.h"

static const char *const state_names[] = {
	[MARKS_NONE] = "none",       [MARKS_OPEN] = "open",     [MARKS_ENDED] = "ended",
	[MARKS_DONE] = "done",       [MARKS_POOLED] = "pooled", [MARKS_LEASED] = "leased",
	[MARKS_RETIRED] = "retired",
};
static_assert(ARRAY_SIZE(state_names) == MARKS_STATE_COUNT, "every marker state has a name");

const char *marker_state_name(enum marker_state state)
{
	return state_names[state];
}

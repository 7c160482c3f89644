/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a reaper of which everybody is due: linked in front of decide(), with the objects that ship.
 * tests/system/test_sandbox.py runs it dry, and nobody may get a signal.
 */
#include "decide/decide.h"

struct verdict __wrap_decide(const struct policy *policy, const struct facts *facts);

struct verdict __wrap_decide(const struct policy *policy, const struct facts *facts)
{
	(void)facts;
	return (struct verdict){
		.action = ACTION_REAP,
		.reason = fence_reason(FENCE_PEER_CLOSED),
		.fence = FENCE_PEER_CLOSED,
		.fence_age_ms = policy->timeout_ms,
		.due_in_ms = UNKNOWN_U64,
	};
}

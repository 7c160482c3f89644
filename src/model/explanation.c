/* SPDX-License-Identifier: Apache-2.0 */
#include "model/explanation.h"

#include <assert.h>

#include "base/macro.h"

static const char *const status_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_ADVICE] = "advice",
	[CHECK_BAD] = "bad",
};
static_assert(ARRAY_SIZE(status_names) == CHECK_STATUS_COUNT, "every status has a name");

const char *check_status_name(enum check_status status)
{
	return status_names[status];
}

bool reason_is_guard(enum reason reason)
{
	return reason <= REASON_FENCE_OFF;
}

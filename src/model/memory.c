/* SPDX-License-Identifier: Apache-2.0 */
#include "model/memory.h"

#include <assert.h>
#include <stdlib.h>

#include "base/macro.h"

static const char *const limit_names[] = {
	[MEMORY_LIMIT_UNKNOWN] = NULL,
	[MEMORY_LIMIT_CGROUP] = "cgroup",
	[MEMORY_LIMIT_MACHINE] = "machine",
};
static_assert(ARRAY_SIZE(limit_names) == MEMORY_LIMIT_COUNT, "every limit has a name");

const char *memory_limit_name(enum memory_limit_of of)
{
	return limit_names[of];
}

struct memory *memory_copy(const struct memory *m)
{
	struct memory *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *m;
	return copy;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/oom.h"

#include <string.h>

static bool is_in(const char *path, const char *cgroup)
{
	size_t len = strlen(cgroup);

	if (!path[0])
		return false;
	if (strcmp(cgroup, "/") == 0)
		return true;
	return strncmp(path, cgroup, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_counted(const struct oom_candidate *c, const struct memory_limit *limit)
{
	if (!c->oom_score)
		return false;
	return limit->of == MEMORY_LIMIT_MACHINE ||
	       (limit->of == MEMORY_LIMIT_CGROUP && is_in(c->cgroup, limit->cgroup));
}

static bool is_sooner(const struct oom_candidate *a, const struct oom_candidate *b)
{
	if (a->oom_score != b->oom_score)
		return a->oom_score > b->oom_score;
	if (a->rss_bytes != b->rss_bytes)
		return a->rss_bytes > b->rss_bytes;
	return ident_compare(a->id, b->id) < 0;
}

const struct oom_candidate *oom_choose(const struct oom_candidate *candidates, size_t count,
				       const struct memory_limit *limit)
{
	const struct oom_candidate *chosen = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct oom_candidate *c = &candidates[i];

		if (is_counted(c, limit) && (!chosen || is_sooner(c, chosen)))
			chosen = c;
	}
	return chosen;
}

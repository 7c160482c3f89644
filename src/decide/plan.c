/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/grow.h"

struct due {
	size_t index;
	uint64_t blocked_ms;
	uint64_t bytes;
	struct ident id;
};

/* No two are equal, so the order hangs on nothing else. */
static int compare(const void *a, const void *b)
{
	const struct due *p = a, *q = b;

	if (p->blocked_ms != q->blocked_ms)
		return p->blocked_ms > q->blocked_ms ? -1 : 1;
	if (p->bytes != q->bytes)
		return p->bytes > q->bytes ? -1 : 1;
	return ident_compare(p->id, q->id);
}

static bool is_due(const struct subject *s)
{
	return role_is_judged(s->role) && s->verdict.action == ACTION_REAP;
}

static int list_due(const struct audit *a, struct due **ret, size_t *ret_count)
{
	_cleanup_free_ struct due *list = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];
		struct due *more;

		if (!is_due(s))
			continue;
		more = grow(list, count, &room, sizeof(*list), AUDIT_SUBJECTS_MAX);
		if (!more)
			return -ENOMEM;
		list = more;
		list[count++] = (struct due){ i, s->facts.blocked_ms, s->rss_bytes, s->id };
	}
	*ret = TAKE_PTR(list);
	*ret_count = count;
	return 0;
}

int plan_make(const struct audit *a, const struct limits *limits, uint32_t kills_last_hour,
	      struct plan *ret)
{
	_cleanup_free_ struct due *list = NULL;
	size_t count = 0, room = 0, allowed;
	struct plan p = { 0 };
	uint32_t left;

	if (list_due(a, &list, &count) < 0)
		return -ENOMEM;
	if (count)
		qsort(list, count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++) {
		size_t *items = grow(p.items, i, &room, sizeof(*items), count);

		if (!items) {
			plan_done(&p);
			return -ENOMEM;
		}
		p.items = items;
		items[i] = list[i].index;
	}
	left = limits->per_hour > kills_last_hour ? limits->per_hour - kills_last_hour : 0;
	allowed = MIN(left, limits->per_sweep);
	p.count = MIN(count, allowed);
	p.held = count - p.count;
	*ret = p;
	return 0;
}

void plan_done(struct plan *p)
{
	free(p->items);
	memset(p, 0, sizeof(*p));
}

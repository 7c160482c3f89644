/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_crashes.h"

#include <errno.h>

#include "decide/decide.h"

static int judge(const struct look *l, struct audit *a, const struct exits_key *key,
		 struct verdict *verdict, size_t *which)
{
	struct crashes c;

	if (!exits_ask(&l->exits, key, a->boot_ms, l->config->crash_window_ms, &c))
		return 0;
	*which = audit_add_crashes(a, &c);
	if (!*which)
		return -ENOMEM;
	*verdict = decide_crash_loop(*verdict, &c);
	return 0;
}

/* Its workers' crashes are its own affair; those of the daemons before it tell less of it. */
static int judge_daemon(const struct look *l, struct audit *a, struct daemon *d)
{
	struct exits_key workers = exits_key_workers(a, d), daemons = exits_key_daemon(a, d);

	if (judge(l, a, &workers, &d->verdict, &d->crashes) < 0)
		return -ENOMEM;
	return d->crashes ? 0 : judge(l, a, &daemons, &d->verdict, &d->crashes);
}

int look_crashes_judge(const struct look *l, struct audit *a)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		if (judge_daemon(l, a, &a->daemons[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];
		struct exits_key key = exits_key_subject(a, s);

		if (s->role == ROLE_SINGLE && judge(l, a, &key, &s->verdict, &s->crashes) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_crashes.h"

#include <errno.h>

#include "decide/decide.h"

static bool ask(const struct look *l, const struct audit *a, const struct exits_key *key,
		struct crashes *ret)
{
	return exits_ask(&l->exits, key, a->boot_ms, l->config->crash_window_ms, ret);
}

static int judge(struct audit *a, const struct crashes *c, struct verdict *verdict, size_t *which)
{
	*which = audit_add_crashes(a, c);
	if (!*which)
		return -ENOMEM;
	*verdict = decide_crash_loop(*verdict, c);
	return 0;
}

/* Its workers' crashes are its own affair; those of the daemons before it tell less of it, unless they
 * alone are a loop. */
static int judge_daemon(const struct look *l, struct audit *a, struct daemon *d)
{
	struct exits_key workers = exits_key_workers(a, d), daemons = exits_key_daemon(a, d);
	struct crashes its, before;
	bool any_its = ask(l, a, &workers, &its), any_before = ask(l, a, &daemons, &before);

	if (any_its && (crashes_loop(&its) || !crashes_loop(&before)))
		return judge(a, &its, &d->verdict, &d->crashes);
	return any_before ? judge(a, &before, &d->verdict, &d->crashes) : 0;
}

int look_crashes_judge(const struct look *l, struct audit *a)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		if (judge_daemon(l, a, &a->daemons[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];
		struct exits_key key = exits_key_subject(a, s);
		struct crashes c;

		if (s->role == ROLE_SINGLE && ask(l, a, &key, &c) &&
		    judge(a, &c, &s->verdict, &s->crashes) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/words.h"

enum {
	ROLE_SHOWN = 24, /* bytes of a role or a command name */
};

const char *words_rate(int64_t bytes_per_s, char *ret, size_t size)
{
	uint64_t much = bytes_per_s < 0 ? -(uint64_t)bytes_per_s : (uint64_t)bytes_per_s;
	char text[WORDS_SHORT_MAX];

	snprintf(ret, size, "%c%s/s", bytes_per_s < 0 ? '-' : '+',
		 words_size(much, text, sizeof(text)));
	return ret;
}

/* What people call it: its role, where a class of singles names it. */
static const char *called(const struct audit *a, const struct oom_candidate *c)
{
	const struct subject *s = a ? audit_find(a, c->id.pid) : NULL;

	return s && s->label[0] ? s->label : c->comm;
}

const char *words_victim(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	const struct oom_candidate *c = s->memory ? &s->memory->victim : NULL;
	char name[WORDS_NAME_MAX];

	if (!c || !c->id.pid)
		snprintf(ret, WORDS_MAX, "nobody that is known");
	else if (ident_equal(c->id, s->id))
		snprintf(ret, WORDS_MAX, "this very process");
	else
		snprintf(ret, WORDS_MAX, "process %" PRId32 " (%s), not this one", c->id.pid,
			 words_name(called(a, c), name, ROLE_SHOWN));
	return ret;
}

const char *words_limit(const struct memory_limit *limit, char ret[WORDS_MAX])
{
	char size[WORDS_SHORT_MAX], name[WORDS_NAME_MAX];

	if (limit->of == MEMORY_LIMIT_CGROUP)
		snprintf(ret, WORDS_MAX, "the %s of cgroup %s",
			 words_size(limit->limit_bytes, size, sizeof(size)),
			 words_name(limit->cgroup, name, sizeof(name)));
	else if (limit->of == MEMORY_LIMIT_MACHINE)
		snprintf(ret, WORDS_MAX, "the machine's %s",
			 words_size(limit->limit_bytes, size, sizeof(size)));
	else
		snprintf(ret, WORDS_MAX, "a limit that is not known");
	return ret;
}

const char *words_growing(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	const struct memory *m = s->memory;
	char rate[WORDS_SHORT_MAX + 4], age[WORDS_SHORT_MAX], limit[WORDS_MAX], victim[WORDS_MAX];

	if (!m) {
		snprintf(ret, WORDS_MAX, "its memory grows towards a limit");
		return ret;
	}
	snprintf(
		ret, WORDS_MAX,
		"its memory grows by %s and reaches %.66s in %s; as it is now the kernel would kill %.60s",
		words_rate(m->trend.anon_per_s, rate, sizeof(rate)) + 1,
		words_limit(&m->limit, limit), words_age(m->until_limit_ms, age, sizeof(age)),
		words_victim(a, s, victim));
	return ret;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/audit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "model/grow.h"

static const char *const role_names[] = {
	[ROLE_OTHER] = "other",
	[ROLE_HOST] = "host",
	[ROLE_DAEMON] = "daemon",
	[ROLE_WORKER] = "worker",
	[ROLE_SINGLE] = "single",
	[ROLE_HELPER] = "helper",
	[ROLE_LOST_HELPER] = "lost-helper",
	[ROLE_REAPER] = "reaper",
};
static_assert(ARRAY_SIZE(role_names) == ROLE_COUNT, "every role has a name");

const char *role_name(enum role role)
{
	return role_names[role];
}

bool role_is_judged(enum role role)
{
	return role == ROLE_WORKER || role == ROLE_SINGLE;
}

static uint64_t known_or(uint64_t value, uint64_t other)
{
	return value == UNKNOWN_U64 ? other : value;
}

static void count_subject(const struct subject *s, struct audit_summary *sum)
{
	bool judged = role_is_judged(s->role);

	sum->workers += s->role == ROLE_WORKER;
	sum->singles += s->role == ROLE_SINGLE;
	sum->keep += judged && s->verdict.action == ACTION_KEEP;
	sum->suspect += s->verdict.action == ACTION_SUSPECT;
	if (s->verdict.action != ACTION_REAP || !judged)
		return;
	sum->reap++;
	sum->reclaimable_bytes += known_or(s->ev.pss_bytes, known_or(s->ev.anon_bytes, 0));
	sum->reclaimable_rss_bytes += known_or(s->ev.rss_bytes, 0);
}

struct audit_summary audit_summarise(const struct audit *a)
{
	struct audit_summary sum = { 0 };

	for (size_t i = 0; i < a->subject_count; i++)
		count_subject(&a->subjects[i], &sum);
	for (size_t i = 0; i < a->daemon_count; i++)
		sum.suspect += a->daemons[i].verdict.action == ACTION_SUSPECT;
	return sum;
}

struct subject *audit_find(const struct audit *a, pid_t pid)
{
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].id.pid == pid)
			return &a->subjects[i];
	return NULL;
}

void subject_done(struct subject *s)
{
	evidence_done(&s->ev);
	free(s->memory);
	s->memory = NULL;
}

size_t audit_add_crashes(struct audit *a, const struct crashes *c)
{
	struct crashes *crashes = grow(a->crashes, a->crash_count, &a->crash_room, sizeof(*crashes),
				       AUDIT_SUBJECTS_MAX);

	if (!crashes)
		return 0;
	a->crashes = crashes;
	crashes[a->crash_count++] = *c;
	return a->crash_count;
}

const struct crashes *audit_crashes(const struct audit *a, size_t which)
{
	return a && which ? &a->crashes[which - 1] : NULL;
}

void audit_done(struct audit *a)
{
	for (size_t i = 0; i < a->subject_count; i++)
		subject_done(&a->subjects[i]);
	for (size_t i = 0; i < a->daemon_count; i++)
		evidence_done(&a->daemons[i].ev);
	for (size_t i = 0; i < a->host_count; i++)
		free(a->hosts[i].writers.began_ms);
	snapshot_done(&a->snapshot);
	free(a->hosts);
	free(a->daemons);
	free(a->subjects);
	free(a->crashes);
	memset(a, 0, offsetof(struct audit, classes));
	a->classes.count = 0;
}

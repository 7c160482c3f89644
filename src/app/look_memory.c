/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_memory.h"

#include <errno.h>
#include <string.h>

#include "base/fs.h"
#include "base/pin.h"
#include "correlate/oom.h"
#include "model/grow.h"

/* All processes as the kernel rates them. */
struct candidates {
	struct oom_candidate *candidate; /* owned */
	size_t count;
	size_t room;
};

static void candidates_done(struct candidates *c)
{
	free(c->candidate);
}

/* The nearer one of its cgroups' limit and the machine's. */
static void find_limit(const struct look *l, pid_t pid, const struct memory_limit *machine,
		       struct memory_limit *ret)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	struct memory_limit cgroup;

	*ret = *machine;
	if (dirfd < 0 || room_of_cgroup(&l->mounts, dirfd, &cgroup) < 0)
		return;
	if (machine->of == MEMORY_LIMIT_UNKNOWN || cgroup.room_bytes < machine->room_bytes)
		*ret = cgroup;
}

static int follow(struct look *l, const struct audit *a, const struct memory_limit *machine,
		  struct subject *s)
{
	const struct evidence *e = &s->ev;
	const struct memory_sample sample = { e->taken_ms, e->vm_bytes, e->anon_bytes,
					      e->anon_bytes, e->anon_bytes };
	const struct memory_series *series;
	struct memory m = { 0 };

	if (!e->seen || e->vanished)
		return 0;
	if (growth_note(&l->growth, s->id, &sample, a->boot_ms) < 0)
		return -ENOMEM;
	series = growth_find(&l->growth, s->id);
	if (!series || !series->count)
		return 0;
	m.series = *series;
	m.trend = growth_judge(series, l->config->growing_after_ms);
	find_limit(l, s->id.pid, machine, &m.limit);
	m.until_limit_ms = growth_until(&m.trend, &m.limit);
	s->memory = memory_copy(&m);
	return s->memory ? 0 : -ENOMEM;
}

static int rate(const struct audit *a, struct candidates *ret)
{
	for (size_t i = 0; i < a->snapshot.count; i++) {
		const struct proc *p = &a->snapshot.procs[i];
		_cleanup_close_ int dirfd = pin_open(p->id.pid);
		struct oom_candidate *c =
			grow(ret->candidate, ret->count, &ret->room, sizeof(*c), PROC_COUNT_MAX);

		if (!c)
			return -ENOMEM;
		ret->candidate = c;
		c += ret->count;
		if (dirfd < 0 || room_oom(dirfd, c) < 0)
			continue;
		c->id = p->id;
		c->rss_bytes = p->rss_bytes;
		memcpy(c->comm, p->comm, sizeof(c->comm));
		ret->count++;
	}
	return 0;
}

/* Asked only when somebody grows: it reads two files of every process. */
static int find_victims(struct audit *a)
{
	_cleanup_(candidates_done) struct candidates all = { 0 };

	for (size_t i = 0; i < a->subject_count; i++) {
		struct memory *m = a->subjects[i].memory;
		const struct oom_candidate *victim;

		if (!m || m->trend.growing != TRI_YES)
			continue;
		if (!all.candidate && rate(a, &all) < 0)
			return -ENOMEM;
		victim = oom_choose(all.candidate, all.count, &m->limit);
		if (victim)
			m->victim = *victim;
	}
	return 0;
}

static bool has_single(const struct audit *a)
{
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].role == ROLE_SINGLE)
			return true;
	return false;
}

int look_memory(struct look *l, struct audit *a)
{
	struct memory_limit machine = { 0 };

	if (has_single(a)) {
		if (!l->mounts_known && room_find_mounts(&l->mounts) < 0)
			return -ENOMEM;
		l->mounts_known = true;
		(void)!room_of_machine("/proc/meminfo", &machine);
	}
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].role == ROLE_SINGLE &&
		    follow(l, a, &machine, &a->subjects[i]) < 0)
			return -ENOMEM;
	growth_prune(&l->growth, a->boot_ms);
	return find_victims(a);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include <stdlib.h>
#include <string.h>

struct proc *snapshot_add(struct snapshot *s)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct proc *procs;

		if (room > PROC_COUNT_MAX)
			return NULL;
		procs = realloc(s->procs, room * sizeof(*procs));
		if (!procs)
			return NULL;
		s->procs = procs;
		s->room = room;
	}
	memset(&s->procs[s->count], 0, sizeof(*s->procs));
	return &s->procs[s->count++];
}

static int compare(const void *a, const void *b)
{
	const struct proc *p = a, *q = b;

	return ident_compare(p->id, q->id);
}

void snapshot_sort(struct snapshot *s)
{
	if (s->count)
		qsort(s->procs, s->count, sizeof(*s->procs), compare);
}

static int compare_pid(const void *key, const void *member)
{
	pid_t pid = *(const pid_t *)key;
	const struct proc *p = member;

	return pid < p->id.pid ? -1 : pid > p->id.pid;
}

struct proc *snapshot_find(const struct snapshot *s, pid_t pid)
{
	if (!s->count)
		return NULL;
	return bsearch(&pid, s->procs, s->count, sizeof(*s->procs), compare_pid);
}

void snapshot_done(struct snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->procs[i].argv);
	free(s->procs);
	memset(s, 0, sizeof(*s));
}

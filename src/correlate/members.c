/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/grow.h"

/* A chain of parents in one census may hold a loop: two processes, one number, two moments. */
enum {
	MEMBERS_DEPTH_MAX = 256
};

/* The parent is itself such a process: then this one is below a worker. */
static bool parent_is_alike(const struct audit *a, const struct proc *p)
{
	const struct proc *parent = snapshot_find(&a->snapshot, p->ppid);

	return parent && proc_never_execed(parent) && parent->pgrp == p->pgrp;
}

static int find_daemon(const struct audit *a, pid_t pid)
{
	size_t low = 0, high = a->daemon_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->daemons[middle].id.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < a->daemon_count && a->daemons[low].id.pid == pid ? (int)low : -1;
}

static int compare_memory(const void *key, const void *member)
{
	return ident_compare(*(const struct ident *)key, ((const struct tree_memory *)member)->id);
}

static const struct tree_memory *remembered(const struct tree_input *in, struct ident id)
{
	if (!in->memory_count)
		return NULL;
	return bsearch(&id, in->memory, in->memory_count, sizeof(*in->memory), compare_memory);
}

static struct subject *add_subject(struct audit *a, const struct proc *p, enum role role,
				   size_t *room)
{
	struct subject *subjects, *s;

	subjects = grow(a->subjects, a->subject_count, room, sizeof(*subjects), AUDIT_SUBJECTS_MAX);
	if (!subjects)
		return NULL;
	a->subjects = subjects;
	s = &subjects[a->subject_count++];
	s->id = p->id;
	s->role = role;
	s->ppid = p->ppid;
	s->pgrp = p->pgrp;
	s->uid = p->uid;
	s->threads = p->threads;
	s->rss_bytes = p->rss_bytes;
	memcpy(s->comm, p->comm, sizeof(p->comm));
	s->class_index = -1;
	s->daemon = -1;
	s->host = -1;
	s->worker = -1;
	return s;
}

/* A daemon may live on when its host has exited, or what stood between them: then what was seen counts. */
static void under_daemon(const struct audit *a, struct subject *s, int daemon,
			 const struct tree_memory *m)
{
	const struct daemon *d = &a->daemons[daemon];

	s->daemon = daemon;
	s->daemon_id = d->id;
	s->class_index = d->class_index;
	s->host = d->host;
	if (d->host >= 0) {
		s->host_id = a->hosts[d->host].id;
	} else if (m && ident_equal(m->daemon, d->id)) {
		s->host_id = m->host;
		s->host = tree_find_host(a, m->host);
	}
}

static void without_daemon(const struct audit *a, struct subject *s, const struct tree_memory *m,
			   int class_index)
{
	s->orphan = true;
	s->class_index = m ? m->class_index : class_index;
	if (!m)
		return;
	s->daemon_id = m->daemon;
	s->host_id = m->host;
	s->host = tree_find_host(a, m->host);
}

static int compare_daemon(const void *key, const void *member)
{
	pid_t pid = *(const pid_t *)key, other = ((const struct tree_daemon *)member)->id.pid;

	return (pid > other) - (pid < other);
}

/*
 * The daemon that led its group, dead by now. As long as anybody is in that group, the kernel gives its number to
 * no other process (struct pid, alloc_pid()); for the group to die out and its number to come round once more
 * within a look, a whole turn of numbers must pass; unless they are of one session, that still tells.
 */
static const struct tree_daemon *lost_daemon(const struct tree_input *in, const struct proc *p)
{
	const struct tree_daemon *d;

	if (!in->daemon_count)
		return NULL;
	d = bsearch(&p->pgrp, in->daemons, in->daemon_count, sizeof(*d), compare_daemon);
	return d && d->sid == p->sid ? d : NULL;
}

static int compare_idents(const void *a, const void *b)
{
	return ident_compare(*(const struct ident *)a, *(const struct ident *)b);
}

static bool was_helper(const struct tree_input *in, struct ident id)
{
	return in->helper_count &&
	       bsearch(&id, in->helpers, in->helper_count, sizeof(id), compare_idents);
}

/* A worker has forked it: it was seen with that worker, or it came when the daemon had gone. */
static bool is_no_child(const struct tree_input *in, const struct tree_daemon *lost,
			const struct proc *p)
{
	return was_helper(in, p->id) || (lost && p->id.start > lost->last);
}

static bool is_of(const struct tree_daemon *d, const struct proc *p, int class_index)
{
	return d && d->host.pid && d->uid == p->uid && d->class_index == class_index;
}

/* One that was born and lost its daemon between two looks. */
static int under_lost_daemon(struct audit *a, struct subject *s, const struct tree_daemon *d)
{
	const struct proc *host = snapshot_find(&a->snapshot, d->host.pid);

	s->daemon_id = d->id;
	s->host_id = d->host;
	if (!host || !ident_equal(host->id, d->host) || tree_is_nothing(host))
		return 0;
	s->host = tree_add_host(a, host);
	return MIN(s->host, 0);
}

/* @return 1: it is a worker; 0: it is none; negative errno. One that this reaper itself saw as a living
 * daemon's child stays a worker, whatever it did since: if it exec'ed, a guard keeps it. */
static int add_if_worker(struct audit *a, const struct tree_input *in, const struct proc *p,
			 size_t *room)
{
	const struct tree_memory *m = remembered(in, p->id);
	int daemon = find_daemon(a, p->ppid);
	const struct tree_daemon *lost = NULL;
	int class_index = -1;
	struct subject *s;

	if (find_daemon(a, p->id.pid) >= 0 || (!proc_never_execed(p) && !m))
		return 0;
	if (daemon < 0 && !m) {
		lost = lost_daemon(in, p);
		if (!tree_leader_gone(a, p) || parent_is_alike(a, p) || is_no_child(in, lost, p))
			return 0;
		class_index = tree_class_of(a, p);
		if (class_index < 0)
			return 0;
	}
	s = add_subject(a, p, ROLE_WORKER, room);
	if (!s)
		return -ENOMEM;
	if (daemon >= 0)
		under_daemon(a, s, daemon, m);
	else
		without_daemon(a, s, m, class_index);
	if (is_of(lost, p, class_index) && under_lost_daemon(a, s, lost) < 0)
		return -ENOMEM;
	return 1;
}

static bool is_below_daemon(const struct audit *a, const struct proc *p)
{
	for (int depth = 0; p && depth < MEMBERS_DEPTH_MAX; depth++) {
		if (find_daemon(a, p->ppid) >= 0)
			return true;
		p = snapshot_find(&a->snapshot, p->ppid);
	}
	return false;
}

static void set_label(const struct audit *a, struct subject *s, const struct proc *p)
{
	const char *role = class_role_of(&a->classes.class[s->class_index], p);
	size_t len = role ? strlen(role) : 0;

	if (len)
		memcpy(s->label, role, MIN(len, sizeof(s->label) - 1));
}

/* A program of its own: what a fork made of it, and what lives below a daemon, is a part of another. */
static int add_if_single(struct audit *a, const struct proc *p, size_t *room)
{
	int class_index = proc_never_execed(p) || p->listed ? -1 : tree_single_class_of(a, p);
	struct subject *s;

	if (class_index < 0 || is_below_daemon(a, p))
		return 0;
	s = add_subject(a, p, ROLE_SINGLE, room);
	if (!s)
		return -ENOMEM;
	s->class_index = class_index;
	s->host_id = p->id; /* it writes as the host of itself */
	set_label(a, s, p);
	return 1;
}

/* Workers and singles, by pid. */
static int find_judged(struct audit *a, const struct tree_input *in, size_t *room)
{
	for (size_t i = 0; i < a->snapshot.count; i++) {
		const struct proc *p = &a->snapshot.procs[i];
		int added;

		if (tree_is_nothing(p))
			continue;
		added = add_if_worker(a, in, p, room);
		if (added == 0)
			added = add_if_single(a, p, room);
		if (added < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_subject(const struct audit *a, size_t count, pid_t pid)
{
	for (size_t low = 0, high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (a->subjects[middle].id.pid == pid)
			return (int)middle;
		if (a->subjects[middle].id.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/* What a daemon started by another way than a worker is the daemon's own affair; and what a program that
 * stands alone has started, and did not merely fork, is a program of its own. */
static int worker_above(const struct audit *a, size_t workers, const struct proc *p)
{
	bool execed = false;

	for (int depth = 0; p && depth < MEMBERS_DEPTH_MAX; depth++) {
		int at = find_subject(a, workers, p->ppid);

		execed |= !proc_never_execed(p);
		if (at >= 0 && execed && a->subjects[at].role == ROLE_SINGLE)
			return -1;
		if (at >= 0 || find_daemon(a, p->ppid) >= 0)
			return at;
		p = snapshot_find(&a->snapshot, p->ppid);
	}
	return -1;
}

/* A group whose leader is, or was, a daemon: alive, and not above it; or known by another orphan. */
static int lost_from(const struct audit *a, size_t workers, const struct proc *p, bool *ret_dead)
{
	int daemon = find_daemon(a, p->pgrp);

	*ret_dead = daemon < 0;
	if (daemon >= 0)
		return tree_is_ancestor(&a->snapshot, p->pgrp, p->id.pid) ? -1 : daemon;
	if (!tree_leader_gone(a, p))
		return -1;
	for (size_t i = 0; i < workers; i++)
		if (a->subjects[i].orphan && a->subjects[i].pgrp == p->pgrp)
			return (int)i;
	return -1;
}

/* What a worker left behind whose daemon has died since: only what was seen before tells of both. */
static int add_if_left(struct audit *a, const struct tree_input *in, const struct proc *p,
		       size_t *room)
{
	const struct tree_daemon *lost = lost_daemon(in, p);
	int class_index = was_helper(in, p->id) ? tree_class_of(a, p) : -1;
	struct subject *s;

	if (class_index < 0 || !tree_leader_gone(a, p) || !is_of(lost, p, class_index))
		return 0;
	s = add_subject(a, p, ROLE_LOST_HELPER, room);
	if (!s)
		return -ENOMEM;
	without_daemon(a, s, NULL, class_index);
	return under_lost_daemon(a, s, lost);
}

static int add_if_below(struct audit *a, const struct tree_input *in, const struct proc *p,
			size_t workers, size_t *room)
{
	int worker = worker_above(a, workers, p);
	bool dead = false;
	int from = worker >= 0 ? -1 : lost_from(a, workers, p, &dead);
	struct subject *s;

	if (worker < 0 && from < 0)
		return add_if_left(a, in, p, room);
	s = add_subject(a, p, worker >= 0 ? ROLE_HELPER : ROLE_LOST_HELPER, room);
	if (!s)
		return -ENOMEM;
	if (worker >= 0 || dead) {
		const struct subject *w = &a->subjects[worker >= 0 ? worker : from];

		s->worker = worker;
		s->class_index = w->class_index;
		s->daemon = w->daemon;
		s->daemon_id = w->daemon_id;
		s->host = w->host;
		s->host_id = w->host_id;
		s->orphan = w->orphan;
	} else {
		under_daemon(a, s, from, NULL);
	}
	return 0;
}

static int find_below(struct audit *a, const struct tree_input *in, size_t *room)
{
	size_t workers = a->subject_count;

	for (size_t i = 0; i < a->snapshot.count; i++) {
		const struct proc *p = &a->snapshot.procs[i];

		if (tree_is_nothing(p) || find_daemon(a, p->id.pid) >= 0 ||
		    find_subject(a, workers, p->id.pid) >= 0)
			continue;
		if (add_if_below(a, in, p, workers, room) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Where a subject stands: its daemon (orphans last), then its worker, then itself. */
static int compare_places(const struct subject *p, const struct subject *q, pid_t p_worker,
			  pid_t q_worker)
{
	unsigned p_daemon = (unsigned)p->daemon, q_daemon = (unsigned)q->daemon;

	if (p_daemon != q_daemon)
		return p_daemon < q_daemon ? -1 : 1;
	if (p_worker != q_worker)
		return p_worker < q_worker ? -1 : 1;
	if ((p->worker >= 0) != (q->worker >= 0))
		return (p->worker >= 0) - (q->worker >= 0);
	return ident_compare(p->id, q->id);
}

struct place {
	struct subject subject;
	pid_t worker;
};

static int compare_place(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	return compare_places(&p->subject, &q->subject, p->worker, q->worker);
}

static int sort_subjects(struct audit *a)
{
	_cleanup_free_ struct place *places = NULL;
	size_t count = a->subject_count, room = 0;

	for (size_t i = 0; i < count; i++) {
		struct subject *s = &a->subjects[i];
		struct place *more = grow(places, i, &room, sizeof(*places), count);

		if (!more)
			return -ENOMEM;
		places = more;
		places[i].subject = *s;
		places[i].worker = s->worker >= 0 ? a->subjects[s->worker].id.pid : s->id.pid;
	}
	if (places)
		qsort(places, count, sizeof(*places), compare_place);
	for (size_t i = 0, worker = 0; i < count; i++) {
		a->subjects[i] = places[i].subject;
		if (a->subjects[i].worker < 0)
			worker = i;
		else
			a->subjects[i].worker = (int)worker;
	}
	return 0;
}

static void count_workers(struct audit *a)
{
	for (size_t i = 0; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];

		if (s->daemon < 0)
			continue;
		a->daemons[s->daemon].workers += s->role == ROLE_WORKER;
		a->daemons[s->daemon].rss_bytes += s->rss_bytes;
	}
}

int members_find(struct audit *a, const struct tree_input *in)
{
	size_t room = 0;

	if (find_judged(a, in, &room) < 0 || find_below(a, in, &room) < 0 || sort_subjects(a) < 0)
		return -ENOMEM;
	count_workers(a);
	return 0;
}

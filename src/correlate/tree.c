/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "correlate/members.h"
#include "model/grow.h"

/* A chain of parents in one census may hold a loop: two processes, one number, two moments. */
enum {
	TREE_DEPTH_MAX = 256
};

static bool is_named(const struct tree_input *in, pid_t pid)
{
	for (size_t i = 0; i < in->named_count; i++)
		if (in->named_hosts[i] == pid)
			return true;
	return false;
}

static bool is_host_of(const struct audit *a, const struct proc *p, int class_index)
{
	for (size_t i = 0; i < a->classes.count; i++)
		if ((class_index < 0 || (size_t)class_index == i) &&
		    class_matches_host(&a->classes.class[i], p -> comm))
			return true;
	return false;
}

bool tree_is_host(const struct audit *a, const struct tree_input *in, const struct proc *p,
		  int class_index)
{
	return is_named(in, p->id.pid) || is_host_of(a, p, class_index);
}

const struct proc *tree_host_above(const struct audit *a, const struct tree_input *in,
				   const struct proc *p, int class_index)
{
	for (int depth = 0; depth < TREE_DEPTH_MAX; depth++) {
		p = snapshot_find(&a->snapshot, p->ppid);
		if (!p)
			return NULL;
		if (tree_is_host(a, in, p, class_index))
			return p;
	}
	return NULL;
}

bool tree_is_ancestor(const struct snapshot *s, pid_t ancestor, pid_t pid)
{
	for (int depth = 0; depth < TREE_DEPTH_MAX; depth++) {
		const struct proc *p = snapshot_find(s, pid);

		if (!p || !p->ppid)
			return false;
		pid = p->ppid;
		if (pid == ancestor)
			return true;
	}
	return false;
}

/* A dead process that waits for its parent, or a thread of the kernel. A zombie leader whose threads
 * live is a living process. */
bool tree_is_nothing(const struct proc *p)
{
	return (p->flags & PROC_KTHREAD) || p->state == 'X' || (p->state == 'Z' && p->threads <= 1);
}

/* Its group has lost its leader, which for a worker is its daemon. */
bool tree_leader_gone(const struct audit *a, const struct proc *p)
{
	const struct proc *leader = snapshot_find(&a->snapshot, p->pgrp);

	return p->pgrp != p->id.pid && (!leader || tree_is_nothing(leader));
}

static bool has_singles(const struct audit *a)
{
	for (size_t i = 0; i < a->classes.count; i++)
		if (a->classes.class[i].kind == CLASS_OF_SINGLES)
			return true;
	return false;
}

bool tree_wants_argv(const struct audit *a, const struct tree_input *in, const struct proc *p)
{
	if (tree_is_nothing(p))
		return false;
	if (proc_never_execed(p))
		return tree_leader_gone(a, p);
	return p->pgrp == p->id.pid || has_singles(a) || tree_host_above(a, in, p, -1);
}

int tree_class_of(const struct audit *a, const struct proc *p)
{
	for (size_t i = 0; i < a->classes.count; i++)
		if (class_matches_argv(&a->classes.class[i], p))
			return (int)i;
	return -1;
}

int tree_single_class_of(const struct audit *a, const struct proc *p)
{
	for (size_t i = 0; i < a->classes.count; i++)
		if (class_matches_single(&a->classes.class[i], p))
			return (int)i;
	return -1;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct host *p = a, *q = b;

	return ident_compare(p->id, q->id);
}

int tree_find_host(const struct audit *a, struct ident id)
{
	for (size_t i = 0; i < a->host_count; i++)
		if (ident_equal(a->hosts[i].id, id))
			return (int)i;
	return -1;
}

int tree_add_host(struct audit *a, const struct proc *p)
{
	int at = tree_find_host(a, p->id);
	size_t room = a->host_count; /* grown one by one: a machine has few */
	struct host *hosts;

	if (at >= 0)
		return at;
	hosts = grow(a->hosts, a->host_count, &room, sizeof(*hosts), AUDIT_SUBJECTS_MAX);
	if (!hosts)
		return -ENOMEM;
	a->hosts = hosts;
	hosts[a->host_count] = (struct host){
		.id = p->id,
		.uid = p->uid,
		.alive = true,
		.log_age_ms = UNKNOWN_U64,
		.beat_age_ms = UNKNOWN_U64,
	};
	memcpy(hosts[a->host_count].comm, p->comm, sizeof(p->comm));
	snapshot_find(&a->snapshot, p->id.pid)->listed = true;
	return (int)a->host_count++;
}

static int add_daemon(struct audit *a, const struct proc *p, int class_index, size_t *room)
{
	struct daemon *daemons;

	daemons = grow(a->daemons, a->daemon_count, room, sizeof(*daemons), AUDIT_SUBJECTS_MAX);
	if (!daemons)
		return -ENOMEM;
	a->daemons = daemons;
	daemons[a->daemon_count++] = (struct daemon){
		.id = p->id,
		.uid = p->uid,
		.class_index = class_index,
		.host = -1,
		.idle_ms = UNKNOWN_U64,
	};
	return 0;
}

static int find_daemons(struct audit *a)
{
	size_t room = 0;

	for (size_t i = 0; i < a->snapshot.count; i++) {
		struct proc *p = &a->snapshot.procs[i];
		int class_index;

		if (tree_is_nothing(p) || proc_never_execed(p))
			continue;
		class_index = tree_class_of(a, p);
		p->listed = class_index >= 0;
		if (p->listed && add_daemon(a, p, class_index, &room) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_single(const struct audit *a, const struct proc *p)
{
	return !proc_never_execed(p) && tree_single_class_of(a, p) >= 0;
}

static int find_hosts(struct audit *a, const struct tree_input *in)
{
	for (size_t i = 0; i < in->named_count; i++) {
		const struct proc *p = snapshot_find(&a->snapshot, in->named_hosts[i]);
		int at;

		if (!p || is_single(a, p))
			continue;
		at = tree_add_host(a, p);
		if (at < 0)
			return at;
		a->hosts[at].named = true;
	}
	for (size_t i = 0; i < a->daemon_count; i++) {
		const struct daemon *d = &a->daemons[i];
		const struct proc *p = snapshot_find(&a->snapshot, d->id.pid);
		const struct proc *host = tree_host_above(a, in, p, d->class_index);

		if (host && tree_add_host(a, host) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Of those whose daemon died, the host is known only if it was seen while the daemon lived. */
static int find_remembered_hosts(struct audit *a, const struct tree_input *in)
{
	for (size_t i = 0; i < in->memory_count; i++) {
		const struct tree_memory *m = &in->memory[i];
		const struct proc *host = snapshot_find(&a->snapshot, m->host.pid);
		const struct proc *p = snapshot_find(&a->snapshot, m->id.pid);

		if (!host || !p || !ident_equal(host->id, m->host) || !ident_equal(p->id, m->id) ||
		    tree_is_nothing(host))
			continue;
		if (tree_add_host(a, host) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void link_daemons(struct audit *a, const struct tree_input *in)
{
	for (size_t i = 0; i < a->daemon_count; i++) {
		struct daemon *d = &a->daemons[i];
		const struct proc *p = snapshot_find(&a->snapshot, d->id.pid);
		const struct proc *host = tree_host_above(a, in, p, d->class_index);

		if (host)
			d->host = tree_find_host(a, host->id);
	}
}

int tree_build(struct audit *a, const struct tree_input *in)
{
	if (find_daemons(a) < 0 || find_hosts(a, in) < 0 || find_remembered_hosts(a, in) < 0)
		return -ENOMEM;
	if (a->host_count)
		qsort(a->hosts, a->host_count, sizeof(*a->hosts), compare_hosts);
	link_daemons(a, in);
	return members_find(a, in);
}

static bool is_one_user(const struct evidence *e)
{
	for (size_t i = 1; i < ARRAY_SIZE(e->uids); i++)
		if (e->uids[i] != e->uids[0])
			return false;
	return e->ids_known && !e->exe_setuid;
}

static uint64_t newest_of(const struct snapshot *s)
{
	uint64_t newest = 0;

	for (size_t i = 0; i < s->count; i++)
		newest = MAX(newest, s->procs[i].id.start);
	return newest;
}

static bool is_daemon(const struct audit *a, struct ident id)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		if (ident_equal(a->daemons[i].id, id))
			return true;
	return false;
}

/* Nobody alive has its number: neither itself nor another. */
static bool is_gone(const struct audit *a, const struct tree_daemon *d)
{
	const struct proc *p = snapshot_find(&a->snapshot, d->id.pid);

	return !p || tree_is_nothing(p);
}

/* It dies, and shows no argv any more; or it has died, and its number is its group's still. */
static bool has_left_a_group(const struct audit *a, const struct tree_daemon *d)
{
	if (!is_gone(a, d))
		return ident_equal(snapshot_find(&a->snapshot, d->id.pid)->id, d->id) &&
		       !is_daemon(a, d->id);
	for (size_t i = 0; i < a->snapshot.count; i++)
		if (a->snapshot.procs[i].pgrp == d->id.pid && a->snapshot.procs[i].sid == d->sid &&
		    !tree_is_nothing(&a->snapshot.procs[i]))
			return true;
	return false;
}

static int compare_daemons(const void *a, const void *b)
{
	const struct tree_daemon *p = a, *q = b;

	return ident_compare(p->id, q->id);
}

size_t tree_daemons(const struct audit *a, const struct tree_daemon *before, size_t before_count,
		    struct tree_daemon *ret)
{
	const uint64_t newest = newest_of(&a->snapshot);
	size_t count = 0;

	for (size_t i = 0; i < before_count; i++) {
		if (!has_left_a_group(a, &before[i]))
			continue;
		ret[count] = before[i];
		if (ret[count].last == UNKNOWN_U64 && is_gone(a, &before[i]))
			ret[count].last = newest;
		count++;
	}
	for (size_t i = 0; i < a->daemon_count; i++) {
		const struct daemon *d = &a->daemons[i];
		bool plain = d->host >= 0 && is_one_user(&d->ev);

		ret[count++] = (struct tree_daemon){
			.id = d->id,
			.host = plain ? a->hosts[d->host].id : (struct ident){ 0 },
			.sid = snapshot_find(&a->snapshot, d->id.pid)->sid,
			.uid = d->uid,
			.class_index = d->class_index,
			.last = UNKNOWN_U64,
		};
	}
	if (count)
		qsort(ret, count, sizeof(*ret), compare_daemons);
	return count;
}

static bool is_there(const struct snapshot *s, struct ident id)
{
	const struct proc *p = snapshot_find(s, id.pid);

	return p && ident_equal(p->id, id);
}

/* Whoever exec'ed is another program, and no worker in any case. */
static bool is_fork_of_a_worker(const struct audit *a, const struct subject *s)
{
	return (s->role == ROLE_HELPER || s->role == ROLE_LOST_HELPER) &&
	       proc_never_execed(snapshot_find(&a->snapshot, s->id.pid));
}

static int compare_idents(const void *a, const void *b)
{
	return ident_compare(*(const struct ident *)a, *(const struct ident *)b);
}

size_t tree_helpers(const struct audit *a, const struct ident *before, size_t before_count,
		    struct ident *ret)
{
	size_t known = 0, count;

	for (size_t i = 0; i < before_count; i++)
		if (is_there(&a->snapshot, before[i]))
			ret[known++] = before[i];
	count = known;
	for (size_t i = 0; i < a->subject_count; i++) {
		struct ident id = a->subjects[i].id;

		if (!is_fork_of_a_worker(a, &a->subjects[i]))
			continue;
		if (!known || !bsearch(&id, ret, known, sizeof(*ret), compare_idents))
			ret[count++] = id;
	}
	if (count)
		qsort(ret, count, sizeof(*ret), compare_idents);
	return count;
}

struct cut {
	const struct ident *hosts;
	size_t count;
	bool keep_hostless;
};

static bool is_kept(const struct cut *c, struct ident host)
{
	for (size_t i = 0; i < c->count; i++)
		if (ident_equal(c->hosts[i], host))
			return true;
	return false;
}

static bool keeps_daemon(const struct audit *a, const struct cut *c, const struct daemon *d)
{
	return d->host < 0 ? c->keep_hostless || d->kept : a->hosts[d->host].place >= 0;
}

static bool keeps_subject(const struct audit *a, const struct cut *c, const struct subject *s)
{
	if (s->host >= 0)
		return a->hosts[s->host].place >= 0;
	return c->keep_hostless || is_kept(c, s->host_id);
}

/* Whose process stays has to stay: it is what that process is compared with. */
static void mark_daemons(struct audit *a, const struct cut *c)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		a->daemons[i].kept = false;
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].daemon >= 0 && keeps_subject(a, c, &a->subjects[i]))
			a->daemons[a->subjects[i].daemon].kept = true;
}

/* Where each host stands once those that go are gone. */
static void place_hosts(struct audit *a, const struct cut *c)
{
	int place = 0;

	for (size_t i = 0; i < a->host_count; i++)
		a->hosts[i].place = is_kept(c, a->hosts[i].id) ? place++ : -1;
}

/* Likewise each daemon. */
static void place_daemons(struct audit *a, const struct cut *c)
{
	int place = 0;

	mark_daemons(a, c);
	for (size_t i = 0; i < a->daemon_count; i++)
		a->daemons[i].place = keeps_daemon(a, c, &a->daemons[i]) ? place++ : -1;
}

static void cut_subjects(struct audit *a, const struct cut *c)
{
	size_t kept = 0, worker = 0;

	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];

		if (!keeps_subject(a, c, s)) {
			subject_done(s);
			continue;
		}
		s->daemon = s->daemon < 0 ? -1 : a->daemons[s->daemon].place;
		s->host = s->host < 0 ? -1 : a->hosts[s->host].place;
		if (s->worker < 0)
			worker = kept;
		else
			s->worker = (int)worker;
		a->subjects[kept++] = *s;
	}
	a->subject_count = kept;
}

static void cut_daemons(struct audit *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->daemon_count; i++) {
		struct daemon *d = &a->daemons[i];

		if (d->place < 0) {
			evidence_done(&d->ev);
			continue;
		}
		d->host = d->host < 0 ? -1 : a->hosts[d->host].place;
		a->daemons[kept++] = *d;
	}
	a->daemon_count = kept;
}

void tree_keep_hosts(struct audit *a, const struct ident *hosts, size_t count, bool keep_hostless)
{
	const struct cut c = { hosts, count, keep_hostless };
	size_t kept = 0;

	place_hosts(a, &c);
	place_daemons(a, &c);
	cut_subjects(a, &c);
	cut_daemons(a);
	for (size_t i = 0; i < a->host_count; i++) {
		if (a->hosts[i].place >= 0)
			a->hosts[kept++] = a->hosts[i];
		else
			free(a->hosts[i].writers.began_ms);
	}
	a->host_count = kept;
}

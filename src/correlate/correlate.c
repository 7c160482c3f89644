/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/correlate.h"

#include <string.h>

#include "correlate/activity.h"
#include "correlate/task_socket.h"
#include "correlate/writers.h"

enum {
	SIGNAL_TERM = 15,
	DEPTH_MAX = 256, /* a chain of parents in one census may hold a loop */
};

static void mark_above(const struct audit *a, pid_t pid)
{
	const struct proc *p = snapshot_find(&a->snapshot, pid);

	while (p) {
		struct proc *parent = snapshot_find(&a->snapshot, p->ppid);

		if (!parent || parent->above)
			return;
		parent->above = true;
		p = parent;
	}
}

void correlate_mark_ancestors(struct audit *a, pid_t self)
{
	mark_above(a, self);
	for (size_t i = 0; i < a->subject_count; i++)
		if (role_is_judged(a->subjects[i].role))
			mark_above(a, a->subjects[i].id.pid);
	for (size_t i = 0; i < a->snapshot.count; i++)
		if (a->snapshot.procs[i].argv_unread)
			mark_above(a, a->snapshot.procs[i].id.pid);
}

static bool is_ancestor(const struct audit *a, const struct subject *s)
{
	const struct proc *p = snapshot_find(&a->snapshot, s->id.pid);

	return s->id.pid == 1 || (p && (p->above || p->listed || (p->flags & PROC_KTHREAD)));
}

enum tri correlate_host_gone(const struct audit *a, const struct tree_input *in,
			     const struct subject *s)
{
	const struct proc *p = snapshot_find(&a->snapshot, s->id.pid);

	for (int depth = 0; p && depth < DEPTH_MAX; depth++) {
		if (p->id.pid == 1)
			return tri_of(!tree_is_host(a, in, p, s->class_index));
		if (depth && tree_is_host(a, in, p, s->class_index))
			return TRI_NO;
		p = snapshot_find(&a->snapshot, p->ppid);
	}
	return TRI_UNKNOWN;
}

static const struct daemon *daemon_of(const struct audit *a, const struct subject *s)
{
	return s->daemon >= 0 ? &a->daemons[s->daemon] : NULL;
}

/* A worker runs what its daemon runs; and everybody stays what it was at the last look. */
static bool has_changed(const struct subject *s, const struct daemon *d,
			const struct history_entry *before)
{
	const struct evidence *e = &s->ev;

	if (s->role == ROLE_WORKER && !(e->flags & PROC_FORKNOEXEC))
		return true;
	if (d && (!file_id_equal(e->exe, d->ev.exe) || e->net_ns != d->ev.net_ns))
		return true;
	if (!before || !before->before_known)
		return false;
	return !file_id_equal(e->exe, before->exe) || e->uids[1] != before->uid ||
	       e->pid_ns != before->pid_ns || e->net_ns != before->net_ns;
}

/* What a set-user-ID program runs as says nothing of who started it. */
static bool has_foreign_uid(const struct evidence *e, const struct daemon *d)
{
	uid_t uid = d ? d->ev.uids[1] : e->uids[1];

	if (e->exe_setuid)
		return true;
	for (size_t i = 0; i < 4; i++)
		if (e->uids[i] != uid)
			return true;
	return d && d->ev.uids[0] != uid;
}

static bool has_identity(const struct evidence *e)
{
	return e->seen && e->ids_known && e->exe.ino && e->pid_ns && e->net_ns && e->ns_pid;
}

/* What a kill needs and what was denied or torn. The wait of a thread that runs is not missing. */
static bool is_unreadable(const struct evidence *e, const struct daemon *d)
{
	if (!has_identity(e) || (d && !has_identity(&d->ev)))
		return true;
	if (e->fds_known != TRI_YES || !e->signals_known || e->asleep == TRI_UNKNOWN)
		return true;
	return e->asleep == TRI_YES && !e->main.known && !e->main.wchan[0];
}

static void add_guards(const struct correlate_input *in, const struct subject *s, struct facts *f)
{
	const struct evidence *e = &s->ev;
	const struct daemon *d = daemon_of(in->audit, s);

	f->vanished = e->vanished;
	f->is_self = s->id.pid == in->self;
	f->is_ancestor = is_ancestor(in->audit, s);
	f->is_protected = in->is_protected;
	f->unreadable = is_unreadable(e, d);
	f->foreign_uid = e->ids_known && (!d || d->ev.ids_known) && has_foreign_uid(e, d);
	f->other_pidns =
		e->ns_pid == 1 || (d && d->ev.pid_ns && e->pid_ns && d->ev.pid_ns != e->pid_ns);
	f->changed =
		has_identity(e) && (!d || has_identity(&d->ev)) && has_changed(s, d, in->before);
	f->traced = e->tracer;
	f->dumping = e->dumping == TRI_YES;
	f->stopped = e->stopped;
	f->uninterruptible = e->uninterruptible;
}

/* After half a shutdown the last acknowledgement is its FIN's, however much later the host hung up. */
static uint64_t hangup_of(const struct subject *s, const struct history_entry *b)
{
	uint64_t hangup_ms = s->socket.hangup_ms;

	if (hangup_ms == UNKNOWN_U64 || !b)
		return hangup_ms;
	return MIN(hangup_ms, s->ev.taken_ms - b->held_ms); /* 0: not since boot */
}

static void add_socket(const struct correlate_input *in, const struct subject *s, struct facts *f)
{
	const struct task_socket *t = &s->socket;

	f->socket = t->state;
	f->transport = t->transport;
	f->host_held = t->host_held;
	f->closing = t->closing;
	f->in_signoff_call = task_socket_signed_off(&s->ev, t);
	f->recv_queue = t->recv_queue;
	f->send_queue = t->send_queue;
	f->host_recv_queue = t->host_recv_queue;
	f->host_writes = writers_may_write(in->audit, s);
	f->hangup_ms = hangup_of(s, in->before);
}

static uint64_t wall_age(const struct correlate_input *in, const struct marker_facts *m,
			 uint64_t unix_ms)
{
	if (!unix_ms || !m->ages_trusted || unix_ms > in->audit->wall_ms)
		return UNKNOWN_U64;
	return in->audit->wall_ms - unix_ms;
}

/* Without a task that was bound, what a host declared proves nothing. */
static bool is_unpooled(const struct marker_facts *m, enum unpooled proof)
{
	return m->unpooled[proof] == TRI_YES && (proof != UNPOOLED_DECLARED || m->bound);
}

/* Since the first of the proofs that the host neither pools nor leases it has stood. */
static uint64_t unpooled_since(const struct marker_facts *m)
{
	uint64_t since = 0;

	for (enum unpooled i = 0; i < UNPOOLED_COUNT; i++)
		if (is_unpooled(m, i))
			since = since ? MIN(since, m->unpooled_ms[i]) : m->unpooled_ms[i];
	return MAX(since, m->last_end_ms);
}

static void add_markers(const struct correlate_input *in, const struct subject *s, struct facts *f)
{
	const struct marker_facts *m = &s->marks;

	f->host_log = m->host_log;
	f->logs_whole = m->logs_whole;
	f->tasks_bound = m->bound;
	f->tasks_open = m->open;
	f->pooled = m->pooled;
	f->leased = m->leased;
	f->retired = m->retired;
	f->retired_by_operator = m->retired_by_operator;
	f->retired_age_ms = wall_age(in, m, m->retired ? m->retired_ms : m->operator_ms);
	f->late_byte = m->late_byte;
	for (size_t i = 0; i < UNPOOLED_COUNT; i++)
		f->unpooled[i] = m->unpooled[i];
	f->ended_age_ms = wall_age(in, m, unpooled_since(m));
	f->last_end_age_ms = wall_age(in, m, m->last_end_ms);
}

static void add_memory(const struct subject *s, struct facts *f)
{
	f->until_limit_ms = UNKNOWN_U64;
	if (!s->memory)
		return;
	f->growing = s->memory->trend.growing;
	f->until_limit_ms = s->memory->until_limit_ms;
}

bool correlate_term_is_default(const struct evidence *e)
{
	uint64_t term = 1ull << (SIGNAL_TERM - 1);

	return e->signals_known && !((e->sig_blocked | e->sig_ignored | e->sig_caught) & term);
}

void correlate_facts(const struct correlate_input *in, struct subject *s)
{
	struct facts *f = &s->facts;

	*f = (struct facts){
		.id = s->id,
		.uid = s->uid,
		.single = s->role == ROLE_SINGLE,
		.may_kill =
			s->class_index >= 0 && in->audit->classes.class[s->class_index].may_kill,
	};
	add_guards(in, s, f);
	activity_facts(in, s, f);
	add_socket(in, s, f);
	add_markers(in, s, f);
	add_memory(s, f);
	f->host_gone = correlate_host_gone(in->audit, in->tree, s);
	f->term_default = correlate_term_is_default(&s->ev);
	for (size_t i = 0; i < FENCE_COUNT; i++) {
		f->seen_ms[i] = UNKNOWN_U64;
		if (in->before && in->before->fence_ms[i] != UNKNOWN_U64)
			f->seen_ms[i] = s->ev.taken_ms - in->before->fence_ms[i];
	}
}

/* Whoever adopts a process of others is its parent too, and may dress as a daemon: when he is gone, nobody
 * is left from whom it differs. So it is remembered as his only while it is what a worker of his is. */
static void remember_daemon(const struct subject *s, struct history_entry *e)
{
	const struct facts *f = &s->facts;

	if (f->foreign_uid)
		e->daemon = (struct ident){ 0 };
	else if (s->daemon_id.pid && !f->changed && !f->other_pidns && !f->unreadable)
		e->daemon = s->daemon_id;
}

void correlate_remember(const struct policy *policy, const struct subject *s, const bool *holds,
			uint64_t now_ms, struct history_entry *e)
{
	now_ms = MAX(now_ms, s->ev.taken_ms); /* a long look counts from where it ended */
	for (size_t i = 0; i < FENCE_COUNT; i++) {
		if (!holds[i])
			e->fence_ms[i] = UNKNOWN_U64;
		else if (e->fence_ms[i] == UNKNOWN_U64)
			e->fence_ms[i] = now_ms;
	}
	activity_remember(policy, s, now_ms, e);
	if (s->socket.host_held == TRI_YES)
		e->held_ms = s->ev.taken_ms;
	if (s->socket.host_held != TRI_UNKNOWN)
		e->closed_ino = s->socket.host_held == TRI_NO ? s->socket.ino : 0;
	e->exe = s->ev.exe;
	e->uid = s->ev.uids[1];
	e->pid_ns = s->ev.pid_ns;
	e->net_ns = s->ev.net_ns;
	remember_daemon(s, e);
	if (s->host_id.pid)
		e->host = s->host_id;
	e->class_index = s->class_index;
}

const char *correlate_difference(const struct subject *first, const struct subject *second)
{
	const struct evidence *a = &first->ev, *b = &second->ev;

	if (!ident_equal(first->id, second->id))
		return "it is another process";
	if (!file_id_equal(a->exe, b->exe) || memcmp(a->uids, b->uids, sizeof(a->uids)) != 0 ||
	    a->pid_ns != b->pid_ns || a->net_ns != b->net_ns || a->flags != b->flags)
		return "its identity changed";
	if (first->role != second->role || first->ppid != second->ppid)
		return "its place in the tree changed";
	if (first->socket.ino != second->socket.ino ||
	    first->socket.state != second->socket.state ||
	    first->socket.recv_queue != second->socket.recv_queue ||
	    first->socket.send_queue != second->socket.send_queue)
		return "its task socket changed";
	if (first->verdict.fence != second->verdict.fence)
		return "its proof changed";
	if (a->threads != b->threads)
		return "its threads changed";
	return NULL;
}

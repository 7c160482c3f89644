/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reap_helpers.h"

#include <errno.h>
#include <string.h>

#include "app/look_protect.h"
#include "app/reap_check.h"
#include "base/clock.h"
#include "base/pin.h"
#include "correlate/correlate.h"
#include "correlate/tree.h"
#include "observe/evidence.h"
#include "report/json.h"

/* A chain of parents in one census may hold a loop: two processes, one number, two moments. */
enum {
	DEPTH_MAX = 256
};

static const char another[] = "it may be of another host or daemon than its worker";

static bool is_wanted(const struct reap *r, const struct subject *helper)
{
	return r->config->policy.helpers || helper->holds_task_socket;
}

int reap_pin_helpers(struct reap *r, const struct audit *first, size_t worker, size_t at)
{
	for (size_t i = worker + 1; i < first->subject_count && r->count <= at + REAP_HELPERS_MAX;
	     i++) {
		const struct subject *s = &first->subjects[i];
		int err;

		if (s->worker != (int)worker)
			break;
		err = is_wanted(r, s) ? reap_add(r, s->id, ROLE_HELPER, at) : 0;
		if (err < 0 && err != -ESRCH)
			return err;
	}
	return 0;
}

/* uid, pid namespace, protect, traced; never a host, a daemon, or an ancestor of another worker. Not its
 * age and not whether it is idle: it goes with its worker. */
static const char *objection(const struct reap *r, struct proc *p, const struct evidence *e,
			     const struct evidence *worker)
{
	if (!p || e->vanished)
		return "it was gone before a signal";
	if (!reap_same_uids(e, worker) || e->exe_setuid)
		return "it is another user's";
	if (!e->pid_ns || e->pid_ns != worker->pid_ns || e->ns_pid == 1)
		return "it lives in another pid namespace";
	if (e->tracer || e->dumping == TRI_YES)
		return "it is traced";
	if (p->above)
		return "a worker lives below it";
	if (p->listed)
		return "it is a host or a daemon";
	if (look_protect_names(r->config, p, e->cgroup))
		return "a [protect] rule names it";
	return NULL;
}

/* Who takes the orphans of a worker, as pid 1 of a container, which may be the JVM. */
static bool is_above(const struct reap *r, pid_t pid, pid_t worker)
{
	return pid == 1 || tree_is_ancestor(&r->second.snapshot, pid, worker);
}

/* One between it and its worker is a host or a daemon, or may be one, as it may be itself: a command line
 * could not be read. */
static bool may_be_anothers(const struct reap *r, const struct snapshot *s, const struct proc *p,
			    pid_t worker)
{
	for (int depth = 0; p && p->id.pid != worker && depth < DEPTH_MAX; depth++) {
		if (is_above(r, p->id.pid, worker))
			return false;
		if (p->argv_unread || (depth && p->listed))
			return true;
		p = snapshot_find(s, p->ppid);
	}
	return false;
}

void reap_prepare_helper(const struct reap *r, struct victim *v, const struct evidence *e)
{
	const struct subject *worker = audit_find(&r->second, r->victims[v->worker].id.pid);

	v->kill_at_once = worker && worker->role == ROLE_WORKER && e->pgrp == worker->ev.pgrp &&
			  !correlate_term_is_default(e);
}

/* Why it is not ended with its worker, or NULL. Kept for what it is: whoever finds it there wants to know. */
static const char *why_spared(const struct reap *r, const struct victim *v, bool *ret_tell)
{
	const struct victim *worker = &r->victims[v->worker];
	const struct subject *s = audit_find(&r->second, v->id.pid);
	const struct subject *w = audit_find(&r->second, worker->id.pid);
	struct proc *p;

	*ret_tell = false;
	if (!s || !w || s->role != ROLE_HELPER || !ident_equal(s->id, v->id))
		return "it is no helper any more";
	if (worker->stage == ACT_DONE)
		return "its worker is not ended";
	p = snapshot_find(&r->second.snapshot, s->id.pid);
	*ret_tell = p && !s->ev.vanished;
	if (may_be_anothers(r, &r->second.snapshot, p, w->id.pid))
		return another;
	return objection(r, p, &s->ev, &w->ev);
}

void reap_spare_helpers(struct reap *r, size_t from)
{
	for (size_t i = from; i < r->count; i++) {
		struct victim *v = &r->victims[i];
		const char *why;
		bool tell;

		if (v->role != ROLE_HELPER || v->stage == ACT_DONE)
			continue;
		why = why_spared(r, v, &tell);
		if (!why)
			continue;
		act_close(v, OUTCOME_SPARED, why);
		if (tell)
			r->sink(r->arg, &v->record);
	}
}

static bool is_victim(const struct reap *r, struct ident id)
{
	for (size_t i = 0; i < r->count; i++)
		if (ident_equal(r->victims[i].id, id))
			return true;
	return false;
}

/* What lies below a host or a daemon is theirs, and so is what lies below one that may be a daemon. */
static bool is_below(const struct snapshot *s, const struct proc *p, pid_t victim)
{
	for (int depth = 0; p && !p->listed && !p->argv_unread && depth < DEPTH_MAX; depth++) {
		if (p->ppid == victim)
			return true;
		p = snapshot_find(s, p->ppid);
	}
	return false;
}

/* What a program that stands alone has started is a program of its own. */
static bool goes_with(const struct victim *worker, const struct proc *p)
{
	return worker->role != ROLE_SINGLE || proc_never_execed(p);
}

/* The worker to which a process below a living victim belongs. */
static const struct victim *victim_above(const struct reap *r, const struct snapshot *s,
					 const struct proc *p)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->victims[i].stage != ACT_DONE && is_below(s, p, r->victims[i].id.pid) &&
		    goes_with(&r->victims[r->victims[i].worker], p) &&
		    pin_alive(r->victims[i].dirfd))
			return &r->victims[r->victims[i].worker];
	return NULL;
}

static int write_intent(const struct reap *r, const struct victim *v, const struct subject *s,
			const struct subject *worker, struct buf *lines)
{
	const struct json_intent intent = {
		.wall_ms = clock_wall_ms(),
		.boot_id = r->look->self.boot_id,
		.subject = s,
		.worker = worker,
		.policy = &r->config->policy,
		.kill_at_once = v->kill_at_once,
	};

	return json_intent(&intent, lines);
}

/* @return 1: added; 0: let alone; negative errno. */
static int add_helper(struct reap *r, struct proc *p, size_t at, struct buf *lines)
{
	const struct subject *worker = audit_find(&r->second, r->victims[at].id.pid);
	unsigned want = r->config->protect.wants_cgroup ? EVIDENCE_CGROUP : 0;
	struct subject s = { .id = p->id, .role = ROLE_HELPER, .ppid = p->ppid };
	_cleanup_(evidence_done) struct evidence e = { 0 };
	const char *why;
	struct victim *v;
	int err = worker ? reap_add(r, p->id, ROLE_HELPER, at) : -ESRCH;

	if (err < 0)
		return err == -ESRCH ? 0 : err;
	v = &r->victims[r->count - 1];
	if (evidence_look(v->dirfd, p->id.pid, want, NULL, &e) < 0)
		return -ENOMEM;
	if (!ident_equal(e.id, p->id) || e.ppid != p->ppid) {
		act_close(v, OUTCOME_SPARED, "it is no helper any more");
		return 0;
	}
	why = objection(r, p, &e, &worker->ev);
	if (why) {
		act_close(v, OUTCOME_SPARED, why);
		r->sink(r->arg, &v->record);
		return 0;
	}
	v->anon_bytes = e.anon_bytes;
	reap_prepare_helper(r, v, &e);
	s.ev = e;
	s.verdict = worker->verdict;
	return write_intent(r, v, &s, worker, lines) < 0 ? -ENOMEM : 1;
}

static bool has_room(const struct reap *r, size_t worker)
{
	size_t helpers = 0;

	for (size_t i = 0; i < r->count; i++)
		helpers += r->victims[i].role == ROLE_HELPER && r->victims[i].worker == worker;
	return helpers < REAP_HELPERS_MAX;
}

static int add_new(struct reap *r, struct snapshot *s, struct buf *lines)
{
	int added = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct proc *p = &s->procs[i];
		const struct victim *above;
		int one;

		if (is_victim(r, p->id) || p->state == 'Z')
			continue;
		above = victim_above(r, s, p);
		if (!above || !r->config->policy.helpers ||
		    !has_room(r, (size_t)(above - r->victims)))
			continue;
		one = add_helper(r, p, (size_t)(above - r->victims), lines);
		if (one < 0)
			return one;
		added += one;
	}
	return added;
}

void reap_spare_pending(struct reap *r, const struct snapshot *s)
{
	for (size_t i = 0; i < r->count; i++) {
		struct victim *v = &r->victims[i];
		const struct proc *p = snapshot_find(s, v->id.pid);

		if (v->role != ROLE_HELPER || v->stage != ACT_PINNED || !p ||
		    !ident_equal(p->id, v->id) ||
		    !(p->listed || may_be_anothers(r, s, p, r->victims[v->worker].id.pid)))
			continue;
		act_close(v, OUTCOME_SPARED, another);
		r->sink(r->arg, &v->record);
	}
}

int reap_find_new_helpers(struct reap *r)
{
	_cleanup_(audit_done) struct audit now = { 0 };
	_cleanup_(buf_done) struct buf lines = { 0 };
	size_t before = r->count;
	int err = look_who(r->look, &now);

	if (err == 0) {
		reap_spare_pending(r, &now.snapshot);
		err = add_new(r, &now.snapshot, &lines);
	}
	if (err > 0) {
		int written = audit_log_append(r->log, &lines, true);

		err = written < 0 ? written : err;
	}
	if (err < 0)
		for (size_t i = before; i < r->count; i++)
			act_close(&r->victims[i], OUTCOME_HELD, "its intent could not be written");
	return err;
}

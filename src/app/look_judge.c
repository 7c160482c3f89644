/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_judge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/look_crashes.h"
#include "app/look_protect.h"
#include "app/look_runs.h"
#include "app/look_writers.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/pin.h"
#include "correlate/correlate.h"
#include "decide/decide.h"
#include "decide/fence.h"
#include "model/grow.h"
#include "observe/evidence.h"

enum {
	SILENT_MS = 60 * 1000, /* a host that runs beats six times in that */
};

static int take_record(void *arg, const struct marker_source *source, const struct marker *m)
{
	struct look *l = arg;
	const struct ledger_source from = { source->log, source->owner, source->name };

	return ledger_add(l->ledger, &from, m);
}

static void forget_log(void *arg, uint32_t log)
{
	struct look *l = arg;

	ledger_forget(l->ledger, log);
}

/* Both clocks as they were read together: the census in between may have taken seconds. What was read by
 * now may have been written before the step. */
static void notice_clock_step(struct look *l, const struct audit *a)
{
	struct history *h = &l->history;

	if (!h->wall_minus_boot_ms) /* no run before this one has left a word of it */
		h->wall_minus_boot_ms = l->self.wall_minus_boot_ms;
	if (history_clock_stepped(h, a->wall_ms - a->boot_ms, a->boot_ms))
		ledger_clock_stepped(l->ledger, a->wall_ms);
	ledger_trust_from(l->ledger, history_unstepped_ms(h));
}

/* Of steps before the first look at all nobody knows. */
static void doubt_silent(struct look *l, const struct audit *a)
{
	if (!l->logs_read)
		ledger_doubt_silent(l->ledger, a->wall_ms - SILENT_MS);
	l->logs_read = true;
}

/* One user's endless log holds up that user's workers, not everybody's. */
static void tell_behind(struct look *l)
{
	const struct markers_counts *c = &l->marker_counts;

	ledger_set_whole(l->ledger, c->whole || !c->behind_anybody);
	for (uint32_t i = 0; i < c->behind_count; i++)
		ledger_set_behind(l->ledger, c->behind[i]);
}

int look_markers(struct look *l, struct audit *a)
{
	int err = markers_read(l->markers, take_record, forget_log, l, &l->marker_counts);

	if (err < 0)
		return err;
	notice_clock_step(l, a);
	doubt_silent(l, a);
	tell_behind(l);
	a->bad_records = l->marker_counts.bad;
	(void)snprintf(a->bad_record, sizeof(a->bad_record), "%s", l->marker_counts.first_bad);
	return 0;
}

/* A program that is the host of itself alone is nobody's host; and what was forked to work for a host may
 * write what it likes. */
static bool is_nobodys_host(const struct audit *a, const struct proc *p)
{
	const struct subject *s = audit_find(a, p->id.pid);

	return s && (role_is_judged(s->role) || proc_never_execed(p));
}

int look_logged_hosts(struct look *l, struct audit *a)
{
	struct ledger_host h;

	for (size_t i = 0; ledger_host_at(l->ledger, i, &h); i++) {
		const struct proc *p = snapshot_find(&a->snapshot, h.id.pid);

		/* Whoever may write a log may not name other users' processes hosts, which are never ended. */
		if (!p || tree_is_nothing(p) || h.pid_ns != l->self.pid_ns ||
		    !ident_equal(p->id, h.id) || (h.owner && h.owner != p->uid) ||
		    is_nobodys_host(a, p))
			continue;
		if (tree_add_host(a, p) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A host's name as its own writers know it needs its namespace; little else is asked of it. */
static int name_hosts(const struct look *l, const struct audit *a, struct ledger_name *ret)
{
	for (size_t i = 0; i < a->host_count; i++) {
		_cleanup_close_ int dirfd = pin_open(a->hosts[i].id.pid);
		_cleanup_(evidence_done) struct evidence e = { 0 };

		ret[i] = (struct ledger_name){ .id = a->hosts[i].id, .our_pid_ns = l->self.pid_ns };
		if (dirfd < 0)
			continue;
		if (evidence_look(dirfd, a->hosts[i].id.pid, EVIDENCE_IDENTITY, NULL, &e) < 0)
			return -ENOMEM;
		if (!e.seen || e.vanished || !ident_equal(e.id, a->hosts[i].id))
			continue;
		ret[i].ns_pid = e.ns_pid;
		ret[i].pid_ns = e.pid_ns;
	}
	return 0;
}

static struct ledger_name name_of(const struct look *l, const struct evidence *e)
{
	return (struct ledger_name){
		.id = e->id,
		.our_pid_ns = l->self.pid_ns,
		.ns_pid = e->ns_pid,
		.pid_ns = e->pid_ns,
	};
}

static void describe_logs(const struct look *l, struct audit *a, const struct ledger_name *names)
{
	for (size_t i = 0; i < a->host_count; i++) {
		struct host *h = &a->hosts[i];
		struct ledger_host log;

		if (!ledger_host_find(l->ledger, &names[i], h->uid, &log))
			continue;
		(void)snprintf(h->log, sizeof(h->log), "%s", log.name);
		h->log_age_ms = a->wall_ms - MIN(log.last_ms, a->wall_ms);
		if (log.beat_ms)
			h->beat_age_ms = a->wall_ms - MIN(log.beat_ms, a->wall_ms);
	}
}

/* The wall clock at something that was so long ago when it was asked, which may be a while after the look
 * began. */
static uint64_t wall_before(const struct audit *a, uint64_t asked_ms, uint64_t ago_ms)
{
	uint64_t wall_ms = a->wall_ms + (asked_ms - MIN(a->boot_ms, asked_ms));

	return wall_ms - MIN(ago_ms, wall_ms);
}

/* A program writes as the host of itself, and what it does is what a worker's bytes are. */
static void ask_itself(const struct audit *a, const struct subject *s, struct ledger_question *q)
{
	q->host = q->worker;
	q->host_alive = true;
	q->class_name = NULL;
	if (s->ev.blocked_ms != UNKNOWN_U64)
		q->last_byte_ms = wall_before(a, s->ev.taken_ms, s->ev.blocked_ms);
}

static int ask_markers(struct look *l, const struct audit *a, const struct ledger_name *names,
		       struct subject *s)
{
	const struct worker_class *c =
		s->class_index >= 0 ? &a->classes.class[s->class_index] : NULL;
	struct ledger_question q = {
		.worker = name_of(l, &s->ev),
		.uid = s->uid,
		.class_name = c ? c->name : "",
		.host_alive = s->host >= 0,
		.lport = s->socket.remote.port,
		.dport = s->socket.local.port,
		.born_ms = wall_before(a, s->ev.taken_ms, s->ev.age_ms),
		.last_byte_ms = UNKNOWN_U64,
		.class_pool_timeout_ms = c ? c->pool_timeout_ms : UNKNOWN_U64,
		.now_ms = a->wall_ms,
	};

	if (s->host >= 0) {
		q.host = names[s->host];
		q.host_runs = look_runs_of(l, a->hosts[s->host].id, &q.host_run_count);
	} else if (s->host_id.pid) {
		q.host = (struct ledger_name){ .id = s->host_id, .our_pid_ns = l->self.pid_ns };
	}
	if (s->daemon >= 0)
		q.daemon = name_of(l, &a->daemons[s->daemon].ev);
	if (s->socket.silent_ms != UNKNOWN_U64)
		q.last_byte_ms = wall_before(a, s->socket.read_ms, s->socket.silent_ms);
	if (s->role == ROLE_SINGLE)
		ask_itself(a, s, &q);
	return ledger_ask(l->ledger, &q, &s->marks);
}

/* What a kill would really free; only of the few that are due, since it takes the target's mmap_lock. */
static void measure_due(struct audit *a)
{
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];
		_cleanup_(evidence_done) struct evidence e = { 0 };
		_cleanup_close_ int dirfd = -1;

		s->ev.pss_bytes = UNKNOWN_U64;
		if (s->verdict.action != ACTION_REAP)
			continue;
		dirfd = pin_open(s->id.pid);
		if (dirfd >= 0 && evidence_look(dirfd, s->id.pid, EVIDENCE_PSS, NULL, &e) == 0 &&
		    e.seen && ident_equal(e.id, s->id))
			s->ev.pss_bytes = e.pss_bytes;
	}
}

static int judge_worker(struct look *l, const struct tree_input *in, const struct audit *a,
			struct subject *s)
{
	const struct policy *policy = &l->config->policy;
	struct correlate_input c = {
		.policy = policy,
		.audit = a,
		.tree = in,
		.before = history_find(&l->history, s->id),
		.self = l->self.pid,
		.is_protected = look_protect_keeps(l, a, s),
	};
	bool holds[FENCE_COUNT];
	struct history_entry *e;

	correlate_facts(&c, s);
	s->verdict = decide(policy, &s->facts);
	for (enum fence f = FENCE_NONE; f < FENCE_COUNT; f++)
		holds[f] = fence_holds(f, policy, &s->facts) == TRI_YES;
	e = history_touch(&l->history, s->id, a->boot_ms);
	if (!e)
		return -ENOMEM;
	correlate_remember(policy, s, holds, a->boot_ms, e);
	if (e->unkillable && s->verdict.action == ACTION_REAP) {
		s->verdict.action = ACTION_SUSPECT;
		s->verdict.reason = REASON_UNKILLABLE;
	}
	return 0;
}

/* A helper goes with its worker, or stays with it. */
static void judge_helper(const struct look *l, const struct audit *a, struct subject *s)
{
	const struct subject *w = &a->subjects[s->worker];

	s->verdict = (struct verdict){
		.action = ACTION_KEEP,
		.reason = REASON_IDLE,
		.fence_age_ms = UNKNOWN_U64,
		.due_in_ms = UNKNOWN_U64,
	};
	if (w->verdict.action == ACTION_REAP &&
	    (l->config->policy.helpers || s->holds_task_socket)) {
		s->verdict.action = ACTION_REAP;
		s->verdict.reason = w->verdict.reason;
	}
}

static int judge_daemon(struct look *l, const struct audit *a, struct daemon *d)
{
	struct history_entry *e = history_touch(&l->history, d->id, a->boot_ms);

	if (!e)
		return -ENOMEM;
	if (d->workers)
		e->idle_ms = UNKNOWN_U64;
	else if (e->idle_ms == UNKNOWN_U64)
		e->idle_ms = a->boot_ms;
	if (!d->workers)
		d->idle_ms = a->boot_ms - e->idle_ms;
	d->verdict = decide_daemon(&l->config->policy, d->workers, d->idle_ms);
	return 0;
}

static int judge_subjects(struct look *l, const struct tree_input *in, struct audit *a,
			  const struct ledger_name *names)
{
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];

		if (s->role == ROLE_LOST_HELPER) {
			s->verdict = decide_lost_helper();
		} else if (s->role == ROLE_HELPER) {
			judge_helper(l, a, s);
		} else if (ask_markers(l, a, names, s) < 0 || judge_worker(l, in, a, s) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

int look_judge(struct look *l, const struct tree_input *in, struct audit *a)
{
	_cleanup_free_ struct ledger_name *names = calloc(a->host_count + 1, sizeof(*names));

	if (!names || look_runs_note(l, a) < 0 || name_hosts(l, a, names) < 0 ||
	    look_writers(a) < 0)
		return -ENOMEM;
	describe_logs(l, a, names);
	for (size_t i = 0; i < a->daemon_count; i++)
		if (judge_daemon(l, a, &a->daemons[i]) < 0)
			return -ENOMEM;
	if (judge_subjects(l, in, a, names) < 0 || look_crashes_judge(l, a) < 0)
		return -ENOMEM;
	history_prune(&l->history, a->boot_ms);
	measure_due(a);
	return 0;
}

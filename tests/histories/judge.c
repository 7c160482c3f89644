/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <errno.h>
#include <string.h>

#include "correlate/correlate.h"
#include "correlate/tree.h"
#include "decide/decide.h"
#include "decide/fence.h"
#include "see.h"

enum {
	SILENT_MS = 60 * 1000, /* as in app/look_judge.c */
	RUN_APART_MS = 1000,   /* as in app/look_runs.c */
};

static const struct worker *worker_of(const struct world *w, const struct subject *s)
{
	return &w->worker[s->id.pid - WORLD_WORKER];
}

static void see_task_socket(const struct judge *j, const struct world *w, const struct audit *a,
			    const struct socket_table *table, unsigned denied, struct subject *s)
{
	const struct history_entry *before = history_find(&j->history, s->id);
	const struct worker *p = worker_of(w, s);
	struct task_socket_lookup lookup = see_lookup(w, p, denied);
	struct task_socket_input in = {
		.worker = &s->ev,
		.table = table,
		.same_net_ns = TRI_YES,
		.port = s->daemon >= 0 ? a->daemons[s->daemon].port : 0,
		.path = s->daemon >= 0 ? a->daemons[s->daemon].path : "",
		.closed_ino = before ? before->closed_ino : 0,
	};

	task_socket_choose(&in, &s->socket);
	if (s->socket.ino)
		task_socket_judge(&in, &lookup, p->end == END_RESET ? table : NULL, &s->socket);
}

/* An orphan's host is whoever has the other end. */
static int find_holder(const struct world *w, struct audit *a, struct subject *s)
{
	const struct proc *p = snapshot_find(&a->snapshot, WORLD_HOST);

	if (s->host >= 0 || !s->socket.host_ino || !p || !w->host_up)
		return 0;
	s->host = tree_add_host(a, p);
	if (s->host < 0)
		return -ENOMEM;
	s->host_id = p->id;
	return 0;
}

/* ---- marker logs ---- */

static int read_log(struct judge *j, const struct world *w, unsigned log)
{
	const struct ledger_source source = { log + 1, SEE_UID, "a.log" };

	for (; j->taken[log] < w->record_count; j->taken[log]++) {
		const struct record *r = &w->records[j->taken[log]];

		if (r->log == log && ledger_add(j->ledger, &source, &r->marker) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_logs(struct judge *j, const struct world *w, unsigned denied)
{
	bool stepped;

	if (!j->history.wall_minus_boot_ms) /* of steps before it nobody knows */
		j->began_ms = w->now;
	stepped = history_clock_stepped(&j->history, w->wall, w->now);
	ledger_set_whole(j->ledger, !(denied & DENY_LOG));
	for (unsigned log = 0; log < w->logs; log++)
		if (!(log == w->host_log && denied & DENY_LOG) && read_log(j, w, log) < 0)
			return -ENOMEM;
	/* What was read may be older than a step, and of steps before these logs were read nobody knows. */
	if (stepped && w->lie != LIE_NO_STEP)
		ledger_clock_stepped(j->ledger, w->now + w->wall);
	if (w->lie != LIE_NO_STEP)
		ledger_trust_from(j->ledger, history_unstepped_ms(&j->history));
	if (!j->logs_read && w->lie != LIE_NO_DOUBT)
		ledger_doubt_silent(j->ledger, w->now + w->wall - SILENT_MS);
	j->logs_read = true;
	return 0;
}

/* Its CPU clock advanced since the look before, and it is not stopped (app/look_runs.c). */
static void note_run(struct judge *j, struct world *w)
{
	uint64_t wall = w->now + w->wall;
	bool same = w->host_up && ident_equal(j->host_seen, w->host);
	bool advanced = w->was_running && same;

	j->host_seen = w->host_up ? w->host : (struct ident){ 0 };
	w->was_running = false;
	if (w->stopped || !same)
		j->run_count = 0;
	if (!advanced)
		return;
	if (j->run_count && wall < j->runs[j->run_count - 1])
		j->run_count = 0;
	if (j->run_count && wall < j->runs[j->run_count - 1] + RUN_APART_MS)
		return;
	if (j->run_count == JUDGE_RUNS)
		memmove(j->runs, j->runs + 1, --j->run_count * sizeof(*j->runs));
	j->runs[j->run_count++] = wall;
}

static struct ledger_name name_of(struct ident id)
{
	return (struct ledger_name){ id, SEE_PID_NS, id.pid, SEE_PID_NS };
}

static int ask_markers(struct judge *j, const struct audit *a, struct subject *s)
{
	struct ledger_question q = {
		.worker = { s->id, SEE_PID_NS, s->ev.ns_pid, s->ev.pid_ns },
		.uid = s->uid,
		.class_name = "pyspark",
		.host_alive = s->host >= 0,
		.lport = s->socket.remote.port,
		.dport = s->socket.local.port,
		.born_ms = a->wall_ms - MIN(s->ev.age_ms, a->wall_ms),
		.last_byte_ms = UNKNOWN_U64,
		.class_pool_timeout_ms = WORLD_PURGE_MS,
		.now_ms = a->wall_ms,
		.host_runs = j->runs,
		.host_run_count = j->run_count,
	};

	if (s->host_id.pid)
		q.host = name_of(s->host_id);
	if (s->daemon >= 0)
		q.daemon = name_of(a->daemons[s->daemon].id);
	if (s->socket.silent_ms != UNKNOWN_U64)
		q.last_byte_ms = a->wall_ms - MIN(s->socket.silent_ms, a->wall_ms);
	return ledger_ask(j->ledger, &q, &s->marks);
}

/* ---- a look ---- */

static int see_all(struct judge *j, const struct world *w, unsigned denied, struct audit *a)
{
	_cleanup_(socket_table_done) struct socket_table table;
	int err = see_table(w, denied, &table);

	for (size_t i = 0; err == 0 && i < a->daemon_count; i++) {
		struct daemon *d = &a->daemons[i];

		err = see_daemon(w, &d->ev);
		(void)snprintf(d->path, sizeof(d->path), "%s",
			       task_socket_listener(&d->ev, &table, &d->port));
	}
	for (size_t i = 0; err == 0 && i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];

		err = see_worker(w, worker_of(w, s), denied, &s->ev);
		see_task_socket(j, w, a, &table, denied, s);
		if (err == 0)
			err = find_holder(w, a, s);
	}
	for (size_t i = 0; err == 0 && i < a->host_count; i++)
		err = see_writers(w, denied, &a->hosts[i]);
	return err;
}

static int judge_worker(struct judge *j, const struct world *w, const struct tree_input *in,
			struct audit *a, struct subject *s)
{
	const struct correlate_input c = {
		.policy = &j->policy,
		.audit = a,
		.tree = in,
		.before = history_find(&j->history, s->id),
		.self = SEE_REAPER,
		.is_protected = world_shows(w, worker_of(w, s)) & 1u << KEPT_PROTECTED,
	};
	bool holds[FENCE_COUNT];
	struct history_entry *e;

	correlate_facts(&c, s);
	s->verdict = decide(&j->policy, &s->facts);
	for (enum fence f = FENCE_NONE; f < FENCE_COUNT; f++)
		holds[f] = fence_holds(f, &j->policy, &s->facts) == TRI_YES;
	e = history_touch(&j->history, s->id, a->boot_ms);
	if (!e)
		return -ENOMEM;
	correlate_remember(&j->policy, s, holds, a->boot_ms, e);
	return 0;
}

static int judge_subject(struct judge *j, const struct world *w, const struct tree_input *in,
			 struct audit *a, struct subject *s)
{
	int err;

	if (!role_is_judged(s->role)) {
		s->verdict = decide_lost_helper();
		return 0;
	}
	err = ask_markers(j, a, s);
	return err < 0 ? err : judge_worker(j, w, in, a, s);
}

static size_t remember(const struct history *h, struct tree_memory ret[WORLD_WORKERS])
{
	size_t count = 0;

	for (size_t i = 0; i < h->count && count < WORLD_WORKERS; i++) {
		const struct history_entry *e = history_at(h, i);

		if (e->daemon.pid && e->class_index >= 0)
			ret[count++] =
				(struct tree_memory){ e->id, e->daemon, e->host, e->class_index };
	}
	return count;
}

static int take(struct judge *j, struct world *w, unsigned denied, struct audit *a)
{
	struct tree_memory memory[WORLD_WORKERS];
	struct tree_input in = { .memory = memory, .memory_count = remember(&j->history, memory) };
	int err = see_processes(w, a);

	if (err == 0)
		err = read_logs(j, w, denied);
	if (err == 0)
		err = tree_build(a, &in);
	if (err == 0)
		err = see_all(j, w, denied, a);
	if (err < 0)
		return err;
	correlate_mark_ancestors(a, SEE_REAPER);
	note_run(j, w);
	for (size_t i = 0; err == 0 && i < a->subject_count; i++)
		err = judge_subject(j, w, &in, a, &a->subjects[i]);
	history_prune(&j->history, a->boot_ms);
	return err;
}

static const struct worker_class pyspark = {
	.name = "pyspark",
	.daemon_args = { 1, { { 2, { "-m", "pyspark.daemon" } } } },
	.host_comm = { 1, { { 1, { "java" } } } },
	.pool_timeout_ms = WORLD_PURGE_MS,
};

static void tell_suspend(struct judge *j, const struct world *w)
{
	if (!j->history.suspended_known && j->history.count)
		j->untold_ms += w->suspended_ms - j->suspended_ms;
	history_suspended(&j->history, w->lie == LIE_NEVER_SLEPT ? 0 : w->suspended_ms, w->now);
	j->suspended_ms = w->suspended_ms;
}

int judge_look(struct judge *j, struct world *w, unsigned denied, struct audit *ret)
{
	int err;

	tell_suspend(j, w);
	ret->wall_ms = w->now + w->wall;
	ret->boot_ms = w->now;
	memcpy(ret->boot_id, WORLD_BOOT, sizeof(WORLD_BOOT));
	ret->classes.count = 1;
	ret->classes.class[0] = pyspark;
	err = take(j, w, denied, ret);
	if (err < 0)
		audit_done(ret);
	return err;
}

/* ---- */

/* The most aggressive that may be set. */
static const struct policy policy = {
	.timeout_ms = 1000,
	.silent_after_ms = 1000,
	.assume_leaked_after_ms = UNKNOWN_U64,
	.min_age_ms = 1000,
	.growing_within_ms = 1000,
	.idle_cpu_ppm = WORLD_IDLE_CPU_PPM,
	.fences = 1u << FENCE_SIGNED_OFF | 1u << FENCE_PEER_CLOSED | 1u << FENCE_HOST_GONE |
		  1u << FENCE_RETIRED | 1u << FENCE_TASK_ENDED,
	.helpers = true,
};

int judge_begin(struct judge *j, const struct world *w)
{
	*j = (struct judge){
		.policy = policy,
		.suspended_ms = w->suspended_ms,
	};
	j->ledger = ledger_new(WORLD_BOOT);
	return j->ledger ? 0 : -ENOMEM;
}

void judge_end(struct judge *j)
{
	history_done(&j->history);
	ledger_free(j->ledger);
}

int judge_reload(struct judge *j, const struct world *w)
{
	struct history kept = j->history;
	uint64_t untold_ms = j->untold_ms, suspended_ms = j->suspended_ms;
	uint64_t began_ms = j->began_ms;
	int err;

	j->history = (struct history){ 0 };
	err = judge_restart(j, w);
	j->untold_ms = untold_ms;
	j->suspended_ms = suspended_ms;
	j->began_ms = began_ms; /* the history tells of every step since */
	j->history = kept;
	j->history.suspended_known = false;
	for (size_t i = 0; i < kept.count; i++) {
		struct history_entry *e = &kept.entries[i];

		e->before_known = false;
		if (!e->wait_known) { /* they stand behind the wait */
			e->before_ms = 0;
			e->cpu_ns = UNKNOWN_U64;
		}
		e->held_ms = e->closed_ino = 0;
		e->main_cpu_ns = e->main_switches = UNKNOWN_U64;
		e->recv_queue = e->send_queue = UNKNOWN_U64;
		e->looks = 1;
		e->daemon.pid = e->host.pid = 0;
		e->class_index = -1;
	}
	return err;
}

int judge_restart(struct judge *j, const struct world *w)
{
	judge_end(j);
	return judge_begin(j, w);
}

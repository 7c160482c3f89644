/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_rows.h"

#include "report/endpoint.h"
#include "report/json_exit.h"
#include "report/words.h"

enum {
	PPM_PER_PERCENT = 10000
};

static void add_pid(struct jsonw *row, const char *key, pid_t pid)
{
	if (pid)
		jsonw_int(row, key, pid);
	else
		jsonw_null(row, key);
}

static void add_ident(struct jsonw *row, struct ident id)
{
	jsonw_int(row, "pid", id.pid);
	jsonw_u64(row, "start", id.start);
}

static void add_class(struct jsonw *row, const struct audit *a, int index)
{
	bool known = index >= 0 && (size_t)index < a->classes.count;

	jsonw_str(row, "class", known ? a->classes.class[index].name : NULL);
}

static pid_t host_pid(const struct audit *a, int index)
{
	return index >= 0 && (size_t)index < a->host_count ? a->hosts[index].id.pid : 0;
}

static pid_t daemon_pid(const struct audit *a, const struct subject *s)
{
	if (s->daemon >= 0 && (size_t)s->daemon < a->daemon_count)
		return a->daemons[s->daemon].id.pid;
	return s->daemon_id.pid;
}

void json_rows_host(struct jsonw *row, const struct host *h)
{
	add_ident(row, h->id);
	jsonw_str(row, "comm", h->comm);
	jsonw_bool(row, "alive", h->alive);
	jsonw_str(row, "marker_log", h->log[0] ? h->log : NULL);
	jsonw_u64(row, "marker_age_ms", h->log[0] ? h->log_age_ms : UNKNOWN_U64);
}

void json_rows_daemon(struct jsonw *row, const struct audit *a, const struct daemon *d)
{
	char why[WORDS_MAX];

	add_ident(row, d->id);
	add_class(row, a, d->class_index);
	add_pid(row, "host", host_pid(a, d->host));
	jsonw_int(row, "workers", d->workers);
	jsonw_str(row, "verdict", action_name(d->verdict.action));
	jsonw_str(row, "reason", reason_name(d->verdict.reason));
	json_exit_crashes(row, audit_crashes(a, d->crashes), a->wall_ms, a->boot_ms);
	jsonw_str(row, "why", words_why_daemon(a, d, why));
}

static void add_who(struct jsonw *row, const struct audit *a, const struct subject *s)
{
	pid_t worker = s->role == ROLE_HELPER && s->worker >= 0 ? a->subjects[s->worker].id.pid : 0;
	pid_t host = host_pid(a, s->host);

	add_ident(row, s->id);
	jsonw_str(row, "role", role_name(s->role));
	add_pid(row, "helper_of", worker);
	add_class(row, a, s->class_index);
	jsonw_str(row, "label", s->label[0] ? s->label : NULL);
	add_pid(row, "daemon", daemon_pid(a, s));
	add_pid(row, "host", host ? host : s->host_id.pid);
	jsonw_int(row, "uid", s->uid);
}

static void add_state(struct jsonw *row, const struct subject *s)
{
	const struct evidence *e = &s->ev;
	bool judged = s->facts.id.pid;
	uint32_t ppm = s->facts.cpu_ppm;

	jsonw_str(row, "state", e->seen && e->state ? (char[]){ e->state, '\0' } : NULL);
	jsonw_int(row, "threads", s->threads);
	jsonw_u64(row, "age_ms", e->seen ? e->age_ms : UNKNOWN_U64);
	jsonw_u64(row, "idle_ms", judged ? s->facts.silent_ms : UNKNOWN_U64);
	if (judged && ppm != UINT32_MAX)
		jsonw_hundredths(row, "cpu_percent", (double)ppm / PPM_PER_PERCENT);
	else
		jsonw_null(row, "cpu_percent");
	jsonw_u64(row, "rss_bytes", e->seen ? e->rss_bytes : s->rss_bytes);
	jsonw_u64(row, "anon_bytes", e->seen ? e->anon_bytes : UNKNOWN_U64);
	jsonw_u64(row, "pss_bytes",
		  e->seen && s->verdict.action == ACTION_REAP ? e->pss_bytes : UNKNOWN_U64);
}

/* A socket that was not found has neither queues nor an age. */
static void add_socket(struct jsonw *row, const struct subject *s)
{
	const struct task_socket *t = &s->socket;
	bool found = t->state != SOCKET_UNKNOWN && t->state != SOCKET_NONE;

	jsonw_str(row, "socket", socket_state_name(t->state));
	jsonw_str(row, "transport", transport_name(t->transport));
	jsonw_u64(row, "socket_silent_ms", found ? t->silent_ms : UNKNOWN_U64);
	jsonw_u64(row, "recv_queue", found ? t->recv_queue : UNKNOWN_U64);
	jsonw_u64(row, "send_queue", found ? t->send_queue : UNKNOWN_U64);
}

static void push_held(struct jsonw *list, const struct held_socket *h)
{
	bool known = h->transport != TRANSPORT_UNKNOWN, inet = h->transport == TRANSPORT_TCP;
	struct jsonw row = jsonw_object();
	char name[ENDPOINT_MAX];

	jsonw_int(&row, "fd", h->fd);
	jsonw_str(&row, "transport", transport_name(h->transport));
	jsonw_str(&row, "local", inet ? endpoint_name(&h->local, name) : NULL);
	jsonw_str(&row, "remote", inet ? endpoint_name(&h->remote, name) : NULL);
	jsonw_u64(&row, "recv_queue", known ? h->recv_queue : UNKNOWN_U64);
	jsonw_u64(&row, "send_queue", known ? h->send_queue : UNKNOWN_U64);
	jsonw_push(list, &row);
}

/* Of a program that stands alone; a worker has its task socket. */
static void add_held(struct jsonw *row, const struct subject *s)
{
	struct jsonw list;

	if (s->role != ROLE_SINGLE) {
		jsonw_null(row, "sockets");
		return;
	}
	list = jsonw_list();
	for (size_t i = 0; i < s->ev.socket_count; i++)
		push_held(&list, &s->ev.sockets[i]);
	jsonw_add(row, "sockets", &list);
}

static void add_marks(struct jsonw *row, const struct subject *s)
{
	struct jsonw tasks = jsonw_list();

	for (uint32_t i = 0; i < s->marks.task_count && i < MARKER_TASKS_SHOWN; i++)
		jsonw_push_str(&tasks, s->marks.tasks[i]);
	jsonw_add(row, "tasks", &tasks);
	jsonw_str(row, "job", s->marks.job[0] ? s->marks.job : NULL);
	jsonw_str(row, "marker", marker_state_name(s->marks.state));
}

static void add_verdict(struct jsonw *row, const struct subject *s)
{
	const struct verdict *v = &s->verdict;

	jsonw_str(row, "verdict", action_name(v->action));
	jsonw_str(row, "reason", reason_name(v->reason));
	jsonw_str(row, "fence", fence_name(v->fence));
	jsonw_u64(row, "fence_age_ms", v->fence != FENCE_NONE ? v->fence_age_ms : UNKNOWN_U64);
	jsonw_str(row, "missing", words_missing(v->missing));
	jsonw_u64(row, "due_in_ms", v->reason == REASON_WAITING ? v->due_in_ms : UNKNOWN_U64);
}

void json_rows_worker(struct jsonw *row, const struct audit *a, const struct subject *s)
{
	bool judged = s->facts.id.pid;
	char why[WORDS_MAX];

	add_who(row, a, s);
	add_state(row, s);
	jsonw_str(row, "blocked_in", judged ? wait_kind_name(s->facts.wait) : NULL);
	jsonw_tri(row, "wait_forever", judged ? s->facts.wait_forever : TRI_UNKNOWN);
	jsonw_u64(row, "blocked_ms", judged ? s->facts.blocked_ms : UNKNOWN_U64);
	add_socket(row, s);
	add_held(row, s);
	json_exit_crashes(row, audit_crashes(a, s->crashes), a ? a->wall_ms : 0,
			  a ? a->boot_ms : 0);
	add_marks(row, s);
	json_rows_memory(row, a, s);
	add_verdict(row, s);
	jsonw_str(row, "why", words_why(a, s, why));
}

void json_rows_action(struct jsonw *row, const struct action_record *action)
{
	add_ident(row, action->id);
	jsonw_str(row, "role", role_name(action->role));
	add_pid(row, "signal", action->signal);
	jsonw_str(row, "outcome", outcome_name(action->outcome));
	jsonw_u64(row, "freed_bytes", action->freed_bytes);
	jsonw_u64(row, "took_ms", action->took_ms);
	jsonw_str(row, "why", action->why[0] ? action->why : NULL);
}

void json_rows_summary(struct jsonw *doc, const struct audit *a)
{
	struct audit_summary sum = audit_summarise(a);
	struct jsonw row = jsonw_object();

	jsonw_int(&row, "workers", sum.workers);
	jsonw_int(&row, "singles", sum.singles);
	jsonw_int(&row, "keep", sum.keep);
	jsonw_int(&row, "suspect", sum.suspect);
	jsonw_int(&row, "reap", sum.reap);
	jsonw_u64(&row, "reclaimable_bytes", sum.reclaimable_bytes);
	jsonw_add(doc, "summary", &row);
}

void json_rows_audit(struct jsonw *doc, const struct audit *a)
{
	struct jsonw hosts = jsonw_list(), daemons = jsonw_list(), workers = jsonw_list();

	jsonw_u64(doc, "time", a->wall_ms);
	jsonw_str(doc, "boot_id", a->boot_id);
	jsonw_bool(doc, "dry_run", a->dry_run);
	for (size_t i = 0; i < a->host_count; i++) {
		struct jsonw row = jsonw_object();

		json_rows_host(&row, &a->hosts[i]);
		jsonw_push(&hosts, &row);
	}
	for (size_t i = 0; i < a->daemon_count; i++) {
		struct jsonw row = jsonw_object();

		json_rows_daemon(&row, a, &a->daemons[i]);
		jsonw_push(&daemons, &row);
	}
	for (size_t i = 0; i < a->subject_count; i++) {
		struct jsonw row = jsonw_object();

		json_rows_worker(&row, a, &a->subjects[i]);
		jsonw_push(&workers, &row);
	}
	jsonw_add(doc, "hosts", &hosts);
	jsonw_add(doc, "daemons", &daemons);
	jsonw_add(doc, "workers", &workers);
	json_rows_summary(doc, a);
}

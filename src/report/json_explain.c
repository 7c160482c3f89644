/* SPDX-License-Identifier: Apache-2.0 */

#include "report/endpoint.h"
#include "report/json.h"
#include "report/json_rows.h"
#include "report/words.h"

static const struct facts *facts_of(const struct explanation *e)
{
	return e->subject && e->subject->facts.id.pid ? &e->subject->facts : NULL;
}

static struct jsonw proofs(const struct explanation *e)
{
	struct jsonw list = jsonw_list();
	char text[WORDS_MAX];

	if (!facts_of(e))
		return list;
	for (enum fence f = FENCE_NONE + 1; f < FENCE_COUNT; f++) {
		struct jsonw row = jsonw_object();

		jsonw_str(&row, "name", fence_name(f));
		jsonw_tri(&row, "holds", e->proof[f]);
		jsonw_u64(&row, "age_ms",
			  e->proof[f] == TRI_YES ? e->proof_age_ms[f] : UNKNOWN_U64);
		jsonw_str(&row, "why", words_proof(f, e->proof[f], facts_of(e), text));
		jsonw_str(&row, "how_to_get", words_proof_how(f, e->proof[f]));
		jsonw_push(&list, &row);
	}
	return list;
}

static struct jsonw guards(const struct explanation *e)
{
	struct jsonw list = jsonw_list();
	char text[WORDS_MAX];

	if (!facts_of(e))
		return list;
	for (enum reason r = 0; r < REASON_COUNT; r++) {
		struct jsonw row;

		if (!reason_is_guard(r))
			continue;
		row = jsonw_object();
		jsonw_str(&row, "name", reason_name(r));
		jsonw_bool(&row, "objects", e->guard[r]);
		jsonw_str(&row, "why", words_guard(r, e->guard[r], facts_of(e), text));
		jsonw_push(&list, &row);
	}
	return list;
}

static void add_wait(struct jsonw *w, const struct wait *wait)
{
	struct jsonw row = jsonw_object(), args = jsonw_list();

	for (size_t i = 0; wait->known && i < ARRAY_SIZE(wait->args); i++)
		jsonw_push_hex(&args, wait->args[i]);
	if (wait->known)
		jsonw_int(&row, "nr", wait->nr);
	else
		jsonw_null(&row, "nr");
	jsonw_add(&row, "args", &args);
	jsonw_str(&row, "wchan", wait->wchan[0] ? wait->wchan : NULL);
	jsonw_add(w, "main_wait", &row);
}

static void add_number(struct jsonw *w, const char *key, uint64_t value)
{
	jsonw_u64(w, key, value ? value : UNKNOWN_U64);
}

static void add_identity(struct jsonw *w, const struct evidence *e)
{
	struct jsonw uids = jsonw_list();

	for (size_t i = 0; e->ids_known && i < ARRAY_SIZE(e->uids); i++)
		jsonw_push_int(&uids, e->uids[i]);
	jsonw_int(w, "ppid", e->ppid);
	jsonw_int(w, "pgrp", e->pgrp);
	jsonw_str(w, "state", e->state ? (char[]){ e->state, '\0' } : NULL);
	jsonw_bool(w, "never_execed", e->flags & PROC_FORKNOEXEC);
	jsonw_int(w, "threads", e->threads);
	jsonw_add(w, "uids", &uids);
	jsonw_int(w, "tracer", e->tracer);
	jsonw_tri(w, "dumping", e->dumping);
	add_number(w, "ns_pid", (uint64_t)e->ns_pid);
	jsonw_int(w, "ns_depth", e->ns_depth);
	add_number(w, "exe_dev", e->exe.ino ? e->exe.dev : 0);
	add_number(w, "exe_ino", e->exe.ino);
	add_number(w, "pid_ns", e->pid_ns);
	add_number(w, "net_ns", e->net_ns);
	jsonw_str(w, "cgroup", e->cgroup);
	jsonw_u64(w, "age_ms", e->age_ms);
	if (!e->signals_known) {
		jsonw_null(w, "sig_blocked");
		jsonw_null(w, "sig_ignored");
		jsonw_null(w, "sig_caught");
		return;
	}
	jsonw_hex(w, "sig_blocked", e->sig_blocked);
	jsonw_hex(w, "sig_ignored", e->sig_ignored);
	jsonw_hex(w, "sig_caught", e->sig_caught);
}

static void add_activity(struct jsonw *w, const struct evidence *e)
{
	add_wait(w, &e->main);
	jsonw_tri(w, "asleep", e->asleep);
	jsonw_bool(w, "stopped", e->stopped);
	jsonw_bool(w, "uninterruptible", e->uninterruptible);
	jsonw_u64(w, "blocked_ms", e->blocked_ms);
	jsonw_u64(w, "others_blocked_ms", e->others_blocked_ms);
	jsonw_u64(w, "main_cpu_ns", e->main_cpu_ns);
	jsonw_u64(w, "main_switches", e->main_switches);
	jsonw_u64(w, "cpu_ns", e->cpu_ns);
	jsonw_u64(w, "rss_bytes", e->rss_bytes);
	jsonw_u64(w, "anon_bytes", e->anon_bytes);
	jsonw_u64(w, "pss_bytes", e->pss_bytes);
}

static void add_sockets(struct jsonw *w, const struct evidence *e)
{
	struct jsonw list = jsonw_list();

	for (size_t i = 0; i < e->socket_count; i++) {
		struct jsonw row = jsonw_object();

		jsonw_int(&row, "fd", e->sockets[i].fd);
		jsonw_int(&row, "fds", e->sockets[i].all_fds);
		jsonw_u64(&row, "inode", e->sockets[i].ino);
		jsonw_tri(&row, "tcp", e->sockets[i].tcp);
		jsonw_push(&list, &row);
	}
	jsonw_tri(w, "fds_known", e->fds_known);
	jsonw_add(w, "sockets", &list);
}

static void add_task_socket(struct jsonw *w, const struct task_socket *t)
{
	struct jsonw row;
	char local[ENDPOINT_MAX], remote[ENDPOINT_MAX];
	bool tcp = t->transport == TRANSPORT_TCP;

	if (!t->ino) {
		jsonw_null(w, "task_socket");
		return;
	}
	row = jsonw_object();
	jsonw_str(&row, "state", socket_state_name(t->state));
	jsonw_str(&row, "transport", transport_name(t->transport));
	jsonw_u64(&row, "inode", t->ino);
	jsonw_int(&row, "fd", t->fd);
	jsonw_int(&row, "fds", t->fds);
	jsonw_bool(&row, "by_name", t->by_name);
	jsonw_str(&row, "local", tcp ? endpoint_name(&t->local, local) : NULL);
	jsonw_str(&row, "remote", tcp ? endpoint_name(&t->remote, remote) : NULL);
	jsonw_tri(&row, "host_held", t->host_held);
	jsonw_bool(&row, "closing", t->closing);
	jsonw_u64(&row, "recv_queue", t->recv_queue);
	jsonw_u64(&row, "send_queue", t->send_queue);
	jsonw_u64(&row, "host_recv_queue", t->host_recv_queue);
	jsonw_u64(&row, "silent_ms", t->silent_ms);
	jsonw_u64(&row, "hangup_ms", t->closing ? t->hangup_ms : UNKNOWN_U64);
	jsonw_add(w, "task_socket", &row);
}

static void add_facts(struct jsonw *w, const struct facts *f)
{
	struct jsonw row = jsonw_object();

	jsonw_fields(&row, facts_fields, facts_field_count, f);
	jsonw_add(w, "facts", &row);
}

/* Empty where the process was never looked at closely. */
static struct jsonw evidence(const struct explanation *e)
{
	struct jsonw w = jsonw_object();
	const struct evidence *ev = e->subject  ? &e->subject->ev
				    : e->daemon ? &e->daemon->ev
						: NULL;

	if (!ev || !ev->seen)
		return w;
	add_identity(&w, ev);
	add_activity(&w, ev);
	add_sockets(&w, ev);
	if (e->subject)
		add_task_socket(&w, &e->subject->socket);
	if (facts_of(e))
		add_facts(&w, facts_of(e));
	return w;
}

static const char *why(const struct explanation *e, char ret[WORDS_MAX])
{
	if (e->subject)
		return words_why(e->audit, e->subject, ret);
	if (e->daemon)
		return words_why_daemon(e->audit, e->daemon, ret);
	return e->why;
}

int json_explanation(const struct explanation *e, struct buf *ret)
{
	struct jsonw doc = jsonw_document(), row = jsonw_object(), part;
	char text[WORDS_MAX];

	json_rows_audit(&doc, e->audit);
	jsonw_int(&row, "pid", e->pid);
	jsonw_str(&row, "role", role_name(e->role));
	jsonw_str(&row, "why", why(e, text));
	part = proofs(e);
	jsonw_add(&row, "proofs", &part);
	part = guards(e);
	jsonw_add(&row, "guards", &part);
	part = evidence(e);
	jsonw_add(&row, "evidence", &part);
	jsonw_add(&doc, "explain", &row);
	return jsonw_finish(&doc, JSONW_PRETTY, ret);
}

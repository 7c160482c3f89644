/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_evidence.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report/endpoint.h"
#include "report/text_detail.h"
#include "report/words.h"

enum {
	EVIDENCE_INDENT = 2,
	EVIDENCE_COLUMN = 17,
	EVIDENCE_FOREIGN_COLUMNS = 60,
	EVIDENCE_COMM_COLUMNS = 15,
	EVIDENCE_HELD_SHOWN = 16, /* sockets of a program that stands alone */
	PPM_PER_PERCENT = 10000,
};

static const char *const answers[] = {
	[TRI_UNKNOWN] = "unknown",
	[TRI_NO] = "no",
	[TRI_YES] = "yes",
};

/* Starts a line. */
static void label(struct lines *l, const char *name)
{
	line_pad(l, EVIDENCE_INDENT);
	line_text(l, name);
	line_pad(l, EVIDENCE_COLUMN);
}

static void say(struct lines *l, const char *name, const struct buf *text)
{
	label(l, name);
	line_wrap(l, text->failed || !text->bytes ? "" : text->bytes, "", EVIDENCE_COLUMN);
	line_end(l);
	l->out->failed |= text->failed;
}

static void say_process(struct lines *l, const struct evidence *e, const char *comm)
{
	char age[WORDS_SHORT_MAX];

	label(l, "process");
	if (comm) {
		line_foreign(l, comm, EVIDENCE_COMM_COLUMNS);
		line_text(l, ", ");
	}
	line_printf(l, "state %c, %" PRIu32 " thread%s, parent %" PRId32 ", group %" PRId32,
		    e->state ? e->state : '?', e->threads, e->threads == 1 ? "" : "s", e->ppid,
		    e->pgrp);
	line_end(l);
	line_pad(l, EVIDENCE_COLUMN);
	line_printf(l, "began %s ago", words_age(e->age_ms, age, sizeof(age)));
	if (e->ids_known)
		line_printf(l, ", uid %" PRIu32, e->uids[1]);
	line_text(l, e->flags & PROC_FORKNOEXEC ? ", never executed another program"
						: ", has executed a program");
	line_end(l);
}

static void say_memory(struct lines *l, const struct evidence *e)
{
	char rss[WORDS_SHORT_MAX], anon[WORDS_SHORT_MAX], pss[WORDS_SHORT_MAX];

	label(l, "memory");
	line_printf(l, "%s resident, %s anonymous", words_size(e->rss_bytes, rss, sizeof(rss)),
		    words_size(e->anon_bytes, anon, sizeof(anon)));
	if (e->pss_bytes != UNKNOWN_U64)
		line_printf(l, ", %s its own share", words_size(e->pss_bytes, pss, sizeof(pss)));
	line_end(l);
}

static void say_wait(struct lines *l, const struct evidence *e, const struct facts *f)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	const char *call = f ? wait_kind_name(f->wait) : "a wait";
	char age[WORDS_SHORT_MAX], name[WORDS_NAME_MAX];

	buf_str(&text, call ? "in " : "in no known wait");
	buf_str(&text, call ? call : "");
	if (e->main.known && e->main.nr >= 0)
		buf_printf(&text, " (call %" PRId64 ")", e->main.nr);
	if (e->main.wchan[0])
		buf_printf(&text, ", wait channel %s",
			   words_name(e->main.wchan, name, sizeof(name)));
	buf_printf(&text, ", last ran %s ago", words_age(e->blocked_ms, age, sizeof(age)));
	if (f && f->wait_forever != TRI_UNKNOWN)
		buf_printf(&text, ", %s a timeout",
			   f->wait_forever == TRI_YES ? "without" : "with");
	say(l, "main thread", &text);
	if (e->threads <= 1)
		return;
	label(l, "other threads");
	line_printf(l, "all asleep: %s; the last one ran %s ago", answers[e->asleep],
		    words_age(e->others_blocked_ms, age, sizeof(age)));
	line_end(l);
}

static void say_activity(struct lines *l, const struct facts *f)
{
	char blocked[WORDS_SHORT_MAX], silent[WORDS_SHORT_MAX];

	label(l, "activity");
	line_printf(l, "blocked for %s, silent for %s",
		    words_age(f->blocked_ms, blocked, sizeof(blocked)),
		    words_age(f->silent_ms, silent, sizeof(silent)));
	if (f->cpu_ppm != UINT32_MAX)
		line_printf(l, ", cpu %" PRIu32 ".%" PRIu32 " %%", f->cpu_ppm / PPM_PER_PERCENT,
			    f->cpu_ppm % PPM_PER_PERCENT / (PPM_PER_PERCENT / 10));
	line_end(l);
}

static void say_socket(struct lines *l, const struct task_socket *t, const struct facts *f)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	char local[ENDPOINT_MAX], remote[ENDPOINT_MAX];
	char in[WORDS_SHORT_MAX], out[WORDS_SHORT_MAX], far[WORDS_SHORT_MAX];
	const char *transport = transport_name(t->transport);

	buf_printf(&text, "%s", socket_state_name(t->state));
	if (!t->ino) {
		say(l, "task socket", &text);
		return;
	}
	buf_printf(&text, ", %s, descriptor %d (held %u time%s)", transport ? transport : "unknown",
		   t->fd, t->fds, t->fds == 1 ? "" : "s");
	if (t->transport == TRANSPORT_TCP && t->local.port)
		buf_printf(&text, ", %s to %s", endpoint_name(&t->local, local),
			   endpoint_name(&t->remote, remote));
	say(l, "task socket", &text);
	buf_clear(&text);
	buf_printf(&text, "%s to read, %s to send, %s at the host; last byte %s ago",
		   words_size(t->recv_queue, in, sizeof(in)),
		   words_size(t->send_queue, out, sizeof(out)),
		   words_size(t->host_recv_queue, far, sizeof(far)),
		   words_age(t->silent_ms, local, sizeof(local)));
	if (t->closing)
		buf_printf(&text, "; the host hung up %s ago",
			   words_age(t->hangup_ms, remote, sizeof(remote)));
	say(l, "queues", &text);
	label(l, "host's end");
	line_printf(l, "held by somebody: %s", answers[t->host_held]);
	if (f->in_signoff_call)
		line_printf(l, "; a thread may write to it: %s", answers[f->host_writes]);
	line_end(l);
}

/* Of a program that stands alone: each socket may be what it waits for. */
static void say_held(struct lines *l, const struct evidence *e)
{
	size_t shown = MIN(e->socket_count, (size_t)EVIDENCE_HELD_SHOWN);
	char text[WORDS_MAX];

	for (size_t i = 0; i < shown; i++) {
		label(l, "socket");
		line_wrap(l, text_detail_held(&e->sockets[i], text), "", EVIDENCE_COLUMN);
		line_end(l);
	}
	if (shown == e->socket_count)
		return;
	label(l, "sockets");
	line_printf(l, "and %zu more", e->socket_count - shown);
	line_end(l);
}

static void say_markers(struct lines *l, const struct subject *s)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	const struct marker_facts *m = &s->marks;
	char name[WORDS_NAME_MAX];

	buf_str(&text, marker_state_name(m->state));
	if (!m->host_log) {
		buf_printf(&text, "; there is no log of %s that may be believed",
			   s->role == ROLE_SINGLE ? "its own" : "its host");
		say(l, "markers", &text);
		return;
	}
	buf_printf(&text, "; %" PRIu32 " task%s bound, %" PRIu32 " open", m->bound,
		   m->bound == 1 ? "" : "s", m->open);
	for (uint32_t i = 0; i < m->task_count && i < MARKER_TASKS_SHOWN; i++)
		buf_printf(&text, "%s%s", i ? ", " : ": ",
			   words_name(m->tasks[i], name, sizeof(name)));
	if (m->job[0])
		buf_printf(&text, "; job %s", words_name(m->job, name, sizeof(name)));
	if (!m->logs_whole)
		buf_str(&text, "; not read to their end");
	say(l, "markers", &text);
}

static void say_signals(struct lines *l, const struct evidence *e)
{
	uint64_t term = UINT64_C(1) << (SIGTERM - 1);
	const char *what = "has its default effect";

	if (!e->signals_known)
		what = "unknown";
	else if (e->sig_caught & term)
		what = "is caught, so SIGKILL is sent at once";
	else if (e->sig_ignored & term)
		what = "is ignored, so SIGKILL is sent at once";
	else if (e->sig_blocked & term)
		what = "is blocked, so SIGKILL is sent at once";
	label(l, "SIGTERM");
	line_text(l, what);
	line_end(l);
}

static void say_places(struct lines *l, const struct evidence *e)
{
	label(l, "namespaces");
	line_printf(l, "pid %" PRIu64 ", net %" PRIu64 ", %" PRId32 " in its own", e->pid_ns,
		    e->net_ns, e->ns_pid);
	line_end(l);
	if (!e->cgroup)
		return;
	label(l, "cgroup");
	line_foreign(l, e->cgroup, EVIDENCE_FOREIGN_COLUMNS);
	line_end(l);
}

static void say_daemon(struct lines *l, const struct daemon *d)
{
	char size[WORDS_SHORT_MAX];

	label(l, "workers");
	line_printf(l, "%" PRIu32 ", %s", d->workers, words_size(d->rss_bytes, size, sizeof(size)));
	line_end(l);
	label(l, "listens on");
	if (d->path[0])
		line_foreign(l, d->path, EVIDENCE_FOREIGN_COLUMNS);
	else if (d->port)
		line_printf(l, "port %" PRIu16, d->port);
	else
		line_text(l, "unknown");
	line_end(l);
}

void text_evidence(struct lines *l, const struct explanation *e)
{
	const struct subject *s = e->subject;
	const struct evidence *ev = s ? &s->ev : &e->daemon->ev;
	const struct facts *f = s && s->facts.id.pid ? &s->facts : NULL;

	say_process(l, ev, s ? s->comm : NULL);
	say_memory(l, ev);
	say_wait(l, ev, f);
	if (f)
		say_activity(l, f);
	if (s && role_is_judged(s->role)) {
		if (s->role == ROLE_WORKER)
			say_socket(l, &s->socket, &s->facts);
		else
			say_held(l, ev);
		say_markers(l, s);
		say_signals(l, ev);
	}
	if (e->daemon)
		say_daemon(l, e->daemon);
	say_places(l, ev);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_sockets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/pin.h"
#include "correlate/task_socket.h"
#include "correlate/tree.h"
#include "observe/evidence.h"

static void tables_free(struct look_tables *t)
{
	for (size_t i = 0; i < t->count; i++)
		socket_table_done(&t->table[i]);
	free(t);
}
DEFINE_CLEANUP(struct look_tables *, tables_free)

static int open_process(const struct look *l, struct ident id, int *ret_opened)
{
	int dirfd = look_pinned(l, id);

	if (dirfd >= 0)
		return dirfd;
	*ret_opened = pin_open(id.pid);
	return *ret_opened;
}

/* The tables of the namespace in which a process lives; a process that went away has none. */
static int read_by_proc(const struct look *l, struct ident id, struct socket_table *ret)
{
	_cleanup_close_ int opened = -1;
	int dirfd = open_process(l, id, &opened);

	*ret = (struct socket_table){ 0 };
	return dirfd < 0 ? 0 : sockets_read_proc(dirfd, ret);
}

static int add_table(const struct look *l, struct look_tables *t, struct ident id, uint64_t net_ns)
{
	struct socket_table *table = &t->table[t->count];
	int err;

	if (net_ns == l->self.net_ns && l->sockets)
		err = sockets_dump(l->sockets, table);
	else
		err = read_by_proc(l, id, table);
	if (err < 0)
		return err;
	table->net_ns = net_ns;
	table->read_ms = clock_boot_ms();
	t->count++;
	return 0;
}

/* @return 0; *ret_table is NULL where there is none to be had. */
static int find_table(const struct look *l, struct look_tables *t, const struct evidence *e,
		      const struct socket_table **ret_table)
{
	*ret_table = NULL;
	if (!e->seen || e->vanished || !e->net_ns)
		return 0;
	for (size_t i = 0; i < t->count; i++)
		if (t->table[i].net_ns == e->net_ns) {
			*ret_table = &t->table[i];
			return 0;
		}
	if (t->count == LOOK_TABLES_MAX)
		return 0;
	if (add_table(l, t, e->id, e->net_ns) < 0)
		return -ENOMEM;
	*ret_table = &t->table[t->count - 1];
	return 0;
}

static int find_listeners(struct look *l, struct look_tables *t, struct audit *a)
{
	for (size_t i = 0; i < a->daemon_count; i++) {
		struct daemon *d = &a->daemons[i];
		const struct socket_table *table;

		if (find_table(l, t, &d->ev, &table) < 0)
			return -ENOMEM;
		(void)snprintf(d->path, sizeof(d->path), "%s",
			       task_socket_listener(&d->ev, table, &d->port));
	}
	return 0;
}

static enum tri in_same_net_ns(const struct look *l, const struct audit *a, const struct subject *s)
{
	uint64_t expected = s->daemon >= 0 ? a->daemons[s->daemon].ev.net_ns : l->self.net_ns;

	if (!expected || !s->ev.net_ns)
		return TRI_UNKNOWN;
	return tri_of(expected == s->ev.net_ns);
}

static void look_up(const struct look *l, const struct task_socket_input *in,
		    const struct task_socket *s, struct task_socket_lookup *ret)
{
	int found;

	if (!l->sockets || !in->table || in->table->net_ns != l->self.net_ns ||
	    !socket_table_inet(in->table, s->ino))
		return;
	found = sockets_lookup(l->sockets, &s->remote, &s->local, &ret->row);
	if (found >= 0)
		ret->found = tri_of(found);
}

static bool is_in_no_table(const struct task_socket_input *in, const struct task_socket *s)
{
	return in->table && s->ino && s->transport == TRANSPORT_TCP &&
	       !socket_table_inet(in->table, s->ino) && !socket_table_unix(in->table, s->ino);
}

static int find_task_socket(struct look *l, struct look_tables *t, const struct audit *a,
			    struct subject *s)
{
	struct task_socket_lookup lookup = { .found = TRI_UNKNOWN };
	_cleanup_(socket_table_done) struct socket_table own = { 0 };
	const struct history_entry *before = history_find(&l->history, s->id);
	struct task_socket_input in = {
		.worker = &s->ev,
		.same_net_ns = in_same_net_ns(l, a, s),
		.port = s->daemon >= 0 ? a->daemons[s->daemon].port : 0,
		.path = s->daemon >= 0 ? a->daemons[s->daemon].path : "",
		.closed_ino = before ? before->closed_ino : 0,
	};

	if (find_table(l, t, &s->ev, &in.table) < 0)
		return -ENOMEM;
	task_socket_choose(&in, &s->socket);
	if (!s->socket.ino)
		return 0;
	if (is_in_no_table(&in, &s->socket)) {
		if (read_by_proc(l, s->id, &own) < 0)
			return -ENOMEM;
	} else {
		look_up(l, &in, &s->socket, &lookup);
	}
	task_socket_judge(&in, &lookup, &own, &s->socket);
	return 0;
}

static void describe_held(const struct socket_table *table, struct held_socket *h)
{
	const struct inet_row *inet = socket_table_inet(table, h->ino);
	const struct unix_row *local = socket_table_unix(table, h->ino);

	if (inet) {
		h->transport = TRANSPORT_TCP;
		h->local = inet->local;
		h->remote = inet->remote;
		h->recv_queue = inet->recv_queue;
		h->send_queue = inet->send_queue;
	} else if (local) {
		h->transport = TRANSPORT_UNIX;
		h->recv_queue = local->recv_queue;
		h->send_queue = local->send_queue;
	}
}

/* A program that stands alone has no task socket: each of its sockets may be what it waits for. */
static int find_held(struct look *l, struct look_tables *t, struct subject *s)
{
	const struct socket_table *table;

	task_socket_none(&s->socket);
	if (!s->ev.socket_count)
		return 0;
	if (find_table(l, t, &s->ev, &table) < 0)
		return -ENOMEM;
	for (size_t i = 0; table && i < s->ev.socket_count; i++)
		describe_held(table, &s->ev.sockets[i]);
	return 0;
}

static int find_sockets(struct look *l, struct look_tables *t, const struct audit *a,
			struct subject *s)
{
	if (s->role == ROLE_WORKER)
		return find_task_socket(l, t, a, s);
	return s->role == ROLE_SINGLE ? find_held(l, t, s) : 0;
}

static bool holds(const struct evidence *e, uint64_t ino)
{
	for (size_t i = 0; i < e->socket_count; i++)
		if (e->sockets[i].ino == ino)
			return true;
	return false;
}

/* What was found out of a worker holds for its helper. */
static void follow_worker(const struct subject *worker, struct subject *helper)
{
	helper->host = worker->host;
	helper->host_id = worker->host_id;
	helper->holds_task_socket = worker->socket.ino && holds(&helper->ev, worker->socket.ino);
}

/* Workers whose daemon is dead: their host is whoever holds the other end. */
struct lone {
	struct subject **workers; /* sorted by that end's inode */
	uint64_t *inos;
	bool *held;
	size_t count;
};

static void lone_done(struct lone *o)
{
	free(o->workers);
	free(o->inos);
	free(o->held);
}

static int compare_lone(const void *a, const void *b)
{
	const struct subject *p = *(struct subject *const *)a, *q = *(struct subject *const *)b;

	return p->socket.host_ino < q->socket.host_ino ? -1
						       : p->socket.host_ino > q->socket.host_ino;
}

static int lone_find(struct audit *a, struct lone *ret)
{
	ret->workers = calloc(a->subject_count, sizeof(struct subject *));
	ret->inos = calloc(a->subject_count, sizeof(*ret->inos));
	ret->held = calloc(a->subject_count, sizeof(*ret->held));
	if (!ret->workers || !ret->inos || !ret->held)
		return -ENOMEM;
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];

		if (s->role == ROLE_WORKER && s->host < 0 && s->socket.host_ino)
			ret->workers[ret->count++] = s;
	}
	qsort(ret->workers, ret->count, sizeof(struct subject *), compare_lone);
	for (size_t i = 0; i < ret->count; i++)
		ret->inos[i] = ret->workers[i]->socket.host_ino;
	return 0;
}

static bool may_be_host(const struct audit *a, const struct tree_input *in, const struct proc *p,
			const struct subject *s)
{
	return s->host < 0 && p->uid == s->uid && tree_is_host(a, in, p, s->class_index);
}

static int give_host(struct audit *a, const struct tree_input *in, const struct proc *p,
		     struct lone *o)
{
	for (size_t i = 0; i < o->count; i++) {
		struct subject *s = o->workers[i];

		if (!o->held[i] || !may_be_host(a, in, p, s))
			continue;
		s->host = tree_add_host(a, p);
		if (s->host < 0)
			return -ENOMEM;
		s->host_id = p->id;
	}
	return 0;
}

static bool asks_for(const struct audit *a, const struct tree_input *in, const struct proc *p,
		     const struct lone *o)
{
	for (size_t i = 0; i < o->count; i++)
		if (may_be_host(a, in, p, o->workers[i]))
			return true;
	return false;
}

/* Each process is walked through once, however many ask. */
static int find_holders(struct look *l, struct audit *a)
{
	struct tree_input in = { .named_hosts = l->living, .named_count = l->living_count };
	_cleanup_(lone_done) struct lone o = { 0 };

	if (lone_find(a, &o) < 0)
		return -ENOMEM;
	for (size_t i = 0; o.count && i < a->snapshot.count; i++) {
		const struct proc *p = &a->snapshot.procs[i];
		_cleanup_close_ int dirfd = -1;

		if (!asks_for(a, &in, p, &o))
			continue;
		memset(o.held, 0, o.count * sizeof(*o.held));
		dirfd = pin_open(p->id.pid);
		if (dirfd >= 0) /* what was found before an error is held all the same */
			(void)evidence_held_among(dirfd, o.inos, o.count, o.held);
		if (give_host(a, &in, p, &o) < 0)
			return -ENOMEM;
	}
	return 0;
}

int look_sockets(struct look *l, struct audit *a)
{
	_cleanup_(tables_free_cleanup) struct look_tables *t = NULL;

	if (!a->daemon_count && !a->subject_count)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t || find_listeners(l, t, a) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < a->subject_count; i++)
		if (find_sockets(l, t, a, &a->subjects[i]) < 0)
			return -ENOMEM;
	if (a->subject_count && find_holders(l, a) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].role == ROLE_HELPER)
			follow_worker(&a->subjects[a->subjects[i].worker], &a->subjects[i]);
	return 0;
}

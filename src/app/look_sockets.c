/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_sockets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* Of a worker whose daemon is dead the host is whoever holds the other end. */
static int find_holder(struct look *l, struct audit *a, struct subject *s)
{
	struct tree_input in = { .named_hosts = l->living, .named_count = l->living_count };

	for (size_t i = 0; i < a->snapshot.count; i++) {
		const struct proc *p = &a->snapshot.procs[i];
		_cleanup_close_ int dirfd = -1;

		if (p->uid != s->uid || !tree_is_host(a, &in, p, s->class_index))
			continue;
		dirfd = pin_open(p->id.pid);
		if (dirfd < 0 || evidence_holds_socket(dirfd, s->socket.host_ino) != TRI_YES)
			continue;
		s->host = tree_add_host(a, p);
		if (s->host < 0)
			return -ENOMEM;
		s->host_id = p->id;
		return 0;
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
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];

		if (s->role == ROLE_WORKER && find_task_socket(l, t, a, s) < 0)
			return -ENOMEM;
		if (s->role == ROLE_HELPER)
			follow_worker(&a->subjects[s->worker], s);
		if (s->role == ROLE_WORKER && s->host < 0 && s->socket.host_ino &&
		    find_holder(l, a, s) < 0)
			return -ENOMEM;
	}
	return 0;
}

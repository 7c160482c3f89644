/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/task_socket.h"

#include <string.h>
#include <sys/syscall.h>

/* pyspark/daemon.py and pyjava/daemon.py: while sock.recv(1024) */
enum {
	SIGN_OFF_BYTES = 1024
};

/* worker() makes two duplicates beside the socket itself */
enum {
	PROTOCOL_FDS = 3
};

static bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

/* 127.0.0.0/8 (v4-mapped) or ::1 */
static bool is_loopback(const struct endpoint *e)
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127 };
	static const struct in6_addr one = IN6ADDR_LOOPBACK_INIT;

	return memcmp(&e->addr, mapped, sizeof(mapped)) == 0 ||
	       memcmp(&e->addr, &one, sizeof(one)) == 0;
}

/* Only then does the other end stand in the same table. */
static bool stays_here(const struct task_socket *s)
{
	return is_loopback(&s->local) && is_loopback(&s->remote);
}

const char *task_socket_listener(const struct evidence *daemon, const struct socket_table *table,
				 uint16_t *ret_port)
{
	const char *path = "";
	uint16_t port = 0;
	bool several = false;

	for (size_t i = 0; table && i < daemon->socket_count; i++) {
		const struct inet_row *inet = socket_table_inet(table, daemon->sockets[i].ino);
		const struct unix_row *row = socket_table_unix(table, daemon->sockets[i].ino);

		if (inet && inet->state == TCP_STATE_LISTEN) {
			several |= path[0] || (port && port != inet->local.port);
			port = inet->local.port;
		}
		if (row && row->listening) {
			several |= port || (path[0] && strcmp(path, row->path) != 0);
			path = row->path;
		}
	}
	*ret_port = several ? 0 : port;
	return several ? "" : path;
}

static bool is_daemons(const struct task_socket_input *in, uint64_t ino)
{
	const struct inet_row *inet = socket_table_inet(in->table, ino);
	const struct unix_row *row = socket_table_unix(in->table, ino);

	if (inet)
		return in->port && inet->local.port == in->port && inet->state != TCP_STATE_LISTEN;
	return row && in->path[0] && !row->listening && strcmp(row->path, in->path) == 0;
}

/* Where the daemon's name is known, what is in a table under another one is the user's own. */
static bool is_named_otherwise(const struct task_socket_input *in, uint64_t ino)
{
	if (!in->port && !in->path[0])
		return false;
	return socket_table_inet(in->table, ino) || socket_table_unix(in->table, ino);
}

/* The side that connected has no name, and the one that listens no peer; the worker's end of a task
 * socket is the side that was accepted. */
static bool connected_out(const struct task_socket_input *in, uint64_t ino)
{
	const struct unix_row *row = socket_table_unix(in->table, ino);

	return row && (row->listening || !row->path[0]);
}

static const struct held_socket *by_name(const struct task_socket_input *in)
{
	for (size_t i = 0; i < in->worker->socket_count; i++)
		if (is_daemons(in, in->worker->sockets[i].ino))
			return &in->worker->sockets[i];
	return NULL;
}

static const struct held_socket *by_descriptors(const struct task_socket_input *in)
{
	for (size_t i = 0; i < in->worker->socket_count; i++) {
		const struct held_socket *h = &in->worker->sockets[i];

		if (!h->fds)
			continue; /* only on 0, 1 or 2 */
		if (h->fds < PROTOCOL_FDS || is_named_otherwise(in, h->ino) ||
		    connected_out(in, h->ino))
			return NULL;
		return h;
	}
	return NULL;
}

void task_socket_none(struct task_socket *ret)
{
	*ret = (struct task_socket){
		.state = SOCKET_NONE,
		.fd = -1,
		.host_held = TRI_NO,
		.silent_ms = UNKNOWN_U64,
		.hangup_ms = UNKNOWN_U64,
	};
}

void task_socket_choose(const struct task_socket_input *in, struct task_socket *ret)
{
	const struct held_socket *h;
	bool named;

	*ret = (struct task_socket){
		.state = SOCKET_UNKNOWN,
		.fd = -1,
		.recv_queue = UNKNOWN_U64,
		.send_queue = UNKNOWN_U64,
		.host_recv_queue = UNKNOWN_U64,
		.silent_ms = UNKNOWN_U64,
		.hangup_ms = UNKNOWN_U64,
	};
	if (!in->table || in->worker->fds_known != TRI_YES || in->same_net_ns != TRI_YES)
		return;
	h = by_name(in);
	named = h;
	if (!h)
		h = by_descriptors(in);
	if (!h) {
		if (in->table->inet_known && in->table->unix_known)
			ret->state = SOCKET_NONE;
		return;
	}
	ret->ino = h->ino;
	ret->fd = h->fd;
	ret->fds = h->all_fds;
	ret->by_name = named;
	if (socket_table_inet(in->table, h->ino)) {
		const struct inet_row *row = socket_table_inet(in->table, h->ino);

		ret->transport = TRANSPORT_TCP;
		ret->local = row->local;
		ret->remote = row->remote;
	} else if (socket_table_unix(in->table, h->ino)) {
		ret->transport = TRANSPORT_UNIX;
	} else if (h->tcp == TRI_YES) {
		ret->transport = TRANSPORT_TCP;
	}
}

static const struct inet_row *find_connection(const struct socket_table *t,
					      const struct endpoint *local,
					      const struct endpoint *remote)
{
	for (size_t i = 0; i < t->inet_count; i++)
		if (endpoint_equal(&t->inet[i].local, local) &&
		    endpoint_equal(&t->inet[i].remote, remote))
			return &t->inet[i];
	return NULL;
}

/* Another connection of the same port shows both its ends: the tables do list hosts' ends. */
static bool shows_both_ends(const struct socket_table *t, const struct task_socket *s)
{
	for (size_t i = 0; i < t->inet_count; i++) {
		const struct inet_row *row = &t->inet[i];

		if (row->local.port == s->local.port && row->state != TCP_STATE_LISTEN &&
		    row->ino && row->ino != s->ino && find_connection(t, &row->remote, &row->local))
			return true;
	}
	return false;
}

/* A row without an inode is nobody's, or one that was not accepted yet: a socket that the worker
 * opened itself can look so. The daemon's port tells them apart; without it, only a state that a
 * close has left does. */
static enum tri row_held(const struct inet_row *row, const struct task_socket *s)
{
	if (row->ino)
		return TRI_YES;
	if (!s->by_name &&
	    (row->state == TCP_STATE_ESTABLISHED || row->state == TCP_STATE_SYN_RECV))
		return TRI_UNKNOWN;
	return TRI_NO;
}

static void judge_tcp(const struct task_socket_input *in, const struct task_socket_lookup *lookup,
		      const struct inet_row *row, struct task_socket *s)
{
	const struct inet_row *host = NULL;
	bool fin;

	s->closing = row->state == TCP_STATE_CLOSE_WAIT;
	fin = s->closing && row->recv_queue;
	s->recv_queue = row->recv_queue - fin;
	s->send_queue = row->send_queue;
	if (row->ages_known) {
		s->silent_ms = MIN(row->last_sent_ms, row->last_recv_ms);
		s->read_ms = in->table->read_ms;
		if (s->closing)
			s->hangup_ms = row->last_ack_ms;
	}
	if (!stays_here(s))
		return;
	if (lookup->found == TRI_YES)
		host = &lookup->row;
	else if (lookup->found == TRI_UNKNOWN)
		host = find_connection(in->table, &s->remote, &s->local);
	if (host) {
		s->host_held = row_held(host, s);
		s->host_ino = host->ino;
		s->host_recv_queue = host->recv_queue;
	} else if (lookup->found == TRI_NO && (s->closing || shows_both_ends(in->table, s))) {
		s->host_held = TRI_NO;
	} else if (s->closing && s->ino == in->closed_ino) {
		/* Its row was there, and nobody's; a minute later it is gone. Nobody takes it up again. */
		s->host_held = TRI_NO;
	}
}

static void judge_unix(const struct task_socket_input *in, const struct unix_row *row,
		       struct task_socket *s)
{
	const struct unix_row *peer;

	s->recv_queue = row->recv_queue;
	s->send_queue = row->send_queue;
	if (!row->peer_known)
		return;
	s->host_held = tri_of(row->peer_ino);
	s->host_ino = row->peer_ino;
	peer = socket_table_unix(in->table, row->peer_ino);
	if (peer)
		s->host_recv_queue = peer->recv_queue;
}

/* Closed with bytes unread on the host's side, the kernel resets the connection: the worker keeps a
 * TCP socket that is in no table any more. */
static bool is_reset(const struct task_socket *s, const struct socket_table *own)
{
	return s->transport == TRANSPORT_TCP && own && own->inet_known &&
	       !socket_table_inet(own, s->ino);
}

static enum socket_state state_of(const struct evidence *e, const struct task_socket *s,
				  const struct inet_row *row)
{
	if (s->host_held == TRI_NO)
		return SOCKET_PEER_CLOSED;
	if (task_socket_signed_off(e, s))
		return SOCKET_SIGNED_OFF;
	if (s->host_held == TRI_UNKNOWN)
		return SOCKET_UNKNOWN;
	if (s->closing)
		return SOCKET_HALF_CLOSED;
	return row && row->state != TCP_STATE_ESTABLISHED ? SOCKET_UNKNOWN : SOCKET_ESTABLISHED;
}

void task_socket_judge(const struct task_socket_input *in, const struct task_socket_lookup *lookup,
		       const struct socket_table *own, struct task_socket *s)
{
	const struct inet_row *inet = socket_table_inet(in->table, s->ino);
	const struct unix_row *row = socket_table_unix(in->table, s->ino);

	if (!inet && !row) {
		if (is_reset(s, own)) {
			s->state = SOCKET_GONE;
			s->host_held = TRI_NO;
			s->recv_queue = 0;
			s->send_queue = 0;
		}
		return;
	}
	if (inet)
		judge_tcp(in, lookup, inet, s);
	else
		judge_unix(in, row, s);
	s->state = state_of(in->worker, s, inet);
}

bool task_socket_signed_off(const struct evidence *e, const struct task_socket *s)
{
	return s->ino && s->fds == 1 && e->main.known && e->main.nr == SYS_recvfrom &&
	       e->main.args[0] == (uint64_t)s->fd && e->main.args[2] == SIGN_OFF_BYTES &&
	       e->main.args[3] == 0;
}

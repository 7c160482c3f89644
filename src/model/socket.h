/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets as the kernel lists them, and the one that matters: the task socket, over which the host
 * feeds a worker.
 */
#ifndef REAPER_MODEL_SOCKET_H
#define REAPER_MODEL_SOCKET_H

#include <netinet/in.h>
#include <stddef.h>

#include "model/tri.h"

enum {
	SOCKET_ROWS_MAX = 1024 * 1024, /* rows of one table */
	SOCKET_PATH_MAX = 108,         /* unix(7): sun_path */
};

/* include/net/tcp_states.h */
enum tcp_state {
	TCP_STATE_ESTABLISHED = 1,
	TCP_STATE_SYN_SENT = 2,
	TCP_STATE_SYN_RECV = 3,
	TCP_STATE_FIN_WAIT1 = 4,
	TCP_STATE_FIN_WAIT2 = 5,
	TCP_STATE_TIME_WAIT = 6,
	TCP_STATE_CLOSE = 7,
	TCP_STATE_CLOSE_WAIT = 8,
	TCP_STATE_LAST_ACK = 9,
	TCP_STATE_LISTEN = 10,
	TCP_STATE_CLOSING = 11,
};

struct endpoint {
	struct in6_addr addr; /* IPv4 is kept v4-mapped, so both families compare */
	uint16_t port;        /* host byte order */
};

struct inet_row {
	uint64_t ino; /* 0: no process holds it, or not yet accepted */
	struct endpoint local;
	struct endpoint remote;
	uint8_t state; /* enum tcp_state */
	bool ages_known;
	uint32_t recv_queue; /* bytes; a received FIN counts as one */
	uint32_t send_queue;
	uint32_t last_sent_ms; /* tcp_info: since the last data were sent */
	uint32_t last_recv_ms; /* since the last data came */
	uint32_t
		last_ack_ms; /* since the last acknowledgement came; in CLOSE_WAIT: since the FIN */
};

struct unix_row {
	uint64_t ino;
	uint64_t peer_ino; /* 0: the peer is closed, or there is none */
	bool peer_known;
	bool listening;
	uint32_t recv_queue;
	uint32_t send_queue;
	char path[SOCKET_PATH_MAX + 1]; /* an abstract name begins with '@'; "": none */
};

/* All TCP and unix stream sockets of one network namespace, as one dump (or three) saw them. */
struct socket_table {
	uint64_t read_ms; /* boot clock once it was read: what it says is not younger */
	uint64_t net_ns;
	bool by_diag;    /* by sock_diag: exact lookups are possible, unix peers are known */
	bool inet_known; /* the TCP tables could be read */
	bool unix_known;
	struct inet_row *inet; /* owned; sorted by inode */
	size_t inet_count;
	struct unix_row *unix_rows; /* owned; sorted by inode */
	size_t unix_count;
};

enum transport {
	TRANSPORT_UNKNOWN,
	TRANSPORT_TCP,
	TRANSPORT_UNIX,
};

/* The names are those of the JSON field "socket". */
enum socket_state {
	SOCKET_UNKNOWN,
	SOCKET_NONE,
	SOCKET_ESTABLISHED,
	SOCKET_PEER_CLOSED,
	SOCKET_HALF_CLOSED,
	SOCKET_SIGNED_OFF,
	SOCKET_GONE,
	SOCKET_STATE_COUNT,
};

struct task_socket {
	enum socket_state state;
	enum transport transport;
	uint64_t ino; /* 0: none found */
	int fd;       /* lowest descriptor */
	unsigned fds; /* descriptors that show it */
	bool by_name; /* found by the daemon's listening port or path, not by its descriptors */
	struct endpoint local;
	struct endpoint remote;
	uint64_t host_ino;  /* of the host's end; 0: unknown or nobody's */
	enum tri host_held; /* does anybody hold the host's end? */
	bool closing;       /* the worker's end is CLOSE_WAIT */
	uint64_t
		recv_queue; /* bytes that wait at the worker's end, the FIN not counted; UNKNOWN_U64 */
	uint64_t send_queue;
	uint64_t host_recv_queue; /* bytes that wait at the host's end; UNKNOWN_U64 */
	uint64_t silent_ms;       /* since the last byte either way, at read_ms; UNKNOWN_U64 */
	uint64_t read_ms;         /* boot clock once its table was read */
	uint64_t hangup_ms;       /* since the FIN came; only while closing; UNKNOWN_U64 */
};

/**
 * Names a socket state as JSON and text do.
 *
 * @return a constant string, never NULL.
 */
const char *socket_state_name(enum socket_state state);

/**
 * Names a transport.
 *
 * @return "tcp", "unix" or NULL for unknown.
 */
const char *transport_name(enum transport transport);

/**
 * Finds a TCP row by inode.
 *
 * @return the row, owned by the table, or NULL.
 */
const struct inet_row *socket_table_inet(const struct socket_table *t, uint64_t ino);

/**
 * Finds a unix row by inode.
 *
 * @return the row, owned by the table, or NULL.
 */
const struct unix_row *socket_table_unix(const struct socket_table *t, uint64_t ino);

/** Sorts both lists by inode; call once, after the last row. */
void socket_table_sort(struct socket_table *t);

/** Frees what the table holds and makes it empty. */
void socket_table_done(struct socket_table *t);

#endif

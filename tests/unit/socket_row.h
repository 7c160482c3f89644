/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets as rows of tests write them: what a worker holds, and what the kernel's tables list.
 */
#ifndef REAPER_TESTS_SOCKET_ROW_H
#define REAPER_TESTS_SOCKET_ROW_H

#include <string.h>
#include <sys/syscall.h>

#include "base/macro.h"
#include "build.h"
#include "model/evidence.h"
#include "model/socket.h"

enum {
	HELD_MAX = 5,
	ROWS_MAX = 6,
	PORT = 39917,
	HOST_PORT = 45873,
	TASK_INO = 5000,
	HOST_INO = 6000,
};

/* In rows where 0 stands for the usual: not known. */
#define NOT_READ ((enum tri)77)

#define PATH "/tmp/.1b4e.sock"

/* 127.0.0.1, v4-mapped as the kernel's JVMs show it */
#define MAPPED(a, b, c, d, port)                                                                 \
	{                                                                                        \
		{ { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (a), (b), (c), (d) } } }, (port) \
	}
#define LOOPBACK(port) MAPPED(127, 0, 0, 1, port)
#define ONE(port)                                                                  \
	{                                                                          \
		{ { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } } }, (port) \
	}
/* 2001::1 */
#define GLOBAL_ONE(port)                                                              \
	{                                                                             \
		{ { { 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 } } }, (port) \
	}
#define ANY                      \
	{                        \
		{ { { 0 } } }, 0 \
	}

#define INET(inode, here, there, name)                                                     \
	{                                                                                  \
		.ino = (inode), .local = here, .remote = there, .state = TCP_STATE_##name, \
	}
#define WORKER_END INET(TASK_INO, LOOPBACK(PORT), LOOPBACK(HOST_PORT), ESTABLISHED)

/* The worker's end, and the host's, in these states. */
#define WORKER(name)      INET(TASK_INO, LOOPBACK(PORT), LOOPBACK(HOST_PORT), name)
#define HOST(inode, name) INET(inode, LOOPBACK(HOST_PORT), LOOPBACK(PORT), name)
/* Another connection of the same daemon. */
#define OTHER       INET(700, LOOPBACK(PORT), LOOPBACK(50001), ESTABLISHED)
#define OTHERS_HOST INET(701, LOOPBACK(50001), LOOPBACK(PORT), ESTABLISHED)

#define ABSENT                   \
	{                        \
		TRI_NO,          \
		{                \
			.ino = 0 \
		}                \
	}
#define FOUND(inode, name)                 \
	{                                  \
		TRI_YES, HOST(inode, name) \
	}

#define LOCAL(inode, peer, name)                                                     \
	{                                                                            \
		.ino = (inode), .peer_ino = (peer), .peer_known = true, .path = name \
	}
#define LISTENER(inode, name)                                                       \
	{                                                                           \
		.ino = (inode), .peer_known = true, .listening = true, .path = name \
	}

/* On n descriptors from fd up. */
#define HELD(inode, fd, n)                           \
	{                                            \
		(inode), (fd), (n), (n), TRI_UNKNOWN \
	}
/* The socket and its two duplicates, as while a worker serves. */
#define IN_PROTOCOL HELD(TASK_INO, 3, 3)

struct socket_fixture {
	struct evidence worker;
	struct socket_table table;
	struct held_socket held[HELD_MAX];
	struct inet_row inet[ROWS_MAX];
	struct unix_row local[ROWS_MAX];
};

/** Makes a worker, and tables of the rows up to the first empty one. */
static inline void socket_fixture(struct socket_fixture *x, const struct held_socket held[HELD_MAX],
				  const struct inet_row inet[ROWS_MAX],
				  const struct unix_row local[ROWS_MAX])
{
	memset(x, 0, sizeof(*x));
	memcpy(x->held, held, sizeof(x->held));
	memcpy(x->inet, inet, sizeof(x->inet));
	memcpy(x->local, local, sizeof(x->local));
	x->worker = build_evidence((struct ident){ 4801, 8812400 });
	x->worker.sockets = x->held;
	while (x->worker.socket_count < HELD_MAX && x->held[x->worker.socket_count].ino)
		x->worker.socket_count++;
	x->table = (struct socket_table){
		.net_ns = x->worker.net_ns,
		.read_ms = BUILD_TAKEN_MS + 7,
		.by_diag = true,
		.inet_known = true,
		.unix_known = true,
		.inet = x->inet,
		.unix_rows = x->local,
	};
	while (x->table.inet_count < ROWS_MAX && x->inet[x->table.inet_count].state)
		x->table.inet_count++;
	while (x->table.unix_count < ROWS_MAX && x->local[x->table.unix_count].ino)
		x->table.unix_count++;
	socket_table_sort(&x->table);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a worker's sockets is its task socket, and whether anybody still holds the host's end.
 * Pure: descriptors, tables and one exact lookup come in. Measured on Spark 3.5 and 4.3 and on pyjava
 * 0.3.3; what each rule is for stands beside it.
 */
#ifndef REAPER_CORRELATE_TASK_SOCKET_H
#define REAPER_CORRELATE_TASK_SOCKET_H

#include "base/macro.h"
#include "model/evidence.h"
#include "model/socket.h"

struct task_socket_input {
	const struct evidence *worker;
	const struct socket_table
		*table;       /* of the worker's network namespace; NULL: not to be had */
	enum tri same_net_ns; /* as its daemon's; of an orphan: as ours */
	uint16_t port;        /* its daemon listens on; 0: unknown */
	const char *path;     /* its daemon listens on; "": none */
	uint64_t closed_ino;  /* a socket whose host's end an earlier look saw to be nobody's; 0 */
};

/* The answer to the exact lookup of the host's end. */
struct task_socket_lookup {
	enum tri found; /* TRI_UNKNOWN: not asked, or no answer */
	struct inet_row row;
};

/**
 * Chooses the task socket: the one whose local port (or name) is the daemon's; failing that, the
 * lowest-numbered socket from descriptor 3 up, if it stands on three or more descriptors, as it does
 * while the worker is in the protocol.
 *
 * @param ret	filled: ino 0 and SOCKET_NONE or SOCKET_UNKNOWN where there is none, else what is known of it.
 */
void task_socket_choose(const struct task_socket_input *in, struct task_socket *ret);

/** Fills what is known of the task socket of a process that has none: nobody feeds it, no byte waits. */
void task_socket_none(struct task_socket *ret);

/**
 * Judges the host's end.
 *
 * @param lookup	of (remote, local) of a TCP socket that is in the table; found TRI_UNKNOWN otherwise.
 * @param own		the TCP tables of /proc/<pid>/net, three reads in a row: only for a socket that is in no
 *			table so far, where three absences prove a reset; NULL otherwise.
 * @param s		from task_socket_choose(); completed.
 */
void task_socket_judge(const struct task_socket_input *in, const struct task_socket_lookup *lookup,
		       const struct socket_table *own, struct task_socket *s);

/**
 * Tells whether the worker has left the protocol and only waits for the host to hang up: its main thread
 * is in recvfrom(fd, ., 1024, 0), fd is the task socket, and no other descriptor shows it (the last
 * loop of pyspark/daemon.py and pyjava/daemon.py).
 */
bool task_socket_signed_off(const struct evidence *e, const struct task_socket *s);

/**
 * Finds what a daemon listens on. One that listens twice (an exporter, a debugger) is as one of which that
 * is not known: a connection of the other kind, inherited by a worker, is no task socket.
 *
 * @param ret_port	0 if it listens on no TCP port, or on more.
 * @return its path in the table, or "".
 */
const char *task_socket_listener(const struct evidence *daemon, const struct socket_table *table,
				 uint16_t *ret_port);

#endif

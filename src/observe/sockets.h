/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket tables: sock_diag(7) by libmnl in our own network namespace, or in that of the sockets that a
 * service manager gives us (observe/given.h), /proc/<pid>/net in another's (world-readable, nobody has to
 * enter it). The only door to libmnl.
 */
#ifndef REAPER_OBSERVE_SOCKETS_H
#define REAPER_OBSERVE_SOCKETS_H

#include "base/macro.h"
#include "model/socket.h"

struct sockets;

/**
 * Opens the netlink socket, or takes a copy of the one that was given to us; what others left unread in that
 * is thrown away.
 *
 * @return 0; negative errno (then only tables by /proc are possible). *ret_sockets is owned by the caller.
 */
int sockets_open(struct sockets **ret_sockets) _must_check_;

/**
 * Dumps all TCP (IPv4 and IPv6, every state) and unix stream sockets of the network namespace self_net_ns(), with
 * queues, ages (tcp_info) and unix peers. TCP queues are the kernel's own numbers (a received FIN
 * counts as one byte); recv_queue of a unix row is its unread bytes, send_queue the memory, with
 * overhead, of what its peer has not read: 0 or not is all it says. A unix row with peer_known has
 * peer_ino 0 when the peer is closed or not yet accepted. A dump that the kernel flags as interrupted is taken again,
 * at most three times.
 *
 * @param ret	filled and sorted; the caller frees it with socket_table_done(). inet_known and
 *		unix_known tell what could be read.
 * @return 0; -ENOMEM.
 */
int sockets_dump(struct sockets *s, struct socket_table *ret) _must_check_;

/**
 * Reads the tables of another network namespace through a process that lives in it.
 *
 * TCP rows are the union of three reads in a row, since one read may skip rows; ages are unknown.
 * Unix rows carry no peer there.
 *
 * @param dirfd	that process' pinned directory.
 * @return 0; -ENOMEM.
 */
int sockets_read_proc(int dirfd, struct socket_table *ret) _must_check_;

/**
 * Looks one TCP connection up, exactly. The kernel answers with a listener where the connection is
 * absent, so an answer counts only if both addresses and ports are those asked for; and it finds a
 * socket that is bound to an interface only by that interface's number, so all of them are asked
 * before there is none. v4-mapped endpoints find the sockets of both families. A row that nobody
 * holds (FIN_WAIT2, TIME_WAIT ...) has inode 0.
 *
 * @return 1: *ret_row is that connection; 0: there is none; negative errno: no answer, nothing is known.
 */
int sockets_lookup(struct sockets *s, const struct endpoint *local, const struct endpoint *remote,
		   struct inet_row *ret_row) _must_check_;

/** Closes it; NULL is allowed. */
void sockets_close(struct sockets *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply of sock_diag(7), or of rtnetlink(7) on interfaces, datagram by datagram: messages (netlink(7)) to
 * rows, no I/O. What is torn, of another request or of another kind is an error: a row that is missed must not
 * look like a connection that is not there. Sources: include/uapi/linux/netlink.h, rtnetlink.h,
 * net/netlink/af_netlink.c.
 */
#ifndef REAPER_OBSERVE_DIAG_REPLY_H
#define REAPER_OBSERVE_DIAG_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "model/socket.h"

/* What was asked for. */
enum diag_request {
	DIAG_REQUEST_INET,   /* a dump of TCP sockets: all of them, and a message that says so */
	DIAG_REQUEST_UNIX,   /* a dump of unix sockets */
	DIAG_REQUEST_SINGLE, /* one TCP connection: its row, or an error */
	DIAG_REQUEST_LINKS,  /* a dump of network interfaces: their numbers */
	DIAG_REQUEST_COUNT,
};

enum {
	DIAG_LINKS_MAX =
		1024, /* more interfaces, and no connection is known to be on none of them */
};

struct diag_reply {
	enum diag_request request;
	uint32_t seq;    /* of the request */
	uint32_t portid; /* of who sent it */
	struct socket_table
		*table; /* of a dump: gets its rows; freed by the caller whatever comes */
	size_t inet_room;
	size_t unix_room;
	struct inet_row row; /* of a single connection */
	unsigned links[DIAG_LINKS_MAX];
	size_t link_count;
};

/**
 * Takes one datagram.
 *
 * @return 1: it goes on in another datagram; 0: that was all; -EINTR: the dump was interrupted, rows may be
 *         missing; -EBADMSG: it is torn; -EPROTO: it is no answer to this request; -EINVAL: a row cannot
 *         be understood; -E2BIG: more than SOCKET_ROWS_MAX or DIAG_LINKS_MAX; -ENOMEM; else what the kernel says.
 */
int diag_reply_take(struct diag_reply *reply, const void *bytes, size_t len) _must_check_;

#endif

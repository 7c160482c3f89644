/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of sock_diag(7) answers, payload to row, no I/O. Sources: include/uapi/linux/inet_diag.h,
 * include/uapi/linux/unix_diag.h, net/ipv4/inet_diag.c, net/unix/diag.c.
 */
#ifndef REAPER_OBSERVE_DIAG_PARSE_H
#define REAPER_OBSERVE_DIAG_PARSE_H

#include <stddef.h>

#include "base/macro.h"
#include "model/socket.h"

/**
 * Reads a struct inet_diag_msg and the attributes behind it; INET_DIAG_INFO gives the ages.
 *
 * @return 0; -EINVAL: too short, torn, or neither IPv4 nor IPv6.
 */
int diag_parse_inet(const void *payload, size_t len, struct inet_row *ret) _must_check_;

/**
 * Reads a struct unix_diag_msg and the attributes behind it.
 *
 * recv_queue is the unread bytes; send_queue is the memory of what the peer has not read yet, with
 * the kernel's overhead: only its being 0 says something.
 *
 * @return 0; -ENOENT: not a stream socket; -EINVAL: too short, or torn.
 */
int diag_parse_unix(const void *payload, size_t len, struct unix_row *ret) _must_check_;

#endif

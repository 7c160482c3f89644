/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of /proc/<pid>/net/tcp, tcp6 and unix, and of sock_diag answers' numbers: bytes to rows,
 * no I/O. Sources: Documentation/networking/proc_net_tcp.rst, net/ipv4/tcp_ipv4.c,
 * net/unix/af_unix.c.
 */
#ifndef REAPER_OBSERVE_NET_PARSE_H
#define REAPER_OBSERVE_NET_PARSE_H

#include "base/macro.h"
#include "model/socket.h"

/** Reads one line of tcp (v6 false) or tcp6 (v6 true). @return 0; -EINVAL (the header line too). */
int net_parse_tcp_line(const char *line, size_t len, bool v6, struct inet_row *ret) _must_check_;

/** Reads one line of unix. @return 0; -ENOENT: not a stream socket; -EINVAL (the header line too). */
int net_parse_unix_line(const char *line, size_t len, struct unix_row *ret) _must_check_;

/** Makes an endpoint of an IPv4 address in network order (v4-mapped). */
struct endpoint net_endpoint_v4(uint32_t addr_be, uint16_t port);

/** Makes an endpoint of an IPv6 address. */
struct endpoint net_endpoint_v6(const void *addr16, uint16_t port);

#endif

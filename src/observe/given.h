/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink sockets that a service manager has made and passes on, by sd_listen_fds(3)'s protocol. Such a
 * socket keeps the network namespace that it was made in, so a service without any network (systemd's
 * PrivateNetwork=) can still ask about the sockets of its machine: etc/reaper.socket.
 */
#ifndef REAPER_OBSERVE_GIVEN_H
#define REAPER_OBSERVE_GIVEN_H

#include "base/macro.h"

/**
 * Finds one of the two netlink sockets among the descriptors that LISTEN_PID and LISTEN_FDS name.
 *
 * @param protocol	NETLINK_SOCK_DIAG or NETLINK_ROUTE.
 * @return the descriptor, which stays the process's; -ENOENT: this process was not passed both. One alone
 *         would tell of another network namespace than the one that we make ourselves.
 */
int given_netlink(int protocol) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this program is itself: it must never end itself or what it lives below, and must know which
 * namespaces are its own.
 */
#ifndef REAPER_OBSERVE_SELF_H
#define REAPER_OBSERVE_SELF_H

#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

enum {
	SELF_BOOT_MAX = 37
};

struct self {
	pid_t pid;
	uid_t euid;
	uint64_t pid_ns;             /* inode; 0: unknown */
	uint64_t net_ns;             /* whose sockets sock_diag tells us of: self_net_ns() */
	char boot_id[SELF_BOOT_MAX]; /* "" : unknown */
	uint64_t wall_minus_boot_ms; /* wall clock minus boot clock, at the start */
};

/**
 * Fills it from /proc/self and /proc/sys/kernel/random/boot_id.
 *
 * @return 0; -ENOENT: no /proc, or one of another pid namespace, whose numbers are not those that our
 *         pidfds would be opened by; -EACCES.
 */
int self_read(struct self *ret) _must_check_;

/**
 * Says of which network namespace sock_diag tells us: our own, or, where the sockets to ask by were given to
 * us (observe/given.h), the service manager's, since it made them (systemd.socket(5)). Were that wrong, no
 * worker's row would be in the tables, and without it nothing is proven.
 *
 * @return its inode; 0: unknown.
 */
uint64_t self_net_ns(void);

#endif

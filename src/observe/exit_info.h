/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process that is no child of ours ended. The kernel keeps it for whoever held a pidfd when the
 * process was reaped (Linux 6.15); before that it can only be read while the process waits, dead,
 * for its parent (a zombie), by who may look into it. Neither reaps anything.
 */
#ifndef REAPER_OBSERVE_EXIT_INFO_H
#define REAPER_OBSERVE_EXIT_INFO_H

#include "base/macro.h"
#include "model/ending.h"

/**
 * Opens a pidfd of this very process.
 *
 * @return the pidfd, owned by the caller; -ESRCH or -ENOENT: gone, or another process has its number;
 *         -EMFILE; -ENOSYS: this kernel has none.
 */
int exit_info_pin(struct ident id) _must_check_;

/**
 * Asks the kernel how the process behind a pidfd ended.
 *
 * @return 0; -EAGAIN: not before it is reaped (its pidfd shows POLLHUP then), or it lives; -ESRCH,
 *         -ENOTTY and others: this kernel does not tell.
 */
int exit_info_read(int pidfd, struct ending *ret) _must_check_;

/**
 * Reads how a process ended that waits for its parent.
 *
 * @return 0; -EBUSY: it lives; -ESRCH or -ENOENT: gone, or another process has its number; -EACCES: it
 *         may not be looked into, and then the kernel shows 0 for whatever it was.
 */
int exit_info_read_zombie(struct ident id, struct ending *ret) _must_check_;

#endif

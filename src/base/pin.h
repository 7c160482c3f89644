/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned process: a descriptor of its /proc/<pid> directory, and from it a pidfd. Both are the
 * kernel's own object: once the process is gone they answer ESRCH, whoever has its number now.
 */
#ifndef REAPER_BASE_PIN_H
#define REAPER_BASE_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macro.h"

/**
 * Opens /proc/<pid> as a directory (O_RDONLY: an O_PATH one cannot be signalled or read through).
 *
 * @return the descriptor, owned by the caller; -ESRCH or -ENOENT: no such process; -EACCES; -EMFILE.
 */
int pin_open(pid_t pid) _must_check_;

/**
 * Opens a pidfd of the process behind a pinned directory: by number, and then the directory must
 * still answer, which proves that the number was its own all the while.
 *
 * @return the pidfd, owned by the caller; -ESRCH: gone; -ENOSYS: this kernel has none; -EMFILE; what
 *         else the directory answered, which tells of no end.
 */
int pin_pidfd(int dirfd, pid_t pid) _must_check_;

/**
 * Tells whether the process behind the directory is still there; a zombie is.
 *
 * @return true if its stat can still be read.
 */
bool pin_alive(int dirfd);

/**
 * Waits until the process has ended.
 *
 * @param timeout_ms	0: only asks.
 * @return 1: it has ended; 0: not yet; -EINTR, -EINVAL: as poll(2).
 */
int pin_wait(int pidfd, int timeout_ms) _must_check_;

/**
 * Lets this program open as many descriptors as it may: the soft limit becomes the hard one, since each
 * process that is held takes one or two.
 *
 * @return how many that are; 0: nobody says.
 */
size_t pin_make_room(void);

#endif

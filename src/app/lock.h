/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_dir/lock: one acting reaper per state_dir (flock(2), gone with its process).
 */
#ifndef REAPER_APP_LOCK_H
#define REAPER_APP_LOCK_H

#include "base/macro.h"

/**
 * Makes state_dir and takes the lock without waiting. What is made has mode 0750, or 0755 where
 * marker_dir lies in state_dir: other users' hosts must get through to it.
 *
 * @return the descriptor to keep open; -EWOULDBLOCK: another reaper holds it; -EPERM: the directory
 *         or the file is somebody else's or may be written by others; other negative errno.
 */
int lock_take(const char *state_dir, const char *marker_dir) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets that one process holds, by its descriptors.
 */
#ifndef REAPER_OBSERVE_EVIDENCE_FDS_H
#define REAPER_OBSERVE_EVIDENCE_FDS_H

#include "base/macro.h"
#include "model/evidence.h"

/**
 * Fills fds_known, sockets and socket_count.
 *
 * Where fd/ may not be listed, fdinfo/ tells inodes (Linux 5.14), and a socket is what lies on the
 * mount of sockets, which a socket of our own shows; then nobody knows which of them are TCP.
 *
 * @param dirfd	the pinned directory.
 * @return 0; -ENOMEM.
 */
int evidence_look_fds(int dirfd, struct evidence *e) _must_check_;

#endif

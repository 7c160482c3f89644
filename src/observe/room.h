/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory is left, to a cgroup and to the machine, and how the kernel rates a process that it
 * may kill for want of it. All of it is readable without a privilege.
 */
#ifndef REAPER_OBSERVE_ROOM_H
#define REAPER_OBSERVE_ROOM_H

#include "base/macro.h"
#include "model/memory.h"
#include "observe/room_parse.h"

/**
 * Finds where cgroups are mounted for us. Without /proc/self/mountinfo, or with one of more than
 * 4 MiB, there are none.
 *
 * @return 0; -ENOMEM.
 */
int room_find_mounts(struct room_mounts *ret) _must_check_;

/**
 * Reads the machine's limit: what /proc/meminfo calls available is room. Swap is not counted.
 *
 * @param path	/proc/meminfo.
 * @return 0; -EINVAL or another negative errno: not known.
 */
int room_of_machine(const char *path, struct memory_limit *ret) _must_check_;

/**
 * Reads the limit of a process' cgroup and of all above it, as far as they are mounted, and gives the
 * one with the least room. Pages of files do not count as used: the kernel drops them first.
 *
 * @param dirfd	the process' pinned directory.
 * @return 0; -ENOENT: no cgroup of it limits its memory; -EINVAL or another negative errno: not known.
 */
int room_of_cgroup(const struct room_mounts *mounts, int dirfd, struct memory_limit *ret)
	_must_check_;

/**
 * Reads what the kernel goes by: oom_score, and which cgroup counts its memory.
 *
 * @param dirfd	the process' pinned directory.
 * @param ret	its oom_score and cgroup are filled; "" where the cgroup is not known.
 * @return 0; negative errno: the score is not known.
 */
int room_oom(int dirfd, struct oom_candidate *ret) _must_check_;

#endif

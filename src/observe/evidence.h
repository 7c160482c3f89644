/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at one process, through its pinned /proc/<pid> directory. A process that vanishes between
 * two reads is reported as vanished, never as a mixture: its start is read first and last. A thread
 * of a process (which has a /proc/<tid> too) is no process: vanished. What stat says (state, parent,
 * flags, threads) is what it said last; a thread that came meanwhile makes asleep unknown.
 */
#ifndef REAPER_OBSERVE_EVIDENCE_H
#define REAPER_OBSERVE_EVIDENCE_H

#include "base/macro.h"
#include "model/evidence.h"
#include "observe/cpu_clock.h"

/* What to read; the dear parts only of those that need them. */
enum evidence_want {
	EVIDENCE_IDENTITY = 1 << 0, /* stat, status, exe, ns/pid, ns/net, CPU clock */
	EVIDENCE_SOCKETS = 1 << 1,  /* fd/, or fdinfo/ where fd/ may not be listed */
	EVIDENCE_WAITS = 1 << 2, /* task/: state, syscall, wchan, sched, schedstat of each thread */
	EVIDENCE_CGROUP = 1 << 3,
	EVIDENCE_PSS = 1 << 4, /* smaps_rollup: takes mmap_lock, 10 ms per GB */
};

/**
 * Looks at a process.
 *
 * @param dirfd	its pinned directory (base/pin.h).
 * @param pid	its number, for print and for the CPU clock.
 * @param want	EVIDENCE_... flags; EVIDENCE_IDENTITY is always read.
 * @param clock	the scheduler's clock of each CPU; may be NULL: no blocked times.
 * @param ret	zeroed and filled; freed by the caller with evidence_done(), whatever the result. What
 *		could not be read is unknown there.
 * @return 0 (ret->vanished tells whether it went away meanwhile); -ENOMEM.
 */
int evidence_look(int dirfd, pid_t pid, unsigned want, struct cpu_clock *clock,
		  struct evidence *ret) _must_check_;

/**
 * Tells which of some sockets a process holds, in one walk over its descriptors.
 *
 * @param inos	sorted.
 * @param ret_held	as many flags: set where it holds that socket, else left as they are.
 * @return 0; negative errno: its descriptors could not all be read.
 */
int evidence_held_among(int dirfd, const uint64_t *inos, size_t count, bool *ret_held);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of one process: in which state each is, and how long ago it last ran.
 */
#ifndef REAPER_OBSERVE_EVIDENCE_THREADS_H
#define REAPER_OBSERVE_EVIDENCE_THREADS_H

#include "base/macro.h"
#include "model/evidence.h"
#include "observe/cpu_clock.h"
#include "observe/proc_parse.h"

/** Reads a stat file below a directory. @return 0; -EINVAL; negative errno of the read. */
int evidence_read_stat(int dirfd, const char *name, struct proc_stat *ret) _must_check_;

/**
 * Fills what the threads say: main, asleep, stopped, uninterruptible, blocked_ms, others_blocked_ms
 * and main_cpu_ns.
 *
 * @param dirfd	the pinned directory of the process e->id.
 * @param clock	may be NULL: no blocked times.
 * @param ret_listed	threads that were seen; the caller compares it with the last stat.
 */
void evidence_look_threads(int dirfd, struct cpu_clock *clock, struct evidence *e,
			   unsigned *ret_listed);

#endif

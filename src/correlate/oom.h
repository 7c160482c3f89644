/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom the kernel would kill when memory runs out. Pure.
 */
#ifndef REAPER_CORRELATE_OOM_H
#define REAPER_CORRELATE_OOM_H

#include "model/memory.h"

/**
 * Chooses as the kernel does: the highest oom_score among the processes whose memory the limit counts.
 * A score of 0 is one that it never takes. The file is coarse (a step is a 667th of all memory), so
 * of several with the same score the largest is taken, which is what the kernel's own measure says.
 *
 * @param limit	of a cgroup: only processes in it and below it; of the machine: all of them.
 * @return one of them, or NULL.
 */
const struct oom_candidate *oom_choose(const struct oom_candidate *candidates, size_t count,
				       const struct memory_limit *limit);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker does: it serves in the protocol, runs, blocks, sends, signs off and dies. */
#ifndef REAPER_TESTS_WORKER_H
#define REAPER_TESTS_WORKER_H

#include "world.h"

/** It was on a processor for a while. */
void worker_ran(struct world *w, struct worker *p);

/** A byte of its connection moved. */
void worker_moves(struct world *w, struct worker *p);

/** It goes on from where it is, if anything wakes it. @param arg where to. */
void worker_steps(struct world *w, struct worker *p, unsigned arg);

/** @return whether it cannot run now, whatever wakes it. */
bool worker_is_held(const struct worker *p);

/** It is held in one of the ways that pass, or goes on. @param arg in which. */
void worker_holds(struct world *w, struct worker *p, unsigned arg);

/** It dies, and its end of the connection with it. */
void worker_dies(struct worker *p);

#endif

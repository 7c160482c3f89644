/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a host may still write to a worker that has signed off. A Python function that stops before
 * its input ends makes its worker sign off while the host still has input to come; a write to a dead
 * worker would then fail the task. Pure.
 */
#ifndef REAPER_CORRELATE_WRITERS_H
#define REAPER_CORRELATE_WRITERS_H

#include "model/audit.h"

/**
 * Tells whether one of its host's writers may belong to a worker: one that began after the worker did,
 * and before the worker last ran, since a worker runs when its task's first bytes come. Where it is not
 * known when the worker last ran, any that began after it may.
 *
 * @return TRI_YES; TRI_NO; TRI_UNKNOWN: its host, or that host's threads, are not known.
 */
enum tri writers_may_write(const struct audit *a, const struct subject *worker);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proofs that a host will never use a worker again. Pure. Each was tried on real Spark 3.5.9 and
 * 4.3.0 and on real pyjava 0.3.3; docs/SAFETY.md tells which plausible ones were refuted there.
 */
#ifndef REAPER_DECIDE_FENCE_H
#define REAPER_DECIDE_FENCE_H

#include "model/facts.h"
#include "model/policy.h"

/**
 * Tells whether a proof holds. Whether it is due, and whether a guard objects, is asked elsewhere.
 *
 * @return TRI_YES; TRI_NO; TRI_UNKNOWN: some of what it needs is not known.
 */
enum tri fence_holds(enum fence fence, const struct policy *policy, const struct facts *facts);

/**
 * Says for how long it has held, as far as this look can tell.
 *
 * @return milliseconds; 0 where only this look has seen it. Meaningful only while it holds.
 */
uint64_t fence_age_ms(enum fence fence, const struct policy *policy, const struct facts *facts);

/**
 * Tells whether the host's end of the task socket is closed.
 *
 * @return TRI_YES also for a socket that a reset left in no table.
 */
enum tri fence_host_end_closed(const struct facts *facts);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guards: whatever the proofs say, one objection keeps a worker. Pure. One row per guard; the
 * test suite deletes each row in turn and must turn red.
 */
#ifndef REAPER_DECIDE_GUARD_H
#define REAPER_DECIDE_GUARD_H

#include "model/facts.h"
#include "model/policy.h"

/**
 * Asks the guards that object to any proof.
 *
 * @param fenced	false: a worker without a proof that has been silent for long; then only those
 *			guards count that say something about a suspect.
 * @return the first reason that applies, or REASON_COUNT: none objects.
 */
enum reason guard_first(const struct policy *policy, const struct facts *facts, bool fenced);

/**
 * Asks the guards that object to one proof.
 *
 * @return the first reason that applies, or REASON_COUNT: none objects.
 */
enum reason guard_fence(enum fence fence, const struct policy *policy, const struct facts *facts);

/**
 * Tells whether one guard objects, for explain.
 *
 * @return true if it objects to the worker, or to every proof that holds; false where no proof holds
 *         to which it could object.
 */
bool guard_objects(enum reason guard, const struct policy *policy, const struct facts *facts);

#endif

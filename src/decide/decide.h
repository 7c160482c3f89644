/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One worker, one verdict: proofs (fence.h), then guards (guard.h), then the timeout. Pure: the same
 * facts and policy give the same verdict, today and from the audit log.
 */
#ifndef REAPER_DECIDE_DECIDE_H
#define REAPER_DECIDE_DECIDE_H

#include "model/ending.h"
#include "model/facts.h"
#include "model/policy.h"
#include "model/verdict.h"

/** Decides about one worker, or one program that stands alone. */
struct verdict decide(const struct policy *policy, const struct facts *facts);

/**
 * Decides about a daemon, which is never ended.
 *
 * @param workers	that live.
 * @param idle_ms	since it last had one; UNKNOWN_U64: not known.
 */
struct verdict decide_daemon(const struct policy *policy, uint32_t workers, uint64_t idle_ms);

/** Decides about a process whose group leader was a daemon and which belongs to no worker any more. */
struct verdict decide_lost_helper(void);

/**
 * Makes a suspect of what is kept, because those of its group crash again and again.
 *
 * @param verdict	without that. One that is ended or suspected already, one with a proof, and one that
 *		is protected, keeps it.
 * @param crashes	of its group, or NULL.
 */
struct verdict decide_crash_loop(struct verdict verdict, const struct crashes *crashes);

#endif

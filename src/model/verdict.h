/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was decided about one process, always with a reason. The zero value is keep. One enum of
 * reasons serves text, JSON, the audit log, metrics and tests; its order is the order of precedence.
 */
#ifndef REAPER_MODEL_VERDICT_H
#define REAPER_MODEL_VERDICT_H

#include "model/tri.h"

enum action {
	ACTION_KEEP,
	ACTION_SUSPECT,
	ACTION_REAP,
	ACTION_COUNT,
};

enum reason {
	/* keep: identity and state */
	REASON_VANISHED,
	REASON_SELF,
	REASON_ANCESTOR,
	REASON_PROTECTED,
	REASON_FOREIGN_UID,
	REASON_OTHER_PIDNS,
	REASON_CHANGED,
	REASON_TRACED,
	REASON_DUMPING,
	REASON_STOPPED,
	REASON_UNINTERRUPTIBLE,
	REASON_UNREADABLE,
	/* keep: not yet, or not at all */
	REASON_RUNNING,
	REASON_UNKNOWN_WAIT,
	REASON_PROGRESS,
	REASON_TOO_YOUNG,
	REASON_OPEN_TASK,
	REASON_UNREAD_BYTES,
	REASON_FENCE_OFF,
	REASON_WAITING,
	/* keep: nothing is known against it */
	REASON_LEASED,
	REASON_POOLED,
	REASON_SERVING,
	REASON_IDLE,
	REASON_DAEMON,
	/* suspect */
	REASON_SILENT,
	REASON_IDLE_DAEMON,
	REASON_LOST_HELPER,
	REASON_STUCK_WAIT,
	REASON_GROWING,
	REASON_CRASH_LOOP,
	REASON_UNKILLABLE,
	/* reap */
	REASON_HOST_GONE,
	REASON_SIGNED_OFF,
	REASON_PEER_CLOSED,
	REASON_RETIRED,
	REASON_TASK_ENDED,
	REASON_ASSUMED,
	REASON_COUNT,
};

/* Proofs, in the order in which one of several that are due is named. */
enum fence {
	FENCE_NONE,
	FENCE_HOST_GONE,
	FENCE_SIGNED_OFF,
	FENCE_PEER_CLOSED,
	FENCE_RETIRED,
	FENCE_TASK_ENDED,
	FENCE_ASSUMED, /* not a proof: only where assume_leaked_after is set */
	FENCE_COUNT,
};

/* Which proof a suspect lacks. */
enum missing {
	MISSING_NOTHING,
	MISSING_MARKERS,   /* no believed log of its host: pooled and leaked look the same */
	MISSING_TASK_END,  /* a task that is bound to it has not ended */
	MISSING_BINDING,   /* its host writes markers, but none names this worker */
	MISSING_POOL_WORD, /* its tasks ended; whether the host pools it is not known */
	MISSING_LOG_END,   /* its host's logs were not read to their end */
	MISSING_EVIDENCE,  /* its socket could not be read */
	MISSING_OWN_LOG,   /* a single without a believed log of its own */
	MISSING_OWN_END,   /* a single whose log does not say that its work is done */
	MISSING_MAY_KILL,  /* a single with a proof, whose class does not allow to end it */
	MISSING_COUNT,
};

struct verdict {
	enum action action;
	enum reason reason;
	enum fence fence;      /* the one that counts, or FENCE_NONE */
	uint64_t fence_age_ms; /* UNKNOWN_U64 without a fence */
	uint64_t
		due_in_ms; /* REASON_WAITING: until it is due, if nothing moves; else UNKNOWN_U64 */
	enum missing missing; /* of a suspect */
};

/** @return "keep", "suspect" or "reap". */
const char *action_name(enum action action);

/** @return the reason's name, with dashes; a constant string, never NULL. */
const char *reason_name(enum reason reason);

/** @return the fence's name, with dashes; "none" for FENCE_NONE. */
const char *fence_name(enum fence fence);

/**
 * Finds a fence by its name.
 *
 * @return the fence, or FENCE_NONE if no fence that a user may name is called so.
 */
enum fence fence_from_name(const char *name);

/** @return the reason under which a fence is reported. */
enum reason fence_reason(enum fence fence);

#endif

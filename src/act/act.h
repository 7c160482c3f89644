/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that signals: by pidfd, SIGTERM and SIGKILL, one process at a time. It never sleeps:
 * the conductor polls the pidfd until the deadline and calls again.
 */
#ifndef REAPER_ACT_ACT_H
#define REAPER_ACT_ACT_H

#include "base/macro.h"
#include "model/event.h"

enum act_stage {
	ACT_PINNED,     /* nothing was sent */
	ACT_TERMED,     /* SIGTERM was sent */
	ACT_KILLED,     /* SIGKILL was sent */
	ACT_UNKILLABLE, /* still there kill_grace after SIGKILL */
	ACT_DONE,
};

struct victim {
	struct ident id;
	enum role role;
	size_t worker; /* of a helper: its worker's place in the list; else its own */
	int dirfd;     /* pinned /proc/<pid>; owned */
	int pidfd;     /* owned */
	enum act_stage stage;
	bool kill_at_once;    /* SIGTERM is caught, ignored or blocked */
	uint64_t began_ms;    /* boot clock of the first signal */
	uint64_t deadline_ms; /* when to call act_step() again at the latest */
	uint64_t anon_bytes;  /* it had; UNKNOWN_U64 */
	struct action_record record;
};

struct act_graces {
	uint64_t term_ms;
	uint64_t kill_ms;
};

/**
 * Pins a process: its directory, and from that a pidfd.
 *
 * @param ret	filled; owned by the caller (act_release()).
 * @return 0; -ESRCH: gone; -ENOSYS: no pidfd on this kernel: nothing can be ended; -EMFILE, -EACCES.
 */
int act_pin(struct ident id, enum role role, struct victim *ret) _must_check_;

/**
 * Sees whether a pinned process has ended, and signals nothing.
 *
 * @return true: the stage is ACT_DONE or ACT_UNKILLABLE, and v->record says how it went.
 */
bool act_see(struct victim *v, uint64_t now_ms);

/**
 * Takes the next step towards the end of a pinned process: SIGTERM, after term_ms SIGKILL (the victim's
 * priority is raised first where that is allowed: 13 times faster on a starved host), after kill_ms
 * unkillable. Gone is only what its pidfd says is gone.
 *
 * @param now_ms	boot clock.
 * @return true: the stage is ACT_DONE or ACT_UNKILLABLE, and v->record says how it went.
 */
bool act_step(struct victim *v, const struct act_graces *graces, uint64_t now_ms);

/** Ends the story of a victim that is not signalled (spared, held, vanished). */
void act_close(struct victim *v, enum outcome outcome, const char *why);

/** Closes its descriptors. */
void act_release(struct victim *v);

#endif

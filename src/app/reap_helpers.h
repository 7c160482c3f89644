/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helpers of a worker that is ended: pinned before it is signalled, guarded, listed again until
 * nothing new appears. The inside of app/reap.c.
 */
#ifndef REAPER_APP_REAP_HELPERS_H
#define REAPER_APP_REAP_HELPERS_H

#include "app/reap.h"

/**
 * Pins a process and adds it to the victims.
 *
 * @param worker	of a helper: its worker's place among the victims; else its own.
 * @return 0; -ESRCH: it is gone; other negative errno.
 */
int reap_add(struct reap *r, struct ident id, enum role role, size_t worker) _must_check_;

/**
 * Pins the helpers of first->subjects[worker], at most REAP_HELPERS_MAX, behind victims[at].
 *
 * @return 0, also where some are gone; negative errno: one that is there could not be pinned.
 */
int reap_pin_helpers(struct reap *r, const struct audit *first, size_t worker, size_t at)
	_must_check_;

/**
 * Closes every helper from that place on which is not to be ended: its worker is spared, or a guard objects,
 * of which the sink is told.
 */
void reap_spare_helpers(struct reap *r, size_t from);

/**
 * Notes whether a helper gets SIGKILL at once: where it does not end by SIGTERM and is in its worker's process
 * group, which is the pool's, a handler like `trap 'kill 0' TERM` would end the daemon and all its workers.
 *
 * @param e	what was seen of the helper.
 */
void reap_prepare_helper(const struct reap *r, struct victim *v, const struct evidence *e);

/**
 * Closes the helpers that wait for their signal and have become a host, a daemon or one of theirs since the
 * second look, and tells the sink.
 *
 * @param s	the processes of now.
 */
void reap_spare_pending(struct reap *r, const struct snapshot *s);

/**
 * Lists the processes again, spares the helpers that are a host's or a daemon's by now, and pins what is below a victim, new and unguarded, with its intent written.
 *
 * @return how many were added; negative errno: none was.
 */
int reap_find_new_helpers(struct reap *r) _must_check_;

#endif

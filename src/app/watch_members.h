/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom watch follows: those of the last look, and between two looks, after somebody ended, whoever came
 * in his place. How they end is watch_exits' affair.
 */
#ifndef REAPER_APP_WATCH_MEMBERS_H
#define REAPER_APP_WATCH_MEMBERS_H

#include "app/watch_exits.h"

/**
 * Takes over whom a look has seen: who is new is held, and who came after one that ended is noted.
 *
 * @param reap	as for watch_exits_read(), which this calls first.
 * @return 0; -ENOMEM.
 */
int watch_members_update(struct watch_exits *w, const struct audit *a, const struct reap *reap)
	_must_check_;

/**
 * Takes a census, and no look, so that what crashes more often than sweeps come is not lost from sight.
 * To be called once watch_members_census_ms() has come.
 *
 * @return 0; negative errno of the census.
 */
int watch_members_census(struct watch_exits *w, const struct reap *reap) _must_check_;

/** @return the boot clock's time of the next census; UNKNOWN_U64: none is needed. */
uint64_t watch_members_census_ms(const struct watch_exits *w);

#endif

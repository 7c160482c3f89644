/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a look that notes when each host was seen running: what stands still purges no pool.
 */
#ifndef REAPER_APP_LOOK_RUNS_H
#define REAPER_APP_LOOK_RUNS_H

#include "app/look.h"

/**
 * Notes of every host in the audit whether its CPU clock has advanced since the look before, and begins
 * again with one that is stopped.
 *
 * @return 0; -ENOMEM.
 */
int look_runs_note(struct look *l, const struct audit *a) _must_check_;

/**
 * Lists the moments at which a host was seen running.
 *
 * @return wall-clock times, sorted, owned by the look until the next note; NULL: none.
 */
const uint64_t *look_runs_of(const struct look *l, struct ident host, size_t *ret_count);

/** Frees what was noted. */
void look_runs_free(struct look *l);

#endif

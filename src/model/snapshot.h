/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every process that one census saw, sorted by pid. A process that is missing from it is unknown,
 * not dead: a census is not atomic.
 */
#ifndef REAPER_MODEL_SNAPSHOT_H
#define REAPER_MODEL_SNAPSHOT_H

#include "base/macro.h"
#include "model/proc.h"

struct snapshot {
	struct proc *procs; /* owned; sorted by pid */
	size_t count;
	size_t room;
};

/**
 * Adds one process; call snapshot_sort() after the last.
 *
 * @return the new record, zeroed, valid until the next call; NULL: no memory.
 */
struct proc *snapshot_add(struct snapshot *s) _must_check_;

/** Sorts by pid. Must be called before snapshot_find(). */
void snapshot_sort(struct snapshot *s);

/**
 * Finds a process by number.
 *
 * @return the record, owned by the snapshot, or NULL.
 */
struct proc *snapshot_find(const struct snapshot *s, pid_t pid);

/** Frees what the snapshot holds and makes it empty. */
void snapshot_done(struct snapshot *s);

#endif

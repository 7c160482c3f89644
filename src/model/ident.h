/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a process for print and for disk: its number and when it began. Within one boot two
 * processes can share it (a forced reuse of the number inside one clock tick), so it names, and
 * never proves: what is signalled is the object behind a pinned /proc/<pid> directory.
 */
#ifndef REAPER_MODEL_IDENT_H
#define REAPER_MODEL_IDENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ident {
	pid_t pid;      /* 0: nobody */
	uint64_t start; /* clock ticks since boot: field 22 of /proc/<pid>/stat, proc_pid_stat(5) */
};

/**
 * Tells whether two names are the same.
 *
 * @return true if both numbers and both starts are equal.
 */
static inline bool ident_equal(struct ident a, struct ident b)
{
	return a.pid == b.pid && a.start == b.start;
}

/**
 * Orders names by number, then by start: the last word of every sort, so that no order depends on
 * a hash or a directory.
 *
 * @return less than, equal to or greater than 0, as for qsort(3).
 */
static inline int ident_compare(struct ident a, struct ident b)
{
	if (a.pid != b.pid)
		return a.pid < b.pid ? -1 : 1;
	if (a.start != b.start)
		return a.start < b.start ? -1 : 1;
	return 0;
}

#endif

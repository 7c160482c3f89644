/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc whose read(2) takes their process' mmap_lock: cmdline, smaps_rollup. A process that
 * maps or invalidates a file of a FUSE or NFS server that does not answer holds that lock for as long, and
 * whoever reads such a file of it waits, woken by nothing but SIGKILL (fs/proc/base.c, mm/memory.c:
 * mmap_read_lock_killable()). So a thread of its own reads them, and is left behind when it does not come back.
 * One that answers late, again and again, costs no less: so there is an end to the time of them all, and the
 * owners take turns in it.
 */
#ifndef REAPER_OBSERVE_MM_FILE_H
#define REAPER_OBSERVE_MM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macro.h"
#include "model/ident.h"

enum {
	MM_FILE_PATIENCE_MS = 1000, /* one file, at least, and MM_FILE_TURN_MS more at most */
	MM_FILE_TURN_MS = 100,      /* then an owner's next file waits for those of the others */
	MM_FILE_BUDGET_MS = 5000,   /* one call; a turn that has begun is finished */
	MM_FILE_STUCK_MAX = 8,      /* threads that are left behind; then no more are tried */
};

struct mm_file {
	struct ident id;  /* whose it is: another process' with that number is not read */
	uid_t owner;      /* in whose turn it is read */
	const char *name; /* below /proc/<pid>; a constant */
	size_t max;       /* bytes */
	bool whole;       /* one that is longer is -EFBIG; else it is cut */
	/* What came of it: */
	int err;     /* 0; negative errno */
	char *bytes; /* owned by the caller; len of them and a NUL */
	size_t len;
};

/**
 * Reads files, one after the other: of each owner in turn, the lowest first (the numbers that a user may
 * take besides his own, subuid(5), are above those of users). Those of one owner are read in their order.
 *
 * It takes at most MM_FILE_BUDGET_MS, and one turn and its patience more; what is not read by then was
 * not asked.
 *
 * Sets err of each: 0; -ETIMEDOUT: it does not answer; -EALREADY: it was asked before, and still has not
 * answered; -EBUSY: it was not asked, too many have not answered or too late; -EFBIG; -ESRCH, -ENOENT: gone,
 * or another process by now; -EACCES, -ENOMEM, -EMFILE; -EINVAL: its stat cannot be understood. Where no
 * thread can be had, they are read without one: then a file that does not answer holds up all.
 *
 * @param files	id, owner, name, max and whole of each are set.
 */
void mm_files_read(struct mm_file *files, size_t count);

#endif

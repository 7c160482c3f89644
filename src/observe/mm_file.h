/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc whose read(2) takes their process' mmap_lock: cmdline, smaps_rollup. A process that
 * maps or invalidates a file of a FUSE or NFS server that does not answer holds that lock for as long, and
 * whoever reads such a file of it waits, woken by nothing but SIGKILL (fs/proc/base.c, mm/memory.c:
 * mmap_read_lock_killable()). So a thread of its own reads them, and is left behind when it does not come back.
 */
#ifndef REAPER_OBSERVE_MM_FILE_H
#define REAPER_OBSERVE_MM_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"
#include "model/ident.h"

enum {
	MM_FILE_PATIENCE_MS = 1000, /* without one more file that is read */
	MM_FILE_STUCK_MAX = 8,      /* threads that are left behind; then no more are tried */
};

struct mm_file {
	struct ident id;  /* whose it is: another process' with that number is not read */
	const char *name; /* below /proc/<pid>; a constant */
	size_t max;       /* bytes */
	bool whole;       /* one that is longer is -EFBIG; else it is cut */
	/* What came of it: */
	int err;     /* 0; negative errno */
	char *bytes; /* owned by the caller; len of them and a NUL */
	size_t len;
};

/**
 * Reads files, one after the other.
 *
 * Sets err of each: 0; -ETIMEDOUT: it does not answer; -EALREADY: it was asked before, and still has not
 * answered; -EBUSY: too many have not; -EFBIG; -ESRCH, -ENOENT: gone, or another process by now; -EACCES, -ENOMEM, -EMFILE; -EINVAL: its
 * stat cannot be understood. Where no thread can be had, they are read without one.
 *
 * @param files	id, name, max and whole of each are set.
 */
void mm_files_read(struct mm_file *files, size_t count);

#endif

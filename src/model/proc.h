/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process as the census saw it once. Good for finding who is who; never the evidence for a kill
 * (the census reads by path, so one record can mix two processes).
 */
#ifndef REAPER_MODEL_PROC_H
#define REAPER_MODEL_PROC_H

#include <stddef.h>

#include "model/ident.h"

enum {
	PROC_COMM_MAX = 64,   /* with its NUL; the kernel's own limit (workqueue names) is 64 */
	PROC_ARGV_MAX = 4096, /* bytes of argv that are read: a process can show 8 GiB of it */
	PROC_ARGV_WHOLE_MAX = 256 * 1024, /* of one that has to be known to its end */
	PROC_COUNT_MAX = 4 * 1024 * 1024, /* pid_max's own limit */
};

/* linux/sched.h; field 9 of /proc/<pid>/stat */
#define PROC_FORKNOEXEC 0x00000040u
#define PROC_KTHREAD    0x00200000u

struct proc {
	struct ident id;
	pid_t ppid;
	pid_t pgrp;
	pid_t sid;
	uid_t uid;      /* effective */
	uint32_t flags; /* PROC_FORKNOEXEC ... */
	uint32_t threads;
	char state; /* R S D T t Z X I */
	uint64_t rss_bytes;
	uint64_t stack_start; /* of its main thread: each exec gives another; 0: may not be known */
	char comm[PROC_COMM_MAX]; /* raw bytes: may hold ')', newlines, escape sequences */
	bool above; /* set by correlate/: an ancestor of this program, of a worker, or of what may be one */
	bool listed;      /* set by correlate/: a host or a daemon, of whichever tree */
	char *argv;       /* owned; NUL-separated, ends in NUL; NULL: not read */
	size_t argv_len;  /* bytes in argv, its last NUL included */
	bool argv_cut;    /* there is more of it than argv holds */
	bool argv_unread; /* it was asked for, to know whether this is a daemon, and not to be had */
};

/**
 * Tells whether the process was forked and never called execve(2).
 *
 * @return true if PF_FORKNOEXEC is set.
 */
static inline bool proc_never_execed(const struct proc *p)
{
	return p->flags & PROC_FORKNOEXEC;
}

/**
 * Gives the next element of a NUL-separated argv.
 *
 * @param at	NULL for the first element, else the element before.
 * @return the element, or NULL after the last one. Points into p->argv.
 */
const char *proc_argv_next(const struct proc *p, const char *at);

#endif

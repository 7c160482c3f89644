/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The census: every process of /proc, by libproc2. The only door to that library. It enumerates and
 * describes; it is never the evidence for a kill.
 */
#ifndef REAPER_OBSERVE_PROCESSES_H
#define REAPER_OBSERVE_PROCESSES_H

#include "model/snapshot.h"

struct processes;

/**
 * Opens a source of censuses.
 *
 * libproc2 ends the whole program where /proc/self/stat cannot be read, so that is tried first.
 *
 * @return 0; -ENOENT: no /proc is mounted; -EACCES, -ENOMEM. *ret_source is owned by the caller.
 */
int processes_open(struct processes **ret_source) _must_check_;

/**
 * Takes a census.
 *
 * @param ret_snapshot	filled, sorted by pid, without any argv; the caller frees it with snapshot_done().
 * @return 0; -ENOMEM; -EIO: the library failed.
 */
int processes_census(struct processes *source, struct snapshot *ret_snapshot) _must_check_;

/**
 * Reads the argv of processes, at most PROC_ARGV_MAX bytes each, into p->argv (a cut element is dropped).
 * It is done for few and once: a process can make it wait (mm_file.h). What is read is of that very process.
 *
 * @param errs	gets one for each: 0 (an empty argv is kept as "" with argv_len 0); else as mm_files_read().
 * @return 0; -ENOMEM: nothing was read.
 */
int processes_read_argvs(struct proc *const *procs, size_t count, int *errs) _must_check_;

/** The same for one. @return 0; negative errno as mm_files_read(). */
int processes_read_argv(struct proc *p) _must_check_;

/**
 * Reads all of a process' argv, up to PROC_ARGV_WHOLE_MAX bytes.
 *
 * @param p	gets argv and argv_len, in the place of what it had.
 * @return 0; -EFBIG: it is longer; else as processes_read_argv().
 */
int processes_read_whole_argv(struct proc *p) _must_check_;

/** Frees a source; NULL is allowed. */
void processes_close(struct processes *source);

#endif

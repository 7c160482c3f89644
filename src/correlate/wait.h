/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a blocked thread waits in: by its system call where it may be read, else by the kernel
 * function it sleeps in. Pure. Names and numbers: proc_pid_syscall(5), proc_pid_wchan(5); seen on
 * Linux 6.18, older names beside them.
 */
#ifndef REAPER_CORRELATE_WAIT_H
#define REAPER_CORRELATE_WAIT_H

#include "model/evidence.h"
#include "model/facts.h"

/**
 * Says what kind of wait it is.
 *
 * @param ret_forever	whether it has no timeout; TRI_UNKNOWN where only the kernel function is known.
 * @return the kind; WAIT_UNKNOWN: not a known blocking wait.
 */
enum wait_kind wait_classify(const struct wait *w, enum tri *ret_forever);

/**
 * Tells whether two looks show the same wait: same call, stack pointer and program counter; where these
 * cannot be read, the same kernel function.
 */
bool wait_same(const struct wait *a, bool known, int64_t nr, uint64_t sp, uint64_t pc,
	       const char *wchan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of /proc/<pid> files: bytes to struct, no I/O. A doubt is an error, never a guess
 * (-EINVAL); names may hold any byte, so the last ')' ends comm. Sources: proc(5),
 * Documentation/filesystems/proc.rst.
 */
#ifndef REAPER_OBSERVE_PROC_PARSE_H
#define REAPER_OBSERVE_PROC_PARSE_H

#include <stddef.h>

#include "base/macro.h"
#include "model/evidence.h"

struct proc_stat {
	pid_t pid;
	pid_t ppid;
	pid_t pgrp;
	pid_t sid;
	char state;
	uint32_t flags;
	uint32_t threads;
	uint64_t start; /* ticks */
	uint32_t cpu;   /* field 39, processor */
	int exit_code;  /* field 52, a wait status; 0 too where it may not be known */
};

struct proc_status {
	pid_t tgid;
	pid_t tracer;
	uid_t uids[4];
	enum tri dumping; /* TRI_UNKNOWN: no such line (kernels before 4.15) */
	pid_t ns_pid;
	unsigned ns_depth;
	uint64_t sig_blocked, sig_ignored, sig_caught;
	/* UNKNOWN_U64: not there (a zombie, a kernel thread) */
	uint64_t vm_bytes, rss_bytes, anon_bytes;
	uint64_t switches; /* voluntary and not, of that thread */
};

/** Reads a whole stat file. @return 0; -EINVAL. */
int proc_parse_stat(const char *bytes, size_t len, struct proc_stat *ret) _must_check_;

/** Reads a whole status file. @return 0; -EINVAL: a line that must be there is not, or is torn. */
int proc_parse_status(const char *bytes, size_t len, struct proc_status *ret) _must_check_;

/**
 * Reads a syscall file into wait->known, nr, args, sp, pc; wchan is left alone.
 *
 * @return 0 ("running" leaves known false); -EINVAL.
 */
int proc_parse_syscall(const char *bytes, size_t len, struct wait *ret) _must_check_;

/**
 * Reads a wchan file: a name, cut at its first dot; "0" (denied, or running) is unknown, "".
 *
 * @return 0; -EINVAL: bytes that are no symbol's.
 */
int proc_parse_wchan(const char *bytes, size_t len, char ret[EVIDENCE_WCHAN_MAX]) _must_check_;

/** Reads se.exec_start of a sched file, in microseconds; 0: not run since it migrated. @return 0; -EINVAL. */
int proc_parse_sched(const char *bytes, size_t len, uint64_t *ret_exec_start_us) _must_check_;

/** Reads the first number of a schedstat file: nanoseconds on a CPU. @return 0; -EINVAL. */
int proc_parse_schedstat(const char *bytes, size_t len, uint64_t *ret_cpu_ns) _must_check_;

/** Reads the target of an fd link. @return 0: "socket:[N]"; -ENOENT: something else. */
int proc_parse_fd_link(const char *bytes, size_t len, uint64_t *ret_ino) _must_check_;

/** Reads the target of a ns link, "pid:[N]". @return 0; -EINVAL. */
int proc_parse_ns_link(const char *bytes, size_t len, uint64_t *ret_ino) _must_check_;

/** Reads mnt_id and ino of a fdinfo file. @return 0; -EINVAL (ino is there from Linux 5.14 on). */
int proc_parse_fdinfo(const char *bytes, size_t len, uint64_t *ret_mnt_id, uint64_t *ret_ino)
	_must_check_;

/** Reads the Pss line of smaps_rollup, in bytes. @return 0; -EINVAL. */
int proc_parse_pss(const char *bytes, size_t len, uint64_t *ret_pss) _must_check_;

/**
 * Finds the cgroup path: the v2 line ("0::/path") if it names one below the root, else that of the
 * first v1 line that does, else the root.
 *
 * @return 0; -EINVAL. *ret_path points into bytes, *ret_path_len is its length.
 */
int proc_parse_cgroup(const char *bytes, size_t len, const char **ret_path, size_t *ret_path_len)
	_must_check_;

#endif

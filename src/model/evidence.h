/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one look at one process found, all of it read through one pinned /proc/<pid> directory.
 * What could not be read is unknown (0, TRI_UNKNOWN, UNKNOWN_U64) and is never taken for idle.
 */
#ifndef REAPER_MODEL_EVIDENCE_H
#define REAPER_MODEL_EVIDENCE_H

#include <stddef.h>

#include "model/ident.h"
#include "model/socket.h"
#include "model/tri.h"

enum {
	EVIDENCE_SOCKETS_MAX = 512, /* distinct sockets of one process that are looked at */
	EVIDENCE_FDS_MAX = 4096,    /* descriptors of one process that are looked at */
	EVIDENCE_THREADS_MAX = 512, /* threads of one process that are looked at */
	EVIDENCE_WCHAN_MAX = 64,
	EVIDENCE_CGROUP_MAX = 512,
};

/* A file by its device and inode; inode 0: unknown. */
struct file_id {
	uint64_t dev;
	uint64_t ino;
};

/**
 * Tells whether two files are the same.
 *
 * @return true if both devices and both inodes are equal.
 */
static inline bool file_id_equal(struct file_id a, struct file_id b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* What one thread waits in. */
struct wait {
	bool known; /* /proc/<pid>/task/<tid>/syscall could be read and shows a blocked call */
	int64_t nr; /* system call number of this machine; -1: blocked outside a call */
	uint64_t args[6];
	uint64_t sp;
	uint64_t pc;
	char wchan[EVIDENCE_WCHAN_MAX]; /* up to its first dot; "": unknown */
};

/* One socket that a process holds. */
struct held_socket {
	uint64_t ino;
	int fd;           /* its lowest descriptor */
	unsigned fds;     /* descriptors from 3 up that show this inode */
	unsigned all_fds; /* all descriptors that show this inode */
	enum tri tcp;     /* its xattr system.sockprotoname says TCP or TCPv6 */
	/* What the tables say of it; of singles only. */
	enum transport transport; /* TRANSPORT_UNKNOWN: it is in no table */
	struct endpoint local;
	struct endpoint remote;
	uint64_t recv_queue; /* bytes; UNKNOWN_U64 */
	uint64_t send_queue;
};

struct evidence {
	struct ident id;
	bool seen;     /* false: never looked at */
	bool vanished; /* the process was gone before the look ended */
	pid_t ppid;
	pid_t pgrp;
	uint32_t flags; /* PROC_FORKNOEXEC ... */
	uint32_t threads;
	char state; /* of the process (its main thread) */
	bool ids_known;
	uid_t uids[4];                                 /* real, effective, saved, file system */
	pid_t tracer;                                  /* TracerPid */
	enum tri dumping;                              /* CoreDumping */
	pid_t ns_pid;                                  /* last field of NSpid; 0: unknown */
	unsigned ns_depth;                             /* fields of NSpid */
	uint64_t sig_blocked, sig_ignored, sig_caught; /* bit n-1 is signal n */
	bool signals_known;
	struct file_id exe;
	bool exe_setuid; /* who starts it becomes its owner, and chose its arguments and sockets */
	uint64_t pid_ns; /* inode of ns/pid; 0: unknown */
	uint64_t net_ns;
	uint64_t age_ms; /* since it began */

	struct wait main;           /* main thread */
	enum tri asleep;            /* every thread is in state S */
	bool stopped;               /* a thread is in T */
	bool uninterruptible;       /* a thread is in D, or the process is frozen */
	uint64_t blocked_ms;        /* since the main thread last ran; UNKNOWN_U64 */
	uint64_t others_blocked_ms; /* the least of all other threads; UNKNOWN_U64 */
	uint64_t main_cpu_ns;       /* UNKNOWN_U64 */
	uint64_t main_switches;     /* voluntary and not; UNKNOWN_U64 */
	uint64_t cpu_ns;            /* whole process; UNKNOWN_U64 */
	uint64_t taken_ms;          /* boot clock at which this look was taken */

	enum tri fds_known;          /* all descriptors could be listed */
	struct held_socket *sockets; /* owned; by lowest descriptor */
	size_t socket_count;

	uint64_t vm_bytes;  /* mapped; UNKNOWN_U64 */
	uint64_t rss_bytes; /* UNKNOWN_U64 */
	uint64_t anon_bytes;
	uint64_t pss_bytes; /* only where it was asked for */
	char *cgroup;       /* owned; path in cgroup v2 (or the first v1 line); NULL: unknown */
};

/** Frees what a look holds and zeroes it. */
void evidence_done(struct evidence *e);

#endif

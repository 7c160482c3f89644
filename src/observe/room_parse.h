/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of what the kernel says about limits of memory: bytes to struct, no I/O. A doubt is an
 * error (-EINVAL). Sources: proc(5), Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst.
 */
#ifndef REAPER_OBSERVE_ROOM_PARSE_H
#define REAPER_OBSERVE_ROOM_PARSE_H

#include <stddef.h>

#include "base/macro.h"
#include "model/memory.h"

enum {
	ROOM_POINT_MAX = 512, /* bytes of a mount point, with its NUL */
};

/* A cgroup file system. */
struct room_mount {
	char root[MEMORY_CGROUP_MAX]; /* the cgroup that it shows as its top */
	char point[ROOM_POINT_MAX];   /* "": there is none */
};

struct room_mounts {
	struct room_mount v1; /* the hierarchy of its memory controller */
	struct room_mount v2;
};

/**
 * Finds the cgroup file systems in a mountinfo file: of each kind the first that fits. A line that is
 * not understood, or torn, is passed over.
 */
void room_parse_mountinfo(const char *bytes, size_t len, struct room_mounts *ret);

/**
 * Finds the cgroup that counts a process' memory in its cgroup file: that of the v1 memory controller
 * if there is one, else the v2 one.
 *
 * @return 0; -EINVAL; -ERANGE: it is too long.
 */
int room_parse_cgroup(const char *bytes, size_t len, char ret_path[MEMORY_CGROUP_MAX], bool *ret_v2)
	_must_check_;

/** Reads a file with one number; the word "max" gives UNKNOWN_U64. @return 0; -EINVAL. */
int room_parse_number(const char *bytes, size_t len, uint64_t *ret) _must_check_;

/** Reads the value behind a word at the beginning of a line of memory.stat. @return 0; -EINVAL: it is not there. */
int room_parse_stat(const char *bytes, size_t len, const char *word, uint64_t *ret) _must_check_;

/** Reads MemTotal and MemAvailable, in bytes. @return 0; -EINVAL: one is not there. */
int room_parse_meminfo(const char *bytes, size_t len, uint64_t *ret_total, uint64_t *ret_available)
	_must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files: read whole, written aside and renamed, believed only after a look at their owner.
 */
#ifndef REAPER_BASE_FS_H
#define REAPER_BASE_FS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/macro.h"

/** Closes a descriptor if it is one and sets it to -1; errno is kept. For _cleanup_close_. */
void fs_close(int *fd);
#define _cleanup_close_ _cleanup_(fs_close)

/**
 * Reads up to size - 1 bytes of a file below a directory into a buffer and ends them with a NUL.
 *
 * @param dirfd	a directory, or AT_FDCWD.
 * @return the number of bytes; negative errno of open(2) or read(2). A longer file is cut.
 */
ssize_t fs_read_at(int dirfd, const char *name, char *buf, size_t size) _must_check_;

/**
 * Opens a directory below a directory for readdir(3).
 *
 * @return the stream, owned by the caller (closedir(3)); NULL with errno.
 */
DIR *fs_open_dir(int dirfd, const char *name) _must_check_;

/**
 * Opens what lies in a directory itself: what is mounted on its name is another's, who may forge owners and modes,
 * or never answer, so it is not even asked. Without openat2(2) the same is found out by the way of an O_PATH
 * descriptor.
 *
 * @param name	one component; a link is not followed.
 * @param flags	of open(2), without O_CREAT.
 * @return the descriptor, owned by the caller; -EXDEV: something is mounted there; -ELOOP: it is a link, and flags
 *         have no O_PATH; negative errno.
 */
int fs_open_here(int dirfd, const char *name, int flags) _must_check_;

/**
 * Tells of what lies in a directory itself, a link included.
 *
 * @return 0; -EXDEV: something is mounted there; negative errno.
 */
int fs_stat_here(int dirfd, const char *name, struct stat *ret_st) _must_check_;

/**
 * Reads a whole file into new memory, NUL-ended.
 *
 * @param max	-EFBIG if it is longer.
 * @return 0; negative errno. *ret_bytes is owned by the caller; *ret_len does not count the NUL.
 */
int fs_read_all(int fd, size_t max, char **ret_bytes, size_t *ret_len) _must_check_;

/**
 * Writes a file aside (same directory, O_EXCL, a random suffix) and renames it into place; on any error nothing is left.
 *
 * @return 0; negative errno.
 */
int fs_replace(const char *path, const char *bytes, size_t len, mode_t mode) _must_check_;

/**
 * Writes all bytes, resuming after EINTR and short writes.
 *
 * @return 0; negative errno (-ENOSPC ...); part of it may be written then.
 */
int fs_write_all(int fd, const char *bytes, size_t len) _must_check_;

/**
 * Takes back the part of an append that was written, unless somebody else has appended since.
 *
 * @param size		of the file before it.
 * @param written	what write(2) said.
 */
void fs_undo_append(int fd, off_t size, ssize_t written);

/**
 * Makes a directory and its missing parents.
 *
 * @param mode	of each directory that is made, whatever the umask.
 * @return 0 (also if it was there); negative errno.
 */
int fs_make_dirs(const char *path, mode_t mode) _must_check_;

/**
 * Why a file that others must not be able to change is not to be believed.
 *
 * @param owner	the uid that may own it; root always may.
 * @return NULL if it is a regular file with one link, owned so, not writable by group or others;
 *         else a constant phrase ("is writable by its group", ...).
 */
const char *fs_distrust(const struct stat *st, uid_t owner);

/** What to say of -EXDEV. */
#define FS_WHY_MOUNT "is a mount of its own"

/** The same for a directory, which may have any number of links. */
const char *fs_distrust_dir(const struct stat *st, uid_t owner);

#endif

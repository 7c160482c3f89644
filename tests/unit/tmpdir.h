/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of a test's own, removed with everything in it.
 */
#ifndef REAPER_TESTS_TMPDIR_H
#define REAPER_TESTS_TMPDIR_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tmpdir {
	char path[64];
};

/** Makes it, mode 0700. */
static inline struct tmpdir tmpdir_make(void)
{
	struct tmpdir d = { .path = "/tmp/reaper-test.XXXXXX" };

	cr_assert_not_null(mkdtemp(d.path));
	return d;
}

static inline int tmpdir_remove_one(const char *path, const struct stat *st, int type,
				    struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/** Removes it. For _cleanup_(tmpdir_remove). */
static inline void tmpdir_remove(struct tmpdir *d)
{
	if (d->path[0])
		(void)nftw(d->path, tmpdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	d->path[0] = '\0';
}
#define _cleanup_tmpdir_ __attribute__((cleanup(tmpdir_remove)))

/** Names a file in it. @return ret. */
static inline const char *tmpdir_path(const struct tmpdir *d, const char *name, char ret[PATH_MAX])
{
	(void)snprintf(ret, PATH_MAX, "%s/%s", d->path, name);
	return ret;
}

/** Writes a file of exactly this mode in it. */
static inline void tmpdir_write(const struct tmpdir *d, const char *name, const char *bytes,
				size_t len, mode_t mode)
{
	char path[PATH_MAX];
	int fd = open(tmpdir_path(d, name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	cr_assert_eq(fchmod(fd, mode), 0);
	(void)close(fd);
}

#endif

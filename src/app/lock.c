/* SPDX-License-Identifier: Apache-2.0 */
#include "app/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

#define LOCK_NAME "lock"

enum {
	DIR_MODE = 0750,
	SHARED_DIR_MODE = 0755,
	FILE_MODE = 0640,
	ATTEMPTS = 8, /* a cleaner of old files may remove it between open and lock */
};

static bool lies_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 &&
	       (!path[len] || path[len] == '/' || (len && dir[len - 1] == '/'));
}

static int open_dir(const char *path, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	r = fs_make_dirs(path, mode);
	if (r)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (fs_distrust_dir(&st, geteuid()))
		return -EPERM;
	return TAKE_FD(fd);
}

/* That another holds it is the word of flock(2) alone: open(2) says the same of a file that is leased. */
static int other_errno(int err)
{
	return err == -EWOULDBLOCK ? -EBUSY : err;
}

/* Tells whether the directory still shows the file that was opened. */
static bool is_still_there(int dirfd, const struct stat *st)
{
	struct stat now;

	return !fstatat(dirfd, LOCK_NAME, &now, AT_SYMLINK_NOFOLLOW) && now.st_dev == st->st_dev &&
	       now.st_ino == st->st_ino;
}

/* One attempt. Returns the descriptor; -EWOULDBLOCK: another holds it, or with *ret_gone: the file was
 * removed meanwhile. */
static int take_once(int dirfd, bool *ret_gone)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	*ret_gone = false;
	fd = openat(dirfd, LOCK_NAME, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    FILE_MODE);
	if (fd < 0 || fstat(fd, &st))
		return other_errno(-errno);
	if (st.st_nlink == 0) {
		*ret_gone = true;
		return -EAGAIN;
	}
	if (fs_distrust(&st, geteuid()))
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	if (is_still_there(dirfd, &st))
		return TAKE_FD(fd);
	*ret_gone = true;
	return -EAGAIN;
}

int lock_take(const char *state_dir, const char *marker_dir)
{
	_cleanup_close_ int dirfd = -1;
	bool gone = true;
	int r = -EAGAIN;

	dirfd = open_dir(state_dir, lies_in(marker_dir, state_dir) ? SHARED_DIR_MODE : DIR_MODE);
	if (dirfd < 0)
		return other_errno(dirfd);
	for (int i = 0; i < ATTEMPTS && gone; i++)
		r = take_once(dirfd, &gone);
	return gone ? other_errno(r) : r;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fs.h"

enum {
	AUDIT_LOG_MODE = 0640,
	AUDIT_LOG_DIR_MODE = 0750,
};

/* Makes the directory that the file lies in. */
static int make_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = NULL;

	if (!slash || slash == path)
		return 0;
	dir = strndup(path, (size_t)(slash - path));
	if (!dir)
		return -ENOMEM;
	return fs_make_dirs(dir, AUDIT_LOG_DIR_MODE);
}

/*
 * O_NONBLOCK: opening a pipe that nobody reads must not wait. A second name (a hard link) could make
 * root append to any file.
 */
static int open_file(const char *path)
{
	_cleanup_close_ int fd =
		open(path,
		     O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		     AUDIT_LOG_MODE);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		return -ENOTSUP;
	return TAKE_FD(fd);
}

int audit_log_open(const char *path, struct audit_log *ret)
{
	int r = make_dir(path), fd;

	if (r < 0)
		return r;
	fd = open_file(path);
	if (fd < 0)
		return fd;
	*ret = (struct audit_log){ .fd = fd, .path = path };
	return 0;
}

int audit_log_reopen(struct audit_log *log)
{
	struct stat named, open;
	int fd;

	if (fstat(log->fd, &open) < 0)
		return -errno;
	if (lstat(log->path, &named) == 0 && named.st_dev == open.st_dev &&
	    named.st_ino == open.st_ino)
		return 0;
	fd = open_file(log->path);
	if (fd < 0)
		return fd;
	fs_close(&log->fd);
	log->fd = fd;
	return 0;
}

/* Tells whether the file ends in the middle of a line. */
static int is_torn(int fd, off_t size)
{
	char last;
	ssize_t n;

	if (!size)
		return 0;
	n = pread(fd, &last, 1, size - 1);
	if (n < 0)
		return -errno;
	return n == 1 && last != '\n';
}

static int write_lines(int fd, off_t size, bool torn, const struct buf *lines, bool sync)
{
	char newline[] = "\n";
	struct iovec parts[] = {
		{ .iov_base = newline, .iov_len = torn ? 1 : 0 },
		{ .iov_base = lines->bytes, .iov_len = lines->len },
	};
	ssize_t want = (ssize_t)(parts[0].iov_len + parts[1].iov_len);
	ssize_t n = writev(fd, parts, ARRAY_SIZE(parts));
	int r = n < 0 ? -errno : n < want ? -ENOSPC : 0;

	if (r == 0 && sync && fdatasync(fd) < 0)
		r = -errno;
	/* What cannot be taken back is half a line, and the next one goes behind a newline. */
	if (r < 0)
		fs_undo_append(fd, size, n);
	return r;
}

int audit_log_append(struct audit_log *log, const struct buf *lines, bool sync)
{
	struct stat st;
	int torn;

	if (lines->failed)
		return -ENOMEM;
	if (!lines->len)
		return 0;
	if (fstat(log->fd, &st) < 0)
		return -errno;
	torn = is_torn(log->fd, st.st_size);
	if (torn < 0)
		return torn;
	return write_lines(log->fd, st.st_size, torn, lines, sync);
}

void audit_log_close(struct audit_log *log)
{
	fs_close(&log->fd);
}

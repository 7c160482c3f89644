/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FS_FIRST_ROOM = 4096
};

void fs_close(int *fd)
{
	int error = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = error;
}

/* Reads until size bytes are there or the file ends. */
static ssize_t fs_read_some(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

ssize_t fs_read_at(int dirfd, const char *name, char *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	ssize_t len;

	if (!size)
		return -EINVAL;
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	len = fs_read_some(fd, buf, size - 1);
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

DIR *fs_open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		fs_close(&fd);
	return dir;
}

static int fs_statx(int fd, struct statx *ret)
{
	/* From what the kernel knows already: a server that has to be asked may never answer. */
	int flags = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;

	return statx(fd, "", flags, STATX_TYPE, ret) < 0 ? -errno : 0;
}

/* Whether what was opened is mounted there. Kernels before 5.8 do not say so, and their devices must do. */
static int fs_is_mount(int dirfd, int fd)
{
	struct statx dir, st;
	int r = fs_statx(dirfd, &dir);

	if (r == 0)
		r = fs_statx(fd, &st);
	if (r < 0)
		return r;
	if (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		return !!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
	return st.stx_dev_major != dir.stx_dev_major || st.stx_dev_minor != dir.stx_dev_minor;
}

/* O_PATH asks no file system: what it led to is opened only when it is known to be none of another's. */
static int fs_open_pinned(int dirfd, const char *name, int flags)
{
	_cleanup_close_ int pin = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[sizeof("/proc/self/fd/-2147483648")];
	int fd, r;

	if (pin < 0)
		return -errno;
	r = fs_is_mount(dirfd, pin);
	if (r < 0)
		return r;
	if (r)
		return -EXDEV;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", pin);
	fd = open(path, flags & ~O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int fs_open_here(int dirfd, const char *name, int flags)
{
	const struct open_how how = {
		.flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	/* EPERM: a filter that was made before there was this call. */
	if (errno == ENOSYS || errno == EPERM)
		return fs_open_pinned(dirfd, name, flags | O_CLOEXEC);
	return -errno;
}

int fs_stat_here(int dirfd, const char *name, struct stat *ret_st)
{
	_cleanup_close_ int fd = fs_open_here(dirfd, name, O_PATH);

	if (fd < 0)
		return fd;
	return fstat(fd, ret_st) < 0 ? -errno : 0;
}

int fs_read_all(int fd, size_t max, char **ret_bytes, size_t *ret_len)
{
	_cleanup_free_ char *bytes = NULL;
	size_t room = MIN(max, (size_t)FS_FIRST_ROOM), len = 0;

	for (;;) {
		/* One byte more than may be: so a file that is too long shows itself. */
		char *more = realloc(bytes, room + 1);
		ssize_t n;

		if (!more)
			return -ENOMEM;
		bytes = more;
		n = fs_read_some(fd, bytes + len, room + 1 - len);
		if (n < 0)
			return (int)n;
		len += (size_t)n;
		if (len <= room)
			break;
		if (room == max)
			return -EFBIG;
		room = room > max / 2 ? max : room * 2;
	}
	bytes[len] = '\0';
	*ret_bytes = TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

int fs_write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

void fs_undo_append(int fd, off_t size, ssize_t written)
{
	struct stat st;

	if (written > 0 && fstat(fd, &st) == 0 && st.st_size == size + written)
		(void)!ftruncate(fd, size);
}

/* Writes the new content to the file aside; closes it, because close(2) may bring the error. */
static int fs_fill(int fd, const char *bytes, size_t len, mode_t mode)
{
	int r = fs_write_all(fd, bytes, len);

	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

/*
 * No fsync: what is kept this way is of this boot only, and after a crash the worst is an old or an
 * empty file, which its reader refuses.
 */
int fs_replace(const char *path, const char *bytes, size_t len, mode_t mode)
{
	_cleanup_free_ char *aside = NULL;
	uint64_t suffix;
	int fd, r;

	if (getrandom(&suffix, sizeof(suffix), 0) != sizeof(suffix))
		return -errno;
	if (asprintf(&aside, "%s.%016" PRIx64, path, suffix) < 0)
		return -ENOMEM;
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fs_fill(fd, bytes, len, mode);
	if (r == 0 && rename(aside, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(aside);
	return r;
}

/*
 * Enters a directory, making it if it is missing. What was there may be reached by a link
 * (/var/run) and need not be readable; what was made is no link, and its mode is set through the
 * descriptor.
 */
static int fs_enter(int at, const char *name, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	bool made = mkdirat(at, name, mode) == 0;
	int error = errno;

	fd = openat(at, name, O_DIRECTORY | O_CLOEXEC | (made ? O_RDONLY | O_NOFOLLOW : O_PATH));
	if (fd < 0)
		return !made && errno == ENOENT ? -error : -errno;
	if (made && fchmod(fd, mode) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int fs_make_dirs(const char *path, mode_t mode)
{
	_cleanup_close_ int at = -1;
	_cleanup_free_ char *copy = strdup(path);
	char *rest = copy, *name;

	if (!copy)
		return -ENOMEM;
	if (!*path)
		return -ENOENT;
	at = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	while ((name = strsep(&rest, "/"))) {
		int next;

		if (!*name)
			continue;
		next = fs_enter(at, name, mode);
		if (next < 0)
			return next;
		fs_close(&at);
		at = next;
	}
	return 0;
}

static const char *fs_distrust_owner(const struct stat *st, uid_t owner)
{
	if (st->st_uid != 0 && st->st_uid != owner)
		return "is owned by another user";
	if (st->st_mode & S_IWOTH)
		return "is writable by others";
	if (st->st_mode & S_IWGRP)
		return "is writable by its group";
	return NULL;
}

static const char *fs_distrust_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NULL;
	case S_IFLNK:
		return "is a symbolic link";
	case S_IFDIR:
		return "is a directory";
	case S_IFIFO:
		return "is a FIFO";
	case S_IFSOCK:
		return "is a socket";
	default:
		return "is not a regular file";
	}
}

const char *fs_distrust(const struct stat *st, uid_t owner)
{
	const char *kind = fs_distrust_kind(st->st_mode);

	if (kind)
		return kind;
	if (st->st_nlink != 1)
		return "does not have exactly one link";
	return fs_distrust_owner(st, owner);
}

const char *fs_distrust_dir(const struct stat *st, uid_t owner)
{
	if (!S_ISDIR(st->st_mode))
		return "is not a directory";
	return fs_distrust_owner(st, owner);
}

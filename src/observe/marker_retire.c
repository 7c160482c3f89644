/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "observe/marker_dirs.h"
#include "observe/marker_parse.h"
#include "observe/markers.h"

#define RETIRE_LOG "retire.log"

enum {
	RETIRE_DIR_MODE = 0755,
	RETIRE_LOG_MODE = 0644,
};

/* Opens operator-<euid>, makes it if it is missing. */
static int open_place(int top, uid_t euid)
{
	char name[sizeof("operator-4294967295")];
	_cleanup_close_ int fd = -1;
	struct stat st;
	bool made;

	(void)snprintf(name, sizeof(name), "operator-%u", (unsigned)euid);
	made = mkdirat(top, name, RETIRE_DIR_MODE) == 0;
	if (!made && errno != EEXIST)
		return -errno;
	fd = marker_dirs_open(top, name, &st);
	if (fd < 0)
		return fd;
	/* In a directory that is open to all, somebody may have been quicker. */
	if (st.st_uid != euid || fs_distrust_dir(&st, euid))
		return -EPERM;
	if (made && fchmod(fd, RETIRE_DIR_MODE) < 0) /* whatever the umask */
		return -errno;
	return TAKE_FD(fd);
}

static int open_log(int place, uid_t euid, struct stat *ret_st)
{
	int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	_cleanup_close_ int fd =
		openat(place, RETIRE_LOG, flags | O_CREAT | O_EXCL, RETIRE_LOG_MODE);
	bool made = fd >= 0;

	if (!made && errno == EEXIST)
		fd = openat(place, RETIRE_LOG, flags);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	if (fs_distrust(ret_st, euid))
		return -EPERM;
	if (made && fchmod(fd, RETIRE_LOG_MODE) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* A record that a full disk cut short must not swallow the next one. Returns 1 if a newline is to come
 * first. */
static size_t mend(int fd, const struct stat *st, char *text)
{
	char last = '\n';

	if (st->st_size && pread(fd, &last, 1, st->st_size - 1) != 1)
		last = '\0';
	*text = '\n';
	return last != '\n';
}

/*
 * Says each time who speaks: the log outlives boots, and may be shared by the root users of several pid
 * namespaces.
 */
static int format_both(uid_t euid, const char *boot_id, uint64_t pid_ns, uint64_t unix_ms,
		       struct ident worker, char *ret_text)
{
	struct marker who = {
		.unix_ms = unix_ms,
		.event = MARKER_OPERATOR,
		.has_uid = true,
		.uid = euid,
		.pid_ns = pid_ns,
		.pool_timeout_ms = UNKNOWN_U64,
	};
	struct marker retired = {
		.unix_ms = unix_ms,
		.event = MARKER_RETIRED,
		.worker = worker,
		.pool_timeout_ms = UNKNOWN_U64,
	};
	int first, second;

	(void)snprintf(who.boot, sizeof(who.boot), "%s", boot_id);
	first = marker_format(&who, ret_text);
	if (first < 0)
		return first;
	second = marker_format(&retired, ret_text + first);
	return second < 0 ? second : first + second;
}

static int open_retire_log(const char *dir, uid_t euid, struct stat *ret_st)
{
	_cleanup_close_ int top = -1, place = -1;
	int err = fs_make_dirs(dir, RETIRE_DIR_MODE);

	if (err < 0)
		return err;
	top = open(dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (top < 0)
		return -errno;
	place = open_place(top, euid);
	if (place < 0)
		return place;
	return open_log(place, euid, ret_st);
}

int markers_retire(const char *dir, uid_t euid, const char *boot_id, uint64_t pid_ns,
		   uint64_t unix_ms, struct ident worker)
{
	char text[1 + 2 * MARKER_LINE_MAX + 1]; /* a newline that mends, two records, a NUL */
	_cleanup_close_ int fd = -1;
	struct stat st;
	size_t mended;
	ssize_t n;
	int len = format_both(euid, boot_id, pid_ns, unix_ms, worker, text + 1);

	if (len < 0)
		return len;
	fd = open_retire_log(dir, euid, &st);
	if (fd < 0)
		return fd;
	mended = mend(fd, &st, text);
	/* One write, so that nobody else's record comes between the two. */
	n = write(fd, text + 1 - mended, (size_t)len + mended);
	if (n < 0)
		return -errno;
	if ((size_t)n == (size_t)len + mended)
		return 0;
	/* A record that lacks its newline alone would count as soon as the next one is written. */
	fs_undo_append(fd, st.st_size, n);
	return -ENOSPC;
}

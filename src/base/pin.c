/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

int pin_open(pid_t pid)
{
	char path[sizeof("/proc/") + 11];
	int fd;

	if (pid < 1)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Needs no descriptor: to be out of them must not look like a death, nor must any other error. */
static int pin_ask(int dirfd)
{
	struct stat st;

	if (fstatat(dirfd, "stat", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return errno == ENOENT ? -ESRCH : -errno;
}

int pin_pidfd(int dirfd, pid_t pid)
{
	_cleanup_close_ int pidfd = -1;
	int r;

	if (pid < 1)
		return -ESRCH;
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0)
		return errno == EINVAL || errno == ENOENT ? -ESRCH : -errno;
	/*
	 * A number is not given away while its process is there. So if the directory answers now,
	 * its process had the number when the pidfd was opened.
	 */
	r = pin_ask(dirfd);
	return r < 0 ? r : TAKE_FD(pidfd);
}

bool pin_alive(int dirfd)
{
	return pin_ask(dirfd) == 0;
}

int pin_wait(int pidfd, int timeout_ms)
{
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };
	int r = poll(&wait, 1, timeout_ms);

	if (r < 0)
		return -errno;
	if (wait.revents & POLLNVAL)
		return -EINVAL;
	return r > 0;
}

size_t pin_make_room(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/exit_info.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "observe/proc_parse.h"

/*
 * include/uapi/linux/pidfd.h of Linux 6.15. The C library's headers are often older than the kernel
 * that runs, so what is needed is said here. The kernel takes a shorter struct than its own, and sets
 * in mask what it has filled in. Its PIDFD_INFO_COREDUMP is not asked: that one tells of dumps to a
 * socket only, and before they are made, while bit 7 of the exit code is the one of wait(2).
 */
#define INFO_EXIT (UINT64_C(1) << 3)

struct exit_info_pidfd {
	uint64_t mask;
	uint64_t cgroupid;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
static_assert(sizeof(struct exit_info_pidfd) == 64, "PIDFD_INFO_SIZE_VER0");
static_assert(offsetof(struct exit_info_pidfd, exit_code) == 60, "as the kernel has it");

#define GET_INFO _IOWR(0xFF, 11, struct exit_info_pidfd)

enum {
	STAT_MAX = 2048, /* 52 numbers and a name of 64 bytes */
	LINK_MAX = 64,
};

/* Opens the directory of that very process and reads its stat. Returns the descriptor; negative errno. */
static int open_stat(struct ident id, struct proc_stat *ret)
{
	_cleanup_close_ int dirfd = pin_open(id.pid);
	char bytes[STAT_MAX];
	ssize_t len;
	int r;

	if (dirfd < 0)
		return dirfd;
	len = fs_read_at(dirfd, "stat", bytes, sizeof(bytes));
	if (len < 0)
		return (int)len;
	r = proc_parse_stat(bytes, (size_t)len, ret);
	if (r < 0)
		return r;
	return ret->start == id.start ? TAKE_FD(dirfd) : -ESRCH;
}

int exit_info_pin(struct ident id)
{
	struct proc_stat stat = { 0 };
	_cleanup_close_ int dirfd = open_stat(id, &stat);

	return dirfd < 0 ? dirfd : pin_pidfd(dirfd, id.pid);
}

int exit_info_read(int pidfd, struct ending *ret)
{
	struct exit_info_pidfd info = { .mask = INFO_EXIT };

	if (ioctl(pidfd, GET_INFO, &info) < 0)
		return -errno;
	if (!(info.mask & INFO_EXIT))
		return -EAGAIN;
	*ret = ending_of_status(info.exit_code);
	return 0;
}

/* To look at a namespace takes the same permission as the exit code does (proc(5), ptrace access mode
 * PTRACE_MODE_READ_FSCREDS), and is refused where that one would be a silent 0. */
static bool may_look_into(int dirfd)
{
	char link[LINK_MAX];

	return readlinkat(dirfd, "ns/pid", link, sizeof(link)) >= 0;
}

int exit_info_read_zombie(struct ident id, struct ending *ret)
{
	struct proc_stat stat = { 0 };
	_cleanup_close_ int dirfd = open_stat(id, &stat);

	if (dirfd < 0)
		return dirfd;
	if (stat.state != 'Z' && stat.state != 'X')
		return -EBUSY;
	if (!stat.exit_code && !may_look_into(dirfd))
		return -EACCES;
	*ret = ending_of_status(stat.exit_code);
	return 0;
}

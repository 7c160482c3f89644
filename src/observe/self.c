/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/self.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "observe/given.h"
#include "observe/proc_parse.h"

enum {
	SELF_LINK_MAX = 64
};

static uint64_t self_ns(const char *path)
{
	char link[SELF_LINK_MAX];
	ssize_t len = readlink(path, link, sizeof(link));
	uint64_t ino;

	if (len < 0 || proc_parse_ns_link(link, (size_t)len, &ino) < 0)
		return 0;
	return ino;
}

uint64_t self_net_ns(void)
{
	return self_ns(given_netlink(NETLINK_SOCK_DIAG) < 0 ? "/proc/self/ns/net"
							    : "/proc/1/ns/net");
}

/* Numbers of a /proc of another pid namespace name other processes than our pidfds would. */
static int self_check_proc(pid_t pid)
{
	char link[SELF_LINK_MAX], want[SELF_LINK_MAX];
	ssize_t len = readlink("/proc/self", link, sizeof(link) - 1);

	if (len < 0)
		return errno == EACCES || errno == EPERM ? -EACCES : -ENOENT;
	link[len] = '\0';
	snprintf(want, sizeof(want), "%d", pid);
	return strcmp(link, want) == 0 ? 0 : -ENOENT;
}

static void self_boot_id(char ret[SELF_BOOT_MAX])
{
	char id[SELF_BOOT_MAX + 1];
	ssize_t len = fs_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id));

	if (len != SELF_BOOT_MAX || id[SELF_BOOT_MAX - 1] != '\n' ||
	    strspn(id, "0123456789abcdef-") != SELF_BOOT_MAX - 1)
		return;
	memcpy(ret, id, SELF_BOOT_MAX - 1);
}

int self_read(struct self *ret)
{
	struct self self = { .pid = getpid(), .euid = geteuid() };
	int r = self_check_proc(self.pid);

	if (r < 0)
		return r;
	self.pid_ns = self_ns("/proc/self/ns/pid");
	self.net_ns = self_net_ns();
	self_boot_id(self.boot_id);
	self.wall_minus_boot_ms = clock_wall_ms() - clock_boot_ms();
	*ret = self;
	return 0;
}

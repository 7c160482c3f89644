/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/given.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/parse.h"

enum {
	GIVEN_FIRST = 3, /* sd_listen_fds(3): SD_LISTEN_FDS_START */
	GIVEN_MAX = 64,
};

/* How many descriptors were passed to this very process: a child of who was meant has these variables, too. */
static uint64_t given_count(void)
{
	const char *pid = secure_getenv("LISTEN_PID"), *fds = secure_getenv("LISTEN_FDS");
	uint64_t whom, count;

	if (!pid || !fds || parse_u64(pid, INT32_MAX, &whom) || (pid_t)whom != getpid())
		return 0;
	return parse_u64(fds, GIVEN_MAX, &count) ? 0 : count;
}

static bool option_is(int fd, int option, int value)
{
	int found;
	socklen_t len = sizeof(found);

	return getsockopt(fd, SOL_SOCKET, option, &found, &len) == 0 && found == value;
}

static int find(int protocol)
{
	int end = GIVEN_FIRST + (int)given_count();

	for (int fd = GIVEN_FIRST; fd < end; fd++)
		if (option_is(fd, SO_DOMAIN, AF_NETLINK) && option_is(fd, SO_PROTOCOL, protocol))
			return fd;
	return -ENOENT;
}

int given_netlink(int protocol)
{
	if (find(NETLINK_SOCK_DIAG) < 0 || find(NETLINK_ROUTE) < 0)
		return -ENOENT;
	return find(protocol);
}

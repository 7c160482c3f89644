/* SPDX-License-Identifier: Apache-2.0 */
/* Netlink sockets that were made by somebody else, in another network namespace. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "live.h"
#include "observe/given.h"
#include "observe/self.h"
#include "observe/sockets.h"

enum {
	FIRST = 3, /* of those that are passed */
};

TestSuite(given, .timeout = 60);

/* Ends the child where something does not hold, and says where. */
#define must(holds) must_at(__LINE__, holds)

static void must_at(int line, bool holds)
{
	if (holds)
		return;
	(void)fprintf(stderr, "%s:%d does not hold\n", __FILE__, line);
	_exit(1);
}

static int netlink(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };

	live_need(fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0);
	return fd;
}

/* Puts descriptors where they are passed, and says for whom. */
static void pass(const int *fds, int count, pid_t whom)
{
	char number[16];
	int high[8];

	for (int i = 0; i < count; i++)
		high[i] = fcntl(fds[i], F_DUPFD, 100);
	for (int i = 0; i < count; i++)
		must(dup2(high[i], FIRST + i) == FIRST + i);
	(void)snprintf(number, sizeof(number), "%d", whom);
	setenv("LISTEN_PID", number, 1);
	(void)snprintf(number, sizeof(number), "%d", count);
	setenv("LISTEN_FDS", number, 1);
}

static bool none(void)
{
	return given_netlink(NETLINK_SOCK_DIAG) == -ENOENT &&
	       given_netlink(NETLINK_ROUTE) == -ENOENT;
}

static void in_child(void *arg)
{
	int both[] = { netlink(NETLINK_GENERIC), netlink(NETLINK_SOCK_DIAG),
		       socket(AF_UNIX, SOCK_STREAM, 0), netlink(NETLINK_ROUTE) };

	(void)arg;
	live_ready();
	must(none());
	pass(both, 4, getpid());
	must(given_netlink(NETLINK_SOCK_DIAG) == FIRST + 1);
	must(given_netlink(NETLINK_ROUTE) == FIRST + 3);
	pass(both, 4, getppid());
	must(none()); /* a child of who was meant */
	pass(both, 3, getpid());
	must(none()); /* the other one would be of another network */
	pass(both + 2, 2, getpid());
	must(none());
	pass(both, 4, getpid());
	setenv("LISTEN_FDS", "65", 1);
	must(none());
	setenv("LISTEN_FDS", "4x", 1);
	must(none());
	unsetenv("LISTEN_PID");
	setenv("LISTEN_FDS", "4", 1);
	must(none());
	_exit(0);
}

Test(given, both_or_none)
{
	cr_assert_eq(live_wait(live_start(in_child, NULL)), 0);
}

/* 0: not every first process lets itself be looked at. */
static uint64_t ns_of_manager(void)
{
	struct stat st;

	return stat("/proc/1/ns/net", &st) == 0 ? st.st_ino : 0;
}

/* Listens on an interface that other namespaces do not have. */
static int listen_on_bridge(struct endpoint *ret_local)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in here;
	socklen_t len = sizeof(here);

	live_need(ioctl(fd, SIOCBRADDBR, "reaper0") == 0);
	must(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "reaper0", 7) == 0);
	must(bind(fd, (const struct sockaddr *)&any, sizeof(any)) == 0);
	must(listen(fd, 1) == 0);
	must(getsockname(fd, (struct sockaddr *)&here, &len) == 0);
	memset(ret_local, 0, sizeof(*ret_local));
	ret_local->addr.s6_addr[10] = ret_local->addr.s6_addr[11] = 0xff;
	ret_local->port = ntohs(here.sin_port);
	return fd;
}

/* Asks as the first request does, and does not take the answer. */
static void leave_unread(int fd)
{
	const struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			  .nlmsg_seq = 1 },
		.req = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX },
	};

	must(send(fd, &request, sizeof(request), 0) == sizeof(request));
}

static void without_network(void *arg)
{
	struct endpoint local, nobody = { 0 };
	struct socket_table t;
	struct inet_row row;
	struct sockets *door;
	struct stat st;
	int fds[2], listener;

	(void)arg;
	live_need(unshare(CLONE_NEWNET) == 0);
	listener = fcntl(listen_on_bridge(&local), F_DUPFD, 50);
	fds[0] = netlink(NETLINK_SOCK_DIAG);
	fds[1] = netlink(NETLINK_ROUTE);
	live_need(unshare(CLONE_NEWNET) == 0);
	live_ready();
	pass(fds, 2, getpid());
	leave_unread(FIRST);
	must(self_net_ns() == ns_of_manager());
	must(sockets_open(&door) == 0 && sockets_dump(door, &t) == 0);
	must(t.inet_known && t.unix_known && t.net_ns == self_net_ns());
	must(fstat(listener, &st) == 0 && socket_table_inet(&t, st.st_ino) != NULL);
	nobody.addr.s6_addr[10] = nobody.addr.s6_addr[11] = 0xff;
	must(sockets_lookup(door, &local, &nobody, &row) == 1 && row.ino == st.st_ino);
	local.port ^= 1;
	must(sockets_lookup(door, &local, &nobody, &row) == 0);
	socket_table_done(&t);
	sockets_close(door);
	_exit(0);
}

/* What the others say of sockets goes for those of the namespace that the given ones were made in. */
Test(given, a_process_without_network_sees_what_it_was_given)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make a network namespace");
	cr_assert_eq(live_wait(live_start(without_network, NULL)), 0);
}

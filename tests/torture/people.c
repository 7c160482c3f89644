/* SPDX-License-Identifier: Apache-2.0 */
#include "people.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "give_away.h"

enum {
	PLACES = 256,
	CONTROL_FD = 3, /* of a daemon, and what it is given beside */
	LISTENER_FD,
	PAGE_FD,
	FIRST_FREE_FD,
	NAP_US = 50,
	PATIENCE_MS = 60 * 1000, /* a machine may be busy */
};

struct page {
	atomic_uchar ready[PLACES];
	atomic_uchar dismissed[PLACES]; /* it left because it was asked to */
};

static struct page *page;
static int page_fd = -1, listener = -1, control = -1;
static struct sockaddr_in address;
static volatile unsigned char our_place; /* of who waits */

void give_up(const char *what)
{
	(void)fprintf(stderr, "pid_reuse: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A little later; -1 once all patience is gone. */
static int nap(unsigned *naps)
{
	(void)usleep(NAP_US);
	return ++*naps < PATIENCE_MS * 1000 / NAP_US ? 0 : -1;
}

pid_t born(pid_t number, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&number,
		.set_tid_size = 1,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* A number is free a moment after its process was waited for. */
static pid_t born_patiently(pid_t number, int *ret_pidfd)
{
	unsigned naps = 0;
	pid_t pid;

	do {
		pid = born(number, ret_pidfd);
	} while (pid < 0 && errno == EEXIST && nap(&naps) == 0);
	return pid;
}

int ended_by(int *pidfd, int sig)
{
	siginfo_t how = { 0 };

	(void)pidfd_send_signal(*pidfd, sig, NULL, 0);
	if (waitid(P_PIDFD, (id_t)*pidfd, &how, WEXITED) < 0)
		give_up("waitid");
	(void)close(*pidfd);
	*pidfd = -1;
	return how.si_status;
}

/* ---- what they do ---- */

static void leave(int sig)
{
	(void)sig;
	atomic_store(&page->dismissed[our_place], 1);
	_exit(0);
}

static __attribute__((noreturn)) void wait_for_ever(unsigned char place)
{
	our_place = place;
	(void)signal(SIGUSR2, leave);
	atomic_store(&page->ready[place], 1);
	for (;;)
		(void)poll(NULL, 0, -1);
}

static void be_worker(const struct order *order, int end)
{
	int unused;

	(void)dup2(end, CONTROL_FD);
	(void)close_range(CONTROL_FD + 1, ~0U, 0);
	if (order->own_group)
		(void)setpgid(0, 0);
	if (order->helper && born_patiently(order->helper, &unused) == 0)
		wait_for_ever(order->helper_place);
	(void)close_range(CONTROL_FD + 1, ~0U, 0);
	(void)signal(SIGTERM, order->stubborn ? SIG_IGN : SIG_DFL);
	wait_for_ever(order->place);
}

static void map_page(int fd)
{
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		give_up("mmap");
}

/* It forgets its children: their numbers are free once they have ended. */
void people_daemon(void)
{
	int end = -1;
	struct order order;
	pid_t pid = 0;

	map_page(PAGE_FD);
	if (write(CONTROL_FD, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	while (read(CONTROL_FD, &order, sizeof(order)) == sizeof(order)) {
		int pidfd = -1;

		if (!order.twin) {
			(void)close(end);
			end = accept(LISTENER_FD, NULL, NULL);
		}
		pid = born_patiently(order.number, &pidfd);
		if (pid == 0)
			be_worker(&order, end);
		(void)close(pidfd);
		pid = pid < 0 ? -errno : pid;
		if (write(CONTROL_FD, &pid, sizeof(pid)) != sizeof(pid))
			break;
	}
	_exit(0);
}

static __attribute__((noreturn)) void start_daemon(int its_control)
{
	static char python[] = "python", option[] = "-m", module[] = "pyspark.daemon";
	static char *const argv[] = { python, option, module, NULL };
	const int given[] = { its_control, listener, page_fd };
	int aside[ARRAY_SIZE(given)];

	(void)setpgid(0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		aside[i] = fcntl(given[i], F_DUPFD, 100);
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		(void)dup2(aside[i], CONTROL_FD + (int)i);
	(void)close_range(FIRST_FREE_FD, ~0U, 0);
	(void)execv("/proc/self/exe", argv);
	_exit(1);
}

/* ---- how they are made and ended ---- */

static unsigned char new_place(void)
{
	static unsigned char last;

	last++;
	atomic_store(&page->ready[last], 0);
	atomic_store(&page->dismissed[last], 0);
	return last;
}

static void await_ready(const struct person *p)
{
	unsigned naps = 0;

	while (!atomic_load(&page->ready[p->place]))
		if (nap(&naps) < 0)
			give_up("somebody does not get ready");
}

static void raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		give_up("the loopback device");
}

/* Thousands of closed connections would be in the tables for a minute each. */
static void forget_closed_connections(void)
{
	_cleanup_close_ int fd =
		open("/proc/sys/net/ipv4/tcp_max_tw_buckets", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		give_up("tcp_max_tw_buckets");
}

void people_open(void)
{
	socklen_t len = sizeof(address);

	raise_loopback();
	forget_closed_connections();
	page_fd = memfd_create("page", MFD_CLOEXEC);
	if (page_fd < 0 || ftruncate(page_fd, sizeof(*page)) < 0)
		give_up("memfd_create");
	map_page(page_fd);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 16) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0)
		give_up("a port to listen on");
}

void people_start_tree(struct person *ret_host, struct person *ret_daemon)
{
	int ends[2];
	pid_t hello;

	if (control >= 0)
		(void)close(control);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		give_up("socketpair");
	control = ends[0];
	ret_host->place = new_place();
	ret_host->pid = born_patiently(NUMBER_HOST, &ret_host->pidfd);
	if (ret_host->pid == 0) {
		int unused;

		(void)signal(SIGCHLD, SIG_IGN);
		(void)prctl(PR_SET_NAME, "java");
		if (born_patiently(NUMBER_DAEMON, &unused) == 0)
			start_daemon(ends[1]);
		(void)close_range(CONTROL_FD, ~0U, 0);
		wait_for_ever(ret_host->place);
	}
	if (ret_host->pid < 0)
		give_up("clone3 with the number of a host");
	(void)close(ends[1]);
	await_ready(ret_host);
	if (read(control, &hello, sizeof(hello)) != sizeof(hello))
		give_up("a daemon does not begin");
	ret_daemon->pid = NUMBER_DAEMON;
	ret_daemon->pidfd = pidfd_open(NUMBER_DAEMON, 0);
	if (ret_daemon->pidfd < 0)
		give_up("pidfd_open of a daemon");
}

static int connect_with_daemon(void)
{
	int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (end < 0 || connect(end, (struct sockaddr *)&address, sizeof(address)) < 0)
		give_up("connect");
	return end;
}

static void find(pid_t number, struct person *p)
{
	p->pid = number;
	p->pidfd = pidfd_open(number, 0);
	if (p->pidfd < 0)
		give_up("pidfd_open of who was just born");
	await_ready(p);
}

int people_fork(struct order order, struct person *ret, struct person *ret_helper)
{
	int end = order.twin ? -1 : connect_with_daemon();
	pid_t pid;

	order.place = ret->place = new_place();
	if (order.helper)
		order.helper_place = ret_helper->place = new_place();
	if (write(control, &order, sizeof(order)) != sizeof(order) ||
	    read(control, &pid, sizeof(pid)) != sizeof(pid))
		give_up("a daemon does not answer");
	if (pid < 0) {
		errno = -pid;
		give_up("a daemon cannot fork");
	}
	find(order.number, ret);
	if (order.helper)
		find(order.helper, ret_helper);
	return end;
}

/* A connection as a worker's, whose host has hung up. */
static int closed_connection(void)
{
	int far = connect_with_daemon(), near = accept(listener, NULL, NULL);

	if (near < 0)
		give_up("accept");
	(void)close(far);
	return near;
}

void people_meet(enum person_kind kind, pid_t number, struct person *ret, struct person *ret_child)
{
	int connection = kind == PERSON_PARENT ? closed_connection() : -1, unused;

	ret->place = new_place();
	if (kind == PERSON_PARENT)
		ret_child->place = new_place();
	ret->pid = born_patiently(number, &ret->pidfd);
	if (ret->pid == 0) {
		if (kind == PERSON_JAVA)
			(void)prctl(PR_SET_NAME, "java");
		(void)dup2(connection, CONTROL_FD);
		(void)close_range(kind == PERSON_PARENT ? CONTROL_FD + 1 : CONTROL_FD, ~0U, 0);
		if (kind == PERSON_PARENT && born_patiently(NUMBER_CHILD, &unused) == 0)
			wait_for_ever(ret_child->place);
		wait_for_ever(ret->place);
	}
	if (ret->pid < 0)
		give_up("clone3 with the number of a process that has ended");
	if (connection >= 0)
		(void)close(connection);
	await_ready(ret);
	if (kind == PERSON_PARENT)
		find(NUMBER_CHILD, ret_child);
}

static bool is_asleep(pid_t pid)
{
	char path[32], stat[1024];
	const char *name_end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fs_read_at(AT_FDCWD, path, stat, sizeof(stat)) <= 0)
		return false;
	name_end = strrchr(stat, ')');
	return name_end && name_end[2] == 'S';
}

void people_settle(const struct person *p)
{
	unsigned naps = 0;

	while (!is_asleep(p->pid))
		if (nap(&naps) < 0)
			give_up("somebody does not sleep");
}

/* Its own parent may forget it, or it is ours. */
static void wait_for(struct person *p)
{
	struct pollfd end = { .fd = p->pidfd, .events = POLLIN };
	siginfo_t how;

	if (give_poll(&end, 1, PATIENCE_MS) != 1)
		give_up("somebody does not end");
	(void)waitid(P_PIDFD, (id_t)p->pidfd, &how, WEXITED);
	(void)close(p->pidfd);
	p->pid = 0;
}

void people_kill(struct person *p)
{
	if (!p->pid)
		return;
	(void)pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
	wait_for(p);
}

bool person_is_gone(const struct person *p)
{
	struct pollfd end = { .fd = p->pidfd, .events = POLLIN };

	return give_poll(&end, 1, 0) == 1;
}

bool people_dismiss(struct person *p)
{
	(void)pidfd_send_signal(p->pidfd, SIGUSR2, NULL, 0);
	wait_for(p);
	return atomic_load(&page->dismissed[p->place]);
}

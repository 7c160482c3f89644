/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/evidence.h"

enum {
	NOBODY = 65534,
	FD_TCP = 100, /* where the children put their sockets: above what they were given */
	FD_TCP6 = 110,
	FD_UNIX = 120,
};

TestSuite(evidence_fds, .timeout = 120);

static struct evidence look(pid_t pid, unsigned want)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	struct cpu_clock *clock = NULL;
	struct evidence e;

	cr_assert_geq(dirfd, 0);
	cr_assert_eq(cpu_clock_new(&clock), 0);
	cr_assert_eq(evidence_look(dirfd, pid, want, clock, &e), 0);
	cpu_clock_free(clock);
	return e;
}

/* @return the socket whose lowest descriptor this is; one with inode 0: there is none. */
static struct held_socket held_at(const struct evidence *e, int fd)
{
	for (size_t i = 0; i < e->socket_count; i++) {
		if (e->sockets[i].fd == fd)
			return e->sockets[i];
	}
	return (struct held_socket){ 0 };
}

static void put_socket(int family, int at, int copies)
{
	int fd = socket(family, SOCK_STREAM, 0);

	for (int i = 0; i < copies; i++) {
		if (dup2(fd, at + i) < 0)
			_exit(1);
	}
	close(fd);
}

/* As a worker in its protocol: the task socket on three descriptors. */
static void hold_sockets(void *arg)
{
	put_socket(AF_INET, FD_TCP, 3);
	put_socket(AF_INET6, FD_TCP6, 3);
	put_socket(AF_UNIX, FD_UNIX, 4);
	live_pause(arg);
}

Test(evidence_fds, sockets_by_descriptor)
{
	pid_t pid = live_start(hold_sockets, NULL);
	struct evidence e = look(pid, EVIDENCE_SOCKETS);
	struct held_socket tcp = held_at(&e, FD_TCP), tcp6 = held_at(&e, FD_TCP6);
	struct held_socket local = held_at(&e, FD_UNIX);

	cr_expect_eq(e.fds_known, TRI_YES);
	cr_assert(tcp.ino);
	cr_expect_eq(tcp.fds, 3);
	cr_expect_eq(tcp.all_fds, 3);
	cr_expect_eq(tcp.tcp, TRI_YES, "by the name of its protocol, though it is in no table");
	cr_assert(local.ino);
	cr_expect_eq(local.fds, 4);
	cr_expect_eq(local.tcp, TRI_NO);
	if (tcp6.ino)
		cr_expect_eq(tcp6.tcp, TRI_YES);
	for (size_t i = 1; i < e.socket_count; i++)
		cr_expect_lt(e.sockets[i - 1].fd, e.sockets[i].fd, "sorted");
	evidence_done(&e);
	live_end(pid);
}

/* Its lowest descriptor is now the socket that is looked at, now another one. */
static void swap_sockets(void *arg)
{
	int tcp, udp;

	(void)arg;
	put_socket(AF_INET, FD_TCP, 4);
	tcp = FD_TCP + 3;
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	live_ready();
	for (;;) {
		dup2(udp, FD_TCP);
		dup2(tcp, FD_TCP);
	}
}

/* What stands there by then may be a file that never answers: nothing else is asked than what was seen. */
Test(evidence_fds, what_came_in_its_place_is_not_asked)
{
	pid_t pid = live_start(swap_sockets, NULL);
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	unsigned known = 0;

	for (unsigned i = 0; i < 2000 || (!known && live_now_ms() < until); i++) {
		struct evidence e = look(pid, EVIDENCE_SOCKETS);
		struct held_socket held = held_at(&e, FD_TCP);

		if (held.all_fds >= 3)
			cr_assert_neq(held.tcp, TRI_NO, "look %u asked another socket", i);
		known += held.tcp == TRI_YES;
		evidence_done(&e);
	}
	cr_expect_gt(known, 0);
	live_end(pid);
}

static void hold_on_stdin(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, FD_TCP);
	close(fd);
	live_pause(arg);
}

Test(evidence_fds, standard_descriptors_count_apart)
{
	pid_t pid = live_start(hold_on_stdin, NULL);
	struct evidence e = look(pid, EVIDENCE_SOCKETS);
	struct held_socket held = held_at(&e, 0);

	cr_assert(held.ino);
	cr_expect_eq(held.fds, 1, "only one is above 2");
	cr_expect_eq(held.all_fds, 3);
	evidence_done(&e);
	live_end(pid);
}

static void hold_two(void *arg)
{
	put_socket(AF_INET, FD_TCP, 2);
	live_pause(arg);
}

Test(evidence_fds, few_descriptors_are_not_asked_for_a_protocol)
{
	pid_t pid = live_start(hold_two, NULL);
	struct evidence e = look(pid, EVIDENCE_SOCKETS);

	cr_assert(held_at(&e, FD_TCP).ino);
	cr_expect_eq(held_at(&e, FD_TCP).tcp, TRI_UNKNOWN);
	evidence_done(&e);
	live_end(pid);
}

/* arg: how many more sockets than the limit. */
static void hold_many(void *arg)
{
	for (int fd = 3; fd < 100; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			close(fd);
	}
	for (int i = 0; i < EVIDENCE_SOCKETS_MAX + *(int *)arg; i++)
		put_socket(AF_UNIX, 200 + i, 1);
	live_pause(NULL);
}

Test(evidence_fds, the_sockets_of_a_busy_client_are_all_looked_at)
{
	int fewer = 100 - EVIDENCE_SOCKETS_MAX;
	pid_t pid = live_start(hold_many, &fewer);
	struct evidence e = look(pid, EVIDENCE_SOCKETS);

	cr_expect_eq(e.socket_count, 100);
	cr_expect_eq(e.fds_known, TRI_YES);
	evidence_done(&e);
	live_end(pid);
}

Test(evidence_fds, more_sockets_than_are_looked_at)
{
	for (int more = 0; more < 2; more++) {
		pid_t pid = live_start(hold_many, &more);
		struct evidence e = look(pid, EVIDENCE_SOCKETS);

		cr_expect_eq(e.socket_count, EVIDENCE_SOCKETS_MAX);
		cr_expect_eq(e.fds_known, more ? TRI_NO : TRI_YES);
		evidence_done(&e);
		live_end(pid);
	}
}

static void hold_many_files(void *arg)
{
	struct rlimit limit = { EVIDENCE_FDS_MAX + 100, EVIDENCE_FDS_MAX + 100 };

	(void)arg;
	live_need(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	put_socket(AF_INET, FD_TCP, 1);
	while (dup(0) >= 0)
		;
	live_pause(NULL);
}

Test(evidence_fds, more_descriptors_than_are_looked_at)
{
	pid_t pid = live_start(hold_many_files, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	struct evidence e = look(pid, EVIDENCE_SOCKETS);
	uint64_t inos[] = { 1, 0 };
	bool held[] = { false, false };

	cr_expect_eq(e.fds_known, TRI_NO);
	cr_assert(held_at(&e, FD_TCP).ino);
	inos[1] = held_at(&e, FD_TCP).ino;
	cr_expect_lt(evidence_held_among(dirfd, inos, 2, held), 0, "not all can be read");
	cr_expect(held[1], "it was found before the limit");
	cr_expect_not(held[0]);
	evidence_done(&e);
	live_end(pid);
}

Test(evidence_fds, who_holds_a_socket)
{
	pid_t pid = live_start(hold_sockets, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	struct evidence e = look(pid, EVIDENCE_SOCKETS);
	uint64_t inos[] = { 1, 0 };
	bool held[] = { false, false };

	cr_assert_gt(e.socket_count, 0);
	inos[1] = e.sockets[0].ino;
	cr_expect_eq(evidence_held_among(dirfd, inos, 2, held), 0);
	cr_expect(held[1]);
	cr_expect_not(held[0]);
	evidence_done(&e);
	live_end(pid);
	cr_expect_lt(evidence_held_among(dirfd, inos, 2, held), 0, "it is gone");
}

/* Keeps only these capabilities, as another user. */
static void become_nobody(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = (uint32_t)(caps >> 32), .permitted = (uint32_t)(caps >> 32) },
	};

	live_need(prctl(PR_SET_KEEPCAPS, 1) == 0);
	live_need(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	live_need(syscall(SYS_capset, &head, data) == 0);
	live_die_with_parent();
}

struct inspection {
	pid_t pid;
	uint64_t caps;
};

#define MUST(what)                            \
	do {                                  \
		if (!(what))                  \
			_exit(__LINE__ % 76); \
	} while (0)

/* What one may know of another user's process without any right. */
static void inspect_denied(void *arg)
{
	const struct inspection *in = arg;
	struct cpu_clock *clock = NULL;
	struct evidence e;
	int dirfd;

	become_nobody(in->caps);
	live_ready();
	dirfd = pin_open(in->pid);
	MUST(dirfd >= 0);
	MUST(cpu_clock_new(&clock) == 0);
	MUST(evidence_look(dirfd, in->pid, UINT32_MAX, clock, &e) == 0);
	MUST(e.seen && !e.vanished);
	MUST(e.state == 'S' && e.ids_known && e.uids[0] == 0 && e.ppid == getppid());
	MUST(e.signals_known && e.asleep == TRI_YES && e.main_switches != UNKNOWN_U64);
	MUST(e.rss_bytes != UNKNOWN_U64 && e.cpu_ns != UNKNOWN_U64 && e.cgroup);
	MUST(e.exe.ino == 0 && e.pid_ns == 0 && e.net_ns == 0);
	MUST(e.fds_known == TRI_NO && e.socket_count == 0);
	MUST(!e.main.known && e.main.nr == 0 && e.main.wchan[0] == '\0');
	MUST(e.pss_bytes == UNKNOWN_U64);
	MUST(evidence_held_among(dirfd, &(uint64_t){ 1 }, 1, &(bool){ false }) < 0);
	_exit(0);
}

Test(evidence_fds, denied_is_unknown)
{
	struct inspection in = { 0 };

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	in.pid = live_start(hold_sockets, NULL);
	live_await_state(in.pid, 'S');
	cr_expect_eq(live_wait(live_start(inspect_denied, &in)), 0);
	live_end(in.pid);
}

/* CAP_SYS_PTRACE alone: fd/ may not be listed, fdinfo/ may. */
static void inspect_by_info(void *arg)
{
	const struct inspection *in = arg;
	struct held_socket tcp;
	struct evidence e;
	bool held = false;
	int dirfd;

	become_nobody(in->caps);
	live_ready();
	dirfd = pin_open(in->pid);
	MUST(dirfd >= 0);
	MUST(evidence_look(dirfd, in->pid, EVIDENCE_SOCKETS | EVIDENCE_WAITS, NULL, &e) == 0);
	MUST(e.exe.ino != 0 && e.net_ns != 0);
	MUST(openat(dirfd, "fd", O_RDONLY | O_DIRECTORY) < 0);
	MUST(e.fds_known == TRI_YES);
	tcp = held_at(&e, FD_TCP);
	MUST(tcp.ino && tcp.fds == 3 && tcp.tcp == TRI_UNKNOWN);
	MUST(held_at(&e, FD_UNIX).ino);
	MUST(!held_at(&e, 0).ino && !held_at(&e, 1).ino);
	/* One that has just fallen asleep on a busy CPU shows none for a moment. */
	for (int i = 0; i < 1000 && !e.main.wchan[0]; i++) {
		evidence_done(&e);
		live_sleep_ms(5);
		MUST(evidence_look(dirfd, in->pid, EVIDENCE_SOCKETS | EVIDENCE_WAITS, NULL, &e) ==
		     0);
	}
	MUST(!e.main.known && e.main.wchan[0]);
	MUST(evidence_held_among(dirfd, &tcp.ino, 1, &held) == 0 && held);
	held = false;
	MUST(evidence_held_among(dirfd, &(uint64_t){ 1 }, 1, &held) == 0 && !held);
	_exit(0);
}

static void hold_files_too(void *arg)
{
	int fds[2];

	/* Neither a pipe nor a file is a socket, whatever its inode. */
	if (pipe(fds) < 0 || dup2(fds[0], 0) < 0 || dup2(open("/", O_RDONLY), 1) < 0)
		_exit(1);
	hold_sockets(arg);
}

Test(evidence_fds, without_fd_the_fdinfo_tells)
{
	struct inspection in = { .caps = UINT64_C(1) << CAP_SYS_PTRACE };

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	in.pid = live_start(hold_files_too, NULL);
	live_await_state(in.pid, 'S');
	cr_expect_eq(live_wait(live_start(inspect_by_info, &in)), 0);
	live_end(in.pid);
}

struct mortal {
	int go[2]; /* a pipe: a byte in it lets it end */
	unsigned turns;
};

static void die_when_told(void *arg)
{
	const struct mortal *m = arg;
	char byte;

	live_ready();
	if (read(m->go[0], &byte, 1) != 1)
		_exit(1);
	for (volatile unsigned i = 0; i < m->turns; i++)
		;
	_exit(0);
}

/* One look at a process. @return whether it was still there. */
static bool look_at_mortal(int dirfd, pid_t pid, uint64_t *start)
{
	struct evidence e;
	bool there;

	cr_assert_eq(evidence_look(dirfd, pid, UINT32_MAX, NULL, &e), 0);
	there = !e.vanished;
	if (there) {
		cr_assert_gt(e.id.start, 0);
		cr_assert(!*start || e.id.start == *start);
		cr_assert(e.state);
		*start = e.id.start;
	}
	evidence_done(&e);
	return there;
}

/* It may go between any two reads: each look says so, or gives all that it had. */
Test(evidence_fds, one_that_goes_while_it_is_looked_at)
{
	signal(SIGCHLD, SIG_IGN);
	for (unsigned i = 0; i < 300; i++) {
		struct mortal m = { .turns = i * 500 };
		_cleanup_close_ int dirfd = -EBADF;
		uint64_t start = 0;
		pid_t pid;

		cr_assert_eq(pipe(m.go), 0);
		pid = live_start(die_when_told, &m);
		dirfd = pin_open(pid);
		cr_assert_geq(dirfd, 0);
		cr_assert(look_at_mortal(dirfd, pid, &start), "nobody has told it to end");
		cr_assert_eq(write(m.go[1], "", 1), 1);
		while (look_at_mortal(dirfd, pid, &start))
			;
		cr_assert_not(look_at_mortal(dirfd, pid, &start), "it came back");
		close(m.go[0]);
		close(m.go[1]);
	}
}

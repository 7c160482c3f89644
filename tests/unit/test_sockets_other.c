/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets, and the tables of processes in other network namespaces. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/sockets.h"

static struct sockets *door;

static void enter(void)
{
	cr_assert_eq(sockets_open(&door), 0);
}

static void leave(void)
{
	sockets_close(door);
}

TestSuite(sockets_other, .init = enter, .fini = leave, .timeout = 60);

static uint64_t ino_of(int fd)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static struct unix_row row_of(int fd)
{
	_cleanup_(socket_table_done) struct socket_table t = { 0 };
	const struct unix_row *row;

	cr_assert_eq(sockets_dump(door, &t), 0);
	cr_assert(t.unix_known);
	row = socket_table_unix(&t, ino_of(fd));
	cr_assert_not_null(row);
	return *row;
}

Test(sockets_other, both_ends_of_a_unix_pair)
{
	struct unix_row row;
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(write(fds[0], "hello world", 11), 11);
	row = row_of(fds[1]);
	cr_expect(row.peer_known);
	cr_expect_eq(row.peer_ino, ino_of(fds[0]));
	cr_expect_eq(row.recv_queue, 11, "bytes");
	cr_expect_str_eq(row.path, "");
	row = row_of(fds[0]);
	cr_expect_eq(row.peer_ino, ino_of(fds[1]));
	cr_expect_eq(row.recv_queue, 0);
	cr_expect_gt(row.send_queue, 11, "not bytes, but not nothing");
	cr_assert_eq(read(fds[1], (char[5]){ 0 }, 5), 5);
	cr_expect_eq(row_of(fds[1]).recv_queue, 6);
	cr_assert_eq(read(fds[1], (char[6]){ 0 }, 6), 6);
	cr_expect_eq(row_of(fds[0]).send_queue, 0);
	fs_close(&fds[0]);
	row = row_of(fds[1]);
	cr_expect(row.peer_known);
	cr_expect_eq(row.peer_ino, 0, "its peer is closed");
	fs_close(&fds[1]);
}

/* Binds, listens, connects and accepts; gives the row of each end. */
static void check_named(struct sockaddr_un *sa, socklen_t len, const char *shown)
{
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), server;

	cr_assert_eq(bind(listener, (struct sockaddr *)sa, len), 0);
	cr_assert_eq(listen(listener, 8), 0);
	cr_assert_eq(connect(client, (struct sockaddr *)sa, len), 0);
	cr_expect_eq(row_of(client).peer_ino, 0, "not yet accepted");
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_expect(row_of(listener).listening);
	cr_expect_str_eq(row_of(listener).path, shown);
	cr_expect_not(row_of(server).listening);
	cr_expect_str_eq(row_of(server).path, shown, "the accepted end bears the listener's name");
	cr_expect_str_eq(row_of(client).path, "");
	cr_expect_eq(row_of(client).peer_ino, ino_of(server));
	fs_close(&client);
	fs_close(&server);
	fs_close(&listener);
}

Test(sockets_other, unix_names)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char shown[64];
	int len;

	len = snprintf(sa.sun_path, sizeof(sa.sun_path), "/tmp/reaper-sockets-%d", getpid());
	check_named(&sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len + 1),
		    sa.sun_path);
	unlink(sa.sun_path);
	len = snprintf(shown, sizeof(shown), "@reaper-sockets-%d@x", getpid());
	memcpy(sa.sun_path, shown, (size_t)len);
	sa.sun_path[0] = '\0';
	sa.sun_path[len - 2] = '\0';
	check_named(&sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len), shown);
}

Test(sockets_other, datagrams_are_left_out)
{
	_cleanup_(socket_table_done) struct socket_table t = { 0 };
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(sockets_dump(door, &t), 0);
	cr_expect_null(socket_table_unix(&t, ino_of(fds[0])));
	fs_close(&fds[0]);
	fs_close(&fds[1]);
}

static int listen_any(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 8) < 0)
		return -1;
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin_port);
}

static struct socket_table read_of(pid_t pid)
{
	_cleanup_close_ int dirfd = pin_open(pid);
	struct socket_table t;

	cr_assert_eq(sockets_read_proc(dirfd, &t), 0);
	return t;
}

/* Of sockets of our own: another's may change its ends between two reads, and stands there twice. */
static unsigned times_inet(const struct socket_table *t, uint64_t ino)
{
	unsigned times = 0;

	for (size_t i = 0; i < t->inet_count; i++)
		times += t->inet[i].ino == ino;
	return times;
}

static unsigned times_unix(const struct socket_table *t, uint64_t ino)
{
	unsigned times = 0;

	for (size_t i = 0; i < t->unix_count; i++)
		times += t->unix_rows[i].ino == ino;
	return times;
}

Test(sockets_other, proc_tells_the_same)
{
	_cleanup_(socket_table_done) struct socket_table t = { 0 }, by_diag = { 0 };
	int listener = listen_any(), pair[2];
	const struct inet_row *row;
	const struct unix_row *local;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	t = read_of(getpid());
	cr_assert_eq(sockets_dump(door, &by_diag), 0);
	cr_expect(t.inet_known && t.unix_known);
	cr_expect_not(t.by_diag);
	cr_expect_eq(t.net_ns, by_diag.net_ns);
	row = socket_table_inet(&t, ino_of(listener));
	cr_assert_not_null(row);
	cr_expect_eq(row->local.port, port_of(listener));
	cr_expect_eq(row->state, TCP_STATE_LISTEN);
	cr_expect_not(row->ages_known);
	local = socket_table_unix(&t, ino_of(pair[0]));
	cr_assert_not_null(local);
	cr_expect_not(local->peer_known);
	cr_expect_eq(times_inet(&t, ino_of(listener)), 1, "once, though read three times");
	cr_expect_eq(times_unix(&t, ino_of(pair[0])), 1, "once, though read three times");
	fs_close(&listener);
	fs_close(&pair[0]);
	fs_close(&pair[1]);
}

static void listen_elsewhere(void *arg)
{
	int fd;

	live_need(unshare(CLONE_NEWNET) == 0);
	fd = listen_any();
	if (fd < 0 || dup2(fd, *(int *)arg) < 0)
		_exit(1);
	live_pause(NULL);
}

Test(sockets_other, another_network_namespace)
{
	_cleanup_(socket_table_done) struct socket_table ours = { 0 }, theirs = { 0 };
	unsigned listeners = 0;
	int at = 100;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("only root can make a network namespace");
	pid = live_start(listen_elsewhere, &at);
	cr_assert_eq(sockets_dump(door, &ours), 0);
	theirs = read_of(pid);
	cr_expect(theirs.inet_known && theirs.unix_known);
	cr_expect_neq(theirs.net_ns, ours.net_ns);
	cr_expect_neq(theirs.net_ns, 0);
	cr_expect_eq(theirs.inet_count, 1, "the one that it listens on");
	for (size_t i = 0; i < theirs.inet_count; i++) {
		listeners += theirs.inet[i].state == TCP_STATE_LISTEN;
		cr_expect_null(socket_table_inet(&ours, theirs.inet[i].ino));
	}
	cr_expect_eq(listeners, 1);
	live_end(pid);
}

Test(sockets_other, of_one_that_is_gone_nothing_is_known)
{
	pid_t pid = live_start(live_pause, NULL);
	_cleanup_close_ int dirfd = pin_open(pid);
	struct socket_table t;

	live_end(pid);
	cr_assert_eq(sockets_read_proc(dirfd, &t), 0);
	cr_expect_not(t.inet_known);
	cr_expect_not(t.unix_known);
	cr_expect_eq(t.inet_count, 0);
	socket_table_done(&t);
}

/* A path with a newline makes a line of its own choice: it must not spoil the table. */
Test(sockets_other, a_newline_in_a_path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	_cleanup_(socket_table_done) struct socket_table t = { 0 };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "reaper\n%d: garbage", getpid());
	cr_assert_eq(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	cr_assert_eq(listen(listener, 8), 0);
	t = read_of(getpid());
	cr_expect(t.unix_known);
	cr_expect_not_null(socket_table_unix(&t, ino_of(listener)));
	fs_close(&listener);
}

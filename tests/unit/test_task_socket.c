/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/task_socket.h"

#include <criterion/criterion.h>
#include <string.h>

#include "socket_row.h"

static const struct {
	const char *why;
	uint64_t want_ino; /* 0: none was chosen */
	enum socket_state state;
	enum transport transport;
	bool by_name;
	bool no_table, inet_unknown, unix_unknown;
	enum tri fds_known, same_net_ns; /* TRI_UNKNOWN stands for TRI_YES; NOT_READ for unknown */
	uint16_t port;
	const char *path;
	struct held_socket held[HELD_MAX];
	struct inet_row inet[ROWS_MAX];
	struct unix_row local[ROWS_MAX];
} choices[] = {
	{ .why = "the tables cannot be had",
	  .no_table = true,
	  .port = PORT,
	  .held = { IN_PROTOCOL } },
	{ .why = "not all of its descriptors were seen",
	  .fds_known = TRI_NO,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "whether all were seen is not known",
	  .fds_known = NOT_READ,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "it lives in another network namespace than its daemon",
	  .same_net_ns = TRI_NO,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "whether it does is not known",
	  .same_net_ns = NOT_READ,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "its local port is its daemon's",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .by_name = true,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "one descriptor is enough for the port's word",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .by_name = true,
	  .port = PORT,
	  .held = { HELD(TASK_INO, 4, 1) },
	  .inet = { WORKER_END } },
	{ .why = "a connection that user code opened stands before it",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .by_name = true,
	  .port = PORT,
	  .held = { HELD(900, 3, 3), HELD(TASK_INO, 7, 3) },
	  .inet = { INET(900, LOOPBACK(40000), LOOPBACK(6379), ESTABLISHED), WORKER_END } },
	{ .why = "the daemon's listener, inherited, is no connection",
	  .state = SOCKET_NONE,
	  .port = PORT,
	  .held = { HELD(901, 3, 3) },
	  .inet = { INET(901, LOOPBACK(PORT), ANY, LISTEN) } },
	{ .why = "a unix socket carries its daemon's path",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_UNIX,
	  .by_name = true,
	  .path = PATH,
	  .held = { IN_PROTOCOL },
	  .local = { LOCAL(TASK_INO, 800, PATH) } },
	{ .why = "another path is somebody else's",
	  .state = SOCKET_NONE,
	  .path = PATH,
	  .held = { IN_PROTOCOL },
	  .local = { LOCAL(TASK_INO, 800, "/tmp/other") } },
	{ .why = "a path that is not known is nobody's: its descriptors decide",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_UNIX,
	  .path = "",
	  .held = { IN_PROTOCOL },
	  .local = { LOCAL(TASK_INO, 800, PATH) } },
	{ .why = "the daemon's unix listener is no connection",
	  .state = SOCKET_NONE,
	  .path = PATH,
	  .held = { IN_PROTOCOL },
	  .local = { LISTENER(TASK_INO, PATH) } },

	{ .why = "reset: in no table, but on three descriptors",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .port = PORT,
	  .held = { { TASK_INO, 3, 3, 3, TRI_YES } } },
	{ .why = "in no table, and no word from its xattr",
	  .want_ino = TASK_INO,
	  .port = PORT,
	  .held = { { TASK_INO, 3, 3, 3, TRI_UNKNOWN } } },
	{ .why = "in no table, and of another protocol",
	  .want_ino = TASK_INO,
	  .port = PORT,
	  .held = { { TASK_INO, 3, 3, 3, TRI_NO } } },
	{ .why = "two descriptors are not the protocol",
	  .state = SOCKET_NONE,
	  .port = PORT,
	  .held = { { TASK_INO, 3, 2, 2, TRI_YES } } },
	{ .why = "standard input is not counted",
	  .state = SOCKET_NONE,
	  .port = PORT,
	  .held = { { TASK_INO, 0, 2, 3, TRI_YES } } },
	{ .why = "a socket on standard input only is passed over",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .port = PORT,
	  .held = { { 902, 0, 0, 3, TRI_YES }, { TASK_INO, 3, 3, 3, TRI_YES } } },
	{ .why = "the lowest socket only: a higher one is the user's",
	  .state = SOCKET_NONE,
	  .port = PORT,
	  .held = { { 902, 3, 1, 1, TRI_YES }, { TASK_INO, 4, 3, 3, TRI_YES } } },
	{ .why = "the port is known, and this is another connection",
	  .state = SOCKET_NONE,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .inet = { INET(TASK_INO, LOOPBACK(40000), LOOPBACK(6379), ESTABLISHED) } },
	{ .why = "the port is known, and this is a unix socket",
	  .state = SOCKET_NONE,
	  .port = PORT,
	  .held = { IN_PROTOCOL },
	  .local = { LOCAL(TASK_INO, 800, "/tmp/other") } },
	{ .why = "the path is known, and this is a TCP connection",
	  .state = SOCKET_NONE,
	  .path = PATH,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "an orphan's, the port died with its daemon",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .held = { IN_PROTOCOL },
	  .inet = { WORKER_END } },
	{ .why = "a daemon's port that is not known is no port 0",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_TCP,
	  .held = { IN_PROTOCOL },
	  .inet = { INET(TASK_INO, LOOPBACK(0), LOOPBACK(HOST_PORT), ESTABLISHED) } },
	{ .why = "a unix daemon's worker with a socket in no table",
	  .want_ino = TASK_INO,
	  .path = PATH,
	  .held = { IN_PROTOCOL } },
	{ .why = "an orphan's unix socket",
	  .want_ino = TASK_INO,
	  .transport = TRANSPORT_UNIX,
	  .held = { IN_PROTOCOL },
	  .local = { LOCAL(TASK_INO, 800, PATH) } },
	{ .why = "a unix socket without a name was connected by the worker",
	  .state = SOCKET_NONE,
	  .held = { IN_PROTOCOL },
	  .local = { LOCAL(TASK_INO, 800, "") } },
	{ .why = "a unix socket that listens is no connection, and has no peer that could be gone",
	  .state = SOCKET_NONE,
	  .held = { IN_PROTOCOL },
	  .local = { LISTENER(TASK_INO, "/tmp/mine") } },
	{ .why = "it holds no socket at all", .state = SOCKET_NONE, .port = PORT },
	{ .why = "no socket, but the TCP tables could not be read",
	  .inet_unknown = true,
	  .port = PORT },
	{ .why = "no socket, but the unix table could not be read",
	  .unix_unknown = true,
	  .port = PORT },
};

static enum tri read_as(enum tri row)
{
	return row == TRI_UNKNOWN ? TRI_YES : row == NOT_READ ? TRI_UNKNOWN : row;
}

Test(task_socket, choose)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		const char *why = choices[i].why;
		struct socket_fixture x;
		struct task_socket got;
		struct task_socket_input in;

		socket_fixture(&x, choices[i].held, choices[i].inet, choices[i].local);
		x.table.inet_known = !choices[i].inet_unknown;
		x.table.unix_known = !choices[i].unix_unknown;
		x.worker.fds_known = read_as(choices[i].fds_known);
		in = (struct task_socket_input){
			.worker = &x.worker,
			.table = choices[i].no_table ? NULL : &x.table,
			.same_net_ns = read_as(choices[i].same_net_ns),
			.port = choices[i].port,
			.path = choices[i].path ? choices[i].path : "",
		};
		task_socket_choose(&in, &got);
		cr_expect_eq(got.ino, choices[i].want_ino, "%s: %lu", why, got.ino);
		cr_expect_eq(got.state, choices[i].state, "%s: %s", why,
			     socket_state_name(got.state));
		cr_expect_eq(got.transport, choices[i].transport, "%s: %d", why, got.transport);
		cr_expect_eq(got.by_name, choices[i].by_name, "%s", why);
		cr_expect_eq(got.fd >= 0, got.ino != 0, "%s", why);
		cr_expect_eq(got.host_held, TRI_UNKNOWN, "%s: not judged yet", why);
		cr_expect_eq(got.recv_queue, UNKNOWN_U64, "%s: not judged yet", why);
	}
}

Test(task_socket, choose_fills_in_what_is_known)
{
	const struct held_socket held[HELD_MAX] = { { TASK_INO, 4, 1, 2, TRI_YES } };
	const struct inet_row inet[ROWS_MAX] = { WORKER_END };
	const struct unix_row none[ROWS_MAX] = { 0 };
	struct socket_fixture x;
	struct task_socket got;
	struct task_socket_input in;

	socket_fixture(&x, held, inet, none);
	in = (struct task_socket_input){ &x.worker, &x.table, TRI_YES, PORT, "", 0 };
	task_socket_choose(&in, &got);
	cr_expect_eq(got.fd, 4, "the lowest descriptor");
	cr_expect_eq(got.fds, 2, "descriptors 0 to 2 count too: another one that reads");
	cr_expect_eq(got.local.port, PORT);
	cr_expect_eq(got.remote.port, HOST_PORT);
	cr_expect_eq(got.silent_ms, UNKNOWN_U64);
	cr_expect_eq(got.hangup_ms, UNKNOWN_U64);
	cr_expect_eq(got.send_queue, UNKNOWN_U64);
	cr_expect_eq(got.host_recv_queue, UNKNOWN_U64);
}

static const struct {
	const char *why;
	bool no_table;
	uint16_t port;
	const char *path;
	struct held_socket held[HELD_MAX];
	struct inet_row inet[ROWS_MAX];
	struct unix_row local[ROWS_MAX];
} listeners[] = {
	{ .why = "no table", .no_table = true, .held = { HELD(1, 3, 1) } },
	{ .why = "no socket" },
	{ .why = "TCP",
	  .port = PORT,
	  .held = { HELD(1, 3, 1) },
	  .inet = { INET(1, LOOPBACK(PORT), ANY, LISTEN) } },
	{ .why = "unix", .path = PATH, .held = { HELD(1, 3, 1) }, .local = { LISTENER(1, PATH) } },
	{ .why = "a connection is no listener",
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .inet = { INET(1, LOOPBACK(PORT), LOOPBACK(9), ESTABLISHED) },
	  .local = { LOCAL(2, 800, PATH) } },
	{ .why = "one port, twice",
	  .port = PORT,
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .inet = { INET(1, LOOPBACK(PORT), ANY, LISTEN), INET(2, LOOPBACK(PORT), ANY, LISTEN) } },
	{ .why = "one path, twice",
	  .path = PATH,
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .local = { LISTENER(1, PATH), LISTENER(2, PATH) } },
	{ .why = "of two ports neither",
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .inet = { INET(1, LOOPBACK(PORT), ANY, LISTEN), INET(2, LOOPBACK(9), ANY, LISTEN) } },
	{ .why = "of two paths neither",
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .local = { LISTENER(1, PATH), LISTENER(2, "/tmp/debugger") } },
	{ .why = "a port, then a path",
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .inet = { INET(1, LOOPBACK(PORT), ANY, LISTEN) },
	  .local = { LISTENER(2, PATH) } },
	{ .why = "a path, then a port",
	  .held = { HELD(1, 3, 1), HELD(2, 4, 1) },
	  .inet = { INET(2, LOOPBACK(PORT), ANY, LISTEN) },
	  .local = { LISTENER(1, PATH) } },
};

Test(task_socket, listener)
{
	for (size_t i = 0; i < ARRAY_SIZE(listeners); i++) {
		struct socket_fixture x;
		uint16_t port = 77;
		const char *path;

		socket_fixture(&x, listeners[i].held, listeners[i].inet, listeners[i].local);
		path = task_socket_listener(&x.worker, listeners[i].no_table ? NULL : &x.table,
					    &port);
		cr_expect_eq(port, listeners[i].port, "%s: %d", listeners[i].why, port);
		cr_expect_str_eq(path, listeners[i].path ? listeners[i].path : "", "%s",
				 listeners[i].why);
	}
}

#define LAST_LOOP                                                                         \
	{                                                                                 \
		.known = true, .nr = SYS_recvfrom, .args = { 4, 0x7f0000001000, 1024, 0 } \
	}
#define WAITS(...)                                                         \
	{                                                                  \
		.known = true, .nr = SYS_recvfrom, .args = { __VA_ARGS__ } \
	}

static const struct {
	const char *why;
	bool want;
	struct wait wait;
	struct task_socket socket;
} calls[] = {
	{ "the last loop of the protocol", true, LAST_LOOP, { .ino = 1, .fd = 4, .fds = 1 } },
	{ "no task socket", false, LAST_LOOP, { .ino = 0, .fd = 4, .fds = 1 } },
	{ "the socket is still on three descriptors",
	  false,
	  LAST_LOOP,
	  { .ino = 1, .fd = 4, .fds = 3 } },
	{ "another thread may hold a second one",
	  false,
	  LAST_LOOP,
	  { .ino = 1, .fd = 4, .fds = 2 } },
	{ "the call could not be read",
	  false,
	  { .known = false, .nr = SYS_recvfrom, .args = { 4, 0, 1024, 0 } },
	  { .ino = 1, .fd = 4, .fds = 1 } },
	{ "a pooled worker is in read",
	  false,
	  { .known = true, .nr = SYS_read, .args = { 4, 0, 1024, 0 } },
	  { .ino = 1, .fd = 4, .fds = 1 } },
	{ "user code receives from another socket",
	  false,
	  WAITS(5, 0, 1024, 0),
	  { .ino = 1, .fd = 4, .fds = 1 } },
	{ "user code receives another number of bytes",
	  false,
	  WAITS(4, 0, 65536, 0),
	  { .ino = 1, .fd = 4, .fds = 1 } },
	{ "user code only peeks", false, WAITS(4, 0, 1024, 2), { .ino = 1, .fd = 4, .fds = 1 } },
};

Test(task_socket, signed_off)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct evidence e = { .main = calls[i].wait };

		cr_expect_eq(task_socket_signed_off(&e, &calls[i].socket), calls[i].want, "%s",
			     calls[i].why);
	}
}

/* Nobody feeds it, so nothing waits and nobody hung up. */
Test(task_socket, none)
{
	struct task_socket s;

	memset(&s, 0xff, sizeof(s));
	task_socket_none(&s);
	cr_expect_eq(s.state, SOCKET_NONE);
	cr_expect_eq(s.host_held, TRI_NO);
	cr_expect_eq(s.ino, 0);
	cr_expect_eq(s.fd, -1);
	cr_expect_eq(s.recv_queue, 0);
	cr_expect_eq(s.send_queue, 0);
	cr_expect_eq(s.silent_ms, UNKNOWN_U64);
	cr_expect_eq(s.hangup_ms, UNKNOWN_U64);
}

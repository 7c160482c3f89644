/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task sockets that are no TCP connection in a table: unix, reset, none at all.
 */
#include <criterion/criterion.h>

#include "correlate/task_socket.h"
#include "socket_row.h"

static const struct {
	const char *why;
	enum socket_state state;
	enum tri held;
	uint64_t host_recv;
	struct unix_row local[ROWS_MAX];
} unix_sockets[] = {
	{ "pooled: the host holds its end",
	  SOCKET_ESTABLISHED,
	  TRI_YES,
	  5,
	  { LOCAL(TASK_INO, HOST_INO, PATH), { .ino = HOST_INO, .recv_queue = 5 } } },
	{ "the peer's own row is missing from the dump",
	  SOCKET_ESTABLISHED,
	  TRI_YES,
	  UNKNOWN_U64,
	  { LOCAL(TASK_INO, HOST_INO, PATH) } },
	{ "hung up: the state says nothing, the peer does",
	  SOCKET_PEER_CLOSED,
	  TRI_NO,
	  UNKNOWN_U64,
	  { LOCAL(TASK_INO, 0, PATH) } },
	{ "/proc does not show peers",
	  SOCKET_UNKNOWN,
	  TRI_UNKNOWN,
	  UNKNOWN_U64,
	  { { .ino = TASK_INO, .path = PATH } } },
};

Test(task_socket_kinds, unix_sockets)
{
	const struct held_socket held[HELD_MAX] = { IN_PROTOCOL };
	const struct inet_row none[ROWS_MAX] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(unix_sockets); i++) {
		const struct task_socket_lookup lookup = { .found = TRI_UNKNOWN };
		const char *why = unix_sockets[i].why;
		struct task_socket_input in;
		struct socket_fixture x;
		struct task_socket got;

		socket_fixture(&x, held, none, unix_sockets[i].local);
		x.local[0].recv_queue = 3;
		x.local[0].send_queue = 4;
		in = (struct task_socket_input){ &x.worker, &x.table, TRI_YES, 0, PATH, 0 };
		task_socket_choose(&in, &got);
		task_socket_judge(&in, &lookup, NULL, &got);
		cr_expect_eq(got.state, unix_sockets[i].state, "%s: %s", why,
			     socket_state_name(got.state));
		cr_expect_eq(got.host_held, unix_sockets[i].held, "%s", why);
		cr_expect_eq(got.host_recv_queue, unix_sockets[i].host_recv, "%s: %lu", why,
			     got.host_recv_queue);
		cr_expect_eq(got.recv_queue, 3, "%s", why);
		cr_expect_eq(got.send_queue, 4, "%s", why);
		cr_expect_eq(got.silent_ms, UNKNOWN_U64, "unix sockets have no ages");
	}
}

static const struct {
	const char *why;
	enum socket_state state;
	enum tri tcp;
	bool no_own, own_unknown;
	struct inet_row own[ROWS_MAX];
} resets[] = {
	{ "closed with rows unread: in no table of its own",
	  SOCKET_GONE,
	  TRI_YES,
	  false,
	  false,
	  { OTHER } },
	{ "an empty table is one", SOCKET_GONE, TRI_YES, false, false, { { 0 } } },
	{ "its xattr does not say TCP", SOCKET_UNKNOWN, TRI_NO, false, false, { OTHER } },
	{ "its xattr could not be read", SOCKET_UNKNOWN, TRI_UNKNOWN, false, false, { OTHER } },
	{ "its own tables were not asked", SOCKET_UNKNOWN, TRI_YES, true, false, { OTHER } },
	{ "its own tables could not be read", SOCKET_UNKNOWN, TRI_YES, false, true, { OTHER } },
	{ "one of three reads shows it: a dump had skipped it",
	  SOCKET_UNKNOWN,
	  TRI_YES,
	  false,
	  false,
	  { WORKER_END } },
};

Test(task_socket_kinds, resets)
{
	const struct unix_row none[ROWS_MAX] = { 0 };
	const struct inet_row inet[ROWS_MAX] = { OTHER, OTHERS_HOST };

	for (size_t i = 0; i < ARRAY_SIZE(resets); i++) {
		const struct held_socket held[HELD_MAX] = { { TASK_INO, 3, 3, 3, resets[i].tcp } };
		const struct task_socket_lookup lookup = { .found = TRI_UNKNOWN };
		bool gone = resets[i].state == SOCKET_GONE;
		struct socket_fixture x, own;
		struct task_socket_input in;
		struct task_socket got;

		socket_fixture(&x, held, inet, none);
		socket_fixture(&own, held, resets[i].own, none);
		own.table.inet_known = !resets[i].own_unknown;
		if (resets[i].own_unknown)
			own.table.inet_count = 0;
		in = (struct task_socket_input){ &x.worker, &x.table, TRI_YES, PORT, "", 0 };
		task_socket_choose(&in, &got);
		cr_assert_eq(got.ino, TASK_INO);
		task_socket_judge(&in, &lookup, resets[i].no_own ? NULL : &own.table, &got);
		cr_expect_eq(got.state, resets[i].state, "%s: %s", resets[i].why,
			     socket_state_name(got.state));
		cr_expect_eq(got.host_held, gone ? TRI_NO : TRI_UNKNOWN, "%s", resets[i].why);
		cr_expect_eq(got.recv_queue, gone ? 0 : UNKNOWN_U64, "%s", resets[i].why);
		cr_expect_eq(got.send_queue, gone ? 0 : UNKNOWN_U64, "%s", resets[i].why);
	}
}

Test(task_socket_kinds, without_a_task_socket_nothing_is_judged)
{
	const struct task_socket_lookup lookup = ABSENT;
	const struct held_socket held[HELD_MAX] = { { 0 } };
	const struct inet_row inet[ROWS_MAX] = { WORKER(CLOSE_WAIT) };
	const struct unix_row none[ROWS_MAX] = { 0 };
	struct task_socket_input in;
	struct socket_fixture x;
	struct task_socket got;

	socket_fixture(&x, held, inet, none);
	in = (struct task_socket_input){ &x.worker, &x.table, TRI_YES, PORT, "", 0 };
	task_socket_choose(&in, &got);
	task_socket_judge(&in, &lookup, &x.table, &got);
	cr_expect_eq(got.state, SOCKET_NONE);
	cr_expect_eq(got.host_held, TRI_UNKNOWN, "an orphan without a socket: nobody knows");
	in.table = NULL;
	task_socket_choose(&in, &got);
	task_socket_judge(&in, &lookup, NULL, &got);
	cr_expect_eq(got.state, SOCKET_UNKNOWN);
	cr_expect_eq(got.host_held, TRI_UNKNOWN, "nor without tables");
}

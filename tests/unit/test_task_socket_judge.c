/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds the host's end of a task socket, and what that makes of it.
 */
#include <criterion/criterion.h>

#include "correlate/task_socket.h"
#include "socket_row.h"

static const struct row {
	const char *why;
	enum socket_state state;
	enum tri held;
	bool signs_off; /* its main thread is in the last loop of the protocol */
	bool unnamed;   /* found by its descriptors, not by its daemon's port */
	uint64_t closed_ino;
	struct task_socket_lookup lookup;
	struct inet_row inet[ROWS_MAX];
} connections[] = {
	{ .why = "pooled: the host holds its end",
	  .state = SOCKET_ESTABLISHED,
	  .held = TRI_YES,
	  .lookup = FOUND(HOST_INO, ESTABLISHED),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "hung up: nobody's row in FIN_WAIT2",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = FOUND(0, FIN_WAIT2),
	  .inet = { WORKER(CLOSE_WAIT) } },
	{ .why = "hung up more than a minute ago: no row is left",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = ABSENT,
	  .inet = { WORKER(CLOSE_WAIT) } },
	{ .why = "hung up with much unread: FIN_WAIT1, the worker's end still established",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = FOUND(0, FIN_WAIT1),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "inode 0 in any state",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = FOUND(0, ESTABLISHED),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "half shutdown: the host still holds its end",
	  .state = SOCKET_HALF_CLOSED,
	  .held = TRI_YES,
	  .lookup = FOUND(HOST_INO, FIN_WAIT2),
	  .inet = { WORKER(CLOSE_WAIT) } },
	{ .why = "the worker shut its own end",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_YES,
	  .lookup = FOUND(HOST_INO, CLOSE_WAIT),
	  .inet = { WORKER(FIN_WAIT2) } },
	{ .why = "both shut down, nobody holds the host's end",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = FOUND(0, CLOSING),
	  .inet = { WORKER(CLOSING) } },

	{ .why = "established, and no row: the tables may not show hosts' ends at all",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "they do: another connection of the daemon shows both its ends",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), OTHER, OTHERS_HOST } },
	{ .why = "the other connection shows only its worker's end",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), OTHER } },
	{ .why = "the other connection is another port's",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), INET(700, LOOPBACK(50002), LOOPBACK(50001), ESTABLISHED),
		    INET(701, LOOPBACK(50001), LOOPBACK(50002), ESTABLISHED) } },
	{ .why = "a listener is no connection",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), INET(700, LOOPBACK(PORT), LOOPBACK(50001), LISTEN),
		    OTHERS_HOST } },
	{ .why = "nobody holds the other connection's end",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), INET(0, LOOPBACK(PORT), LOOPBACK(50001), TIME_WAIT),
		    OTHERS_HOST } },
	{ .why = "the other end has another address",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), OTHER,
		    INET(701, MAPPED(127, 0, 0, 2, 50001), LOOPBACK(PORT), ESTABLISHED) } },
	{ .why = "the other end talks to another port",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), OTHER,
		    INET(701, LOOPBACK(50001), LOOPBACK(50003), ESTABLISHED) } },
	{ .why = "its own row, and its host's seen a moment ago, are no other connection",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED), HOST(HOST_INO, ESTABLISHED) } },

	{ .why = "no lookup: the table has the host's row",
	  .state = SOCKET_ESTABLISHED,
	  .held = TRI_YES,
	  .inet = { WORKER(ESTABLISHED), HOST(HOST_INO, ESTABLISHED) } },
	{ .why = "no lookup: the table has it, and it is nobody's",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .inet = { WORKER(CLOSE_WAIT), HOST(0, FIN_WAIT2) } },
	{ .why = "no lookup: a row that is missing from a dump proves nothing",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .inet = { WORKER(ESTABLISHED), OTHER, OTHERS_HOST } },
	{ .why = "not even in CLOSE_WAIT",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .inet = { WORKER(CLOSE_WAIT), OTHER, OTHERS_HOST } },
	{ .why = "no lookup, but its host's row was seen to be nobody's before it went",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .closed_ino = TASK_INO,
	  .inet = { WORKER(CLOSE_WAIT) } },
	{ .why = "what was seen of another socket says nothing",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .closed_ino = TASK_INO + 1,
	  .inet = { WORKER(CLOSE_WAIT) } },
	{ .why = "a host that closed has sent its FIN",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .closed_ino = TASK_INO,
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "a row that is there is believed",
	  .state = SOCKET_HALF_CLOSED,
	  .held = TRI_YES,
	  .closed_ino = TASK_INO,
	  .inet = { WORKER(CLOSE_WAIT), HOST(HOST_INO, FIN_WAIT2) } },
	{ .why = "no lookup: a row with another address is another's",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .inet = { WORKER(CLOSE_WAIT),
		    INET(0, MAPPED(127, 0, 0, 2, HOST_PORT), LOOPBACK(PORT), FIN_WAIT2) } },
	{ .why = "the table is older than the lookup, which is believed",
	  .state = SOCKET_ESTABLISHED,
	  .held = TRI_YES,
	  .lookup = FOUND(HOST_INO, ESTABLISHED),
	  .inet = { WORKER(ESTABLISHED), HOST(0, FIN_WAIT2) } },

	{ .why = "IPv6: both ends stay here",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = ABSENT,
	  .inet = { INET(TASK_INO, ONE(PORT), ONE(HOST_PORT), CLOSE_WAIT) } },
	{ .why = "all of 127 is loopback",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = ABSENT,
	  .inet = { INET(TASK_INO, MAPPED(127, 9, 9, 9, PORT), MAPPED(127, 8, 8, 8, HOST_PORT),
			 CLOSE_WAIT) } },
	{ .why = "the host's end is on another machine",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { INET(TASK_INO, LOOPBACK(PORT), MAPPED(10, 0, 0, 1, HOST_PORT), CLOSE_WAIT) } },
	{ .why = "the worker's address is not loopback: the other end may be behind it",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { INET(TASK_INO, MAPPED(10, 0, 0, 2, PORT), LOOPBACK(HOST_PORT), CLOSE_WAIT) } },
	{ .why = "an IPv6 address that only ends like loopback",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .lookup = ABSENT,
	  .inet = { INET(TASK_INO, ONE(PORT), GLOBAL_ONE(HOST_PORT), CLOSE_WAIT) } },

	{ .why = "an orphan's: not yet accepted looks like closed",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .unnamed = true,
	  .lookup = FOUND(0, ESTABLISHED),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "an orphan's: on its way to be accepted",
	  .state = SOCKET_UNKNOWN,
	  .held = TRI_UNKNOWN,
	  .unnamed = true,
	  .lookup = FOUND(0, SYN_RECV),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "an orphan's: a state that only a close leaves",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .unnamed = true,
	  .lookup = FOUND(0, FIN_WAIT1),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "an orphan's: held, so the living host goes on using it",
	  .state = SOCKET_ESTABLISHED,
	  .held = TRI_YES,
	  .unnamed = true,
	  .lookup = FOUND(HOST_INO, ESTABLISHED),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "of its daemon's port: such a state is a close's too",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .lookup = FOUND(0, SYN_RECV),
	  .inet = { WORKER(ESTABLISHED) } },

	{ .why = "signed off, the host holds its end",
	  .state = SOCKET_SIGNED_OFF,
	  .held = TRI_YES,
	  .signs_off = true,
	  .lookup = FOUND(HOST_INO, ESTABLISHED),
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "signed off, and who holds the host's end is not known",
	  .state = SOCKET_SIGNED_OFF,
	  .held = TRI_UNKNOWN,
	  .signs_off = true,
	  .lookup = ABSENT,
	  .inet = { WORKER(ESTABLISHED) } },
	{ .why = "signed off, and the host hung up since",
	  .state = SOCKET_PEER_CLOSED,
	  .held = TRI_NO,
	  .signs_off = true,
	  .lookup = FOUND(0, FIN_WAIT2),
	  .inet = { WORKER(CLOSE_WAIT) } },
};

static void judge(const struct row *r, struct socket_fixture *x, struct task_socket *ret)
{
	const struct held_socket held[HELD_MAX] = { HELD(TASK_INO, 4, r->signs_off ? 1 : 3) };
	const struct unix_row none[ROWS_MAX] = { 0 };
	struct task_socket_input in;

	socket_fixture(x, held, r->inet, none);
	if (r->signs_off)
		x->worker.main = (struct wait){ .known = true,
						.nr = SYS_recvfrom,
						.args = { 4, 0, 1024, 0 } };
	in = (struct task_socket_input){ &x->worker, &x->table,    TRI_YES, r->unnamed ? 0 : PORT,
					 "",         r->closed_ino };
	task_socket_choose(&in, ret);
	cr_assert_eq(ret->ino, TASK_INO, "%s", r->why);
	task_socket_judge(&in, &r->lookup, NULL, ret);
}

Test(task_socket_judge, connections)
{
	for (size_t i = 0; i < ARRAY_SIZE(connections); i++) {
		const struct row *r = &connections[i];
		struct socket_fixture x;
		struct task_socket got;

		judge(r, &x, &got);
		cr_expect_eq(got.state, r->state, "%s: %s, not %s", r->why,
			     socket_state_name(got.state), socket_state_name(r->state));
		cr_expect_eq(got.host_held, r->held, "%s: held %d, not %d", r->why, got.host_held,
			     r->held);
	}
}

static const struct {
	const char *why;
	uint64_t recv, send, host_recv, silent, hangup;
	struct inet_row row, host;
} numbers[] = {
	{ "queues of both ends",
	  7,
	  8,
	  9,
	  UNKNOWN_U64,
	  UNKNOWN_U64,
	  { .state = TCP_STATE_ESTABLISHED, .recv_queue = 7, .send_queue = 8 },
	  { .ino = HOST_INO, .state = TCP_STATE_ESTABLISHED, .recv_queue = 9 } },
	{ "the FIN is no byte",
	  35330,
	  0,
	  0,
	  UNKNOWN_U64,
	  UNKNOWN_U64,
	  { .state = TCP_STATE_CLOSE_WAIT, .recv_queue = 35331 },
	  { .ino = HOST_INO, .state = TCP_STATE_FIN_WAIT2 } },
	{ "a FIN that was taken leaves nothing",
	  0,
	  0,
	  0,
	  UNKNOWN_U64,
	  UNKNOWN_U64,
	  { .state = TCP_STATE_CLOSE_WAIT },
	  { .ino = HOST_INO, .state = TCP_STATE_FIN_WAIT2 } },
	{ "a byte is one while the host's end is open",
	  1,
	  0,
	  0,
	  UNKNOWN_U64,
	  UNKNOWN_U64,
	  { .state = TCP_STATE_ESTABLISHED, .recv_queue = 1 },
	  { .ino = HOST_INO, .state = TCP_STATE_ESTABLISHED } },
	{ "silent since it sent",
	  0,
	  0,
	  0,
	  2000,
	  UNKNOWN_U64,
	  { .state = TCP_STATE_ESTABLISHED,
	    .ages_known = true,
	    .last_sent_ms = 2000,
	    .last_recv_ms = 3000,
	    .last_ack_ms = 1000 },
	  { .ino = HOST_INO, .state = TCP_STATE_ESTABLISHED } },
	{ "silent since it received",
	  0,
	  0,
	  0,
	  3000,
	  UNKNOWN_U64,
	  { .state = TCP_STATE_ESTABLISHED,
	    .ages_known = true,
	    .last_sent_ms = 4000,
	    .last_recv_ms = 3000,
	    .last_ack_ms = 1000 },
	  { .ino = HOST_INO, .state = TCP_STATE_ESTABLISHED } },
	{ "since the FIN",
	  0,
	  0,
	  0,
	  80000,
	  75004,
	  { .state = TCP_STATE_CLOSE_WAIT,
	    .ages_known = true,
	    .last_sent_ms = 80000,
	    .last_recv_ms = 90000,
	    .last_ack_ms = 75004,
	    .recv_queue = 1 },
	  { .state = TCP_STATE_FIN_WAIT2 } },
};

Test(task_socket_judge, queues_and_ages)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const char *why = numbers[i].why;
		struct row r = { .why = why,
				 .lookup = FOUND(0, ESTABLISHED),
				 .inet = { WORKER_END } };
		struct endpoint here = r.inet[0].local, there = r.inet[0].remote;
		struct socket_fixture x;
		struct task_socket got;

		r.inet[0] = numbers[i].row;
		r.inet[0].ino = TASK_INO;
		r.inet[0].local = here;
		r.inet[0].remote = there;
		r.lookup.row = numbers[i].host;
		judge(&r, &x, &got);
		cr_expect_eq(got.recv_queue, numbers[i].recv, "%s: %lu", why, got.recv_queue);
		cr_expect_eq(got.send_queue, numbers[i].send, "%s: %lu", why, got.send_queue);
		cr_expect_eq(got.host_recv_queue, numbers[i].host_recv, "%s: %lu", why,
			     got.host_recv_queue);
		cr_expect_eq(got.silent_ms, numbers[i].silent, "%s: %lu", why, got.silent_ms);
		if (got.silent_ms != UNKNOWN_U64)
			cr_expect_eq(got.read_ms, x.table.read_ms, "%s", why);
		cr_expect_eq(got.hangup_ms, numbers[i].hangup, "%s: %lu", why, got.hangup_ms);
		cr_expect_eq(got.host_ino, numbers[i].host.ino, "%s: %lu", why, got.host_ino);
		cr_expect_eq(got.closing, numbers[i].row.state == TCP_STATE_CLOSE_WAIT, "%s", why);
	}
}

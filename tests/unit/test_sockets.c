/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "live.h"
#include "observe/net_parse.h"
#include "observe/sockets.h"

/* A connection on the loopback, and the listener that made it. */
struct pair {
	int listener;
	int client;
	int server;
	struct endpoint client_end;
	struct endpoint server_end;
};

static struct sockets *door;

static void enter(void)
{
	cr_assert_eq(sockets_open(&door), 0);
}

static void leave(void)
{
	sockets_close(door);
}

TestSuite(sockets, .init = enter, .fini = leave, .timeout = 60);

static uint64_t ino_of(int fd)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static struct endpoint end_of(int fd)
{
	struct sockaddr_in6 sa;
	socklen_t len = sizeof(sa);

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	if (sa.sin6_family == AF_INET6)
		return net_endpoint_v6(&sa.sin6_addr, ntohs(sa.sin6_port));
	return net_endpoint_v4(((struct sockaddr_in *)&sa)->sin_addr.s_addr, ntohs(sa.sin6_port));
}

/* Listens on the loopback. dual: by IPv6, for IPv4 as well. device: bound to it. */
static int listen_on(bool dual, const char *device)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(dual ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int off = 0;

	if (fd < 0)
		cr_skip_test("there is no IPv6 here");
	if (device &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) < 0)
		cr_skip_test("a socket may not be bound to a device here");
	if (dual) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		cr_assert_eq(bind(fd, (struct sockaddr *)&v6, sizeof(v6)), 0);
	} else {
		cr_assert_eq(bind(fd, (struct sockaddr *)&v4, sizeof(v4)), 0);
	}
	cr_assert_eq(listen(fd, 512), 0);
	return fd;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static struct pair pair_by(int listener)
{
	struct pair p = { .listener = listener };

	p.client = connect_to(end_of(listener).port);
	p.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(p.server, 0);
	p.client_end = end_of(p.client);
	p.server_end = end_of(p.server);
	return p;
}

static void pair_done(struct pair *p)
{
	fs_close(&p->client);
	fs_close(&p->server);
	fs_close(&p->listener);
}

static bool endpoint_equal(struct endpoint a, struct endpoint b)
{
	return a.port == b.port && memcmp(&a.addr, &b.addr, sizeof(a.addr)) == 0;
}

static struct socket_table dump(void)
{
	struct socket_table t;

	cr_assert_eq(sockets_dump(door, &t), 0);
	cr_assert(t.inet_known && t.unix_known && t.by_diag);
	for (size_t i = 1; i < t.inet_count; i++)
		cr_assert_leq(t.inet[i - 1].ino, t.inet[i].ino, "sorted");
	for (size_t i = 1; i < t.unix_count; i++)
		cr_assert_leq(t.unix_rows[i - 1].ino, t.unix_rows[i].ino, "sorted");
	return t;
}

static struct inet_row row_of(int fd)
{
	_cleanup_(socket_table_done) struct socket_table t = dump();
	const struct inet_row *row = socket_table_inet(&t, ino_of(fd));

	cr_assert_not_null(row, "descriptor %d is not in the table", fd);
	return *row;
}

/* What was sent arrives by an interrupt's second half, which may have to wait for a CPU. */
static struct inet_row row_in(int fd, unsigned state, uint32_t queue)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct inet_row row = row_of(fd);

	while ((row.state != state || row.recv_queue != queue) && live_now_ms() < until) {
		live_sleep_ms(5);
		row = row_of(fd);
	}
	return row;
}

Test(sockets, both_ends_of_a_connection)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, NULL));
	struct inet_row client, server, listener;
	struct stat ns;

	cr_assert_eq(write(p.client, "hello", 5), 5);
	server = row_in(p.server, TCP_STATE_ESTABLISHED, 5);
	client = row_of(p.client);
	listener = row_of(p.listener);
	cr_expect_eq(client.state, TCP_STATE_ESTABLISHED);
	cr_expect_eq(server.state, TCP_STATE_ESTABLISHED);
	cr_expect_eq(listener.state, TCP_STATE_LISTEN);
	cr_expect(endpoint_equal(client.local, p.client_end));
	cr_expect(endpoint_equal(client.remote, p.server_end));
	cr_expect(endpoint_equal(server.local, p.server_end));
	cr_expect(endpoint_equal(server.remote, p.client_end));
	cr_expect_eq(server.recv_queue, 5);
	cr_expect_eq(client.recv_queue, 0);
	cr_expect(client.ages_known && server.ages_known);
	cr_expect_lt(server.last_recv_ms, 30000);
	cr_assert_eq(stat("/proc/self/ns/net", &ns), 0);
	_cleanup_(socket_table_done) struct socket_table t = dump();
	cr_expect_eq(t.net_ns, ns.st_ino);
}

Test(sockets, the_age_of_a_hang_up)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, NULL));
	uint64_t before = live_now_ms(), elapsed;
	struct inet_row row, other;

	fs_close(&p.client);
	(void)row_in(p.server, TCP_STATE_CLOSE_WAIT, 1);
	live_sleep_ms(700);
	row = row_of(p.server);
	elapsed = live_now_ms() - before;
	cr_expect_eq(row.state, TCP_STATE_CLOSE_WAIT);
	cr_expect_eq(row.recv_queue, 1, "the FIN counts as a byte");
	cr_expect_geq(row.last_ack_ms + 50, 700);
	cr_expect_leq(row.last_ack_ms, elapsed + 50);
	cr_assert_eq(sockets_lookup(door, &p.client_end, &p.server_end, &other), 1);
	cr_expect_eq(other.ino, 0, "nobody holds the other end");
	cr_expect_eq(other.state, TCP_STATE_FIN_WAIT2);
}

Test(sockets, a_half_shutdown_is_held)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, NULL));
	struct inet_row row;

	cr_assert_eq(shutdown(p.client, SHUT_WR), 0);
	cr_expect_eq(row_in(p.server, TCP_STATE_CLOSE_WAIT, 1).state, TCP_STATE_CLOSE_WAIT);
	cr_assert_eq(sockets_lookup(door, &p.client_end, &p.server_end, &row), 1);
	cr_expect_eq(row.ino, ino_of(p.client));
}

Test(sockets, a_full_window_hides_the_hang_up)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, NULL));
	char block[65536] = { 0 };
	struct inet_row row;

	cr_assert_eq(fcntl(p.client, F_SETFL, O_NONBLOCK), 0);
	while (write(p.client, block, sizeof(block)) > 0)
		;
	fs_close(&p.client);
	cr_expect_eq(row_of(p.server).state, TCP_STATE_ESTABLISHED);
	cr_assert_eq(sockets_lookup(door, &p.client_end, &p.server_end, &row), 1);
	cr_expect_eq(row.ino, 0);
}

Test(sockets, a_reset_connection_is_in_no_table)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, NULL));
	_cleanup_(socket_table_done) struct socket_table t = { 0 };
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct inet_row row;

	cr_assert_eq(write(p.server, "unread", 6), 6);
	cr_expect_eq(row_in(p.client, TCP_STATE_ESTABLISHED, 6).recv_queue, 6);
	fs_close(&p.client);
	t = dump();
	while (socket_table_inet(&t, ino_of(p.server)) && live_now_ms() < until) {
		socket_table_done(&t);
		live_sleep_ms(5);
		t = dump();
	}
	cr_expect_null(socket_table_inet(&t, ino_of(p.server)));
	cr_expect_eq(sockets_lookup(door, &p.client_end, &p.server_end, &row), 0);
	cr_expect_eq(sockets_lookup(door, &p.server_end, &p.client_end, &row), 0);
}

Test(sockets, lookup_is_exact)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, NULL));
	struct endpoint nobody = { .addr = p.client_end.addr, .port = 1 };
	struct inet_row row = { .ino = 4711 };
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;

	cr_assert_eq(sockets_lookup(door, &p.server_end, &p.client_end, &row), 1);
	cr_expect_eq(row.ino, ino_of(p.server));
	cr_expect(row.ages_known);
	row.ino = 4711;
	cr_expect_eq(sockets_lookup(door, &p.server_end, &nobody, &row), 0,
		     "the listener on that port is no answer");
	cr_expect_eq(sockets_lookup(door, &nobody, &p.server_end, &row), 0);
	cr_expect_eq(row.ino, 4711, "touched only on success");
	fs_close(&p.client);
	fs_close(&p.server);
	do {
		cr_assert_eq(sockets_lookup(door, &p.client_end, &p.server_end, &row), 1);
	} while (row.state != TCP_STATE_TIME_WAIT && live_now_ms() < until);
	cr_expect_eq(row.state, TCP_STATE_TIME_WAIT);
	cr_expect_eq(row.ino, 0);
}

Test(sockets, v4_mapped_ends_compare)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(true, NULL));
	struct inet_row row;

	cr_expect(endpoint_equal(row_of(p.server).remote, p.client_end),
		  "a row of IPv6 with an address of IPv4");
	cr_expect(endpoint_equal(row_of(p.client).remote, p.server_end));
	cr_assert_eq(sockets_lookup(door, &p.server_end, &p.client_end, &row), 1);
	cr_expect_eq(row.ino, ino_of(p.server), "the socket of IPv6");
	cr_assert_eq(sockets_lookup(door, &p.client_end, &p.server_end, &row), 1);
	cr_expect_eq(row.ino, ino_of(p.client), "the socket of IPv4");
}

Test(sockets, ipv6)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	_cleanup_(pair_done) struct pair p = { .listener = listen_on(true, NULL),
					       .client = -1,
					       .server = -1 };
	struct inet_row row;

	sa.sin6_port = htons(end_of(p.listener).port);
	p.client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(p.client, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		cr_skip_test("there is no ::1 here");
	p.server = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
	p.client_end = end_of(p.client);
	p.server_end = end_of(p.server);
	cr_expect(endpoint_equal(row_of(p.server).remote, p.client_end));
	cr_assert_eq(sockets_lookup(door, &p.client_end, &p.server_end, &row), 1);
	cr_expect_eq(row.ino, ino_of(p.client));
}

/* The kernel finds such a socket only by the number of its device. */
Test(sockets, a_connection_bound_to_a_device_is_not_absent)
{
	_cleanup_(pair_done) struct pair p = pair_by(listen_on(false, "lo"));
	struct inet_row row;

	cr_assert_eq(sockets_lookup(door, &p.server_end, &p.client_end, &row), 1);
	cr_expect_eq(row.ino, ino_of(p.server));
}

Test(sockets, more_than_one_answer_holds)
{
	enum {
		COUNT = 300
	};
	_cleanup_close_ int listener = listen_on(false, NULL);
	_cleanup_(socket_table_done) struct socket_table t = { 0 };
	int fds[COUNT];

	for (int i = 0; i < COUNT; i++)
		fds[i] = connect_to(end_of(listener).port);
	t = dump();
	cr_expect_geq(t.inet_count, 2 * COUNT, "those not yet accepted as well");
	for (int i = 0; i < COUNT; i++) {
		cr_expect_not_null(socket_table_inet(&t, ino_of(fds[i])));
		fs_close(&fds[i]);
	}
}

Test(sockets, one_not_yet_accepted_has_no_inode)
{
	_cleanup_close_ int listener = listen_on(false, NULL);
	_cleanup_close_ int client = connect_to(end_of(listener).port);
	struct endpoint local = end_of(client), remote = end_of(listener);
	struct inet_row row;

	cr_assert_eq(sockets_lookup(door, &remote, &local, &row), 1);
	cr_expect_eq(row.ino, 0);
	cr_expect_eq(row.state, TCP_STATE_ESTABLISHED);
}

Test(sockets, close_takes_nothing)
{
	sockets_close(NULL);
}

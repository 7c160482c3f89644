/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "fixture.h"
#include "observe/diag_parse.h"
#include "observe/net_parse.h"

static char bytes[FIXTURE_MAX];

static const char *show(const struct endpoint *e, char ret[80])
{
	char addr[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &e->addr, addr, sizeof(addr));
	snprintf(ret, 80, "%s %u", addr, e->port);
	return ret;
}

#define V4_TAIL " 00:00000000 00000000     0        0 505354 1 00000000c840bfd8 20 0 0 10 -1"

Test(net_parse, tcp_rows)
{
	static const struct {
		const char *line;
		bool v6;
		int r;
		const char *local, *remote;
		unsigned state, sending, receiving, ino;
		const char *why;
	} rows[] = {
		{ "  18: 0100007F:8841 0100007F:C1D8 01 00000000:00000000" V4_TAIL, false, 0,
		  "::ffff:127.0.0.1 34881", "::ffff:127.0.0.1 49624", 1, 0, 0, 505354,
		  "established" },
		{ "  18: 0100007F:8841 0100007F:C1D8 08 0000000A:00000001" V4_TAIL, false, 0,
		  "::ffff:127.0.0.1 34881", "::ffff:127.0.0.1 49624", 8, 10, 1, 505354,
		  "the FIN counts as a byte" },
		{ "   8: 0100007F:815B 0200007F:A82E 06 00000000:00000000 03:0000146B 00000000     0  "
		  "      0 0 3 00000000a22d0577                                      ",
		  false, 0, "::ffff:127.0.0.1 33115", "::ffff:127.0.0.2 43054", 6, 0, 0, 0,
		  "time wait: nobody's" },
		{ "   6: 00000000:07E8 00000000:0000 0A 00000000:00000000" V4_TAIL, false, 0,
		  "::ffff:0.0.0.0 2024", "::ffff:0.0.0.0 0", 10, 0, 0, 505354, "a listener" },
		{ "12345: 0100007F:8841 0100007F:C1D8 01 00000000:00000000" V4_TAIL, false, 0,
		  "::ffff:127.0.0.1 34881", "::ffff:127.0.0.1 49624", 1, 0, 0, 505354,
		  "a slot of five digits" },
		{ "   6: 0000000000000000FFFF00000100007F:B1A9 0000000000000000FFFF00000100007F:B446 01 "
		  "00000004:00000005" V4_TAIL,
		  true, 0, "::ffff:127.0.0.1 45481", "::ffff:127.0.0.1 46150", 1, 4, 5, 505354,
		  "a v4-mapped row of tcp6 is equal to one of tcp" },
		{ "   6: B80D0120000000000000000001000000:0050 00000000000000000000000001000000:B446 01 "
		  "00000000:00000000" V4_TAIL,
		  true, 0, "2001:db8::1 80", "::1 46150", 1, 0, 0, 505354, "IPv6" },
		{ "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
		  false, -EINVAL, "", "", 0, 0, 0, 0, "the header" },
		{ "  18: 0100007F:8841 0100007F:C1D8 01 00000000:00000000" V4_TAIL, true, -EINVAL,
		  "", "", 0, 0, 0, 0, "not IPv6" },
		{ "   6: B80D0120000000000000000001000000:0050 00000000000000000000000001000000:B446 01 "
		  "00000000:00000000" V4_TAIL,
		  false, -EINVAL, "", "", 0, 0, 0, 0, "not IPv4" },
		{ "  18: 0100007F:8841 0100007F:C1D8 01 00000000:00000000 00:00000000 00000000     0",
		  false, -EINVAL, "", "", 0, 0, 0, 0, "torn before the inode" },
		{ "  18: 0100007F:8841 0100007F:C1D8 01 00000000:00000000 00:00000000 00000000     0       "
		  " 0 5053x",
		  false, -EINVAL, "", "", 0, 0, 0, 0, "a stranger in the inode" },
		{ "  18: 0100007:8841 0100007F:C1D8 01 00000000:00000000" V4_TAIL, false, -EINVAL,
		  "", "", 0, 0, 0, 0, "seven digits of an address" },
		{ "  18: 0100007F:881 0100007F:C1D8 01 00000000:00000000" V4_TAIL, false, -EINVAL,
		  "", "", 0, 0, 0, 0, "three digits of a port" },
		{ "", false, -EINVAL, "", "", 0, 0, 0, 0, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inet_row got = { .ino = 4711 };
		char text[80];

		cr_expect_eq(net_parse_tcp_line(rows[i].line, strlen(rows[i].line), rows[i].v6,
						&got),
			     rows[i].r, "%s", rows[i].why);
		cr_expect_eq(got.ino, rows[i].r ? 4711 : rows[i].ino, "%s", rows[i].why);
		if (rows[i].r)
			continue;
		cr_expect_str_eq(show(&got.local, text), rows[i].local, "%s", rows[i].why);
		cr_expect_str_eq(show(&got.remote, text), rows[i].remote, "%s", rows[i].why);
		cr_expect_eq(got.state, rows[i].state, "%s", rows[i].why);
		cr_expect_eq(got.send_queue, rows[i].sending, "%s", rows[i].why);
		cr_expect_eq(got.recv_queue, rows[i].receiving, "%s", rows[i].why);
		cr_expect_not(got.ages_known, "%s", rows[i].why);
	}
}

Test(net_parse, unix_rows)
{
	static const struct {
		const char *line;
		int r;
		unsigned ino;
		bool listening;
		const char *path;
		const char *why;
	} rows[] = {
		{ "00000000ed750ddf: 00000003 00000000 00000000 0001 03  1144", 0, 1144, false, "",
		  "connected, no name" },
		{ "00000000ed750ddf: 00000002 00000000 00010000 0001 01 123456 /tmp/a b", 0, 123456,
		  true, "/tmp/a b", "a listener, a blank in its path" },
		{ "00000000ed750ddf: 00000002 00000000 00010000 0001 01 1 @a@b", 0, 1, true, "@a@b",
		  "an abstract name" },
		{ "00000000ed750ddf: 00000002 00000000 00000000 0002 01 1 /run/systemd/journal/socket",
		  -ENOENT, 0, false, "", "datagrams" },
		{ "00000000ed750ddf: 00000002 00000000 00000000 0005 01 1", -ENOENT, 0, false, "",
		  "packets" },
		{ "Num       RefCount Protocol Flags    Type St Inode Path", -EINVAL, 0, false, "",
		  "the header" },
		{ "00000000ed750ddf: 00000003 00000000 00000000 0001 03", -EINVAL, 0, false, "",
		  "torn" },
		{ "00000000ed750ddf: 00000003 00000000 00000000 0001 03 12x", -EINVAL, 0, false, "",
		  "a stranger in the inode" },
		{ "second line of a path", -EINVAL, 0, false, "", "a newline in a path" },
		{ "", -EINVAL, 0, false, "", "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unix_row got = { .ino = 4711 };

		cr_expect_eq(net_parse_unix_line(rows[i].line, strlen(rows[i].line), &got),
			     rows[i].r, "%s", rows[i].why);
		cr_expect_eq(got.ino, rows[i].r ? 4711 : rows[i].ino, "%s", rows[i].why);
		cr_expect_eq(got.listening, rows[i].listening, "%s", rows[i].why);
		cr_expect_str_eq(got.path, rows[i].path, "%s", rows[i].why);
		cr_expect_not(got.peer_known, "%s", rows[i].why);
	}
}

Test(net_parse, the_longest_path_and_one_more)
{
	char line[256];
	struct unix_row got;
	int len = snprintf(line, sizeof(line), "0: 00000002 00000000 00010000 0001 01 1 ");

	memset(line + len, 'x', SOCKET_PATH_MAX + 1);
	cr_assert_eq(net_parse_unix_line(line, (size_t)len + SOCKET_PATH_MAX, &got), 0);
	cr_assert_eq(strlen(got.path), SOCKET_PATH_MAX);
	cr_assert_eq(net_parse_unix_line(line, (size_t)len + SOCKET_PATH_MAX + 1, &got), -EINVAL);
}

/* Gives each line of a fixture but the header to a parser; all must be understood. */
static unsigned lines_of(const char *name, int (*parse)(const char *, size_t))
{
	size_t len = fixture_read(name, bytes);
	const char *at = strchr(bytes, '\n') + 1, *newline;
	unsigned count = 0;

	while ((newline = memchr(at, '\n', len - (size_t)(at - bytes)))) {
		cr_expect_eq(parse(at, (size_t)(newline - at)), 0, "line %u of %s", count + 2,
			     name);
		at = newline + 1;
		count++;
	}
	return count;
}

static int parse_v4(const char *line, size_t len)
{
	struct inet_row row;

	return net_parse_tcp_line(line, len, false, &row);
}

static int parse_v6(const char *line, size_t len)
{
	struct inet_row row;

	return net_parse_tcp_line(line, len, true, &row);
}

static int parse_local(const char *line, size_t len)
{
	struct unix_row row;

	return net_parse_unix_line(line, len, &row);
}

Test(net_parse, fixtures)
{
	cr_expect_eq(lines_of("proc/net/tcp", parse_v4), 25);
	cr_expect_eq(lines_of("proc/net/tcp6", parse_v6), 23);
	cr_expect_eq(lines_of("proc/net/unix", parse_local), 5);
}

Test(net_parse, endpoints)
{
	struct endpoint v4 = net_endpoint_v4(htonl(INADDR_LOOPBACK), 80);
	struct in6_addr mapped;
	struct endpoint v6;
	char text[80];

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped);
	v6 = net_endpoint_v6(&mapped, 80);
	cr_assert_str_eq(show(&v4, text), "::ffff:127.0.0.1 80");
	cr_assert_eq(memcmp(&v4.addr, &v6.addr, sizeof(v4.addr)), 0);
	cr_assert_eq(v4.port, v6.port);
}

/* An answer of the kernel as it is built up: payload, then attributes. */
struct answer {
	_Alignas(8) unsigned char bytes[1024];
	size_t len;
};

static void answer_add(struct answer *a, const void *from, size_t len)
{
	memcpy(a->bytes + a->len, from, len);
	a->len += NLMSG_ALIGN(len);
}

static void answer_attr(struct answer *a, unsigned short type, const void *from, size_t len)
{
	struct nlattr head = { .nla_type = type, .nla_len = (unsigned short)(NLA_HDRLEN + len) };

	answer_add(a, &head, sizeof(head));
	answer_add(a, from, len);
}

static struct answer inet_answer(void)
{
	struct inet_diag_msg msg = {
		.idiag_family = AF_INET,
		.idiag_state = TCP_STATE_CLOSE_WAIT,
		.id.idiag_sport = htons(80),
		.id.idiag_dport = htons(8080),
		.id.idiag_src[0] = htonl(INADDR_LOOPBACK),
		.id.idiag_dst[0] = htonl(INADDR_LOOPBACK + 1),
		.idiag_inode = 99,
		.idiag_rqueue = 1,
		.idiag_wqueue = 7,
	};
	struct answer a = { 0 };

	answer_add(&a, &msg, sizeof(msg));
	return a;
}

Test(net_parse, diag_inet)
{
	struct tcp_info info = { .tcpi_last_data_sent = 5,
				 .tcpi_last_data_recv = 6,
				 .tcpi_last_ack_recv = 7 };
	struct answer a = inet_answer();
	struct inet_row row;
	char text[80];

	cr_assert_eq(diag_parse_inet(a.bytes, a.len, &row), 0);
	cr_expect_not(row.ages_known, "no tcp_info came");
	answer_attr(&a, 77, "\1", 1);
	answer_attr(&a, INET_DIAG_INFO, &info, sizeof(info));
	cr_assert_eq(diag_parse_inet(a.bytes, a.len, &row), 0);
	cr_expect_str_eq(show(&row.local, text), "::ffff:127.0.0.1 80");
	cr_expect_str_eq(show(&row.remote, text), "::ffff:127.0.0.2 8080");
	cr_expect_eq(row.ino, 99);
	cr_expect_eq(row.state, TCP_STATE_CLOSE_WAIT);
	cr_expect_eq(row.recv_queue, 1);
	cr_expect_eq(row.send_queue, 7);
	cr_expect(row.ages_known);
	cr_expect_eq(row.last_sent_ms, 5);
	cr_expect_eq(row.last_recv_ms, 6);
	cr_expect_eq(row.last_ack_ms, 7);
}

Test(net_parse, diag_inet_of_other_kernels)
{
	unsigned char info[400] = { 0 };
	struct answer a = inet_answer();
	struct inet_row row;

	answer_attr(&a, INET_DIAG_INFO, info, offsetof(struct tcp_info, tcpi_last_ack_recv));
	cr_assert_eq(diag_parse_inet(a.bytes, a.len, &row), 0);
	cr_expect_not(row.ages_known, "an older one: it ends before the ages");
	a = inet_answer();
	answer_attr(&a, INET_DIAG_INFO, info, sizeof(info));
	cr_assert_eq(diag_parse_inet(a.bytes, a.len, &row), 0);
	cr_expect(row.ages_known, "a later one: it is longer");
}

Test(net_parse, diag_inet_torn)
{
	struct answer a = inet_answer();
	struct inet_row row = { .ino = 4711 };
	size_t plain = a.len;

	for (size_t len = 0; len < plain; len++)
		cr_expect_eq(diag_parse_inet(a.bytes, len, &row), -EINVAL, "%zu bytes", len);
	answer_attr(&a, INET_DIAG_INFO, "12345678", 8);
	for (size_t len = plain + 1; len < a.len; len++)
		cr_expect_eq(diag_parse_inet(a.bytes, len, &row), -EINVAL, "%zu bytes", len);
	a.bytes[plain] = 3;
	cr_expect_eq(diag_parse_inet(a.bytes, a.len, &row), -EINVAL, "shorter than its own head");
	a.bytes[0] = AF_UNIX;
	cr_expect_eq(diag_parse_inet(a.bytes, plain, &row), -EINVAL, "another family");
	cr_expect_eq(row.ino, 4711);
}

static struct answer unix_answer(unsigned char type, unsigned char state)
{
	struct unix_diag_msg msg = {
		.udiag_family = AF_UNIX, .udiag_type = type, .udiag_state = state, .udiag_ino = 99
	};
	struct answer a = { 0 };

	answer_add(&a, &msg, sizeof(msg));
	return a;
}

Test(net_parse, diag_unix)
{
	struct answer a = unix_answer(SOCK_STREAM, TCP_STATE_ESTABLISHED);
	struct unix_diag_rqlen queues = { .udiag_rqueue = 5, .udiag_wqueue = 6 };
	struct unix_row row;
	uint32_t peer = 98;

	cr_assert_eq(diag_parse_unix(a.bytes, a.len, &row), 0);
	cr_expect_not(row.peer_known);
	cr_expect_str_eq(row.path, "");
	answer_attr(&a, UNIX_DIAG_PEER, &peer, sizeof(peer));
	answer_attr(&a, UNIX_DIAG_RQLEN, &queues, sizeof(queues));
	answer_attr(&a, UNIX_DIAG_NAME, "/tmp/x", 6);
	cr_assert_eq(diag_parse_unix(a.bytes, a.len, &row), 0);
	cr_expect_eq(row.ino, 99);
	cr_expect(row.peer_known);
	cr_expect_eq(row.peer_ino, 98);
	cr_expect_eq(row.recv_queue, 5);
	cr_expect_eq(row.send_queue, 6);
	cr_expect_str_eq(row.path, "/tmp/x");
	cr_expect_not(row.listening);
}

Test(net_parse, diag_unix_names_and_kinds)
{
	char longest[SOCKET_PATH_MAX + 8];
	struct answer a = unix_answer(SOCK_STREAM, TCP_STATE_LISTEN);
	struct unix_row row = { .ino = 4711 };
	uint32_t closed = 0;

	answer_attr(&a, UNIX_DIAG_NAME, "\0a\0b", 4);
	answer_attr(&a, UNIX_DIAG_PEER, &closed, sizeof(closed));
	cr_assert_eq(diag_parse_unix(a.bytes, a.len, &row), 0);
	cr_expect_str_eq(row.path, "@a@b", "as /proc writes it");
	cr_expect(row.listening);
	cr_expect(row.peer_known && !row.peer_ino, "its peer is closed");

	a = unix_answer(SOCK_STREAM, TCP_STATE_LISTEN);
	answer_attr(&a, UNIX_DIAG_NAME, "/tmp/x\0rest", 11);
	cr_assert_eq(diag_parse_unix(a.bytes, a.len, &row), 0);
	cr_expect_str_eq(row.path, "/tmp/x", "a path ends at its NUL");

	memset(longest, 'x', sizeof(longest));
	a = unix_answer(SOCK_STREAM, TCP_STATE_LISTEN);
	answer_attr(&a, UNIX_DIAG_NAME, longest, sizeof(longest));
	cr_assert_eq(diag_parse_unix(a.bytes, a.len, &row), 0);
	cr_expect_eq(strlen(row.path), SOCKET_PATH_MAX);

	a = unix_answer(SOCK_DGRAM, TCP_STATE_CLOSE);
	cr_expect_eq(diag_parse_unix(a.bytes, a.len, &row), -ENOENT);
	for (size_t len = 0; len < a.len; len++)
		cr_expect_eq(diag_parse_unix(a.bytes, len, &row), -EINVAL, "%zu bytes", len);
}

Test(net_parse, diag_unix_short_attributes_say_nothing)
{
	struct answer a = unix_answer(SOCK_STREAM, TCP_STATE_ESTABLISHED);
	struct unix_row row;

	answer_attr(&a, UNIX_DIAG_PEER, "12", 2);
	answer_attr(&a, UNIX_DIAG_RQLEN, "1234", 4);
	cr_assert_eq(diag_parse_unix(a.bytes, a.len, &row), 0);
	cr_expect_not(row.peer_known);
	cr_expect_eq(row.recv_queue, 0);
}

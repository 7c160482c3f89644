/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "grow_fail.h"
#include "observe/diag_reply.h"

enum {
	SEQ = 7,
	PORTID = 4711,
	OVERRUN = 4, /* linux/netlink.h: NLMSG_OVERRUN, which no kernel sends */
};

/* A datagram as it is built up. */
struct datagram {
	_Alignas(8) unsigned char bytes[1024];
	size_t len;
	size_t last; /* where its last message begins */
};

static void add(struct datagram *d, uint16_t type, const void *payload, size_t len)
{
	const struct nlmsghdr head = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + len),
				       .nlmsg_type = type,
				       .nlmsg_seq = SEQ,
				       .nlmsg_pid = PORTID };

	d->last = d->len;
	memcpy(d->bytes + d->len, &head, sizeof(head));
	memcpy(d->bytes + d->len + NLMSG_HDRLEN, payload, len);
	d->len += NLMSG_ALIGN(head.nlmsg_len);
}

static struct nlmsghdr *last(struct datagram *d)
{
	return (struct nlmsghdr *)(void *)(d->bytes + d->last);
}

static void add_inet(struct datagram *d, uint32_t ino)
{
	const struct inet_diag_msg msg = { .idiag_family = AF_INET,
					   .idiag_state = TCP_STATE_ESTABLISHED,
					   .id.idiag_sport = htons(80),
					   .idiag_inode = ino };

	add(d, SOCK_DIAG_BY_FAMILY, &msg, sizeof(msg));
}

static void add_unix(struct datagram *d, unsigned char type, uint32_t ino)
{
	const struct unix_diag_msg msg = { .udiag_family = AF_UNIX,
					   .udiag_type = type,
					   .udiag_ino = ino };

	add(d, SOCK_DIAG_BY_FAMILY, &msg, sizeof(msg));
}

static void add_end(struct datagram *d, uint16_t type, int32_t error)
{
	add(d, type, &error, sizeof(error));
}

static int take(enum diag_request request, const struct datagram *d, struct socket_table *table,
		struct inet_row *row)
{
	struct diag_reply reply = {
		.request = request, .seq = SEQ, .portid = PORTID, .table = table
	};
	int r = diag_reply_take(&reply, d->bytes, d->len);

	if (row)
		*row = reply.row;
	return r;
}

static int take_inet(const struct datagram *d)
{
	struct socket_table table = { 0 };
	int r = take(DIAG_REQUEST_INET, d, &table, NULL);

	socket_table_done(&table);
	return r;
}

Test(diag_reply, a_dump_goes_on_until_it_says_that_it_is_done)
{
	struct socket_table table = { 0 };
	struct diag_reply reply = {
		.request = DIAG_REQUEST_INET, .seq = SEQ, .portid = PORTID, .table = &table
	};
	struct datagram first = { 0 }, second = { 0 };

	add_inet(&first, 1);
	add(&first, NLMSG_NOOP, "", 0);
	add_inet(&first, 2);
	add_inet(&second, 3);
	add_end(&second, NLMSG_DONE, 0);
	add_inet(&second, 4);
	cr_assert_eq(diag_reply_take(&reply, first.bytes, first.len), 1);
	cr_assert_eq(diag_reply_take(&reply, second.bytes, second.len), 0);
	cr_assert_eq(table.inet_count, 3);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(table.inet[i].ino, i + 1);
	socket_table_done(&table);
}

Test(diag_reply, stream_sockets_alone)
{
	struct socket_table table = { 0 };
	struct datagram d = { 0 };

	add_unix(&d, SOCK_STREAM, 1);
	add_unix(&d, SOCK_DGRAM, 2);
	add_unix(&d, SOCK_STREAM, 3);
	cr_assert_eq(take(DIAG_REQUEST_UNIX, &d, &table, NULL), 1);
	cr_assert_eq(table.unix_count, 2);
	cr_expect_eq(table.unix_rows[0].ino, 1);
	cr_expect_eq(table.unix_rows[1].ino, 3);
	socket_table_done(&table);
	add(&d, SOCK_DIAG_BY_FAMILY, "", 1);
	cr_expect_eq(take(DIAG_REQUEST_UNIX, &d, &table, NULL), -EINVAL, "no row");
	socket_table_done(&table);
}

Test(diag_reply, what_is_no_row)
{
	struct datagram d = { 0 };

	add(&d, SOCK_DIAG_BY_FAMILY, "", 1);
	cr_expect_eq(take_inet(&d), -EINVAL);
	d = (struct datagram){ 0 };
	add_unix(&d, SOCK_STREAM, 1);
	cr_expect_eq(take_inet(&d), -EINVAL, "of another family");
}

Test(diag_reply, where_there_is_no_room)
{
	struct socket_table full = { .inet_count = SOCKET_ROWS_MAX, .unix_count = SOCKET_ROWS_MAX };
	struct socket_table table = { 0 };
	struct datagram inet = { 0 }, local = { 0 };

	add_inet(&inet, 1);
	add_unix(&local, SOCK_STREAM, 1);
	cr_expect_eq(take(DIAG_REQUEST_INET, &inet, &full, NULL), -E2BIG);
	cr_expect_eq(take(DIAG_REQUEST_UNIX, &local, &full, NULL), -E2BIG);
	grow_fail_at(1);
	cr_expect_eq(take(DIAG_REQUEST_INET, &inet, &table, NULL), -ENOMEM);
	grow_fail_at(1);
	cr_expect_eq(take(DIAG_REQUEST_UNIX, &local, &table, NULL), -ENOMEM);
	cr_expect_eq(table.inet_count + table.unix_count, 0);
	socket_table_done(&table);
}

Test(diag_reply, one_connection)
{
	static const struct {
		uint16_t type;
		int32_t error;
		int r;
		const char *why;
	} rows[] = {
		{ NLMSG_ERROR, -ENOENT, -ENOENT, "there is none" },
		{ NLMSG_ERROR, 0, -EBADMSG, "an acknowledgement is not that there is none" },
		{ NLMSG_DONE, 0, -EBADMSG, "nor is the end of a dump" },
		{ NLMSG_DONE, -ENOENT, -ENOENT, "an error is an error" },
	};
	struct datagram found = { 0 };
	struct inet_row row;

	add_inet(&found, 99);
	cr_assert_eq(take(DIAG_REQUEST_SINGLE, &found, NULL, &row), 0);
	cr_expect_eq(row.ino, 99);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct datagram d = { 0 };

		add_end(&d, rows[i].type, rows[i].error);
		cr_expect_eq(take(DIAG_REQUEST_SINGLE, &d, NULL, NULL), rows[i].r, "%s",
			     rows[i].why);
	}
	found = (struct datagram){ 0 };
	add(&found, NLMSG_NOOP, "", 0);
	cr_expect_eq(take(DIAG_REQUEST_SINGLE, &found, NULL, NULL), 1, "it is still to come");
	found = (struct datagram){ 0 };
	add_unix(&found, SOCK_STREAM, 1);
	cr_expect_eq(take(DIAG_REQUEST_SINGLE, &found, NULL, NULL), -EINVAL, "no such row");
}

Test(diag_reply, how_a_dump_ends)
{
	static const struct {
		uint16_t type;
		int32_t error;
		int r;
		const char *why;
	} rows[] = {
		{ NLMSG_DONE, 0, 0, "it is whole" },
		{ NLMSG_DONE, -EPERM, -EPERM, "its end carries an error" },
		{ NLMSG_ERROR, -ENOENT, -ENOENT, "there is no such table" },
		{ NLMSG_ERROR, 0, -EBADMSG, "an acknowledgement is no end" },
		{ NLMSG_DONE, 1, -EBADMSG, "no errno" },
		{ NLMSG_ERROR, -4095, -4095, "the largest errno" },
		{ NLMSG_ERROR, -4096, -EBADMSG, "one more" },
		{ NLMSG_ERROR, INT32_MIN, -EBADMSG, "one that has no opposite" },
		{ OVERRUN, 0, -EBADMSG, "nobody knows what that is" },
		{ OVERRUN, -EPERM, -EBADMSG, "nor what it says" },
		{ SOCK_DIAG_BY_FAMILY + 1, 0, -EBADMSG, "nor what that is" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct datagram d = { 0 };

		add_inet(&d, 1);
		add_end(&d, rows[i].type, rows[i].error);
		cr_expect_eq(take_inet(&d), rows[i].r, "%s", rows[i].why);
		d.len -= sizeof(int32_t);
		last(&d)->nlmsg_len -= (uint32_t)sizeof(int32_t);
		cr_expect_eq(take_inet(&d), -EBADMSG, "it says nothing: %s", rows[i].why);
	}
}

static int take_links(struct diag_reply *reply, const struct datagram *d)
{
	reply->request = DIAG_REQUEST_LINKS;
	reply->seq = SEQ;
	reply->portid = PORTID;
	return diag_reply_take(reply, d->bytes, d->len);
}

static void add_link(struct datagram *d, int index)
{
	const struct ifinfomsg link = { .ifi_index = index };

	add(d, RTM_NEWLINK, &link, sizeof(link));
}

Test(diag_reply, interfaces)
{
	struct diag_reply reply = { 0 };
	struct datagram d = { 0 };

	add_link(&d, 1);
	add_link(&d, INT32_MAX);
	add_end(&d, NLMSG_DONE, 0);
	cr_assert_eq(take_links(&reply, &d), 0);
	cr_assert_eq(reply.link_count, 2);
	cr_expect_eq(reply.links[0], 1);
	cr_expect_eq(reply.links[1], INT32_MAX);
}

Test(diag_reply, what_is_no_interface)
{
	static const int indices[] = { 0, -1, INT32_MIN };
	struct diag_reply reply = { 0 };
	struct datagram d = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(indices); i++) {
		d = (struct datagram){ 0 };
		add_link(&d, indices[i]);
		cr_expect_eq(take_links(&reply, &d), -EINVAL, "%d", indices[i]);
	}
	d = (struct datagram){ 0 };
	add_link(&d, 1);
	last(&d)->nlmsg_len -= 4;
	cr_expect_eq(take_links(&reply, &d), -EINVAL, "a part of one");
	d = (struct datagram){ 0 };
	add_inet(&d, 1);
	cr_expect_eq(take_links(&reply, &d), -EBADMSG, "a socket");
	d = (struct datagram){ 0 };
	add_link(&d, 1);
	cr_expect_eq(take_inet(&d), -EBADMSG, "one that was not asked for");
	reply.link_count = DIAG_LINKS_MAX - 1;
	cr_expect_eq(take_links(&reply, &d), 1, "the last one");
	cr_expect_eq(take_links(&reply, &d), -E2BIG, "one more");
	cr_expect_eq(reply.link_count, DIAG_LINKS_MAX);
}

Test(diag_reply, of_another_request_or_interrupted)
{
	struct datagram d = { 0 };

	add_inet(&d, 1);
	last(&d)->nlmsg_seq++;
	cr_expect_eq(take_inet(&d), -EPROTO, "of an earlier request");
	last(&d)->nlmsg_seq = 0;
	cr_expect_eq(take_inet(&d), -EPROTO, "of none");
	last(&d)->nlmsg_seq = SEQ;
	last(&d)->nlmsg_pid++;
	cr_expect_eq(take_inet(&d), -EPROTO, "somebody else's");
	last(&d)->nlmsg_pid = PORTID;
	last(&d)->nlmsg_flags = NLM_F_MULTI | NLM_F_DUMP_INTR;
	cr_expect_eq(take_inet(&d), -EINTR, "rows may be missing");
	last(&d)->nlmsg_flags = NLM_F_MULTI;
	cr_expect_eq(take_inet(&d), 1);
}

Test(diag_reply, every_cut_is_refused)
{
	struct datagram d = { 0 };
	size_t whole;

	cr_expect_eq(take_inet(&d), -EBADMSG, "an empty one");
	add_inet(&d, 1);
	whole = d.len;
	add_inet(&d, 2);
	for (d.len = 1; d.len < whole; d.len++)
		cr_expect_eq(take_inet(&d), -EBADMSG, "%zu bytes", d.len);
	for (d.len = whole + 1; d.len < 2 * whole; d.len++)
		cr_expect_eq(take_inet(&d), -EBADMSG, "%zu bytes", d.len);
	cr_expect_eq(take_inet(&d), 1);
}

Test(diag_reply, lengths_that_are_none)
{
	static const uint32_t lengths[] = { 0,         NLMSG_HDRLEN - 1,        1000,
					    INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX - 3,
					    UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct datagram d = { 0 };

		add_inet(&d, 1);
		last(&d)->nlmsg_len = lengths[i];
		cr_expect_eq(take_inet(&d), -EBADMSG, "%u", lengths[i]);
	}
}

/* The last message need not be filled up to the next multiple of four. */
Test(diag_reply, an_end_that_is_not_aligned)
{
	struct datagram d = { 0 };

	add(&d, NLMSG_DONE, "\0\0\0\0\0", 5);
	d.len = NLMSG_HDRLEN + 5;
	cr_expect_eq(take_inet(&d), 0);
	d = (struct datagram){ 0 };
	add(&d, NLMSG_NOOP, "\0", 1);
	d.len = NLMSG_HDRLEN + 1;
	cr_expect_eq(take_inet(&d), 1);
}

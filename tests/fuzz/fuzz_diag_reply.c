/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses what was asked for, the rest are a datagram that came as its reply. What is taken
 * of it must be what a second reading, that knows no more than netlink(7), finds in it.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>

#include "observe/diag_parse.h"
#include "observe/diag_reply.h"

enum {
	SEQ = 7,
	PORTID = 4711,
	/* Where the fields of struct nlmsghdr are. */
	AT_TYPE = 4,
	AT_FLAGS = 6,
	AT_SEQ = 8,
	AT_PORTID = 12,
	HEAD = 16,
	/* Where the number of an interface is in struct ifinfomsg, and how long that is. */
	AT_INDEX = 4,
	LINK = 16,
};

/* What the second reading found. */
struct found {
	int result;
	size_t rows;
	struct inet_row inet; /* the last of them */
	struct unix_row local;
	uint64_t index;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

/* Of the machine's own byte order, as netlink is. */
static uint64_t number(const uint8_t *at, size_t bytes)
{
	uint16_t two;
	uint32_t four;

	if (bytes == sizeof(two)) {
		memcpy(&two, at, sizeof(two));
		return two;
	}
	memcpy(&four, at, sizeof(four));
	return four;
}

static int find_link(const uint8_t *at, size_t len, struct found *f)
{
	uint64_t index = len < LINK ? 0 : number(at + AT_INDEX, 4);

	if (!index || index > INT32_MAX)
		return -EINVAL;
	if (f->rows == DIAG_LINKS_MAX)
		return -E2BIG;
	f->index = index;
	f->rows++;
	return 1;
}

static int find_row(enum diag_request request, const uint8_t *at, size_t len, struct found *f)
{
	int r;

	if (request == DIAG_REQUEST_LINKS)
		return find_link(at, len, f);
	if (request != DIAG_REQUEST_UNIX) {
		r = diag_parse_inet(at, len, &f->inet);
		f->rows += r == 0;
		return r || request == DIAG_REQUEST_SINGLE ? r : 1;
	}
	r = diag_parse_unix(at, len, &f->local);
	f->rows += r == 0;
	return r == 0 || r == -ENOENT ? 1 : r;
}

static int find_end(enum diag_request request, uint64_t type, const uint8_t *at, size_t len)
{
	uint64_t error;

	if ((type != NLMSG_DONE && type != NLMSG_ERROR) || len < 4)
		return -EBADMSG;
	error = number(at, 4);
	if (!error)
		return type == NLMSG_DONE && request != DIAG_REQUEST_SINGLE ? 0 : -EBADMSG;
	return error >= UINT64_C(0x100000000) - 4095 ? -(int)(UINT64_C(0x100000000) - error)
						     : -EBADMSG;
}

static int find_message(enum diag_request request, const uint8_t *at, size_t len, struct found *f)
{
	uint64_t type = number(at + AT_TYPE, 2);

	if (number(at + AT_SEQ, 4) != SEQ || number(at + AT_PORTID, 4) != PORTID)
		return -EPROTO;
	if (number(at + AT_FLAGS, 2) & NLM_F_DUMP_INTR)
		return -EINTR;
	if (type == NLMSG_NOOP)
		return 1;
	if (type == (request == DIAG_REQUEST_LINKS ? RTM_NEWLINK : SOCK_DIAG_BY_FAMILY))
		return find_row(request, at + HEAD, len - HEAD, f);
	return find_end(request, type, at + HEAD, len - HEAD);
}

static struct found find(enum diag_request request, const uint8_t *bytes, uint64_t size)
{
	struct found f = { .result = size ? 1 : -EBADMSG };

	for (uint64_t at = 0, len; at < size && f.result == 1; at += (len + 3) / 4 * 4) {
		len = size - at < HEAD ? 0 : number(bytes + at, 4);
		if (len < HEAD || at + len > size)
			f.result = -EBADMSG;
		else
			f.result = find_message(request, bytes + at, len, &f);
	}
	return f;
}

static bool same_end(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

static bool same_inet(const struct inet_row *a, const struct inet_row *b)
{
	return a->ino == b->ino && a->state == b->state && same_end(&a->local, &b->local) &&
	       same_end(&a->remote, &b->remote) && a->recv_queue == b->recv_queue &&
	       a->send_queue == b->send_queue && a->ages_known == b->ages_known;
}

static bool same_unix(const struct unix_row *a, const struct unix_row *b)
{
	return a->ino == b->ino && a->peer_ino == b->peer_ino && a->peer_known == b->peer_known &&
	       a->listening == b->listening && strcmp(a->path, b->path) == 0;
}

static void check(const struct diag_reply *reply, const struct found *f)
{
	const struct socket_table *t = reply->table;

	must(t->inet_count == (reply->request == DIAG_REQUEST_INET ? f->rows : 0));
	must(t->unix_count == (reply->request == DIAG_REQUEST_UNIX ? f->rows : 0));
	if (t->inet_count)
		must(same_inet(&t->inet[f->rows - 1], &f->inet));
	if (t->unix_count)
		must(same_unix(&t->unix_rows[f->rows - 1], &f->local));
	must(reply->link_count == (reply->request == DIAG_REQUEST_LINKS ? f->rows : 0));
	if (reply->link_count)
		must(reply->links[f->rows - 1] == f->index);
	if (reply->request == DIAG_REQUEST_SINGLE)
		must(same_inet(&reply->row, &f->inet) && (f->rows != 0) == (f->result == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(socket_table_done) struct socket_table table = { 0 };
	struct diag_reply reply = { .seq = SEQ, .portid = PORTID, .table = &table };
	struct found f;
	int r;

	if (!size)
		return 0;
	reply.request = data[0] % DIAG_REQUEST_COUNT;
	f = find(reply.request, data + 1, size - 1);
	r = diag_reply_take(&reply, data + 1, size - 1);
	must(r == f.result);
	check(&reply, &f);
	return 0;
}

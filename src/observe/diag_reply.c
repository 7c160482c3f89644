/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/diag_reply.h"

#include <assert.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <string.h>

#include "model/grow.h"
#include "observe/diag_parse.h"

enum {
	ERRNO_MAX = 4095, /* include/linux/err.h: MAX_ERRNO */
};

struct message {
	struct nlmsghdr head;
	const unsigned char *payload;
	size_t len;
};

/* Takes the next message. @return 0; -EBADMSG: torn. */
static int message_next(const unsigned char **at, const unsigned char *end, struct message *ret)
{
	size_t left = (size_t)(end - *at);

	if (left < sizeof(ret->head))
		return -EBADMSG;
	memcpy(&ret->head, *at, sizeof(ret->head));
	if (ret->head.nlmsg_len < NLMSG_HDRLEN || ret->head.nlmsg_len > left)
		return -EBADMSG;
	ret->payload = *at + NLMSG_HDRLEN;
	ret->len = ret->head.nlmsg_len - (size_t)NLMSG_HDRLEN;
	*at += MIN((size_t)NLMSG_ALIGN(ret->head.nlmsg_len), left);
	return 0;
}

/* A table that is too long is not known; the others are all the same. */
static int fail_to_grow(size_t count)
{
	return count == SOCKET_ROWS_MAX ? -E2BIG : -ENOMEM;
}

static int take_inet(struct diag_reply *reply, const struct message *m)
{
	struct socket_table *t = reply->table;
	struct inet_row row, *rows;
	int r = diag_parse_inet(m->payload, m->len, &row);

	if (r < 0)
		return r;
	rows = grow(t->inet, t->inet_count, &reply->inet_room, sizeof(*rows), SOCKET_ROWS_MAX);
	if (!rows)
		return fail_to_grow(t->inet_count);
	t->inet = rows;
	rows[t->inet_count++] = row;
	return 1;
}

static int take_unix(struct diag_reply *reply, const struct message *m)
{
	struct socket_table *t = reply->table;
	struct unix_row row, *rows;
	int r = diag_parse_unix(m->payload, m->len, &row);

	if (r == -ENOENT)
		return 1;
	if (r < 0)
		return r;
	rows = grow(t->unix_rows, t->unix_count, &reply->unix_room, sizeof(*rows), SOCKET_ROWS_MAX);
	if (!rows)
		return fail_to_grow(t->unix_count);
	t->unix_rows = rows;
	rows[t->unix_count++] = row;
	return 1;
}

static int take_single(struct diag_reply *reply, const struct message *m)
{
	return diag_parse_inet(m->payload, m->len, &reply->row);
}

static int take_link(struct diag_reply *reply, const struct message *m)
{
	struct ifinfomsg link;

	if (m->len < sizeof(link))
		return -EINVAL;
	memcpy(&link, m->payload, sizeof(link));
	if (link.ifi_index <= 0)
		return -EINVAL;
	if (reply->link_count == DIAG_LINKS_MAX)
		return -E2BIG;
	reply->links[reply->link_count++] = (unsigned)link.ifi_index;
	return 1;
}

static const struct {
	uint16_t type; /* of a message that is a row */
	int (*take)(struct diag_reply *, const struct message *);
} rows_of[] = {
	[DIAG_REQUEST_INET] = { SOCK_DIAG_BY_FAMILY, take_inet },
	[DIAG_REQUEST_UNIX] = { SOCK_DIAG_BY_FAMILY, take_unix },
	[DIAG_REQUEST_SINGLE] = { SOCK_DIAG_BY_FAMILY, take_single },
	[DIAG_REQUEST_LINKS] = { RTM_NEWLINK, take_link },
};
static_assert(ARRAY_SIZE(rows_of) == DIAG_REQUEST_COUNT, "every request has rows");

/* What ends a reply begins with a negative errno, or with 0. @return 0, that errno, or -EBADMSG. */
static int end_of(const struct message *m)
{
	int32_t error;

	if (m->len < sizeof(error))
		return -EBADMSG;
	memcpy(&error, m->payload, sizeof(error));
	return error > 0 || error < -ERRNO_MAX ? -EBADMSG : error;
}

/* "No error" says nothing of rows that did not come, nor does the end of a dump that was not asked for. */
static int take_control(const struct diag_reply *reply, const struct message *m)
{
	bool done = m->head.nlmsg_type == NLMSG_DONE;
	int r;

	if (m->head.nlmsg_type == NLMSG_NOOP)
		return 1;
	if (!done && m->head.nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	r = end_of(m);
	if (r == 0 && (!done || reply->request == DIAG_REQUEST_SINGLE))
		return -EBADMSG;
	return r;
}

static int take_message(struct diag_reply *reply, const struct message *m)
{
	if (m->head.nlmsg_pid != reply->portid || m->head.nlmsg_seq != reply->seq)
		return -EPROTO;
	if (m->head.nlmsg_flags & NLM_F_DUMP_INTR)
		return -EINTR;
	if (m->head.nlmsg_type == rows_of[reply->request].type)
		return rows_of[reply->request].take(reply, m);
	return take_control(reply, m);
}

int diag_reply_take(struct diag_reply *reply, const void *bytes, size_t len)
{
	const unsigned char *at = bytes, *end = at + len;
	struct message m;
	int r;

	do {
		r = message_next(&at, end, &m);
		if (r == 0)
			r = take_message(reply, &m);
	} while (r > 0 && at < end);
	return r;
}

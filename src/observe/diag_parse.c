/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/diag_parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "observe/net_parse.h"

/* One attribute: linux/netlink.h, struct nlattr. */
struct attr {
	unsigned type;
	const unsigned char *bytes;
	size_t len;
};

/* Takes the next attribute. @return 1; 0: no more; -EINVAL: torn. */
static int attr_next(const unsigned char **at, const unsigned char *end, struct attr *ret)
{
	struct nlattr head;
	size_t left = (size_t)(end - *at);

	if (!left)
		return 0;
	if (left < NLA_HDRLEN)
		return -EINVAL;
	memcpy(&head, *at, sizeof(head));
	if (head.nla_len < NLA_HDRLEN || head.nla_len > left)
		return -EINVAL;
	ret->type = head.nla_type & NLA_TYPE_MASK;
	ret->bytes = *at + NLA_HDRLEN;
	ret->len = head.nla_len - (size_t)NLA_HDRLEN;
	*at += MIN((size_t)NLA_ALIGN(head.nla_len), left);
	return 1;
}

static struct endpoint inet_endpoint(uint8_t family, const __be32 addr[4], __be16 port)
{
	if (family == AF_INET)
		return net_endpoint_v4(addr[0], ntohs(port));
	return net_endpoint_v6(addr, ntohs(port));
}

/* Kernels append to this struct; only those that end before what we need say nothing. */
static void inet_ages(const struct attr *attr, struct inet_row *row)
{
	struct tcp_info info = { 0 };

	if (attr->len < offsetof(struct tcp_info, tcpi_last_ack_recv) + sizeof(uint32_t))
		return;
	memcpy(&info, attr->bytes, MIN(sizeof(info), attr->len));
	row->ages_known = true;
	row->last_sent_ms = info.tcpi_last_data_sent;
	row->last_recv_ms = info.tcpi_last_data_recv;
	row->last_ack_ms = info.tcpi_last_ack_recv;
}

int diag_parse_inet(const void *payload, size_t len, struct inet_row *ret)
{
	const unsigned char *at = payload, *end = at + len;
	struct inet_row row = { 0 };
	struct inet_diag_msg msg;
	struct attr attr;
	int r;

	if (len < sizeof(msg))
		return -EINVAL;
	memcpy(&msg, payload, sizeof(msg));
	if (msg.idiag_family != AF_INET && msg.idiag_family != AF_INET6)
		return -EINVAL;
	row.ino = msg.idiag_inode;
	row.state = msg.idiag_state;
	row.local = inet_endpoint(msg.idiag_family, msg.id.idiag_src, msg.id.idiag_sport);
	row.remote = inet_endpoint(msg.idiag_family, msg.id.idiag_dst, msg.id.idiag_dport);
	row.recv_queue = msg.idiag_rqueue;
	row.send_queue = msg.idiag_wqueue;
	at += NLMSG_ALIGN(sizeof(msg));
	while ((r = attr_next(&at, end, &attr)) > 0) {
		if (attr.type == INET_DIAG_INFO)
			inet_ages(&attr, &row);
	}
	if (r < 0)
		return r;
	*ret = row;
	return 0;
}

/* An abstract name begins with a NUL and may hold more of them; /proc writes '@' for each. */
static void unix_path(const struct attr *attr, struct unix_row *row)
{
	const char *name = (const char *)attr->bytes;
	size_t len = MIN(attr->len, (size_t)SOCKET_PATH_MAX);

	if (len && name[0])
		len = strnlen(name, len);
	for (size_t i = 0; i < len; i++)
		row->path[i] = name[i] ? name[i] : '@';
}

static void unix_attr(const struct attr *attr, struct unix_row *row)
{
	struct unix_diag_rqlen queues;
	uint32_t ino;

	switch (attr->type) {
	case UNIX_DIAG_NAME:
		unix_path(attr, row);
		break;
	case UNIX_DIAG_PEER:
		if (attr->len < sizeof(ino))
			break;
		memcpy(&ino, attr->bytes, sizeof(ino));
		row->peer_ino = ino;
		row->peer_known = true;
		break;
	case UNIX_DIAG_RQLEN:
		if (attr->len < sizeof(queues))
			break;
		memcpy(&queues, attr->bytes, sizeof(queues));
		row->recv_queue = queues.udiag_rqueue;
		row->send_queue = queues.udiag_wqueue;
		break;
	default:
		break;
	}
}

int diag_parse_unix(const void *payload, size_t len, struct unix_row *ret)
{
	const unsigned char *at = payload, *end = at + len;
	struct unix_row row = { 0 };
	struct unix_diag_msg msg;
	struct attr attr;
	int r;

	if (len < sizeof(msg))
		return -EINVAL;
	memcpy(&msg, payload, sizeof(msg));
	if (msg.udiag_type != SOCK_STREAM)
		return -ENOENT;
	row.ino = msg.udiag_ino;
	row.listening = msg.udiag_state == TCP_STATE_LISTEN;
	at += NLMSG_ALIGN(sizeof(msg));
	while ((r = attr_next(&at, end, &attr)) > 0)
		unix_attr(&attr, &row);
	if (r < 0)
		return r;
	*ret = row;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fs.h"
#include "observe/diag_reply.h"
#include "observe/given.h"
#include "observe/self.h"

enum {
	SOCKETS_BUF_BYTES = 32768, /* the kernel fills answers up to what was offered before */
	SOCKETS_REQUEST_BYTES = 256,
	SOCKETS_DUMP_TRIES = 3,
	SOCKETS_WAIT_S = 5,        /* an answer comes at once; this ends a wait for none */
	SOCKETS_DRAIN_MAX = 65536, /* datagrams; those of a table of SOCKET_ROWS_MAX are fewer */
};

/* A netlink socket, and the number of its last request. */
struct line {
	struct mnl_socket *nl;
	int protocol;
	uint32_t seq;
};

struct sockets {
	struct line diag;
	struct line route; /* opened when an interface is asked for */
	uint64_t net_ns;
	char buf[SOCKETS_BUF_BYTES];
};

static void line_close(struct line *l)
{
	if (l->nl)
		(void)mnl_socket_close(l->nl);
	l->nl = NULL;
}

/* What others asked for by the same socket and did not read; a dump goes on while it is read. */
static int drain(int fd, char *buf, size_t size)
{
	for (unsigned i = 0; i < SOCKETS_DRAIN_MAX; i++) {
		if (recv(fd, buf, size, MSG_DONTWAIT) >= 0 || errno == EINTR || errno == ENOBUFS)
			continue;
		return errno == EAGAIN ? 0 : -errno;
	}
	return -EBUSY;
}

/* A copy of the descriptor: it is made anew after an error as one of our own is. */
static int line_take(struct line *l, int given, char *buf, size_t size)
{
	int fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	l->nl = mnl_socket_fdopen(fd);
	if (!l->nl) {
		r = -errno;
		fs_close(&fd);
		return r;
	}
	return drain(fd, buf, size);
}

static int line_make(struct line *l)
{
	l->nl = mnl_socket_open2(l->protocol, SOCK_CLOEXEC);
	if (!l->nl || mnl_socket_bind(l->nl, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	return 0;
}

static int line_open(struct line *l, char *buf, size_t size)
{
	struct timeval wait = { .tv_sec = SOCKETS_WAIT_S };
	int given = given_netlink(l->protocol);
	int r = given < 0 ? line_make(l) : line_take(l, given, buf, size);

	if (r == 0 &&
	    setsockopt(mnl_socket_get_fd(l->nl), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		r = -errno;
	if (r < 0)
		line_close(l);
	return r;
}

int sockets_open(struct sockets **ret_sockets)
{
	struct sockets *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->diag.protocol = NETLINK_SOCK_DIAG;
	s->route.protocol = NETLINK_ROUTE;
	r = line_open(&s->diag, s->buf, sizeof(s->buf));
	if (r < 0) {
		free(s);
		return r;
	}
	s->net_ns = self_net_ns();
	*ret_sockets = s;
	return 0;
}

void sockets_close(struct sockets *s)
{
	if (!s)
		return;
	line_close(&s->diag);
	line_close(&s->route);
	free(s);
}

/*
 * Sends a request and takes its reply.
 *
 * @return 0; negative errno. The connection is made anew after an error: the rest of the reply may
 *         still be on its way.
 */
static int sockets_ask(struct sockets *s, struct line *l, struct nlmsghdr *nlh,
		       struct diag_reply *reply)
{
	int r = l->nl ? 0 : line_open(l, s->buf, sizeof(s->buf));

	if (r < 0)
		return r;
	nlh->nlmsg_seq = ++l->seq;
	reply->portid = mnl_socket_get_portid(l->nl);
	reply->seq = l->seq;
	r = mnl_socket_sendto(l->nl, nlh, nlh->nlmsg_len) < 0 ? -errno : 1;
	while (r > 0) {
		ssize_t len = mnl_socket_recvfrom(l->nl, s->buf, sizeof(s->buf));

		r = len < 0 ? -errno : diag_reply_take(reply, s->buf, (size_t)len);
	}
	if (r < 0)
		line_close(l);
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

/* @param states	bit n asks for sockets in state n. */
static int dump_inet(struct sockets *s, uint8_t family, uint32_t states, struct diag_reply *reply)
{
	char buf[SOCKETS_REQUEST_BYTES] = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1);
	req->idiag_states = states;
	reply->request = DIAG_REQUEST_INET;
	return sockets_ask(s, &s->diag, nlh, reply);
}

/* A machine without IPv6 has no such table, and says so as it does for a missing module. */
static bool no_ipv6(void)
{
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 && errno == EAFNOSUPPORT;
}

static int dump_tcp(struct sockets *s, struct diag_reply *reply)
{
	int r;

	reply->table->inet_count = 0;
	r = dump_inet(s, AF_INET, UINT32_MAX, reply);
	if (r < 0)
		return r;
	r = dump_inet(s, AF_INET6, UINT32_MAX, reply);
	return r == -ENOENT && no_ipv6() ? 0 : r;
}

static int dump_unix(struct sockets *s, struct diag_reply *reply)
{
	char buf[SOCKETS_REQUEST_BYTES] = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct unix_diag_req *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));

	reply->table->unix_count = 0;
	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req->sdiag_family = AF_UNIX;
	req->udiag_states = UINT32_MAX;
	req->udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN;
	reply->request = DIAG_REQUEST_UNIX;
	return sockets_ask(s, &s->diag, nlh, reply);
}

/* An interrupted dump (the kernel says so, or a signal came) may miss rows: it is taken again. */
static int dump_whole(struct sockets *s, int (*take)(struct sockets *, struct diag_reply *),
		      struct diag_reply *reply)
{
	int r = -EINTR;

	for (int i = 0; i < SOCKETS_DUMP_TRIES && r == -EINTR; i++)
		r = take(s, reply);
	return r;
}

int sockets_dump(struct sockets *s, struct socket_table *ret)
{
	struct socket_table table = { .net_ns = s->net_ns, .by_diag = true };
	struct diag_reply reply = { .table = &table };
	int tcp = dump_whole(s, dump_tcp, &reply);
	int local = dump_whole(s, dump_unix, &reply);

	if (tcp == -ENOMEM || local == -ENOMEM) {
		socket_table_done(&table);
		return -ENOMEM;
	}
	table.inet_known = tcp == 0;
	table.unix_known = local == 0;
	if (!table.inet_known)
		table.inet_count = 0;
	if (!table.unix_known)
		table.unix_count = 0;
	socket_table_sort(&table);
	*ret = table;
	return 0;
}

/* A v4-mapped address is asked for as IPv4: that finds sockets of both families. */
static void lookup_address(const struct endpoint *e, uint8_t family, __be32 ret_addr[4])
{
	if (family == AF_INET)
		memcpy(ret_addr, &e->addr.s6_addr[12], sizeof(*ret_addr));
	else
		memcpy(ret_addr, &e->addr, sizeof(e->addr));
}

static bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && IN6_ARE_ADDR_EQUAL(&a->addr, &b->addr);
}

/*
 * Without the module that answers, the kernel says the same as for "no such connection". A dump of
 * no state at all costs nothing and tells whether the module is there.
 */
static int lookup_can_miss(struct sockets *s, uint8_t family)
{
	_cleanup_(socket_table_done) struct socket_table none = { 0 };
	struct diag_reply reply = { .table = &none };

	return dump_inet(s, family, 0, &reply);
}

/* Looks a connection up among those that are bound to one interface (0: to none). */
static int lookup_on(struct sockets *s, const struct endpoint *local, const struct endpoint *remote,
		     unsigned interface, struct inet_row *ret_row)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(&local->addr) && IN6_IS_ADDR_V4MAPPED(&remote->addr);
	char buf[SOCKETS_REQUEST_BYTES] = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	struct diag_reply reply = { .request = DIAG_REQUEST_SINGLE };
	int r;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	req->sdiag_family = v4 ? AF_INET : AF_INET6;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1);
	req->idiag_states = UINT32_MAX;
	req->id.idiag_sport = htons(local->port);
	req->id.idiag_dport = htons(remote->port);
	req->id.idiag_if = interface;
	req->id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	req->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	lookup_address(local, req->sdiag_family, req->id.idiag_src);
	lookup_address(remote, req->sdiag_family, req->id.idiag_dst);
	r = sockets_ask(s, &s->diag, nlh, &reply);
	if (r == -ENOENT)
		return lookup_can_miss(s, v4 ? AF_INET : AF_INET6);
	if (r < 0)
		return r;
	if (!endpoint_equal(&reply.row.local, local) || !endpoint_equal(&reply.row.remote, remote))
		return 0;
	*ret_row = reply.row;
	return 1;
}

static int dump_links(struct sockets *s, struct diag_reply *reply)
{
	char buf[SOCKETS_REQUEST_BYTES] = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	(void)mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	reply->request = DIAG_REQUEST_LINKS;
	reply->link_count = 0;
	return sockets_ask(s, &s->route, nlh, reply);
}

/*
 * A socket that is bound to an interface (SO_BINDTODEVICE, and what its listener accepts) is found
 * only by that interface's number, so none is absent before all of them were asked.
 */
static int lookup_bound(struct sockets *s, const struct endpoint *local,
			const struct endpoint *remote, struct inet_row *ret_row)
{
	struct diag_reply links = { 0 };
	int r = dump_whole(s, dump_links, &links);

	for (size_t i = 0; i < links.link_count && r == 0; i++)
		r = lookup_on(s, local, remote, links.links[i], ret_row);
	return r;
}

int sockets_lookup(struct sockets *s, const struct endpoint *local, const struct endpoint *remote,
		   struct inet_row *ret_row)
{
	int r = lookup_on(s, local, remote, 0, ret_row);

	return r == 0 ? lookup_bound(s, local, remote, ret_row) : r;
}

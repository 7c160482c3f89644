/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "model/grow.h"
#include "observe/net_parse.h"
#include "observe/proc_parse.h"
#include "observe/sockets.h"

enum {
	PROC_NET_READS = 3, /* one read may skip rows while others come and go */
	PROC_NET_BUF_BYTES = 32768,
	PROC_NET_LINK_MAX = 64,
};

/* A table as it grows. */
struct proc_net {
	struct socket_table *table;
	size_t inet_room;
	size_t unix_room;
};

/* Takes one line of one file. @return 0, or negative errno: the file cannot be understood. */
typedef int (*take_line)(struct proc_net *p, const char *line, size_t len);

static int take_inet(struct proc_net *p, const char *line, size_t len, bool v6)
{
	struct socket_table *t = p->table;
	struct inet_row row, *rows;

	if (net_parse_tcp_line(line, len, v6, &row) < 0)
		return -EINVAL;
	rows = grow(t->inet, t->inet_count, &p->inet_room, sizeof(*rows), SOCKET_ROWS_MAX);
	if (!rows)
		return t->inet_count == SOCKET_ROWS_MAX ? -E2BIG : -ENOMEM;
	t->inet = rows;
	rows[t->inet_count++] = row;
	return 0;
}

static int take_tcp(struct proc_net *p, const char *line, size_t len)
{
	return take_inet(p, line, len, false);
}

static int take_tcp6(struct proc_net *p, const char *line, size_t len)
{
	return take_inet(p, line, len, true);
}

static int take_unix(struct proc_net *p, const char *line, size_t len)
{
	struct socket_table *t = p->table;
	struct unix_row row, *rows;
	int r = net_parse_unix_line(line, len, &row);

	/* A path may hold a newline: then its second half is no row, and no reason to know nothing. */
	if (r < 0)
		return 0;
	rows = grow(t->unix_rows, t->unix_count, &p->unix_room, sizeof(*rows), SOCKET_ROWS_MAX);
	if (!rows)
		return t->unix_count == SOCKET_ROWS_MAX ? -E2BIG : -ENOMEM;
	t->unix_rows = rows;
	rows[t->unix_count++] = row;
	return 0;
}

/* Gives all whole lines of the buffer away. @return the bytes left; negative errno. */
static ssize_t give_lines(struct proc_net *p, take_line take, char *buf, size_t len, bool *header)
{
	char *at = buf, *newline;

	while ((newline = memchr(at, '\n', len - (size_t)(at - buf)))) {
		int r = *header ? 0 : take(p, at, (size_t)(newline - at));

		if (r < 0)
			return r;
		*header = false;
		at = newline + 1;
	}
	len -= (size_t)(at - buf);
	memmove(buf, at, len);
	return (ssize_t)len;
}

/* @return 0; -ENOENT: there is no such file; other negative errno: it could not be read whole. */
static int read_lines(struct proc_net *p, int dirfd, const char *name, take_line take)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	char buf[PROC_NET_BUF_BYTES];
	bool header = true;
	ssize_t left = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buf + left, sizeof(buf) - (size_t)left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return left ? -EBADMSG : 0;
		left = give_lines(p, take, buf, (size_t)(left + n), &header);
		if (left < 0)
			return (int)left;
		if (left == sizeof(buf))
			return -EBADMSG;
	}
}

/* Orders by both ends; listeners on one port are told apart by their inodes. */
static int compare_ends(const void *a, const void *b)
{
	const struct inet_row *p = a, *q = b;
	int r = memcmp(&p->local.addr, &q->local.addr, sizeof(p->local.addr));

	if (!r)
		r = memcmp(&p->remote.addr, &q->remote.addr, sizeof(p->remote.addr));
	if (!r)
		r = p->local.port - q->local.port;
	if (!r)
		r = p->remote.port - q->remote.port;
	if (!r && !p->remote.port && p->ino != q->ino)
		r = p->ino < q->ino ? -1 : 1;
	return r;
}

static int compare_ino(const void *a, const void *b)
{
	const struct unix_row *p = a, *q = b;

	return p->ino < q->ino ? -1 : p->ino > q->ino;
}

/*
 * Makes one list of the rows of this read and those of the reads before that it did not see: the
 * later word on a socket counts.
 *
 * @param old	rows of the reads before; those of this read follow.
 * @return rows that are left.
 */
static size_t unite(void *rows, size_t old, size_t count, size_t size,
		    int (*compare)(const void *, const void *))
{
	unsigned char *bytes = rows;
	size_t kept = 0;

	if (count == old)
		return count;
	qsort(bytes + old * size, count - old, size, compare);
	for (size_t i = 0; i < old; i++) {
		unsigned char *row = bytes + i * size;

		if (bsearch(row, bytes + old * size, count - old, size, compare))
			continue;
		memmove(bytes + kept++ * size, row, size);
	}
	memmove(bytes + kept * size, bytes + old * size, (count - old) * size);
	return kept + count - old;
}

static int read_tcp(struct proc_net *p, int dirfd)
{
	struct socket_table *t = p->table;
	size_t old = t->inet_count;
	int r = read_lines(p, dirfd, "net/tcp", take_tcp);

	if (r < 0)
		return r;
	r = read_lines(p, dirfd, "net/tcp6", take_tcp6);
	if (r < 0 && r != -ENOENT)
		return r;
	if (t->inet_count)
		t->inet_count = unite(t->inet, old, t->inet_count, sizeof(*t->inet), compare_ends);
	return 0;
}

static int read_unix(struct proc_net *p, int dirfd)
{
	struct socket_table *t = p->table;
	size_t old = t->unix_count;
	int r = read_lines(p, dirfd, "net/unix", take_unix);

	if (r < 0)
		return r;
	if (t->unix_count)
		t->unix_count =
			unite(t->unix_rows, old, t->unix_count, sizeof(*t->unix_rows), compare_ino);
	return 0;
}

static int read_times(struct proc_net *p, int dirfd, int (*take)(struct proc_net *, int))
{
	int r = 0;

	for (int i = 0; i < PROC_NET_READS && r == 0; i++)
		r = take(p, dirfd);
	return r;
}

static uint64_t net_ns_of(int dirfd)
{
	char link[PROC_NET_LINK_MAX];
	ssize_t len = readlinkat(dirfd, "ns/net", link, sizeof(link));
	uint64_t ino;

	if (len < 0 || proc_parse_ns_link(link, (size_t)len, &ino) < 0)
		return 0;
	return ino;
}

int sockets_read_proc(int dirfd, struct socket_table *ret)
{
	struct socket_table table = { .net_ns = net_ns_of(dirfd) };
	struct proc_net p = { .table = &table };
	int tcp = read_times(&p, dirfd, read_tcp);
	int local = read_times(&p, dirfd, read_unix);
	/* Its files cannot be opened when the process is gone: that is no machine without IPv6. */
	bool alive = pin_alive(dirfd);

	if (tcp == -ENOMEM || local == -ENOMEM) {
		socket_table_done(&table);
		return -ENOMEM;
	}
	table.inet_known = tcp == 0 && alive;
	table.unix_known = local == 0 && alive;
	if (!table.inet_known)
		table.inet_count = 0;
	if (!table.unix_known)
		table.unix_count = 0;
	socket_table_sort(&table);
	*ret = table;
	return 0;
}

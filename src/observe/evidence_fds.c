/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/evidence_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/parse.h"
#include "model/grow.h"
#include "observe/evidence.h"
#include "observe/proc_parse.h"

enum {
	FD_LINK_MAX = 64, /* "socket:[...]"; longer ones are files */
	FDINFO_MAX = 512, /* the kernel's own lines come first */
	FD_PATH_MAX = 64,
	FD_NUMBER_MAX = 1 << 30,
	FD_XATTR_MAX = 32,
	FDS_OF_A_STREAM = 3, /* a task socket with its two file objects stands on so many */
};

/* A walk over the descriptors of one process. */
struct fd_walk {
	int dirfd;
	DIR *dir; /* fd/ or fdinfo/ */
	bool by_info;
	uint64_t mnt_id; /* the mount of sockets */
	unsigned count;
};

static int fds_read_info(int dirfd, const char *name, uint64_t *ret_mnt_id, uint64_t *ret_ino)
{
	char bytes[FDINFO_MAX];
	ssize_t len = fs_read_at(dirfd, name, bytes, sizeof(bytes));

	if (len < 0)
		return (int)len;
	return proc_parse_fdinfo(bytes, (size_t)len, ret_mnt_id, ret_ino);
}

/* All sockets of the machine lie on one mount inside the kernel. */
static int fds_socket_mount(uint64_t *ret_mnt_id)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char path[FD_PATH_MAX];
	uint64_t ino;

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return fds_read_info(AT_FDCWD, path, ret_mnt_id, &ino);
}

static void walk_close(struct fd_walk *w)
{
	if (w->dir)
		(void)closedir(w->dir);
	w->dir = NULL;
}

/* Begins a walk. @return 0; negative errno: the descriptors may not be listed. */
static int walk_open(struct fd_walk *w)
{
	int r;

	w->dir = fs_open_dir(w->dirfd, "fd");
	if (w->dir)
		return 0;
	if (errno != EACCES && errno != EPERM)
		return -errno;
	r = fds_socket_mount(&w->mnt_id);
	if (r < 0)
		return r;
	w->by_info = true;
	w->dir = fs_open_dir(w->dirfd, "fdinfo");
	return w->dir ? 0 : -errno;
}

/* @return 0: *ret_ino is the socket's; -ENOENT: no socket, or closed meanwhile; negative errno. */
static int walk_read(const struct fd_walk *w, const char *name, uint64_t *ret_ino)
{
	char link[FD_LINK_MAX];
	uint64_t mnt_id, ino;
	ssize_t len;

	if (!w->by_info) {
		len = readlinkat(dirfd(w->dir), name, link, sizeof(link));
		return len < 0 ? -errno : proc_parse_fd_link(link, (size_t)len, ret_ino);
	}
	len = fds_read_info(dirfd(w->dir), name, &mnt_id, &ino);
	if (len < 0)
		return (int)len;
	if (mnt_id != w->mnt_id)
		return -ENOENT;
	*ret_ino = ino;
	return 0;
}

/* Goes to the next socket. @return 1; 0: no more; negative errno: not all can be read. */
static int walk_next(struct fd_walk *w, int *ret_fd, uint64_t *ret_ino)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(w->dir))) {
		uint64_t number;
		int r;

		if (parse_u64(entry->d_name, FD_NUMBER_MAX, &number) < 0)
			continue;
		if (++w->count > EVIDENCE_FDS_MAX)
			return -E2BIG;
		r = walk_read(w, entry->d_name, ret_ino);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		*ret_fd = (int)number;
		return 1;
	}
	return errno ? -errno : 0;
}

/* @return 0; -ENOMEM; -E2BIG: there are more sockets than are looked at. */
static int fds_add(struct evidence *e, size_t *room, int fd, uint64_t ino)
{
	struct held_socket *held = NULL, *sockets;

	for (size_t i = 0; i < e->socket_count && !held; i++) {
		if (e->sockets[i].ino == ino)
			held = &e->sockets[i];
	}
	if (!held) {
		if (e->socket_count == EVIDENCE_SOCKETS_MAX)
			return -E2BIG;
		sockets = grow(e->sockets, e->socket_count, room, sizeof(*sockets),
			       EVIDENCE_SOCKETS_MAX);
		if (!sockets)
			return -ENOMEM;
		e->sockets = sockets;
		held = &sockets[e->socket_count++];
		*held = (struct held_socket){ .ino = ino, .fd = fd };
	}
	held->fd = MIN(held->fd, fd);
	held->fds += fd > STDERR_FILENO;
	held->all_fds++;
	return 0;
}

/* The device of all sockets of the machine. */
static int fds_socket_dev(dev_t *ret_dev)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret_dev = st.st_dev;
	return 0;
}

/*
 * Takes hold of a socket without opening it. Since its link was read its descriptor may stand for
 * something else: a file whose server never answers (FUSE) would hold us up for ever, so nothing is
 * asked that is not known already.
 */
static int fds_hold(int dirfd, const struct held_socket *held)
{
	_cleanup_close_ int fd = -1;
	char path[FD_PATH_MAX];
	struct statx st;
	dev_t dev = 0;
	int r = fds_socket_dev(&dev);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "fd/%d", held->fd);
	fd = openat(dirfd, path, O_PATH | O_CLOEXEC);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return -errno;
	if (makedev(st.stx_dev_major, st.stx_dev_minor) != dev || st.stx_ino != held->ino)
		return -ESTALE;
	return TAKE_FD(fd);
}

/* The protocol's name stays readable when the socket is in no table any more. */
static enum tri fds_is_tcp(int dirfd, const struct held_socket *held)
{
	_cleanup_close_ int fd = fds_hold(dirfd, held);
	char path[FD_PATH_MAX], name[FD_XATTR_MAX];
	ssize_t len;

	if (fd < 0)
		return TRI_UNKNOWN;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = getxattr(path, "system.sockprotoname", name, sizeof(name) - 1);
	if (len < 0)
		return TRI_UNKNOWN;
	name[len] = '\0';
	return tri_of(strcmp(name, "TCP") == 0 || strcmp(name, "TCPv6") == 0);
}

static int compare_held(const void *a, const void *b)
{
	const struct held_socket *p = a, *q = b;

	return p->fd < q->fd ? -1 : p->fd > q->fd;
}

int evidence_look_fds(int dirfd, struct evidence *e)
{
	_cleanup_(walk_close) struct fd_walk w = { .dirfd = dirfd };
	size_t room = 0;
	uint64_t ino;
	int fd, r;

	e->fds_known = TRI_NO;
	if (walk_open(&w) < 0)
		return 0;
	while ((r = walk_next(&w, &fd, &ino)) > 0) {
		r = fds_add(e, &room, fd, ino);
		if (r < 0)
			break;
	}
	if (r == -ENOMEM)
		return r;
	if (e->socket_count)
		qsort(e->sockets, e->socket_count, sizeof(*e->sockets), compare_held);
	for (size_t i = 0; i < e->socket_count; i++) {
		if (e->sockets[i].all_fds >= FDS_OF_A_STREAM)
			e->sockets[i].tcp = fds_is_tcp(dirfd, &e->sockets[i]);
	}
	e->fds_known = tri_of(r == 0);
	return 0;
}

static int compare_ino(const void *a, const void *b)
{
	uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

	return p < q ? -1 : p > q;
}

int evidence_held_among(int dirfd, const uint64_t *inos, size_t count, bool *ret_held)
{
	_cleanup_(walk_close) struct fd_walk w = { .dirfd = dirfd };
	uint64_t ino;
	int fd, r;

	r = walk_open(&w);
	if (r < 0)
		return r;
	while ((r = walk_next(&w, &fd, &ino)) > 0) {
		const uint64_t *at = bsearch(&ino, inos, count, sizeof(*inos), compare_ino);

		if (at)
			ret_held[at - inos] = true;
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are one of the tables below /proc/<pid>/net, in a directory that stands for a process: the
 * first says which, the second how often the rest stands in it, so that it may be longer than what is read
 * at once. Said again line by line, without a look at how the reader does it: a table that is known has
 * each row once, in order, and is known only where every line of it is whole and understood.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/net_parse.h"
#include "observe/sockets.h"

enum {
	HEAD = 2,
	TIMES_MAX = 32,
	TEXT_MAX = 256 * 1024,
	LINE_ROOM = 32768,          /* of a line with its newline */
	FOLDER_MAX = PATH_MAX - 16, /* room for a name in it */
};

static const char *const files[] = { "net/tcp", "net/tcp6", "net/unix" };
enum {
	UNIX = 2
};

static char folder[FOLDER_MAX];
static int dirfd = -1;

/* What must come of a table. */
struct expected {
	bool known;
	size_t rows;
	uint64_t inodes; /* their sum */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void put(const char *name, const char *bytes, size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	must(fd >= 0);
	must(write(fd, bytes, len) == (ssize_t)len);
	must(close(fd) == 0);
}

static void remove_folder(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlinkat(dirfd, files[i], 0);
	(void)unlinkat(dirfd, "net", AT_REMOVEDIR);
	(void)unlinkat(dirfd, "stat", 0);
	(void)rmdir(folder);
}

static void make_folder(void)
{
	const char *base = getenv("TMPDIR");
	int len;

	if (dirfd >= 0)
		return;
	len = snprintf(folder, sizeof(folder), "%s/fuzz-net-XXXXXX", base ? base : "/tmp");
	must(len > 0 && len < FOLDER_MAX);
	must(mkdtemp(folder) != NULL);
	dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dirfd >= 0 && mkdirat(dirfd, "net", 0755) == 0);
	put("stat", "", 0); /* it lives (pin_alive()) */
	(void)atexit(remove_folder);
}

static void take_line(struct expected *e, size_t file, const char *line, size_t len)
{
	struct inet_row inet;
	struct unix_row local;

	if (file == UNIX) {
		if (net_parse_unix_line(line, len, &local) < 0)
			return; /* the second half of a path with a newline */
		e->inodes += local.ino;
	} else if (net_parse_tcp_line(line, len, file == 1, &inet) == 0) {
		e->inodes += inet.ino;
	} else {
		e->known = false;
	}
	e->rows++;
}

static struct expected expect(size_t file, const char *text, size_t len)
{
	struct expected e = { .known = true };

	for (size_t at = 0; at < len;) {
		const char *newline = memchr(text + at, '\n', len - at);
		size_t line = newline ? (size_t)(newline - text) - at : len - at;

		if (!newline || line >= LINE_ROOM)
			e.known = false;
		else if (at) /* the first line is the header */
			take_line(&e, file, text + at, line);
		at += line + 1;
	}
	return e;
}

static void check_inet(const struct socket_table *t, const struct expected *e)
{
	uint64_t sum = 0;

	must(t->inet_known == e->known && t->inet_count == (e->known ? e->rows : 0));
	for (size_t i = 0; i < t->inet_count; i++) {
		must(!i || t->inet[i - 1].ino <= t->inet[i].ino);
		sum += t->inet[i].ino;
	}
	must(!e->known || sum == e->inodes);
}

static void check_unix(const struct socket_table *t, const struct expected *e)
{
	uint64_t sum = 0;

	must(t->unix_known == e->known && t->unix_count == (e->known ? e->rows : 0));
	for (size_t i = 0; i < t->unix_count; i++) {
		must(!i || t->unix_rows[i - 1].ino <= t->unix_rows[i].ino);
		sum += t->unix_rows[i].ino;
	}
	must(!e->known || sum == e->inodes);
}

static void try_table(size_t file, const char *text, size_t len)
{
	const struct expected empty = { .known = true };
	struct expected e = expect(file, text, len);
	struct socket_table t;

	make_folder();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(files[i], text, i == file ? len : 0);
	must(sockets_read_proc(dirfd, &t) == 0);
	check_inet(&t, file == UNIX ? &empty : &e);
	check_unix(&t, file == UNIX ? &e : &empty);
	socket_table_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[TEXT_MAX];
	size_t len = 0, times;

	if (size < HEAD)
		return 0;
	times = 1 + data[1] % TIMES_MAX;
	for (size_t i = 0; i < times && len + size - HEAD <= sizeof(text); i++) {
		memcpy(text + len, data + HEAD, size - HEAD);
		len += size - HEAD;
	}
	try_table(data[0] % ARRAY_SIZE(files), text, len);
	return 0;
}

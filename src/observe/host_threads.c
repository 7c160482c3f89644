/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/host_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "model/grow.h"
#include "observe/proc_parse.h"

enum {
	STAT_MAX = 1024,
	PATH_MAX_LEN = 32,
};

/* How the names begin. One that was cut in the middle may be a reader's too: then it counts. */
static const char *const writer_names[] = {
	"stdout writer",
	"stdout ..",
	"python-udf-pipe",
	"python-..",
};

struct listing {
	uint64_t *began_ms; /* owned */
	size_t count, room;
	unsigned seen;
};

static void listing_done(struct listing *l)
{
	free(l->began_ms);
}

static bool is_writer(const char *stat)
{
	const char *name = strchr(stat, '(');

	for (size_t i = 0; name && i < ARRAY_SIZE(writer_names); i++)
		if (strncmp(name + 1, writer_names[i], strlen(writer_names[i])) == 0)
			return true;
	return false;
}

static int add(struct listing *l, uint64_t began_ms)
{
	uint64_t *more = grow(l->began_ms, l->count, &l->room, sizeof(*more), HOST_THREADS_MAX);

	if (!more)
		return -ENOMEM;
	l->began_ms = more;
	more[l->count++] = began_ms;
	return 0;
}

/* A thread that has ended meanwhile writes no more. */
static int visit(struct listing *l, int dirfd, pid_t tid)
{
	char path[PATH_MAX_LEN], bytes[STAT_MAX + 1];
	struct proc_stat stat;
	ssize_t len;
	int err;

	(void)snprintf(path, sizeof(path), "task/%d/stat", tid);
	len = fs_read_at(dirfd, path, bytes, STAT_MAX);
	if (len == -ENOENT || len == -ESRCH)
		return 0;
	if (len < 0)
		return (int)len;
	bytes[len] = '\0';
	err = proc_parse_stat(bytes, (size_t)len, &stat);
	if (err < 0)
		return err;
	return is_writer(bytes) ? add(l, clock_ticks_to_ms(stat.start)) : 0;
}

static int list(struct listing *l, int dirfd, DIR *dir)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(dir))) {
		pid_t tid;
		int err;

		if (parse_pid(entry->d_name, &tid) < 0)
			continue;
		if (l->seen++ == HOST_THREADS_MAX)
			return -E2BIG;
		err = visit(l, dirfd, tid);
		if (err < 0)
			return err;
	}
	return -errno;
}

int host_threads_writers(int dirfd, struct writers *ret)
{
	_cleanup_(listing_done) struct listing l = { 0 };
	DIR *dir = fs_open_dir(dirfd, "task");
	int err;

	if (!dir)
		return -errno;
	err = list(&l, dirfd, dir);
	(void)closedir(dir);
	if (err < 0)
		return err;
	ret->known = true;
	ret->count = l.count;
	ret->began_ms = TAKE_PTR(l.began_ms);
	return 0;
}

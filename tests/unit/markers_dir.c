/* SPDX-License-Identifier: Apache-2.0 */
#include "markers_dir.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HANG_S =
		60, /* what takes so long hangs; criterion 2.4 leaks where it looks after the time itself */
};

char dir_top[64];
struct markers *dir_reader;
struct dir_taken taken;
struct markers_counts counts;

void dir_make(void)
{
	const char *tmp = getenv("TMPDIR");

	alarm(HANG_S);
	(void)snprintf(dir_top, sizeof(dir_top), "%s/reaper-markers-XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(dir_top));
	cr_assert_eq(chmod(dir_top, 0755), 0);
	cr_assert_eq(markers_new(dir_top, &dir_reader), 0);
	memset(&taken, 0, sizeof(taken));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void dir_remove(void)
{
	markers_free(dir_reader);
	(void)nftw(dir_top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *dir_path(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *p = path[turn++ % 4];

	(void)snprintf(p, sizeof(path[0]), "%s/%s", dir_top, name);
	return p;
}

void dir_write(const char *name, const char *bytes, size_t len, int flags)
{
	int fd = open(dir_path(name), O_WRONLY | O_CREAT | flags, 0644);

	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	cr_assert_eq(fchmod(fd, 0644), 0);
	close(fd);
}

void dir_log(const char *name, const char *text)
{
	dir_write(name, text, strlen(text), O_TRUNC);
}

void dir_append(const char *name, const char *text)
{
	dir_write(name, text, strlen(text), O_APPEND);
}

int dir_sink(void *arg, const struct marker_source *source, const struct marker *m)
{
	struct dir_taken *t = arg;
	unsigned i = t->count % DIR_TAKEN_MAX;

	if (t->refuse)
		return t->refuse;
	if (m->bad) {
		t->bad++;
		return 0;
	}
	t->log[i] = source->log;
	t->owner[i] = source->owner;
	t->ms[i] = m->unix_ms;
	t->event[i] = m->event;
	(void)snprintf(t->name[i], sizeof(t->name[i]), "%s", source->name);
	t->count++;
	return 0;
}

void dir_forget(void *arg, uint32_t log)
{
	struct dir_taken *t = arg;

	t->forgot[t->forgotten++ % DIR_TAKEN_MAX] = log;
}

/* Reads, with what was taken before forgotten by the test, and checks that no descriptor stays open. */
int dir_read(void)
{
	int before = dup(0), after, err;

	close(before);
	taken.count = taken.bad = taken.forgotten = 0;
	err = markers_read(dir_reader, dir_sink, dir_forget, &taken, &counts);
	after = dup(0);
	close(after);
	cr_assert_eq(before, after, "a descriptor stays open");
	return err;
}

void dir_mkdir(const char *name, mode_t mode)
{
	cr_assert_eq(mkdir(dir_path(name), 0700), 0);
	cr_assert_eq(chmod(dir_path(name), mode), 0);
}

/* Skips; what the suite's .fini does is not done then. */
void dir_skip(const char *why)
{
	dir_remove();
	cr_skip_test("%s", why);
}

void dir_need_root(void)
{
	if (geteuid() != 0)
		dir_skip("needs root");
}

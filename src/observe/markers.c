/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/markers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "model/grow.h"
#include "observe/marker_dirs.h"
#include "observe/marker_file.h"

enum {
	FILES_MAX = 2 * MARKER_LOGS_MAX, /* those of this round and of the one before */
};

struct markers {
	char *dir;                 /* owned */
	char *block;               /* owned; MARKER_FILE_BLOCK bytes */
	struct marker_file *files; /* owned; the first `sorted` by device and inode */
	size_t count, room, sorted;
	uint32_t numbers; /* given to logs so far */
	uint32_t rounds;
};

/* What one user's logs may still take of a call: a hole of a terabyte costs its owner nothing. */
struct markers_owner {
	uid_t uid;
	uint64_t left;
};

/* One call of markers_read(). */
struct markers_round {
	struct markers *m;
	struct marker_reader reader;
	markers_forget forget;
	struct markers_counts *counts;
	struct marker_dirs dirs;
	size_t place;   /* whose directory is open */
	int fd;         /* owned; of that subdirectory; -1: marker_dir itself, or none */
	struct stat st; /* of it */
	struct markers_owner *owners; /* owned */
	size_t owner_count, owner_room;
};

int markers_new(const char *dir, struct markers **ret_markers)
{
	struct markers *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->dir = strdup(dir);
	m->block = malloc(MARKER_FILE_BLOCK);
	if (!m->dir || !m->block) {
		markers_free(m);
		return -ENOMEM;
	}
	*ret_markers = m;
	return 0;
}

static int by_inode(const void *a, const void *b)
{
	const struct marker_file *fa = a, *fb = b;

	if (fa->dev != fb->dev)
		return fa->dev < fb->dev ? -1 : 1;
	if (fa->ino != fb->ino)
		return fa->ino < fb->ino ? -1 : 1;
	return 0;
}

/* A log that is found for the first time is behind the sorted ones, and found once: it has one link. */
static struct marker_file *find_file(const struct markers *m, const struct stat *st)
{
	const struct marker_file key = { .dev = st->st_dev, .ino = st->st_ino };

	return m->sorted ? bsearch(&key, m->files, m->sorted, sizeof(*m->files), by_inode) : NULL;
}

static struct marker_file *find_number(const struct markers *m, uint32_t number)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->files[i].number == number)
			return &m->files[i];
	return NULL;
}

/* Names a candidate relative to marker_dir. */
static int join(const struct marker_dirs *d, const struct marker_candidate *c, char **ret)
{
	const char *place = marker_dirs_name(d, d->places[c->place].name);

	return asprintf(ret, "%s%s%s", place, *place ? "/" : "", marker_dirs_name(d, c->name)) < 0
		       ? -ENOMEM
		       : 0;
}

/* Makes a log new: what it said before is forgotten, and it is read from its first byte. */
static int begin_file(struct markers *m, struct marker_file *f, const struct stat *st)
{
	if (m->numbers == UINT32_MAX)
		return -EOVERFLOW;
	f->number = ++m->numbers;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->offset = f->lines = 0;
	f->skipping = f->torn = false;
	f->who.event = MARKER_UNKNOWN;
	f->bad = f->unknown = 0;
	free(f->first_bad);
	f->first_bad = NULL;
	return 0;
}

static bool is_gone(const struct markers_round *r, const struct marker_file *f)
{
	return f->round < r->m->rounds && !marker_dirs_may_hide(&r->dirs, f->owner);
}

static bool is_unseen_twice(const struct markers_round *r, const struct marker_file *f)
{
	return f->round + 1 < r->m->rounds;
}

/* Drops logs; the sorted ones stay so. */
static void drop(struct markers_round *r,
		 bool (*is_to_go)(const struct markers_round *r, const struct marker_file *f))
{
	struct markers *m = r->m;
	size_t kept = 0, sorted = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (!is_to_go(r, &m->files[i])) {
			sorted += i < m->sorted;
			m->files[kept++] = m->files[i];
			continue;
		}
		r->forget(r->reader.arg, m->files[i].number);
		marker_file_done(&m->files[i]);
	}
	m->count = kept;
	m->sorted = sorted;
}

static int add_file(struct markers_round *r, const struct stat *st, struct marker_file **ret)
{
	struct markers *m = r->m;
	struct marker_file *more;
	int err;

	/* Where no list is ever whole nothing is ever gone; what two rounds did not see makes room. */
	if (m->count == FILES_MAX)
		drop(r, is_unseen_twice);
	more = grow(m->files, m->count, &m->room, sizeof(*more), FILES_MAX);
	if (!more)
		return -ENOMEM;
	m->files = more;
	more += m->count;
	err = begin_file(m, more, st);
	if (err < 0)
		return err;
	m->count++;
	*ret = more;
	return 0;
}

/* Finds what was known of an open file, or begins anew with it. */
static int follow(struct markers_round *r, int fd, const struct stat *st, struct marker_file **ret)
{
	struct marker_file *f = find_file(r->m, st);

	if (!f)
		return add_file(r, st, ret);
	*ret = f;
	if (marker_file_continues(f, fd, st) && f->owner == st->st_uid)
		return 0;
	r->forget(r->reader.arg, f->number);
	return begin_file(r->m, f, st);
}

/* @return what the owner's logs may still take; NULL: no memory. */
static uint64_t *left_of(struct markers_round *r, uid_t uid)
{
	struct markers_owner *more;

	for (size_t i = 0; i < r->owner_count; i++)
		if (r->owners[i].uid == uid)
			return &r->owners[i].left;
	more = grow(r->owners, r->owner_count, &r->owner_room, sizeof(*more), MARKER_LOGS_MAX);
	if (!more)
		return NULL;
	r->owners = more;
	more += r->owner_count++;
	*more = (struct markers_owner){ uid, MARKERS_OWNER_UNREAD_MAX };
	return &more->left;
}

/* Reads on. @return as marker_file_read(). */
static int read_on(struct markers_round *r, struct marker_file *f, int fd, const struct stat *st)
{
	uint64_t *left = left_of(r, f->owner), begin = f->offset;
	int err;

	if (!left)
		return -ENOMEM;
	if (!*left)
		return (uint64_t)st->st_size == f->offset;
	err = marker_file_read(f, fd, *left, &r->reader);
	*left -= MIN(*left, f->offset - begin);
	return err;
}

static int read_file(struct markers_round *r, const struct marker_candidate *c, int fd,
		     const struct stat *st)
{
	struct marker_file *f;
	char *name;
	int err = join(&r->dirs, c, &name);

	if (err < 0)
		return err;
	err = follow(r, fd, st, &f);
	if (err < 0) {
		free(name);
		return err;
	}
	free(f->name);
	f->name = name;
	f->owner = st->st_uid;
	f->round = r->m->rounds;
	r->counts->logs++;
	err = read_on(r, f, fd, st);
	if (err == 0)
		marker_dirs_behind(r->counts, f->owner);
	return err;
}

/* Opens the directory of a candidate; those of one place come one after the other. */
static int enter(struct markers_round *r, size_t place)
{
	int fd;

	if (place == r->place)
		return 0;
	fs_close(&r->fd);
	r->place = place;
	r->st = r->dirs.st;
	if (!place)
		return 0;
	fd = marker_dirs_open(r->dirs.fd, marker_dirs_name(&r->dirs, r->dirs.places[place].name),
			      &r->st);
	if (fd < 0) {
		r->place = SIZE_MAX;
		return fd;
	}
	r->fd = fd;
	return 0;
}

static int read_candidate(struct markers_round *r, const struct marker_candidate *c)
{
	const char *place = marker_dirs_name(&r->dirs, r->dirs.places[c->place].name);
	const char *name = marker_dirs_name(&r->dirs, c->name);
	const char *why = "cannot be read";
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err = enter(r, c->place);

	if (err == 0)
		err = fd = marker_file_open(c->place ? r->fd : r->dirs.fd, &r->st, name, &st, &why);
	if (fd >= 0)
		return read_file(r, c, fd, &st);
	if (marker_dirs_is_refusal(-err))
		marker_dirs_distrust(r->counts, place, name, why);
	else if (err != -ENOENT) /* not at this moment: neither forgotten nor read */
		marker_dirs_miss(&r->dirs, c->owner, r->counts);
	return 0;
}

static int read_all(struct markers_round *r)
{
	const struct marker_dirs *d = &r->dirs;

	for (size_t i = 0; i < d->found_count; i++) {
		int err;

		if (r->counts->logs == MARKER_LOGS_MAX) {
			marker_dirs_behind(r->counts, d->found[i].owner);
			continue;
		}
		err = read_candidate(r, &d->found[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

static const struct marker_file *first_named(const struct marker_file *a,
					     const struct marker_file *b)
{
	return !a || strcmp(b->name, a->name) < 0 ? b : a;
}

/* Adds up what is bad in the logs that are there, and shows the first of them by name. */
static void count_bad(const struct markers *m, struct markers_counts *counts)
{
	const struct marker_file *first = NULL, *torn = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct marker_file *f = &m->files[i];

		counts->bad += f->bad;
		counts->unknown += f->unknown;
		counts->torn += f->torn;
		if (f->first_bad)
			first = first_named(first, f);
		if (f->torn)
			torn = first_named(torn, f);
	}
	if (torn)
		(void)log_escape(torn->name, strlen(torn->name), counts->first_torn,
				 sizeof(counts->first_torn));
	if (first)
		(void)snprintf(counts->first_bad, sizeof(counts->first_bad), "%s",
			       first->first_bad);
}

static int read_dirs(struct markers_round *r)
{
	int err = marker_dirs_list(r->m->dir, &r->dirs, r->counts);

	if (err == -ENOMEM)
		return err;
	if (err < 0) {
		/* Nobody knows what is in it now: nothing is forgotten, and nothing is whole. */
		marker_dirs_distrust(r->counts, r->m->dir, "", "cannot be read");
		r->counts->whole = false;
		r->counts->behind_anybody = true;
		return 0;
	}
	err = read_all(r);
	if (err == 0)
		drop(r, is_gone);
	return err;
}

int markers_read(struct markers *m, markers_sink sink, markers_forget forget, void *arg,
		 struct markers_counts *ret_counts)
{
	struct markers_counts counts = { .whole = true };
	struct markers_round r = {
		.m = m,
		.reader = { m->block, sink, arg },
		.forget = forget,
		.counts = &counts,
		.dirs = { .fd = -1 },
		.place = SIZE_MAX,
		.fd = -1,
	};
	int err;

	m->rounds++;
	m->sorted = m->count;
	if (m->count)
		qsort(m->files, m->count, sizeof(*m->files), by_inode);
	err = read_dirs(&r);
	fs_close(&r.fd);
	marker_dirs_done(&r.dirs);
	free(r.owners);
	if (err < 0)
		return err;
	count_bad(m, &counts);
	*ret_counts = counts;
	return 0;
}

/* Splits "sub/x.log" and opens what it lies in. */
static int open_parent(const struct markers *m, const char *name, const char **ret_base)
{
	_cleanup_close_ int top = open(m->dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	const char *slash = strchr(name, '/');
	_cleanup_free_ char *place = NULL;
	struct stat st;

	if (top < 0)
		return -errno;
	*ret_base = slash ? slash + 1 : name;
	if (!slash)
		return TAKE_FD(top);
	place = strndup(name, (size_t)(slash - name));
	if (!place)
		return -ENOMEM;
	return marker_dirs_open(top, place, &st);
}

int markers_remove(struct markers *m, uint32_t log)
{
	const struct marker_file *f = find_number(m, log);
	_cleanup_close_ int dirfd = -1;
	const char *base;
	struct stat st;
	int err;

	if (!f)
		return -ENOENT;
	base = f->name;
	dirfd = open_parent(m, f->name, &base);
	if (dirfd < 0)
		return dirfd;
	err = fs_stat_here(dirfd, base, &st);
	if (err < 0)
		return err;
	/* It was replaced: what bears its name now was never judged. */
	if (st.st_dev != f->dev || st.st_ino != f->ino)
		return -ESTALE;
	return unlinkat(dirfd, base, 0) < 0 ? -errno : 0;
}

void markers_free(struct markers *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		marker_file_done(&m->files[i]);
	free(m->files);
	free(m->block);
	free(m->dir);
	free(m);
}

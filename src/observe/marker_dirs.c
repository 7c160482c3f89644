/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/marker_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "model/grow.h"

#define SUFFIX ".log"

static void dir_close(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

int marker_dirs_open(int dirfd, const char *name, struct stat *ret_st)
{
	_cleanup_close_ int fd =
		openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	return TAKE_FD(fd);
}

void marker_dirs_distrust(struct markers_counts *counts, const char *place, const char *name,
			  const char *why)
{
	char raw[2 * NAME_MAX + 2];
	size_t len = strlen(why) + 2;

	if (counts->distrusted++)
		return;
	(void)snprintf(raw, sizeof(raw), "%s%s%s", place, *place && *name ? "/" : "", name);
	log_escape(raw, strlen(raw), counts->first_distrusted,
		   sizeof(counts->first_distrusted) - len);
	(void)snprintf(counts->first_distrusted + strlen(counts->first_distrusted), len + 1, ": %s",
		       why);
}

void marker_dirs_behind(struct markers_counts *counts, uid_t owner)
{
	counts->whole = false;
	for (uint32_t i = 0; i < counts->behind_count; i++)
		if (counts->behind[i] == owner)
			return;
	if (counts->behind_count < MARKERS_BEHIND_MAX)
		counts->behind[counts->behind_count++] = owner;
	else
		counts->behind_anybody = true;
}

static bool is_log(const char *name)
{
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;

	return len >= suffix && strcmp(name + len - suffix, SUFFIX) == 0;
}

const char *marker_dirs_name(const struct marker_dirs *dirs, size_t name)
{
	return dirs->names.bytes + name;
}

static int add_name(struct marker_dirs *d, const char *name, size_t *ret)
{
	*ret = d->names.len;
	buf_add(&d->names, name, strlen(name) + 1);
	return d->names.failed ? -ENOMEM : 0;
}

static int add_place(struct marker_dirs *d, const char *name, uid_t owner)
{
	struct marker_place *more = grow(d->places, d->place_count, &d->place_room, sizeof(*more),
					 MARKER_DIRS_ENTRIES_MAX + 1);

	if (!more)
		return -ENOMEM;
	d->places = more;
	more += d->place_count++;
	more->owner = owner;
	return add_name(d, name, &more->name);
}

static int add_found(struct marker_dirs *d, size_t place, const char *name, uid_t owner)
{
	struct marker_candidate *more =
		grow(d->found, d->found_count, &d->found_room, sizeof(*more), SIZE_MAX);

	if (!more)
		return -ENOMEM;
	d->found = more;
	more += d->found_count++;
	more->place = place;
	more->owner = owner;
	return add_name(d, name, &more->name);
}

/* Gives a stream of its own to a directory that stays open. */
static DIR *stream_of(int fd)
{
	_cleanup_close_ int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (dir)
		TAKE_FD(copy);
	return dir;
}

static int add_entry(struct marker_dirs *d, const char *name)
{
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	/* What is gone by now was never there. */
	if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return add_place(d, name, st.st_uid);
	return is_log(name) ? add_found(d, 0, name, st.st_uid) : 0;
}

/* Lists marker_dir itself: logs and subdirectories. */
static int list_top(struct marker_dirs *d, struct markers_counts *counts)
{
	_cleanup_(dir_close) DIR *dir = stream_of(d->fd);
	const struct dirent *e;

	if (!dir)
		return -errno;
	for (size_t i = 0; (e = readdir(dir)); i++) {
		int err;

		if (i == MARKER_DIRS_ENTRIES_MAX) {
			d->partial = true;
			counts->whole = false;
			counts->behind_anybody = true;
			break;
		}
		err = add_entry(d, e->d_name);
		if (err < 0)
			return err;
	}
	return 0;
}

bool marker_dirs_is_refusal(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case ELOOP:   /* a link */
	case ENOTDIR: /* what was a directory is none now */
	case ENXIO:   /* a FIFO or a socket took its place */
		return true;
	default:
		return false;
	}
}

/* What is gone was never there; what could not be opened for another reason holds nobody knows what. */
static void note_unlisted(struct marker_dirs *d, const struct marker_place *p, int error,
			  struct markers_counts *counts)
{
	if (marker_dirs_is_refusal(error)) {
		marker_dirs_distrust(counts, marker_dirs_name(d, p->name), "", "cannot be read");
	} else if (error != ENOENT) {
		d->partial = true;
		marker_dirs_behind(counts, p->owner);
	}
}

/* Lists one subdirectory, at most share logs of it. */
static int list_place(struct marker_dirs *d, size_t place, size_t share,
		      struct markers_counts *counts)
{
	const struct marker_place *p = &d->places[place];
	_cleanup_(dir_close) DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	const struct dirent *e;
	const char *why;
	struct stat st;

	fd = marker_dirs_open(d->fd, marker_dirs_name(d, p->name), &st);
	dir = fd < 0 ? NULL : stream_of(fd);
	if (!dir) {
		note_unlisted(d, p, errno, counts);
		return 0;
	}
	why = fs_distrust_dir(&st, st.st_uid);
	if (why) {
		marker_dirs_distrust(counts, marker_dirs_name(d, p->name), "", why);
		return 0;
	}
	for (size_t taken = 0; (e = readdir(dir));) {
		int err;

		if (!is_log(e->d_name))
			continue;
		if (taken++ == share) {
			d->partial = true;
			marker_dirs_behind(counts, st.st_uid);
			break;
		}
		err = add_found(d, place, e->d_name, st.st_uid);
		if (err < 0)
			return err;
	}
	return 0;
}

static int by_place_name(const void *a, const void *b, void *dirs)
{
	const struct marker_place *pa = a, *pb = b;

	return strcmp(marker_dirs_name(dirs, pa->name), marker_dirs_name(dirs, pb->name));
}

static int compare_rank(const struct marker_candidate *a, const struct marker_candidate *b)
{
	if (a->peers != b->peers)
		return a->peers < b->peers ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return 0;
}

/* Those who have few first; then everything that can make an order not depend on the directory. */
static int by_rank(const void *a, const void *b, void *dirs)
{
	const struct marker_candidate *ca = a, *cb = b;
	int rank = compare_rank(ca, cb);

	if (rank)
		return rank;
	if (ca->place != cb->place)
		return ca->place < cb->place ? -1 : 1;
	return strcmp(marker_dirs_name(dirs, ca->name), marker_dirs_name(dirs, cb->name));
}

static void rank(struct marker_dirs *d)
{
	size_t n = d->found_count, last;

	qsort_r(d->found, n, sizeof(*d->found), by_rank, d); /* by owner: all have 0 peers yet */
	for (size_t first = 0; first < n; first = last) {
		for (last = first; last < n && d->found[last].owner == d->found[first].owner;)
			last++;
		for (size_t i = first; i < last; i++)
			d->found[i].peers = (uint32_t)(last - first);
	}
	qsort_r(d->found, n, sizeof(*d->found), by_rank, d);
}

int marker_dirs_list(const char *dir, struct marker_dirs *dirs, struct markers_counts *counts)
{
	size_t share;
	int err;

	dirs->fd = open(dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	if (dirs->fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(dirs->fd, &dirs->st) < 0)
		return -errno;
	err = add_place(dirs, "", dirs->st.st_uid);
	if (err == 0)
		err = list_top(dirs, counts);
	if (err < 0)
		return err;
	qsort_r(dirs->places, dirs->place_count, sizeof(*dirs->places), by_place_name, dirs);
	share = MAX((size_t)MARKER_DIRS_FOUND_MAX / dirs->place_count,
		    (size_t)MARKER_DIRS_SHARE_MIN);
	for (size_t i = 1; i < dirs->place_count; i++) {
		err = list_place(dirs, i, share, counts);
		if (err < 0)
			return err;
	}
	if (dirs->found_count)
		rank(dirs);
	return 0;
}

void marker_dirs_done(struct marker_dirs *dirs)
{
	buf_done(&dirs->names);
	free(dirs->places);
	free(dirs->found);
	fs_close(&dirs->fd);
}

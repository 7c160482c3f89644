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
#include "observe/marker_file.h"

#define SUFFIX ".log"

static void dir_close(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

int marker_dirs_open(int dirfd, const char *name, struct stat *ret_st)
{
	_cleanup_close_ int fd = fs_open_here(dirfd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0)
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

/* Where the share of an owner is, or belongs. */
static size_t share_at(const struct marker_dirs *d, uid_t owner)
{
	size_t low = 0, high = d->share_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->shares[mid].owner < owner)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct marker_share *find_share(const struct marker_dirs *d, uid_t owner)
{
	size_t at = share_at(d, owner);

	return at < d->share_count && d->shares[at].owner == owner ? &d->shares[at] : NULL;
}

static struct marker_share *add_share(struct marker_dirs *d, uid_t owner)
{
	size_t at = share_at(d, owner);
	struct marker_share *more = grow(d->shares, d->share_count, &d->share_room, sizeof(*more),
					 MARKER_DIRS_OWNERS_MAX);

	if (!more)
		return NULL;
	d->shares = more;
	more += at;
	memmove(more + 1, more, (d->share_count++ - at) * sizeof(*more));
	*more = (struct marker_share){ .owner = owner };
	return more;
}

void marker_dirs_miss(struct marker_dirs *dirs, uid_t owner, struct markers_counts *counts)
{
	struct marker_share *s = find_share(dirs, owner);

	if (s)
		s->missed = true;
	else
		dirs->missed = true;
	marker_dirs_behind(counts, owner);
}

static bool was_missed(const struct marker_dirs *d, uid_t owner)
{
	const struct marker_share *s = find_share(d, owner);

	return s && s->missed;
}

bool marker_dirs_may_hide(const struct marker_dirs *dirs, uid_t owner)
{
	/* root's directories may hold anybody's logs. */
	return dirs->missed || was_missed(dirs, owner) || was_missed(dirs, 0);
}

/* Counts an entry. Returns 1; 0: its owner has had its share, so it is left out; -ENOMEM. */
static int take_entry(struct marker_dirs *d, uid_t owner, struct markers_counts *counts)
{
	struct marker_share *s = find_share(d, owner);

	if (!s && d->share_count < MARKER_DIRS_OWNERS_MAX) {
		s = add_share(d, owner);
		if (!s)
			return -ENOMEM;
	}
	if (s && s->entries < MARKER_DIRS_OWNER_MAX) {
		s->entries++;
		return 1;
	}
	marker_dirs_miss(d, owner, counts);
	return 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
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

bool marker_dirs_is_refusal(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
	case ELOOP:   /* a link */
	case ENOTDIR: /* what was a directory is none now */
	case ENXIO:   /* a FIFO or a socket took its place */
	case EXDEV:   /* something was mounted there */
		return true;
	default:
		return false;
	}
}

/* Something of nobody knows whom. */
static void miss_anybodys(struct marker_dirs *d, struct markers_counts *counts)
{
	d->missed = true;
	counts->whole = false;
	counts->behind_anybody = true;
}

/* What is gone by now was never there; what cannot be looked at for another reason may be anything. */
static void note_unseen(struct marker_dirs *d, const char *name, int error,
			struct markers_counts *counts)
{
	if (error == EXDEV)
		marker_dirs_distrust(counts, "", name, FS_WHY_MOUNT);
	else if (marker_dirs_is_refusal(error))
		marker_dirs_distrust(counts, "", name, "cannot be read");
	else if (error != ENOENT)
		miss_anybodys(d, counts);
}

static int add_entry(struct marker_dirs *d, const char *name, struct markers_counts *counts)
{
	struct stat st;
	int took;

	if (is_dots(name))
		return 0;
	took = fs_stat_here(d->fd, name, &st);
	if (took < 0) {
		note_unseen(d, name, -took, counts);
		return 0;
	}
	if (S_ISLNK(st.st_mode) && !is_log(name)) {
		marker_dirs_distrust(counts, "", name, "is a symbolic link");
		return 0;
	}
	if (!S_ISDIR(st.st_mode) && !is_log(name))
		return 0;
	/* Never believed, and perhaps a link that others made: it costs its owner nothing. */
	if (!S_ISDIR(st.st_mode) && fs_distrust_dir(&d->st, st.st_uid)) {
		marker_dirs_distrust(counts, "", name, MARKER_FILE_WHY_OPEN);
		return 0;
	}
	took = take_entry(d, st.st_uid, counts);
	if (took <= 0)
		return took;
	return S_ISDIR(st.st_mode) ? add_place(d, name, st.st_uid)
				   : add_found(d, 0, name, st.st_uid);
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
			miss_anybodys(d, counts);
			break;
		}
		err = add_entry(d, e->d_name, counts);
		if (err < 0)
			return err;
	}
	return 0;
}

/* What is gone was never there; what could not be opened for another reason holds nobody knows what. */
static void note_unlisted(struct marker_dirs *d, const struct marker_place *p, int error,
			  struct markers_counts *counts)
{
	if (marker_dirs_is_refusal(error)) {
		marker_dirs_distrust(counts, marker_dirs_name(d, p->name), "", "cannot be read");
	} else if (error != ENOENT) {
		marker_dirs_miss(d, p->owner, counts);
	}
}

/* As take_entry(), below marker_dir: there every entry costs time, whatever its name. */
static int take_below(struct marker_dirs *d, uid_t owner, struct markers_counts *counts)
{
	if (d->below == MARKER_DIRS_ENTRIES_MAX) {
		marker_dirs_miss(d, owner, counts);
		return 0;
	}
	d->below++;
	return take_entry(d, owner, counts);
}

static void name_deep(struct markers_counts *counts, const char *place, const char *name)
{
	char raw[2 * NAME_MAX + 2];

	(void)snprintf(raw, sizeof(raw), "%s/%s", place, name);
	(void)log_escape(raw, strlen(raw), counts->first_deep, sizeof(counts->first_deep));
}

static int add_below(struct marker_dirs *d, size_t place, DIR *dir, uid_t owner,
		     struct markers_counts *counts)
{
	const struct dirent *e;

	while ((e = readdir(dir))) {
		int err;

		if (is_dots(e->d_name))
			continue;
		err = take_below(d, owner, counts);
		if (err <= 0)
			return err;
		if (e->d_type == DT_DIR && !counts->deep++)
			name_deep(counts, marker_dirs_name(d, d->places[place].name), e->d_name);
		err = is_log(e->d_name) ? add_found(d, place, e->d_name, owner) : 0;
		if (err < 0)
			return err;
	}
	return 0;
}

/* Lists one subdirectory. */
static int list_place(struct marker_dirs *d, size_t place, struct markers_counts *counts)
{
	const struct marker_place *p = &d->places[place];
	_cleanup_(dir_close) DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	const char *why;
	struct stat st;

	fd = marker_dirs_open(d->fd, marker_dirs_name(d, p->name), &st);
	dir = fd < 0 ? NULL : stream_of(fd);
	if (!dir) {
		note_unlisted(d, p, fd < 0 ? -fd : errno, counts);
		return 0;
	}
	why = fs_distrust_dir(&st, st.st_uid);
	if (why) {
		marker_dirs_distrust(counts, marker_dirs_name(d, p->name), "", why);
		return 0;
	}
	return add_below(d, place, dir, st.st_uid, counts);
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
	for (size_t i = 1; i < dirs->place_count; i++) {
		err = list_place(dirs, i, counts);
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
	free(dirs->shares);
	fs_close(&dirs->fd);
}

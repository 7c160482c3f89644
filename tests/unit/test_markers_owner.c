/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one owner's logs may take of one look: a file full of nothing costs its owner nothing.
 */
#include <criterion/criterion.h>

#include "base/fs.h"
#include "observe/marker_dirs.h"
#include "observe/markers.h"
#include "tmpdir.h"

TestSuite(markers_owner, .timeout = 120);

enum {
	MIB = 1024 * 1024,
	EACH = MARKER_UNREAD_MAX - MIB, /* so much nothing, then one record */
	FIT = MARKERS_OWNER_UNREAD_MAX / EACH,
	LOGS = FIT + 2,
};

static void write_log(const struct tmpdir *d, int i)
{
	_cleanup_close_ int fd = -1;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%02d.log", d->path, i);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, EACH), 0);
	cr_assert_eq(lseek(fd, EACH, SEEK_SET), EACH);
	cr_assert_gt(dprintf(fd, "\nreaper/1 1 beat n=%d\n", i), 0);
}

static int count_record(void *arg, const struct marker_source *source, const struct marker *m)
{
	(void)source;
	*(int *)arg += !m->bad;
	return 0;
}

static void forget(void *arg, uint32_t log)
{
	(void)arg;
	(void)log;
}

Test(markers_owner, its_logs_share_what_one_look_reads)
{
	struct tmpdir d = tmpdir_make();
	struct markers_counts counts;
	struct markers *m;
	int records = 0;

	for (int i = 0; i < LOGS; i++)
		write_log(&d, i);
	cr_assert_eq(markers_new(d.path, &m), 0);
	cr_assert_eq(markers_read(m, count_record, forget, &records, &counts), 0);
	cr_expect_eq(records, FIT, "%d of %d", records, FIT);
	cr_expect_not(counts.whole);
	cr_expect_eq(counts.behind_count, 1);
	cr_expect_eq(counts.behind[0], getuid());
	cr_assert_eq(markers_read(m, count_record, forget, &records, &counts), 0);
	cr_expect_eq(records, LOGS, "the rest waited");
	cr_expect(counts.whole);
	cr_assert_eq(markers_read(m, count_record, forget, &records, &counts), 0);
	cr_expect_eq(records, LOGS);
	cr_expect(counts.whole, "what has nothing new takes nothing");
	markers_free(m);
	tmpdir_remove(&d);
}

enum {
	PLACES = 32,
	COME_AND_GO = 3000,
	ROUNDS = 4, /* more logs than two rounds can read */
};

static void make(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s", path);
}

/* One directory that is never listed to its end, so that nobody knows what is gone. */
static void make_places(const struct tmpdir *d)
{
	char path[128];

	for (int i = 0; i < PLACES; i++) {
		(void)snprintf(path, sizeof(path), "%s/%02d", d->path, i);
		cr_assert_eq(mkdir(path, 0755), 0);
	}
	for (int i = 0; i <= MARKER_DIRS_OWNER_MAX; i++) {
		(void)snprintf(path, sizeof(path), "%s/00/%05d.log", d->path, i);
		make(path);
	}
}

Test(markers_owner, logs_that_come_and_go_where_no_list_is_whole)
{
	struct tmpdir d = tmpdir_make();
	struct markers_counts counts;
	struct markers *m;
	char path[128], old[128];
	int records = 0;

	make_places(&d);
	cr_assert_eq(markers_new(d.path, &m), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < COME_AND_GO; i++) {
			(void)snprintf(path, sizeof(path), "%s/%d-%04d.log", d.path, round, i);
			make(path);
		}
		cr_assert_eq(markers_read(m, count_record, forget, &records, &counts), 0,
			     "round %d", round);
		cr_expect_not(counts.whole);
		for (int i = 0; i < COME_AND_GO; i++) { /* its inode stays taken */
			(void)snprintf(path, sizeof(path), "%s/%d-%04d.log", d.path, round, i);
			(void)snprintf(old, sizeof(old), "%s/%d-%04d.old", d.path, round, i);
			cr_assert_eq(rename(path, old), 0);
		}
	}
	markers_free(m);
	tmpdir_remove(&d);
}

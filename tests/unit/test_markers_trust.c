/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not to be believed is not read.
 */
#include "observe/markers.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "markers_dir.h"
#include "observe/marker_dirs.h"
#include "observe/marker_file.h"

TestSuite(markers_trust, .init = dir_make, .fini = dir_remove);

static void make_fifo(void)
{
	cr_assert_eq(mkfifo(dir_path("a.log"), 0644), 0);
}

static void make_link(void)
{
	dir_log("target", DIR_HOST);
	cr_assert_eq(symlink("target", dir_path("a.log")), 0);
}

static void make_dangling(void)
{
	cr_assert_eq(symlink("/nowhere", dir_path("a.log")), 0);
}

static void make_hard_link(void)
{
	dir_log("target", DIR_HOST);
	cr_assert_eq(link(dir_path("target"), dir_path("a.log")), 0);
}

static void make_socket(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%.40s/a.log", dir_top);
	cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
}

static void make_group_writable(void)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(chmod(dir_path("a.log"), 0664), 0);
}

static void make_writable(void)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(chmod(dir_path("a.log"), 0646), 0);
}

static void make_in_open_top(void)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(chmod(dir_top, 01777), 0);
}

static void make_in_open_place(void)
{
	dir_mkdir("sub", 0775);
	dir_log("sub/a.log", DIR_HOST);
}

static void make_directory_below(void)
{
	dir_mkdir("sub", 0755);
	dir_mkdir("sub/a.log", 0755);
}

static void make_linked_place(void)
{
	dir_mkdir("target", 0755);
	dir_log("target/a", DIR_HOST);
	cr_assert_eq(symlink("target", dir_path("sub")), 0);
}

static const struct {
	const char *why;
	void (*make)(void);
	const char *said;
} strangers[] = {
	{ "a FIFO without a writer", make_fifo, "a.log: is a FIFO" },
	{ "a symbolic link", make_link, "a.log: is a symbolic link" },
	{ "a link to nothing", make_dangling, "a.log: is a symbolic link" },
	{ "a hard link", make_hard_link, "a.log: does not have exactly one link" },
	{ "a socket", make_socket, "a.log: is a socket" },
	{ "a file that its group may write", make_group_writable,
	  "a.log: is writable by its group" },
	{ "a file that all may write", make_writable, "a.log: is writable by others" },
	{ "a file right in an open marker_dir", make_in_open_top,
	  "a.log: lies in a directory that others may write to" },
	{ "a subdirectory that its group may write", make_in_open_place,
	  "sub: is writable by its group" },
	{ "a link to a directory", make_linked_place, "sub: is a symbolic link" },
	{ "a directory for a log", make_directory_below, "sub/a.log: is a directory" },
};

Test(markers_trust, strangers_are_not_read)
{
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		strangers[i].make();
		cr_assert_eq(dir_read(), 0);
		cr_assert_eq(taken.count, 0, "%s", strangers[i].why);
		cr_assert_eq(counts.distrusted, 1, "%s: %u", strangers[i].why, counts.distrusted);
		cr_assert_str_eq(counts.first_distrusted, strangers[i].said, "%s: %s",
				 strangers[i].why, counts.first_distrusted);
		cr_assert(counts.whole, "%s", strangers[i].why);
		dir_remove();
		dir_make();
	}
}

static bool looked_like_a_log; /* what became a FIFO right after */

static int look_error; /* what the kernel says of "a.log" and "sub" */

int __real_fs_stat_here(int dirfd, const char *name, struct stat *st);
int __wrap_fs_stat_here(int dirfd, const char *name, struct stat *st);
int __wrap_fs_stat_here(int dirfd, const char *name, struct stat *st)
{
	int err = __real_fs_stat_here(dirfd, name, st);

	if (look_error && (strcmp(name, "a.log") == 0 || strcmp(name, "sub") == 0))
		return look_error;
	if (err == 0 && looked_like_a_log && S_ISFIFO(st->st_mode))
		st->st_mode = S_IFREG | (st->st_mode & 07777);
	return err;
}

/* To open a FIFO would be to wait for its writer. */
Test(markers_trust, what_becomes_a_fifo_is_neither_awaited_nor_believed)
{
	make_fifo();
	looked_like_a_log = true;
	cr_assert_eq(dir_read(), 0);
	cr_expect_eq(taken.count, 0);
	cr_expect_eq(counts.distrusted, 1);
	cr_expect_str_eq(counts.first_distrusted, "a.log: is a FIFO");
}

static const struct {
	const char *why;
	int error;
	unsigned distrusted; /* of a log and a directory */
	const char *said;
	bool whole;
} unseen[] = {
	{ "something is mounted there", -EXDEV, 2, ": is a mount of its own", true },
	{ "it may not be looked at", -EACCES, 2, ": cannot be read", true },
	{ "it is gone", -ENOENT, 0, "", true },
	{ "no descriptor is left", -EMFILE, 0, "", false },
};

/* It may hold what spares a worker. */
Test(markers_trust, what_cannot_be_looked_at_may_be_anything)
{
	dir_log("a.log", DIR_HOST);
	dir_mkdir("sub", 0755);
	dir_log("sub/b.log", DIR_HOST);
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++) {
		look_error = 0;
		cr_assert_eq(dir_read(), 0);
		cr_assert_eq(counts.logs, 2);
		look_error = unseen[i].error;
		cr_assert_eq(dir_read(), 0);
		cr_expect_eq(counts.logs, 0, "%s", unseen[i].why);
		cr_expect_eq(counts.distrusted, unseen[i].distrusted, "%s", unseen[i].why);
		cr_expect(strstr(counts.first_distrusted, unseen[i].said), "%s: %s", unseen[i].why,
			  counts.first_distrusted);
		cr_expect_eq(counts.whole, unseen[i].whole, "%s", unseen[i].why);
		cr_expect_eq(counts.behind_anybody, !unseen[i].whole, "%s", unseen[i].why);
		cr_expect_eq(taken.forgotten, unseen[i].whole ? 2 : 0, "%s", unseen[i].why);
	}
}

Test(markers_trust, a_log_that_others_may_write_to_later_is_forgotten)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(chmod(dir_path("a.log"), 0666), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(counts.logs, 0);
}

Test(markers_trust, a_device_is_never_opened)
{
	dir_need_root();
	if (mknod(dir_path("a.log"), S_IFCHR | 0644, 10 << 8 | 130) < 0)
		dir_skip("may not make devices here");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.distrusted, 1);
	cr_assert_eq(taken.count, 0);
}

Test(markers_trust, an_open_directory_holds_closed_ones)
{
	cr_assert_eq(chmod(dir_top, 01777), 0);
	dir_mkdir("sub", 0755);
	dir_log("sub/a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(counts.distrusted, 0);
}

Test(markers_trust, the_owner_of_a_log_is_told)
{
	dir_need_root();
	dir_mkdir("theirs", 0755);
	dir_log("theirs/a.log", DIR_HOST);
	cr_assert_eq(chown(dir_path("theirs/a.log"), DIR_OTHER_UID, DIR_OTHER_UID), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 1, "root's directory may hold anybody's log");
	cr_assert_eq(taken.owner[0], DIR_OTHER_UID);
	cr_assert_eq(chown(dir_path("theirs"), DIR_OTHER_UID, DIR_OTHER_UID), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.logs, 1);
	cr_assert_eq(chown(dir_path("theirs/a.log"), 0, 0), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.logs, 0, "root's file in somebody's directory was put there by them");
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_str_eq(counts.first_distrusted,
			 "theirs/a.log: lies in a directory that others may write to");
	cr_assert_eq(chown(dir_path("theirs"), DIR_OTHER_UID + 1, DIR_OTHER_UID), 0);
	cr_assert_eq(chown(dir_path("theirs/a.log"), DIR_OTHER_UID, 0), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.logs, 0);
}

Test(markers_trust, a_log_in_somebody_elses_directory_is_not_opened)
{
	int top = open(dir_top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	const char *why = NULL;
	struct stat dir, st;

	dir_log("a.log", DIR_HOST);
	cr_assert_eq(fstat(top, &dir), 0);
	fd = marker_file_open(top, &dir, "a.log", &st, &why);
	cr_assert_geq(fd, 0, "in its owner's");
	close(fd);
	dir.st_uid = 0;
	fd = marker_file_open(top, &dir, "a.log", &st, &why);
	cr_assert_geq(fd, 0, "in root's");
	close(fd);
	dir.st_uid = DIR_OTHER_UID;
	cr_expect_eq(marker_file_open(top, &dir, "a.log", &st, &why), -EPERM);
	cr_expect_str_eq(why, MARKER_FILE_WHY_OPEN);
	close(top);
}

Test(markers_trust, another_owner_makes_another_log)
{
	dir_need_root();
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(chown(dir_path("a.log"), DIR_OTHER_UID, 0), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.owner[0], DIR_OTHER_UID);
}

Test(markers_trust, those_who_flood_wait_for_those_who_do_not)
{
	char name[32];

	dir_need_root();
	dir_mkdir("a", 0755);
	for (unsigned i = 0; i < MARKER_LOGS_MAX + 10; i++) {
		(void)snprintf(name, sizeof(name), "a/%u.log", i);
		dir_log(name, "");
		cr_assert_eq(chown(dir_path(name), DIR_OTHER_UID, 0), 0);
	}
	cr_assert_eq(chown(dir_path("a"), DIR_OTHER_UID, 0), 0);
	dir_mkdir("b", 0755);
	dir_log("b/b.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.logs, MARKER_LOGS_MAX);
	cr_assert_eq(taken.count, 1, "the one log of another owner is read first");
	cr_assert_not(counts.whole);
	cr_assert_eq(counts.behind_count, 1);
	cr_assert_eq(counts.behind[0], DIR_OTHER_UID);
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "a/%u.log", i);
		cr_assert_eq(unlink(dir_path(name)), 0);
	}
	cr_assert_eq(dir_read(), 0);
	cr_assert(counts.whole);
	cr_assert_eq(counts.logs, MARKER_LOGS_MAX - 9);
}

/* Makes so many files or directories of this owner. */
static void flood(const char *dir, const char *suffix, mode_t mode, unsigned count, uid_t owner)
{
	int fd = open(dir_path(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[32];

	cr_assert_geq(fd, 0);
	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "%u%s", i, suffix);
		cr_assert_eq(S_ISDIR(mode) ? mkdirat(fd, name, mode & 07777)
					   : mknodat(fd, name, mode, 0),
			     0);
		if (owner != geteuid())
			cr_assert_eq(fchownat(fd, name, owner, 0, AT_SYMLINK_NOFOLLOW), 0);
	}
	close(fd);
}

static void expect_behind(uid_t owner, const char *why)
{
	cr_expect_not(counts.whole, "%s", why);
	cr_expect_not(counts.behind_anybody, "%s", why);
	cr_expect_eq(counts.behind_count, 1, "%s: %u", why, counts.behind_count);
	cr_expect_eq(counts.behind[0], owner, "%s", why);
}

static void make_mine(void)
{
	dir_mkdir("mine", 0755);
	dir_log("mine/a.log", DIR_HOST);
	cr_assert_eq(chown(dir_path("mine/a.log"), DIR_OTHER_UID + 1, 0), 0);
	cr_assert_eq(chown(dir_path("mine"), DIR_OTHER_UID + 1, 0), 0);
}

static const struct {
	const char *why;
	mode_t top; /* of marker_dir */
	const char *suffix;
	mode_t mode;  /* of what floods it */
	uid_t owner;  /* of it */
	bool forgets; /* what is gone of others */
} floods[] = {
	{ "directories", 01777, "", S_IFDIR | 0755, DIR_OTHER_UID, true },
	{ "root's logs", 0755, ".log", S_IFREG | 0644, 0, false },
};

Test(markers_trust, who_floods_marker_dir_is_behind_alone)
{
	dir_need_root();
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++) {
		cr_assert_eq(chmod(dir_top, floods[i].top), 0);
		flood("", floods[i].suffix, floods[i].mode, MARKER_DIRS_OWNER_MAX + 1,
		      floods[i].owner);
		make_mine();
		cr_assert_eq(dir_read(), 0);
		expect_behind(floods[i].owner, floods[i].why);
		cr_expect_eq(taken.count, 1, "%s: another's log is read", floods[i].why);
		cr_assert_eq(unlink(dir_path("mine/a.log")), 0);
		cr_assert_eq(dir_read(), 0);
		cr_expect_eq(taken.forgotten, floods[i].forgets, "%s", floods[i].why);
		dir_remove();
		dir_make();
	}
}

Test(markers_trust, as_many_logs_as_are_read_flood_nothing)
{
	char name[32];

	cr_assert_eq(chmod(dir_top, 01777), 0);
	flood("", "", S_IFDIR | 0755, MARKER_LOGS_MAX, geteuid());
	for (unsigned i = 0; i < MARKER_LOGS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%u/a.log", i);
		cr_assert_eq(mknod(dir_path(name), S_IFREG | 0644, 0), 0);
	}
	cr_assert_eq(dir_read(), 0);
	cr_expect_eq(counts.logs, MARKER_LOGS_MAX);
	cr_expect(counts.whole);
}

/* A user may be able to link a file of another's under many names. */
Test(markers_trust, what_is_never_believed_costs_its_owner_nothing)
{
	cr_assert_eq(chmod(dir_top, 01777), 0);
	flood("", ".log", S_IFREG | 0644, MARKER_DIRS_OWNER_MAX + 1, geteuid());
	dir_mkdir("mine", 0755);
	dir_log("mine/a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_expect_eq(counts.distrusted, MARKER_DIRS_OWNER_MAX + 1);
	cr_expect_eq(taken.count, 1);
	cr_expect(counts.whole);
}

Test(markers_trust, a_flooded_directory_hides_only_its_owners_logs)
{
	static const char *const names[] = { "a", "b/b.log", "b" };

	dir_need_root();
	dir_mkdir("a", 0755);
	dir_mkdir("b", 0755);
	dir_log("b/b.log", DIR_HOST);
	dir_mkdir("mine", 0755);
	dir_log("mine/a.log", DIR_HOST);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		cr_assert_eq(lchown(dir_path(names[i]), DIR_OTHER_UID, 0), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 2);
	flood("a", "", S_IFREG | 0644, MARKER_DIRS_OWNER_MAX, DIR_OTHER_UID);
	dir_append("mine/a.log", "reaper/1 2 beat n=1\n");
	dir_append("b/b.log", "reaper/1 3 beat n=1\n");
	cr_assert_eq(dir_read(), 0);
	expect_behind(DIR_OTHER_UID, "what lies there costs time, whatever its name");
	cr_expect_eq(counts.logs, 1);
	cr_expect_eq(taken.count, 1);
	cr_expect_eq(taken.forgotten, 0, "b.log was not seen, but it is there");
	cr_assert_eq(unlink(dir_path("mine/a.log")), 0);
	cr_assert_eq(dir_read(), 0);
	cr_expect_eq(taken.forgotten, 1);
	for (unsigned i = 0; i < 3; i++) { /* its two directories and b.log count too */
		char name[32];

		(void)snprintf(name, sizeof(name), "a/%u", i);
		cr_assert_eq(unlink(dir_path(name)), 0);
	}
	cr_assert_eq(dir_read(), 0);
	cr_expect(counts.whole);
	cr_expect_eq(taken.count, 1);
	cr_expect_eq(taken.ms[0], 3, "b.log is read on");
	cr_expect_eq(taken.forgotten, 0);
}

/* The linker's names: readdir() as the program calls it, and as it is. */
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

static unsigned invented; /* entries that come before those that are there */

struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent gone = { .d_name = "gone" };

	if (!invented)
		return __real_readdir(dir);
	invented--;
	return &gone;
}

Test(markers_trust, of_a_marker_dir_beyond_all_bounds_nobody_knows)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	invented = MARKER_DIRS_ENTRIES_MAX - 3; /* with ".", ".." and a.log that is all */
	cr_assert_eq(dir_read(), 0);
	cr_expect(counts.whole);
	cr_expect_eq(counts.logs, 1);
	invented = MARKER_DIRS_ENTRIES_MAX;
	cr_assert_eq(dir_read(), 0);
	cr_expect(counts.behind_anybody);
	cr_expect_not(counts.whole);
	cr_expect_eq(counts.logs, 0);
	cr_expect_eq(taken.forgotten, 0);
}

Test(markers_trust, without_descriptors_nothing_is_forgotten)
{
	struct rlimit old, none;
	int lowest = dup(0);

	close(lowest);
	dir_mkdir("sub", 0755);
	dir_log("sub/a.log", DIR_HOST);
	dir_log("b.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (int spare = 0; spare < 4; spare++) {
		none = (struct rlimit){ (rlim_t)(lowest + spare), old.rlim_max };
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
		taken.forgotten = 0;
		cr_assert_eq(markers_read(dir_reader, dir_sink, dir_forget, &taken, &counts), 0);
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
		cr_assert_eq(taken.forgotten, 0, "%d", spare);
		cr_assert(spare > 2 || !counts.whole, "%d", spare);
	}
	dir_append("sub/a.log", "reaper/1 2 beat n=1\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 1);
}

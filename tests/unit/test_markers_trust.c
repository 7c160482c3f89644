/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not to be believed is not read.
 */
#include "observe/markers.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "markers_dir.h"

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

static const struct {
	const char *why;
	void (*make)(void);
	const char *said;
} strangers[] = {
	{ "a FIFO without a writer", make_fifo, "a.log: is not a regular file" },
	{ "a symbolic link", make_link, "a.log: is not a regular file" },
	{ "a link to nothing", make_dangling, "a.log: is not a regular file" },
	{ "a hard link", make_hard_link, "a.log: does not have exactly one link" },
	{ "a socket", make_socket, "a.log: is not a regular file" },
	{ "a file that its group may write", make_group_writable,
	  "a.log: is writable by its group" },
	{ "a file that all may write", make_writable, "a.log: is writable by others" },
	{ "a file right in an open marker_dir", make_in_open_top,
	  "a.log: lies in a directory that others may write to" },
	{ "a subdirectory that its group may write", make_in_open_place,
	  "sub: is writable by its group" },
	{ "a directory for a log", make_directory_below, "sub/a.log: is not a regular file" },
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

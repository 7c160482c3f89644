/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing logs, and the log of an operator.
 */
#include "observe/markers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "markers_dir.h"

TestSuite(marker_retire, .init = dir_make, .fini = dir_remove);

Test(marker_retire, removes_the_very_file)
{
	dir_mkdir("sub", 0755);
	dir_log("a.log", DIR_HOST);
	dir_log("sub/b.log", DIR_HOST);
	dir_log("sub/c.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(markers_remove(dir_reader, 1), 0);
	cr_assert_neq(access(dir_path("a.log"), F_OK), 0);
	cr_assert_eq(markers_remove(dir_reader, 1), -ENOENT);
	cr_assert_eq(markers_remove(dir_reader, 2), 0);
	cr_assert_neq(access(dir_path("sub/b.log"), F_OK), 0);
	dir_log("new", "x\n" DIR_HOST);
	cr_assert_eq(rename(dir_path("new"), dir_path("sub/c.log")), 0);
	cr_assert_eq(markers_remove(dir_reader, 3), -ESTALE, "it was replaced");
	cr_assert_eq(access(dir_path("sub/c.log"), F_OK), 0);
	cr_assert_eq(markers_remove(dir_reader, 99), -ENOENT);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 3);
	cr_assert_eq(markers_remove(dir_reader, 4), 0);
	cr_assert_eq(rename(dir_path("sub"), dir_path("bus")), 0);
	cr_assert_eq(markers_remove(dir_reader, 4), -ENOENT);
}

static void read_text(const char *name, char *ret, size_t size)
{
	int fd = open(dir_path(name), O_RDONLY);
	ssize_t n = read(fd, ret, size - 1);

	cr_assert_geq(n, 0, "%s", name);
	ret[n] = '\0';
	close(fd);
}

static int retire(pid_t pid)
{
	return markers_retire(dir_top, geteuid(), DIR_BOOT, 4026531836, 1763640009003,
			      (struct ident){ pid, 8812401 });
}

static const char *place(const char *name)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "operator-%u%s", (unsigned)geteuid(), name);
	return path;
}

#define OPERATOR                                                                      \
	"reaper/1 1763640009003 operator uid=%u boot=" DIR_BOOT " pidns=4026531836\n" \
	"reaper/1 1763640009003 "

Test(marker_retire, an_operator_retires)
{
	char text[2048], want[2048];
	mode_t mask = umask(0077);
	struct stat st;

	cr_assert_eq(retire(4802), 0);
	cr_assert_eq(retire(4803), 0);
	umask(mask);
	read_text(place("/retire.log"), text, sizeof(text));
	(void)snprintf(want, sizeof(want),
		       OPERATOR "retired worker=4802:8812401\n" OPERATOR
				"retired worker=4803:8812401\n",
		       (unsigned)geteuid(), (unsigned)geteuid());
	cr_assert_str_eq(text, want);
	cr_assert_eq(stat(dir_path(place("")), &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0755);
	cr_assert_eq(stat(dir_path(place("/retire.log")), &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0644);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 4);
	cr_assert_eq(taken.event[2], MARKER_OPERATOR);
	cr_assert_eq(counts.bad, 0, "%s", counts.first_bad);
}

Test(marker_retire, a_record_that_was_cut_does_not_swallow_the_next)
{
	cr_assert_eq(retire(4802), 0);
	dir_append(place("/retire.log"), "reaper/1 17636");
	cr_assert_eq(retire(4803), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 4);
	cr_assert_eq(counts.bad, 1);
}

static void let_files_grow_to(rlim_t size)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(marker_retire, what_had_no_room_is_taken_back)
{
	struct stat one, two;

	cr_assert_eq(retire(4802), 0);
	cr_assert_eq(stat(dir_path(place("/retire.log")), &one), 0);
	for (off_t left = 1; left < one.st_size; left++) {
		let_files_grow_to((rlim_t)(one.st_size + left));
		cr_expect_eq(retire(4803), -ENOSPC);
		let_files_grow_to(RLIM_INFINITY);
		cr_assert_eq(stat(dir_path(place("/retire.log")), &two), 0);
		cr_assert_eq(two.st_size, one.st_size, "%ld bytes had room", (long)left);
	}
	cr_assert_eq(retire(4804), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 4, "4803 is not retired");
	cr_assert_eq(counts.bad, 0, "%s", counts.first_bad);
}

Test(marker_retire, retire_makes_marker_dir)
{
	cr_assert_eq(rmdir(dir_top), 0);
	cr_assert_eq(retire(4802), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 2);
}

Test(marker_retire, retire_writes_nothing_through_links)
{
	struct stat st;

	dir_log("precious", "x");
	dir_mkdir("real", 0755);
	cr_assert_eq(symlink("real", dir_path(place(""))), 0);
	cr_assert_lt(retire(4802), 0);
	cr_assert_eq(unlink(dir_path(place(""))), 0);
	dir_mkdir(place(""), 0755);
	cr_assert_eq(symlink("../precious", dir_path(place("/retire.log"))), 0);
	cr_assert_eq(retire(4802), -ELOOP);
	cr_assert_eq(unlink(dir_path(place("/retire.log"))), 0);
	cr_assert_eq(link(dir_path("precious"), dir_path(place("/retire.log"))), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(unlink(dir_path(place("/retire.log"))), 0);
	cr_assert_eq(mkfifo(dir_path(place("/retire.log")), 0644), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(stat(dir_path("precious"), &st), 0);
	cr_assert_eq(st.st_size, 1);
}

Test(marker_retire, retire_refuses_what_is_open_to_others)
{
	dir_mkdir(place(""), 0777);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(chmod(dir_path(place("")), 0755), 0);
	dir_log(place("/retire.log"), "");
	cr_assert_eq(chmod(dir_path(place("/retire.log")), 0666), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(chmod(dir_path(place("/retire.log")), 0644), 0);
	cr_assert_eq(retire(4802), 0);
}

Test(marker_retire, retire_refuses_what_is_somebody_elses)
{
	dir_need_root();
	dir_mkdir(place(""), 0755);
	cr_assert_eq(chown(dir_path(place("")), DIR_OTHER_UID, 0), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(chown(dir_path(place("")), 0, 0), 0);
	dir_log(place("/retire.log"), "");
	cr_assert_eq(chown(dir_path(place("/retire.log")), DIR_OTHER_UID, 0), 0);
	cr_assert_eq(retire(4802), -EPERM);
}

Test(marker_retire, retire_refuses_what_no_reader_would_take)
{
	cr_assert_eq(retire(0), -EINVAL);
	cr_assert_eq(markers_retire(dir_top, 0, "no boot", 1, 1, (struct ident){ 1, 1 }), -EINVAL);
	cr_assert_neq(access(dir_path(place("")), F_OK), 0, "nothing was made");
}

Test(marker_retire, nobody_may_be_freed)
{
	markers_free(NULL);
}

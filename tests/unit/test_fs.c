/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

static char dir[] = "/tmp/reaper-fs-XXXXXX";

static void enter(void)
{
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	umask(022);
}

/* Removes what is there, two levels deep at most. */
static void empty(const char *path, int depth)
{
	DIR *all = opendir(path);
	const struct dirent *entry;

	while (all && (entry = readdir(all))) {
		char below[4096];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (unlink(below) < 0 && depth) {
			empty(below, depth - 1);
			rmdir(below);
		}
	}
	if (all)
		closedir(all);
}

static void leave(void)
{
	empty(dir, 4);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(rmdir(dir), 0, "%s is not empty", dir);
}

TestSuite(fs, .init = enter, .fini = leave, .timeout = 20);

static void put(const char *name, const char *bytes, size_t len)
{
	_cleanup_close_ int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fs_write_all(fd, bytes, len), 0);
}

static unsigned entries(void)
{
	DIR *all = opendir(".");
	unsigned count = 0;

	while (readdir(all))
		count++;
	closedir(all);
	return count - 2;
}

Test(fs, close_keeps_errno_and_forgets)
{
	int fd = open("/", O_RDONLY | O_CLOEXEC), none = -1, stale = fd;

	errno = EXDEV;
	fs_close(&fd);
	fs_close(&none);
	fs_close(&fd);
	cr_assert_eq(fd, -1);
	cr_assert_eq(errno, EXDEV);
	cr_assert_eq(fcntl(stale, F_GETFD), -1, "it is closed");
}

Test(fs, read_at_cuts_and_ends)
{
	_cleanup_close_ int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char bytes[6];

	put("f", "abcdefgh", 8);
	cr_assert_eq(fs_read_at(at, "f", bytes, sizeof(bytes)), 5);
	cr_assert_str_eq(bytes, "abcde");
	put("f", "", 0);
	cr_assert_eq(fs_read_at(at, "f", bytes, sizeof(bytes)), 0);
	cr_assert_str_eq(bytes, "");
	cr_assert_eq(fs_read_at(AT_FDCWD, "f", bytes, 1), 0, "no room but for the NUL");
	cr_assert_eq(fs_read_at(at, "f", bytes, 0), -EINVAL);
	cr_assert_eq(fs_read_at(at, "none", bytes, sizeof(bytes)), -ENOENT);
	cr_assert_eq(fs_read_at(at, ".", bytes, sizeof(bytes)), -EISDIR);
}

Test(fs, read_at_does_not_wait_for_a_writer)
{
	char bytes[16];

	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_assert_eq(fs_read_at(AT_FDCWD, "fifo", bytes, sizeof(bytes)), 0);
}

Test(fs, read_all_up_to_the_limit)
{
	static const size_t lengths[] = { 0, 1, 4095, 4096, 4097, 8192, 10000 };
	char big[10000];

	memset(big, 'x', sizeof(big));
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_free_ char *bytes = NULL;
		_cleanup_close_ int fd = -1;
		size_t len = 4711;

		put("f", big, lengths[i]);
		fd = open("f", O_RDONLY | O_CLOEXEC);
		cr_assert_eq(fs_read_all(fd, lengths[i], &bytes, &len), 0, "exactly the limit");
		cr_assert_eq(len, lengths[i]);
		cr_assert_eq(bytes[len], '\0');
		cr_assert_eq(strlen(bytes), len);
	}
}

Test(fs, read_all_refuses_more)
{
	_cleanup_close_ int fd = -1;
	char *bytes = NULL;
	size_t len = 4711;

	put("f", "abcd", 4);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(fs_read_all(fd, 3, &bytes, &len), -EFBIG);
	cr_assert_eq(len, 4711, "touched only on success");
	cr_assert_null(bytes);
	cr_assert_eq(fs_read_all(-1, 3, &bytes, &len), -EBADF);
}

Test(fs, replace_makes_and_replaces)
{
	struct stat first, second;
	char bytes[16];

	umask(077);
	cr_assert_eq(fs_replace("f", "one", 3, 0640), 0);
	cr_assert_eq(stat("f", &first), 0);
	cr_assert_eq(first.st_mode & 07777, 0640, "whatever the umask");
	cr_assert_eq(fs_replace("f", "second", 6, 0644), 0);
	cr_assert_eq(stat("f", &second), 0);
	cr_assert_eq(second.st_mode & 07777, 0644);
	cr_assert_neq(first.st_ino, second.st_ino,
		      "another file: a reader of the old one keeps it");
	cr_assert_eq(fs_read_at(AT_FDCWD, "f", bytes, sizeof(bytes)), 6);
	cr_assert_str_eq(bytes, "second");
	cr_assert_eq(entries(), 1, "nothing aside is left");
}

Test(fs, replace_leaves_nothing_on_error)
{
	_cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	cr_assert_eq(mkdir("d", 0755), 0);
	cr_assert_eq(fs_replace("d", "x", 1, 0644), -EISDIR);
	cr_assert_eq(fs_replace("none/f", "x", 1, 0644), -ENOENT);
	cr_assert_eq(entries(), 1, "only the directory");
	cr_assert_eq(fs_write_all(full, "x", 1), -ENOSPC);
}

Test(fs, replace_replaces_a_link_and_not_its_target)
{
	struct stat st;
	char bytes[16];

	put("target", "old", 3);
	cr_assert_eq(symlink("target", "link"), 0);
	cr_assert_eq(fs_replace("link", "new", 3, 0644), 0);
	cr_assert_eq(lstat("link", &st), 0);
	cr_assert(S_ISREG(st.st_mode));
	cr_assert_eq(fs_read_at(AT_FDCWD, "target", bytes, sizeof(bytes)), 3);
	cr_assert_str_eq(bytes, "old");
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s: %s", path, strerror(errno));
	cr_assert(S_ISDIR(st.st_mode));
	return st.st_mode & 07777;
}

Test(fs, make_dirs)
{
	char path[4096];

	umask(077);
	cr_assert_eq(mkdir("there", 0700), 0);
	cr_assert_eq(fs_make_dirs("there/a//b/", 0755), 0);
	cr_assert_eq(mode_of("there"), 0700, "what was there stays as it was");
	cr_assert_eq(mode_of("there/a"), 0755, "whatever the umask");
	cr_assert_eq(mode_of("there/a/b"), 0755);
	cr_assert_eq(fs_make_dirs("there/a/b", 0700), 0, "again");
	cr_assert_eq(mode_of("there/a/b"), 0755);
	snprintf(path, sizeof(path), "%s/absolute/x", dir);
	cr_assert_eq(fs_make_dirs(path, 0750), 0);
	cr_assert_eq(mode_of(path), 0750);
	cr_assert_eq(fs_make_dirs("/", 0750), 0);
}

Test(fs, make_dirs_errors)
{
	put("file", "", 0);
	cr_assert_eq(fs_make_dirs("file", 0755), -ENOTDIR);
	cr_assert_eq(fs_make_dirs("file/x", 0755), -ENOTDIR);
	cr_assert_eq(fs_make_dirs("", 0755), -ENOENT);
	cr_assert_eq(symlink("nowhere", "dangling"), 0);
	cr_assert_lt(fs_make_dirs("dangling/x", 0755), 0);
	cr_assert_eq(mkdir("real", 0755), 0);
	cr_assert_eq(symlink("real", "link"), 0);
	cr_assert_eq(fs_make_dirs("link/x", 0755), 0, "a link that was there is followed");
	cr_assert_eq(mode_of("real/x"), 0755);
}

Test(fs, distrust)
{
	static const struct {
		struct stat st;
		uid_t owner;
		const char *phrase;
		const char *why;
	} rows[] = {
		{ { .st_mode = S_IFREG | 0644, .st_nlink = 1, .st_uid = 7 },
		  7,
		  NULL,
		  "the owner's" },
		{ { .st_mode = S_IFREG | 0600, .st_nlink = 1, .st_uid = 0 }, 7, NULL, "root's" },
		{ { .st_mode = S_IFREG | 0644, .st_nlink = 1, .st_uid = 8 },
		  7,
		  "is owned by another user",
		  "another's" },
		{ { .st_mode = S_IFREG | 0664, .st_nlink = 1, .st_uid = 7 },
		  7,
		  "is writable by its group",
		  "the group may write" },
		{ { .st_mode = S_IFREG | 0646, .st_nlink = 1, .st_uid = 7 },
		  7,
		  "is writable by others",
		  "all may write" },
		{ { .st_mode = S_IFREG | 0644, .st_nlink = 2, .st_uid = 7 },
		  7,
		  "does not have exactly one link",
		  "a hard link" },
		{ { .st_mode = S_IFREG | 0644, .st_nlink = 0, .st_uid = 7 },
		  7,
		  "does not have exactly one link",
		  "an unlinked file is not the one of that name either" },
		{ { .st_mode = S_IFLNK | 0777, .st_nlink = 1, .st_uid = 7 },
		  7,
		  "is a symbolic link",
		  "a link" },
		{ { .st_mode = S_IFIFO | 0600, .st_nlink = 1, .st_uid = 7 },
		  7,
		  "is a FIFO",
		  "a fifo" },
		{ { .st_mode = S_IFDIR | 0755, .st_nlink = 2, .st_uid = 7 },
		  7,
		  "is a directory",
		  "a directory" },
		{ { .st_mode = S_IFSOCK | 0600, .st_nlink = 1, .st_uid = 7 },
		  7,
		  "is a socket",
		  "a socket" },
		{ { .st_mode = S_IFCHR | 0600, .st_nlink = 1, .st_uid = 7 },
		  7,
		  "is not a regular file",
		  "a device" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *phrase = fs_distrust(&rows[i].st, rows[i].owner);

		if (!rows[i].phrase)
			cr_expect_null(phrase, "%s", rows[i].why);
		else
			cr_expect(phrase && strcmp(phrase, rows[i].phrase) == 0, "%s: %s",
				  rows[i].why, phrase ? phrase : "trusted");
	}
}

Test(fs, distrust_dir)
{
	struct stat st = { .st_mode = S_IFDIR | 0755, .st_nlink = 5, .st_uid = 7 };

	cr_assert_null(fs_distrust_dir(&st, 7));
	cr_assert_str_eq(fs_distrust_dir(&st, 8), "is owned by another user");
	st.st_mode = S_IFDIR | 01777;
	cr_assert_str_eq(fs_distrust_dir(&st, 7), "is writable by others", "sticky does not help");
	st.st_mode = S_IFDIR | 0775;
	cr_assert_str_eq(fs_distrust_dir(&st, 7), "is writable by its group");
	st.st_mode = S_IFREG | 0644;
	cr_assert_str_eq(fs_distrust_dir(&st, 7), "is not a directory");
}

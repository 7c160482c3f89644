/* SPDX-License-Identifier: Apache-2.0 */
#include "report/audit_log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "tmpdir.h"

#define LINE "{\"record\":\"intent\"}\n"

enum {
	BLOCK = 4096,
	SMALL_DISK_BLOCKS = 8,
	FILE_LIMIT = 100,
};

/* What one test works with; remove() takes everything away. */
struct fixture {
	struct tmpdir dir;
	char path[PATH_MAX];
	struct audit_log log;
};

static struct fixture fixture_make(const char *name)
{
	struct fixture f = { .dir = tmpdir_make(), .log = { .fd = -1 } };

	tmpdir_path(&f.dir, name, f.path);
	return f;
}

static void fixture_remove(struct fixture *f)
{
	audit_log_close(&f->log);
	tmpdir_remove(&f->dir);
}
#define _cleanup_fixture_ __attribute__((cleanup(fixture_remove)))

static void expect_content(const char *path, const char *expected, const char *why)
{
	char text[BLOCK];

	cr_assert_geq(fs_read_at(AT_FDCWD, path, text, sizeof(text)), 0, "%s", why);
	cr_expect_str_eq(text, expected, "%s", why);
}

static int append(struct fixture *f, const char *lines)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_str(&b, lines);
	return audit_log_append(&f->log, &b, true);
}

Test(audit_log, makes_its_directory_and_its_file)
{
	_cleanup_fixture_ struct fixture f = fixture_make("a/b/audit.jsonl");
	char dir[PATH_MAX];
	struct stat st;

	umask(0);
	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	cr_assert_eq(stat(f.path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_assert_eq(stat(tmpdir_path(&f.dir, "a", dir), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0750);
	cr_assert_eq(stat(tmpdir_path(&f.dir, "a/b", dir), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0750);
	cr_expect_eq(fcntl(f.log.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

Test(audit_log, appends_behind_what_is_there)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");

	tmpdir_write(&f.dir, "audit.jsonl", "old\n", 4, 0640);
	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	cr_expect_eq(append(&f, LINE LINE), 0);
	cr_expect_eq(append(&f, ""), 0, "nothing is nothing");
	cr_expect_eq(append(&f, LINE), 0);
	expect_content(f.path, "old\n" LINE LINE LINE, "in order");
}

/* Two programs that write the same log at once do not overwrite each other. */
Test(audit_log, appends_behind_what_others_appended)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");
	struct audit_log other;

	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	cr_assert_eq(audit_log_open(f.path, &other), 0);
	cr_expect_eq(append(&f, "one\n"), 0);
	cr_expect_eq(write(other.fd, "two\n", 4), 4);
	cr_expect_eq(append(&f, "three\n"), 0);
	audit_log_close(&other);
	expect_content(f.path, "one\ntwo\nthree\n", "in order");
}

Test(audit_log, begins_a_new_line_behind_half_a_line)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");

	tmpdir_write(&f.dir, "audit.jsonl", "{\"rec", 5, 0640);
	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	expect_content(f.path, "{\"rec", "opening alone changes nothing");
	cr_expect_eq(append(&f, LINE), 0);
	cr_expect_eq(append(&f, LINE), 0);
	expect_content(f.path, "{\"rec\n" LINE LINE, "one newline, once");
}

Test(audit_log, lines_that_are_not_whole_are_not_written)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");
	_cleanup_(buf_done) struct buf b = { 0 };

	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	buf_str(&b, LINE);
	b.failed = true;
	cr_expect_eq(audit_log_append(&f.log, &b, true), -ENOMEM);
	expect_content(f.path, "", "nothing");
}

/* A limit on the file's size lets a part through, as a full disk does. */
Test(audit_log, takes_back_what_had_no_room)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");
	struct rlimit limit = { .rlim_cur = FILE_LIMIT, .rlim_max = RLIM_INFINITY };
	char filler[FILE_LIMIT];
	int r;

	memset(filler, 'x', sizeof(filler));
	memcpy(filler + 90, "\n", 2);
	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	cr_assert_eq(append(&f, filler), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0 }), 0);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	r = append(&f, LINE);
	cr_expect_lt(r, 0, "a part of it has room: %d", r);
	expect_content(f.path, filler, "it is as it was");
	r = append(&f, "123456789\n");
	cr_expect_lt(r, 0, "one byte too many: %d", r);
	expect_content(f.path, filler, "it is as it was");
	cr_expect_eq(append(&f, "12345678\n"), 0, "this just fits");
	cr_expect_eq(append(&f, "\n"), -EFBIG, "none of it has room");
	limit.rlim_cur = RLIM_INFINITY;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
}

/* A disk of a few pages in a mount namespace of this process alone; false: not allowed. */
static bool small_disk(const char *dir)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%d", SMALL_DISK_BLOCKS * BLOCK);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", dir, "tmpfs", 0, options) == 0;
}

Test(audit_log, a_full_disk_is_an_error_and_leaves_whole_lines)
{
	_cleanup_fixture_ struct fixture f = fixture_make("disk");
	_cleanup_(buf_done) struct buf b = { 0 };
	char dir[PATH_MAX];
	struct stat before, after;
	int r = 0;

	memcpy(dir, f.path, sizeof(dir));
	cr_assert_eq(mkdir(dir, 0700), 0);
	if (!small_disk(dir)) {
		fixture_remove(&f);
		cr_skip_test("no tmpfs can be mounted here");
	}
	tmpdir_path(&f.dir, "disk/audit.jsonl", f.path);
	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	for (int i = 0; i < 2000; i++)
		buf_str(&b, "x");
	buf_str(&b, "\n");
	for (int i = 0; i < SMALL_DISK_BLOCKS * 3 && r == 0; i++) {
		cr_assert_eq(fstat(f.log.fd, &before), 0);
		r = audit_log_append(&f.log, &b, true);
	}
	cr_assert_eq(fstat(f.log.fd, &after), 0);
	cr_expect_eq(r, -ENOSPC);
	cr_expect_eq(before.st_size, after.st_size, "the part that had room is gone");
	audit_log_close(&f.log);
	(void)umount2(dir, MNT_DETACH);
}

Test(audit_log, refuses_what_is_no_plain_file_with_one_name)
{
	_cleanup_fixture_ struct fixture f = fixture_make("link");
	char real[PATH_MAX], pipe[PATH_MAX], twin[PATH_MAX];

	tmpdir_write(&f.dir, "real", "", 0, 0640);
	tmpdir_path(&f.dir, "real", real);
	cr_assert_eq(symlink("real", f.path), 0);
	cr_expect_eq(audit_log_open(f.path, &f.log), -ELOOP, "a symbolic link");
	cr_assert_eq(mkfifo(tmpdir_path(&f.dir, "pipe", pipe), 0600), 0);
	cr_expect_eq(audit_log_open(pipe, &f.log), -ENOTSUP,
		     "a pipe, without waiting for a reader");
	cr_assert_eq(link(real, tmpdir_path(&f.dir, "twin", twin)), 0);
	cr_expect_eq(audit_log_open(twin, &f.log), -ENOTSUP, "a file with a second name");
	cr_expect_eq(audit_log_open(f.dir.path, &f.log), -EISDIR, "a directory");
	cr_expect_eq(audit_log_open("/dev/full", &f.log), -ENOTSUP, "a device");
	tmpdir_path(&f.dir, "real/audit.jsonl", pipe);
	cr_expect_eq(audit_log_open(pipe, &f.log), -ENOTDIR, "below a file");
	cr_expect_eq(f.log.fd, -1, "and nothing was opened");
}

Test(audit_log, follows_rotation)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");
	char old[PATH_MAX];

	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	cr_expect_eq(append(&f, "one\n"), 0);
	cr_expect_eq(audit_log_reopen(&f.log), 0, "nothing happened to it");
	cr_expect_eq(append(&f, "two\n"), 0);
	cr_assert_eq(rename(f.path, tmpdir_path(&f.dir, "old", old)), 0);
	cr_expect_eq(audit_log_reopen(&f.log), 0, "moved away");
	cr_expect_eq(append(&f, "three\n"), 0);
	expect_content(old, "one\ntwo\n", "the old file");
	expect_content(f.path, "three\n", "the new one");
	cr_assert_eq(unlink(f.path), 0);
	tmpdir_write(&f.dir, "audit.jsonl", "theirs\n", 7, 0640);
	cr_expect_eq(audit_log_reopen(&f.log), 0, "another one in its place");
	cr_expect_eq(append(&f, "four\n"), 0);
	expect_content(f.path, "theirs\nfour\n", "the one in its place");
}

Test(audit_log, keeps_the_old_file_where_there_can_be_no_new_one)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");
	char old[PATH_MAX];

	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	cr_assert_eq(rename(f.path, tmpdir_path(&f.dir, "old", old)), 0);
	cr_assert_eq(symlink("elsewhere", f.path), 0);
	cr_expect_eq(audit_log_reopen(&f.log), -ELOOP);
	cr_expect_eq(append(&f, "one\n"), 0);
	expect_content(old, "one\n", "the old file");
}

Test(audit_log, closing_twice_is_allowed)
{
	_cleanup_fixture_ struct fixture f = fixture_make("audit.jsonl");

	cr_assert_eq(audit_log_open(f.path, &f.log), 0);
	audit_log_close(&f.log);
	cr_expect_eq(f.log.fd, -1);
	audit_log_close(&f.log);
	cr_expect_eq(append(&f, LINE), -EBADF);
}

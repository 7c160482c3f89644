/* SPDX-License-Identifier: Apache-2.0 */
#include "app/lock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "tmpdir.h"

#define MARKERS "/run/elsewhere/markers"

Test(lock, one_at_a_time)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int first = -1, again = -1;

	first = lock_take(d.path, MARKERS);
	cr_assert_geq(first, 0);
	cr_expect_eq(lock_take(d.path, MARKERS), -EWOULDBLOCK, "held by another");
	fs_close(&first);
	again = lock_take(d.path, MARKERS);
	cr_expect_geq(again, 0, "gone with its descriptor");
}

Test(lock, the_descriptor_is_not_handed_on)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1;

	fd = lock_take(d.path, MARKERS);
	cr_assert_geq(fd, 0);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(lock, lets_other_users_through_to_their_markers)
{
	static const struct {
		const char *state_dir, *marker_dir;
		mode_t mode;
	} rows[] = {
		{ "run", "run/markers", 0755 },   { "slash/", "slash/deep/markers", 0755 },
		{ "own", "other/markers", 0750 }, { "name", "name-alike/markers", 0750 },
		{ "same", "same", 0755 },
	};

	(void)umask(0077);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
		_cleanup_close_ int fd = -1;
		char state_dir[PATH_MAX], marker_dir[PATH_MAX];
		struct stat st;

		fd = lock_take(tmpdir_path(&d, rows[i].state_dir, state_dir),
			       tmpdir_path(&d, rows[i].marker_dir, marker_dir));
		cr_assert_geq(fd, 0, "%s: %d", rows[i].state_dir, fd);
		cr_assert_eq(stat(state_dir, &st), 0);
		cr_expect_eq(st.st_mode & 07777, rows[i].mode, "%s: %o", rows[i].state_dir,
			     st.st_mode);
	}
}

Test(lock, makes_the_directory)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	(void)umask(0);
	fd = lock_take(tmpdir_path(&d, "a/b", path), MARKERS);
	cr_assert_geq(fd, 0, "%d", fd);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0750);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
}

/* A reaper that was killed leaves nothing in the way. */
Test(lock, gone_with_its_process)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1, pidfd = -1;
	int pipes[2], status;
	char taken = 0;
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)alarm(20);
		taken = lock_take(d.path, MARKERS) >= 0;
		(void)!write(pipes[1], &taken, 1);
		for (;;)
			(void)pause();
	}
	cr_assert_gt(pid, 0);
	pidfd = pidfd_open(pid, 0);
	cr_assert_geq(pidfd, 0);
	cr_expect_eq(read(pipes[0], &taken, 1), 1);
	cr_expect_eq(taken, 1);
	cr_expect_eq(lock_take(d.path, MARKERS), -EWOULDBLOCK);
	cr_expect_eq(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0), 0);
	cr_expect_eq(waitpid(pid, &status, 0), pid);
	fd = lock_take(d.path, MARKERS);
	cr_expect_geq(fd, 0);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

Test(lock, a_file_that_was_removed_is_made_anew)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int first = -1, fd = -1;
	char path[PATH_MAX];
	struct stat a, b;

	first = lock_take(d.path, MARKERS);
	cr_assert_geq(first, 0);
	cr_assert_eq(unlink(tmpdir_path(&d, "lock", path)), 0);
	fd = lock_take(d.path, MARKERS);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &a), 0);
	cr_assert_eq(stat(path, &b), 0);
	cr_expect_eq(a.st_ino, b.st_ino, "what is locked is what the next one will find");
}

struct row {
	const char *why;
	mode_t dir_mode;
	mode_t file_mode; /* 0: no file */
	int expected;     /* 0: taken */
};

static const struct row rows[] = {
	{ "a directory that others may write", 0777, 0, -EPERM },
	{ "one that its group may write", 0770, 0, -EPERM },
	{ "sticky does not help", 01777, 0, -EPERM },
	{ "one that others may pass", 0755, 0, 0 },
	{ "a file that others may write", 0750, 0666, -EPERM },
	{ "a file that its group may write", 0750, 0660, -EPERM },
	{ "a file of ours", 0750, 0640, 0 },
};

Test(lock, whom_it_trusts)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
		_cleanup_close_ int fd = -1;

		if (rows[i].file_mode)
			tmpdir_write(&d, "lock", "", 0, rows[i].file_mode);
		cr_assert_eq(chmod(d.path, rows[i].dir_mode), 0);
		fd = lock_take(d.path, MARKERS);
		cr_expect_eq(fd < 0 ? fd : 0, rows[i].expected, "%s: %d", rows[i].why, fd);
	}
}

Test(lock, links_and_other_kinds)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX], other[PATH_MAX];

	tmpdir_write(&d, "target", "", 0, 0640);
	cr_assert_eq(symlink(tmpdir_path(&d, "target", path), tmpdir_path(&d, "lock", other)), 0);
	cr_expect_lt(lock_take(d.path, MARKERS), 0, "a symbolic link");
	cr_assert_eq(unlink(other), 0);
	cr_assert_eq(link(path, other), 0);
	cr_expect_eq(lock_take(d.path, MARKERS), -EPERM, "a hard link");
	cr_assert_eq(unlink(other), 0);
	cr_assert_eq(mkfifo(other, 0640), 0);
	cr_expect_eq(lock_take(d.path, MARKERS), -EPERM,
		     "a FIFO, without waiting for its other end");
	cr_assert_eq(symlink(d.path, tmpdir_path(&d, "dir", path)), 0);
	cr_expect_lt(lock_take(path, MARKERS), 0, "a link to the directory");
	cr_expect_eq(lock_take("/dev/null", MARKERS), -ENOTDIR, "no directory");
}

Test(lock, of_somebody_else)
{
	if (geteuid())
		cr_skip_test("only root can give a directory away");
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();

	cr_assert_eq(chown(d.path, 65534, 65534), 0);
	cr_expect_eq(lock_take(d.path, MARKERS), -EPERM);
}

/* open(2) says EWOULDBLOCK too, of a file that somebody leases: that is no reaper. */
Test(lock, a_lease_is_no_lock)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = lock_take(d.path, MARKERS), lease = -1;
	char path[PATH_MAX];

	fs_close(&fd);
	lease = open(tmpdir_path(&d, "lock", path), O_RDWR | O_CLOEXEC);
	cr_assert_geq(lease, 0);
	(void)signal(SIGIO, SIG_IGN);
	if (fcntl(lease, F_SETLEASE, F_WRLCK) < 0)
		cr_skip_test("no leases here");
	cr_expect_eq(lock_take(d.path, MARKERS), -EBUSY);
}

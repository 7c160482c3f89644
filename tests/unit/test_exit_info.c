/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How grandchildren end: a child of ours is their parent, so nothing here is learned by wait(2).
 */
#include "observe/exit_info.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/proc_parse.h"

enum {
	NOBODY = 65534,
	CODE = 3,
};

TestSuite(exit_info, .timeout = 60);

/*
 * A process of ours and its child. The child ends at a byte in `end`, and its parent asks for its end at
 * a byte in `ask`; no criterion here, so that a child with another user can use it as well.
 */
struct family {
	int way; /* of the child's end: a signal, or minus a code */
	int say[2], end[2], ask[2];
	pid_t parent;
	struct ident child;
	int pidfd;
};

static void child_body(const struct family *f)
{
	struct rlimit none = { 0 };
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1);
	setrlimit(RLIMIT_CORE, &none);
	if (read(f->end[0], &byte, 1) != 1)
		_exit(98);
	if (f->way <= 0)
		_exit(-f->way);
	signal(f->way, SIG_DFL);
	raise(f->way);
	_exit(99);
}

static void parent_body(const struct family *f)
{
	char byte;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pid = fork();
	if (!pid)
		child_body(f);
	if (write(f->say[1], &pid, sizeof(pid)) != sizeof(pid) || read(f->ask[0], &byte, 1) != 1 ||
	    waitpid(pid, NULL, 0) != pid || write(f->say[1], "", 1) != 1)
		_exit(1);
	(void)pause();
	_exit(0);
}

static bool read_start(struct ident *id)
{
	_cleanup_close_ int dirfd = pin_open(id->pid);
	char bytes[2048];
	struct proc_stat stat = { 0 };
	ssize_t len = dirfd < 0 ? -1 : fs_read_at(dirfd, "stat", bytes, sizeof(bytes));

	if (len <= 0 || proc_parse_stat(bytes, (size_t)len, &stat) < 0)
		return false;
	id->start = stat.start;
	return true;
}

static bool begin(struct family *f)
{
	if (pipe2(f->say, O_CLOEXEC) < 0 || pipe2(f->end, O_CLOEXEC) < 0 ||
	    pipe2(f->ask, O_CLOEXEC) < 0)
		return false;
	f->parent = fork();
	if (!f->parent)
		parent_body(f);
	if (read(f->say[0], &f->child.pid, sizeof(pid_t)) != sizeof(pid_t) ||
	    !read_start(&f->child))
		return false;
	f->pidfd = exit_info_pin(f->child);
	return f->pidfd >= 0;
}

static bool let_it_end(struct family *f)
{
	return write(f->end[1], "", 1) == 1 && pin_wait(f->pidfd, LIVE_WAIT_MS) == 1;
}

static bool let_it_be_reaped(struct family *f)
{
	char byte;

	return write(f->ask[1], "", 1) == 1 && read(f->say[0], &byte, 1) == 1;
}

static void finish(struct family *f)
{
	kill(f->parent, SIGKILL);
	(void)waitpid(f->parent, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(f->say[i]);
		close(f->end[i]);
		close(f->ask[i]);
	}
	close(f->pidfd);
}

static const struct {
	int way;
	struct ending ending;
} ways[] = {
	{ 0, { ENDING_CODE, 0, TRI_NO } },
	{ -CODE, { ENDING_CODE, CODE, TRI_NO } },
	{ SIGSEGV, { ENDING_SIGNAL, SIGSEGV, TRI_NO } },
	{ SIGKILL, { ENDING_SIGNAL, SIGKILL, TRI_NO } },
};

static bool is_like(const struct ending *got, const struct ending *want)
{
	return got->how == want->how && got->number == want->number && got->core == want->core;
}

/* Before Linux 6.15 only its zombie tells. */
static bool kernel_tells(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	return uname(&u) == 0 && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 15));
}

/* @return NULL, or what went wrong. */
static const char *try_one(struct family *f, const struct ending *want)
{
	struct ending ending = { 0 };
	int err;

	if (!begin(f))
		return "the family did not begin";
	if (exit_info_read(f->pidfd, &ending) >= 0 ||
	    exit_info_read_zombie(f->child, &ending) != -EBUSY)
		return "it lives";
	if (!let_it_end(f))
		return "it did not end";
	if (exit_info_read_zombie(f->child, &ending) < 0 || !is_like(&ending, want))
		return "a zombie";
	err = exit_info_read(f->pidfd, &ending);
	if (kernel_tells() ? err != -EAGAIN : err >= 0)
		return "its parent has not asked";
	if (!let_it_be_reaped(f))
		return "it was not reaped";
	ending = (struct ending){ 0 };
	err = exit_info_read(f->pidfd, &ending);
	if (kernel_tells() && (err < 0 || !is_like(&ending, want)))
		return "by its pidfd";
	err = exit_info_read_zombie(f->child, &ending);
	return err == -ENOENT || err == -ESRCH ? NULL : "there is no zombie any more";
}

static const char *try_all(void)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ways) && !wrong; i++) {
		struct family f = { .way = ways[i].way, .pidfd = -1 };

		wrong = try_one(&f, &ways[i].ending);
		finish(&f);
	}
	return wrong;
}

Test(exit_info, of_our_own_user)
{
	const char *wrong = try_all();

	cr_expect_null(wrong, "%s", wrong);
}

/* Ends with what went wrong on stderr. */
static void nobody_tries_all(void *arg)
{
	const char *wrong;

	(void)arg;
	live_need(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	prctl(PR_SET_DUMPABLE, 1);
	live_die_with_parent();
	live_ready();
	wrong = try_all();
	if (wrong)
		dprintf(STDERR_FILENO, "%s\n", wrong);
	_exit(wrong != NULL);
}

Test(exit_info, as_an_ordinary_user)
{
	cr_expect_eq(live_wait(live_start(nobody_tries_all, NULL)), 0);
}

/* Another user's process can be held and its pidfd tells how it ended, but its zombie does not: there
 * the kernel shows 0, which must not pass for the code 0. */
static void nobody_looks_at(void *arg)
{
	struct family *f = arg;
	struct ending ending = { 0 };

	live_need(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	live_die_with_parent();
	close(f->pidfd);
	f->pidfd = exit_info_pin(f->child);
	if (f->pidfd < 0)
		_exit(10);
	live_ready();
	if (!let_it_end(f))
		_exit(11);
	if (exit_info_read_zombie(f->child, &ending) != -EACCES)
		_exit(12);
	if (!let_it_be_reaped(f))
		_exit(13);
	if (kernel_tells() &&
	    (exit_info_read(f->pidfd, &ending) < 0 || !is_like(&ending, &ways[2].ending)))
		_exit(14);
	_exit(0);
}

Test(exit_info, of_another_user)
{
	struct family f = { .way = SIGSEGV, .pidfd = -1 };

	if (geteuid() != 0)
		cr_skip_test("needs root, for a second user");
	cr_assert(begin(&f));
	cr_expect_eq(live_wait(live_start(nobody_looks_at, &f)), 0);
	finish(&f);
}

Test(exit_info, only_that_very_process_is_pinned)
{
	pid_t pid = live_start(live_pause, NULL);
	struct ident other = { .pid = pid };
	struct ending ending;

	cr_assert(read_start(&other));
	other.start++;
	cr_expect_eq(exit_info_pin(other), -ESRCH);
	cr_expect_eq(exit_info_read_zombie(other, &ending), -ESRCH);
	cr_expect_eq(exit_info_pin((struct ident){ 4194304, 1 }), -ENOENT);
	cr_expect_eq(exit_info_pin((struct ident){ 0, 1 }), -ESRCH);
	live_end(pid);
}

Test(exit_info, a_descriptor_of_something_else)
{
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct ending ending;

	cr_expect_lt(exit_info_read(null, &ending), 0);
	cr_expect_lt(exit_info_read(-1, &ending), 0);
}

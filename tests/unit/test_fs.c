/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"

/* What the kernel is made to say of the next calls. */
static unsigned calls, fails_at; /* the call of that number; 0: none */
static int error;
static size_t at_once; /* bytes that one call takes; 0: all */

/* @return true if that call is to fail. */
static bool fails(void)
{
	bool now = fails_at && ++calls == fails_at;

	if (now)
		errno = error;
	return now;
}

static void fail(unsigned at, int with)
{
	calls = 0;
	fails_at = at;
	error = with;
}

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	return fails() ? -1 : __real_read(fd, buf, at_once ? MIN(size, at_once) : size);
}

/* What read() is where the C library knows how long buf is. */
ssize_t __wrap___read_chk(int fd, void *buf, size_t size, size_t room);
ssize_t __wrap___read_chk(int fd, void *buf, size_t size, size_t room)
{
	cr_assert_leq(size, room);
	return __wrap_read(fd, buf, size);
}

ssize_t __real_write(int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size)
{
	return fails() ? -1 : __real_write(fd, buf, at_once ? MIN(size, at_once) : size);
}

static bool no_memory;

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
	return no_memory ? NULL : __real_realloc(old, size);
}

/* What clang makes of realloc(NULL, size). */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return no_memory ? NULL : __real_strdup(text);
}

static int close_error, mode_error, random_error, name_error, open_error, open_at_error;

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int r = __real_close(fd);

	errno = close_error ? close_error : errno;
	return close_error ? -1 : r;
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
	errno = mode_error ? mode_error : errno;
	return mode_error ? -1 : __real_fchmod(fd, mode);
}

ssize_t __real_getrandom(void *buf, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned flags)
{
	errno = random_error ? random_error : errno;
	return random_error ? -1 : __real_getrandom(buf, size, flags);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	errno = name_error ? name_error : errno;
	return name_error ? -1 : __real_rename(from, to);
}

int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	errno = open_error ? open_error : errno;
	return open_error ? -1 : __real_open(name, flags, mode);
}

int __real_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...);
int __wrap_openat(int at, const char *name, int flags, ...)
{
	errno = open_at_error ? open_at_error : errno;
	return open_at_error ? -1 : __real_openat(at, name, flags);
}

/* What openat() is where its flags are no constant, and the C library looks at them. */
int __real___openat_2(int at, const char *name, int flags);
int __wrap___openat_2(int at, const char *name, int flags);
int __wrap___openat_2(int at, const char *name, int flags)
{
	errno = open_at_error ? open_at_error : errno;
	return open_at_error ? -1 : __real___openat_2(at, name, flags);
}

/* What the kernel does not know yet: openat2(2), and to tell of a mount. */
static int no_openat2;
static bool tells_no_mounts;
static int statx_error, stat_error;
static unsigned statx_fails = UINT_MAX; /* the call of that number, from 0 */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	const struct open_how *how;
	const char *name;
	va_list rest;
	size_t size;
	int at;

	va_start(rest, number);
	at = va_arg(rest, int);
	name = va_arg(rest, const char *);
	how = va_arg(rest, const struct open_how *);
	size = va_arg(rest, size_t);
	va_end(rest);
	cr_assert_eq(number, SYS_openat2);
	errno = no_openat2 ? no_openat2 : errno;
	return no_openat2 ? -1 : __real_syscall(number, at, name, how, size);
}

int __real_statx(int at, const char *name, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int at, const char *name, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int at, const char *name, int flags, unsigned mask, struct statx *ret)
{
	int r = __real_statx(at, name, flags, mask, ret);

	cr_expect(flags & AT_STATX_DONT_SYNC, "a server that has to be asked may never answer");
	if (tells_no_mounts) {
		ret->stx_attributes_mask &= ~(uint64_t)STATX_ATTR_MOUNT_ROOT;
		ret->stx_attributes &= ~(uint64_t)STATX_ATTR_MOUNT_ROOT;
	}
	if (!statx_error || statx_fails--)
		return r;
	errno = statx_error;
	return -1;
}

int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret)
{
	int r = __real_fstat(fd, ret);

	errno = stat_error ? stat_error : errno;
	return stat_error ? -1 : r;
}

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

static mode_t mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s: %s", path, strerror(errno));
	cr_assert(S_ISDIR(st.st_mode));
	return st.st_mode & 07777;
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

/* Whatever a number of signals leave of a read. */
Test(fs, reads_go_on_after_a_signal)
{
	_cleanup_free_ char *all = NULL;
	_cleanup_close_ int fd = -1;
	char bytes[8] = "", around[64];
	size_t len;

	put("f", "abcdefgh", 8);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	at_once = 3;
	fail(2, EINTR);
	cr_expect_eq(fs_read_at(AT_FDCWD, "f", bytes, sizeof(bytes)), 7);
	cr_expect_str_eq(bytes, "abcdefg");
	fail(2, EINTR);
	cr_expect_eq(fs_read_all(fd, 8, &all, &len), 0);
	cr_expect_eq(len, 8);
	memset(around, 'x', sizeof(around));
	fail(2, EIO);
	cr_expect_eq(fs_read_at(AT_FDCWD, "f", around + 32, sizeof(bytes)), -EIO);
	cr_expect_null(memchr(around, '\0', sizeof(around)), "no NUL is put anywhere");
	fail(0, 0);
	errno = EINTR;
	cr_expect_eq(fs_read_at(AT_FDCWD, "f", bytes, sizeof(bytes)), 7, "of long ago");
}

Test(fs, writes_go_on_after_a_signal)
{
	_cleanup_close_ int fd = open("f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char bytes[16];

	at_once = 3;
	fail(2, EINTR);
	cr_expect_eq(fs_write_all(fd, "abcdefgh", 8), 0);
	at_once = 0;
	cr_expect_eq(fs_read_at(AT_FDCWD, "f", bytes, sizeof(bytes)), 8);
	cr_expect_str_eq(bytes, "abcdefgh");
	at_once = 3;
	fail(2, ENOSPC);
	cr_expect_eq(fs_write_all(fd, "abcdefgh", 8), -ENOSPC);
	fail(0, 0);
	errno = EINTR;
	cr_expect_eq(fs_write_all(fd, "abcdefgh", 8), 0, "of long ago");
	at_once = 0;
}

/* A file of six bytes, to which some of them were appended last. */
Test(fs, undo_append)
{
	static const struct {
		const char *why;
		off_t size;
		ssize_t written;
		int stat_error;
		size_t left;
	} rows[] = {
		{ "what was written last goes", 4, 2, 0, 4 },
		{ "a write that failed wrote nothing", 7, -1, 0, 6 },
		{ "somebody else has written behind it", 3, 2, 0, 6 },
		{ "nobody knows how long it is", 4, 2, EIO, 6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_close_ int fd = -1;
		struct stat st;

		put("log", "sixsix", 6);
		fd = open("log", O_WRONLY | O_CLOEXEC);
		cr_assert_geq(fd, 0);
		stat_error = rows[i].stat_error;
		fs_undo_append(fd, rows[i].size, rows[i].written);
		stat_error = 0;
		cr_assert_eq(fstat(fd, &st), 0);
		cr_expect_eq(st.st_size, (off_t)rows[i].left, "%s", rows[i].why);
	}
}

/* The kernels that there are. */
static const struct {
	const char *why;
	int no_openat2;
	bool tells_no_mounts;
} kernels[] = {
	{ "5.8 and later", 0, false },
	{ "a filter that knows no openat2", EPERM, false },
	{ "5.5", ENOSYS, true },
};

static void become(size_t kernel)
{
	no_openat2 = kernels[kernel].no_openat2;
	tells_no_mounts = kernels[kernel].tells_no_mounts;
}

/* @return what opening says: 0, or an error; what was opened holds this. */
static int open_here(int at, const char *name, int flags, const char *holds)
{
	_cleanup_close_ int fd = fs_open_here(at, name, flags);
	char bytes[8] = "";

	if (fd < 0)
		return fd;
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC, "%s", name);
	if (*holds)
		cr_expect_eq(read(fd, bytes, sizeof(bytes) - 1), (ssize_t)strlen(holds), "%s",
			     name);
	cr_expect_str_eq(bytes, holds, "%s", name);
	return 0;
}

static int kind_here(int at, const char *name)
{
	struct stat st;
	int r = fs_stat_here(at, name, &st);

	return r < 0 ? r : (int)(st.st_mode & S_IFMT);
}

/* Where the standard input is closed, the lowest free descriptor is 0. */
Test(fs, descriptor_0_is_one_like_all)
{
	int input = dup(STDIN_FILENO), none = STDIN_FILENO, read_at, replaced, made, held;
	int here[ARRAY_SIZE(kernels)], kind[ARRAY_SIZE(kernels)];
	_cleanup_close_ int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char bytes[8];
	DIR *all;

	put("f", "abc", 3);
	fs_close(&none);
	cr_expect_eq(fcntl(STDIN_FILENO, F_GETFD), -1, "it was closed");
	errno = EXDEV;
	read_at = (int)fs_read_at(AT_FDCWD, "f", bytes, sizeof(bytes));
	errno = EXDEV;
	replaced = fs_replace("g", "x", 1, 0644);
	errno = EXDEV;
	made = fs_make_dirs("one/two/three", 0755);
	errno = EXDEV;
	all = fs_open_dir(AT_FDCWD, "one");
	held = all ? dirfd(all) : -1;
	if (all)
		closedir(all);
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		become(i);
		errno = EXDEV;
		here[i] = open_here(at, "f", O_RDONLY, "abc");
		errno = EXDEV;
		kind[i] = kind_here(at, "f");
	}
	dup2(input, STDIN_FILENO);
	fs_close(&input);
	cr_expect_eq(read_at, 3);
	cr_expect_eq(replaced, 0);
	cr_expect_eq(made, 0);
	cr_expect_eq(mode_of("one/two/three"), 0755);
	cr_expect_eq(held, 0);
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		cr_expect_eq(here[i], 0, "%s", kernels[i].why);
		cr_expect_eq(kind[i], S_IFREG, "%s", kernels[i].why);
	}
	cr_expect_null(fs_open_dir(at, "nowhere"));
}

Test(fs, opens_what_lies_here)
{
	_cleanup_close_ int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	put("f", "abc", 3);
	cr_assert_eq(mkdir("sub", 0755), 0);
	cr_assert_eq(symlink("f", "link"), 0);
	cr_assert_eq(symlink("sub", "linked"), 0);
	cr_assert_eq(mkfifo("fifo", 0644), 0);
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		become(i);
		cr_expect_eq(open_here(at, "f", O_RDONLY, "abc"), 0, "%s", kernels[i].why);
		cr_expect_eq(open_here(at, "sub", O_RDONLY | O_DIRECTORY, ""), 0);
		cr_expect_eq(open_here(at, "f", O_RDONLY | O_DIRECTORY, ""), -ENOTDIR);
		cr_expect_eq(open_here(at, "link", O_RDONLY, ""), -ELOOP, "%s", kernels[i].why);
		cr_expect_lt(open_here(at, "linked", O_RDONLY | O_DIRECTORY, ""), 0);
		cr_expect_eq(open_here(at, "none", O_RDONLY, ""), -ENOENT);
		cr_expect_eq(kind_here(at, "f"), S_IFREG, "%s", kernels[i].why);
		cr_expect_eq(kind_here(at, "sub"), S_IFDIR);
		cr_expect_eq(kind_here(at, "link"), S_IFLNK, "%s", kernels[i].why);
		cr_expect_eq(kind_here(at, "fifo"), S_IFIFO, "it is not opened for that");
		cr_expect_eq(kind_here(at, "none"), -ENOENT);
	}
	stat_error = EIO;
	cr_expect_eq(kind_here(at, "f"), -EIO);
	stat_error = 0;
	statx_error = ENOMEM;
	for (unsigned i = 0; i < 2; i++) {
		statx_fails = i;
		cr_expect_eq(open_here(at, "f", O_RDONLY, ""), -ENOMEM, "nobody knows what it is");
	}
	statx_error = 0;
	no_openat2 = EMFILE;
	cr_expect_eq(open_here(at, "f", O_RDONLY, ""), -EMFILE);
}

/* A file system in a mount namespace of this process alone; false: not allowed. */
static bool mount_here(const char *name)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", name, "tmpfs", 0, NULL) == 0;
}

Test(fs, opens_nothing_that_is_mounted_here)
{
	_cleanup_close_ int at = -1, in = -1;

	put("f", "abc", 3);
	cr_assert_eq(mkdir("sub", 0755), 0);
	if (!mount_here("sub"))
		cr_skip_test("may not mount here");
	put("sub/g", "def", 3);
	cr_assert_eq(mount("sub/g", "f", NULL, MS_BIND, NULL), 0);
	put("again", "ghi", 3);
	put("own", "ghi", 3);
	cr_assert_eq(mount("own", "again", NULL, MS_BIND, NULL), 0);
	at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	in = open("sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		become(i);
		cr_expect_eq(open_here(at, "sub", O_RDONLY | O_DIRECTORY, ""), -EXDEV, "%s",
			     kernels[i].why);
		cr_expect_eq(open_here(at, "f", O_RDONLY, ""), -EXDEV, "%s", kernels[i].why);
		cr_expect_eq(kind_here(at, "sub"), -EXDEV, "%s", kernels[i].why);
		cr_expect_eq(kind_here(at, "f"), -EXDEV, "%s", kernels[i].why);
		cr_expect_eq(open_here(in, "g", O_RDONLY, "def"), 0,
			     "the directory itself may be one");
		cr_expect_eq(open_here(at, "again", O_RDONLY, tells_no_mounts ? "ghi" : ""),
			     tells_no_mounts ? 0 : -EXDEV,
			     "of the same file system nobody else is asked");
	}
	cr_assert_eq(umount2("again", MNT_DETACH), 0);
	cr_assert_eq(umount2("f", MNT_DETACH), 0);
	cr_assert_eq(umount2("sub", MNT_DETACH), 0);
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

/* However its room grows up to the limit. */
Test(fs, read_all_refuses_one_byte_more)
{
	static const size_t limits[] = { 4095, 4096, 4097, 5000, 8191, 8192, 8193, 9999 };
	char big[10000];

	memset(big, 'x', sizeof(big));
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		_cleanup_close_ int fd = -1;
		char *bytes = NULL;
		size_t len;

		put("f", big, limits[i] + 1);
		fd = open("f", O_RDONLY | O_CLOEXEC);
		cr_expect_eq(fs_read_all(fd, limits[i], &bytes, &len), -EFBIG, "%zu", limits[i]);
	}
}

Test(fs, no_memory_is_said)
{
	_cleanup_close_ int fd = -1;
	char *bytes = NULL;
	size_t len = 4711;
	int read_error, dirs_error;

	put("f", "x", 1);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	no_memory = true;
	read_error = fs_read_all(fd, 10, &bytes, &len);
	dirs_error = fs_make_dirs("a/b", 0755);
	no_memory = false;
	cr_assert_eq(read_error, -ENOMEM, "%d", read_error);
	cr_assert_null(bytes);
	cr_assert_eq(len, 4711);
	cr_assert_eq(dirs_error, -ENOMEM, "%d", dirs_error);
	cr_assert_eq(access("a", F_OK), -1);
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

/* What cannot be made sure of is not put into its place. */
Test(fs, replace_says_every_error)
{
	static const struct {
		int *error;
		const char *why;
	} rows[] = {
		{ &close_error, "the disk was full after all" },
		{ &mode_error, "it would be everybody's" },
		{ &random_error, "no name aside" },
		{ &name_error, "it cannot be put into its place" },
	};
	char bytes[16];

	put("f", "old", 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r;

		*rows[i].error = EDQUOT;
		r = fs_replace("f", "new", 3, 0644);
		*rows[i].error = 0;
		cr_expect_eq(r, -EDQUOT, "%s", rows[i].why);
		cr_expect_eq(fs_read_at(AT_FDCWD, "f", bytes, sizeof(bytes)), 3);
		cr_expect_str_eq(bytes, "old", "%s", rows[i].why);
		cr_expect_eq(entries(), 1, "%s", rows[i].why);
	}
	fail(1, ENOSPC);
	close_error = EDQUOT;
	cr_expect_eq(fs_replace("f", "new", 3, 0644), -ENOSPC, "the first error is told");
	close_error = 0;
	fail(1, ENOSPC);
	mode_error = EDQUOT;
	cr_expect_eq(fs_replace("f", "new", 3, 0644), -ENOSPC, "the first error is told");
	mode_error = 0;
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
	mode_error = EROFS;
	cr_assert_eq(fs_make_dirs("made", 0755), -EROFS);
	mode_error = 0;
	open_at_error = EMFILE;
	cr_assert_eq(fs_make_dirs("made", 0755), -EMFILE, "it is there");
	open_at_error = ENOENT;
	cr_assert_eq(fs_make_dirs("made", 0755), -EEXIST, "it went meanwhile");
	errno = EXDEV;
	cr_assert_eq(fs_make_dirs("new", 0755), -ENOENT, "so did what was made");
	open_at_error = 0;
	open_error = EMFILE;
	cr_assert_eq(fs_make_dirs("made", 0755), -EMFILE);
	open_error = 0;
	cr_assert_eq(chdir("made"), 0);
	cr_assert_eq(rmdir("../made"), 0);
	cr_assert_eq(fs_make_dirs("below", 0755), -ENOENT, "nothing can be made where we are");
	cr_assert_eq(chdir(dir), 0);
	cr_assert_eq(rmdir("new"), 0);
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

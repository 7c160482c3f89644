/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One marker log: which file is believed, what of it is new, and whether it is still the one that was read.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "observe/marker_file.h"
#include "tmpdir.h"

TestSuite(marker_file, .timeout = 20);

enum {
	NAME_MAX_HERE = 400,
	READS_MAX = 8,
};

#define BOOT   "01234567-89ab-cdef-0123-456789abcdef"
#define BOOT_2 "11234567-89ab-cdef-0123-456789abcdef"
#define BEAT   "reaper/1 7 beat n=0\n"
#define SECOND "a second process writes this log"
#define LONG   "expected at most 512 bytes"

/* What the kernel is made to say. */
static unsigned opened;
static int open_error, stat_error;
static const char *opens_instead;  /* another file of that directory has the name by now */
static int read_errors[READS_MAX]; /* of the next calls; 0: it reads */
static size_t read_next = READS_MAX;
static size_t read_short; /* so many bytes less than were read are said */

int __real_fs_open_here(int dirfd, const char *name, int flags);
int __wrap_fs_open_here(int dirfd, const char *name, int flags);
int __wrap_fs_open_here(int dirfd, const char *name, int flags)
{
	opened++;
	if (open_error)
		return -open_error;
	return __real_fs_open_here(dirfd, opens_instead ? opens_instead : name, flags);
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	bool fails = stat_error && opened;

	errno = fails ? stat_error : errno;
	return fails ? -1 : __real_fstat(fd, st);
}

ssize_t __real_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset)
{
	ssize_t n = __real_pread(fd, buf, size, offset);

	int error = read_next < READS_MAX ? read_errors[read_next++] : 0;

	if (error)
		errno = error;
	return error ? -1 : n - (ssize_t)read_short;
}

/* What pread() is where the C library knows how long buf is. */
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t offset, size_t room);
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t offset, size_t room)
{
	cr_assert_leq(size, room);
	return __wrap_pread(fd, buf, size, offset);
}

/* ---- which file is believed ---- */

static struct tmpdir dir;
static int top_fd = -1;

static void make(void)
{
	dir = tmpdir_make();
	cr_assert_eq(chmod(dir.path, 0755), 0);
	top_fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(top_fd, 0);
}

static void clean(void)
{
	fs_close(&top_fd);
	tmpdir_remove(&dir);
}

static int open_log(const char *name, const char **ret_why)
{
	struct stat top, st = { 0 };
	int fd;

	cr_assert_eq(stat(dir.path, &top), 0);
	*ret_why = "";
	fd = marker_file_open(top_fd, &top, name, &st, ret_why);
	if (fd >= 0)
		cr_expect_gt(st.st_ino, 0, "it says which file that is");
	return fd;
}

static void put(const char *name, const char *text, mode_t mode)
{
	tmpdir_write(&dir, name, text, strlen(text), mode);
}

static void a_log(void)
{
	put("x.log", BEAT, 0644);
}

static void a_fifo(void)
{
	char path[PATH_MAX];

	cr_assert_eq(mkfifo(tmpdir_path(&dir, "x.log", path), 0644), 0);
}

static void a_log_with_two_names(void)
{
	a_log();
	cr_assert_eq(linkat(top_fd, "x.log", top_fd, "y.log", 0), 0);
}

static void a_log_in_an_open_directory(void)
{
	a_log();
	cr_assert_eq(chmod(dir.path, 0777), 0);
}

static void two_names_in_an_open_directory(void)
{
	a_log_with_two_names();
	cr_assert_eq(chmod(dir.path, 0777), 0);
}

static void what_all_may_write_has_the_name_by_now(void)
{
	a_log();
	put("open", BEAT, 0666);
	opens_instead = "open";
}

static void it_may_not_be_read(void)
{
	a_log();
	open_error = EACCES;
}

static void something_is_mounted_there_by_now(void)
{
	a_log();
	open_error = EXDEV;
}

static void it_cannot_be_looked_at(void)
{
	a_log();
	stat_error = EIO;
}

static void no_log(void)
{
}

Test(marker_file, what_is_believed, .init = make, .fini = clean)
{
	static const struct {
		void (*make)(void);
		int r; /* 0: it is believed */
		unsigned opened;
		const char *want;
		const char *why;
	} rows[] = {
		{ a_log, 0, 1, "", "its owner's" },
		{ no_log, -ENOENT, 0, "", "there is none" },
		{ a_fifo, -EPERM, 0, "is a FIFO", "to open it may have an effect" },
		{ a_log_with_two_names, -EPERM, 0, "does not have exactly one link",
		  "somebody else's, perhaps" },
		{ a_log_in_an_open_directory, -EPERM, 1, MARKER_FILE_WHY_OPEN,
		  "others may give its name to another file" },
		{ two_names_in_an_open_directory, -EPERM, 0, "does not have exactly one link",
		  "the first reason is told" },
		{ what_all_may_write_has_the_name_by_now, -EPERM, 1, "is writable by others",
		  "what was opened counts" },
		{ it_may_not_be_read, -EACCES, 1, "", "by us" },
		{ something_is_mounted_there_by_now, -EXDEV, 1, FS_WHY_MOUNT, "it is not entered" },
		{ it_cannot_be_looked_at, -EIO, 1, "", "once it is open" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *why;
		int fd;

		clean();
		make();
		opened = 0;
		rows[i].make();
		fd = open_log("x.log", &why);
		open_error = stat_error = 0;
		opens_instead = NULL;
		cr_expect_eq(rows[i].r ? fd : fd < 0, rows[i].r, "%s: %d", rows[i].why, fd);
		cr_expect_str_eq(why, rows[i].want, "%s", rows[i].why);
		cr_expect_eq(opened, rows[i].opened, "%s: opened", rows[i].why);
		fs_close(&fd);
	}
}

/* Where the standard input is closed, the lowest free descriptor is 0. */
Test(marker_file, descriptor_0_is_one_like_all, .init = make, .fini = clean)
{
	int input = dup(STDIN_FILENO), none = STDIN_FILENO, fd;
	const char *why;

	a_log();
	fs_close(&none);
	errno = EXDEV;
	fd = open_log("x.log", &why);
	dup2(input, STDIN_FILENO);
	fs_close(&input);
	cr_assert_eq(fd, 0);
}

/* ---- what is new ---- */

struct taken {
	unsigned count, bad;
	int refuse; /* what the sink returns of the next */
};

static int take(void *arg, const struct marker_source *source, const struct marker *m)
{
	struct taken *t = arg;

	(void)source;
	if (t->refuse)
		return t->refuse;
	t->count += !m->bad;
	t->bad += m->bad;
	return 0;
}

static char block[MARKER_FILE_BLOCK];
static struct taken taken;
static struct marker_file file;
static int fd = -1;

static void begin(void)
{
	make();
	a_log();
	file = (struct marker_file){ .number = 1, .name = strdup("x.log") };
	taken = (struct taken){ 0 };
	fd = openat(top_fd, "x.log", O_RDWR | O_CLOEXEC);
	cr_assert_geq(fd, 0);
}

static void end(void)
{
	marker_file_done(&file);
	fs_close(&fd);
	clean();
}

static void write_log(const char *bytes, size_t len)
{
	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(pwrite(fd, bytes, len, 0), (ssize_t)len);
}

static void append(const char *text)
{
	cr_assert_eq(pwrite(fd, text, strlen(text), lseek(fd, 0, SEEK_END)), (ssize_t)strlen(text));
}

static int read_up_to(uint64_t max)
{
	const struct marker_reader r = { .block = block, .sink = take, .arg = &taken };

	return marker_file_read(&file, fd, max, &r);
}

static int read_log(void)
{
	return read_up_to(UINT64_MAX);
}

static bool continues(void)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return marker_file_continues(&file, fd, &st);
}

Test(marker_file, whole_lines_are_taken_once, .init = begin, .fini = end)
{
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.count, 1);
	cr_expect_eq(file.lines, 1);
	cr_expect_eq(file.offset, strlen(BEAT));
	append("reaper/1 8 be");
	cr_expect_eq(read_log(), 1, "it ends in half a line");
	cr_expect_eq(taken.count, 1);
	append("at n=1\n" BEAT);
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.count, 3);
	cr_expect_eq(file.lines, 3);
	cr_expect_eq(read_log(), 1, "nothing is new");
	cr_expect_eq(taken.count, 3);
	cr_expect_eq(taken.bad, 0);
}

Test(marker_file, a_limit_leaves_the_rest, .init = begin, .fini = end)
{
	append(BEAT BEAT);
	cr_expect_eq(read_up_to(2 * strlen(BEAT)), 0, "there is more");
	cr_expect_eq(taken.count, 2);
	cr_expect_eq(read_up_to(strlen(BEAT) - 1), 0, "half a line, and more behind it");
	cr_expect_eq(taken.count, 2);
	cr_expect_not(file.torn, "the rest is there");
	cr_expect_eq(read_up_to(0), 0, "nothing is read");
	cr_expect_eq(read_up_to(strlen(BEAT)), 0, "nobody has seen its end");
	cr_expect_eq(taken.count, 3);
	cr_expect_eq(read_log(), 1);
	append("reaper/1 2 be");
	cr_expect_eq(read_log(), 1);
	cr_expect(file.torn, "its rest is to come");
	append("at n=2\n");
	cr_expect_eq(read_log(), 1);
	cr_expect_not(file.torn, "it came");
}

Test(marker_file, a_signal_and_an_error, .init = begin, .fini = end)
{
	read_errors[0] = read_errors[1] = EINTR;
	read_next = 0;
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.count, 1, "it is read again");
	errno = EINTR;
	cr_expect_eq(read_log(), 1, "what was long ago does not count");
	append(BEAT);
	read_errors[0] = EIO;
	read_next = 0;
	cr_expect_eq(read_log(), 0, "it could not be read");
	read_next = READS_MAX;
	cr_expect_eq(taken.count, 1);
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.count, 2);
}

Test(marker_file, what_the_sink_refuses_comes_again, .init = begin, .fini = end)
{
	taken.refuse = -ENOMEM;
	cr_expect_eq(read_log(), -ENOMEM);
	cr_expect_eq(file.offset, 0);
	write_log("x\n" BEAT, 2 + strlen(BEAT));
	cr_expect_eq(read_log(), -ENOMEM);
	cr_expect_eq(file.bad, 0, "it is bad once it is taken");
	taken.refuse = 0;
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.count, 1);
	cr_expect_eq(taken.bad, 1);
	cr_expect_eq(file.bad, 1);
	cr_expect_eq(file.lines, 2);
}

/* Lines of 511, 512, 513 bytes with their newline, and one that does not end yet. */
Test(marker_file, a_line_that_is_too_long, .init = begin, .fini = end)
{
	static const size_t lengths[] = { MARKER_LINE_MAX - 1, MARKER_LINE_MAX, MARKER_LINE_MAX + 1,
					  2 * MARKER_FILE_BLOCK };
	static char line[2 * MARKER_FILE_BLOCK + 64];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		bool fits = lengths[i] <= MARKER_LINE_MAX;
		int len = snprintf(line, sizeof(line), "reaper/1 5 beat n=0 x=");

		end();
		begin();
		memset(line + len, 'y', lengths[i] - (size_t)len);
		line[lengths[i] - 1] = '\n';
		write_log(line, lengths[i]);
		append(BEAT);
		cr_expect_eq(read_log(), 1, "%zu", lengths[i]);
		cr_expect_eq(taken.count, fits ? 2 : 1, "%zu", lengths[i]);
		cr_expect_eq(taken.bad, fits ? 0 : 1, "%zu", lengths[i]);
		cr_expect_eq(file.lines, 2, "%zu", lengths[i]);
	}
}

Test(marker_file, a_line_that_does_not_end_is_bad_once, .init = begin, .fini = end)
{
	char half[MARKER_LINE_MAX];

	memset(half, 'y', sizeof(half));
	write_log(half, sizeof(half) - 1);
	cr_expect_eq(read_log(), 1, "it may end with the next byte");
	cr_expect_eq(taken.bad, 0);
	cr_expect_eq(file.offset, 0);
	append("y");
	taken.refuse = -ENOMEM;
	cr_expect_eq(read_log(), -ENOMEM);
	cr_expect_not(file.skipping);
	taken.refuse = 0;
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.bad, 1);
	cr_expect_str_eq(file.first_bad, "x.log:1: " LONG);
	append("yyy");
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.bad, 1, "it is the same line");
	cr_expect_eq(file.offset, MARKER_LINE_MAX + 3, "and not read again");
	append("y\n" BEAT);
	cr_expect_eq(read_log(), 1);
	cr_expect_eq(taken.bad, 1);
	cr_expect_eq(taken.count, 1);
	cr_expect_eq(file.lines, 2);
}

/* ---- whether it is still the one that was read ---- */

Test(marker_file, what_was_read_must_still_be_there, .init = begin, .fini = end)
{
	cr_expect(continues(), "nothing was read of it");
	cr_assert_eq(read_log(), 1);
	cr_expect(continues());
	append(BEAT);
	cr_expect(continues(), "it has grown");
	cr_assert_eq(read_log(), 1);
	cr_expect(continues());
	write_log(BEAT, strlen(BEAT));
	cr_expect_not(continues(), "it was truncated");
	append("reaper/1 9 beat n=0\n");
	cr_expect_not(continues(), "and written anew");
	write_log(BEAT BEAT, 2 * strlen(BEAT));
	cr_expect(continues(), "these are the same bytes");
	read_short = 1;
	cr_expect_not(continues(), "they cannot be read whole");
	read_short = 0;
}

/* The bytes before it are the same wherever it ends here; but these could not be read a second time. */
Test(marker_file, what_cannot_be_read_twice_is_another, .init = begin, .fini = end)
{
	append(BEAT BEAT BEAT);
	cr_assert_eq(read_log(), 1);
	cr_expect(continues());
	append(BEAT);
	read_errors[2] = EIO; /* behind the line, and the end */
	read_next = 0;
	cr_assert_eq(read_log(), 1);
	read_next = READS_MAX;
	cr_expect_eq(taken.count, 5);
	cr_expect_not(continues());
}

/* ---- who writes it ---- */

#define HOST(id, boot, ns) "reaper/1 1 host host=" id " boot=" boot " pidns=" ns " class=pyspark\n"
#define DAEMON(id)         "reaper/1 1 daemon daemon=" id " boot=" BOOT " pidns=1\n"
#define OPERATOR(id, boot) "reaper/1 1 operator uid=" id " boot=" boot " pidns=1\n"

Test(marker_file, one_process_writes_a_log, .init = begin, .fini = end)
{
	static const struct {
		const char *text;
		const char *bad;
		const char *why;
	} rows[] = {
		{ HOST("47:1", BOOT, "1") HOST("47:1", BOOT, "1"), NULL, "the same host again" },
		{ HOST("47:1", BOOT, "1") HOST("48:1", BOOT, "1"), SECOND, "another number" },
		{ HOST("47:1", BOOT, "1") HOST("47:2", BOOT, "1"), SECOND, "begun later" },
		{ HOST("47:1", BOOT, "1") HOST("47:1", BOOT_2, "1"), SECOND, "another boot" },
		{ HOST("47:1", BOOT, "1") HOST("47:1", BOOT, "2"), SECOND, "another namespace" },
		{ DAEMON("47:1") DAEMON("47:1"), NULL, "the same daemon again" },
		{ DAEMON("47:1") DAEMON("48:1"), SECOND, "another daemon" },
		{ HOST("47:1", BOOT, "1") DAEMON("47:1"), SECOND, "a host is no daemon" },
		{ OPERATOR("1", BOOT) OPERATOR("2", BOOT_2), NULL,
		  "an operator's takes the words of many" },
		{ OPERATOR("1", BOOT) HOST("47:1", BOOT, "1"), SECOND, "but not a host's" },
		{ HOST("47:1", BOOT, "1") OPERATOR("1", BOOT), SECOND, "nor the other way round" },
		{ BEAT BEAT, NULL, "nobody said who writes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[128] = "";

		end();
		begin();
		write_log(rows[i].text, strlen(rows[i].text));
		append(BEAT);
		cr_assert_eq(read_log(), 1);
		cr_expect_eq(taken.count, 3, "all are given on: %s", rows[i].why);
		cr_expect_eq(file.bad, rows[i].bad ? 1 : 0, "%s", rows[i].why);
		if (rows[i].bad)
			(void)snprintf(want, sizeof(want), "x.log:2: %s", rows[i].bad);
		cr_expect_str_eq(file.first_bad ? file.first_bad : "", want, "%s", rows[i].why);
	}
}

Test(marker_file, what_is_not_known_is_counted, .init = begin, .fini = end)
{
	static const char text[] = "reaper/1 1 rebirth\nreaper/1 2 beat n=0 x=1 y=2\n";

	write_log(text, strlen(text));
	cr_assert_eq(read_log(), 1);
	cr_expect_eq(file.unknown, 3, "an event and two keys");
	cr_expect_eq(file.bad, 0);
}

Test(marker_file, the_first_fault_is_named_and_a_name_that_is_too_long_cut, .init = begin,
     .fini = end)
{
	char *name = malloc(NAME_MAX_HERE);

	cr_assert_not_null(name);
	memset(name, 'n', NAME_MAX_HERE);
	name[NAME_MAX_HERE - 1] = '\0';
	free(file.name);
	file.name = name;
	write_log("x\ny\n", 4);
	cr_assert_eq(read_log(), 1);
	cr_expect_eq(file.bad, 2);
	cr_expect(strstr(file.first_bad, ":1: expected reaper/1"), "%s", file.first_bad);
	cr_expect_lt(strlen(file.first_bad), NAME_MAX_HERE);
}

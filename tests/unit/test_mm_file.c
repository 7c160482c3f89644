/* SPDX-License-Identifier: Apache-2.0 */
/* Files that do not answer: here a FIFO that nobody writes stands for one. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/mm_file.h"
#include "observe/proc_parse.h"

enum {
	SILENT = 10000000, /* greater than any pid */
};

static char folder[] = "/tmp/test_mm_file.XXXXXX";
static struct ident self;
static bool no_threads;

int __real_pin_open(pid_t pid);
int __wrap_pin_open(pid_t pid);
int __wrap_pin_open(pid_t pid)
{
	return pid < SILENT ? __real_pin_open(pid)
			    : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *), void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(ret, attr, f, arg);
}

static void begin(void)
{
	char bytes[2048];
	ssize_t len = fs_read_at(AT_FDCWD, "/proc/self/stat", bytes, sizeof(bytes));
	struct proc_stat stat;
	int dir;

	cr_assert_gt(len, 0);
	cr_assert_eq(proc_parse_stat(bytes, (size_t)len, &stat), 0);
	self = (struct ident){ getpid(), stat.start };
	cr_assert_not_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkfifoat(dir, "cmdline", 0600), 0);
	cr_assert_eq(symlinkat("/proc/self/stat", dir, "stat"), 0);
	(void)close(dir);
}

static void end(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/cmdline", folder);
	cr_expect_eq(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/stat", folder);
	cr_expect_eq(unlink(path), 0);
	cr_expect_eq(rmdir(folder), 0);
}

TestSuite(mm_file, .init = begin, .fini = end, .timeout = 30);

static struct mm_file file_of(pid_t pid)
{
	return (struct mm_file){
		.id = { pid, self.start },
		.name = "cmdline",
		.max = 4096,
		.whole = pid >= SILENT, /* that opens a FIFO and waits */
	};
}

static void drop(struct mm_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(files[i].bytes);
}

static bool is_late(const struct mm_file *file)
{
	return file->err == -ETIMEDOUT || file->err == -EALREADY;
}

/* Again while the thread that reads was held up. */
static void read_what_answers(struct mm_file *files, size_t count)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	bool late = true;

	while (late) {
		mm_files_read(files, count);
		late = false;
		for (size_t i = 0; i < count; i++)
			late |= is_late(&files[i]);
		if (!late || live_now_ms() >= until)
			return;
		drop(files, count);
		live_sleep_ms(5);
	}
}

static void let_go(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/cmdline", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	(void)close(fd);
}

Test(mm_file, what_answers_is_read)
{
	struct mm_file files[3] = { file_of(self.pid), file_of(self.pid), file_of(self.pid) };

	files[1].id.start++;
	files[2].max = 3;
	read_what_answers(files, 3);
	cr_expect_eq(files[0].err, 0);
	cr_expect_gt(files[0].len, 3);
	cr_expect_eq(files[0].bytes[files[0].len], '\0');
	cr_expect_eq(files[1].err, -ESRCH, "another process");
	cr_expect_null(files[1].bytes);
	cr_expect_eq(files[2].err, 0);
	cr_expect_eq(files[2].len, 3, "cut");
	drop(files, 3);
	files[2].whole = true;
	read_what_answers(files + 2, 1);
	cr_expect_eq(files[2].err, -EFBIG);
	cr_expect_null(files[2].bytes);
}

/* Reads one that does not answer between two that do, twice. @return the two were read both times. */
static bool read_around(pid_t silent)
{
	struct mm_file files[3] = { file_of(self.pid), file_of(silent), file_of(self.pid) };
	uint64_t began = live_now_ms();
	bool read;

	mm_files_read(files, 3);
	cr_expect_geq(live_now_ms() - began, MM_FILE_PATIENCE_MS);
	cr_expect_eq(files[1].err, -ETIMEDOUT);
	cr_expect_null(files[1].bytes);
	read = !files[0].err && !files[2].err && files[2].len > 0;
	drop(files, 3);
	mm_files_read(files, 3);
	cr_expect_eq(files[1].err, -EALREADY, "nobody waits for it again");
	read = read && !files[0].err && !files[2].err;
	drop(files, 3);
	return read;
}

Test(mm_file, one_that_does_not_answer_holds_up_no_other)
{
	cr_expect(read_around(SILENT));
	let_go();
}

Test(mm_file, what_answers_late_may_be_asked_again)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct mm_file file = file_of(SILENT);

	mm_files_read(&file, 1);
	cr_expect_eq(file.err, -ETIMEDOUT);
	let_go();
	do {
		live_sleep_ms(5);
		mm_files_read(&file, 1);
		cr_assert_lt(live_now_ms(), until);
	} while (file.err == -EALREADY);
	cr_expect_eq(file.err, -ETIMEDOUT, "it was asked: nobody writes again");
	let_go();
}

Test(mm_file, so_many_do_not_answer_and_no_more)
{
	struct mm_file files[MM_FILE_STUCK_MAX + 2];

	for (int i = 0; i <= MM_FILE_STUCK_MAX; i++)
		files[i] = file_of(SILENT + i);
	files[MM_FILE_STUCK_MAX + 1] = file_of(self.pid);
	mm_files_read(files, MM_FILE_STUCK_MAX + 2);
	for (int i = 0; i < MM_FILE_STUCK_MAX; i++)
		cr_expect_eq(files[i].err, -ETIMEDOUT, "%d: %d", i, files[i].err);
	cr_expect_eq(files[MM_FILE_STUCK_MAX].err, -EBUSY);
	cr_expect_eq(files[MM_FILE_STUCK_MAX + 1].err, -EBUSY);
	let_go();
}

Test(mm_file, without_a_thread_it_is_read_as_well)
{
	struct mm_file file = file_of(self.pid);

	no_threads = true;
	mm_files_read(&file, 1);
	cr_expect_eq(file.err, 0);
	cr_expect_gt(file.len, 0);
	drop(&file, 1);
}

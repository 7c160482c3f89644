/* SPDX-License-Identifier: Apache-2.0 */
/* Files that do not answer: here a FIFO that nobody writes stands for one, and a wait before it is opened
 * for one that answers late. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "live.h"
#include "observe/mm_file.h"
#include "observe/proc_parse.h"
#include "observe/processes.h"

enum {
	SILENT = 10000000, /* greater than any pid */
	SLOW = 20000000,
	SLOW_MS = 500,
	SLOW_COUNT = 30,
	ONE = 1000, /* owners */
	OTHER = 1001,
};

static char folder[] = "/tmp/test_mm_file.XXXXXX";
static struct ident self;
static bool no_threads;
static atomic_int slow_asked, slow_before; /* that one of this very process was asked */

int __real_pin_open(pid_t pid);
int __wrap_pin_open(pid_t pid);
int __wrap_pin_open(pid_t pid)
{
	if (pid < SILENT) {
		slow_before = slow_asked;
		return __real_pin_open(pid);
	}
	if (pid >= SLOW) {
		slow_asked++;
		live_sleep_ms(SLOW_MS);
	}
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

TestSuite(mm_file, .init = begin, .fini = end, .timeout = 60);

static struct mm_file file_of(pid_t pid)
{
	return (struct mm_file){
		.id = { pid, self.start },
		.name = "cmdline",
		.max = 4096,
		.whole = pid >= SILENT && pid < SLOW, /* that opens a FIFO and waits */
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
	int late = 0;

	for (int i = 0; i <= MM_FILE_STUCK_MAX; i++)
		files[i] = file_of(SILENT + i);
	files[MM_FILE_STUCK_MAX + 1] = file_of(self.pid);
	/* One call has no time for all of them. */
	for (int calls = 0; late < MM_FILE_STUCK_MAX && calls < MM_FILE_STUCK_MAX; calls++) {
		mm_files_read(files, MM_FILE_STUCK_MAX + 2);
		for (int i = 0; i < MM_FILE_STUCK_MAX; i++)
			late += files[i].err == -ETIMEDOUT;
		cr_expect_eq(files[MM_FILE_STUCK_MAX].err, -EBUSY);
		cr_expect_eq(files[MM_FILE_STUCK_MAX + 1].err, -EBUSY);
	}
	cr_expect_eq(late, MM_FILE_STUCK_MAX);
	mm_files_read(files, MM_FILE_STUCK_MAX + 2);
	for (int i = 0; i < MM_FILE_STUCK_MAX; i++)
		cr_expect_eq(files[i].err, -EALREADY, "%d: %d", i, files[i].err);
	cr_expect_eq(files[MM_FILE_STUCK_MAX].err, -EBUSY);
	cr_expect_eq(files[MM_FILE_STUCK_MAX + 1].err, -EBUSY);
	let_go();
}

/* One owner's files that answer late, and another's that does not, behind them. */
static void read_behind_slow_ones(void)
{
	struct mm_file files[SLOW_COUNT + 1];
	uint64_t began = live_now_ms();

	for (int i = 0; i < SLOW_COUNT; i++) {
		files[i] = file_of(SLOW + i);
		files[i].owner = ONE;
	}
	files[SLOW_COUNT] = file_of(self.pid);
	files[SLOW_COUNT].owner = OTHER;
	mm_files_read(files, SLOW_COUNT + 1);
	cr_expect_lt(live_now_ms() - began, SLOW_COUNT * SLOW_MS * 4 / 5);
	cr_expect_leq(slow_asked, MM_FILE_BUDGET_MS / SLOW_MS + 1, "%d", slow_asked);
	cr_expect_geq(slow_asked, 2, "it has its turn again");
	cr_expect_eq(slow_before, 1);
	cr_expect_eq(files[SLOW_COUNT].err, 0);
	cr_expect_gt(files[SLOW_COUNT].len, 0);
	cr_expect_eq(files[SLOW_COUNT - 1].err, -EBUSY, "it was not asked");
	cr_expect_null(files[SLOW_COUNT - 1].bytes);
	drop(files, SLOW_COUNT + 1);
}

Test(mm_file, those_who_answer_late_have_an_end_and_hold_up_no_other_owner)
{
	read_behind_slow_ones();
}

Test(mm_file, nor_do_they_without_a_thread)
{
	no_threads = true;
	read_behind_slow_ones();
}

Test(mm_file, the_argv_of_each_user_is_read_in_turn)
{
	struct proc procs[] = {
		{ .id = { SLOW, self.start }, .uid = ONE },
		{ .id = { SLOW + 1, self.start }, .uid = ONE },
		{ .id = self, .uid = OTHER },
	};
	struct proc *const asked[] = { &procs[0], &procs[1], &procs[2] };
	int errs[ARRAY_SIZE(procs)];

	cr_assert_eq(processes_read_argvs(asked, ARRAY_SIZE(procs), errs), 0);
	cr_expect_eq(slow_asked, 2);
	cr_expect_eq(slow_before, 1);
	cr_expect_eq(errs[2], 0);
	cr_expect_gt(procs[2].argv_len, 0);
	for (size_t i = 0; i < ARRAY_SIZE(procs); i++)
		free(procs[i].argv);
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

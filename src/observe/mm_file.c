/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/mm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/pin.h"
#include "observe/proc_parse.h"

enum {
	STAT_MAX = 2048, /* 52 numbers and a name of 64 bytes */
};

/* What a thread reads. It belongs to who waits for it, and to the thread once nobody does. */
struct run {
	pthread_mutex_t lock;
	pthread_cond_t end;
	size_t done; /* files */
	bool over;
	bool left; /* nobody waits any more */
	size_t count;
	struct mm_file files[];
};

/* A thread that was left behind is the program's, and so is the list of those: whose file each reads. */
static struct {
	pthread_mutex_t lock;
	size_t count;
	struct ident id[MM_FILE_STUCK_MAX];
} stuck = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* There is room: nothing is tried while there is none. */
static void add_stuck(struct ident id)
{
	(void)pthread_mutex_lock(&stuck.lock);
	stuck.id[stuck.count++] = id;
	(void)pthread_mutex_unlock(&stuck.lock);
}

static void drop_stuck(struct ident id)
{
	(void)pthread_mutex_lock(&stuck.lock);
	for (size_t i = 0; i < stuck.count; i++)
		if (ident_equal(stuck.id[i], id)) {
			stuck.id[i] = stuck.id[--stuck.count];
			break;
		}
	(void)pthread_mutex_unlock(&stuck.lock);
}

/* Whether it may be tried. @return 0; -EALREADY, -EBUSY. */
static int ask_stuck(struct ident id)
{
	int err = 0;

	(void)pthread_mutex_lock(&stuck.lock);
	if (stuck.count == MM_FILE_STUCK_MAX)
		err = -EBUSY;
	for (size_t i = 0; i < stuck.count; i++)
		if (ident_equal(stuck.id[i], id))
			err = -EALREADY;
	(void)pthread_mutex_unlock(&stuck.lock);
	return err;
}

/* The directory was opened before the file was read: if it still answers, both are of one process. */
static int check_start(int dirfd, struct ident id)
{
	char bytes[STAT_MAX];
	struct proc_stat stat;
	ssize_t len = fs_read_at(dirfd, "stat", bytes, sizeof(bytes));
	int r;

	if (len < 0)
		return (int)len;
	r = proc_parse_stat(bytes, (size_t)len, &stat);
	if (r < 0)
		return r;
	return stat.start == id.start ? 0 : -ESRCH;
}

/* gcc's analyzer loses sight of what is kept in an array: the caller frees it, or free_run(), and
 * LeakSanitizer watches them. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static int read_cut(int dirfd, struct mm_file *f)
{
	_cleanup_free_ char *bytes = malloc(f->max + 1);
	ssize_t len;
	char *less;

	if (!bytes)
		return -ENOMEM;
	len = fs_read_at(dirfd, f->name, bytes, f->max + 1);
	if (len < 0)
		return (int)len;
	f->len = (size_t)len;
	less = realloc(bytes, f->len + 1);
	f->bytes = less ? less : bytes;
	bytes = NULL;
	return 0;
}

static int read_whole(int dirfd, struct mm_file *f)
{
	_cleanup_close_ int fd = openat(dirfd, f->name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fs_read_all(fd, f->max, &f->bytes, &f->len);
}

static void read_one(struct mm_file *f)
{
	_cleanup_close_ int dirfd = pin_open(f->id.pid);

	if (dirfd < 0) {
		f->err = dirfd;
		return;
	}
	f->err = f->whole ? read_whole(dirfd, f) : read_cut(dirfd, f);
	if (f->err == 0)
		f->err = check_start(dirfd, f->id);
	if (f->err == 0)
		return;
	free(f->bytes);
	f->bytes = NULL;
	f->len = 0;
}

static void free_run(struct run *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->files[i].bytes);
	(void)pthread_cond_destroy(&r->end);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

static bool note_done(struct run *r, size_t done)
{
	bool left;

	(void)pthread_mutex_lock(&r->lock);
	r->done = done;
	r->over = done == r->count;
	left = r->left;
	if (r->over)
		(void)pthread_cond_signal(&r->end);
	(void)pthread_mutex_unlock(&r->lock);
	return left;
}

static void *read_all(void *arg)
{
	struct run *r = arg;

	for (size_t i = 0; i < r->count; i++) {
		read_one(&r->files[i]);
		if (note_done(r, i + 1)) {
			drop_stuck(r->files[i].id);
			free_run(r);
			break;
		}
	}
	return NULL;
}

static struct timespec some_time_on(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += MM_FILE_PATIENCE_MS / 1000;
	return t;
}

/* What has been read goes to who asked for it, while the thread can touch none of it. */
static void take_done(struct run *r, struct mm_file *files)
{
	for (size_t i = 0; i < r->done; i++)
		files[i] = r->files[i];
	for (size_t i = 0; i < r->done; i++)
		r->files[i].bytes = NULL;
}

/* Until all is read, or until one file has had its time. @return how many are read. */
static size_t wait_for(struct run *r, struct mm_file *files)
{
	size_t done;

	(void)pthread_mutex_lock(&r->lock);
	while (!r->over && !r->left) {
		struct timespec until = some_time_on();
		int late;

		done = r->done;
		late = pthread_cond_clockwait(&r->end, &r->lock, CLOCK_MONOTONIC, &until);
		r->left = late && !r->over && r->done == done;
	}
	done = r->done;
	take_done(r, files);
	if (r->left)
		add_stuck(r->files[done].id);
	(void)pthread_mutex_unlock(&r->lock);
	return done;
}

static struct run *new_run(const struct mm_file *files, size_t count)
{
	struct run *r = calloc(1, sizeof(*r) + count * sizeof(*files));

	if (!r)
		return NULL;
	r->count = count;
	memcpy(r->files, files, count * sizeof(*files));
	(void)pthread_mutex_init(&r->lock, NULL);
	(void)pthread_cond_init(&r->end, NULL);
	return r;
}

/* Signals are for the thread that waits for them. @return 0; an errno. */
static int begin(struct run *r, pthread_t *ret_thread)
{
	pthread_attr_t attr;
	sigset_t all;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	(void)sigfillset(&all);
	err = pthread_attr_setsigmask_np(&attr, &all);
	if (!err)
		err = pthread_create(ret_thread, &attr, read_all, r);
	(void)pthread_attr_destroy(&attr);
	return err;
}

/* @return how many have been dealt with, at least one. */
static size_t try_some(struct mm_file *files, size_t count)
{
	struct run *r = new_run(files, count);
	pthread_t thread;
	size_t done;

	if (!r) {
		files[0].err = -ENOMEM;
		return 1;
	}
	if (begin(r, &thread)) {
		free_run(r);
		for (size_t i = 0; i < count; i++)
			read_one(&files[i]);
		return count;
	}
	done = wait_for(r, files);
	if (done == count) {
		(void)pthread_join(thread, NULL);
		free_run(r);
		return done;
	}
	(void)pthread_detach(thread);
	files[done].err = -ETIMEDOUT;
	return done + 1;
}

void mm_files_read(struct mm_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		files[i].err = 0;
		files[i].bytes = NULL;
		files[i].len = 0;
	}
	for (size_t at = 0; at < count;) {
		size_t some = 0;

		while (at + some < count &&
		       (files[at + some].err = ask_stuck(files[at + some].id)) == 0)
			some++;
		at += some ? try_some(files + at, some) : 1;
	}
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

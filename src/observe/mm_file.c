/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/mm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
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
	bool left;        /* nobody waits any more */
	uint64_t turn_ms; /* when its turn ends, by now_ms(): no more are begun */
	size_t count;
	struct mm_file files[];
};

/* A thread that was left behind is the program's, and so is the list of those: whose file each reads. */
static struct {
	pthread_mutex_t lock;
	size_t count;
	struct ident id[MM_FILE_STUCK_MAX];
} stuck = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

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

/* Once it is over, the run is its waiter's; one that was left is freed here. @return more is to be read. */
static bool note_done(struct run *r, size_t done)
{
	bool over, left;

	(void)pthread_mutex_lock(&r->lock);
	r->done = done;
	over = done == r->count || now_ms() >= r->turn_ms;
	left = r->left;
	r->over = over;
	if (over)
		(void)pthread_cond_signal(&r->end);
	(void)pthread_mutex_unlock(&r->lock);
	if (left) {
		drop_stuck(r->files[done - 1].id);
		free_run(r);
	}
	return !over && !left;
}

static void *read_some(void *arg)
{
	struct run *r = arg;
	size_t i = 0;

	do
		read_one(&r->files[i++]);
	while (note_done(r, i));
	return NULL;
}

/* What has been read goes to who asked for it, while the thread can touch none of it. */
static void take_done(struct run *r, struct mm_file *const *files)
{
	for (size_t i = 0; i < r->done; i++)
		*files[i] = r->files[i];
	for (size_t i = 0; i < r->done; i++)
		r->files[i].bytes = NULL;
}

/* Whatever is read when the patience ends was begun in the turn. */
static struct timespec end_of_patience(const struct run *r)
{
	uint64_t ms = r->turn_ms + MM_FILE_PATIENCE_MS;

	return (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
}

/* Until all is read or the turn is over, or until one file has had its time.
 * @return the run is the caller's again; else it was left to its thread. */
static bool wait_for(struct run *r, struct mm_file *const *files, size_t *ret_done)
{
	struct timespec until = end_of_patience(r);
	bool over;

	(void)pthread_mutex_lock(&r->lock);
	while (!r->over && !r->left) {
		int late = pthread_cond_clockwait(&r->end, &r->lock, CLOCK_MONOTONIC, &until);

		r->left = late && !r->over;
	}
	over = !r->left;
	*ret_done = r->done;
	take_done(r, files);
	if (r->left)
		add_stuck(r->files[r->done].id);
	(void)pthread_mutex_unlock(&r->lock);
	return over;
}

static struct run *new_run(struct mm_file *const *files, size_t count)
{
	struct run *r = calloc(1, sizeof(*r) + count * sizeof(r->files[0]));

	if (!r)
		return NULL;
	r->turn_ms = now_ms() + MM_FILE_TURN_MS;
	r->count = count;
	for (size_t i = 0; i < count; i++)
		r->files[i] = *files[i];
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
		err = pthread_create(ret_thread, &attr, read_some, r);
	(void)pthread_attr_destroy(&attr);
	return err;
}

/* @return how many have been read, at least one. */
static size_t read_without_thread(struct mm_file *const *files, size_t count)
{
	uint64_t turn_ms = now_ms() + MM_FILE_TURN_MS;
	size_t done = 0;

	do
		read_one(files[done++]);
	while (done < count && now_ms() < turn_ms);
	return done;
}

/* @return how many have been dealt with, at least one. */
static size_t try_some(struct mm_file *const *files, size_t count)
{
	struct run *r = new_run(files, count);
	pthread_t thread;
	size_t done;

	if (!r) {
		files[0]->err = -ENOMEM;
		return 1;
	}
	if (begin(r, &thread)) {
		free_run(r);
		return read_without_thread(files, count);
	}
	if (wait_for(r, files, &done)) {
		(void)pthread_join(thread, NULL);
		free_run(r);
		return done;
	}
	(void)pthread_detach(thread);
	files[done]->err = -ETIMEDOUT;
	return done + 1;
}

/* One owner's turn. @return how many have been dealt with, at least one. */
static size_t take_turn(struct mm_file *const *files, size_t count)
{
	size_t at = 0, some = 0;

	while (at < count && (files[at]->err = ask_stuck(files[at]->id)) < 0)
		at++;
	while (at + some < count && ask_stuck(files[at + some]->id) == 0)
		some++;
	return some ? at + try_some(files + at, some) : at;
}

static size_t count_owners(struct mm_file *const *files, size_t count)
{
	size_t some = 1;

	while (some < count && files[some]->owner == files[0]->owner)
		some++;
	return some;
}

/* A turn for each owner, while there is time. @return how many files are left, which come to the front. */
static size_t take_turns(struct mm_file **files, size_t count, uint64_t end_ms)
{
	size_t left = 0;

	for (size_t at = 0; at < count;) {
		size_t some = count_owners(files + at, count - at);
		size_t done = now_ms() < end_ms ? take_turn(files + at, some) : 0;

		memmove(files + left, files + at + done, (some - done) * sizeof(*files));
		left += some - done;
		at += some;
	}
	return left;
}

/* They are of one array, where those of one owner stay in their order. */
static int compare_owners(const void *a, const void *b)
{
	const struct mm_file *p = *(struct mm_file *const *)a, *q = *(struct mm_file *const *)b;

	if (p->owner != q->owner)
		return p->owner < q->owner ? -1 : 1;
	return p < q ? -1 : p > q;
}

void mm_files_read(struct mm_file *files, size_t count)
{
	_cleanup_free_ struct mm_file **queue = calloc(count + 1, sizeof(struct mm_file *));
	uint64_t end_ms = now_ms() + MM_FILE_BUDGET_MS;

	for (size_t i = 0; i < count; i++) {
		files[i].err = queue ? -EBUSY : -ENOMEM;
		files[i].bytes = NULL;
		files[i].len = 0;
	}
	if (!queue)
		return;
	for (size_t i = 0; i < count; i++)
		queue[i] = &files[i];
	qsort(queue, count, sizeof(*queue), compare_owners);
	while (count && now_ms() < end_ms)
		count = take_turns(queue, count, end_ms);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

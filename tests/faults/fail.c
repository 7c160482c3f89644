/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: an allocation fails, or a read or a write transfers less than it was asked for, or an
 * open or a read of a thread that is not the first one fails with ERRNO (strace(1) counts the calls of
 * each thread from 1, so that it cannot tell those from the first ones of the program), or a signal to
 * another process does (strace(1), which has to swallow them all, cannot do more than one thing to a call).
 *
 * FAIL_AT, SHORT_AT, THREAD_AT, SIGNAL_AT: which of them, counted from 1; 0: none. EVER_AFTER: and all that
 * follow. At the end it writes to stderr how many of each there were, and how much memory (of all, and of
 * what reaper itself asked for) and how many descriptors are left.
 *
 * HASTE: waits are shorter by this factor, for a sweep mostly waits. HUP_AT, TERM_AT: at which of the looks of
 * a watch it gets these signals; KILL_AFTER: seconds, and then SIGKILL; SIGTERM long before
 * that in any case.
 *
 * What two libraries allocate is left alone, since they end the program themselves, before it has looked at
 * anybody: libseccomp 2.5.4 frees twice what it could not make larger (gen_bpf.c), libnuma (of libproc2) exits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct counter {
	unsigned long count, from, to;
};

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
ssize_t __read_chk(int fd, void *bytes, size_t len, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);

static struct counter allocations, transfers, calls, signals;
static int begun, chosen_errno, threads_counted, haste = 1;
static long left; /* blocks of memory */

/* A signal that a watch gets. */
static struct at_look {
	const char *name;
	int signal;
	unsigned long look; /* 0: never */
	timer_t timer;
} at_look[] = {
	{ .name = "HUP_AT", .signal = SIGHUP },
	{ .name = "TERM_AT", .signal = SIGTERM },
};
static unsigned long looks;

enum {
	DESCRIPTORS = 1024,
	LATEST = 20, /* part of KILL_AFTER */
	SECOND_NS = 1000000000,
};

/* Blocks that the program itself asked for: what libraries keep depends on how far it came. */
static struct {
	uintptr_t from, to;    /* its code */
	void *blocks[1 << 16]; /* by address */
	long count;
	int lock;
} own;

static const char *const spared[] = { "/libseccomp.so", "/libnuma.so" };
static struct {
	uintptr_t from, to;
} range[2];

static int find_spared(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int n = 0; n < 2; n++) {
		if (!strstr(object->dlpi_name, spared[n]))
			continue;
		range[n].from = object->dlpi_addr;
		for (int i = 0; i < object->dlpi_phnum; i++)
			if (object->dlpi_phdr[i].p_type == PT_LOAD)
				range[n].to = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr +
					      object->dlpi_phdr[i].p_memsz;
	}
	return 0;
}

static int is_spared(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	(void)dl_iterate_phdr(find_spared, NULL); /* libproc2 loads libnuma when it likes */
	return (at >= range[0].from && at < range[0].to) ||
	       (at >= range[1].from && at < range[1].to);
}

static int find_own(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	own.from = object->dlpi_addr;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD)
			own.to = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr +
				 object->dlpi_phdr[i].p_memsz;
	return 1; /* the program is the first */
}

/* The place of a block, or the one where it would be put. */
static size_t own_place(const void *p)
{
	const size_t last = sizeof(own.blocks) / sizeof(own.blocks[0]) - 1;
	size_t at = ((uintptr_t)p >> 4) & last;

	while (own.blocks[at] && own.blocks[at] != p)
		at = (at + 1) & last;
	return at;
}

static void own_take_out(size_t at)
{
	const size_t last = sizeof(own.blocks) / sizeof(own.blocks[0]) - 1;

	own.blocks[at] = NULL;
	/* Those behind it may have been pushed there by it. */
	for (at = (at + 1) & last; own.blocks[at]; at = (at + 1) & last) {
		void *p = own.blocks[at];

		own.blocks[at] = NULL;
		own.blocks[own_place(p)] = p;
	}
}

/* @param by	who asked for it; NULL: it is given back. */
static void count_own(void *p, const void *by)
{
	size_t at;

	if (!p || (by && ((uintptr_t)by < own.from || (uintptr_t)by >= own.to)))
		return;
	while (__atomic_test_and_set(&own.lock, __ATOMIC_ACQUIRE))
		;
	at = own_place(p);
	if (by && !own.blocks[at]) {
		own.blocks[at] = p;
		own.count++;
	} else if (!by && own.blocks[at]) {
		own_take_out(at);
		own.count--;
	}
	__atomic_clear(&own.lock, __ATOMIC_RELEASE);
}

static void set(struct counter *c, const char *name)
{
	const char *at = getenv(name);

	c->from = at ? strtoul(at, NULL, 10) : 0;
	c->to = getenv("EVER_AFTER") ? -1UL : c->from;
	c->count = 0;
}

/* No process may send a signal to another under reaper's filter, itself included: timers may. */
static timer_t make_timer(int number, time_t after_s)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = number };
	struct itimerspec spec = { .it_value.tv_sec = after_s };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &spec, NULL) < 0)
		abort();
	return timer;
}

static void set_at_look(struct at_look *a)
{
	const char *look = getenv(a->name), *limit = getenv("KILL_AFTER");

	if (!look || !limit)
		return;
	a->look = strtoul(look, NULL, 10);
	a->timer = make_timer(a->signal, a->signal == SIGTERM ? atoi(limit) / LATEST : 0);
}

static void count_look(void)
{
	static const struct itimerspec now = { .it_value.tv_nsec = 1 };

	looks++;
	for (int n = 0; n < 2; n++)
		if (at_look[n].look == looks)
			(void)timer_settime(at_look[n].timer, 0, &now, NULL);
}

__attribute__((constructor)) static void begin(void)
{
	(void)dl_iterate_phdr(find_own, NULL);
	set(&allocations, "FAIL_AT");
	set(&transfers, "SHORT_AT");
	set(&calls, "THREAD_AT");
	set(&signals, "SIGNAL_AT");
	threads_counted = getenv("THREAD_AT") != NULL;
	chosen_errno = getenv("ERRNO") ? atoi(getenv("ERRNO")) : EIO;
	haste = getenv("HASTE") ? atoi(getenv("HASTE")) : 1;
	for (int n = 0; n < 2; n++)
		set_at_look(&at_look[n]);
	if (getenv("KILL_AFTER"))
		(void)make_timer(SIGKILL, atoi(getenv("KILL_AFTER")));
	begun = 1;
}

/* By one call that reaper does not make, so that none of those that fail is needed. */
static int count_descriptors(void)
{
	static struct pollfd fds[DESCRIPTORS];
	static const struct timespec now;
	int open = 0;

	for (int fd = 0; fd < DESCRIPTORS; fd++)
		fds[fd].fd = fd;
	if (syscall(SYS_ppoll, fds, DESCRIPTORS, &now, NULL, 0) < 0)
		return -1;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		open += !(fds[fd].revents & POLLNVAL);
	return open;
}

__attribute__((destructor)) static void end(void)
{
	long blocks = left;
	char text[256];
	struct iovec line = { .iov_base = text };

	begun = 0;
	line.iov_len = (size_t)snprintf(text, sizeof(text),
					"allocations: %lu, transfers: %lu, calls of threads: %lu, "
					"signals: %lu, left: %ld blocks, %ld of reaper, "
					"%d descriptors\n",
					allocations.count, transfers.count, calls.count,
					signals.count, blocks, own.count, count_descriptors());
	(void)!syscall(SYS_pwritev2, STDERR_FILENO, &line, 1, -1L, -1L, 0);
}

static int hit(struct counter *c)
{
	unsigned long now = begun ? __atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED) : 0;

	return now && c->from && now >= c->from && now <= c->to;
}

static int fails(const void *caller)
{
	if (!begun || is_spared(caller) || !hit(&allocations))
		return 0;
	errno = ENOMEM;
	return 1;
}

static void *count_block(void *p, long more)
{
	if (p && begun)
		__atomic_add_fetch(&left, more, __ATOMIC_RELAXED);
	return p;
}

static void *given(void *p, const void *caller)
{
	count_own(count_block(p, 1), caller);
	return p;
}

void *malloc(size_t n)
{
	const void *caller = __builtin_return_address(0);

	return fails(caller) ? NULL : given(__libc_malloc(n), caller);
}

void *calloc(size_t n, size_t m)
{
	const void *caller = __builtin_return_address(0);

	return fails(caller) ? NULL : given(__libc_calloc(n, m), caller);
}

void *realloc(void *p, size_t n)
{
	const void *caller = __builtin_return_address(0);
	void *more;

	if (fails(caller))
		return NULL;
	/* Before it is given back: another thread may be given it at once. */
	count_own(p, NULL);
	more = count_block(__libc_realloc(p, n), p ? 0 : 1);
	count_own(more ? more : p, caller);
	return more;
}

void free(void *p)
{
	(void)count_block(p, -1);
	count_own(p, NULL);
	__libc_free(p);
}

/* Once: a single byte; for ever: half of it, or a log would take a thousand calls a line. */
static size_t less(size_t n)
{
	if (n < 2 || !hit(&transfers))
		return n;
	return transfers.to == transfers.from ? 1 : n / 2;
}

/* A timer and a signal, as a watch asks for them: the kernel gives all of it or EINVAL. */
static int comes_whole(size_t n)
{
	return n == sizeof(uint64_t) || n == sizeof(struct signalfd_siginfo);
}

#define REAL(name, type)   \
	static type *real; \
	if (!real)         \
	real = (type *)dlsym(RTLD_NEXT, name)

typedef int openat_fn(int, const char *, int, ...);
typedef ssize_t read_fn(int, void *, size_t);
typedef ssize_t write_fn(int, const void *, size_t);
typedef ssize_t pread_fn(int, void *, size_t, off_t);
typedef ssize_t writev_fn(int, const struct iovec *, int);
typedef ssize_t recvmsg_fn(int, struct msghdr *, int);
typedef long syscall_fn(long, ...);
typedef int poll_fn(struct pollfd *, nfds_t, int);
typedef int nanosleep_fn(const struct timespec *, struct timespec *);
typedef int timerfd_settime_fn(int, int, const struct itimerspec *, struct itimerspec *);

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	REAL("poll", poll_fn);
	return real(fds, count, timeout_ms > haste ? timeout_ms / haste : timeout_ms);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout_ms, size_t room)
{
	(void)room;
	return poll(fds, count, timeout_ms);
}

static struct timespec shorter(struct timespec t)
{
	long long ns = ((long long)t.tv_sec * SECOND_NS + t.tv_nsec) / haste;

	ns += !ns && (t.tv_sec || t.tv_nsec);
	return (struct timespec){ .tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS };
}

int nanosleep(const struct timespec *wait, struct timespec *rest)
{
	const struct timespec less_of_it = shorter(*wait);

	REAL("nanosleep", nanosleep_fn);
	return real(&less_of_it, rest);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *spec, struct itimerspec *old)
{
	const struct itimerspec sooner = { .it_interval = shorter(spec->it_interval),
					   .it_value = shorter(spec->it_value) };

	REAL("timerfd_settime", timerfd_settime_fn);
	return real(fd, flags, &sooner, old);
}

static int thread_fails(void)
{
	if (!threads_counted || gettid() == getpid() || !hit(&calls))
		return 0;
	errno = chosen_errno;
	return 1;
}

int openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list more;

	REAL("openat", openat_fn);
	va_start(more, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(more, mode_t);
	va_end(more);
	return thread_fails() ? -1 : real(dirfd, path, flags, mode);
}

int __openat_2(int dirfd, const char *path, int flags)
{
	return openat(dirfd, path, flags);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list more;

	va_start(more, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(more, mode_t);
	va_end(more);
	return openat(AT_FDCWD, path, flags, mode);
}

int __open_2(const char *path, int flags)
{
	return open(path, flags);
}

ssize_t read(int fd, void *bytes, size_t n)
{
	ssize_t done;

	REAL("read", read_fn);
	if (thread_fails())
		return -1;
	done = real(fd, bytes, comes_whole(n) ? n : less(n));
	if (n == sizeof(uint64_t) && done == (ssize_t)n)
		count_look(); /* nothing but a timer is read so */
	return done;
}

ssize_t __read_chk(int fd, void *bytes, size_t n, size_t room)
{
	(void)room;
	return read(fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
	REAL("pread", pread_fn);
	return real(fd, bytes, less(n), at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off_t at)
{
	return pread(fd, bytes, n, at);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
	REAL("write", write_fn);
	return real(fd, bytes, less(n));
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	REAL("writev", writev_fn);
	if (count > 0 && less(2) < 2)
		return write(fd, parts[0].iov_base, parts[0].iov_len);
	return real(fd, parts, count);
}

/* The kernel gives a datagram that does not fit in part, and says so. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	REAL("recvmsg", recvmsg_fn);
	if (message->msg_iovlen == 1)
		message->msg_iov[0].iov_len = less(message->msg_iov[0].iov_len);
	return real(fd, message, flags);
}

/* One that fails is sent all the same, so that strace(1) shows for whom it was meant. */
long syscall(long number, ...)
{
	long at[6], done;
	va_list more;

	REAL("syscall", syscall_fn);
	va_start(more, number);
	for (int n = 0; n < 6; n++)
		at[n] = va_arg(more, long);
	va_end(more);
	done = real(number, at[0], at[1], at[2], at[3], at[4], at[5]);
	if (number != SYS_pidfd_send_signal || !hit(&signals))
		return done;
	errno = chosen_errno;
	return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: an allocation fails, or a read or a write transfers less than it was asked for, or an
 * open or a read of a thread that is not the first one fails with ERRNO (strace(1) counts the calls of
 * each thread from 1, so that it cannot tell those from the first ones of the program).
 *
 * FAIL_AT, SHORT_AT, THREAD_AT: which of them, counted from 1; 0: none. EVER_AFTER: and all that follow. At
 * the end it writes to stderr how many of each there were, and how much memory and how many descriptors
 * are left.
 *
 * What two libraries allocate is left alone, since they end the program themselves, before it has looked at
 * anybody: libseccomp 2.5.4 frees twice what it could not make larger (gen_bpf.c), libnuma (of libproc2) exits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct counter {
	unsigned long count, from, to;
};

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
ssize_t __read_chk(int fd, void *bytes, size_t len, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);

static struct counter allocations, transfers, calls;
static int begun, thread_errno;
static long left; /* blocks of memory */

enum {
	DESCRIPTORS = 1024,
};

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

static void set(struct counter *c, const char *name)
{
	const char *at = getenv(name);

	c->from = at ? strtoul(at, NULL, 10) : 0;
	c->to = getenv("EVER_AFTER") ? -1UL : c->from;
	c->count = 0;
}

__attribute__((constructor)) static void begin(void)
{
	set(&allocations, "FAIL_AT");
	set(&transfers, "SHORT_AT");
	set(&calls, "THREAD_AT");
	thread_errno = getenv("ERRNO") ? atoi(getenv("ERRNO")) : EIO;
	begun = 1;
}

__attribute__((destructor)) static void end(void)
{
	long blocks = left;
	int open = 0;

	begun = 0;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		open += fcntl(fd, F_GETFD) >= 0;
	dprintf(STDERR_FILENO,
		"allocations: %lu, transfers: %lu, calls of threads: %lu, "
		"left: %ld blocks, %d descriptors\n",
		allocations.count, transfers.count, calls.count, blocks, open);
}

static int hit(struct counter *c)
{
	unsigned long now = begun ? __atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED) : 0;

	return now && c->from && now >= c->from && now <= c->to;
}

static int fails(const void *caller)
{
	if (!hit(&allocations) || is_spared(caller))
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

void *malloc(size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL : count_block(__libc_malloc(n), 1);
}

void *calloc(size_t n, size_t m)
{
	return fails(__builtin_return_address(0)) ? NULL : count_block(__libc_calloc(n, m), 1);
}

void *realloc(void *p, size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL
						  : count_block(__libc_realloc(p, n), p ? 0 : 1);
}

void free(void *p)
{
	(void)count_block(p, -1);
	__libc_free(p);
}

/* Once: a single byte; for ever: half of it, or a log would take a thousand calls a line. */
static size_t less(size_t n)
{
	if (n < 2 || !hit(&transfers))
		return n;
	return transfers.to == transfers.from ? 1 : n / 2;
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

static int thread_fails(void)
{
	if (gettid() == getpid() || !hit(&calls))
		return 0;
	errno = thread_errno;
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
	REAL("read", read_fn);
	if (thread_fails())
		return -1;
	return real(fd, bytes, less(n));
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

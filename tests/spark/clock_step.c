/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: the wall clock of whoever is started with it is so many nanoseconds ahead as the file
 * CLOCK_STEP says (eight bytes, signed), from the moment at which it says so. All who share the file see
 * one clock that is stepped, and nobody else on the machine does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_US = 1000,
	NS_PER_S = 1000000000,
};

static const volatile int64_t *step;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOCK_STEP");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	const void *map = MAP_FAILED;

	if (fd >= 0)
		map = mmap(NULL, sizeof(*step), PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		abort(); /* a clock that stands still would be a test of nothing */
	step = map;
	(void)close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t ns;
	int r;

	if (!real_clock_gettime)
		*(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	r = real_clock_gettime(clock, now);
	if (r < 0 || !step || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return r;
	ns = (int64_t)now->tv_sec * NS_PER_S + now->tv_nsec + *step;
	now->tv_sec = ns / NS_PER_S;
	now->tv_nsec = ns % NS_PER_S;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &precise) < 0)
		return -1;
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / NS_PER_US;
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libproc2 calls to read /proc. It is a shared library, so --wrap does not reach it; but what
 * the program itself has of libc's names, it finds before libc's.
 */
#undef _FORTIFY_SOURCE /* its headers would define some of them */

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "give_away.h"

/* A function as libc has it, found once. */
#define REAL(name)                                                        \
	({                                                                \
		static typeof(&(name)) found;                             \
                                                                          \
		if (!found)                                               \
			found = (typeof(&(name)))dlsym(RTLD_NEXT, #name); \
		found;                                                    \
	})

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list more;

	va_start(more, flags);
	mode = va_arg(more, mode_t);
	va_end(more);
	give_inside();
	return REAL(open)(path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t len)
{
	give_inside();
	return REAL(read)(fd, bytes, len);
}

DIR *opendir(const char *path)
{
	give_inside();
	return REAL(opendir)(path);
}

struct dirent *readdir(DIR *dir)
{
	give_inside();
	return REAL(readdir)(dir);
}

ssize_t readlink(const char *path, char *bytes, size_t len)
{
	give_inside();
	return REAL(readlink)(path, bytes, len);
}

int stat(const char *path, struct stat *ret)
{
	give_inside();
	return REAL(stat)(path, ret);
}

FILE *fopen(const char *path, const char *mode)
{
	give_inside();
	return REAL(fopen)(path, mode);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *file)
{
	give_inside();
	return REAL(fread)(bytes, size, count, file);
}

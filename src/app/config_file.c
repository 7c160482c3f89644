/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/config_parse.h"
#include "base/fs.h"

#define READABLE "expected a file that can be read"

/* Says why a file could not be opened. */
static int open_failed(const char *path, int error, struct problem *ret_problem)
{
	if (error == ELOOP)
		config_problem(ret_problem,
			       "%s: is a symbolic link; expected a regular file (a mounted "
			       "Kubernetes key: use subPath)",
			       path);
	else
		config_problem(ret_problem, "%s: %s; " READABLE, path, strerror(error));
	return -EINVAL;
}

/* Reads what was opened, if nobody else can write it. */
static int read_ours(const char *path, int fd, char **ret_bytes, size_t *ret_len,
		     struct problem *ret_problem)
{
	const char *why;
	struct stat st;
	int r;

	if (fstat(fd, &st))
		return open_failed(path, errno, ret_problem);
	why = fs_distrust(&st, geteuid());
	if (why) {
		config_problem(ret_problem,
			       "%s: %s; expected a regular file of root's or your own that nobody "
			       "else may write",
			       path, why);
		return -EINVAL;
	}
	r = fs_read_all(fd, CONFIG_FILE_MAX, ret_bytes, ret_len);
	if (r == -EFBIG)
		config_problem(ret_problem, "%s: too long; expected at most %d bytes", path,
			       CONFIG_FILE_MAX);
	else if (r)
		config_problem(ret_problem, "%s: %s; " READABLE, path, strerror(-r));
	return r && r != -ENOMEM ? -EINVAL : r;
}

int config_read(const char *path, bool must_be_there, char **ret_bytes, size_t *ret_len,
		struct problem *ret_problem)
{
	_cleanup_close_ int fd = -1;

	/* O_NONBLOCK: the open of a FIFO must not wait for a writer. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		return read_ours(path, fd, ret_bytes, ret_len, ret_problem);
	if ((errno != ENOENT && errno != ENOTDIR) || must_be_there)
		return open_failed(path, errno, ret_problem);
	*ret_bytes = NULL;
	*ret_len = 0;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/parse.h"
#include "model/tri.h"

enum {
	FILE_MODE = 0640,
};

/* Splits a line in place at single blanks. */
static int split(char *line, struct state_fields *ret)
{
	ret->count = 0;
	for (char *blank = line; line; line = blank) {
		blank = strchr(line, ' ');
		if (blank)
			*blank++ = '\0';
		if (!*line || ret->count == STATE_FIELDS_MAX)
			return -EINVAL;
		ret->field[ret->count++] = line;
	}
	return 0;
}

static bool is_header(const char *line, const char *header, const char *boot_id)
{
	size_t len = strlen(header);

	return boot_id[0] && strncmp(line, header, len) == 0 && strcmp(line + len, boot_id) == 0;
}

int state_file_parse(const char *bytes, size_t len, const char *header, const char *boot_id,
		     size_t lines_max, state_file_line *line, void *arg)
{
	const char *end = bytes + len;
	size_t lines = 0;

	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t line_len = newline ? (size_t)(newline - bytes) : STATE_LINE_MAX;
		char text[STATE_LINE_MAX];
		struct state_fields f;
		int r = 0;

		if (line_len >= sizeof(text) || lines == lines_max || memchr(bytes, '\0', line_len))
			return -EINVAL;
		memcpy(text, bytes, line_len);
		text[line_len] = '\0';
		if (lines++ == 0)
			r = is_header(text, header, boot_id) ? 0 : -EINVAL;
		else
			r = split(text, &f) < 0 ? -EINVAL : line(arg, &f);
		if (r < 0)
			return r;
		bytes = newline + 1;
	}
	return lines ? 0 : -EINVAL;
}

int state_file_ident(char *text, struct ident *ret)
{
	char *colon = strchr(text, ':');

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	if (parse_pid(text, &ret->pid) || parse_u64(colon + 1, UINT64_MAX, &ret->start))
		return -EINVAL;
	return 0;
}

int state_file_u64(const char *text, uint64_t *ret)
{
	return parse_u64(text, UNKNOWN_U64 - 1, ret) ? -EINVAL : 0;
}

/* Opens it if it is ours alone: this very owner and mode. */
static int open_ours(const char *state_dir, const char *name)
{
	_cleanup_close_ int dirfd = -1, fd = -1;
	struct stat st;

	dirfd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0 || fstat(dirfd, &st))
		return -errno;
	if (fs_distrust_dir(&st, geteuid()))
		return -EPERM;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (fs_distrust(&st, geteuid()))
		return -EPERM;
	if (st.st_uid != geteuid() || (st.st_mode & 07777) != FILE_MODE)
		return -EPERM;
	return TAKE_FD(fd);
}

int state_file_read(const char *state_dir, const char *name, size_t max, char **ret_bytes,
		    size_t *ret_len)
{
	_cleanup_close_ int fd = open_ours(state_dir, name);

	return fd < 0 ? fd : fs_read_all(fd, max, ret_bytes, ret_len);
}

bool state_file_is_none(int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
	case ELOOP: /* a symbolic link */
	case ENXIO: /* a socket */
	case EFBIG:
	case EINVAL:
		return true;
	default:
		return false;
	}
}

int state_file_write(const char *state_dir, const char *name, const struct buf *text)
{
	char path[PATH_MAX];
	int len;

	if (text->failed)
		return -ENOMEM;
	len = snprintf(path, sizeof(path), "%s/%s", state_dir, name);
	if (len < 0 || len >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return fs_replace(path, text->bytes, text->len, FILE_MODE);
}

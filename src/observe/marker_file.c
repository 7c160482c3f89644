/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/marker_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "observe/marker_parse.h"

static int no_file(int err, const char **ret_why)
{
	if (err == -EXDEV)
		*ret_why = FS_WHY_MOUNT;
	return err;
}

int marker_file_open(int dirfd, const struct stat *dir, const char *name, struct stat *ret_st,
		     const char **ret_why)
{
	_cleanup_close_ int fd = -1;
	const char *why;
	struct stat st;
	int err;

	/* The mere opening of a device or a FIFO can have an effect, so its kind is asked first. */
	err = fs_stat_here(dirfd, name, &st);
	if (err < 0)
		return no_file(err, ret_why);
	why = fs_distrust(&st, st.st_uid);
	if (!why) {
		fd = fs_open_here(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			return no_file(fd, ret_why);
		if (fstat(fd, &st) < 0)
			return -errno;
		/* What counts is what was opened: the name may lead elsewhere by now. */
		why = fs_distrust(&st, st.st_uid);
	}
	if (!why && fs_distrust_dir(dir, st.st_uid))
		why = MARKER_FILE_WHY_OPEN;
	if (why) {
		*ret_why = why;
		return -EPERM;
	}
	*ret_st = st;
	return TAKE_FD(fd);
}

/* Reads as many bytes as are there, resuming after EINTR. */
static ssize_t read_at(int fd, char *buf, size_t size, uint64_t offset)
{
	ssize_t n;

	do
		n = pread(fd, buf, size, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n;
}

/* FNV-1a, 64 bits. Its owner could forge the same; it finds replacement, it proves nothing. */
static bool hash_tail(int fd, uint64_t offset, uint64_t *ret)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	char bytes[MARKER_FILE_TAIL];
	size_t len = MIN(offset, (uint64_t)sizeof(bytes));

	if (read_at(fd, bytes, len, offset - len) != (ssize_t)len)
		return false;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
	*ret = hash;
	return true;
}

bool marker_file_continues(const struct marker_file *f, int fd, const struct stat *st)
{
	uint64_t tail;

	if ((uint64_t)st->st_size < f->offset)
		return false;
	return !f->offset || (hash_tail(fd, f->offset, &tail) && tail == f->tail);
}

static void note_bad(struct marker_file *f, const char *what)
{
	char raw[AUDIT_TEXT_MAX], text[AUDIT_TEXT_MAX];
	size_t len;

	f->bad++;
	if (f->first_bad)
		return;
	(void)snprintf(raw, sizeof(raw), ":%" PRIu64 ": %s", f->lines + 1, what);
	len = strlen(raw);
	/* A name that is too long loses its end, not the fault. */
	log_escape(f->name, strlen(f->name), text, sizeof(text) - len);
	memcpy(text + strlen(text), raw, len + 1);
	f->first_bad = strdup(text); /* without memory the count alone must do */
}

static bool same_writer(const struct marker_writer *a, const struct marker_writer *b)
{
	/* An operator's log takes the words of many. */
	if (a->event == MARKER_OPERATOR && b->event == MARKER_OPERATOR)
		return true;
	return a->event == b->event && a->pid_ns == b->pid_ns && strcmp(a->boot, b->boot) == 0 &&
	       ident_equal(a->id, b->id);
}

static void note_writer(struct marker_file *f, const struct marker *m)
{
	struct marker_writer who = {
		.event = m->event,
		.id = m->event == MARKER_HOST ? m->host : m->daemon,
		.pid_ns = m->pid_ns,
	};

	if (m->event != MARKER_HOST && m->event != MARKER_DAEMON && m->event != MARKER_OPERATOR)
		return;
	memcpy(who.boot, m->boot, sizeof(who.boot));
	if (f->who.event == MARKER_UNKNOWN)
		f->who = who;
	else if (!same_writer(&f->who, &who))
		note_bad(f, "a second process writes this log");
}

/* Whoever takes the records learns that there was one more. */
static int take_bad(struct marker_file *f, const char *what, const struct marker_reader *r)
{
	const struct marker_source source = { f->number, f->owner, f->name };
	const struct marker m = { .bad = true };
	int err = r->sink(r->arg, &source, &m);

	if (err == 0)
		note_bad(f, what);
	return err;
}

static int take_line(struct marker_file *f, const char *line, size_t len,
		     const struct marker_reader *r)
{
	const struct marker_source source = { f->number, f->owner, f->name };
	struct marker m;
	unsigned unknown;
	const char *bad = marker_parse(line, len, &m, &unknown);

	if (bad)
		return take_bad(f, bad, r);
	f->unknown += unknown + (m.event == MARKER_UNKNOWN);
	note_writer(f, &m);
	return r->sink(r->arg, &source, &m);
}

/*
 * Takes the whole lines of a block that begins at the offset. Returns how many bytes were consumed: 0
 * if it holds only the beginning of a line.
 */
static int64_t take_block(struct marker_file *f, const char *block, size_t len,
			  const struct marker_reader *r)
{
	const char *at = block, *end = block + len, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		size_t line_len = (size_t)(newline - at);
		int err = f->skipping ? 0 : take_line(f, at, line_len, r);

		if (err < 0)
			return err;
		f->skipping = false;
		f->lines++;
		f->offset += line_len + 1;
		at = newline + 1;
	}
	if (f->skipping || end - at >= MARKER_LINE_MAX) {
		int err = f->skipping ? 0 : take_bad(f, "expected at most 512 bytes", r);

		if (err < 0)
			return err;
		f->skipping = true;
		f->offset += (uint64_t)(end - at);
		at = end;
	}
	return at - block;
}

int marker_file_read(struct marker_file *f, int fd, uint64_t max, const struct marker_reader *r)
{
	uint64_t begin = f->offset, limit = begin + MIN(max, (uint64_t)MARKER_UNREAD_MAX);
	int64_t took = 1;
	size_t wanted = 0;
	ssize_t n = 1;

	while (n > 0 && took > 0 && f->offset < limit) {
		wanted = (size_t)MIN(limit - f->offset, (uint64_t)MARKER_FILE_BLOCK);
		n = read_at(fd, r->block, wanted, f->offset);
		if (n > 0)
			took = take_block(f, r->block, (size_t)n, r);
	}
	/* A file that shrinks meanwhile shows itself at the next call: no hash is equal to it. */
	if (f->offset != begin && !hash_tail(fd, f->offset, &f->tail))
		f->tail = 0;
	if (took < 0)
		return (int)took;
	/* Behind it is no more: it ends with a whole line, or, where less was there than was wanted and no line of
	 * that could be taken, with the beginning of one. */
	f->torn = n > 0 && (size_t)n < wanted;
	return n == 0 || f->torn;
}

void marker_file_done(struct marker_file *f)
{
	free(f->name);
	free(f->first_bad);
}

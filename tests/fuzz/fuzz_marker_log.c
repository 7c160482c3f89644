/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes say what happens to one marker log: records, halves of lines and noise are appended, it is
 * truncated, removed and made anew, replaced by a copy, and read in between. At the end each whole record
 * that stands in it must have been told once and in order, of the log that is there, and nothing else.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/marker_parse.h"
#include "observe/markers.h"

enum {
	TEXT_MAX = 64 * 1024,
	TOLD_MAX = 4096,
	LINE_MAX_SEEN = MARKER_LINE_MAX, /* with its newline */
	FOLDER_MAX = PATH_MAX - 16,      /* room for a name in it */
};

/* What identifies a record here. */
struct told {
	uint32_t log;
	uint64_t unix_ms;
	enum marker_event event;
};

struct log {
	char text[TEXT_MAX];
	size_t len;
	unsigned written;
	struct told told[TOLD_MAX];
	size_t count;
};

static char folder[FOLDER_MAX];
static struct log log_state;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void path_of(const char *name, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%s/%s", folder, name);
}

static void remove_folder(void)
{
	char path[PATH_MAX];

	path_of("x.log", path, sizeof(path));
	(void)unlink(path);
	(void)rmdir(folder);
}

static void make_folder(void)
{
	const char *base = getenv("TMPDIR");
	int len;

	if (folder[0])
		return;
	len = snprintf(folder, sizeof(folder), "%s/fuzz-log-XXXXXX", base ? base : "/tmp");
	must(len > 0 && len < FOLDER_MAX);
	must(mkdtemp(folder) != NULL);
	must(chmod(folder, 0755) == 0);
	(void)atexit(remove_folder);
}

static void put(const char *name, int flags, const char *bytes, size_t len)
{
	char path[PATH_MAX];
	int fd;

	path_of(name, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
	must(fd >= 0);
	must(write(fd, bytes, len) == (ssize_t)len);
	must(close(fd) == 0);
}

static void append(struct log *l, const char *bytes, size_t len)
{
	if (l->len + len > sizeof(l->text))
		return;
	memcpy(l->text + l->len, bytes, len);
	l->len += len;
	put("x.log", O_CREAT | O_APPEND, bytes, len);
}

/* No two are equal, so that what comes after a truncation is not what was there. */
static void append_record(struct log *l, bool whole)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "reaper/1 %u pooled worker=%u:7\n", l->written,
			   100 + l->written);

	l->written++;
	append(l, line, whole ? (size_t)len : (size_t)len / 2);
}

static void append_noise(struct log *l, const uint8_t *bytes, size_t len)
{
	char noise[300];
	int head = snprintf(noise, sizeof(noise), "%u ", l->written++);

	memcpy(noise + head, bytes, len);
	append(l, noise, (size_t)head + len);
}

static void truncate_to(struct log *l, unsigned part)
{
	char path[PATH_MAX];

	path_of("x.log", path, sizeof(path));
	l->len = l->len * part / UINT8_MAX;
	if (access(path, F_OK) == 0)
		must(truncate(path, (off_t)l->len) == 0);
}

static void replace(struct log *l, bool by_copy)
{
	char path[PATH_MAX], aside[PATH_MAX];

	path_of("x.log", path, sizeof(path));
	path_of("aside", aside, sizeof(aside));
	if (!by_copy) {
		(void)unlink(path);
		l->len = 0;
		return;
	}
	put("aside", O_CREAT | O_TRUNC, l->text, l->len);
	must(rename(aside, path) == 0);
}

static int take(void *arg, const struct marker_source *source, const struct marker *m)
{
	struct log *l = arg;

	if (m->bad)
		return 0;
	must(l->count < TOLD_MAX);
	l->told[l->count++] = (struct told){ source->log, m->unix_ms, m->event };
	return 0;
}

static void forget(void *arg, uint32_t log)
{
	struct log *l = arg;
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++)
		if (l->told[i].log != log)
			l->told[kept++] = l->told[i];
	l->count = kept;
}

static bool read_log(struct log *l, struct markers *m)
{
	struct markers_counts counts;

	must(markers_read(m, take, forget, l, &counts) == 0);
	return counts.whole;
}

/* Said again, without a look at how the reader does it. */
static void check(const struct log *l)
{
	size_t told = 0;

	for (size_t at = 0; at < l->len;) {
		const char *line = l->text + at;
		const char *newline = memchr(line, '\n', l->len - at);
		struct marker m;
		unsigned unknown;

		if (!newline)
			break;
		at += (size_t)(newline - line) + 1;
		if (newline - line >= LINE_MAX_SEEN ||
		    marker_parse(line, (size_t)(newline - line), &m, &unknown))
			continue;
		must(told < l->count && l->told[told].unix_ms == m.unix_ms &&
		     l->told[told].event == m.event && l->told[told].log == l->told[0].log);
		told++;
	}
	must(told == l->count);
}

static size_t happen(struct log *l, struct markers *m, const uint8_t *data, size_t size)
{
	size_t noise = MIN(size - 1, (size_t)(data[0] >> 3) * 8);

	switch (data[0] & 7) {
	case 0:
		append_record(l, false);
		return 1;
	case 1:
		append_noise(l, data + 1, noise);
		return 1 + noise;
	case 2:
		append(l, "\n", 1);
		return 1;
	case 3:
		truncate_to(l, size > 1 ? data[1] : 0);
		return MIN(size, (size_t)2);
	case 4:
		replace(l, data[0] & 8);
		return 1;
	case 5:
		(void)read_log(l, m);
		return 1;
	default:
		append_record(l, true);
		return 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log *l = &log_state;
	struct markers *m;

	make_folder();
	l->len = l->count = 0;
	l->written = 1;
	replace(l, false);
	must(markers_new(folder, &m) == 0);
	while (size) {
		size_t used = happen(l, m, data, size);

		data += used;
		size -= used;
	}
	must(read_log(l, m));
	check(l);
	markers_free(m);
	return 0;
}

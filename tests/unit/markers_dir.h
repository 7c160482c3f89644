/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A marker_dir of a test's own, and what a reader takes from it. Tests that need to give a file to somebody
 * else skip without root.
 */
#ifndef REAPER_TESTS_MARKERS_DIR_H
#define REAPER_TESTS_MARKERS_DIR_H

#include "observe/markers.h"

#define DIR_BOOT "01234567-89ab-cdef-0123-456789abcdef"
#define DIR_HOST \
	"reaper/1 1 host host=4711:8812345 boot=" DIR_BOOT " pidns=4026531836 class=pyspark\n"

enum {
	DIR_TAKEN_MAX = 64,
	DIR_OTHER_UID = 64321,
};

/* What the sink was given by the last read; of very many only the last ones. */
struct dir_taken {
	unsigned count;
	unsigned bad; /* lines that are no records; nothing else here is theirs */
	uint32_t log[DIR_TAKEN_MAX];
	uid_t owner[DIR_TAKEN_MAX];
	uint64_t ms[DIR_TAKEN_MAX];
	enum marker_event event[DIR_TAKEN_MAX];
	char name[DIR_TAKEN_MAX][64];
	unsigned forgotten;
	uint32_t forgot[DIR_TAKEN_MAX];
	int refuse; /* what the sink is to return; 0: it takes all */
};

/* Of the test that runs: each has a process of its own. */
extern char dir_top[64];
extern struct markers *dir_reader;
extern struct dir_taken taken;
extern struct markers_counts counts;

/** Makes it, mode 0755, and a reader of it. For .init of a suite; a test that hangs is ended. */
void dir_make(void);

/** Removes it and all that is in it. For .fini of a suite. */
void dir_remove(void);

/** Skips the test unless it runs as root. */
void dir_need_root(void);

/** Skips the test. */
void dir_skip(const char *why);

/** @return the path of a name in it, valid for a few calls. */
const char *dir_path(const char *name);

/** Writes bytes to a file of mode 0644, with O_TRUNC or O_APPEND. */
void dir_write(const char *name, const char *bytes, size_t len, int flags);

/** Makes a log of this text. */
void dir_log(const char *name, const char *text);

/** Appends text to a log. */
void dir_append(const char *name, const char *text);

/** Makes a directory in it of exactly this mode. */
void dir_mkdir(const char *name, mode_t mode);

/** Reads what is new into taken and counts; no descriptor may stay open. @return as markers_read(). */
int dir_read(void);

/** Takes a record into taken. For markers_read(). */
int dir_sink(void *arg, const struct marker_source *source, const struct marker *m);

/** Takes the number of a log that is forgotten. For markers_read(). */
void dir_forget(void *arg, uint32_t log);

#endif

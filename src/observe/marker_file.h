/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One marker log: opened without trusting its name, judged by what the descriptor shows, followed by
 * (device, inode, offset, bytes before the offset), read in whole lines.
 */
#ifndef REAPER_OBSERVE_MARKER_FILE_H
#define REAPER_OBSERVE_MARKER_FILE_H

#include <sys/stat.h>

#include "base/macro.h"
#include "observe/markers.h"

enum {
	MARKER_FILE_BLOCK = 64 * 1024, /* bytes of one read(2) */
	MARKER_FILE_TAIL = 64,         /* bytes before the offset that must still be there */
};

/* Why a log is not believed whose name others may give to another file. */
#define MARKER_FILE_WHY_OPEN "lies in a directory that others may write to"

/* Who an identity record says writes a log. */
struct marker_writer {
	enum marker_event event; /* MARKER_UNKNOWN: none was read yet */
	struct ident id;
	uint64_t pid_ns;
	char boot[MARKER_BOOT_MAX];
};

/* How far a log was read. */
struct marker_file {
	uint32_t number; /* of the log; a new one after truncation or replacement */
	dev_t dev;
	ino_t ino;
	uid_t owner;
	char *name;               /* owned; relative to marker_dir */
	uint64_t offset;          /* of the first byte that was not consumed */
	uint64_t tail;            /* hash of the bytes before it */
	uint64_t lines;           /* consumed */
	bool skipping;            /* the offset lies inside a line that is too long */
	bool torn;                /* behind the offset stands the beginning of a line */
	struct marker_writer who; /* by its first identity record */
	uint32_t bad;
	uint32_t unknown;
	char *first_bad; /* owned; "file:line: what", escaped; NULL: none */
	uint32_t round;  /* the last that saw it */
};

/* What one call reads with. */
struct marker_reader {
	char *block; /* MARKER_FILE_BLOCK bytes */
	markers_sink sink;
	void *arg;
};

/**
 * Opens a log for reading if it is to be believed: a regular file with one link, not writable by
 * group or others, in a directory of root or of the file's owner that is not writable by them either.
 * Never waits, never follows a link, never opens a device, nor what is mounted there.
 *
 * @param dir	of the open directory.
 * @param ret_why	set to a constant phrase with -EPERM, and with -EXDEV.
 * @return the descriptor, owned by the caller; -EPERM, -EXDEV: not to be believed; negative errno.
 */
int marker_file_open(int dirfd, const struct stat *dir, const char *name, struct stat *ret_st,
		     const char **ret_why) _must_check_;

/** Tells whether an open file still holds what was consumed of it: it was neither truncated nor replaced. */
bool marker_file_continues(const struct marker_file *f, int fd, const struct stat *st);

/**
 * Reads the whole lines that are new.
 *
 * @param max	bytes; at most MARKER_UNREAD_MAX count.
 * @return 1: to its end; 0: there is more, or it could not be read; negative errno: what the sink
 *         returned, -ENOMEM. What the sink took stays consumed.
 */
int marker_file_read(struct marker_file *f, int fd, uint64_t max, const struct marker_reader *r)
	_must_check_;

/** Frees what it owns. */
void marker_file_done(struct marker_file *f);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The marker logs of marker_dir and its direct subdirectories: found, believed or not, followed
 * through truncation, rotation and replacement, and read in whole lines. Bad bytes are counted and
 * skipped; nothing here fails because of what somebody wrote.
 */
#ifndef REAPER_OBSERVE_MARKERS_H
#define REAPER_OBSERVE_MARKERS_H

#include "base/macro.h"
#include "model/audit.h"
#include "model/marker.h"

struct markers;

/* Who wrote a record. */
struct marker_source {
	uint32_t
		log; /* number of the log, never reused; a replaced or truncated file is a new one */
	uid_t owner;      /* of the file: root or this uid's workers may believe it */
	const char *name; /* relative to marker_dir; valid during the call */
};

/**
 * Takes one record, or learns of a line that is none (marker.bad). Called in the order of each file.
 *
 * @return 0; a negative errno ends the read.
 */
typedef int (*markers_sink)(void *arg, const struct marker_source *source, const struct marker *m);

/**
 * Tells that a log is no more what it was (truncated, replaced, removed, no longer believed): what it
 * said is to be forgotten, and so is its number.
 */
typedef void (*markers_forget)(void *arg, uint32_t log);

enum {
	MARKERS_BEHIND_MAX = 8,
	MARKERS_OWNER_UNREAD_MAX =
		128 * 1024 * 1024, /* bytes of one owner's logs that one call takes */
};

/* What is there now, and what was bad in it since it was found. */
struct markers_counts {
	uint32_t logs;       /* believed */
	uint32_t distrusted; /* files that were not read for their owner, mode or kind */
	uint32_t deep;       /* directories in subdirectories, where nothing is looked for */
	uint32_t bad;        /* records that were skipped */
	uint32_t unknown;    /* events and keys that were skipped */
	uint32_t torn;       /* logs that end in the middle of a line */
	bool whole;          /* every believed log was read to its end */
	/* Where `whole` is false: whose logs were not. Only the workers of these owners (of root: all) have
	 * to wait, unless behind_anybody is set: then nobody knows whose. */
	uint32_t behind_count;
	uid_t behind[MARKERS_BEHIND_MAX];
	bool behind_anybody;
	char first_bad[AUDIT_TEXT_MAX];        /* "file:line: what", escaped */
	char first_distrusted[AUDIT_TEXT_MAX]; /* "file: why" */
	char first_torn[AUDIT_TEXT_MAX];       /* "file" */
	char first_deep[AUDIT_TEXT_MAX];       /* "directory" */
};

/**
 * Makes a reader; nothing is opened yet.
 *
 * @return 0; -ENOMEM. *ret_markers is owned by the caller.
 */
int markers_new(const char *dir, struct markers **ret_markers) _must_check_;

/**
 * Reads what is new since the last call, at most MARKER_UNREAD_MAX bytes of each log and
 * MARKERS_OWNER_UNREAD_MAX of each owner's.
 *
 * An unknown event is given to the sink too: it counts among the records since the last beat.
 *
 * @return 0 (also without a directory); -ENOMEM, or what the sink returned (the next call begins with that
 *         record again); -EOVERFLOW: there are no more numbers for logs.
 */
int markers_read(struct markers *m, markers_sink sink, markers_forget forget, void *arg,
		 struct markers_counts *ret_counts) _must_check_;

/**
 * Removes a believed log's file (its host has been gone for long): only the very file that was read. The
 * next read forgets it.
 *
 * @return 0; -ENOENT: no such log; -ESTALE: another file has its name; negative errno.
 */
int markers_remove(struct markers *m, uint32_t log) _must_check_;

/**
 * Appends an `operator` and a `retired` record to marker_dir/operator-<euid>/retire.log, which is made
 * with the right modes if it is not there.
 *
 * @return 0; -EPERM: somebody else's directory or file, or one that others may write to; -ELOOP: a link;
 *         negative errno: no whole record was written.
 */
int markers_retire(const char *dir, uid_t euid, const char *boot_id, uint64_t pid_ns,
		   uint64_t unix_ms, struct ident worker) _must_check_;

/** Frees it; NULL is allowed. */
void markers_free(struct markers *m);

#endif

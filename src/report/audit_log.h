/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: one JSON line per intent before a signal and one per outcome. Without a durable
 * intent there is no signal.
 */
#ifndef REAPER_REPORT_AUDIT_LOG_H
#define REAPER_REPORT_AUDIT_LOG_H

#include "base/buf.h"

struct audit_log {
	int fd;           /* -1: not open */
	const char *path; /* borrowed */
};

/**
 * Opens the log for appending (O_APPEND, no links followed, 0640), making its directory (0750).
 *
 * @param path	borrowed: it must live as long as the log.
 * @return 0; -ENOTSUP: it is no regular file with one name; else negative errno of open(2): nothing
 *         may be signalled.
 */
int audit_log_open(const char *path, struct audit_log *ret) _must_check_;

/**
 * Opens it again if its file was moved away or removed since (log rotation).
 *
 * @return 0; negative errno: the old file stays open.
 */
int audit_log_reopen(struct audit_log *log) _must_check_;

/**
 * Appends whole lines with one write. Where the file ends in half a line (of a crash, or of a full
 * disk), a newline goes first. A short write is undone (the file is cut back) and is an error. The
 * program must ignore SIGXFSZ.
 *
 * @param sync	wait until they are on the disk (fdatasync(2)).
 * @return 0; -ENOMEM: the lines are not whole; -ENOSPC, -EFBIG, -EIO ...: none of them counts.
 */
int audit_log_append(struct audit_log *log, const struct buf *lines, bool sync) _must_check_;

/** Closes it. */
void audit_log_close(struct audit_log *log);

#endif

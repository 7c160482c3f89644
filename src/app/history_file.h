/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_dir/history: when each fence and wait was first seen, and the kills of the last hour. It can
 * lengthen a wait by being absent and never stands in for a fence, so anything odd about it (another
 * boot, owner or mode, a torn line) starts it afresh.
 */
#ifndef REAPER_APP_HISTORY_FILE_H
#define REAPER_APP_HISTORY_FILE_H

#include "base/buf.h"
#include "correlate/history.h"

enum {
	HISTORY_FILE_LINES_MAX = 16384, /* the header among them */
};

/**
 * Reads the text into a history.
 *
 *	reaper-history/1 boot=<uuid>
 *	clock <ms> <boottime_ms>	(by which the wall clock is ahead of the boot clock; since when, or 0)
 *	seen <pid>:<start> <fence> <boottime_ms> -
 *	seen <pid>:<start> wait <boottime_ms> <nr:sp:pc, or @wchan where the call could not be read>
 *	seen <pid>:<start> idle <boottime_ms> -		(a daemon without a worker)
 *	kill <boottime_ms>
 *
 * One `clock` line at most; `seen` lines stand in the order of identities, each kind once; `kill` lines in the order of time.
 * Of a wait the first look alone is kept, so it counts as seen once.
 *
 * @param h	empty.
 * @return 0; -EINVAL: it is not of this boot or not whole: *h is then empty; -ENOMEM.
 */
int history_file_parse(const char *bytes, size_t len, const char *boot_id, struct history *h)
	_must_check_;

/**
 * Writes the history as text: at most HISTORY_FILE_LINES_MAX lines. Kills, which limit what may be
 * ended, come before all others; then of each entry all or nothing, those first that have been proven
 * longest, then those that have waited longest. Who is left out waits anew in another run.
 */
void history_file_format(const struct history *h, const char *boot_id, struct buf *ret);

/**
 * Reads state_dir/history. A missing, foreign or torn one, and one that speaks of times to come, is
 * an empty one. One that cannot be read just now is not: it may hold kills of the last hour.
 *
 * @param now_ms	boot clock.
 * @param h	empty.
 * @return 0; -ENOMEM, -EIO, -EMFILE and the like.
 */
int history_file_load(const char *state_dir, const char *boot_id, uint64_t now_ms,
		      struct history *h) _must_check_;

/** Writes it aside and renames it into place, 0640. @return 0; negative errno. */
int history_file_save(const char *state_dir, const char *boot_id, const struct history *h)
	_must_check_;

#endif

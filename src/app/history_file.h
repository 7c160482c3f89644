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

/**
 * Reads the text into a history.
 *
 * @return 0; -EINVAL: it is not of this boot or not whole: *h is then empty; -ENOMEM.
 */
int history_file_parse(const char *bytes, size_t len, const char *boot_id, struct history *h)
	_must_check_;

/** Writes the history as text. */
void history_file_format(const struct history *h, const char *boot_id, struct buf *ret);

/** Reads state_dir/history; a missing, foreign or torn one is an empty one. @return 0; -ENOMEM. */
int history_file_load(const char *state_dir, const char *boot_id, struct history *h) _must_check_;

/** Writes it aside and renames it into place, 0640. @return 0; negative errno. */
int history_file_save(const char *state_dir, const char *boot_id, const struct history *h)
	_must_check_;

#endif

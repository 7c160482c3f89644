/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_dir/memory: how the memory of the processes that are followed went, for the next start, and
 * for audit and explain, which look only twice. It can make a process suspect and never justifies a
 * signal; anything odd about it (another boot, owner or mode, a torn line) starts it afresh.
 */
#ifndef REAPER_APP_MEMORY_FILE_H
#define REAPER_APP_MEMORY_FILE_H

#include "base/buf.h"
#include "correlate/growth.h"

enum {
	MEMORY_FILE_LINES_MAX = MEMORY_SERIES_MAX * MEMORY_SAMPLES_MAX + 1,
};

/**
 * Reads the text into a history.
 *
 *	reaper-memory/1 boot=<uuid>
 *	sample <pid>:<start> <boottime_ms> <vm> <anon> <least> <most>
 *
 * in bytes: VmSize, RssAnon, and the least and the most of RssAnon since the sample before.
 * The lines stand in the order of identities, those of one process in the order of time.
 *
 * @param g	empty.
 * @return 0; -EINVAL: it is not of this boot or not whole: *g is then empty; -ENOMEM.
 */
int memory_file_parse(const char *bytes, size_t len, const char *boot_id, struct growth *g)
	_must_check_;

/** Writes the history as text. */
void memory_file_format(const struct growth *g, const char *boot_id, struct buf *ret);

/**
 * Reads state_dir/memory. A missing, foreign or torn one, and one that speaks of times to come, is an
 * empty one.
 *
 * @param now_ms	boot clock.
 * @param g	empty.
 * @return 0; -ENOMEM.
 */
int memory_file_load(const char *state_dir, const char *boot_id, uint64_t now_ms, struct growth *g)
	_must_check_;

/** Writes it aside and renames it into place, 0640. @return 0; negative errno. */
int memory_file_save(const char *state_dir, const char *boot_id, const struct growth *g)
	_must_check_;

#endif

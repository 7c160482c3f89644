/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: defaults, one INI file that is believed only if nobody else can write it, and
 * --set. Read whole, checked whole, then taken whole: an error leaves the old settings. The only door
 * to inih, whose traps (long lines, NUL, repeated keys, indented lines) are refused before it runs.
 */
#ifndef REAPER_APP_CONFIG_H
#define REAPER_APP_CONFIG_H

#include <limits.h>

#include "base/macro.h"
#include "model/class.h"
#include "model/explanation.h"
#include "model/policy.h"

enum {
	CONFIG_FILE_MAX = 256 * 1024, /* bytes */
	CONFIG_LINE_MAX = 190,        /* bytes, without the newline */
	CONFIG_PROBLEM_MAX = 512,
	CONFIG_SETTINGS_MAX = 256,
	CONFIG_SECTION_MAX = CLASS_NAME_MAX + 8, /* "class NAME" */
};

struct config {
	uint64_t interval_ms;
	uint64_t marker_keep_ms;
	char marker_dir[PATH_MAX];
	char state_dir[PATH_MAX];
	char metrics_file[PATH_MAX]; /* "": none */
	char audit_log[PATH_MAX];
	char file[PATH_MAX]; /* that was read; "": none was there */
	struct policy policy;
	uint64_t sample_ms;
	uint64_t growing_after_ms;
	uint64_t crash_window_ms;
	uint64_t term_grace_ms;
	uint64_t kill_grace_ms;
	struct limits limits;
	struct classes
		classes; /* in file order, shipped ones first where the file does not name them */
	struct protect protect;
	struct setting *settings; /* owned; every value with its origin, in file-format order */
	size_t setting_count;
	char class_sections[CLASS_COUNT_MAX]
			   [CONFIG_SECTION_MAX]; /* what settings' section points to */
};

/* What was wrong, for the one line that is shown. */
struct problem {
	char text[CONFIG_PROBLEM_MAX]; /* "FILE:LINE: what was found; what was expected", escaped */
};

/** @return the path that is read where no -c is given. */
const char *config_default_path(void);

/**
 * Reads the configuration. The file must be a regular file of root's or the caller's that nobody
 * else may write; a symbolic link is refused.
 *
 * @param path	-c FILE, or NULL: config_default_path() if it is there.
 * @param sets	--set SECTION.KEY=VALUE in order; the last one wins.
 * @param ret	filled and owned by the caller (config_free()) only if 0 is returned.
 * @param ret_problem	filled if not.
 * @return 0; -EINVAL; -ENOMEM; *ret_problem says what.
 */
int config_load(const char *path, const char *const *sets, size_t set_count, struct config **ret,
		struct problem *ret_problem) _must_check_;

/**
 * The same from a text that is there already.
 *
 * @param name	of the file, for origins and the problem.
 * @param bytes	ends in a NUL that len does not count; NULL: there is no file.
 */
int config_load_text(const char *name, const char *bytes, size_t len, const char *const *sets,
		     size_t set_count, struct config **ret, struct problem *ret_problem)
	_must_check_;

/** Frees it; NULL is allowed. */
void config_free(struct config *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one channel for messages to people: stderr, one line each, foreign bytes escaped. Used by app/
 * only; what lies below returns its error.
 */
#ifndef REAPER_BASE_LOG_H
#define REAPER_BASE_LOG_H

#include <stddef.h>

#include "base/macro.h"

enum log_level {
	LOG_QUIET,  /* errors only */
	LOG_NORMAL, /* and notices */
	LOG_VERBOSE,
};

/** Sets what is shown: the only global of the program. */
void log_set_level(enum log_level level);

/** @return what is shown. */
enum log_level log_get_level(void);

/** Says what failed, on what and why: "reaper: ..." on stderr, at every level. */
void log_error(const char *format, ...) _printf_(1, 2);

/** Says what a user should know; not at LOG_QUIET. */
void log_notice(const char *format, ...) _printf_(1, 2);

/** Says what helps to understand a run; only at LOG_VERBOSE. */
void log_verbose(const char *format, ...) _printf_(1, 2);

/**
 * Escapes control characters, those that change the direction or the lines of text, and bytes that
 * are no UTF-8, as \xNN.
 *
 * @param ret_buf	always NUL-ended; what does not fit is cut at a whole character or escape.
 * @return ret_buf.
 */
const char *log_escape(const char *raw, size_t len, char *ret_buf, size_t size);

#endif

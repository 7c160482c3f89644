/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that grow. After a failed allocation the buffer stays as it was and remembers it, so a
 * writer checks once, at the end.
 */
#ifndef REAPER_BASE_BUF_H
#define REAPER_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"

struct buf {
	char *bytes; /* owned; NUL-ended if not NULL */
	size_t len;  /* without the NUL */
	size_t room;
	bool failed; /* an allocation failed: the content is not whole */
};

/** Appends bytes. */
void buf_add(struct buf *b, const void *bytes, size_t len);

/** Appends a string. */
void buf_str(struct buf *b, const char *s);

/** Appends formatted text. */
void buf_printf(struct buf *b, const char *format, ...) _printf_(2, 3);

/** Empties it; the memory is kept for the next use. */
void buf_clear(struct buf *b);

/** Frees it and makes it empty. For _cleanup_(buf_done). */
void buf_done(struct buf *b);

#endif

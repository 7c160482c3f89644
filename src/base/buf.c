/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	BUF_FIRST_ROOM = 256
};

/* Makes room for len more bytes and the NUL. */
static bool buf_grow(struct buf *b, size_t len)
{
	size_t room = b->room ? b->room : BUF_FIRST_ROOM;

	if (b->failed)
		return false;
	if (len < b->room - b->len && b->bytes)
		return true;
	while (room - b->len <= len) {
		if (room > SIZE_MAX / 2) {
			b->failed = true;
			return false;
		}
		room *= 2;
	}
	char *bytes = realloc(b->bytes, room);
	if (!bytes) {
		b->failed = true;
		return false;
	}
	b->bytes = bytes;
	b->room = room;
	return true;
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (!buf_grow(b, len))
		return;
	if (len)
		memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
	b->bytes[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0) {
		b->failed = true;
		return;
	}
	if (!buf_grow(b, (size_t)len))
		return;
	va_start(args, format);
	vsnprintf(b->bytes + b->len, (size_t)len + 1, format, args);
	va_end(args);
	b->len += (size_t)len;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->bytes)
		b->bytes[0] = '\0';
}

void buf_done(struct buf *b)
{
	free(b->bytes);
	*b = (struct buf){ 0 };
}

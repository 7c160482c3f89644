/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

enum {
	LOG_LINE_MAX = 4096,
	LOG_ESCAPE_LEN = 4, /* \xNN */
};

static enum log_level log_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	log_level = level;
}

enum log_level log_get_level(void)
{
	return log_level;
}

/*
 * Gives the length of the character at the start of raw that may be shown as it is; 0: it may not.
 * Overlong forms and surrogates are no UTF-8. C1 controls (CSI is one) drive terminals as ESC does,
 * and the bidirectional and line separators change how the rest of the line is read.
 */
static size_t log_plain_len(const unsigned char *raw, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = raw[0];
	size_t want;

	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (c < 0xc2 || c > 0xf4 || len < want)
		return 0;
	c &= 0x7fu >> want;
	for (size_t i = 1; i < want; i++) {
		if ((raw[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (raw[i] & 0x3f);
	}
	if (c < least[want] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) || c < 0xa0)
		return 0;
	if (c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069))
		return 0;
	return want;
}

const char *log_escape(const char *raw, size_t len, char *ret_buf, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;

	if (!size)
		return ret_buf;
	for (size_t i = 0; i < len;) {
		unsigned char byte = (unsigned char)raw[i];
		size_t plain = log_plain_len((const unsigned char *)raw + i, len - i);

		if (size - at <= (plain ? plain : LOG_ESCAPE_LEN))
			break;
		if (plain) {
			memcpy(ret_buf + at, raw + i, plain);
			at += plain;
			i += plain;
			continue;
		}
		ret_buf[at++] = '\\';
		ret_buf[at++] = 'x';
		ret_buf[at++] = hex[byte >> 4];
		ret_buf[at++] = hex[byte & 0xf];
		i++;
	}
	ret_buf[at] = '\0';
	return ret_buf;
}

/* One write for one line, so that two programs on one terminal do not mix theirs. */
static void log_say(const char *format, va_list args)
{
	static const char name[] = "reaper: ";
	char raw[LOG_LINE_MAX], line[sizeof(name) + LOG_LINE_MAX];
	size_t len;
	int r = vsnprintf(raw, sizeof(raw), format, args);

	if (r < 0)
		return;
	len = MIN((size_t)r, sizeof(raw) - 1);
	memcpy(line, name, sizeof(name) - 1);
	log_escape(raw, len, line + sizeof(name) - 1, LOG_LINE_MAX);
	len = strlen(line);
	line[len] = '\n';
	/* Nobody is left to be told when stderr is closed or full. */
	(void)!fs_write_all(STDERR_FILENO, line, len + 1);
}

void log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_say(format, args);
	va_end(args);
}

void log_notice(const char *format, ...)
{
	va_list args;

	if (log_level < LOG_NORMAL)
		return;
	va_start(args, format);
	log_say(format, args);
	va_end(args);
}

void log_verbose(const char *format, ...)
{
	va_list args;

	if (log_level < LOG_VERBOSE)
		return;
	va_start(args, format);
	log_say(format, args);
	va_end(args);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/line.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum {
	LINE_TEXT_MAX = 1024,       /* of one line_printf() */
	LINE_FOREIGN_MAX = 4 * 512, /* of one line_foreign(), escaped */
	LINE_ESCAPE_LEN = 4,        /* \xNN */
	LINE_WIDE_FROM = 0x1100,    /* Hangul Jamo: the first code points that take two columns */
};

static const char *const colors[] = {
	[LINE_PLAIN] = "\x1b[0m",  [LINE_RED] = "\x1b[1;31m", [LINE_YELLOW] = "\x1b[33m",
	[LINE_GREEN] = "\x1b[32m", [LINE_DIM] = "\x1b[2m",    [LINE_BOLD] = "\x1b[1m",
};
static_assert(ARRAY_SIZE(colors) == LINE_COLOR_COUNT, "every colour has its sequence");

struct lines lines_of(const struct text_style *style, struct buf *out)
{
	unsigned width = style->width;

	if (!width || width > LINE_WIDTH)
		width = LINE_WIDTH;
	if (width < LINE_WIDTH_MIN)
		width = LINE_WIDTH_MIN;
	return (struct lines){ .out = out, .style = style, .width = width };
}

/* Bytes of the character or escape that text begins with: what must not be torn. */
static size_t piece_len(const char *text)
{
	size_t len = 1;

	if (text[0] == '\\' && text[1] == 'x' && text[2] && text[3])
		return 4;
	while (((unsigned char)text[len] & 0xc0) == 0x80)
		len++;
	return len;
}

/*
 * Columns of one piece. Wide and ambiguous characters are all taken for two: a line that is too
 * short is better than one that wraps.
 */
static unsigned piece_columns(const char *text, size_t len)
{
	unsigned char first = (unsigned char)text[0];
	uint32_t c;

	if (first < 0x80)
		return (unsigned)len;
	if (len == 2)
		return 1;
	c = (uint32_t)(first & 0x0f) << 12 | (uint32_t)((unsigned char)text[1] & 0x3f) << 6;
	/* Box drawing, U+2500 to U+257F: the tree's own lines. */
	if (len == 3 && (c < LINE_WIDE_FROM || (c >= 0x2500 && c < 0x2580)))
		return 1;
	return 2;
}

unsigned line_columns(const char *text)
{
	unsigned columns = 0;

	while (*text) {
		size_t len = piece_len(text);

		columns += piece_columns(text, len);
		text += len;
	}
	return columns;
}

void line_text(struct lines *l, const char *text)
{
	buf_str(l->out, text);
	l->column += line_columns(text);
}

void line_printf(struct lines *l, const char *format, ...)
{
	char text[LINE_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	line_text(l, text);
}

const char *line_shown(const struct lines *l, const char *text, char *ret, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;

	if (l->style->utf8)
		return text;
	for (; *text && at + LINE_ESCAPE_LEN < size; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x80) {
			ret[at++] = *text;
			continue;
		}
		ret[at++] = '\\';
		ret[at++] = 'x';
		ret[at++] = hex[byte >> 4];
		ret[at++] = hex[byte & 0xf];
	}
	ret[at] = '\0';
	return ret;
}

void line_foreign(struct lines *l, const char *raw, unsigned columns)
{
	static const char more[] = "...";
	char text[LINE_FOREIGN_MAX], ascii[LINE_FOREIGN_MAX];
	const char *from;
	unsigned room = columns - (unsigned)strlen(more), used = 0;

	log_escape(raw, strlen(raw), text, sizeof(text));
	from = line_shown(l, text, ascii, sizeof(ascii));
	if (line_columns(from) <= columns) {
		line_text(l, from);
		return;
	}
	while (*from) {
		size_t len = piece_len(from);

		used += piece_columns(from, len);
		if (used > room)
			break;
		buf_add(l->out, from, len);
		l->column += piece_columns(from, len);
		from += len;
	}
	line_text(l, more);
}

void line_color(struct lines *l, enum line_color color)
{
	if (l->style->color)
		buf_str(l->out, colors[color]);
}

void line_pad(struct lines *l, unsigned column)
{
	if (l->column >= column && l->column)
		column = l->column + 1;
	while (l->column < column)
		line_text(l, " ");
}

void line_end(struct lines *l)
{
	struct buf *out = l->out;

	while (out->len && !out->failed && out->bytes[out->len - 1] == ' ')
		out->bytes[--out->len] = '\0';
	buf_str(out, "\n");
	l->column = 0;
}

/* Bytes of the first word of text, with the columns that it takes; a `quoted command` is one word. */
static size_t word_len(const char *text, unsigned *ret_columns)
{
	size_t len = 0;
	unsigned columns = 0;
	bool quoted = false;

	while (text[len] && (text[len] != ' ' || (quoted && strchr(text + len, '`')))) {
		size_t piece = piece_len(text + len);

		quoted ^= text[len] == '`';
		columns += piece_columns(text + len, piece);
		len += piece;
	}
	*ret_columns = columns;
	return len;
}

/* A word that is longer than a line goes over its end, piece by piece. */
static void split_word(struct lines *l, const char *word, size_t len, const char *prefix,
		       unsigned column)
{
	for (size_t at = 0; at < len;) {
		size_t piece = piece_len(word + at);
		unsigned columns = piece_columns(word + at, piece);

		if (l->column + columns > l->width) {
			line_end(l);
			line_text(l, prefix);
			line_pad(l, column);
		}
		buf_add(l->out, word + at, piece);
		l->column += columns;
		at += piece;
	}
}

size_t line_fit(const char *text, unsigned columns)
{
	size_t fits = 0, at = 0;
	unsigned used = 0;

	while (text[at]) {
		unsigned word_columns;
		size_t blanks = strspn(text + at, " ");
		size_t len = word_len(text + at + blanks, &word_columns);

		used += (unsigned)blanks + word_columns;
		if (used > columns)
			break;
		at += blanks + len;
		fits = at;
	}
	return fits;
}

void line_wrap(struct lines *l, const char *text, const char *prefix, unsigned column)
{
	char ascii[LINE_FOREIGN_MAX];
	bool first = true;

	text = line_shown(l, text, ascii, sizeof(ascii));
	while (*text) {
		unsigned columns;
		size_t len = word_len(text, &columns);

		if (!first && l->column + 1 + columns > l->width) {
			line_end(l);
			line_text(l, prefix);
			line_pad(l, column);
		} else if (!first) {
			line_text(l, " ");
		}
		split_word(l, text, len, prefix, column);
		text += len;
		text += strspn(text, " ");
		first = false;
	}
}

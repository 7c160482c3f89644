/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of text for a terminal: columns are counted, colours are not; what does not fit is wrapped
 * at a blank or cut; what is foreign is escaped.
 */
#ifndef REAPER_REPORT_LINE_H
#define REAPER_REPORT_LINE_H

#include "report/text.h"

enum {
	LINE_WIDTH = 80,      /* no line is longer, however wide the terminal */
	LINE_WIDTH_MIN = 60,  /* a narrower terminal wraps by itself */
	LINE_PREFIX_MAX = 64, /* bytes of what stands before a wrapped line */
};

enum line_color {
	LINE_PLAIN,
	LINE_RED,
	LINE_YELLOW,
	LINE_GREEN,
	LINE_DIM,
	LINE_BOLD,
	LINE_COLOR_COUNT,
};

/* One text that is being written. */
struct lines {
	struct buf *out;
	const struct text_style *style;
	unsigned width;
	unsigned column; /* of the line that is being written */
};

/** Starts at the left margin. */
struct lines lines_of(const struct text_style *style, struct buf *out);

/** Appends text of ours: printable, or already escaped. */
void line_text(struct lines *l, const char *text);

/** Appends formatted text of ours. */
void line_printf(struct lines *l, const char *format, ...) _printf_(2, 3);

/**
 * Gives a text of ours as the terminal can show it: with ASCII only, what a name brought in is escaped.
 *
 * @param ret	room for four times the text.
 * @return text or ret.
 */
const char *line_shown(const struct lines *l, const char *text, char *ret, size_t size);

/** Appends what somebody else named: escaped, and cut to so many columns, ending in "..." then. */
void line_foreign(struct lines *l, const char *raw, unsigned columns);

/** Sets the colour of what follows; LINE_PLAIN ends it. Writes nothing without style.color. */
void line_color(struct lines *l, enum line_color color);

/** Appends blanks up to a column; at least one if the text is there already and not at the margin. */
void line_pad(struct lines *l, unsigned column);

/** Ends the line, without blanks at its end. */
void line_end(struct lines *l);

/**
 * Appends text of ours, and where it does not fit goes on in new lines behind a prefix.
 *
 * @param prefix	text of ours (a tree's lines); padded with blanks to `column`.
 */
void line_wrap(struct lines *l, const char *text, const char *prefix, unsigned column);

/** @return how many bytes of a text of ours fit into so many columns, in whole words. */
size_t line_fit(const char *text, unsigned columns);

/** @return how many columns a text of ours takes; wide characters are taken for two. */
unsigned line_columns(const char *text);

#endif

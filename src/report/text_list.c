/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "report/line.h"
#include "report/text.h"

enum {
	CHECK_NAME_COLUMN = 8,
	CHECK_TEXT_COLUMN = 24,
	CHECK_FIX_COLUMN = 29,
	CHECK_ESCAPED_MAX = 4 * CHECK_TEXT_MAX,
	SETTING_ORIGIN_COLUMN = 40,
	SETTING_LINE_MAX = 190, /* a longer line is refused when it is read back */
	SETTING_ESCAPED_MAX = 4 * SETTING_VALUE_MAX,
};

static const enum line_color status_colors[] = {
	[CHECK_OK] = LINE_GREEN,
	[CHECK_ADVICE] = LINE_YELLOW,
	[CHECK_BAD] = LINE_RED,
};
static_assert(ARRAY_SIZE(status_colors) == CHECK_STATUS_COUNT, "every status has a colour");

/* What begins with blanks is there to be copied: it stands alone on its line, however long. */
static bool is_verbatim(const char *text)
{
	return text[0] == ' ';
}

/* Writes text whose newlines are meant: each line of it is escaped, and wrapped by itself. */
static void paragraphs(struct lines *l, const char *text, unsigned column)
{
	char escaped[CHECK_ESCAPED_MAX];

	for (;;) {
		size_t len = strcspn(text, "\n");

		log_escape(text, len, escaped, sizeof(escaped));
		if (is_verbatim(text)) {
			line_text(l, escaped);
		} else {
			line_pad(l, column);
			line_wrap(l, escaped, "", column);
		}
		line_end(l);
		if (!text[len])
			return;
		text += len + 1;
	}
}

void text_checks(const struct checks *c, const struct text_style *style, struct buf *ret)
{
	struct lines l = lines_of(style, ret);

	for (size_t i = 0; i < c->count; i++) {
		const struct check *check = &c->check[i];

		line_color(&l, status_colors[check->status]);
		line_text(&l, check_status_name(check->status));
		line_color(&l, LINE_PLAIN);
		line_pad(&l, CHECK_NAME_COLUMN);
		line_text(&l, check->name);
		paragraphs(&l, check->found, CHECK_TEXT_COLUMN);
		if (!check->fix[0])
			continue;
		line_pad(&l, CHECK_TEXT_COLUMN);
		line_text(&l, "fix:");
		paragraphs(&l, check->fix, CHECK_FIX_COLUMN);
	}
}

/* The origin stands behind the value where the line stays short, else above it. */
static void add_setting(const struct setting *s, struct buf *ret)
{
	char value[SETTING_ESCAPED_MAX], origin[SETTING_ESCAPED_MAX];
	size_t len, pad;

	log_escape(s->value, strlen(s->value), value, sizeof(value));
	log_escape(s->origin, strlen(s->origin), origin, sizeof(origin));
	len = strlen(s->key) + strlen(value[0] ? " = " : " =") + strlen(value);
	pad = len < SETTING_ORIGIN_COLUMN ? SETTING_ORIGIN_COLUMN - len : 1;
	if (len + pad + strlen("; ") + strlen(origin) > LINE_WIDTH) {
		buf_printf(ret, "; %.*s\n", SETTING_LINE_MAX - (int)strlen("; "), origin);
		buf_printf(ret, "%s =%s%s\n", s->key, value[0] ? " " : "", value);
		return;
	}
	buf_printf(ret, "%s =%s%s%*s; %s\n", s->key, value[0] ? " " : "", value, (int)pad, "",
		   origin);
}

void text_settings(const struct setting *settings, size_t count, struct buf *ret)
{
	const char *section = "";

	for (size_t i = 0; i < count; i++) {
		if (strcmp(section, settings[i].section) != 0) {
			section = settings[i].section;
			buf_printf(ret, "%s[%s]\n", i ? "\n" : "", section);
		}
		add_setting(&settings[i], ret);
	}
}

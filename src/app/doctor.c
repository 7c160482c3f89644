/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_check.h"
#include "base/log.h"

#define COPY_INDENT "\n  "

static void _printf_(3, 0) write_text(char *ret, size_t size, const char *format, va_list args)
{
	char raw[CHECK_FIX_MAX];

	(void)vsnprintf(raw, MIN(size, sizeof(raw)), format, args);
	(void)log_escape(raw, strlen(raw), ret, size);
}

struct check *doctor_add(struct checks *c, const char *name, enum check_status status,
			 const char *found, ...)
{
	struct check *check;
	va_list args;

	if (c->count == CHECKS_MAX)
		return NULL;
	check = &c->check[c->count++];
	*check = (struct check){ .name = name, .status = status };
	va_start(args, found);
	write_text(check->found, sizeof(check->found), found, args);
	va_end(args);
	return check;
}

void doctor_fix(struct check *check, const char *fix, ...)
{
	va_list args;

	if (!check)
		return;
	va_start(args, fix);
	write_text(check->fix, sizeof(check->fix), fix, args);
	va_end(args);
}

void doctor_fix_line(struct check *check, const char *line, ...)
{
	char text[CHECK_FIX_MAX];
	va_list args;
	size_t len;

	if (!check)
		return;
	va_start(args, line);
	write_text(text, sizeof(text), line, args);
	va_end(args);
	len = strlen(check->fix);
	if (len + strlen(COPY_INDENT) + strlen(text) < sizeof(check->fix))
		(void)snprintf(check->fix + len, sizeof(check->fix) - len, COPY_INDENT "%s", text);
}

int doctor_examine(const struct doctor_input *in, struct checks *ret)
{
	ret->count = 0;
	doctor_kernel(in, ret);
	doctor_paths(in, ret);
	doctor_reach(in, ret);
	doctor_markers(in, ret);
	return doctor_unmatched(in, ret);
}

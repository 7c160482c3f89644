/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_check.h"
#include "base/log.h"

static void _printf_(2, 0) write_text(char ret[CHECK_TEXT_MAX], const char *format, va_list args)
{
	char raw[CHECK_TEXT_MAX];

	(void)vsnprintf(raw, sizeof(raw), format, args);
	(void)log_escape(raw, strlen(raw), ret, CHECK_TEXT_MAX);
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
	write_text(check->found, found, args);
	va_end(args);
	return check;
}

void doctor_fix(struct check *check, const char *fix, ...)
{
	va_list args;

	if (!check)
		return;
	va_start(args, fix);
	write_text(check->fix, fix, args);
	va_end(args);
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

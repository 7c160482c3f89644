/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a configuration before inih sees it. inih reads the tail of a long line as a line of
 * its own, ends a value at a NUL, takes an indented line for a second value of the key above, and
 * gives a repeated key twice; each of these is refused here, and so is every section and key that
 * the table does not know.
 */
#ifndef REAPER_APP_CONFIG_PARSE_H
#define REAPER_APP_CONFIG_PARSE_H

#include <stddef.h>

#include "app/config.h"
#include "app/config_keys.h"
#include "base/macro.h"

/* A key and where it stands; values are inih's to read. */
struct config_line {
	const struct config_key *key;
	char class_name[CLASS_NAME_MAX]; /* of SECTION_CLASS; else "" */
	unsigned line;                   /* from 1 */
};

struct config_class_line {
	char name[CLASS_NAME_MAX];
	unsigned line; /* where its section is first opened */
};

struct config_scan {
	size_t line_count;
	struct config_line lines[CONFIG_SETTINGS_MAX]; /* in file order */
	size_t class_count;
	struct config_class_line classes[CLASS_COUNT_MAX]; /* in file order */
};

/* One --set SECTION.KEY=VALUE. */
struct config_set {
	const struct config_key *key;
	char class_name[CLASS_NAME_MAX];
	char value[SETTING_VALUE_MAX]; /* without blanks around it */
};

/** Says what was wrong: formatted, foreign bytes escaped. */
void config_problem(struct problem *p, const char *format, ...) _printf_(2, 3);

/**
 * Reads the name of a section as it stands between the brackets.
 *
 * @param ret_class	"" unless it is "class NAME".
 * @return 0; -EINVAL: there is no such section, or NAME is no word of letters, digits and _ . + -
 */
int config_parse_section(const char *name, enum config_section *ret_section,
			 char ret_class[CLASS_NAME_MAX]) _must_check_;

/**
 * Checks the whole text.
 *
 * @param name	of the file, for the problem.
 * @param ret	filled.
 * @return 0; -EINVAL: *ret_problem says what.
 */
int config_scan(const char *name, const char *bytes, size_t len, struct config_scan *ret,
		struct problem *ret_problem) _must_check_;

/**
 * Splits a --set argument at its first '=', then at the last '.' before it.
 *
 * @return 0; -EINVAL: *ret_problem says what.
 */
int config_parse_set(const char *arg, struct config_set *ret, struct problem *ret_problem)
	_must_check_;

/** Says that a value is not what its key takes. @param where "FILE:LINE: " or "--set ". */
void config_problem_value(struct problem *p, const char *where, const struct config_key *key,
			  const char *value);

#endif

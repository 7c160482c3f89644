/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the configuration that are more than a number: text to struct and back, no I/O but the
 * look-up of a user's name.
 */
#ifndef REAPER_APP_CONFIG_VALUE_H
#define REAPER_APP_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "model/class.h"
#include "model/explanation.h"
#include "model/policy.h"

enum {
	CONFIG_COMM_MAX = 15, /* bytes of a command name that the kernel keeps (TASK_COMM_LEN) */
};

/** Reads an absolute path into char[PATH_MAX]; empty stays empty. @return 0; -EINVAL. */
int config_parse_path(const char *text, char *ret) _must_check_;

/** Reads fence names separated by blanks, each once. @return 0; -EINVAL. */
int config_parse_fences(const char *text, uint32_t *ret) _must_check_;

/**
 * Reads alternatives separated by '|', each of words separated by blanks.
 *
 * @param words_max	words of one alternative.
 * @param word_max	bytes of one word; at most CLASS_WORD_MAX - 1.
 * @return 0 (an empty text is no alternative); -EINVAL.
 */
int config_parse_choices(const char *text, size_t words_max, size_t word_max, struct choices *ret)
	_must_check_;

/** Reads the value of a [protect] rule. A user's name is looked up. @return 0; -EINVAL. */
int config_parse_protect(const char *text, enum protect_kind kind, struct protect_rule *ret)
	_must_check_;

/** Writes parts per million as a percentage: 10000 as "1%". */
void config_format_percent(uint32_t ppm, char ret[SETTING_VALUE_MAX]);

/** Writes fence names, separated by blanks. */
void config_format_fences(uint32_t fences, char ret[SETTING_VALUE_MAX]);

/** Writes alternatives, separated by " | ". */
void config_format_choices(const struct choices *choices, char ret[SETTING_VALUE_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files in state_dir have in common: text in lines, fields between single blanks, written
 * aside and renamed, and believed only by the owner who wrote them.
 */
#ifndef REAPER_APP_STATE_FILE_H
#define REAPER_APP_STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/ident.h"

enum {
	STATE_FIELDS_MAX = 7,
	STATE_LINE_MAX = 192, /* bytes of one line, its newline included */
};

struct state_fields {
	size_t count;
	char *field[STATE_FIELDS_MAX];
};

/** Takes one line; its fields may be changed. @return 0; negative errno, which ends the reading. */
typedef int state_file_line(void *arg, const struct state_fields *f);

/**
 * Reads text line by line: a header (its text, then the boot's id), then lines of fields.
 *
 * @param lines_max	with the header; more are an error.
 * @return 0; -EINVAL: it is not of this boot, or not whole; what `line` returned.
 */
int state_file_parse(const char *bytes, size_t len, const char *header, const char *boot_id,
		     size_t lines_max, state_file_line *line, void *arg) _must_check_;

/** Reads <pid>:<start>; text is changed. @return 0; -EINVAL. */
int state_file_ident(char *text, struct ident *ret) _must_check_;

/** Reads a number that is not unknown. @return 0; -EINVAL. */
int state_file_u64(const char *text, uint64_t *ret) _must_check_;

/**
 * Reads a file of state_dir whole, if directory and file are this user's alone.
 *
 * @param ret_bytes	NUL-ended, owned by the caller.
 * @return 0; -EPERM: not to be believed; -ENOENT; -EFBIG; other negative errno.
 */
int state_file_read(const char *state_dir, const char *name, size_t max, char **ret_bytes,
		    size_t *ret_len) _must_check_;

/**
 * Tells what an error of state_file_read() or state_file_parse() means.
 *
 * @return true: the file is missing, not this user's alone, or not whole, and one begins afresh; false:
 *         it may well be there, and could not be read just now.
 */
bool state_file_is_none(int err);

/** Writes it aside and renames it into place, 0640. @return 0; negative errno. */
int state_file_write(const char *state_dir, const char *name, const struct buf *text) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a configuration file, if it is one to believe.
 */
#ifndef REAPER_APP_CONFIG_FILE_H
#define REAPER_APP_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "app/config.h"
#include "base/macro.h"

/**
 * Reads the file whole: a regular file with one link, of root's or the caller's, that nobody else
 * may write, reached by no symbolic link in its last part.
 *
 * @param must_be_there	false: a missing file is none.
 * @param ret_bytes	owned by the caller, ends in a NUL that *ret_len does not count; NULL: none.
 * @return 0; -EINVAL, -ENOMEM: *ret_problem says what.
 */
int config_read(const char *path, bool must_be_there, char **ret_bytes, size_t *ret_len,
		struct problem *ret_problem) _must_check_;

#endif

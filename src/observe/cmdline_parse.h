/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of /proc/<pid>/cmdline: bytes to argv, no I/O. A process can write over all of it, and end it
 * where it likes. Source: fs/proc/base.c, get_mm_cmdline().
 */
#ifndef REAPER_OBSERVE_CMDLINE_PARSE_H
#define REAPER_OBSERVE_CMDLINE_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Makes an argv of what was read: elements, each with a NUL behind it.
 *
 * @param bytes	len of them and a NUL.
 * @param cut	there is more than was read: an element of which the end is not there is dropped.
 * @return bytes of the argv, its last NUL included; 0: it is empty.
 */
size_t cmdline_parse(char *bytes, size_t len, bool cut);

#endif

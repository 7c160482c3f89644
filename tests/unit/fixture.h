/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that were read from a kernel once and are kept below tests/fixtures.
 */
#ifndef REAPER_TESTS_FIXTURE_H
#define REAPER_TESTS_FIXTURE_H

#include <stddef.h>

enum {
	FIXTURE_MAX = 65536
};

/**
 * Reads a fixture; the test fails if it is not there.
 *
 * @param name	its path below tests/fixtures.
 * @param ret	NUL-ended.
 * @return its length.
 */
size_t fixture_read(const char *name, char ret[FIXTURE_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output that is compared byte by byte with a file in tests/golden.
 */
#ifndef REAPER_TESTS_GOLDEN_H
#define REAPER_TESTS_GOLDEN_H

#include <criterion/criterion.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum {
	GOLDEN_COLUMNS = 80,
};

static inline FILE *golden_open(const char *name, const char *mode)
{
	const char *top = getenv("srcdir");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tests/golden/%s", top ? top : ".", name);
	return fopen(path, mode);
}

static inline bool golden_write(FILE *file, const struct buf *out)
{
	bool good;

	if (!file)
		return false;
	good = fwrite(out->bytes, 1, out->len, file) == out->len;
	return fclose(file) == 0 && good;
}

/**
 * Compares output with tests/golden/NAME below $srcdir, byte by byte. With GOLDEN_UPDATE in the
 * environment the file is written instead.
 *
 * @return NULL if they are equal; else what to do.
 */
static inline const char *golden_compare(const char *name, const struct buf *out)
{
	_cleanup_(buf_done) struct buf golden = { 0 };
	char chunk[4096];
	size_t n;
	FILE *file;

	if (getenv("GOLDEN_UPDATE"))
		return golden_write(golden_open(name, "w"), out)
			       ? NULL
			       : "the golden file cannot be written";
	file = golden_open(name, "r");
	if (!file)
		return "there is no such golden file: run the test with GOLDEN_UPDATE=1";
	while ((n = fread(chunk, 1, sizeof(chunk), file)))
		buf_add(&golden, chunk, n);
	fclose(file);
	if (golden.len == out->len && !memcmp(golden.bytes, out->bytes, out->len))
		return NULL;
	return "the output differs: run the test with GOLDEN_UPDATE=1 and look at `git diff`";
}

/** @return the columns of the longest line; colours take none, every other character takes one. */
static inline unsigned golden_columns(const struct buf *out)
{
	unsigned most = 0, columns = 0;

	for (size_t i = 0; i < out->len; i++) {
		unsigned char byte = (unsigned char)out->bytes[i];

		if (byte == '\x1b') {
			while (i < out->len && out->bytes[i] != 'm')
				i++;
			continue;
		}
		columns = byte == '\n' ? 0 : columns + ((byte & 0xc0) != 0x80);
		most = MAX(most, columns);
	}
	return most;
}

/** Fails the test unless the output is that of the golden file. */
static inline void golden_expect(const char *name, const struct buf *out)
{
	const char *wrong = golden_compare(name, out);

	cr_assert(!out->failed, "%s: no memory", name);
	cr_expect(!wrong, "%s: %s", name, wrong);
}

/** The same for text that people read on a terminal of 80 columns. */
static inline void golden_expect_text(const char *name, const struct buf *out)
{
	golden_expect(name, out);
	cr_expect(golden_columns(out) <= GOLDEN_COLUMNS, "%s: %u columns", name,
		  golden_columns(out));
}

/** Fails the test where the output holds a control character, or, if ascii is set, more than ASCII. */
static inline void golden_expect_printable(const char *name, const struct buf *out, bool ascii)
{
	for (size_t i = 0; i < out->len; i++) {
		unsigned char byte = (unsigned char)out->bytes[i];

		cr_assert(byte == '\n' || (byte >= 0x20 && byte != 0x7f && !(ascii && byte > 0x7f)),
			  "%s: byte %zu is 0x%x", name, i, byte);
	}
}

#endif

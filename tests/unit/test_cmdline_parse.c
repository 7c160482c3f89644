/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/macro.h"
#include "observe/cmdline_parse.h"

Test(cmdline_parse, rows)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool cut;
		size_t argv_len;
		const char *why;
	} rows[] = {
		{ "", 0, false, 0, "a zombie has none" },
		{ "", 0, true, 0, "nothing" },
		{ "", 1, false, 1, "one element, and it is empty" },
		{ "", 1, true, 1, "the same, and more behind it" },
		{ "a\0b\0", 4, false, 4, "two" },
		{ "a\0b\0", 4, true, 4, "cut between two elements" },
		{ "a\0b", 3, false, 4, "it wrote over the last NUL" },
		{ "a\0b", 3, true, 2, "nobody knows how the second one goes on" },
		{ "ab", 2, true, 0, "nor the first" },
		{ "ab", 2, false, 3, "a title in the place of an argv" },
		{ "a\0\0", 3, true, 3, "an empty element is whole" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char around[] = "xxxxxxxx\0\0\0\0\0\0\0", *bytes = around + 8;

		memcpy(bytes, rows[i].bytes, rows[i].len);
		cr_expect_eq(cmdline_parse(bytes, rows[i].len, rows[i].cut), rows[i].argv_len, "%s",
			     rows[i].why);
		cr_expect_eq(memcmp(bytes, rows[i].bytes, rows[i].argv_len), 0, "%s", rows[i].why);
		cr_expect_eq(bytes[rows[i].argv_len], '\0', "%s", rows[i].why);
	}
}

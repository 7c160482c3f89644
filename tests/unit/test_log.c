/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define RAW(s) (s), sizeof(s) - 1

Test(log, escape)
{
	static const struct {
		const char *raw;
		size_t len;
		const char *shown;
		const char *why;
	} rows[] = {
		{ RAW("python3"), "python3", "plain" },
		{ RAW(""), "", "empty" },
		{ RAW("a b~"), "a b~", "all of ASCII that prints" },
		{ RAW("\x1b]0;x\a"), "\\x1b]0;x\\x07", "a terminal's title" },
		{ RAW("a\nb\tc\r\x7f"), "a\\x0ab\\x09c\\x0d\\x7f", "no second line" },
		{ RAW("a\0b"), "a\\x00b", "a NUL does not end it" },
		{ RAW("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
		  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "two, three and four bytes of UTF-8" },
		{ RAW("\xff\xfe"), "\\xff\\xfe", "no UTF-8" },
		{ RAW("\xc3"), "\\xc3", "cut at its end" },
		{ RAW("\xe2\x82"), "\\xe2\\x82", "cut at its end" },
		{ RAW("\xc3"
		      "a"),
		  "\\xc3"
		  "a",
		  "the next byte is another character" },
		{ RAW("\xc0\xaf"), "\\xc0\\xaf", "a slash in too many bytes" },
		{ RAW("\xe0\x80\xaf"), "\\xe0\\x80\\xaf", "a slash in far too many bytes" },
		{ RAW("\xf0\x80\x80\xaf"), "\\xf0\\x80\\x80\\xaf", "a slash in four bytes" },
		{ RAW("\xed\xa0\x80"), "\\xed\\xa0\\x80", "half of a surrogate pair" },
		{ RAW("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80", "beyond Unicode" },
		{ RAW("\x80"), "\\x80", "a byte that only continues" },
		{ RAW("\xc2\x9b"
		      "31m"),
		  "\\xc2\\x9b"
		  "31m",
		  "CSI in one character" },
		{ RAW("\xe2\x80\xae"), "\\xe2\\x80\\xae", "right to left from here on" },
		{ RAW("\xe2\x80\xa8"), "\\xe2\\x80\\xa8", "a line separator" },
	};
	char shown[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_str_eq(log_escape(rows[i].raw, rows[i].len, shown, sizeof(shown)),
				 rows[i].shown, "%s", rows[i].why);
}

Test(log, escape_cuts_between_characters)
{
	char shown[6];

	memset(shown, 'z', sizeof(shown));
	cr_expect_str_eq(log_escape(RAW("abcdefgh"), shown, 6), "abcde");
	cr_expect_str_eq(log_escape(RAW("abcd\xc3\xa4"), shown, 6), "abcd", "no half character");
	cr_expect_str_eq(log_escape(RAW("ab\x1b"), shown, 6), "ab", "no half escape");
	cr_expect_str_eq(log_escape(RAW("a\x1b"), shown, 6), "a\\x1b", "it just fits");
	cr_expect_str_eq(log_escape(RAW("abc"), shown, 1), "");
	shown[0] = 'q';
	cr_expect_eq(log_escape(RAW("abc"), shown, 0), shown);
	cr_expect_eq(shown[0], 'q', "no byte at all may be written");
}

/* Says something at each level and gives what came out on stderr. */
static void say(enum log_level level, char *ret, size_t size)
{
	int saved = dup(STDERR_FILENO), pipes[2];
	ssize_t len;

	cr_assert_eq(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	log_set_level(level);
	log_error("%s: no such host", "4711");
	log_notice("one %d", 2);
	log_verbose("much");
	dup2(saved, STDERR_FILENO);
	close(pipes[1]);
	len = read(pipes[0], ret, size - 1);
	close(pipes[0]);
	close(saved);
	cr_assert_geq(len, 0);
	ret[len] = '\0';
}

Test(log, levels)
{
	char said[4096];

	cr_assert_eq(log_get_level(), LOG_NORMAL, "as it starts");
	say(LOG_QUIET, said, sizeof(said));
	cr_expect_str_eq(said, "reaper: 4711: no such host\n");
	say(LOG_NORMAL, said, sizeof(said));
	cr_expect_str_eq(said, "reaper: 4711: no such host\nreaper: one 2\n");
	say(LOG_VERBOSE, said, sizeof(said));
	cr_expect_str_eq(said, "reaper: 4711: no such host\nreaper: one 2\nreaper: much\n");
	cr_assert_eq(log_get_level(), LOG_VERBOSE);
}

Test(log, one_line_each)
{
	char said[16384], big[9000];
	int saved = dup(STDERR_FILENO), pipes[2];
	ssize_t len;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	cr_assert_eq(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	log_error("a\nb %s", big);
	dup2(saved, STDERR_FILENO);
	close(pipes[1]);
	len = read(pipes[0], said, sizeof(said));
	close(saved);
	close(pipes[0]);
	cr_assert_gt(len, 2000);
	cr_assert_lt(len, 5000, "a message has an end");
	cr_assert_eq(strncmp(said, "reaper: a\\x0ab xxx", 18), 0);
	cr_assert_eq(memchr(said, '\n', (size_t)len), said + len - 1);
}

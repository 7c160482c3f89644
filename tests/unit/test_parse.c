/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/parse.h"

static const uint64_t century_ms = UINT64_C(36525) * 24 * 3600 * 1000;

Test(parse, u64)
{
	static const struct {
		const char *text;
		uint64_t max;
		int r;
		uint64_t value;
		const char *why;
	} rows[] = {
		{ "0", 10, 0, 0, "nothing is a number" },
		{ "10", 10, 0, 10, "the largest" },
		{ "0010", 10, 0, 10, "zeros in front" },
		{ "11", 10, -ERANGE, 0, "above" },
		{ "18446744073709551615", UINT64_MAX, 0, UINT64_MAX, "all 64 bits" },
		{ "18446744073709551616", UINT64_MAX, -ERANGE, 0, "one more does not wrap" },
		{ "99999999999999999999999", UINT64_MAX, -ERANGE, 0, "many more" },
		{ "5", 3, -ERANGE, 0, "one digit above" },
		{ "1", 0, -ERANGE, 0, "only zero is allowed" },
		{ "", 10, -EINVAL, 0, "empty" },
		{ "-1", 10, -EINVAL, 0, "a sign" },
		{ "+1", 10, -EINVAL, 0, "a sign" },
		{ " 1", 10, -EINVAL, 0, "a blank before" },
		{ "1 ", 10, -EINVAL, 0, "a blank behind" },
		{ "1x", 10, -EINVAL, 0, "a stranger" },
		{ "99999999999999999999x", 10, -EINVAL, 0, "a stranger, though too large as well" },
		{ "0x1", 10, -EINVAL, 0, "hexadecimal" },
		{ "1\n", 10, -EINVAL, 0, "a newline" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 4711;

		cr_expect_eq(parse_u64(rows[i].text, rows[i].max, &value), rows[i].r, "'%s': %s",
			     rows[i].text, rows[i].why);
		cr_expect_eq(value, rows[i].r ? 4711 : rows[i].value, "'%s': %s", rows[i].text,
			     rows[i].why);
	}
}

Test(parse, pid)
{
	static const struct {
		const char *text;
		int r;
		pid_t pid;
		const char *why;
	} rows[] = {
		{ "1", 0, 1, "the first" },
		{ "4194304", 0, 4194304, "the kernel's limit" },
		{ "4194305", -ERANGE, 0, "above it" },
		{ "0", -ERANGE, 0, "nobody" },
		{ "-1", -EINVAL, 0, "everybody" },
		{ "4294967297", -ERANGE, 0, "1 if it were cut to 32 bits" },
		{ "", -EINVAL, 0, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid = 4711;

		cr_expect_eq(parse_pid(rows[i].text, &pid), rows[i].r, "'%s': %s", rows[i].text,
			     rows[i].why);
		cr_expect_eq(pid, rows[i].r ? 4711 : rows[i].pid, "'%s': %s", rows[i].text,
			     rows[i].why);
	}
}

Test(parse, duration)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ms;
		const char *why;
	} rows[] = {
		{ "1ms", 0, 1, "milliseconds" },
		{ "100ms", 0, 100, "ms is not m with an s behind" },
		{ "10s", 0, 10000, "seconds" },
		{ "5m", 0, 300000, "minutes" },
		{ "2h", 0, 7200000, "hours" },
		{ "30d", 0, UINT64_C(2592000000), "days" },
		{ "36525d", 0, UINT64_C(36525) * 86400000, "a hundred years" },
		{ "36526d", -ERANGE, 0, "and a day" },
		{ "99999999999999999999d", -ERANGE, 0, "no wrap" },
		{ "18446744073709551615d", -ERANGE, 0, "no wrap when the unit is multiplied" },
		{ "0s", 0, 0, "the only nothing" },
		{ "0", -EINVAL, 0, "no unit" },
		{ "0ms", -EINVAL, 0, "nothing in another unit" },
		{ "0m", -EINVAL, 0, "nothing in another unit" },
		{ "00s", -EINVAL, 0, "nothing, longer" },
		{ "10", -EINVAL, 0, "no unit" },
		{ "s", -EINVAL, 0, "no number" },
		{ "", -EINVAL, 0, "empty" },
		{ "-1s", -EINVAL, 0, "a sign" },
		{ "+1s", -EINVAL, 0, "a sign" },
		{ "1 s", -EINVAL, 0, "a blank between" },
		{ "1s ", -EINVAL, 0, "a blank behind" },
		{ "1S", -EINVAL, 0, "capitals" },
		{ "1w", -EINVAL, 0, "an unknown unit" },
		{ "1.5s", -EINVAL, 0, "a point" },
		{ "1m30s", -EINVAL, 0, "two units" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ms = 4711;

		cr_expect_eq(parse_duration(rows[i].text, &ms), rows[i].r, "'%s': %s", rows[i].text,
			     rows[i].why);
		cr_expect_eq(ms, rows[i].r ? 4711 : rows[i].ms, "'%s': %s", rows[i].text,
			     rows[i].why);
	}
}

Test(parse, percent)
{
	static const struct {
		const char *text;
		int r;
		uint32_t ppm;
		const char *why;
	} rows[] = {
		{ "1%", 0, 10000, "whole" },
		{ "100%", 0, 1000000, "all" },
		{ "0%", 0, 0, "none" },
		{ "0.1%", 0, 1000, "one decimal" },
		{ "12.3456%", 0, 123456, "four decimals" },
		{ "100.0000%", 0, 1000000, "all, written out" },
		{ "100.0001%", -ERANGE, 0, "just above" },
		{ "101%", -ERANGE, 0, "above" },
		{ "99999999999999999999%", -ERANGE, 0, "no wrap" },
		{ "1.23456%", -EINVAL, 0, "five decimals" },
		{ "1", -EINVAL, 0, "no sign of percent" },
		{ ".5%", -EINVAL, 0, "no digit before the point" },
		{ "1.%", -EINVAL, 0, "no digit behind the point" },
		{ "1,5%", -EINVAL, 0, "a comma" },
		{ "-1%", -EINVAL, 0, "a sign" },
		{ "1 %", -EINVAL, 0, "a blank" },
		{ "1%%", -EINVAL, 0, "twice" },
		{ "%", -EINVAL, 0, "no number" },
		{ "", -EINVAL, 0, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t ppm = 4711;

		cr_expect_eq(parse_percent(rows[i].text, &ppm), rows[i].r, "'%s': %s", rows[i].text,
			     rows[i].why);
		cr_expect_eq(ppm, rows[i].r ? 4711 : rows[i].ppm, "'%s': %s", rows[i].text,
			     rows[i].why);
	}
}

Test(parse, format_duration)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0s" },           { 1, "1ms" },       { 999, "999ms" },   { 1000, "1s" },
		{ 1500, "1500ms" },    { 60000, "1m" },    { 300000, "5m" },   { 90000, "90s" },
		{ 3600000, "1h" },     { 5400000, "90m" }, { 86400000, "1d" }, { 90000000, "25h" },
		{ 2592000000, "30d" },
	};
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ms;

		cr_expect_str_eq(format_duration(rows[i].ms, text, sizeof(text)), rows[i].text);
		cr_expect_eq(parse_duration(text, &ms), 0, "'%s' is read again", text);
		cr_expect_eq(ms, rows[i].ms);
	}
	cr_expect_str_eq(format_duration(century_ms, text, 3), "36", "cut, NUL-ended");
}

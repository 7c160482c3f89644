/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"

enum {
	PARSE_PID_MAX = 4 * 1024 * 1024, /* PID_MAX_LIMIT, include/linux/threads.h */
	PARSE_PERCENT_DECIMALS = 4,
	PARSE_PPM_MAX = 1000000,
};

static const uint64_t parse_duration_max_ms = UINT64_C(36525) * 24 * 3600 * 1000;

struct duration_unit {
	const char *name;
	uint64_t ms;
};

/* The largest first: format_duration() takes the first that leaves no rest. */
static const struct duration_unit duration_units[] = {
	{ "d", 24 * 3600 * 1000 },
	{ "h", 3600 * 1000 },
	{ "m", 60 * 1000 },
	{ "s", 1000 },
	{ "ms", 1 },
};

/* Reads len decimal digits; the caller has seen that they are digits. */
static int parse_digits(const char *s, size_t len, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++) {
		uint64_t digit = (uint64_t)(s[i] - '0');

		if (value > (max - digit) / 10 || digit > max)
			return -ERANGE;
		value = value * 10 + digit;
	}
	*ret = value;
	return 0;
}

int parse_u64(const char *s, uint64_t max, uint64_t *ret)
{
	size_t len = strspn(s, DIGITS);

	if (!len || s[len])
		return -EINVAL;
	return parse_digits(s, len, max, ret);
}

int parse_pid(const char *s, pid_t *ret)
{
	uint64_t value;
	int r = parse_u64(s, PARSE_PID_MAX, &value);

	if (r < 0)
		return r;
	if (!value)
		return -ERANGE;
	*ret = (pid_t)value;
	return 0;
}

int parse_duration(const char *s, uint64_t *ret_ms)
{
	size_t len = strspn(s, DIGITS);
	uint64_t value;

	if (!len)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		uint64_t unit = duration_units[i].ms;
		int r;

		if (strcmp(s + len, duration_units[i].name) != 0)
			continue;
		r = parse_digits(s, len, parse_duration_max_ms / unit, &value);
		if (r < 0)
			return r;
		if (!value && strcmp(s, "0s") != 0)
			return -EINVAL;
		*ret_ms = value * unit;
		return 0;
	}
	return -EINVAL;
}

int parse_percent(const char *s, uint32_t *ret_ppm)
{
	size_t len = strspn(s, DIGITS);
	const char *rest = s + len;
	uint64_t whole, part = 0;
	int r;

	if (!len)
		return -EINVAL;
	if (*rest == '.') {
		size_t decimals = strspn(++rest, DIGITS);

		if (!decimals || decimals > PARSE_PERCENT_DECIMALS)
			return -EINVAL;
		r = parse_digits(rest, decimals, UINT64_MAX, &part);
		if (r < 0)
			return r;
		for (size_t i = decimals; i < PARSE_PERCENT_DECIMALS; i++)
			part *= 10;
		rest += decimals;
	}
	if (strcmp(rest, "%") != 0)
		return -EINVAL;
	r = parse_digits(s, len, 100, &whole);
	if (r < 0)
		return r;
	if (whole * 10000 + part > PARSE_PPM_MAX)
		return -ERANGE;
	*ret_ppm = (uint32_t)(whole * 10000 + part);
	return 0;
}

const char *format_duration(uint64_t ms, char *ret_buf, size_t size)
{
	if (!ms) {
		snprintf(ret_buf, size, "0s");
		return ret_buf;
	}
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		if (ms % duration_units[i].ms)
			continue;
		snprintf(ret_buf, size, "%" PRIu64 "%s", ms / duration_units[i].ms,
			 duration_units[i].name);
		break;
	}
	return ret_buf;
}

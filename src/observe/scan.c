/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/scan.h"

#include <string.h>

struct scan scan_of(const char *bytes, size_t len)
{
	return (struct scan){ .at = bytes, .end = bytes + len };
}

bool scan_at_end(const struct scan *s)
{
	return s->at == s->end;
}

bool scan_char(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

bool scan_str(struct scan *s, const char *want)
{
	size_t len = strlen(want);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, want, len) != 0)
		return false;
	s->at += len;
	return true;
}

bool scan_blanks(struct scan *s)
{
	const char *from = s->at;

	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
	return s->at > from;
}

bool scan_u64(struct scan *s, uint64_t max, uint64_t *ret)
{
	const char *at = s->at;
	uint64_t value = 0;

	while (at < s->end && *at >= '0' && *at <= '9') {
		uint64_t digit = (uint64_t)(*at++ - '0');

		if (digit > max || value > (max - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (at == s->at)
		return false;
	s->at = at;
	*ret = value;
	return true;
}

bool scan_i64(struct scan *s, int64_t *ret)
{
	struct scan from = *s;
	bool negative = scan_char(&from, '-');
	uint64_t value;

	if (!scan_u64(&from, (uint64_t)INT64_MAX + negative, &value))
		return false;
	*s = from;
	*ret = (int64_t)(negative ? 0 - value : value);
	return true;
}

static int scan_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool scan_hex(struct scan *s, unsigned max_digits, uint64_t *ret)
{
	const char *at = s->at;
	uint64_t value = 0;

	while (at < s->end && scan_hex_digit(*at) >= 0) {
		if (at - s->at >= (ptrdiff_t)max_digits)
			return false;
		value = value << 4 | (uint64_t)scan_hex_digit(*at++);
	}
	if (at == s->at)
		return false;
	s->at = at;
	*ret = value;
	return true;
}

bool scan_line(struct scan *s, struct scan *ret_line)
{
	const char *newline;

	if (s->at == s->end)
		return false;
	newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
	if (!newline)
		return false;
	*ret_line = (struct scan){ .at = s->at, .end = newline };
	s->at = newline + 1;
	return true;
}

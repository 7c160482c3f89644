/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/marker_value.h"

#include <string.h>

enum {
	VALUE_PID_MAX = 4 * 1024 * 1024, /* PID_MAX_LIMIT, include/linux/threads.h */
};

static const uint64_t value_timeout_max_ms = UINT64_C(366) * 24 * 3600 * 1000;

/* clang-format off */
static const bool plain[] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
	['.'] = true, ['_'] = true, [':'] = true, ['/'] = true, ['@'] = true, ['+'] = true, ['-'] = true,
};
/* clang-format on */

bool marker_value_plain(char c)
{
	unsigned char byte = (unsigned char)c;

	return byte < sizeof(plain) && plain[byte];
}

bool marker_value_encoded(struct marker_token t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] != '%' && !marker_value_plain(t.at[i]))
			return false;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool marker_value_number(struct marker_token t, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!t.len)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		uint64_t digit = (uint64_t)(t.at[i] - '0');

		if (!is_digit(t.at[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (value > max)
		return false;
	*ret = value;
	return true;
}

static bool read_ident(struct marker_token t, struct ident *ret)
{
	const char *colon = memchr(t.at, ':', t.len);
	struct marker_token pid = t, start;
	uint64_t number;

	if (!colon)
		return false;
	pid.len = (size_t)(colon - t.at);
	start = (struct marker_token){ colon + 1, t.len - pid.len - 1 };
	if (!marker_value_number(pid, VALUE_PID_MAX, &number) || !number)
		return false;
	ret->pid = (pid_t)number;
	return marker_value_number(start, UINT64_MAX, &ret->start);
}

static bool is_boot_byte(size_t i, char c)
{
	if (i == 8 || i == 13 || i == 18 || i == 23)
		return c == '-';
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool read_boot(struct marker_token t, char *ret)
{
	if (t.len != MARKER_BOOT_MAX - 1)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (!is_boot_byte(i, t.at[i]))
			return false;
	memcpy(ret, t.at, t.len);
	ret[t.len] = '\0';
	return true;
}

/* Reads the byte that %XX stands for. 0: it is not of that form, or is a NUL, which would cut a name
 * in two and make one task of two. */
static char read_escape(struct marker_token t, size_t i)
{
	int high, low;

	if (t.len - i < 3)
		return 0;
	high = hex_digit(t.at[i + 1]);
	low = hex_digit(t.at[i + 2]);
	return high < 0 || low < 0 ? '\0' : (char)(high << 4 | low);
}

static bool read_text(struct marker_token t, char *ret, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < t.len; i++) {
		char c = t.at[i];

		if (c == '%') {
			c = read_escape(t, i);
			if (!c)
				return false;
			i += 2;
		} else if (!marker_value_plain(c)) {
			return false;
		}
		if (len + 1 == size)
			return false;
		ret[len++] = c;
	}
	ret[len] = '\0';
	return len > 0;
}

static bool is_word(struct marker_token t, const char *word)
{
	return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

static bool read_pool(struct marker_token t, enum pool_promise *ret)
{
	*ret = POOL_UNKNOWN;
	if (is_word(t, "none"))
		*ret = POOL_NONE;
	else if (is_word(t, "reported"))
		*ret = POOL_REPORTED;
	else
		return is_word(t, "unknown");
	return true;
}

static bool read_tasks(struct marker_token t, bool *ret)
{
	*ret = is_word(t, "all");
	return *ret || is_word(t, "some");
}

static bool read_port(struct marker_token t, uint16_t *ret)
{
	uint64_t value;

	if (!marker_value_number(t, UINT16_MAX, &value) || !value)
		return false;
	*ret = (uint16_t)value;
	return true;
}

static bool read_u32(struct marker_token t, uint32_t *ret)
{
	uint64_t value;

	if (!marker_value_number(t, UINT32_MAX, &value))
		return false;
	*ret = (uint32_t)value;
	return true;
}

static bool read_timeout(struct marker_token t, uint64_t *ret)
{
	return marker_value_number(t, value_timeout_max_ms, ret) && *ret;
}

static bool read_ns(struct marker_token t, uint64_t *ret)
{
	return marker_value_number(t, UINT64_MAX, ret) && *ret;
}

static bool read_code(struct marker_token t)
{
	uint64_t value;

	if (t.len && *t.at == '-')
		t = (struct marker_token){ t.at + 1, t.len - 1 };
	return marker_value_number(t, UINT32_MAX, &value);
}

const char *marker_value_read(const struct marker_key_rule *rule, struct marker_token t,
			      struct marker *ret)
{
	void *member = (char *)ret + rule->offset;

	switch (rule->form) {
	case FORM_IDENT:
		return read_ident(t, member) ? NULL : "expected a process as PID:START";
	case FORM_TEXT:
		return read_text(t, member, rule->size) ? NULL
							: "expected 1 to 64 bytes, percent-encoded";
	case FORM_BOOT:
		return read_boot(t, member) ? NULL : "expected a boot id";
	case FORM_U64:
		return marker_value_number(t, UINT64_MAX, member) ? NULL : "expected a number";
	case FORM_NS:
		return read_ns(t, member) ? NULL : "expected the inode of a namespace";
	case FORM_U32:
		return read_u32(t, member) ? NULL : "expected a user's number";
	case FORM_PORT:
		return read_port(t, member) ? NULL : "expected a port";
	case FORM_TIMEOUT:
		return read_timeout(t, member) ? NULL : "expected 1 ms to 366 days in milliseconds";
	case FORM_POOL:
		return read_pool(t, member) ? NULL : "expected pool=unknown, none or reported";
	case FORM_TASKS:
		return read_tasks(t, member) ? NULL : "expected tasks=some or all";
	case FORM_CODE:
		break;
	}
	return read_code(t) ? NULL : "expected an exit code";
}

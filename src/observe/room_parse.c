/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/room_parse.h"

#include <errno.h>
#include <string.h>

#include "observe/scan.h"

enum {
	MOUNT_BEFORE_ROOT = 3, /* fields: mount, its parent, its device */
	OCTAL_DIGITS = 3,
	KIB = 1024,
};

/* ---- mountinfo ---- */

/* Takes the bytes up to a blank or the end. */
static bool take_word(struct scan *line, struct scan *ret)
{
	const char *end = line->at;

	while (end < line->end && *end != ' ')
		end++;
	if (end == line->at)
		return false;
	*ret = (struct scan){ line->at, end };
	line->at = end;
	(void)scan_char(line, ' ');
	return true;
}

static bool is_word(const struct scan *s, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(s->end - s->at) == len && memcmp(s->at, word, len) == 0;
}

/* One of the words of a list with commas. */
static bool is_listed(struct scan list, const char *word)
{
	while (list.at < list.end) {
		const char *comma = memchr(list.at, ',', (size_t)(list.end - list.at));
		struct scan one = { list.at, comma ? comma : list.end };

		if (is_word(&one, word))
			return true;
		list.at = comma ? comma + 1 : list.end;
	}
	return false;
}

static int octal(const char *at, const char *end)
{
	int value = 0;

	if (end - at < OCTAL_DIGITS)
		return -1;
	for (int i = 0; i < OCTAL_DIGITS; i++) {
		if (at[i] < '0' || at[i] > '7')
			return -1;
		value = value * 8 + (at[i] - '0');
	}
	return value;
}

/* Blanks, newlines and backslashes are written as a backslash and three octal digits. */
static bool unescape(const struct scan *s, char *ret, size_t size)
{
	size_t len = 0;

	for (const char *at = s->at; at < s->end; at++) {
		int byte = *at == '\\' ? octal(at + 1, s->end) : -1;

		if (len + 1 >= size)
			return false;
		if (byte > 0)
			at += OCTAL_DIGITS;
		ret[len++] = byte > 0 ? (char)byte : *at;
	}
	ret[len] = '\0';
	return true;
}

/* 32 31 0:29 /root /point rw,relatime [optional ...] - cgroup cgroup rw,memory */
static void take_mount(struct scan line, struct room_mounts *ret)
{
	struct scan root, point, word, type;
	struct room_mount mount, *place;

	for (int i = 0; i < MOUNT_BEFORE_ROOT; i++)
		if (!take_word(&line, &word))
			return;
	if (!take_word(&line, &root) || !take_word(&line, &point))
		return;
	do {
		if (!take_word(&line, &word))
			return;
	} while (!is_word(&word, "-"));
	if (!take_word(&line, &type) || !take_word(&line, &word) || !take_word(&line, &word))
		return;
	if (is_word(&type, "cgroup2"))
		place = &ret->v2;
	else if (is_word(&type, "cgroup") && is_listed(word, "memory"))
		place = &ret->v1;
	else
		return;
	if (!place->point[0] && unescape(&root, mount.root, sizeof(mount.root)) &&
	    unescape(&point, mount.point, sizeof(mount.point)))
		*place = mount;
}

void room_parse_mountinfo(const char *bytes, size_t len, struct room_mounts *ret)
{
	struct scan s = scan_of(bytes, len), line;

	memset(ret, 0, sizeof(*ret));
	while (scan_line(&s, &line))
		take_mount(line, ret);
}

/* ---- cgroup ---- */

/* Of "4:memory:/path" what stands between the colons and behind them. */
static bool take_cgroup(struct scan line, struct scan *ret_names, struct scan *ret_path)
{
	const char *colon;
	uint64_t number;

	if (!scan_u64(&line, INT32_MAX, &number) || !scan_char(&line, ':'))
		return false;
	colon = memchr(line.at, ':', (size_t)(line.end - line.at));
	if (!colon)
		return false;
	*ret_names = (struct scan){ line.at, colon };
	*ret_path = (struct scan){ colon + 1, line.end };
	return !scan_at_end(ret_path) && *ret_path->at == '/';
}

int room_parse_cgroup(const char *bytes, size_t len, char ret_path[MEMORY_CGROUP_MAX], bool *ret_v2)
{
	struct scan s = scan_of(bytes, len), line, chosen = { 0 };
	size_t path_len;
	bool v2 = true;

	while (scan_line(&s, &line)) {
		struct scan names, path;

		if (!take_cgroup(line, &names, &path))
			return -EINVAL;
		if (is_listed(names, "memory"))
			v2 = false;
		else if (!v2 || !scan_at_end(&names))
			continue;
		chosen = path;
	}
	if (!scan_at_end(&s) || !chosen.at)
		return -EINVAL;
	path_len = (size_t)(chosen.end - chosen.at);
	if (path_len >= MEMORY_CGROUP_MAX)
		return -ERANGE;
	memcpy(ret_path, chosen.at, path_len);
	ret_path[path_len] = '\0';
	*ret_v2 = v2;
	return 0;
}

/* ---- numbers ---- */

int room_parse_number(const char *bytes, size_t len, uint64_t *ret)
{
	struct scan s = scan_of(bytes, len);
	uint64_t value = UNKNOWN_U64;

	if (!scan_str(&s, "max") && !scan_u64(&s, UNKNOWN_U64 - 1, &value))
		return -EINVAL;
	if (!scan_char(&s, '\n') || !scan_at_end(&s))
		return -EINVAL;
	*ret = value;
	return 0;
}

int room_parse_stat(const char *bytes, size_t len, const char *word, uint64_t *ret)
{
	struct scan s = scan_of(bytes, len), line;

	while (scan_line(&s, &line)) {
		if (!scan_str(&line, word) || !scan_char(&line, ' '))
			continue;
		return scan_u64(&line, UNKNOWN_U64 - 1, ret) && scan_at_end(&line) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int parse_kib(const char *bytes, size_t len, const char *word, uint64_t *ret)
{
	struct scan s = scan_of(bytes, len), line;
	uint64_t kib;

	while (scan_line(&s, &line)) {
		if (!scan_str(&line, word))
			continue;
		(void)scan_blanks(&line);
		if (!scan_u64(&line, UINT64_MAX / KIB - 1, &kib) || !scan_str(&line, " kB") ||
		    !scan_at_end(&line))
			return -EINVAL;
		*ret = kib * KIB;
		return 0;
	}
	return -EINVAL;
}

int room_parse_meminfo(const char *bytes, size_t len, uint64_t *ret_total, uint64_t *ret_available)
{
	if (parse_kib(bytes, len, "MemTotal:", ret_total) < 0)
		return -EINVAL;
	return parse_kib(bytes, len, "MemAvailable:", ret_available);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/proc_parse.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "observe/scan.h"

enum {
	STAT_FIELDS = 52, /* proc_pid_stat(5); later kernels may append more */
	STAT_PPID = 4,
	STAT_PGRP = 5,
	STAT_SID = 6,
	STAT_FLAGS = 9,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_CPU = 39,
	STAT_EXIT_CODE = 52,
	SCHED_RULE_MIN = 32, /* dashes below its first line; a name has 15 bytes */
};

/* Takes one blank and a number, the numbers 4 to 52 of a stat file. Some are negative, some 64 bit. */
static bool stat_number(struct scan *s, uint64_t *ret)
{
	int64_t negative;

	if (!scan_char(s, ' '))
		return false;
	if (scan_u64(s, UINT64_MAX, ret))
		return true;
	if (!scan_i64(s, &negative))
		return false;
	*ret = (uint64_t)negative;
	return true;
}

/* Takes what stands before the last ')': the only one that is not part of a name. */
static bool stat_name(struct scan *s, struct proc_stat *ret)
{
	const char *close = memrchr(s->at, ')', (size_t)(s->end - s->at));
	uint64_t pid;

	if (!close || !scan_u64(s, INT32_MAX, &pid) || !pid || !scan_str(s, " (") || s->at > close)
		return false;
	ret->pid = (pid_t)pid;
	s->at = close + 1;
	return true;
}

static bool is_int(uint64_t value)
{
	return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
}

/* What does not fit its type is no number that a kernel wrote. */
static bool stat_fits(const uint64_t field[STAT_FIELDS + 1])
{
	return field[STAT_PPID] <= INT32_MAX && is_int(field[STAT_PGRP]) &&
	       is_int(field[STAT_SID]) && field[STAT_FLAGS] <= UINT32_MAX &&
	       field[STAT_THREADS] <= UINT32_MAX && field[STAT_CPU] <= INT32_MAX &&
	       is_int(field[STAT_EXIT_CODE]);
}

int proc_parse_stat(const char *bytes, size_t len, struct proc_stat *ret)
{
	uint64_t field[STAT_FIELDS + 1] = { 0 };
	struct scan s = scan_of(bytes, len);
	struct proc_stat stat = { 0 };
	uint64_t more;

	if (!len || bytes[len - 1] != '\n')
		return -EINVAL;
	s.end--;
	if (!stat_name(&s, &stat) || !scan_char(&s, ' ') || scan_at_end(&s))
		return -EINVAL;
	stat.state = *s.at++;
	if (!strchr("RSDTtZXxKWPI", stat.state) || !stat.state)
		return -EINVAL;
	for (int i = STAT_PPID; i <= STAT_FIELDS; i++) {
		if (!stat_number(&s, &field[i]))
			return -EINVAL;
	}
	while (!scan_at_end(&s)) {
		if (!stat_number(&s, &more))
			return -EINVAL;
	}
	if (!stat_fits(field))
		return -EINVAL;
	stat.ppid = (pid_t)field[STAT_PPID];
	stat.pgrp = (pid_t)field[STAT_PGRP];
	stat.sid = (pid_t)field[STAT_SID];
	stat.flags = (uint32_t)field[STAT_FLAGS];
	stat.threads = (uint32_t)field[STAT_THREADS];
	stat.start = field[STAT_START];
	stat.cpu = (uint32_t)field[STAT_CPU];
	stat.exit_code = (int)(uint32_t)field[STAT_EXIT_CODE];
	*ret = stat;
	return 0;
}

int proc_parse_syscall(const char *bytes, size_t len, struct wait *ret)
{
	struct scan s = scan_of(bytes, len);
	struct wait wait = { .known = true };
	uint64_t value[ARRAY_SIZE(wait.args) + 2];
	size_t count = ARRAY_SIZE(value), from = 0;

	if (scan_str(&s, "running\n") && scan_at_end(&s)) {
		ret->known = false;
		return 0;
	}
	s = scan_of(bytes, len);
	if (!scan_i64(&s, &wait.nr) || wait.nr < -1)
		return -EINVAL;
	/* Blocked outside a call it has no arguments: only where its stack and its code are. */
	if (wait.nr < 0)
		from = ARRAY_SIZE(wait.args);
	for (size_t i = from; i < count; i++) {
		if (!scan_str(&s, " 0x") || !scan_hex(&s, 16, &value[i]))
			return -EINVAL;
	}
	if (!scan_char(&s, '\n') || !scan_at_end(&s))
		return -EINVAL;
	if (!from)
		memcpy(wait.args, value, sizeof(wait.args));
	wait.sp = value[count - 2];
	wait.pc = value[count - 1];
	memcpy(wait.wchan, ret->wchan, sizeof(wait.wchan));
	*ret = wait;
	return 0;
}

static bool wchan_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

int proc_parse_wchan(const char *bytes, size_t len, char ret[EVIDENCE_WCHAN_MAX])
{
	const char *dot = len ? memchr(bytes, '.', len) : NULL;
	size_t name = dot ? (size_t)(dot - bytes) : len;

	if (!len || (len == 1 && bytes[0] == '0')) {
		ret[0] = '\0';
		return 0;
	}
	for (size_t i = 0; i < len; i++) {
		if (!wchan_byte(bytes[i]) && bytes[i] != '.')
			return -EINVAL;
	}
	if (!name || name >= EVIDENCE_WCHAN_MAX || (bytes[0] >= '0' && bytes[0] <= '9'))
		return -EINVAL;
	memcpy(ret, bytes, name);
	ret[name] = '\0';
	return 0;
}

/*
 * Takes the first line and the rule of dashes below it. The line holds the thread's name as it is,
 * which may contain a newline and look like any line of 15 bytes, but not like the rule.
 */
static bool sched_header(struct scan *s)
{
	struct scan line;

	while (scan_line(s, &line)) {
		const char *from = line.at;

		while (scan_char(&line, '-'))
			;
		if (line.at - from >= SCHED_RULE_MIN && scan_at_end(&line))
			return true;
	}
	return false;
}

int proc_parse_sched(const char *bytes, size_t len, uint64_t *ret_exec_start_us)
{
	struct scan s = scan_of(bytes, len), line;
	uint64_t ms, ns;

	if (!sched_header(&s))
		return -EINVAL;
	while (scan_line(&s, &line)) {
		const char *decimals;

		if (!scan_str(&line, "se.exec_start"))
			continue;
		(void)scan_blanks(&line);
		if (!scan_char(&line, ':'))
			return -EINVAL;
		(void)scan_blanks(&line);
		if (!scan_u64(&line, UINT64_MAX / 1000 - 1, &ms) || !scan_char(&line, '.'))
			return -EINVAL;
		decimals = line.at;
		if (!scan_u64(&line, 999999, &ns) || line.at - decimals != 6 || !scan_at_end(&line))
			return -EINVAL;
		*ret_exec_start_us = ms * 1000 + ns / 1000;
		return 0;
	}
	return -EINVAL;
}

int proc_parse_schedstat(const char *bytes, size_t len, uint64_t *ret_cpu_ns)
{
	struct scan s = scan_of(bytes, len);
	uint64_t ran, waited, slices;

	if (!scan_u64(&s, UINT64_MAX, &ran) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, UINT64_MAX, &waited) || !scan_char(&s, ' ') ||
	    !scan_u64(&s, UINT64_MAX, &slices) || !scan_char(&s, '\n') || !scan_at_end(&s))
		return -EINVAL;
	*ret_cpu_ns = ran;
	return 0;
}

/* Reads all of "<name>:[<number>]". */
static bool parse_bracketed(struct scan s, uint64_t *ret)
{
	return scan_str(&s, ":[") && scan_u64(&s, UINT64_MAX, ret) && scan_char(&s, ']') &&
	       scan_at_end(&s);
}

int proc_parse_fd_link(const char *bytes, size_t len, uint64_t *ret_ino)
{
	struct scan s = scan_of(bytes, len);
	uint64_t ino;

	/* A file may be called so too; its path begins with '/'. */
	if (!scan_str(&s, "socket") || !parse_bracketed(s, &ino) || !ino)
		return -ENOENT;
	*ret_ino = ino;
	return 0;
}

int proc_parse_ns_link(const char *bytes, size_t len, uint64_t *ret_ino)
{
	struct scan s = scan_of(bytes, len);
	uint64_t ino;

	while (!scan_at_end(&s) && ((*s.at >= 'a' && *s.at <= 'z') || *s.at == '_'))
		s.at++;
	if (s.at == bytes || !parse_bracketed(s, &ino) || !ino)
		return -EINVAL;
	*ret_ino = ino;
	return 0;
}

int proc_parse_fdinfo(const char *bytes, size_t len, uint64_t *ret_mnt_id, uint64_t *ret_ino)
{
	struct scan s = scan_of(bytes, len), line;
	uint64_t mnt_id = 0, ino = 0;
	bool mounted = false;

	/* The kernel's own lines come first, in this order; what a driver adds comes after. */
	while (scan_line(&s, &line)) {
		if (!mounted && scan_str(&line, "mnt_id:")) {
			(void)scan_blanks(&line);
			mounted = scan_u64(&line, UINT64_MAX, &mnt_id) && scan_at_end(&line);
			if (!mounted)
				return -EINVAL;
		} else if (mounted && scan_str(&line, "ino:")) {
			(void)scan_blanks(&line);
			if (!scan_u64(&line, UINT64_MAX, &ino) || !scan_at_end(&line))
				return -EINVAL;
			*ret_mnt_id = mnt_id;
			*ret_ino = ino;
			return 0;
		}
	}
	return -EINVAL;
}

int proc_parse_pss(const char *bytes, size_t len, uint64_t *ret_pss)
{
	struct scan s = scan_of(bytes, len), line;
	uint64_t kib;

	while (scan_line(&s, &line)) {
		if (!scan_str(&line, "Pss:"))
			continue;
		(void)scan_blanks(&line);
		if (!scan_u64(&line, UINT64_MAX / 1024, &kib) || !scan_str(&line, " kB") ||
		    !scan_at_end(&line))
			return -EINVAL;
		*ret_pss = kib * 1024;
		return 0;
	}
	return -EINVAL;
}

/* Takes "<number>:<controllers>:"; the path behind it may hold colons too. */
static bool cgroup_v1_head(struct scan *line)
{
	const char *colon;
	uint64_t id;

	if (!scan_u64(line, INT32_MAX, &id) || !scan_char(line, ':') || scan_at_end(line))
		return false;
	colon = memchr(line->at, ':', (size_t)(line->end - line->at));
	if (!colon)
		return false;
	line->at = colon + 1;
	return true;
}

int proc_parse_cgroup(const char *bytes, size_t len, const char **ret_path, size_t *ret_path_len)
{
	struct scan s = scan_of(bytes, len), line;
	struct scan unified = { 0 }, first = { 0 };

	while (scan_line(&s, &line)) {
		bool v2 = scan_str(&line, "0::");

		if (!v2 && !cgroup_v1_head(&line))
			return -EINVAL;
		if (scan_at_end(&line) || *line.at != '/')
			return -EINVAL;
		if (v2)
			unified = line;
		else if (!first.at || first.end - first.at == 1)
			first = line;
	}
	if (!scan_at_end(&s))
		return -EINVAL;
	if (first.at && (!unified.at || unified.end - unified.at == 1))
		unified = first;
	if (!unified.at)
		return -EINVAL;
	*ret_path = unified.at;
	*ret_path_len = (size_t)(unified.end - unified.at);
	return 0;
}

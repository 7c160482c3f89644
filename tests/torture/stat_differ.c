/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stat_differ LINES`: random lines of /proc/<pid>/stat, with names that are hard to read, through three
 * parsers: reaper's own, libproc2's (by reaper's census of a /proc that is made for it, in a mount
 * namespace), and a naive one that stands here.
 *
 * A whole line: all three take it, and say the same. As many others are no such line: torn (cut before any of
 * its bytes, in the middle of a field too), odd (a number at or beyond a limit, any byte for a state), or glued (the head of one, the
 * tail of another). Of these reaper's own takes those that the naive one takes, and no more: of a torn line
 * none. What it takes all three say alike. libproc2 refuses nothing: what it reads of a line that is refused
 * is no evidence, and not looked at.
 *
 * Exit status: 0; 1: they differ; 77: not allowed to do this here.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/parse.h"
#include "model/snapshot.h"
#include "observe/proc_parse.h"
#include "observe/processes.h"

enum {
	LINES_MAX = 1000000000,
	PROCESSES = 512, /* of one census */
	FIRST = 1000,    /* number */
	LINE_MAX_BYTES = 2048,
	FIELDS = 52,  /* proc_pid_stat(5) */
	SKIPPED = 77, /* of automake */
	SHOWN = 5,
};

/* Fields by their numbers. */
enum {
	STATE = 3,
	PPID = 4,
	PGRP = 5,
	SID = 6,
	FLAGS = 9,
	THREADS = 20,
	START = 22,
	STACK = 28,
	CPU = 39,
	EXIT_CODE = 52,
};

enum kind {
	WHOLE,
	TORN,
	ODD,
	GLUED,
	KIND_COUNT,
};

static const char *const kinds[] = {
	[WHOLE] = "whole",
	[TORN] = "torn",
	[ODD] = "odd",
	[GLUED] = "glued",
};
static_assert(ARRAY_SIZE(kinds) == KIND_COUNT, "every kind has a name");

struct line {
	enum kind kind;
	char bytes[LINE_MAX_BYTES];
	size_t len;
};

/* What came of all lines of a kind. */
struct count {
	uint64_t lines;
	uint64_t refused;
	uint64_t wrong;
};

static struct line lines[PROCESSES];
static struct count counts[KIND_COUNT];
static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static __attribute__((noreturn)) void give_up(const char *what)
{
	(void)fprintf(stderr, "stat_differ: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t dice(uint64_t sides)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * UINT64_C(0x2545f4914f6cdd1d) >> 11) % sides;
}

/* Any byte but NUL, and often those at which a parser may stop. */
static void some_name(char name[16])
{
	static const char hard[] = ") (\n\t1S)\033:.?%-";
	size_t len = dice(16);

	for (size_t i = 0; i < len; i++)
		name[i] = dice(3) ? hard[dice(sizeof(hard) - 1)] : (char)(1 + dice(255));
	name[len] = '\0';
}

static uint64_t some_number(int field)
{
	static const uint64_t edges[] = { 0, 1, 9, 10, INT32_MAX, (uint64_t)INT32_MAX - 1 };

	if (field == START || field == STACK)
		return dice(2) ? dice(UINT64_MAX) : dice(1000000);
	if (field == FLAGS && dice(2))
		return dice((uint64_t)UINT32_MAX + 1);
	return dice(2) ? edges[dice(ARRAY_SIZE(edges))] : dice(100000);
}

/* pgrp and session of one that is just gone are -1; tty_nr, tpgid, the times of children, priority, nice
 * and exit_code may be negative, and rsslim is as large as it can be. */
static bool may_be_negative(int field)
{
	return (field >= PGRP && field <= 8) || (field >= 16 && field <= 19) || field == EXIT_CODE;
}

/* What stands at a limit of some type, or beyond it. */
static const char *some_odd_number(void)
{
	static const char *const odd[] = {
		"-1",
		"-0",
		"-2147483648",
		"-2147483649",
		"2147483647",
		"2147483648",
		"4294967295",
		"4294967296",
		"4294967301",
		"-9223372036854775808",
		"-9223372036854775809",
		"9223372036854775808",
		"18446744073709551615",
		"18446744073709551616",
		"99999999999999999999999",
		"00000000000000000000000000007",
		"",
		"-",
		"--1",
		"+1",
		"0x10",
		" 1",
	};

	return odd[dice(ARRAY_SIZE(odd))];
}

/* @param odd	the field that is odd, or 0. */
static void make_whole(pid_t pid, int odd, struct line *l)
{
	char name[16];
	int at;

	some_name(name);
	at = snprintf(l->bytes, sizeof(l->bytes), "%d (%s) %c", pid, name,
		      odd == STATE ? (char)(1 + dice(255)) : "RSDTtZXxKWPI"[dice(12)]);
	for (int field = PPID; field <= FIELDS; field++) {
		char *to = l->bytes + at;
		size_t room = sizeof(l->bytes) - (size_t)at;

		at += field == odd ? snprintf(to, room, " %s", some_odd_number())
				   : snprintf(to, room, " %s%" PRIu64,
					      may_be_negative(field) && dice(4) == 0 ? "-" : "",
					      some_number(field));
	}
	l->bytes[at++] = '\n';
	l->bytes[at] = '\0';
	l->len = (size_t)at;
}

/* Anywhere behind the number, which libproc2 knows from the directory's name. */
static size_t some_cut(const struct line *l)
{
	size_t name = (size_t)(strchr(l->bytes, '(') + 1 - l->bytes);

	return name + dice(l->len - name);
}

static size_t end_of_name(const struct line *l)
{
	return (size_t)(strrchr(l->bytes, ')') - l->bytes);
}

/* Both in the name or both behind it: the kernel has no name of more than 63 bytes, and libproc2 would
 * write one over its own stack. */
static void glue(pid_t pid, struct line *l)
{
	size_t head = some_cut(l), tail;
	struct line other;

	make_whole(pid, 0, &other);
	do
		tail = some_cut(&other);
	while ((head > end_of_name(l)) != (tail > end_of_name(&other)));
	/* Half of them behind the same field, or hardly one would be whole. */
	if (head > end_of_name(l) && dice(2)) {
		head = end_of_name(l) + 1;
		tail = end_of_name(&other) + 1;
	}
	if (head + other.len - tail >= sizeof(l->bytes))
		return;
	memcpy(l->bytes + head, other.bytes + tail, other.len - tail + 1);
	l->len = head + other.len - tail;
}

static void make_line(pid_t pid, struct line *l)
{
	l->kind = dice(2) ? WHOLE : (enum kind)(TORN + dice(KIND_COUNT - TORN));
	make_whole(pid, l->kind == ODD ? STATE + (int)dice(FIELDS - STATE + 1) : 0, l);
	if (l->kind == GLUED)
		glue(pid, l);
	if (l->kind == TORN) {
		l->len = dice(l->len);
		l->bytes[l->len] = '\0';
	}
}

static void write_line(const char *path, const struct line *l)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);

	if (fd < 0 || write(fd, l->bytes, l->len) != (ssize_t)l->len || close(fd) < 0)
		give_up(path);
}

static void make_all(bool first)
{
	char path[64];

	for (int i = 0; i < PROCESSES; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d", FIRST + i);
		if (first && mkdir(path, 0555) < 0)
			give_up(path);
		make_line(FIRST + i, &lines[i]);
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", FIRST + i);
		write_line(path, &lines[i]);
	}
}

/* Takes a blank and a number as proc_pid_stat(5) prints them. */
static bool read_number(char **at, uint64_t *ret)
{
	bool negative = (*at)[1] == '-';
	size_t digits = strspn(*at + 1 + negative, "0123456789");
	char *end;

	if (**at != ' ' || !digits)
		return false;
	errno = 0;
	*ret = negative ? (uint64_t)strtoll(*at + 1, &end, 10) : strtoull(*at + 1, &end, 10);
	*at = end;
	return errno == 0;
}

static bool is_int(uint64_t value)
{
	return (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX;
}

/* No number of these can be more than its type holds. */
static bool is_possible(const uint64_t value[FIELDS + 1])
{
	return value[PPID] <= INT32_MAX && is_int(value[PGRP]) && is_int(value[SID]) &&
	       value[FLAGS] <= UINT32_MAX && value[THREADS] <= UINT32_MAX &&
	       value[CPU] <= INT32_MAX && is_int(value[EXIT_CODE]);
}

/* By the last bracket, then word by word, and nothing behind the newline. */
static bool read_naively(struct line *l, struct proc *ret)
{
	uint64_t value[FIELDS + 1] = { 0 }, more;
	char *at = strrchr(l->bytes, ')');

	if (!at || at[1] != ' ' || !at[2] || !strchr("RSDTtZXxKWPI", at[2]))
		return false;
	ret->id.pid = (pid_t)strtol(l->bytes, NULL, 10);
	ret->state = at[2];
	at += 3;
	for (int field = PPID; field <= FIELDS; field++)
		if (!read_number(&at, &value[field]))
			return false;
	while (*at == ' ')
		if (!read_number(&at, &more))
			return false;
	if (strcmp(at, "\n") != 0 || !is_possible(value))
		return false;
	ret->ppid = (pid_t)value[PPID];
	ret->pgrp = (pid_t)value[PGRP];
	ret->sid = (pid_t)value[SID];
	ret->flags = (uint32_t)value[FLAGS];
	ret->threads = (uint32_t)value[THREADS];
	ret->id.start = value[START];
	return true;
}

static bool read_by_ours(const struct line *l, struct proc *ret)
{
	struct proc_stat s;

	if (proc_parse_stat(l->bytes, l->len, &s) < 0)
		return false;
	*ret = (struct proc){ .id = { s.pid, s.start },
			      .ppid = s.ppid,
			      .pgrp = s.pgrp,
			      .sid = s.sid,
			      .state = s.state,
			      .flags = s.flags,
			      .threads = s.threads };
	return true;
}

/* One that is just gone has no threads; libproc2 gives it one. */
static bool same_threads(const struct proc *a, const struct proc *b)
{
	return MAX(a->threads, 1u) == MAX(b->threads, 1u);
}

static bool equal(const struct proc *a, const struct proc *b)
{
	return ident_equal(a->id, b->id) && a->ppid == b->ppid && a->pgrp == b->pgrp &&
	       a->sid == b->sid && a->state == b->state && a->flags == b->flags &&
	       same_threads(a, b);
}

/* @return what differs, or NULL. */
static const char *differs(struct line *l, const struct proc *by_libproc2)
{
	struct proc ours = { 0 }, naive = { 0 };
	bool taken = read_by_ours(l, &ours);

	if (taken != read_naively(l, &naive))
		return taken ? "only ours takes it" : "only ours refuses it";
	if (!taken) {
		counts[l->kind].refused++;
		return l->kind == WHOLE ? "ours refuse it" : NULL;
	}
	if (l->kind == TORN)
		return "ours take it";
	if (!equal(&ours, &naive))
		return "ours differ";
	if (!by_libproc2)
		return "libproc2 does not see it";
	return equal(&ours, by_libproc2) ? NULL : "libproc2 differs";
}

static void compare(struct processes *source)
{
	static unsigned shown;
	struct snapshot s;

	if (processes_census(source, &s) < 0)
		give_up("census");
	for (int i = 0; i < PROCESSES; i++) {
		const char *why = differs(&lines[i], snapshot_find(&s, FIRST + i));

		counts[lines[i].kind].lines++;
		if (!why)
			continue;
		counts[lines[i].kind].wrong++;
		if (shown++ < SHOWN)
			printf("%s, %s: %s\n", kinds[lines[i].kind], why, lines[i].bytes);
	}
	snapshot_done(&s);
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		printf("skipped: %s cannot be written: %s\n", path, strerror(errno));
		exit(SKIPPED);
	}
	(void)close(fd);
}

/* A user who may have a user namespace may do this too. */
static void make_proc(void)
{
	char map[64];
	uid_t uid = geteuid();
	struct line self;

	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0) {
		printf("skipped: no mount namespace of its own: %s\n", strerror(errno));
		exit(SKIPPED);
	}
	if (uid)
		write_map("/proc/self/uid_map", map);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
		printf("skipped: no /proc of its own: %s\n", strerror(errno));
		exit(SKIPPED);
	}
	/* libproc2 asks for itself. */
	make_whole(1, 0, &self);
	if (mkdir("/proc/self", 0555) < 0)
		give_up("/proc/self");
	write_line("/proc/self/stat", &self);
}

/* A kind of which all, or none, are refused tries nothing. */
static bool tell(void)
{
	struct count others = { 0 };

	for (enum kind k = TORN; k < KIND_COUNT; k++) {
		others.lines += counts[k].lines;
		others.refused += counts[k].refused;
		others.wrong += counts[k].wrong;
		printf("%s: %" PRIu64 " lines, %" PRIu64 " of them refused\n", kinds[k],
		       counts[k].lines, counts[k].refused);
	}
	printf("figure stat lines, read alike by three parsers: %" PRIu64 " lines, %" PRIu64
	       " wrong\n",
	       counts[WHOLE].lines, counts[WHOLE].wrong);
	printf("figure stat lines that are torn, odd or glued, taken or refused alike: %" PRIu64
	       " lines, %" PRIu64 " wrong\n",
	       others.lines, others.wrong);
	return !counts[WHOLE].wrong && !others.wrong &&
	       counts[TORN].refused == counts[TORN].lines && counts[ODD].refused &&
	       counts[ODD].refused < counts[ODD].lines && counts[GLUED].refused &&
	       counts[GLUED].refused < counts[GLUED].lines;
}

int main(int argc, char **argv)
{
	struct processes *source;
	uint64_t count;

	if (argc != 2 || parse_u64(argv[1], LINES_MAX, &count) < 0) {
		(void)fprintf(stderr, "usage: stat_differ LINES\n");
		return 2;
	}
	make_proc();
	if (processes_open(&source) < 0)
		give_up("census");
	for (bool first = true; first || counts[WHOLE].lines < count; first = false) {
		make_all(first);
		compare(source);
	}
	processes_close(source);
	return tell() ? 0 : 1;
}

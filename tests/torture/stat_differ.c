/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stat_differ LINES`: random lines of /proc/<pid>/stat, with names that are hard to read, through three
 * parsers: reaper's own, libproc2's (by reaper's census of a /proc that is made for it, in a mount
 * namespace), and a naive one that stands here. What they say must be equal.
 *
 * Exit status: 0; 1: they differ; 77: not allowed to do this here.
 */
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
};

struct line {
	char bytes[LINE_MAX_BYTES];
	size_t len;
};

static struct line lines[PROCESSES];
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

/* tty_nr, tpgid, the times of children, priority and nice may be negative, and rsslim is as large as it can
 * be. */
static bool may_be_negative(int field)
{
	return field == 7 || field == 8 || (field >= 16 && field <= 19);
}

static void make_line(pid_t pid, struct line *l)
{
	char name[16];
	int at;

	some_name(name);
	at = snprintf(l->bytes, sizeof(l->bytes), "%d (%s) %c", pid, name,
		      "RSDTtZXxKWPI"[dice(12)]);
	for (int field = PPID; field <= FIELDS; field++)
		at += snprintf(l->bytes + at, sizeof(l->bytes) - (size_t)at, " %s%" PRIu64,
			       may_be_negative(field) && dice(4) == 0 ? "-" : "",
			       some_number(field));
	l->bytes[at++] = '\n';
	l->bytes[at] = '\0';
	l->len = (size_t)at;
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

/* By the last bracket, then word by word. */
static bool read_naively(const struct line *l, struct proc *ret)
{
	uint64_t value[FIELDS + 1] = { 0 };
	char *at = strrchr(l->bytes, ')');

	if (!at)
		return false;
	ret->id.pid = atoi(l->bytes);
	ret->state = at[2];
	at += 3;
	for (int field = PPID; field <= FIELDS; field++) {
		if (*at != ' ')
			return false;
		value[field] =
			at[1] == '-' ? (uint64_t)strtoll(at, &at, 10) : strtoull(at, &at, 10);
	}
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
static const char *differs(const struct line *l, const struct proc *by_libproc2)
{
	struct proc ours = { 0 }, naive = { 0 };

	if (!read_by_ours(l, &ours) || !read_naively(l, &naive))
		return "one of ours refuses it";
	if (!equal(&ours, &naive))
		return "ours differ";
	if (!by_libproc2)
		return "libproc2 does not see it";
	return equal(&ours, by_libproc2) ? NULL : "libproc2 differs";
}

static uint64_t compare(struct processes *source)
{
	static unsigned shown;
	struct snapshot s;
	uint64_t wrong = 0;

	if (processes_census(source, &s) < 0)
		give_up("census");
	for (int i = 0; i < PROCESSES; i++) {
		const char *why = differs(&lines[i], snapshot_find(&s, FIRST + i));

		if (!why)
			continue;
		wrong++;
		if (shown++ < SHOWN)
			printf("%s: %s", why, lines[i].bytes);
	}
	snapshot_done(&s);
	return wrong;
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
	make_line(1, &self);
	if (mkdir("/proc/self", 0555) < 0)
		give_up("/proc/self");
	write_line("/proc/self/stat", &self);
}

int main(int argc, char **argv)
{
	uint64_t count, done, wrong = 0;
	struct processes *source;

	if (argc != 2 || parse_u64(argv[1], LINES_MAX, &count) < 0) {
		(void)fprintf(stderr, "usage: stat_differ LINES\n");
		return 2;
	}
	make_proc();
	if (processes_open(&source) < 0)
		give_up("census");
	for (done = 0; done < count; done += PROCESSES) {
		make_all(!done);
		wrong += compare(source);
	}
	processes_close(source);
	printf("figure stat lines, read alike by three parsers: %" PRIu64 " lines, %" PRIu64
	       " wrong\n",
	       done, wrong);
	return wrong ? 1 : 0;
}

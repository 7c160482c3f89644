/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "observe/proc_parse.h"

static char bytes[FIXTURE_MAX];

Test(proc_parse, syscall)
{
	static const struct {
		const char *text;
		int r;
		bool known;
		int64_t nr;
		uint64_t arg0, arg5, sp, pc;
		const char *why;
	} rows[] = {
		{ "45 0x5 0x7f9afdf32b10 0x64 0x0 0x0 0x6 0x7fff82c78c18 0x7f9afe328929\n", 0, true,
		  45, 5, 6, 0x7fff82c78c18, 0x7f9afe328929, "recvfrom on descriptor 5" },
		{ "7 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", 0, true, 7, UINT64_MAX, 0,
		  1, 2, "all bits of an argument" },
		{ "-1 0x7fff82c78c18 0x7f9afe328929\n", 0, true, -1, 0, 0, 0x7fff82c78c18,
		  0x7f9afe328929, "blocked, but not in a call" },
		{ "running\n", 0, false, 0, 0, 0, 0, 0, "running" },
		{ "running", -EINVAL, false, 0, 0, 0, 0, 0, "torn" },
		{ "runnings\n", -EINVAL, false, 0, 0, 0, 0, 0, "a stranger" },
		{ "", -EINVAL, false, 0, 0, 0, 0, 0, "empty" },
		{ "45\n", -EINVAL, false, 0, 0, 0, 0, 0, "no arguments" },
		{ "-2 0x1 0x2\n", -EINVAL, false, 0, 0, 0, 0, 0, "no such number" },
		{ "-1 0x1 0x2 0x3\n", -EINVAL, false, 0, 0, 0, 0, 0, "too much for no call" },
		{ "45 0x5 0x6 0x64 0x0 0x0 0x0 0x7fff82c78c18\n", -EINVAL, false, 0, 0, 0, 0, 0,
		  "one is missing" },
		{ "45 0x5 0x6 0x64 0x0 0x0 0x0 0x1 0x2 0x3\n", -EINVAL, false, 0, 0, 0, 0, 0,
		  "one too many" },
		{ "45 0x5 0x6 0x64 0x0 0x0 0x0 0x1 0x2", -EINVAL, false, 0, 0, 0, 0, 0, "torn" },
		{ "45 5 0x6 0x64 0x0 0x0 0x0 0x1 0x2\n", -EINVAL, false, 0, 0, 0, 0, 0,
		  "not hexadecimal" },
		{ "45 0x00000000000000005 0x6 0x64 0x0 0x0 0x0 0x1 0x2\n", -EINVAL, false, 0, 0, 0,
		  0, 0, "more than 64 bits" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct wait got = { .wchan = "kept" };

		cr_expect_eq(proc_parse_syscall(rows[i].text, strlen(rows[i].text), &got),
			     rows[i].r, "%s", rows[i].why);
		cr_expect_str_eq(got.wchan, "kept", "%s", rows[i].why);
		cr_expect_eq(got.known, rows[i].known, "%s", rows[i].why);
		cr_expect_eq(got.nr, rows[i].nr, "%s", rows[i].why);
		cr_expect_eq(got.args[0], rows[i].arg0, "%s", rows[i].why);
		cr_expect_eq(got.args[5], rows[i].arg5, "%s", rows[i].why);
		cr_expect_eq(got.sp, rows[i].sp, "%s", rows[i].why);
		cr_expect_eq(got.pc, rows[i].pc, "%s", rows[i].why);
	}
}

Test(proc_parse, wchan)
{
	static const struct {
		const char *text;
		int r;
		const char *name;
		const char *why;
	} rows[] = {
		{ "wait_woken", 0, "wait_woken", "TCP" },
		{ "poll_schedule_timeout.constprop.0", 0, "poll_schedule_timeout",
		  "the compiler's suffixes are no part of it" },
		{ "ep_poll.llvm.123", 0, "ep_poll", "nor are the linker's" },
		{ "0", 0, "", "denied, or running" },
		{ "", 0, "", "nothing" },
		{ "__do_sys_pause", 0, "__do_sys_pause", "underscores" },
		{ "x123456789012345678901234567890123456789012345678901234567890ab", 0,
		  "x123456789012345678901234567890123456789012345678901234567890ab", "63 bytes" },
		{ "x123456789012345678901234567890123456789012345678901234567890abc", -EINVAL,
		  "old", "64 bytes" },
		{ "0xffffffff81000000", -EINVAL, "old", "an address" },
		{ "00", -EINVAL, "old", "no symbol begins with a digit" },
		{ ".constprop.0", -EINVAL, "old", "only a suffix" },
		{ "a b", -EINVAL, "old", "a blank" },
		{ "futex_do_wait\n", -EINVAL, "old", "a newline" },
		{ "poll\x1b.x", -EINVAL, "old", "an escape" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char got[EVIDENCE_WCHAN_MAX] = "old";

		cr_expect_eq(proc_parse_wchan(rows[i].text, strlen(rows[i].text), got), rows[i].r,
			     "%s", rows[i].why);
		cr_expect_str_eq(got, rows[i].name, "%s", rows[i].why);
	}
}

#define RULE "-------------------------------------------------------------------\n"
#define LINE "se.exec_start                                :"

Test(proc_parse, sched)
{
	static const struct {
		const char *text;
		int r;
		uint64_t us;
		const char *why;
	} rows[] = {
		{ "x (7, #threads: 1)\n" RULE LINE "       2852635.151487\n", 0, 2852635151,
		  "plain" },
		{ "x (7, #threads: 1)\n" RULE LINE "             0.000000\n", 0, 0,
		  "never ran here" },
		{ "x (7, #threads: 1)\n" RULE "se.load : 1\n" LINE "  1.000999\n", 0, 1000,
		  "not the first line" },
		{ "se.exec_start:9 (7, #threads: 1)\n" RULE LINE "  1.000000\n", 0, 1000,
		  "a name that poses as the line" },
		{ "x\nse.exec_start: (7, #threads: 1)\n" RULE LINE "  1.000000\n", 0, 1000,
		  "a name with a newline that poses as the line" },
		{ "\n--------------- (7, #threads: 1)\n" RULE LINE "  1.000000\n", 0, 1000,
		  "a name that poses as the rule" },
		{ "x\n--------------\nse.exec_start: 5.000000\n", -EINVAL, 4711,
		  "a rule as long as a name can be is none" },
		{ "x (7, #threads: 1)\n" RULE "se.load : 1\n", -EINVAL, 4711,
		  "the line is not there" },
		{ "x (7, #threads: 1)\n" LINE "  1.000000\n", -EINVAL, 4711, "no rule" },
		{ "x (7, #threads: 1)\n" RULE LINE "  1.000000", -EINVAL, 4711, "torn" },
		{ "x (7, #threads: 1)\n" RULE LINE "  1.00000\n", -EINVAL, 4711, "five decimals" },
		{ "x (7, #threads: 1)\n" RULE LINE "  1.0000001\n", -EINVAL, 4711,
		  "seven decimals" },
		{ "x (7, #threads: 1)\n" RULE LINE "  1\n", -EINVAL, 4711, "no decimals" },
		{ "x (7, #threads: 1)\n" RULE LINE "  -1.000000\n", -EINVAL, 4711, "negative" },
		{ "x (7, #threads: 1)\n" RULE LINE "  1.000000 x\n", -EINVAL, 4711, "a stranger" },
		{ "x (7, #threads: 1)\n" RULE LINE "  99999999999999999999.000000\n", -EINVAL, 4711,
		  "beyond 64 bits" },
		{ "", -EINVAL, 4711, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t us = 4711;

		cr_expect_eq(proc_parse_sched(rows[i].text, strlen(rows[i].text), &us), rows[i].r,
			     "%s", rows[i].why);
		cr_expect_eq(us, rows[i].us, "%s", rows[i].why);
	}
}

Test(proc_parse, sched_fixtures)
{
	static const struct {
		const char *name;
		uint64_t us;
	} rows[] = {
		{ "proc/blocked/sched", 2852635151 },
		{ "proc/posing/sched", 2854682581 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = fixture_read(rows[i].name, bytes);
		uint64_t us = 4711;

		cr_expect_eq(proc_parse_sched(bytes, len, &us), 0, "%s", rows[i].name);
		cr_expect_eq(us, rows[i].us, "%s: %zu", rows[i].name, (size_t)us);
	}
}

Test(proc_parse, schedstat)
{
	static const struct {
		const char *text;
		int r;
		uint64_t ns;
		const char *why;
	} rows[] = {
		{ "1402930 2642927 1\n", 0, 1402930, "plain" },
		{ "0 0 0\n", 0, 0, "a kernel that keeps none" },
		{ "1402930 2642927\n", -EINVAL, 4711, "two numbers" },
		{ "1402930 2642927 1", -EINVAL, 4711, "torn" },
		{ "1402930 2642927 1 2\n", -EINVAL, 4711, "four numbers" },
		{ "-1 2 3\n", -EINVAL, 4711, "negative" },
		{ "", -EINVAL, 4711, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 4711;

		cr_expect_eq(proc_parse_schedstat(rows[i].text, strlen(rows[i].text), &ns),
			     rows[i].r, "%s", rows[i].why);
		cr_expect_eq(ns, rows[i].ns, "%s", rows[i].why);
	}
}

Test(proc_parse, links)
{
	static const struct {
		const char *text;
		int fd_r, ns_r;
		uint64_t ino;
		const char *why;
	} rows[] = {
		{ "socket:[505354]", 0, 0, 505354, "a socket" },
		{ "pid:[4026531836]", -ENOENT, 0, 4026531836, "a namespace" },
		{ "pid_for_children:[4026531836]", -ENOENT, 0, 4026531836, "another" },
		{ "/dev/null", -ENOENT, -EINVAL, 0, "a file" },
		{ "/tmp/socket:[1]", -ENOENT, -EINVAL, 0, "a file that poses as one" },
		{ "socket:[505354] (deleted)", -ENOENT, -EINVAL, 0, "more behind it" },
		{ "socket:[505354", -ENOENT, -EINVAL, 0, "cut" },
		{ "socket:[]", -ENOENT, -EINVAL, 0, "no number" },
		{ "socket:[0]", -ENOENT, -EINVAL, 0, "no inode" },
		{ "socket:[-1]", -ENOENT, -EINVAL, 0, "a sign" },
		{ "socket:[99999999999999999999]", -ENOENT, -EINVAL, 0, "beyond 64 bits" },
		{ ":[1]", -ENOENT, -EINVAL, 0, "no name" },
		{ "", -ENOENT, -EINVAL, 0, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].text);
		uint64_t by_fd = 0, by_ns = 0;

		cr_expect_eq(proc_parse_fd_link(rows[i].text, len, &by_fd), rows[i].fd_r, "%s",
			     rows[i].why);
		cr_expect_eq(proc_parse_ns_link(rows[i].text, len, &by_ns), rows[i].ns_r, "%s",
			     rows[i].why);
		cr_expect_eq(by_fd, rows[i].fd_r ? 0 : rows[i].ino, "%s", rows[i].why);
		cr_expect_eq(by_ns, rows[i].ns_r ? 0 : rows[i].ino, "%s", rows[i].why);
	}
}

Test(proc_parse, fdinfo)
{
	static const struct {
		const char *text;
		int r;
		uint64_t mnt_id, ino;
		const char *why;
	} rows[] = {
		{ "pos:\t0\nflags:\t02000002\nmnt_id:\t10\nino:\t505354\n", 0, 10, 505354,
		  "plain" },
		{ "pos:\t0\nflags:\t02\nmnt_id:\t10\nino:\t5\nino:\t6\ncut", 0, 10, 5,
		  "what a driver adds comes later" },
		{ "pos:\t0\nflags:\t02000002\nmnt_id:\t10\n", -EINVAL, 0, 0, "before Linux 5.14" },
		{ "pos:\t0\nflags:\t02\nmnt_id:\t10\nino:\t5", -EINVAL, 0, 0, "torn" },
		{ "ino:\t5\nmnt_id:\t10\n", -EINVAL, 0, 0, "not in the kernel's order" },
		{ "mnt_id:\tx\nino:\t5\n", -EINVAL, 0, 0, "no number" },
		{ "mnt_id:\t10\nino:\t5x\n", -EINVAL, 0, 0, "a stranger" },
		{ "", -EINVAL, 0, 0, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t mnt_id = 0, ino = 0;

		cr_expect_eq(proc_parse_fdinfo(rows[i].text, strlen(rows[i].text), &mnt_id, &ino),
			     rows[i].r, "%s", rows[i].why);
		cr_expect_eq(mnt_id, rows[i].mnt_id, "%s", rows[i].why);
		cr_expect_eq(ino, rows[i].ino, "%s", rows[i].why);
	}
}

Test(proc_parse, pss)
{
	static const struct {
		const char *text;
		int r;
		uint64_t pss;
		const char *why;
	} rows[] = {
		{ "0-1 ---p 0 00:00 0 [rollup]\nRss:  9 kB\nPss:   6078 kB\nPss_Anon: 1 kB\n", 0,
		  6078 * 1024, "plain" },
		{ "Pss_Dirty: 5 kB\nPss: 0 kB\n", 0, 0, "the whole key" },
		{ "Rss:  9 kB\n", -EINVAL, 4711, "not there" },
		{ "Pss:   6078 MB\n", -EINVAL, 4711, "another unit" },
		{ "Pss:   6078 kB", -EINVAL, 4711, "torn" },
		{ "Pss: 99999999999999999999 kB\n", -EINVAL, 4711, "beyond 64 bits" },
		{ "", -EINVAL, 4711, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t pss = 4711;

		cr_expect_eq(proc_parse_pss(rows[i].text, strlen(rows[i].text), &pss), rows[i].r,
			     "%s", rows[i].why);
		cr_expect_eq(pss, rows[i].pss, "%s", rows[i].why);
	}
}

Test(proc_parse, cgroup)
{
	static const struct {
		const char *text;
		const char *path; /* NULL: refused */
		const char *why;
	} rows[] = {
		{ "0::/user.slice/a\n", "/user.slice/a", "version 2" },
		{ "0::/\n", "/", "the root" },
		{ "1:name=systemd:/v1\n0::/v2\n", "/v2", "both: version 2" },
		{ "4:cpu,cpuacct:/first\n1:name=systemd:/v1\n0::/\n", "/first",
		  "both, but only version 1 says something: the first" },
		{ "9:name=systemd:/\n4:memory:/m\n0::/\n", "/m", "the first that says something" },
		{ "9:name=systemd:/\n4:memory:/\n", "/", "none says anything" },
		{ "4:cpu:/a:b\n", "/a:b", "a colon in the path" },
		{ "0::/a (deleted)\n", "/a (deleted)", "removed meanwhile" },
		{ "0::/cut", NULL, "torn" },
		{ "0::\n", NULL, "no path" },
		{ "0::a\n", NULL, "no path from the root" },
		{ "4:cpu\n", NULL, "one colon" },
		{ "x:cpu:/a\n", NULL, "no number" },
		{ "\n", NULL, "an empty line" },
		{ "", NULL, "empty" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *path = NULL;
		size_t len = 0;
		int r = proc_parse_cgroup(rows[i].text, strlen(rows[i].text), &path, &len);

		cr_expect_eq(r, rows[i].path ? 0 : -EINVAL, "%s", rows[i].why);
		if (r || !rows[i].path)
			continue;
		cr_expect_eq(len, strlen(rows[i].path), "%s", rows[i].why);
		cr_expect_eq(memcmp(path, rows[i].path, len), 0, "%s", rows[i].why);
	}
}

Test(proc_parse, other_fixtures)
{
	uint64_t value = 0, ino = 0;
	struct wait wait = { 0 };
	char name[EVIDENCE_WCHAN_MAX];
	size_t len;

	len = fixture_read("proc/blocked/syscall", bytes);
	cr_expect_eq(proc_parse_syscall(bytes, len, &wait), 0);
	cr_expect(wait.known && wait.nr == 45 && wait.args[0] == 5);
	len = fixture_read("proc/zombie/syscall", bytes);
	cr_expect_eq(proc_parse_syscall(bytes, len, &wait), 0);
	cr_expect(wait.known && wait.nr == -1 && wait.sp == 0);
	len = fixture_read("proc/running/syscall", bytes);
	cr_expect_eq(proc_parse_syscall(bytes, len, &wait), 0);
	cr_expect_not(wait.known);
	len = fixture_read("proc/blocked/wchan", bytes);
	cr_expect_eq(proc_parse_wchan(bytes, len, name), 0);
	cr_expect_str_eq(name, "wait_woken");
	len = fixture_read("proc/blocked/schedstat", bytes);
	cr_expect_eq(proc_parse_schedstat(bytes, len, &value), 0);
	cr_expect_eq(value, 1402930);
	len = fixture_read("proc/blocked/fdinfo", bytes);
	cr_expect_eq(proc_parse_fdinfo(bytes, len, &value, &ino), 0);
	cr_expect_eq(ino, 505354);
	len = fixture_read("proc/blocked/smaps_rollup", bytes);
	cr_expect_eq(proc_parse_pss(bytes, len, &value), 0);
	cr_expect_eq(value, 6078 * 1024);
}

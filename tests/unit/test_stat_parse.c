/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "model/proc.h"
#include "observe/proc_parse.h"

#define RAW(s)  (s), sizeof(s) - 1
#define NUMBERS "0 -1 4194368 0 0 0 0 0 0 0 0 20 0 3 0 8812345 100 200 18446744073709551615 1 1 1 "
#define REST    NUMBERS "0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 139\n"

static char bytes[FIXTURE_MAX];

Test(stat_parse, stat_fixtures)
{
	static const struct {
		const char *name;
		struct proc_stat stat;
		const char *why;
	} rows[] = {
		{ "proc/blocked/stat",
		  { .pid = 25790,
		    .ppid = 25716,
		    .pgrp = 25710,
		    .sid = 28533,
		    .state = 'S',
		    .flags = 4194368,
		    .threads = 1,
		    .start = 287541,
		    .cpu = 0 },
		  "a worker that waits" },
		{ "proc/hostile/stat",
		  { .pid = 25896,
		    .ppid = 25716,
		    .pgrp = 25710,
		    .sid = 28533,
		    .state = 'S',
		    .flags = 4194368,
		    .threads = 1,
		    .start = 287697,
		    .cpu = 1 },
		  "a name with ')', a newline, ESC and a byte that is no UTF-8" },
		{ "proc/running/stat",
		  { .pid = 25946,
		    .ppid = 25716,
		    .pgrp = 25710,
		    .sid = 28533,
		    .state = 'R',
		    .flags = 4194368,
		    .threads = 1,
		    .start = 287849,
		    .cpu = 0 },
		  "one that runs" },
		{ "proc/zombie/stat",
		  { .pid = 25938,
		    .ppid = 25716,
		    .pgrp = 25710,
		    .sid = 28533,
		    .state = 'Z',
		    .flags = 4227148,
		    .threads = 1,
		    .start = 287798,
		    .cpu = 1 },
		  "a zombie" },
		{ "proc/kthread/stat",
		  { .pid = 2,
		    .ppid = 0,
		    .pgrp = 0,
		    .sid = 0,
		    .state = 'S',
		    .flags = 2129984,
		    .threads = 1,
		    .start = 30,
		    .cpu = 0 },
		  "a kernel thread" },
		{ "proc/exiting/stat",
		  { .pid = 23643,
		    .ppid = 0,
		    .pgrp = -1,
		    .sid = -1,
		    .state = 'X',
		    .flags = 4194380,
		    .threads = 0,
		    .start = 275422,
		    .cpu = 0 },
		  "read in the moment in which its parent reaped it" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct proc_stat *want = &rows[i].stat;
		size_t len = fixture_read(rows[i].name, bytes);
		struct proc_stat got = { 0 };

		cr_assert_eq(proc_parse_stat(bytes, len, &got), 0, "%s", rows[i].why);
		cr_expect_eq(got.pid, want->pid, "%s", rows[i].why);
		cr_expect_eq(got.ppid, want->ppid, "%s", rows[i].why);
		cr_expect_eq(got.pgrp, want->pgrp, "%s", rows[i].why);
		cr_expect_eq(got.sid, want->sid, "%s", rows[i].why);
		cr_expect_eq(got.state, want->state, "%s", rows[i].why);
		cr_expect_eq(got.flags, want->flags, "%s", rows[i].why);
		cr_expect_eq(got.threads, want->threads, "%s", rows[i].why);
		cr_expect_eq(got.start, want->start, "%s", rows[i].why);
		cr_expect_eq(got.cpu, want->cpu, "%s", rows[i].why);
	}
	cr_expect_eq(rows[0].stat.flags & PROC_FORKNOEXEC, PROC_FORKNOEXEC);
	cr_expect_eq(rows[4].stat.flags & PROC_KTHREAD, PROC_KTHREAD);
}

Test(stat_parse, stat_rows)
{
	static const struct {
		const char *text;
		size_t len;
		int r;
		const char *why;
	} rows[] = {
		{ RAW("7 (x) S 1 2 3 " REST), 0, "plain" },
		{ RAW("7 (x) S 9) R 1 2 3 " REST), 0, "the last ')' ends the name" },
		{ RAW("7 () S 1 2 3 " REST), 0, "no name" },
		{ RAW("7 (\n) S 1 2 3 " REST), 0, "a newline for a name" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS
		      "0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 139 8\n"),
		  0, "a later kernel appends a number" },
		{ RAW(""), -EINVAL, "nothing" },
		{ RAW("\n"), -EINVAL, "an empty line" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS "0 0\n"), -EINVAL, "too few numbers" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS "0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0"),
		  -EINVAL, "torn: no newline" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS
		      "0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0 x\n"),
		  -EINVAL, "a stranger at the end" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS
		      "0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0\n\n"),
		  -EINVAL, "more than a line" },
		{ RAW("7 (x) S 0 -1 -1 " REST), 0, "one that its parent has just reaped" },
		{ RAW("7 (x) S 1 -2147483648 2147483647 " REST), 0, "as far as an int goes" },
		{ RAW("7 (x) S 1 2147483648 3 " REST), -EINVAL, "no group" },
		{ RAW("7 (x) S 1 -2147483649 3 " REST), -EINVAL, "nor this" },
		{ RAW("7 (x) S 1 4294967298 3 " REST), -EINVAL, "one that would be group 2" },
		{ RAW("7 (x) S 1 2 2147483648 " REST), -EINVAL, "no session" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS
		      "0 0 0 0 -9223372036854775808 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 139\n"),
		  0, "the smallest number" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS
		      "0 0 0 0 -9223372036854775809 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 139\n"),
		  -EINVAL, "one less" },
		{ RAW("7 (x) S 1 2 3 " NUMBERS
		      "0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 2147483648\n"),
		  -EINVAL, "no exit code" },
		{ RAW("7 (x) S  1 2 3 " REST), -EINVAL, "two blanks" },
		{ RAW("7 x S 1 2 3 " REST), -EINVAL, "no name" },
		{ RAW("7 x) S 1 2 3 " REST), -EINVAL, "half of a name" },
		{ RAW("7)( S 1 2 3 " REST), -EINVAL, "the wrong way round" },
		{ RAW("7 (x)S 1 2 3 " REST), -EINVAL, "no blank before the state" },
		{ RAW("7 (x) Q 1 2 3 " REST), -EINVAL, "no such state" },
		{ RAW("7 (x) \0 1 2 3 " REST), -EINVAL, "a NUL for a state" },
		{ RAW("0 (x) S 1 2 3 " REST), -EINVAL, "nobody" },
		{ RAW("-7 (x) S 1 2 3 " REST), -EINVAL, "a negative pid" },
		{ RAW("99999999999 (x) S 1 2 3 " REST), -EINVAL, "a pid beyond 31 bits" },
		{ RAW("7 (x) S -1 2 3 " REST), -EINVAL, "a negative parent" },
		{ RAW("7 (x) S 1 2 3 0 -1 99999999999 0 0 0 0 0 0 0 0 20 0 3 0 1 100 200 1 1 1 1 0 "
		      "0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0\n"),
		  -EINVAL, "flags beyond 32 bits" },
		{ RAW("7 (x) S 1 2 3 0 -1 1 99999999999999999999 0 0 0 0 0 0 0 20 0 3 0 1 100 200 1 1 "
		      "1 1 0 0 0 0 0 2 1 0 0 17 5 0 0 0 0 0 1 1 1 1 1 1 1 0\n"),
		  -EINVAL, "a number beyond 64 bits" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct proc_stat got = { .pid = 4711 };

		cr_expect_eq(proc_parse_stat(rows[i].text, rows[i].len, &got), rows[i].r, "%s",
			     rows[i].why);
		cr_expect_eq(got.pid, rows[i].r ? 4711 : 7, "%s", rows[i].why);
		if (rows[i].r)
			continue;
		cr_expect_eq(got.start, 8812345, "%s", rows[i].why);
		cr_expect_eq(got.cpu, 5, "%s", rows[i].why);
		cr_expect_eq(got.threads, 3, "%s", rows[i].why);
		cr_expect_eq(got.exit_code, 139, "%s", rows[i].why);
	}
}

Test(stat_parse, every_cut_of_a_stat_is_refused)
{
	size_t len = fixture_read("proc/hostile/stat", bytes);
	struct proc_stat got;

	for (size_t cut = 0; cut < len; cut++)
		cr_expect_eq(proc_parse_stat(bytes, cut, &got), -EINVAL, "%zu bytes of it", cut);
}

Test(stat_parse, status_fixtures)
{
	static const struct {
		const char *name;
		struct proc_status status;
		const char *why;
	} rows[] = {
		{ "proc/blocked/status",
		  { .tgid = 25790,
		    .dumping = TRI_NO,
		    .ns_pid = 25790,
		    .ns_depth = 1,
		    .sig_ignored = 0x1001000,
		    .sig_caught = 2,
		    .vm_bytes = 19812 * 1024,
		    .rss_bytes = 12132 * 1024,
		    .anon_bytes = 8260 * 1024,
		    .switches = 1 },
		  "a worker that waits" },
		{ "proc/hostile/status",
		  { .tgid = 25896,
		    .dumping = TRI_NO,
		    .ns_pid = 25896,
		    .ns_depth = 1,
		    .sig_ignored = 0x1001000,
		    .sig_caught = 2,
		    .vm_bytes = 19812 * 1024,
		    .rss_bytes = 12052 * 1024,
		    .anon_bytes = 8260 * 1024,
		    .switches = 1 },
		  "a name with a newline, which is escaped here" },
		{ "proc/zombie/status",
		  { .tgid = 25938,
		    .dumping = TRI_UNKNOWN,
		    .ns_pid = 25938,
		    .ns_depth = 1,
		    .sig_ignored = 0x1001000,
		    .sig_caught = 2,
		    .vm_bytes = UNKNOWN_U64,
		    .rss_bytes = UNKNOWN_U64,
		    .anon_bytes = UNKNOWN_U64,
		    .switches = 1 },
		  "a zombie has no memory" },
		{ "proc/kthread/status",
		  { .tgid = 2,
		    .dumping = TRI_UNKNOWN,
		    .ns_pid = 2,
		    .ns_depth = 1,
		    .sig_ignored = UINT64_MAX,
		    .vm_bytes = UNKNOWN_U64,
		    .rss_bytes = UNKNOWN_U64,
		    .anon_bytes = UNKNOWN_U64,
		    .switches = 72 },
		  "nor has a kernel thread" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct proc_status *want = &rows[i].status;
		size_t len = fixture_read(rows[i].name, bytes);
		struct proc_status got = { 0 };

		cr_assert_eq(proc_parse_status(bytes, len, &got), 0, "%s", rows[i].why);
		cr_expect_eq(got.tgid, want->tgid, "%s", rows[i].why);
		cr_expect_eq(got.tracer, want->tracer, "%s", rows[i].why);
		cr_expect_eq(memcmp(got.uids, want->uids, sizeof(got.uids)), 0, "%s", rows[i].why);
		cr_expect_eq(got.dumping, want->dumping, "%s", rows[i].why);
		cr_expect_eq(got.ns_pid, want->ns_pid, "%s", rows[i].why);
		cr_expect_eq(got.ns_depth, want->ns_depth, "%s", rows[i].why);
		cr_expect_eq(got.sig_blocked, want->sig_blocked, "%s", rows[i].why);
		cr_expect_eq(got.sig_ignored, want->sig_ignored, "%s", rows[i].why);
		cr_expect_eq(got.sig_caught, want->sig_caught, "%s", rows[i].why);
		cr_expect_eq(got.vm_bytes, want->vm_bytes, "%s: %zu", rows[i].why,
			     (size_t)got.vm_bytes / 1024);
		cr_expect_eq(got.rss_bytes, want->rss_bytes, "%s: %zu", rows[i].why,
			     (size_t)got.rss_bytes / 1024);
		cr_expect_eq(got.anon_bytes, want->anon_bytes, "%s: %zu", rows[i].why,
			     (size_t)got.anon_bytes / 1024);
		cr_expect_eq(got.switches, want->switches, "%s: %zu", rows[i].why,
			     (size_t)got.switches);
	}
}

#define STATUS_TOP     "Name:\tx\nTgid:\t7\nTracerPid:\t9\nUid:\t1\t2\t3\t4\n"
#define STATUS_SIGNALS "SigBlk:\t0000000000004000\nSigIgn:\t1\nSigCgt:\tffffffffffffffff\n"
#define STATUS_END     "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n"

Test(stat_parse, status_rows)
{
	static const struct {
		const char *text;
		size_t len;
		int r;
		const char *why;
	} rows[] = {
		{ RAW(STATUS_TOP STATUS_SIGNALS STATUS_END), 0, "only what must be there" },
		{ RAW(STATUS_TOP "NSpid:\t70\t7\t1\nCoreDumping:\t1\n" STATUS_SIGNALS STATUS_END),
		  0, "three pid namespaces" },
		{ RAW(STATUS_TOP "Later:\tkernels say more\n" STATUS_SIGNALS STATUS_END), 0,
		  "an unknown line" },
		{ RAW(""), -EINVAL, "nothing" },
		{ RAW(STATUS_SIGNALS STATUS_END), -EINVAL, "whose is it?" },
		{ RAW(STATUS_TOP STATUS_END), -EINVAL, "no signals" },
		{ RAW(STATUS_TOP STATUS_SIGNALS), -EINVAL, "no switches: torn" },
		{ RAW(STATUS_TOP STATUS_SIGNALS "voluntary_ctxt_switches:\t5\n"
						"nonvoluntary_ctxt_switches:\t6"),
		  -EINVAL, "the last line is torn" },
		{ RAW(STATUS_TOP "Tgid:\t8\n" STATUS_SIGNALS STATUS_END), -EINVAL, "twice" },
		{ RAW("Tgid:\t-7\nTracerPid:\t0\nUid:\t1\t2\t3\t4\n" STATUS_SIGNALS STATUS_END),
		  -EINVAL, "a sign" },
		{ RAW("Tgid:\t7\nTracerPid:\t0\nUid:\t1\t2\t3\n" STATUS_SIGNALS STATUS_END),
		  -EINVAL, "three uids" },
		{ RAW("Tgid:\t7\nTracerPid:\t0\nUid:\t1\t2\t3\t4\t5\n" STATUS_SIGNALS STATUS_END),
		  -EINVAL, "five uids" },
		{ RAW("Tgid:\t7\nTracerPid:\t0\nUid:\t1\t2\t3\t4294967296\n" STATUS_SIGNALS
			      STATUS_END),
		  -EINVAL, "a uid beyond 32 bits" },
		{ RAW(STATUS_TOP "CoreDumping:\t2\n" STATUS_SIGNALS STATUS_END), -EINVAL,
		  "neither yes nor no" },
		{ RAW(STATUS_TOP "VmRSS:\t  5 MB\n" STATUS_SIGNALS STATUS_END), -EINVAL,
		  "another unit" },
		{ RAW(STATUS_TOP "VmRSS:\t99999999999999999999 kB\n" STATUS_SIGNALS STATUS_END),
		  -EINVAL, "beyond 64 bits" },
		{ RAW(STATUS_TOP "NSpid:\t70\t\n" STATUS_SIGNALS STATUS_END), -EINVAL,
		  "an empty field" },
		{ RAW(STATUS_TOP "SigBlk:\t00000000000000001\nSigIgn:\t1\nSigCgt:\t1\n" STATUS_END),
		  -EINVAL, "more than 64 signals" },
		{ RAW(STATUS_TOP "SigBlk:\txyz\nSigIgn:\t1\nSigCgt:\t1\n" STATUS_END), -EINVAL,
		  "no number" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct proc_status got = { .tgid = 4711 };

		cr_expect_eq(proc_parse_status(rows[i].text, rows[i].len, &got), rows[i].r, "%s",
			     rows[i].why);
		cr_expect_eq(got.tgid, rows[i].r ? 4711 : 7, "%s", rows[i].why);
		if (rows[i].r)
			continue;
		cr_expect_eq(got.tracer, 9, "%s", rows[i].why);
		cr_expect_eq(got.uids[3], 4, "%s", rows[i].why);
		cr_expect_eq(got.sig_blocked, 0x4000, "%s", rows[i].why);
		cr_expect_eq(got.sig_caught, UINT64_MAX, "%s", rows[i].why);
		cr_expect_eq(got.switches, 11, "both kinds: %s", rows[i].why);
	}
}

Test(stat_parse, status_in_a_deep_namespace)
{
	static const char text[] = STATUS_TOP "NSpid:\t70\t7\t1\n" STATUS_SIGNALS STATUS_END;
	static const char older[] = STATUS_TOP STATUS_SIGNALS STATUS_END;
	struct proc_status got;

	cr_assert_eq(proc_parse_status(RAW(text), &got), 0);
	cr_expect_eq(got.ns_pid, 1, "the last field counts");
	cr_expect_eq(got.ns_depth, 3);
	cr_assert_eq(proc_parse_status(RAW(older), &got), 0);
	cr_expect_eq(got.ns_pid, 0);
	cr_expect_eq(got.ns_depth, 0);
	cr_expect_eq(got.dumping, TRI_UNKNOWN);
	cr_expect_eq(got.vm_bytes, UNKNOWN_U64);
	cr_expect_eq(got.rss_bytes, UNKNOWN_U64);
}

Test(stat_parse, every_cut_of_a_status_is_refused)
{
	size_t len = fixture_read("proc/blocked/status", bytes);
	struct proc_status got;

	for (size_t cut = 0; cut < len; cut++)
		cr_expect_eq(proc_parse_status(bytes, cut, &got), -EINVAL, "%zu bytes of it", cut);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a worker moved between the looks, for how long it has been blocked, and what its host's
 * markers add. In the scene it has been in one same wait for a minute, silent for 20 s.
 */
#include "scene.h"

#define MOVED              E(main_cpu_ns, 1234567890 + 1), E(cpu_ns, 1234567890 + 1)
#define SILENT(ms)         T(silent_ms, ms)
#define JIFFY              10 /* a byte is dated no better */
#define ALL_THE_WHILE      (SCENE_STILL + JIFFY)
#define ITS_SOCKET         (100000 + SCENE_WORKER)
#define BLOCKED(ms)        E(blocked_ms, ms)
#define CORE_MS            1000000 /* nanoseconds of one core in a millisecond */
#define BEFORE(member, by) B(member, SCENE_NOW - (by))

static const struct row {
	const char *why;
	bool first_look;
	struct change worker[6], socket[5], before[5];
	enum tri progress;
	uint64_t blocked_ms, silent_ms;
	uint32_t cpu_ppm;
} rows[] = {
	{ "nothing moved", .progress = TRI_NO, .blocked_ms = 20000, .silent_ms = 20000 },
	{ "its main thread ran", .worker = { MOVED }, .progress = TRI_YES, .blocked_ms = 20000,
	  .silent_ms = 20000 },
	{ "its main thread was switched in", .worker = { E(main_switches, 4712) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = 20000 },
	{ "how long its main thread ran is not known now",
	  .worker = { E(main_cpu_ns, UNKNOWN_U64) }, .progress = TRI_YES, .blocked_ms = 20000,
	  .silent_ms = 20000 },
	{ "nor ever was: the same unknown is no standstill",
	  .worker = { E(main_cpu_ns, UNKNOWN_U64) }, .before = { B(main_cpu_ns, UNKNOWN_U64) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = 20000 },
	{ "the same with its switches", .worker = { E(main_switches, UNKNOWN_U64) },
	  .before = { B(main_switches, UNKNOWN_U64) }, .progress = TRI_YES, .blocked_ms = 20000,
	  .silent_ms = 20000 },
	{ "a byte since the look before, or just at it", .socket = { SILENT(10000 + JIFFY - 1) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = 10000 + JIFFY - 1 },
	{ "the last byte before the look before", .socket = { SILENT(10000 + JIFFY) },
	  .progress = TRI_NO, .blocked_ms = 20000, .silent_ms = 10000 + JIFFY },
	{ "the table was read when the byte was older, and the worker looked at before that",
	  .socket = { SILENT(10000 + JIFFY), T(read_ms, SCENE_NOW + 1) }, .progress = TRI_YES,
	  .blocked_ms = 20000, .silent_ms = 10000 + JIFFY },
	{ "a byte, and then its host hung up", .socket = { SILENT(5000), T(host_held, TRI_NO) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = 5000 },
	{ "a unix socket's queue grew", .socket = { SILENT(UNKNOWN_U64), T(recv_queue, 5) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = 20000 },
	{ "or its other queue", .socket = { SILENT(UNKNOWN_U64), T(send_queue, 5) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = 20000 },
	{ "a unix socket's queues stand still", .socket = { SILENT(UNKNOWN_U64) },
	  .progress = TRI_NO, .blocked_ms = 20000, .silent_ms = 20000 },
	{ "it has read an old byte", .socket = { T(recv_queue, 5) }, .progress = TRI_YES,
	  .blocked_ms = 20000, .silent_ms = 20000 },
	{ "an old byte has left it", .socket = { T(send_queue, 5) }, .progress = TRI_YES,
	  .blocked_ms = 20000, .silent_ms = 20000 },
	{ "it has read a byte of a host that hung up",
	  .socket = { T(recv_queue, 5), T(host_held, TRI_NO) }, .progress = TRI_YES,
	  .blocked_ms = 20000, .silent_ms = 20000 },

	{ "its other threads wake for ever: 0.16 % of a core",
	  .worker = { E(cpu_ns, 1234567890 + 16 * CORE_MS) }, .progress = TRI_NO,
	  .blocked_ms = 20000, .silent_ms = 20000, .cpu_ppm = 1600 },
	{ "just below idle_cpu", .worker = { E(cpu_ns, 1234567890 + 100 * CORE_MS - 1) },
	  .progress = TRI_NO, .blocked_ms = 20000, .silent_ms = 20000, .cpu_ppm = 9999 },
	{ "just idle_cpu", .worker = { E(cpu_ns, 1234567890 + 100 * CORE_MS) }, .progress = TRI_YES,
	  .blocked_ms = 20000, .silent_ms = 20000, .cpu_ppm = 10000 },
	{ "six threads busy for an hour between two looks",
	  .worker = { E(cpu_ns, 1234567890 + 6ull * BUILD_HOUR * CORE_MS) },
	  .socket = { SILENT(BUILD_HOUR) }, .before = { BEFORE(before_ms, BUILD_HOUR) },
	  .progress = TRI_YES, .blocked_ms = 20000, .silent_ms = BUILD_HOUR, .cpu_ppm = 6000000 },
	{ "more than the number can hold", .worker = { E(cpu_ns, UNKNOWN_U64 - 1) },
	  .before = { BEFORE(before_ms, 1) }, .progress = TRI_YES, .blocked_ms = 20000,
	  .silent_ms = 20000, .cpu_ppm = UINT32_MAX - 1 },
	{ "its CPU time is not known now", .worker = { E(cpu_ns, UNKNOWN_U64) },
	  .progress = TRI_UNKNOWN, .blocked_ms = 20000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "it was not known before", .before = { B(cpu_ns, UNKNOWN_U64) }, .progress = TRI_UNKNOWN,
	  .blocked_ms = 20000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "it went backwards: this is not the same process",
	  .before = { B(cpu_ns, 1234567890 + 1) }, .progress = TRI_UNKNOWN, .blocked_ms = 20000,
	  .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "no time between the looks", .before = { BEFORE(before_ms, 0) }, .progress = TRI_UNKNOWN,
	  .blocked_ms = 20000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "a look before that is yet to come", .socket = { SILENT(UNKNOWN_U64) },
	  .before = { B(before_ms, SCENE_NOW + 1) }, .progress = TRI_UNKNOWN, .blocked_ms = 20000,
	  .silent_ms = 20000, .cpu_ppm = UINT32_MAX },

	{ "one look is enough where no thread has run for the timeout", .first_look = true,
	  .worker = { BLOCKED(300000), E(others_blocked_ms, 300000) }, .progress = TRI_NO,
	  .blocked_ms = 300000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "its main thread ran a moment too late", .first_look = true,
	  .worker = { BLOCKED(299999), E(others_blocked_ms, 300000) }, .progress = TRI_UNKNOWN,
	  .blocked_ms = 299999, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "another thread did", .first_look = true,
	  .worker = { BLOCKED(300000), E(others_blocked_ms, 299999) }, .progress = TRI_UNKNOWN,
	  .blocked_ms = 300000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "when its main thread ran is not known", .first_look = true,
	  .worker = { BLOCKED(UNKNOWN_U64), E(others_blocked_ms, 300000) }, .progress = TRI_UNKNOWN,
	  .blocked_ms = UNKNOWN_U64, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "when the others ran is not known", .first_look = true,
	  .worker = { BLOCKED(300000), E(others_blocked_ms, UNKNOWN_U64) }, .progress = TRI_UNKNOWN,
	  .blocked_ms = 300000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "what is on disk is no look to compare with",
	  .worker = { BLOCKED(300000), E(others_blocked_ms, 300000) },
	  .before = { B(before_known, false), B(looks, 1), B(main_cpu_ns, 0), B(cpu_ns, 0) },
	  .progress = TRI_NO, .blocked_ms = 300000, .silent_ms = 20000, .cpu_ppm = UINT32_MAX },

	{ "a call that wakes and waits again, silent all the while, is one wait",
	  .worker = { MOVED, BLOCKED(50) }, .socket = { SILENT(ALL_THE_WHILE) }, .progress = TRI_NO,
	  .blocked_ms = SCENE_STILL, .silent_ms = ALL_THE_WHILE },
	{ "the third look that shows it", .worker = { MOVED, BLOCKED(50) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .before = { B(looks, 2) }, .progress = TRI_NO,
	  .blocked_ms = SCENE_STILL, .silent_ms = ALL_THE_WHILE },
	{ "two looks are not enough", .worker = { MOVED, BLOCKED(50) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .before = { B(looks, 1) }, .progress = TRI_YES,
	  .blocked_ms = 50, .silent_ms = ALL_THE_WHILE },
	{ "another call", .worker = { MOVED, BLOCKED(50) }, .socket = { SILENT(ALL_THE_WHILE) },
	  .before = { B(nr, 7) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE },
	{ "from another frame", .worker = { MOVED, BLOCKED(50), E(main.sp, 0x7ffd00000e00) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE },
	{ "from another place in the code",
	  .worker = { MOVED, BLOCKED(50), E(main.pc, 0x7f0000009999) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE },
	{ "what it waited in before is not known", .worker = { MOVED, BLOCKED(50) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .before = { B(wait_known, false) },
	  .progress = TRI_YES, .blocked_ms = 50, .silent_ms = ALL_THE_WHILE },
	{ "a byte within the wait: it served in between", .worker = { MOVED, BLOCKED(50) },
	  .socket = { SILENT(ALL_THE_WHILE - 1) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE - 1 },
	{ "whether there was a byte is not known: a unix socket that the host holds",
	  .worker = { MOVED, BLOCKED(50) }, .socket = { SILENT(UNKNOWN_U64) }, .progress = TRI_YES,
	  .blocked_ms = 50, .silent_ms = 50 },
	{ "a unix socket whose other end nobody held at the look before either",
	  .worker = { MOVED, BLOCKED(50) }, .socket = { SILENT(UNKNOWN_U64), T(host_held, TRI_NO) },
	  .before = { B(closed_ino, ITS_SOCKET) }, .progress = TRI_NO, .blocked_ms = SCENE_STILL,
	  .silent_ms = SCENE_STILL },
	{ "it was another socket", .worker = { MOVED, BLOCKED(50) },
	  .socket = { SILENT(UNKNOWN_U64), T(host_held, TRI_NO) },
	  .before = { B(closed_ino, ITS_SOCKET + 1) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = 50 },
	{ "somebody may hold it again", .worker = { MOVED, BLOCKED(50) },
	  .socket = { SILENT(UNKNOWN_U64), T(host_held, TRI_UNKNOWN) },
	  .before = { B(closed_ino, ITS_SOCKET) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = 50 },
	{ "it wakes so often that it works",
	  .worker = { E(main_cpu_ns, 1), BLOCKED(50), E(cpu_ns, 1234567890 + 100 * CORE_MS) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE, .cpu_ppm = 10000 },
	{ "how much it works is not known",
	  .worker = { E(main_cpu_ns, 1), BLOCKED(50), E(cpu_ns, UNKNOWN_U64) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE, .cpu_ppm = UINT32_MAX },
	{ "it has slept for longer than the looks know", .worker = { BLOCKED(BUILD_HOUR) },
	  .socket = { SILENT(BUILD_HOUR) }, .progress = TRI_NO, .blocked_ms = BUILD_HOUR,
	  .silent_ms = BUILD_HOUR },
	{ "a loop, and the kernel does not say when it ran",
	  .worker = { MOVED, BLOCKED(UNKNOWN_U64) }, .socket = { SILENT(ALL_THE_WHILE) },
	  .progress = TRI_NO, .blocked_ms = SCENE_STILL, .silent_ms = ALL_THE_WHILE },
	{ "the call may not be read: the same kernel function",
	  .worker = { MOVED, BLOCKED(50), E(main.known, false) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .before = { B(wchan[0], 'w') }, .progress = TRI_NO,
	  .blocked_ms = SCENE_STILL, .silent_ms = ALL_THE_WHILE },
	{ "another kernel function",
	  .worker = { MOVED, BLOCKED(50), E(main.known, false), E(main.wchan[0], 'x') },
	  .socket = { SILENT(ALL_THE_WHILE) }, .before = { B(wchan[0], 'w') }, .progress = TRI_YES,
	  .blocked_ms = 50, .silent_ms = ALL_THE_WHILE },
	{ "the call could be read before, and cannot now",
	  .worker = { MOVED, BLOCKED(50), E(main.known, false) },
	  .socket = { SILENT(ALL_THE_WHILE) }, .progress = TRI_YES, .blocked_ms = 50,
	  .silent_ms = ALL_THE_WHILE },

	{ "without the scheduler's word: since its counters stand still",
	  .worker = { BLOCKED(UNKNOWN_U64) }, .before = { BEFORE(still_ms, 30000) },
	  .progress = TRI_NO, .blocked_ms = 30000, .silent_ms = 20000 },
	{ "without it, and they move", .worker = { BLOCKED(UNKNOWN_U64), MOVED },
	  .progress = TRI_YES, .blocked_ms = UNKNOWN_U64, .silent_ms = 20000 },
	{ "without it, in another wait", .worker = { BLOCKED(UNKNOWN_U64) }, .before = { B(nr, 7) },
	  .progress = TRI_NO, .blocked_ms = UNKNOWN_U64, .silent_ms = 20000 },
	{ "without it, and what is on disk has no counters", .worker = { BLOCKED(UNKNOWN_U64) },
	  .before = { B(before_known, false) }, .progress = TRI_UNKNOWN, .blocked_ms = UNKNOWN_U64,
	  .silent_ms = 20000, .cpu_ppm = UINT32_MAX },
	{ "with it, its counters are not asked", .worker = { BLOCKED(20000) },
	  .before = { BEFORE(still_ms, 30000) }, .progress = TRI_NO, .blocked_ms = 20000,
	  .silent_ms = 20000 },
};

static void set_wchan(struct history_entry *b)
{
	if (b->wchan[0])
		memcpy(b->wchan, "wait_woken", sizeof("wait_woken"));
}

Test(correlate_activity, rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		const struct facts *f;
		struct scene s;

		scene_make(&s);
		change_list(&s.worker->ev, r->worker, ARRAY_SIZE(r->worker));
		change_list(&s.worker->socket, r->socket, ARRAY_SIZE(r->socket));
		change_list(&s.before, r->before, ARRAY_SIZE(r->before));
		set_wchan(&s.before);
		f = scene_facts(&s, r->first_look);
		cr_expect_eq(f->progress, r->progress, "%s: progress %d, not %d", r->why,
			     f->progress, r->progress);
		cr_expect_eq(f->blocked_ms, r->blocked_ms, "%s: blocked for %lu, not %lu", r->why,
			     f->blocked_ms, r->blocked_ms);
		cr_expect_eq(f->silent_ms, r->silent_ms, "%s: silent for %lu, not %lu", r->why,
			     f->silent_ms, r->silent_ms);
		cr_expect_eq(f->cpu_ppm, r->cpu_ppm, "%s: %u ppm, not %u", r->why, f->cpu_ppm,
			     r->cpu_ppm);
		scene_done(&s);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one look leaves for the next, and what two looks, moments apart, must agree in.
 */
#include "scene.h"

Test(correlate_looks, the_first_is_remembered)
{
	bool holds[FENCE_COUNT] = { [FENCE_PEER_CLOSED] = true };
	struct history_entry e = { .class_index = -1 };
	struct scene s;

	for (size_t i = 0; i < FENCE_COUNT; i++)
		e.fence_ms[i] = UNKNOWN_U64;
	scene_make(&s);
	correlate_remember(&s.policy, s.worker, holds, SCENE_NOW - 5, &e);
	cr_expect(e.before_known);
	cr_expect_eq(e.before_ms, SCENE_NOW);
	cr_expect_eq(e.main_cpu_ns, s.worker->ev.main_cpu_ns);
	cr_expect_eq(e.main_switches, s.worker->ev.main_switches);
	cr_expect_eq(e.cpu_ns, s.worker->ev.cpu_ns);
	cr_expect_eq(e.recv_queue, s.worker->socket.recv_queue);
	cr_expect_eq(e.send_queue, s.worker->socket.send_queue);
	cr_expect_eq(e.exe.ino, s.worker->ev.exe.ino);
	cr_expect_eq(e.exe.dev, s.worker->ev.exe.dev);
	cr_expect_eq(e.uid, s.worker->ev.uids[1]);
	cr_expect_eq(e.pid_ns, s.worker->ev.pid_ns);
	cr_expect_eq(e.net_ns, s.worker->ev.net_ns);
	cr_expect_eq(e.daemon.pid, SCENE_DAEMON);
	cr_expect_eq(e.host.pid, SCENE_HOST);
	cr_expect_eq(e.class_index, 0);
	cr_expect(e.wait_known);
	cr_expect_eq(e.nr, s.worker->ev.main.nr);
	cr_expect_eq(e.sp, s.worker->ev.main.sp);
	cr_expect_eq(e.pc, s.worker->ev.main.pc);
	cr_expect_str_empty(e.wchan, "the call is known, its place is not asked");
	cr_expect_eq(e.looks, 1);
	cr_expect_eq(e.wait_ms, SCENE_NOW, "a long look counts from where it ended");
	cr_expect_eq(e.still_ms, SCENE_NOW);
	cr_expect_eq(e.fence_ms[FENCE_PEER_CLOSED], SCENE_NOW);
	cr_expect_eq(e.fence_ms[FENCE_HOST_GONE], UNKNOWN_U64);
	scene_done(&s);
}

Test(correlate_looks, a_closed_end_is_remembered_until_somebody_holds_it)
{
	static const struct {
		enum tri held;
		uint64_t want;
	} looks[] = { { TRI_YES, 0 },
		      { TRI_NO, 5000 },
		      { TRI_UNKNOWN, 5000 },
		      { TRI_YES, 0 },
		      { TRI_UNKNOWN, 0 } };
	const bool holds[FENCE_COUNT] = { false };
	struct scene s;

	scene_make(&s);
	s.worker->socket.ino = 5000;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		s.worker->socket.host_held = looks[i].held;
		s.worker->ev.taken_ms = SCENE_NOW + i;
		correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
		cr_expect_eq(s.before.closed_ino, looks[i].want, "look %zu", i);
		cr_expect_eq(s.before.held_ms, i < 3 ? SCENE_NOW : SCENE_NOW + 3, "look %zu", i);
	}
	scene_done(&s);
}

Test(correlate_looks, a_process_that_was_gone_leaves_the_time_of_the_look)
{
	bool holds[FENCE_COUNT] = { [FENCE_HOST_GONE] = true };
	struct scene s;

	scene_make(&s);
	s.worker->ev.taken_ms = 0;
	s.before.fence_ms[FENCE_HOST_GONE] = UNKNOWN_U64;
	correlate_remember(&s.policy, s.worker, holds, 77, &s.before);
	cr_expect_eq(s.before.fence_ms[FENCE_HOST_GONE], 77);
	scene_done(&s);
}

static const struct {
	const char *why;
	struct change worker[5], before[5];
	uint64_t wait_ms, still_ms;
	uint32_t looks;
	bool wait_known;
	char wchan[16];
} waits[] = {
	{ "the same wait, nothing ran",
	  {},
	  {},
	  SCENE_NOW - SCENE_STILL,
	  SCENE_NOW - SCENE_STILL,
	  6,
	  true,
	  "" },
	{ "the same wait, its main thread ran",
	  { E(main_cpu_ns, 1) },
	  {},
	  SCENE_NOW - SCENE_STILL,
	  SCENE_NOW,
	  6,
	  true,
	  "" },
	{ "the same wait, it was switched in",
	  { E(main_switches, 1) },
	  {},
	  SCENE_NOW - SCENE_STILL,
	  SCENE_NOW,
	  6,
	  true,
	  "" },
	{ "the same wait as on disk",
	  {},
	  { B(before_known, false) },
	  SCENE_NOW - SCENE_STILL,
	  SCENE_NOW,
	  6,
	  true,
	  "" },
	{ "the same wait as on disk, just idle_cpu later",
	  { E(cpu_ns, 1234567890 + 10000ull * SCENE_APART) },
	  { B(before_known, false) },
	  SCENE_NOW,
	  SCENE_NOW,
	  1,
	  true,
	  "" },
	{ "the same wait as on disk, which does not say what it had used of a CPU",
	  {},
	  { B(before_known, false), B(cpu_ns, UNKNOWN_U64), B(before_ms, 0) },
	  SCENE_NOW,
	  SCENE_NOW,
	  1,
	  true,
	  "" },
	{ "the same wait, and what it used of a CPU is not known",
	  { E(cpu_ns, UNKNOWN_U64) },
	  {},
	  SCENE_NOW,
	  SCENE_NOW - SCENE_STILL,
	  1,
	  true,
	  "" },
	{ "the same wait, in no time",
	  {},
	  { B(before_ms, SCENE_NOW) },
	  SCENE_NOW - SCENE_STILL,
	  SCENE_NOW - SCENE_STILL,
	  6,
	  true,
	  "" },
	{ "the same call, just idle_cpu later",
	  { E(cpu_ns, 1234567890 + 10000ull * SCENE_APART) },
	  {},
	  SCENE_NOW,
	  SCENE_NOW - SCENE_STILL,
	  1,
	  true,
	  "" },
	{ "another call", { E(main.nr, 7) }, {}, SCENE_NOW, SCENE_NOW - SCENE_STILL, 1, true, "" },
	{ "another call, and its place is not known",
	  { E(main.nr, 7), E(main.wchan[0], 0) },
	  {},
	  SCENE_NOW,
	  SCENE_NOW - SCENE_STILL,
	  1,
	  true,
	  "" },
	{ "the call is not known, its place is",
	  { E(main.known, false) },
	  {},
	  SCENE_NOW,
	  SCENE_NOW - SCENE_STILL,
	  1,
	  true,
	  "wait_woken" },
	{ "nothing is known",
	  { E(main.known, false), E(main.wchan[0], 0) },
	  {},
	  SCENE_NOW,
	  SCENE_NOW - SCENE_STILL,
	  1,
	  false,
	  "" },
	{ "nothing was known",
	  {},
	  { B(wait_known, false) },
	  SCENE_NOW,
	  SCENE_NOW - SCENE_STILL,
	  1,
	  true,
	  "" },
};

Test(correlate_looks, waits)
{
	const bool holds[FENCE_COUNT] = { false };

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		const char *why = waits[i].why;
		struct scene s;

		scene_make(&s);
		s.worker->socket.silent_ms = BUILD_HOUR;
		change_list(&s.worker->ev, waits[i].worker, ARRAY_SIZE(waits[i].worker));
		change_list(&s.before, waits[i].before, ARRAY_SIZE(waits[i].before));
		correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
		cr_expect_eq(s.before.wait_ms, waits[i].wait_ms, "%s: %lu", why, s.before.wait_ms);
		cr_expect_eq(s.before.still_ms, waits[i].still_ms, "%s: %lu", why,
			     s.before.still_ms);
		cr_expect_eq(s.before.looks, waits[i].looks, "%s: %u looks", why, s.before.looks);
		cr_expect_eq(s.before.wait_known, waits[i].wait_known, "%s", why);
		cr_expect_str_eq(s.before.wchan, waits[i].wchan, "%s: %s", why, s.before.wchan);
		scene_done(&s);
	}
}

Test(correlate_looks, a_place_is_forgotten_when_the_call_is_known)
{
	const bool holds[FENCE_COUNT] = { false };
	struct scene s;

	scene_make(&s);
	memcpy(s.before.wchan, "pipe_read", sizeof("pipe_read"));
	correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
	cr_expect_str_empty(s.before.wchan);
	cr_expect_eq(s.before.looks, 1);
	scene_done(&s);
}

Test(correlate_looks, fences_hold_on_or_begin_anew)
{
	bool holds[FENCE_COUNT] = { [FENCE_PEER_CLOSED] = true, [FENCE_RETIRED] = true };
	struct scene s;

	scene_make(&s);
	s.before.fence_ms[FENCE_PEER_CLOSED] = 100;
	s.before.fence_ms[FENCE_HOST_GONE] = 100;
	correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
	cr_expect_eq(s.before.fence_ms[FENCE_PEER_CLOSED], 100, "it has held since");
	cr_expect_eq(s.before.fence_ms[FENCE_HOST_GONE], UNKNOWN_U64, "it holds no more");
	cr_expect_eq(s.before.fence_ms[FENCE_RETIRED], SCENE_NOW, "it holds from now on");
	scene_done(&s);
}

Test(correlate_looks, whose_worker_it_was)
{
	static const struct {
		const char *why;
		struct facts facts;
		bool before;
		pid_t want;
	} rows[] = {
		{ "all that a worker of his is", {}, false, SCENE_DAEMON },
		{ "another user's was only adopted", { .foreign_uid = true }, false, 0 },
		{ "it became another user's", { .foreign_uid = true }, true, 0 },
		{ "it runs something else", { .changed = true }, false, 0 },
		{ "it runs something else since", { .changed = true }, true, SCENE_DAEMON },
		{ "of another namespace", { .other_pidns = true }, false, 0 },
		{ "nobody knows what it is", { .unreadable = true }, false, 0 },
		{ "nobody knows what it is now", { .unreadable = true }, true, SCENE_DAEMON },
	};
	const bool holds[FENCE_COUNT] = { false };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;

		scene_make(&s);
		s.before.daemon = rows[i].before ? s.worker->daemon_id : (struct ident){ 0 };
		s.worker->facts = rows[i].facts;
		correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
		cr_expect_eq(s.before.daemon.pid, rows[i].want, "%s", rows[i].why);
		scene_done(&s);
	}
}

Test(correlate_looks, an_orphan_keeps_the_parents_it_had)
{
	const bool holds[FENCE_COUNT] = { false };
	struct scene s;

	scene_make(&s);
	s.before.daemon = s.worker->daemon_id;
	s.before.host = s.worker->host_id;
	s.worker->daemon_id.pid = 0;
	s.worker->host_id.pid = 0;
	correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
	cr_expect_eq(s.before.daemon.pid, SCENE_DAEMON);
	cr_expect_eq(s.before.host.pid, SCENE_HOST);
	scene_done(&s);
}

/* The next look counts on from what the last one left: three looks make a loop. */
Test(correlate_looks, three_looks_make_one_wait)
{
	const bool holds[FENCE_COUNT] = { false };
	struct history_entry e = { 0 };
	struct scene s;

	scene_make(&s);
	s.before = e;
	for (unsigned look = 1; look <= 4; look++) {
		struct evidence *ev = &s.worker->ev;
		const struct facts *f;

		ev->taken_ms = SCENE_NOW + look * SCENE_APART;
		s.worker->socket.read_ms = ev->taken_ms;
		ev->main_switches += 10;
		ev->blocked_ms = 100;
		s.worker->socket.silent_ms = BUILD_HOUR;
		f = scene_facts(&s, look == 1);
		cr_expect_eq(f->blocked_ms, look < 3 ? 100 : (look - 1) * SCENE_APART,
			     "look %u: %lu", look, f->blocked_ms);
		cr_expect_eq(f->progress,
			     look == 1  ? TRI_UNKNOWN
			     : look < 3 ? TRI_YES
					: TRI_NO,
			     "look %u", look);
		correlate_remember(&s.policy, s.worker, holds, ev->taken_ms, &s.before);
	}
	scene_done(&s);
}

/* One that wakes all the while in the same wait, and did something else before the fourth look. */
static void looks_with_a_fourth(uint64_t cpu_ns, uint64_t silent_ms, uint64_t recv_queue)
{
	const bool holds[FENCE_COUNT] = { false };
	struct history_entry e = { 0 };
	struct scene s;

	scene_make(&s);
	s.before = e;
	for (unsigned look = 1; look <= 6; look++) {
		struct evidence *ev = &s.worker->ev;
		bool loop = look == 3 || look == 6;
		const struct facts *f;

		ev->taken_ms = SCENE_NOW + look * SCENE_APART;
		s.worker->socket.read_ms = ev->taken_ms;
		ev->main_switches += 10;
		ev->cpu_ns += look == 4 ? cpu_ns : 0;
		ev->blocked_ms = 100;
		s.worker->socket.silent_ms = BUILD_HOUR;
		if (look >= 4) {
			s.worker->socket.silent_ms = silent_ms + (look - 4) * SCENE_APART;
			s.worker->socket.recv_queue = recv_queue;
		}
		f = scene_facts(&s, look == 1);
		cr_expect_eq(f->progress,
			     look == 1 ? TRI_UNKNOWN
			     : loop    ? TRI_NO
				       : TRI_YES,
			     "look %u", look);
		if (look != 4)
			cr_expect_eq(f->blocked_ms, loop ? 2 * SCENE_APART : 100, "look %u: %lu",
				     look, f->blocked_ms);
		correlate_remember(&s.policy, s.worker, holds, ev->taken_ms, &s.before);
	}
	scene_done(&s);
}

Test(correlate_looks, work_begins_the_wait_anew)
{
	looks_with_a_fourth(UINT64_C(5000000000), BUILD_HOUR, 0);
}

Test(correlate_looks, a_byte_begins_the_wait_anew)
{
	looks_with_a_fourth(0, 5 * BUILD_SECOND, 0);
}

Test(correlate_looks, a_byte_that_it_read_begins_the_wait_anew)
{
	looks_with_a_fourth(0, BUILD_HOUR, 7);
}

/* What is on disk is no look to compare with, but the connection's clock tells that it served since. */
Test(correlate_looks, a_byte_within_a_wait_on_disk_begins_it_anew)
{
	const bool holds[FENCE_COUNT] = { false };
	struct scene s;

	scene_make(&s);
	s.before.before_known = false;
	s.before.recv_queue = s.before.send_queue = UNKNOWN_U64;
	s.worker->socket.silent_ms = SCENE_STILL + 10;
	correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
	cr_expect_eq(s.before.wait_ms, SCENE_NOW - SCENE_STILL, "it served before");
	s.before.before_known = false;
	s.worker->socket.silent_ms = SCENE_STILL + 9;
	correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
	cr_expect_eq(s.before.wait_ms, SCENE_NOW);
	cr_expect_eq(s.before.looks, 1);
	scene_done(&s);
}

/* A wait begins where a look ended, which had seen its worker before: what came in between it may have served
 * since. */
Test(correlate_looks, a_byte_within_the_look_that_began_the_wait_begins_it_anew)
{
	const bool holds[FENCE_COUNT] = { false };
	struct scene s;

	for (uint64_t silent_ms = 1009; silent_ms <= 1010; silent_ms++) {
		scene_make(&s);
		s.before.before_ms = SCENE_NOW - 1000;
		s.before.wait_ms = SCENE_NOW - 900;
		s.worker->socket.silent_ms = silent_ms;
		correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
		cr_expect_eq(s.before.wait_ms, silent_ms < 1010 ? SCENE_NOW : SCENE_NOW - 900);
		scene_done(&s);
	}
}

/* Of a unix socket no clock tells: what came between two runs is not known, unless the one before saw that
 * nobody was left to send it. */
Test(correlate_looks, a_wait_on_disk_of_a_unix_socket)
{
	static const struct {
		const char *why;
		enum tri held;
		uint64_t closed_ms;
		bool goes_on;
	} rows[] = {
		{ "its host holds the other end", TRI_YES, UNKNOWN_U64, false },
		{ "nobody does now", TRI_NO, UNKNOWN_U64, false },
		{ "nobody did when the run before ended", TRI_NO, SCENE_NOW - SCENE_APART, true },
		{ "nobody did for long", TRI_NO, SCENE_NOW - SCENE_STILL, true },
		{ "nobody did from this look on", TRI_NO, SCENE_NOW - SCENE_APART + 1, false },
		{ "it is not known now", TRI_UNKNOWN, SCENE_NOW - SCENE_STILL, false },
	};
	const bool holds[FENCE_COUNT] = { [FENCE_PEER_CLOSED] = true };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;

		scene_make(&s);
		s.before.before_known = false;
		s.before.before_ms = SCENE_NOW - SCENE_APART;
		s.before.fence_ms[FENCE_PEER_CLOSED] = rows[i].closed_ms;
		s.worker->socket.silent_ms = UNKNOWN_U64;
		s.worker->socket.host_held = rows[i].held;
		correlate_remember(&s.policy, s.worker, holds, SCENE_NOW, &s.before);
		cr_expect_eq(s.before.wait_ms,
			     rows[i].goes_on ? SCENE_NOW - SCENE_STILL : SCENE_NOW, "%s",
			     rows[i].why);
		scene_done(&s);
	}
}

/* Of a unix socket no clock tells when its last byte came: it may have been just before its host hung up. */
Test(correlate_looks, a_hangup_begins_the_wait_anew)
{
	const bool holds[FENCE_COUNT] = { false };
	struct scene s;

	scene_make(&s);
	s.worker->socket.silent_ms = UNKNOWN_U64;
	s.worker->socket.host_held = TRI_NO;
	for (unsigned look = 1; look <= 3; look++) {
		s.worker->ev.taken_ms = SCENE_NOW + look * SCENE_APART;
		s.worker->socket.read_ms = s.worker->ev.taken_ms;
		correlate_remember(&s.policy, s.worker, holds, s.worker->ev.taken_ms, &s.before);
		cr_expect_eq(s.before.wait_ms, SCENE_NOW + SCENE_APART, "look %u", look);
		cr_expect_eq(s.before.looks, look);
	}
	scene_done(&s);
}

#define S(member, new_value) CHANGE(subject, member, new_value)

static const struct {
	const char *why;
	const char *want; /* a word of the phrase; NULL: they agree */
	struct change second[2];
} differences[] = {
	{ "nothing", NULL, {} },
	{ "its number", "another process", { S(id.pid, 9) } },
	{ "when it began", "another process", { S(id.start, 9) } },
	{ "its executable", "identity", { S(ev.exe.ino, 9) } },
	{ "the device of its executable", "identity", { S(ev.exe.dev, 9) } },
	{ "its real uid", "identity", { S(ev.uids[0], 9) } },
	{ "its effective uid", "identity", { S(ev.uids[1], 9) } },
	{ "its file system uid", "identity", { S(ev.uids[3], 9) } },
	{ "its pid namespace", "identity", { S(ev.pid_ns, 9) } },
	{ "its network namespace", "identity", { S(ev.net_ns, 9) } },
	{ "that it never exec'ed", "identity", { S(ev.flags, 0) } },
	{ "what it is", "place in the tree", { S(role, ROLE_HELPER) } },
	{ "its parent: its daemon died", "place in the tree", { S(ppid, 1) } },
	{ "its task socket", "task socket", { S(socket.ino, 9) } },
	{ "who holds its task socket", "task socket", { S(socket.state, SOCKET_PEER_CLOSED) } },
	{ "bytes for it", "task socket", { S(socket.recv_queue, 9) } },
	{ "bytes from it", "task socket", { S(socket.send_queue, 9) } },
	{ "the proof that counts", "proof", { S(verdict.fence, FENCE_RETIRED) } },
	{ "how many threads it has", "threads", { S(ev.threads, 9) } },
	{ "ages go on", NULL, { S(ev.taken_ms, SCENE_NOW + 100), S(ev.blocked_ms, 99999) } },
};

Test(correlate_looks, differences)
{
	for (size_t i = 0; i < ARRAY_SIZE(differences); i++) {
		struct subject second;
		const char *got;
		struct scene s;

		scene_make(&s);
		second = *s.worker;
		change_list(&second, differences[i].second, ARRAY_SIZE(differences[i].second));
		got = correlate_difference(s.worker, &second);
		if (!differences[i].want)
			cr_expect_null(got, "%s: %s", differences[i].why, got);
		else
			cr_expect(got && strstr(got, differences[i].want), "%s: %s",
				  differences[i].why, got ? got : "they agree");
		scene_done(&s);
	}
}

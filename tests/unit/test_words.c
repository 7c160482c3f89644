/* SPDX-License-Identifier: Apache-2.0 */
#include "report/words.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "golden.h"

Test(words, ages)
{
	static const struct {
		uint64_t ms;
		const char *expected;
		const char *why;
	} rows[] = {
		{ 0, "0.0s", "just now" },
		{ 99, "0.0s", "rounded down, so that nothing looks older than it is" },
		{ 1299, "1.2s", "below ten seconds one decimal counts" },
		{ 9999, "9.9s", "up to there" },
		{ 10000, "10s", "from there seconds do" },
		{ 59999, "59s", "up to a minute" },
		{ 60000, "1m", "minutes" },
		{ 3599999, "59m", "up to an hour" },
		{ 3600000, "1h", "a whole hour has no minutes" },
		{ 11520000, "3h12m", "hours and minutes" },
		{ 86399999, "23h59m", "up to a day" },
		{ 86400000, "1d", "a whole day has no hours" },
		{ 187200000, "2d4h", "days and hours" },
		{ UNKNOWN_U64, "?", "unknown" },
		{ UNKNOWN_U64 - 1, "213503982334d14h", "the largest has room" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char age[WORDS_SHORT_MAX];

		cr_expect_str_eq(words_age(rows[i].ms, age, sizeof(age)), rows[i].expected, "%s",
				 rows[i].why);
	}
}

Test(words, sizes)
{
	static const struct {
		uint64_t bytes;
		const char *expected;
		const char *why;
	} rows[] = {
		{ 0, "0 B", "nothing" },
		{ 1023, "1023 B", "bytes have no decimal" },
		{ 1024, "1.0 KiB", "below ten units one decimal counts" },
		{ 10239, "9.9 KiB", "rounded down" },
		{ 10240, "10 KiB", "from ten units on none does" },
		{ 88 * BUILD_MIB, "88 MiB", "a worker" },
		{ 1434 * BUILD_MIB, "1.4 GiB", "a large worker" },
		{ 1023 * BUILD_MIB, "1023 MiB", "no unit is left early" },
		{ UNKNOWN_U64, "?", "unknown" },
		{ UNKNOWN_U64 - 1, "15 EiB", "the largest" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char size[WORDS_SHORT_MAX];

		cr_expect_str_eq(words_size(rows[i].bytes, size, sizeof(size)), rows[i].expected,
				 "%s", rows[i].why);
	}
}

Test(words, rates)
{
	static const struct {
		int64_t per_s;
		const char *expected;
	} rows[] = {
		{ 4 * (int64_t)BUILD_MIB, "+4.0 MiB/s" },
		{ 0, "+0 B/s" },
		{ -12 * (int64_t)BUILD_KIB, "-12 KiB/s" },
		{ INT64_MIN, "-8.0 EiB/s" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char rate[WORDS_SHORT_MAX + 4];

		cr_expect_str_eq(words_rate(rows[i].per_s, rate, sizeof(rate)), rows[i].expected);
	}
}

Test(words, names_are_escaped_and_cut_at_whole_characters)
{
	static const struct {
		const char *raw;
		size_t size;
		const char *expected;
		const char *why;
	} rows[] = {
		{ "17", 8, "17", "short" },
		{ "1234567", 8, "1234567", "just fits" },
		{ "12345678", 8, "1234...", "one too many" },
		{ "", 8, "", "empty" },
		{ "a\x1b[31m", WORDS_NAME_MAX, "a\\x1b[31m", "escaped" },
		{ "\x1b\x1b", 8, "\\x1b...", "no torn escape" },
		{ "12\x1b\x1b", 8, "12...", "an escape that has no room is left out" },
		{ "\xe6\xb1\x89\xe6\xb1\x89\xe6\xb1\x89", 8, "\xe6\xb1\x89...",
		  "no torn character" },
		{ "\\x\\x\\x\\x", 8, "\\x\\x...", "a backslash that escapes nothing" },
		{ "\xff", 8, "\\xff", "no UTF-8" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[WORDS_NAME_MAX];

		cr_expect_str_eq(words_name(rows[i].raw, name, rows[i].size), rows[i].expected,
				 "%s", rows[i].why);
	}
}

/* Small at the front, no full stop, printable: so it can follow a colon and be followed by one. */
static void expect_sentence(const char *text, const char *where)
{
	size_t len = strlen(text);

	cr_expect(len > 0 && len < WORDS_MAX - 1, "%s: %zu bytes", where, len);
	cr_expect(len && text[len - 1] != ' ', "%s: %s", where, text);
	cr_expect(len < 3 || text[len - 1] != '.' || !strcmp(text + len - 3, "..."), "%s: %s",
		  where, text);
	for (size_t i = 0; i < len; i++)
		cr_expect((unsigned char)text[i] >= 0x20 && text[i] != 0x7f, "%s: %s", where, text);
}

/* A subject with that reason, as decide() would leave it. */
static void with_reason(struct subject *s, enum reason r)
{
	if (r >= REASON_HOST_GONE) {
		build_reap(s, FENCE_HOST_GONE + (r - REASON_HOST_GONE), 12 * BUILD_MINUTE);
		return;
	}
	s->verdict.reason = r;
	s->verdict.action = r >= REASON_SILENT ? ACTION_SUSPECT : ACTION_KEEP;
	s->verdict.fence = FENCE_NONE;
	s->verdict.missing = MISSING_NOTHING;
	if (r == REASON_FENCE_OFF || r == REASON_WAITING) {
		s->verdict.fence = FENCE_SIGNED_OFF;
		s->verdict.fence_age_ms = 2 * BUILD_MINUTE;
		s->verdict.due_in_ms = 3 * BUILD_MINUTE;
	}
}

static void say(struct buf *out, const char *what, const char *name, const char *text)
{
	expect_sentence(text, name);
	buf_printf(out, "%s %s: %s\n", what, name, text);
}

static void say_subjects(struct buf *out, struct audit *a)
{
	char text[WORDS_MAX];
	struct subject *s;

	build_host(a, 4711);
	build_daemon(a, 0, 4790);
	s = build_worker(a, 0, 4801);
	for (enum reason r = 0; r < REASON_COUNT; r++) {
		with_reason(s, r);
		say(out, "why", reason_name(r), words_why(a, s, text));
		expect_sentence(words_why(NULL, s, text), "without an audit");
	}
	for (enum missing m = MISSING_NOTHING + 1; m < MISSING_COUNT; m++) {
		build_suspect(s, m, 22 * BUILD_MINUTE);
		say(out, "why", "silent", words_why(a, s, text));
		say(out, "missing", words_missing(m), words_how_to_get(m));
	}
	s->marks.open = 1;
	s->marks.open_since_ms = a->wall_ms - 4 * BUILD_MINUTE;
	s->marks.task_count = 1;
	snprintf(s->marks.tasks[0], MARKER_ID_MAX, "17");
	with_reason(s, REASON_SERVING);
	say(out, "why", "serving, one task", words_why(a, s, text));
	say(out, "why without an audit", "serving, one task", words_why(NULL, s, text));
	s->marks.open = 3;
	say(out, "why", "serving, three tasks", words_why(a, s, text));
	s->marks.retired_by_operator = true;
	with_reason(s, REASON_RETIRED);
	say(out, "why", "retired by the operator", words_why(a, s, text));
	s->marks.retired = true;
	say(out, "why", "retired by both", words_why(a, s, text));
}

/* Into which limit, and who would pay. */
static void say_growing(struct buf *out, struct audit *a)
{
	char text[WORDS_MAX];
	int class_index = build_lone_class(a);
	struct subject *s = build_single(a, class_index, 5001), *other;
	struct memory *m;

	build_growing(a, s);
	m = s->memory;
	say(out, "why", "growing, another is killed", words_why(a, s, text));
	other = build_single(a, class_index, 5000);
	snprintf(other->label, sizeof(other->label), "ps");
	s = audit_find(a, 5001);
	say(out, "why", "growing, one of another role is killed", words_why(a, s, text));
	say(out, "why without an audit", "growing", words_why(NULL, s, text));
	m->limit.of = MEMORY_LIMIT_MACHINE;
	m->victim.id = s->id;
	say(out, "why", "growing, it is killed itself", words_why(a, s, text));
	m->limit.of = MEMORY_LIMIT_UNKNOWN;
	m->until_limit_ms = UNKNOWN_U64;
	m->victim.id.pid = 0;
	say(out, "why", "growing into what is not known", words_why(a, s, text));
	m->limit =
		(struct memory_limit){ .of = MEMORY_LIMIT_CGROUP, .limit_bytes = UINT64_MAX - 1 };
	memset(m->limit.cgroup, '\n', MEMORY_CGROUP_MAX - 1);
	m->trend.anon_per_s = INT64_MIN;
	m->until_limit_ms = UNKNOWN_U64 - 1;
	m->victim.id = (struct ident){ 4194304, 1 };
	memset(m->victim.comm, '\x1b', PROC_COMM_MAX - 1);
	say(out, "why", "growing, hostile names", words_why(a, s, text));
}

static void say_helpers(struct buf *out, struct audit *a)
{
	char text[WORDS_MAX];
	struct subject *worker = &a->subjects[0], *s;

	worker->verdict.action = ACTION_KEEP;
	build_helper(a, 4810);
	worker = &a->subjects[0];
	s = &a->subjects[1];
	say(out, "why", "helper of a worker that stays", words_why(a, s, text));
	build_reap(worker, FENCE_PEER_CLOSED, BUILD_HOUR);
	say(out, "why", "helper that is spared", words_why(a, s, text));
	build_reap(s, FENCE_PEER_CLOSED, BUILD_HOUR);
	say(out, "why", "helper", words_why(a, s, text));
	s->holds_task_socket = true;
	say(out, "why", "helper with the socket", words_why(a, s, text));
	say(out, "why without an audit", "helper", words_why(NULL, s, text));
	say(out, "why", "daemon", words_why_daemon(a, &a->daemons[0], text));
	a->daemons[0].verdict.reason = REASON_IDLE_DAEMON;
	a->daemons[0].idle_ms = 20 * BUILD_MINUTE;
	say(out, "why", "idle daemon", words_why_daemon(a, &a->daemons[0], text));
	a->daemons[0].host = -1;
	say(out, "why", "idle daemon, no host", words_why_daemon(a, &a->daemons[0], text));
}

static void say_proofs(struct buf *out)
{
	static const char *const answers[] = { "unknown", "no", "yes" };
	struct facts f = build_facts((struct ident){ 4801, 1 });
	char text[WORDS_MAX], name[64];

	for (enum fence fence = FENCE_NONE + 1; fence < FENCE_COUNT; fence++)
		for (enum tri holds = TRI_UNKNOWN; holds <= TRI_YES; holds++) {
			const char *how = words_proof_how(fence, holds);

			snprintf(name, sizeof(name), "%s %s", fence_name(fence), answers[holds]);
			say(out, "proof", name, words_proof(fence, holds, NULL, text));
			expect_sentence(words_proof(fence, holds, &f, text), name);
			if (how)
				say(out, "how", name, how);
		}
}

static void say_proof(struct buf *out, enum fence fence, enum tri holds, const struct facts *f,
		      const char *when)
{
	char text[WORDS_MAX];

	say(out, "proof", when, words_proof(fence, holds, f, text));
}

/* What the facts add to a proof. */
static void say_special_proofs(struct buf *out)
{
	struct facts f = build_facts((struct ident){ 4801, 1 });

	f.single = true;
	say_proof(out, FENCE_HOST_GONE, TRI_NO, &f, "a program that stands alone");
	f.single = false;
	f.host_gone = TRI_YES;
	say_proof(out, FENCE_HOST_GONE, TRI_NO, &f, "host gone, end held");
	f.host_held = TRI_UNKNOWN;
	say_proof(out, FENCE_HOST_GONE, TRI_UNKNOWN, &f, "host gone, end unknown");
	f.socket = SOCKET_NONE;
	say_proof(out, FENCE_HOST_GONE, TRI_NO, &f, "host gone, no socket");
	say_proof(out, FENCE_PEER_CLOSED, TRI_NO, &f, "no socket");
	f.socket = SOCKET_SIGNED_OFF;
	say_proof(out, FENCE_PEER_CLOSED, TRI_NO, &f, "signed off, end unknown");
	f.host_gone = TRI_UNKNOWN;
	say_proof(out, FENCE_HOST_GONE, TRI_NO, &f, "way up broken, end held");
	f.host_held = TRI_YES;
	f.socket = SOCKET_HALF_CLOSED;
	f.closing = true;
	say_proof(out, FENCE_PEER_CLOSED, TRI_NO, &f, "half shut down");
	f.in_signoff_call = true;
	say_proof(out, FENCE_SIGNED_OFF, TRI_NO, &f, "bytes under way");
	f.retired_by_operator = true;
	say_proof(out, FENCE_RETIRED, TRI_YES, &f, "retired by the operator");
	f.host_log = true;
	say_proof(out, FENCE_TASK_ENDED, TRI_NO, &f, "ended, pool unknown");
	f.pooled = true;
	say_proof(out, FENCE_TASK_ENDED, TRI_NO, &f, "pooled");
	f.leased = true;
	say_proof(out, FENCE_TASK_ENDED, TRI_NO, &f, "leased");
	f.late_byte = TRI_YES;
	say_proof(out, FENCE_TASK_ENDED, TRI_NO, &f, "late byte");
	f.tasks_open = 1;
	say_proof(out, FENCE_TASK_ENDED, TRI_NO, &f, "open task");
	f.logs_whole = false;
	say_proof(out, FENCE_TASK_ENDED, TRI_UNKNOWN, &f, "logs torn");
	f.host_log = false;
	say_proof(out, FENCE_TASK_ENDED, TRI_NO, &f, "no log");
}

static void say_guards(struct buf *out)
{
	struct facts f = build_facts((struct ident){ 4801, 1 });
	char text[WORDS_MAX];

	for (enum reason r = 0; r < REASON_COUNT; r++) {
		if (!reason_is_guard(r))
			continue;
		say(out, "fine", reason_name(r), words_guard(r, false, &f, text));
		say(out, "objects", reason_name(r), words_guard(r, true, &f, text));
		expect_sentence(words_guard(r, true, NULL, text), "without facts");
		expect_sentence(words_guard(r, false, NULL, text), "without facts");
	}
	f.recv_queue = f.send_queue = f.host_recv_queue = 0;
	f.host_writes = TRI_YES;
	say(out, "objects", "a writer", words_guard(REASON_UNREAD_BYTES, true, &f, text));
	f.host_writes = TRI_UNKNOWN;
	say(out, "objects", "no threads", words_guard(REASON_UNREAD_BYTES, true, &f, text));
}

static void say_actions(struct buf *out)
{
	static const int signals[] = { 0, SIGTERM, SIGKILL };
	char text[WORDS_MAX];

	for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
		for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
			struct action_record action = { .id = { 4801, 1 },
							.role = i ? ROLE_WORKER : ROLE_HELPER,
							.signal = signals[i],
							.outcome = o,
							.freed_bytes =
								i ? 88 * BUILD_MIB : UNKNOWN_U64,
							.took_ms = i ? i * 800 : UNKNOWN_U64 };

			say(out, "action", outcome_name(o), words_action(&action, text));
		}
}

Test(words, every_sentence)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };

	say_subjects(&out, &a);
	say_helpers(&out, &a);
	say_growing(&out, &a);
	say_proofs(&out);
	say_special_proofs(&out);
	say_guards(&out);
	say_actions(&out);
	golden_expect("words.txt", &out);
}

/* However long and odd what others named, a sentence stays whole. */
Test(words, hostile_names_fit)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	char text[WORDS_MAX];
	struct subject *s;

	build_host(&a, 4711);
	build_daemon(&a, 0, 4790);
	s = build_worker(&a, 0, 4801);
	s->facts.wait = WAIT_UNKNOWN;
	memset(s->ev.main.wchan, '\x1b', EVIDENCE_WCHAN_MAX - 1);
	memset(s->marks.tasks[0], '\n', MARKER_ID_MAX - 1);
	s->marks.task_count = 1;
	s->marks.open = UINT32_MAX;
	s->marks.open_since_ms = 1;
	s->facts.recv_queue = s->facts.send_queue = s->facts.host_recv_queue = UNKNOWN_U64 - 1;
	for (enum reason r = 0; r < REASON_COUNT; r++) {
		with_reason(s, r);
		s->verdict.missing = r == REASON_SILENT ? MISSING_POOL_WORD : MISSING_NOTHING;
		s->facts.silent_ms = s->verdict.fence_age_ms = UNKNOWN_U64 - 1;
		expect_sentence(words_why(&a, s, text), reason_name(r));
		cr_expect_null(strchr(text, '\x1b'), "%s", reason_name(r));
	}
}

Test(words, the_wait_is_a_call_or_a_channel)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	char name[WORDS_NAME_MAX];
	struct subject *s;

	build_host(&a, 4711);
	build_daemon(&a, 0, 4790);
	s = build_worker(&a, 0, 4801);
	cr_expect_str_eq(words_wait(s, name), "read", "a known call");
	s->facts.wait = WAIT_UNKNOWN;
	cr_expect_str_eq(words_wait(s, name), "wait_woken", "where it is unknown, the channel");
	s->ev.main.wchan[0] = '\0';
	cr_expect_null(words_wait(s, name), "neither");
	s->facts.wait = WAIT_POLL;
	s->facts.id.pid = 0;
	cr_expect_null(words_wait(s, name), "no facts were gathered: 0 is no knowledge");
}

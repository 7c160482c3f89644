/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text.h"

#include <assert.h>
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "report/line.h"

#define LONG_NAME "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
static_assert(sizeof(LONG_NAME) == PROC_COMM_MAX, "as long as a name can be");

/* Every line of it must fit; what it is must be in the golden file. */
static void golden(const char *name, const struct buf *out)
{
	const char *wrong = build_golden(name, out);

	cr_assert(!out->failed, "%s: no memory", name);
	cr_expect(!wrong, "%s: %s", name, wrong);
	cr_expect(build_columns(out) <= LINE_WIDTH, "%s: %u columns", name, build_columns(out));
}

static void golden_audit(const char *name, const struct audit *a, struct text_style style)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	text_audit(a, &style, &out);
	golden(name, &out);
}

static void serving(struct audit *a, struct subject *s)
{
	s->verdict.reason = REASON_SERVING;
	s->marks.host_log = true;
	s->marks.logs_whole = true;
	s->marks.state = MARKS_OPEN;
	s->marks.bound = 1;
	s->marks.open = 1;
	s->marks.open_since_ms = a->wall_ms - 4 * BUILD_MINUTE;
	s->marks.task_count = 1;
	snprintf(s->marks.tasks[0], MARKER_ID_MAX, "17");
	snprintf(s->marks.job, MARKER_ID_MAX, "3");
	s->facts.cpu_ppm = 980000;
	s->ev.rss_bytes = 212 * BUILD_MIB;
}

/* One host with a worker of every kind that people meet. */
static struct audit population(void)
{
	struct audit a = build_audit();
	struct host *h = build_host(&a, 4711);
	struct subject *s;

	snprintf(h->log, sizeof(h->log), "spark-4711.log");
	h->log_age_ms = 1200;
	build_daemon(&a, 0, 4790);
	build_daemon(&a, 0, 4791)->class_index = 1;
	serving(&a, build_worker(&a, 0, 4801));
	s = build_worker(&a, 0, 4802);
	s->verdict.reason = REASON_POOLED;
	s = build_worker(&a, 0, 4803);
	build_reap(s, FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	s->facts.wait = WAIT_POLL;
	s->ev.rss_bytes = 1434 * BUILD_MIB;
	s->ev.pss_bytes = 1127 * BUILD_MIB;
	s = build_helper(&a, 4810);
	build_reap(s, FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	s->holds_task_socket = true;
	build_reap(build_helper(&a, 4811), FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	build_suspect(build_worker(&a, 0, 4804), MISSING_MARKERS, 22 * BUILD_MINUTE);
	s = build_worker(&a, 1, 4806);
	build_suspect(s, MISSING_POOL_WORD, 22 * BUILD_MINUTE);
	s->socket.recv_queue = 120 * BUILD_KIB;
	build_helper(&a, 4899);
	build_lost_helper(&a, 0, 4820);
	return a;
}

Test(text, draws_the_tree)
{
	_cleanup_(audit_done) struct audit a = population();

	golden_audit("tree.txt", &a, (struct text_style){ .utf8 = true });
	golden_audit("tree-color.txt", &a, (struct text_style){ .utf8 = true, .color = true });
	golden_audit("tree-ascii.txt", &a, (struct text_style){ .utf8 = false });
	golden_audit("tree-narrow.txt", &a, (struct text_style){ .utf8 = true, .width = 60 });
}

Test(text, wide_and_unknown_terminals_get_80_columns)
{
	static const unsigned widths[] = { 0, 80, 81, 200, 65535 };
	_cleanup_(audit_done) struct audit a = population();

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		golden_audit("tree.txt", &a,
			     (struct text_style){ .utf8 = true, .width = widths[i] });
}

Test(text, verbose_says_what_was_skipped_and_how_to_get_a_proof)
{
	_cleanup_(audit_done) struct audit a = population();

	a.bad_records = 3;
	snprintf(a.bad_record, sizeof(a.bad_record), "spark-4711.log:17: no such event");
	golden_audit("tree-verbose.txt", &a, (struct text_style){ .utf8 = true, .verbose = true });
}

/* Daemons without a host, workers without a daemon, hosts without either. */
Test(text, groups_what_lost_its_host_or_daemon)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	struct host *h;
	struct daemon *d;
	struct subject *s;

	h = build_host(&a, 300);
	h->label[0] = '\0';
	h = build_host(&a, 301);
	h->alive = false;
	snprintf(h->log, sizeof(h->log), "old.log");
	h->log_age_ms = 3 * 24 * BUILD_HOUR;
	h = build_host(&a, 302);
	h->unreadable = true;
	h->uid = 1001;
	build_host(&a, 303)->named = true;
	build_daemon(&a, 0, 400);
	d = build_daemon(&a, 0, 401);
	d->idle_ms = 20 * BUILD_MINUTE;
	d->verdict.action = ACTION_SUSPECT;
	d->verdict.reason = REASON_IDLE_DAEMON;
	build_daemon(&a, -1, 402);
	build_worker(&a, 0, 500);
	build_worker(&a, 2, 501);
	s = build_worker(&a, -1, 502);
	s->host = 0;
	s->verdict.reason = REASON_POOLED;
	build_reap(build_worker(&a, -1, 503), FENCE_HOST_GONE, 2 * BUILD_HOUR);
	build_reap(build_helper(&a, 504), FENCE_HOST_GONE, 2 * BUILD_HOUR);
	build_reap(build_worker(&a, -1, 505), FENCE_HOST_GONE, 2 * BUILD_HOUR);
	build_lost_helper(&a, 0, 506);
	build_lost_helper(&a, -1, 507);
	golden_audit("tree-orphans.txt", &a, (struct text_style){ .utf8 = true });
}

/* One row for every reason, so that each shape of line is in the file. */
Test(text, has_words_for_every_reason)
{
	_cleanup_(audit_done) struct audit a = build_audit();

	build_host(&a, 4711);
	build_daemon(&a, 0, 4790);
	for (enum reason r = 0; r < REASON_COUNT; r++) {
		struct subject *s = build_worker(&a, 0, 4194000 + (pid_t)r);

		if (r >= REASON_HOST_GONE) {
			build_reap(s, FENCE_HOST_GONE + (r - REASON_HOST_GONE), BUILD_HOUR);
			cr_assert_eq(s->verdict.reason, r);
			continue;
		}
		if (r == REASON_OPEN_TASK || r == REASON_SERVING || r == REASON_RUNNING)
			serving(&a, s);
		if (r == REASON_SILENT)
			build_suspect(s, MISSING_BINDING, BUILD_HOUR);
		s->verdict.reason = r;
		s->verdict.action = r >= REASON_SILENT ? ACTION_SUSPECT : ACTION_KEEP;
		s->verdict.fence = r == REASON_WAITING || r == REASON_FENCE_OFF ? FENCE_PEER_CLOSED
										: FENCE_NONE;
		s->verdict.due_in_ms = r == REASON_WAITING ? 179000 : UNKNOWN_U64;
		s->ev.tracer = r == REASON_TRACED ? 123 : 0;
		s->facts.recv_queue = 4096;
		if (r == REASON_UNINTERRUPTIBLE || r == REASON_UNKILLABLE ||
		    r == REASON_UNKNOWN_WAIT)
			s->facts.wait = WAIT_UNKNOWN;
	}
	golden_audit("reasons.txt", &a, (struct text_style){ .utf8 = true });
}

static void hostile_names(struct audit *a)
{
	static const char *const names[] = {
		"a\x1b[31mb",            /* red from here on */
		"a\nhost 1 java  up 1d", /* a line of its own */
		"a) R 1 (b",
		"\xff\xfe\xc0\x80", /* no UTF-8 */
		"\xc2\x9b"
		"31mC1", /* CSI in one character */
		"\xe2\x80\xae"
		"evil", /* right to left from here on */
		"\xe6\xb1\x89\xe5\xad\x97\xe6\xb1\x89\xe5\xad\x97\xe6\xb1\x89\xe5\xad\x97"
		"\xe6\xb1\x89\xe5\xad\x97", /* each takes two columns */
		"\\x1b \\x \\",
		LONG_NAME,
		"",
	};
	struct host *h = build_host(a, 4711);

	snprintf(h->comm, sizeof(h->comm), "ja\rva\x07");
	memset(h->label, '\x1b', sizeof(h->label) - 1);
	memset(h->log, 'l', sizeof(h->log) - 1);
	h->log_age_ms = 1200;
	build_daemon(a, 0, 4790);
	memset(a->classes.class[0].name, 0x1b, CLASS_NAME_MAX - 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct subject *s = build_worker(a, 0, 4800 + 2 * (pid_t)i);

		serving(a, s);
		snprintf(s->marks.tasks[0], MARKER_ID_MAX, "%s", names[i]);
		snprintf(s->marks.job, MARKER_ID_MAX, "%s", names[i]);
		snprintf(s->ev.main.wchan, EVIDENCE_WCHAN_MAX, "%s", names[i]);
		s = build_helper(a, 4801 + 2 * (pid_t)i);
		snprintf(s->comm, sizeof(s->comm), "%s", names[i]);
	}
	a->bad_records = 1;
	snprintf(a->bad_record, sizeof(a->bad_record), "\x1b]0;x\x07.log:1: %s%s", LONG_NAME,
		 LONG_NAME);
}

/* What can be seen of other people's names: printable, on one line, and not longer than that. */
static void expect_printable(const struct buf *out, bool ascii)
{
	for (size_t i = 0; i < out->len; i++) {
		unsigned char byte = (unsigned char)out->bytes[i];

		cr_assert(byte == '\n' || (byte >= 0x20 && byte != 0x7f), "byte %zu is 0x%x", i,
			  byte);
		cr_assert(!ascii || byte < 0x80, "byte %zu is 0x%x", i, byte);
	}
}

Test(text, escapes_and_cuts_foreign_names)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 }, ascii = { 0 };

	hostile_names(&a);
	text_audit(&a, &(struct text_style){ .utf8 = true, .verbose = true }, &out);
	golden("hostile.txt", &out);
	expect_printable(&out, false);
	text_audit(&a, &(struct text_style){ .verbose = true }, &ascii);
	golden("hostile-ascii.txt", &ascii);
	expect_printable(&ascii, true);
}

Test(text, says_when_there_is_no_host)
{
	_cleanup_(audit_done) struct audit a = build_audit();

	golden_audit("nothing.txt", &a, (struct text_style){ .utf8 = true });
	a.hidden_trees = 1;
	golden_audit("nothing-hidden.txt", &a, (struct text_style){ .utf8 = true });
}

/* What the summary says, in one line. */
static void summary(uint32_t workers, uint32_t due, uint32_t suspects, uint32_t hidden,
		    const char *expected, const char *why)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };

	build_host(&a, 4711);
	build_daemon(&a, 0, 4790);
	for (uint32_t i = 0; i < workers; i++) {
		struct subject *s = build_worker(&a, 0, 4800 + (pid_t)i);

		if (i < due)
			build_reap(s, FENCE_PEER_CLOSED, BUILD_HOUR);
		else if (i < due + suspects)
			build_suspect(s, MISSING_MARKERS, BUILD_HOUR);
	}
	a.hidden_trees = hidden;
	text_summary(&a, &(struct text_style){ .utf8 = true }, &out);
	for (size_t i = 0; i < out.len; i++)
		if (out.bytes[i] == '\n')
			out.bytes[i] = ' ';
	cr_expect_str_eq(out.bytes, expected, "%s", why);
}

Test(text, counts_in_english)
{
#define HIDDEN ": `reaper doctor` says what it takes. "
	summary(0, 0, 0, 0, "0 workers, nothing due. ", "none");
	summary(1, 0, 0, 0, "1 worker, nothing due. ", "one");
	summary(2, 0, 0, 0, "2 workers, nothing due. ", "many");
	summary(1, 1, 0, 0, "1 worker, 1 due: 50 MiB to be freed. `reaper sweep` would end it. ",
		"one due");
	summary(3, 2, 0, 0,
		"3 workers, 2 due: 100 MiB to be freed. `reaper sweep` would end them. ",
		"many due");
	summary(4, 1, 1, 0,
		"4 workers, 1 due: 50 MiB to be freed. `reaper sweep` would end it; "
		"`reaper doctor` says how to prove the suspect. ",
		"one due, one suspect");
	summary(4, 0, 1, 0,
		"4 workers, nothing due. `reaper doctor` says how to prove the suspect. ",
		"one suspect");
	summary(4, 2, 2, 0,
		"4 workers, 2 due: 100 MiB to be freed. `reaper sweep` would end them; "
		"`reaper doctor` says how to prove the 2 suspects. ",
		"many of each");
	summary(1, 0, 0, 1,
		"1 worker, nothing due. 1 tree of another user cannot be read from here and is "
		"not judged" HIDDEN,
		"one hidden tree");
	summary(1, 0, 0, 2,
		"1 worker, nothing due. 2 trees of other users cannot be read from here and are "
		"not judged" HIDDEN,
		"many hidden trees");
}

static struct explanation explain(const struct audit *a, struct subject *s)
{
	struct explanation e = {
		.pid = s->id.pid,
		.role = s->role,
		.audit = a,
		.subject = s,
	};

	for (enum fence f = FENCE_NONE + 1; f < FENCE_COUNT; f++) {
		e.proof[f] = TRI_NO;
		e.proof_age_ms[f] = UNKNOWN_U64;
	}
	return e;
}

static void golden_explanation(const char *name, const struct explanation *e)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	text_explanation(e, &(struct text_style){ .utf8 = true }, &out);
	golden(name, &out);
}

Test(text, explains_a_worker_that_is_due)
{
	_cleanup_(audit_done) struct audit a = population();
	struct subject *s = audit_find(&a, 4803);
	struct explanation e = explain(&a, s);

	e.proof[FENCE_PEER_CLOSED] = TRI_YES;
	e.proof_age_ms[FENCE_PEER_CLOSED] = 12 * BUILD_MINUTE;
	e.proof[FENCE_SIGNED_OFF] = TRI_UNKNOWN;
	e.guard[REASON_OPEN_TASK] = true;
	s->socket.state = SOCKET_PEER_CLOSED;
	s->socket.closing = true;
	s->socket.host_held = TRI_NO;
	s->socket.hangup_ms = 12 * BUILD_MINUTE;
	s->ev.threads = 5;
	s->ev.others_blocked_ms = 3 * BUILD_SECOND;
	s->ev.sig_caught = 1u << 14;
	s->threads = 5;
	golden_explanation("explain-due.txt", &e);
}

Test(text, explains_a_suspect)
{
	_cleanup_(audit_done) struct audit a = population();
	struct subject *s = audit_find(&a, 4806);
	struct explanation e = explain(&a, s);
	static char cgroup[] = "/system.slice/\x1b[2Jspark.service";

	e.guard[REASON_UNREAD_BYTES] = true;
	e.guard[REASON_TOO_YOUNG] = true;
	e.proof[FENCE_TASK_ENDED] = TRI_UNKNOWN;
	serving(&a, s);
	build_suspect(s, MISSING_POOL_WORD, 22 * BUILD_MINUTE);
	s->facts.recv_queue = 120 * BUILD_KIB;
	s->facts.host_log = true;
	s->ev.cgroup = cgroup;
	golden_explanation("explain-suspect.txt", &e);
	s->ev.cgroup = NULL;
}

Test(text, explains_everything_else)
{
	_cleanup_(audit_done) struct audit a = population();
	struct explanation e = explain(&a, audit_find(&a, 4810));

	golden_explanation("explain-helper.txt", &e);
	e = explain(&a, audit_find(&a, 4820));
	golden_explanation("explain-lost-helper.txt", &e);
	e = (struct explanation){
		.pid = 4790, .role = ROLE_DAEMON, .audit = &a, .daemon = &a.daemons[0]
	};
	golden_explanation("explain-daemon.txt", &e);
	e = (struct explanation){ .pid = 4711, .role = ROLE_HOST, .audit = &a, .host = a.hosts };
	snprintf(e.why, sizeof(e.why), "it is a host, and a host is never ended");
	golden_explanation("explain-host.txt", &e);
	e = (struct explanation){ .pid = 1, .role = ROLE_OTHER, .audit = &a };
	snprintf(e.why, sizeof(e.why), "it is below no daemon: bash\x1b[m");
	golden_explanation("explain-other.txt", &e);
}

Test(text, lists_checks)
{
	static struct checks c = {
		.count = 3,
		.check = {
			{ .name = "kernel", .status = CHECK_OK,
			  .found = "pidfd_open, pidfd_send_signal, /proc/PID/sched, "
				   "/proc/PID/syscall and sock_diag are there" },
			{ .name = "privileges", .status = CHECK_BAD,
			  .found = "trees of 2 other users cannot be read",
			  .fix = "run reaper as root, or give it CAP_KILL and CAP_SYS_PTRACE" },
			{ .name = "unknown-daemons", .status = CHECK_ADVICE,
			  .found = "host 4711 has a child that listens: \x1b[31m\xff",
			  .fix = "add to the configuration:\n[class mine]\n"
				 "daemon_args = -m my.daemon" },
		},
	};
	_cleanup_(buf_done) struct buf out = { 0 }, colored = { 0 };

	text_checks(&c, &(struct text_style){ .utf8 = true }, &out);
	golden("checks.txt", &out);
	text_checks(&c, &(struct text_style){ .utf8 = true, .color = true }, &colored);
	golden("checks-color.txt", &colored);
}

Test(text, lists_settings_as_a_file)
{
	static const struct setting settings[] = {
		{ "reaper", "interval", "10s", "default" },
		{ "reaper", "metrics_file", "", "default" },
		{ "reaper", "audit_log", "/var/log/reaper/audit.jsonl",
		  "/etc/reaper/reaper.conf:12" },
		{ "reaper", "state_dir", "/run/user/1000/a/rather/long/path/that/goes/on/reaper",
		  "/etc/reaper/reaper.conf:13" },
		{ "policy", "timeout", "5m", "command line" },
		{ "class pyspark", "daemon_args", "-m pyspark.daemon | -m reaper_pyspark",
		  "default" },
		{ "protect", "comm", "a\x1b[31m", "/etc/reaper/reaper.conf:40" },
	};
	_cleanup_(buf_done) struct buf out = { 0 }, none = { 0 };

	text_settings(settings, ARRAY_SIZE(settings), &out);
	golden("settings.txt", &out);
	text_settings(settings, 0, &none);
	cr_expect_eq(none.len, 0, "no setting, no line");
}

Test(text, writes_one_line_for_every_event)
{
	_cleanup_(audit_done) struct audit a = population();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct action_record action = { .id = { 4803, 1 },
					.role = ROLE_WORKER,
					.signal = 15,
					.freed_bytes = 1127 * BUILD_MIB,
					.took_ms = 12,
					.why = "peer-closed\n\x1b[31m" };
	struct event e = { .audit = &a };

	for (e.kind = EVENT_START; e.kind < EVENT_KIND_COUNT; e.kind++) {
		snprintf(e.text, sizeof(e.text), "%s", e.kind == EVENT_STOP ? "" : "some\ntext");
		e.subject = audit_find(&a, 4804);
		e.action = &action;
		e.host = a.hosts[0].id;
		text_event(&e, &out);
	}
	e = (struct event){ .kind = EVENT_VERDICT, .audit = &a, .daemon = a.daemons };
	text_event(&e, &out);
	e = (struct event){ .kind = EVENT_SWEEP };
	text_event(&e, &out);
	e = (struct event){ .kind = EVENT_ACTION, .action = &action };
	action.why[0] = '\0';
	for (action.outcome = 0; action.outcome < OUTCOME_COUNT; action.outcome++)
		text_event(&e, &out);
	cr_expect(!build_golden("events.txt", &out), "%s", build_golden("events.txt", &out));
	expect_printable(&out, true);
}

Test(text, an_event_without_its_part_is_still_one_line)
{
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		_cleanup_(buf_done) struct buf out = { 0 };
		struct event e = { .kind = kind };

		text_event(&e, &out);
		cr_expect(out.len && strchr(out.bytes, '\n') == out.bytes + out.len - 1, "kind %d",
			  (int)kind);
	}
}

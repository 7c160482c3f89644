/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations, checks, settings and event lines: what text.h writes beside the tree. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "golden.h"
#include "report/text.h"

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
	golden_expect_text(name, &out);
}

Test(text_explain, explains_a_worker_that_is_due)
{
	_cleanup_(audit_done) struct audit a = build_population();
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

/* One that grows, and one of which two looks are all that is known. */
Test(text_explain, explains_how_memory_went)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	int class_index = build_lone_class(&a);
	struct subject *s = build_single(&a, class_index, 5001);
	_cleanup_(buf_done) struct buf out = { 0 };
	struct explanation e;
	struct memory *m;

	snprintf(s->label, sizeof(s->label), "worker");
	build_growing(&a, s);
	m = s->memory;
	e = explain(&a, s);
	golden_explanation("explain-growing.txt", &e);
	m->series.count = 2;
	m->trend = (struct memory_trend){ .growing = TRI_UNKNOWN };
	m->limit = (struct memory_limit){ .of = MEMORY_LIMIT_UNKNOWN };
	m->until_limit_ms = UNKNOWN_U64;
	m->victim.id.pid = 0;
	s->facts.growing = TRI_UNKNOWN;
	s->verdict = (struct verdict){ .reason = REASON_IDLE };
	text_explanation(&e, &(struct text_style){ .utf8 = false }, &out);
	m->series.count = 1;
	m->trend = (struct memory_trend){ TRI_NO, 300 * BUILD_SECOND, -5, 0 };
	m->series.sample[0].anon_bytes = 0;
	text_explanation(&e, &(struct text_style){ .utf8 = false }, &out);
	golden_expect_text("explain-memory-ascii.txt", &out);
}

Test(text_explain, explains_a_suspect)
{
	_cleanup_(audit_done) struct audit a = build_population();
	struct subject *s = audit_find(&a, 4806);
	struct explanation e = explain(&a, s);
	static char cgroup[] = "/system.slice/\x1b[2Jspark.service";

	e.guard[REASON_UNREAD_BYTES] = true;
	e.guard[REASON_TOO_YOUNG] = true;
	e.proof[FENCE_TASK_ENDED] = TRI_UNKNOWN;
	build_serving(&a, s);
	build_suspect(s, MISSING_POOL_WORD, 22 * BUILD_MINUTE);
	s->facts.recv_queue = 120 * BUILD_KIB;
	s->facts.host_log = true;
	s->ev.cgroup = cgroup;
	golden_explanation("explain-suspect.txt", &e);
	s->ev.cgroup = NULL;
}

Test(text_explain, explains_everything_else)
{
	_cleanup_(audit_done) struct audit a = build_population();
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

Test(text_explain, lists_checks)
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
			  .fix = "add to the configuration:\n  [class mine]\n"
				 "  daemon_args = -m a.daemon.whose.name.is.so.long.that.it.ends."
				 "beyond.the.margin" },
		},
	};
	_cleanup_(buf_done) struct buf out = { 0 }, colored = { 0 };

	text_checks(&c, &(struct text_style){ .utf8 = true }, &out);
	golden_expect_text("checks.txt", &out);
	text_checks(&c, &(struct text_style){ .utf8 = true, .color = true }, &colored);
	golden_expect_text("checks-color.txt", &colored);
}

Test(text_explain, lists_settings_as_a_file)
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
	golden_expect_text("settings.txt", &out);
	text_settings(settings, 0, &none);
	cr_expect_eq(none.len, 0, "no setting, no line");
}

Test(text_explain, writes_one_line_for_every_event)
{
	_cleanup_(audit_done) struct audit a = build_population();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct action_record action = { .id = { 4803, 1 },
					.role = ROLE_WORKER,
					.signal = 15,
					.freed_bytes = 1127 * BUILD_MIB,
					.took_ms = 12,
					.why = "peer-closed\n\x1b[31m" };
	const struct exit_record exit = { .id = { 4803, 1 },
					  .role = ROLE_WORKER,
					  .daemon = { 4790, 1 },
					  .ending = { ENDING_SIGNAL, 11, TRI_NO } };
	const struct crashes crashes = { .role = ROLE_WORKER,
					 .by_signal = 1,
					 .count = 1,
					 .crash = { { 0, { ENDING_SIGNAL, 11, TRI_NO } } } };
	struct event e = { .audit = &a, .exit = &exit, .crashes = &crashes };

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
	golden_expect("events.txt", &out);
	golden_expect_printable("events.txt", &out, true);
}

Test(text_explain, an_event_without_its_part_is_still_one_line)
{
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		_cleanup_(buf_done) struct buf out = { 0 };
		struct event e = { .kind = kind };

		text_event(&e, &out);
		cr_expect(out.len && strchr(out.bytes, '\n') == out.bytes + out.len - 1, "kind %d",
			  (int)kind);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "golden.h"

static void golden(const char *name, const struct buf *out)
{
	golden_expect(name, out);
	golden_expect_printable(name, out, true);
}

/* A worker of each shape: serving, due with a helper, silent, without evidence, orphaned, lost. */
static struct audit population(void)
{
	struct audit a = build_audit();
	struct host *h = build_host(&a, 4711);
	struct subject *s;

	snprintf(h->log, sizeof(h->log), "spark-4711.log");
	h->log_age_ms = 1200;
	build_daemon(&a, 0, 4790);
	build_daemon(&a, -1, 4791)->class_index = -1;
	s = build_worker(&a, 0, 4801);
	s->verdict.reason = REASON_SERVING;
	s->marks.state = MARKS_OPEN;
	s->marks.open = 1;
	s->marks.open_since_ms = a.wall_ms - 4 * BUILD_MINUTE;
	s->marks.task_count = 2;
	snprintf(s->marks.tasks[0], MARKER_ID_MAX, "17");
	snprintf(s->marks.tasks[1], MARKER_ID_MAX, "16");
	snprintf(s->marks.job, MARKER_ID_MAX, "3");
	s->facts.cpu_ppm = 981234;
	s = build_worker(&a, 0, 4803);
	build_reap(s, FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	s->facts.wait = WAIT_POLL;
	s = build_helper(&a, 4810);
	build_reap(s, FENCE_NONE, UNKNOWN_U64);
	s->verdict.reason = REASON_PEER_CLOSED;
	s->holds_task_socket = true;
	build_suspect(build_worker(&a, 0, 4804), MISSING_MARKERS, 22 * BUILD_MINUTE);
	s = build_worker(&a, 1, 4805);
	s->verdict.reason = REASON_WAITING;
	s->verdict.fence = FENCE_SIGNED_OFF;
	s->verdict.fence_age_ms = 2 * BUILD_MINUTE;
	s->verdict.due_in_ms = 3 * BUILD_MINUTE;
	s->facts.cpu_ppm = UINT32_MAX;
	s = build_worker(&a, -1, 4806);
	evidence_done(&s->ev);
	s->facts = (struct facts){ 0 };
	s->socket = (struct task_socket){ 0 };
	s->class_index = -1;
	s->daemon_id = (struct ident){ 4700, 7 };
	s->host_id = (struct ident){ 4600, 6 };
	s->verdict.reason = REASON_UNREADABLE;
	build_lost_helper(&a, 0, 4820);
	return a;
}

static const struct action_record actions[] = {
	{ .id = { 4803, 8817148 },
	  .role = ROLE_WORKER,
	  .signal = SIGTERM,
	  .outcome = OUTCOME_EXITED,
	  .freed_bytes = 50 * BUILD_MIB,
	  .took_ms = 12 },
	{ .id = { 4804, 8817149 },
	  .role = ROLE_HELPER,
	  .outcome = OUTCOME_HELD,
	  .freed_bytes = UNKNOWN_U64,
	  .took_ms = UNKNOWN_U64,
	  .why = "max_kills_per_sweep is reached" },
};

Test(json, audit_document)
{
	_cleanup_(audit_done) struct audit a = population();
	_cleanup_(buf_done) struct buf out = { 0 };

	cr_assert_eq(json_audit(&a, NULL, 0, &out), 0);
	golden("audit.json", &out);
}

/* Of one that grows, one that does not, one of which nothing is known but that it is there. */
Test(json, memory)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	int class_index = build_lone_class(&a);
	struct memory *m;

	snprintf(build_single(&a, class_index, 5000)->label, CLASS_NAME_MAX, "ps");
	build_growing(&a, build_single(&a, class_index, 5001));
	build_growing(&a, build_single(&a, class_index, 5002));
	m = audit_find(&a, 5001)->memory;
	m->series.count = 3;
	m = audit_find(&a, 5002)->memory;
	m->series.count = 1;
	m->series.sample[0].ms = a.boot_ms + 5; /* taken while the look went on */
	m->trend = (struct memory_trend){ .growing = TRI_UNKNOWN };
	m->limit = (struct memory_limit){ .of = MEMORY_LIMIT_UNKNOWN };
	m->until_limit_ms = UNKNOWN_U64;
	m->victim.id.pid = 0;
	cr_assert_eq(json_audit(&a, NULL, 0, &out), 0);
	golden("memory.json", &out);
}

Test(json, sweep_document)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };

	a.dry_run = true;
	cr_assert_eq(json_audit(&a, actions, ARRAY_SIZE(actions), &out), 0);
	golden("sweep.json", &out);
}

Test(json, a_sweep_that_did_nothing_has_a_list_too)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };

	cr_assert_eq(json_audit(&a, actions, 0, &out), 0);
	cr_expect_not_null(strstr(out.bytes, "\"actions\": []"));
}

/* One look gives no rate, and what was never looked at has no numbers. */
Test(json, unknown_is_null)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	static const char *const members[] = {
		"class",     "daemon",           "host",         "state",
		"age_ms",    "idle_ms",          "cpu_percent",  "anon_bytes",
		"pss_bytes", "blocked_in",       "wait_forever", "blocked_ms",
		"transport", "socket_silent_ms", "recv_queue",   "send_queue",
		"job",       "fence_age_ms",     "missing",      "due_in_ms",
		"helper_of",
	};
	struct subject *s = build_worker(&a, -1, 4806);
	json_t *root, *row;

	s->ev = (struct evidence){ .rss_bytes = 1 };
	s->facts = (struct facts){ 0 };
	s->socket = (struct task_socket){ 0 };
	s->class_index = -1;
	cr_assert_eq(json_audit(&a, NULL, 0, &out), 0);
	root = json_loadb(out.bytes, out.len, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(root);
	row = json_array_get(json_object_get(root, "workers"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		cr_expect(json_is_null(json_object_get(row, members[i])), "%s", members[i]);
	json_decref(root);
}

Test(json, strings_are_printable_whatever_they_name)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	static const char *const names[] = {
		"a\x1b[31m\n\"\\)",
		"\xff\xfe\xc0\x80",
		"\xe6\xb1\x89\xf0\x9f\x90\x8d",
		"\x7f\xc2\x9b",
	};
	struct host *h = build_host(&a, 4711);
	struct subject *s;

	snprintf(h->comm, sizeof(h->comm), "%s", names[0]);
	memset(h->log, '\xff', sizeof(h->log) - 1);
	build_daemon(&a, 0, 4790);
	s = build_worker(&a, 0, 4801);
	s->marks.task_count = ARRAY_SIZE(names);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		snprintf(s->marks.tasks[i], MARKER_ID_MAX, "%s", names[i]);
	snprintf(s->marks.job, MARKER_ID_MAX, "%s", names[1]);
	cr_assert_eq(json_audit(&a, NULL, 0, &out), 0);
	golden("hostile.json", &out);
}

static struct explanation explain(const struct audit *a, struct subject *s)
{
	struct explanation e = { .pid = s->id.pid, .role = s->role, .audit = a, .subject = s };

	for (enum fence f = FENCE_NONE + 1; f < FENCE_COUNT; f++)
		e.proof_age_ms[f] = UNKNOWN_U64;
	e.proof[FENCE_PEER_CLOSED] = TRI_YES;
	e.proof_age_ms[FENCE_PEER_CLOSED] = 12 * BUILD_MINUTE;
	e.proof[FENCE_HOST_GONE] = TRI_NO;
	e.guard[REASON_TOO_YOUNG] = true;
	return e;
}

Test(json, explanation_of_a_worker)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct held_socket sockets[] = {
		{ .ino = 104803, .fd = 4, .fds = 3, .all_fds = 3, .tcp = TRI_YES },
		{ .ino = 9, .fd = 1, .all_fds = 2 }
	};
	static char cgroup[] = "/system.slice/\x1bspark.service";
	struct subject *s;
	struct explanation e;

	build_host(&a, 4711);
	build_daemon(&a, 0, 4790);
	s = build_worker(&a, 0, 4803);
	build_reap(s, FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	s->ev.sockets = sockets;
	s->ev.socket_count = ARRAY_SIZE(sockets);
	s->ev.cgroup = cgroup;
	s->socket.remote = (struct endpoint){ .addr.s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
					      .port = 45873 };
	e = explain(&a, s);
	cr_assert_eq(json_explanation(&e, &out), 0);
	s->ev.sockets = NULL;
	s->ev.socket_count = 0;
	s->ev.cgroup = NULL;
	golden("explain-worker.json", &out);
}

/* Other processes have no proofs and no guards, but a role and a reason. */
Test(json, explanation_of_the_rest)
{
	_cleanup_(audit_done) struct audit a = population();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct explanation e = { .pid = 1, .role = ROLE_OTHER, .audit = &a };

	a.subject_count = 0;
	snprintf(e.why, sizeof(e.why), "it is below no daemon");
	cr_assert_eq(json_explanation(&e, &out), 0);
	golden("explain-other.json", &out);
	buf_clear(&out);
	e = (struct explanation){
		.pid = 4790, .role = ROLE_DAEMON, .audit = &a, .daemon = a.daemons
	};
	cr_assert_eq(json_explanation(&e, &out), 0);
	golden("explain-daemon.json", &out);
	a.subject_count = 7;
}

Test(json, checks_keep_their_lines)
{
	static const struct checks c = {
		.count = 2,
		.check = { { .name = "kernel", .status = CHECK_OK, .found = "all is there" },
			   { .name = "unmatched",
			     .status = CHECK_ADVICE,
			     .found = "host 4711: a\x1b[31m\xff",
			     .fix = "add:\n[class mine]\ndaemon_args = -m my.daemon\n" } },
	};
	_cleanup_(buf_done) struct buf out = { 0 };

	cr_assert_eq(json_checks(&c, &out), 0);
	golden("checks.json", &out);
}

Test(json, settings)
{
	static const struct setting settings[] = {
		{ "reaper", "interval", "10s", "default" },
		{ "reaper", "metrics_file", "", "default" },
		{ "class pyspark", "host_comm", "java", "/etc/reaper/reaper.conf:7" },
		{ "policy", "timeout", "5m\x1b[31m", "command line" },
	};
	_cleanup_(buf_done) struct buf out = { 0 };

	cr_assert_eq(json_settings(settings, ARRAY_SIZE(settings), &out), 0);
	golden("settings.json", &out);
}

Test(json, one_line_for_every_event)
{
	_cleanup_(audit_done) struct audit a = population();
	_cleanup_(buf_done) struct buf out = { 0 };
	const struct exit_record exit = { .id = { 4803, 1 },
					  .role = ROLE_WORKER,
					  .ending = { ENDING_SIGNAL, 11, TRI_NO } };
	const struct crashes crashes = { .role = ROLE_WORKER,
					 .by_signal = 1,
					 .count = 1,
					 .crash = { { 0, { ENDING_SIGNAL, 11, TRI_NO } } } };
	struct event e = { .wall_ms = BUILD_WALL_MS,
			   .audit = &a,
			   .action = actions,
			   .exit = &exit,
			   .crashes = &crashes };
	size_t lines = 0;

	for (e.kind = EVENT_START; e.kind < EVENT_KIND_COUNT; e.kind++) {
		e.subject = &a.subjects[1];
		e.host = a.hosts[0].id;
		snprintf(e.text, sizeof(e.text), "%s", e.kind == EVENT_STOP ? "" : "some\ntext");
		cr_assert_eq(json_event(&e, &out), 0);
	}
	e = (struct event){
		.kind = EVENT_VERDICT, .wall_ms = BUILD_WALL_MS, .audit = &a, .daemon = a.daemons
	};
	cr_assert_eq(json_event(&e, &out), 0);
	e = (struct event){ .kind = EVENT_START, .wall_ms = BUILD_WALL_MS, .text = "watching" };
	cr_assert_eq(json_event(&e, &out), 0);
	golden("events.jsonl", &out);
	for (size_t i = 0; i < out.len; i++)
		lines += out.bytes[i] == '\n';
	cr_expect_eq(lines, EVENT_KIND_COUNT + 2);
}

Test(json, audit_log_lines)
{
	_cleanup_(audit_done) struct audit a = population();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct policy policy = build_policy();
	struct json_intent intent = { .wall_ms = BUILD_WALL_MS,
				      .boot_id = BUILD_BOOT_ID,
				      .subject = &a.subjects[1],
				      .policy = &policy };

	cr_assert_eq(json_intent(&intent, &out), 0);
	intent.kill_at_once = true;
	cr_assert_eq(json_intent(&intent, &out), 0);
	intent.subject = &a.subjects[2];
	intent.worker = &a.subjects[1];
	cr_assert_eq(json_intent(&intent, &out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		cr_assert_eq(json_outcome(BUILD_WALL_MS, BUILD_BOOT_ID, &actions[i], &out), 0);
	golden("audit-log.jsonl", &out);
}

/* ---- no memory ---- */

static size_t allocations_left;

static void *scarce_malloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left--;
	return malloc(size);
}

/* Fails each allocation in turn until the writer gets along without a failure. */
static void starve(int (*write)(struct buf *out), const char *what)
{
	size_t n = 0;
	int r;

	json_set_alloc_funcs(scarce_malloc, free);
	do {
		_cleanup_(buf_done) struct buf out = { 0 };

		allocations_left = n++;
		r = write(&out);
		cr_assert(r == 0 || r == -ENOMEM, "%s: %d", what, r);
		cr_assert(r == 0 || out.len == 0, "%s: half of it was written", what);
		cr_assert_lt(n, 100000);
	} while (r < 0);
	json_set_alloc_funcs(malloc, free);
	cr_expect_gt(n, 10, "%s: something was allocated", what);
}

static int starved_audit(struct buf *out)
{
	_cleanup_(audit_done) struct audit a = population();

	return json_audit(&a, actions, ARRAY_SIZE(actions), out);
}

Test(json, says_when_there_is_no_memory)
{
	starve(starved_audit, "audit");
}

Test(json, a_buffer_that_failed_is_an_error)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	struct buf out = { .failed = true };

	cr_expect_eq(json_audit(&a, NULL, 0, &out), -ENOMEM);
}

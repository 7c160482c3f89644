/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text.h"

#include <assert.h>
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "golden.h"
#include "report/line.h"

#define LONG_NAME "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
static_assert(sizeof(LONG_NAME) == PROC_COMM_MAX, "as long as a name can be");

static void golden_audit(const char *name, const struct audit *a, struct text_style style)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	text_audit(a, &style, &out);
	golden_expect_text(name, &out);
}

Test(text, draws_the_tree)
{
	_cleanup_(audit_done) struct audit a = build_population();

	golden_audit("tree.txt", &a, (struct text_style){ .utf8 = true });
	golden_audit("tree-color.txt", &a, (struct text_style){ .utf8 = true, .color = true });
	golden_audit("tree-ascii.txt", &a, (struct text_style){ .utf8 = false });
	golden_audit("tree-narrow.txt", &a, (struct text_style){ .utf8 = true, .width = 60 });
}

/* Stuck, of a role, with sockets of every kind; due; with a helper; growing. */
static struct audit with_singles(void)
{
	struct audit a = build_population();
	int class_index = build_lone_class(&a);
	struct subject *s = build_single(&a, class_index, 5001);
	struct held_socket *h;

	snprintf(s->label, sizeof(s->label), "ps");
	free(s->ev.sockets);
	s->ev.socket_count = 5;
	s->ev.sockets = calloc(s->ev.socket_count, sizeof(*s->ev.sockets));
	cr_assert_not_null(s->ev.sockets);
	h = s->ev.sockets;
	for (size_t i = 0; i < s->ev.socket_count; i++)
		h[i] = (struct held_socket){ .fd = 7 + (int)i };
	h[0].transport = TRANSPORT_TCP;
	h[0].local = (struct endpoint){ IN6ADDR_LOOPBACK_INIT, 40000 };
	h[0].remote = (struct endpoint){ IN6ADDR_LOOPBACK_INIT, 5555 };
	h[0].send_queue = 300 * BUILD_KIB;
	h[1].transport = TRANSPORT_TCP;
	h[1].local = (struct endpoint){ IN6ADDR_LOOPBACK_INIT, 8500 };
	h[2].transport = TRANSPORT_UNIX;
	h[2].recv_queue = 17;
	build_reap(build_single(&a, class_index, 5002), FENCE_TASK_ENDED, 6 * BUILD_MINUTE);
	a.subjects[a.subject_count - 1].verdict.missing = MISSING_NOTHING;
	build_helper(&a, 5003);
	s = build_single(&a, class_index, 5004);
	snprintf(s->label, sizeof(s->label), "worker");
	build_growing(&a, s);
	return a;
}

Test(text, draws_programs_that_stand_alone)
{
	_cleanup_(audit_done) struct audit a = with_singles();

	golden_audit("singles.txt", &a, (struct text_style){ .utf8 = true });
	golden_audit("singles-verbose.txt", &a,
		     (struct text_style){ .utf8 = true, .verbose = true });
}

Test(text, wide_and_unknown_terminals_get_80_columns)
{
	static const unsigned widths[] = { 0, 80, 81, 200, 65535 };
	_cleanup_(audit_done) struct audit a = build_population();

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		golden_audit("tree.txt", &a,
			     (struct text_style){ .utf8 = true, .width = widths[i] });
}

Test(text, verbose_says_what_was_skipped_and_how_to_get_a_proof)
{
	_cleanup_(audit_done) struct audit a = build_population();

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
			build_serving(&a, s);
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

		build_serving(a, s);
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

Test(text, escapes_and_cuts_foreign_names)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 }, ascii = { 0 };

	hostile_names(&a);
	text_audit(&a, &(struct text_style){ .utf8 = true, .verbose = true }, &out);
	golden_expect_text("hostile.txt", &out);
	golden_expect_printable("hostile.txt", &out, false);
	text_audit(&a, &(struct text_style){ .verbose = true }, &ascii);
	golden_expect_text("hostile-ascii.txt", &ascii);
	golden_expect_printable("hostile-ascii.txt", &ascii, true);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the stages exchange: names, tables, sums, and arrays that grow.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "model/event.h"
#include "model/explanation.h"
#include "model/grow.h"
#include "model/snapshot.h"

static const char *name_of_role(int i)
{
	return role_name((enum role)i);
}

static const char *name_of_event(int i)
{
	return event_kind_name((enum event_kind)i);
}

static const char *name_of_outcome(int i)
{
	return outcome_name((enum outcome)i);
}

static const char *name_of_check(int i)
{
	return check_status_name((enum check_status)i);
}

static const char *name_of_marks(int i)
{
	return marker_state_name((enum marker_state)i);
}

static const char *name_of_socket(int i)
{
	return socket_state_name((enum socket_state)i);
}

static const char *name_of_action(int i)
{
	return action_name((enum action)i);
}

static const char *name_of_reason(int i)
{
	return reason_name((enum reason)i);
}

static const char *name_of_fence(int i)
{
	return fence_name((enum fence)i);
}

static const char *name_of_wait(int i)
{
	return wait_kind_name((enum wait_kind)(i + 1));
}

static const char *name_of_transport(int i)
{
	return transport_name((enum transport)(i + 1));
}

/* These are the words of JSON, of logs and of the manual: what is written once stays. */
static const struct {
	const char *why;
	const char *(*name)(int i);
	int count;
	const char *want;
} names[] = {
	{ "roles", name_of_role, ROLE_COUNT,
	  "other host daemon worker single helper lost-helper reaper" },
	{ "events", name_of_event, EVENT_KIND_COUNT,
	  "start verdict action sweep reload breaker host-gone exit crash-loop stop" },
	{ "outcomes", name_of_outcome, OUTCOME_COUNT,
	  "exited killed unkillable vanished spared held refused" },
	{ "checks", name_of_check, CHECK_STATUS_COUNT, "ok advice bad" },
	{ "marker states", name_of_marks, MARKS_STATE_COUNT,
	  "none open ended done pooled leased retired" },
	{ "socket states", name_of_socket, SOCKET_STATE_COUNT,
	  "unknown none established peer-closed half-closed signed-off gone" },
	{ "transports", name_of_transport, 2, "tcp unix" },
	{ "actions", name_of_action, ACTION_COUNT, "keep suspect reap" },
	{ "reasons, in the order of precedence", name_of_reason, REASON_COUNT,
	  "vanished self ancestor protected foreign-uid other-pidns changed traced dumping stopped "
	  "uninterruptible unreadable running unknown-wait progress too-young open-task "
	  "unread-bytes fence-off waiting leased pooled serving idle daemon silent idle-daemon "
	  "lost-helper stuck-wait growing crash-loop unkillable host-gone signed-off peer-closed retired task-ended assumed" },
	{ "fences, in the order in which one of several is named", name_of_fence, FENCE_COUNT,
	  "none host-gone signed-off peer-closed retired task-ended assumed" },
	{ "waits", name_of_wait, WAIT_KIND_COUNT - 1,
	  "poll ppoll epoll select futex read write recv send accept sleep wait flock "
	  "restart_syscall" },
};

Test(model, names)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[1024] = "";

		for (int k = 0; k < names[i].count; k++) {
			size_t len = strlen(text);

			snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
				 names[i].name(k));
		}
		cr_expect_str_eq(text, names[i].want, "%s: %s", names[i].why, text);
	}
	cr_expect_null(wait_kind_name(WAIT_UNKNOWN));
	cr_expect_null(transport_name(TRANSPORT_UNKNOWN));
}

Test(model, fences_that_a_user_may_name)
{
	for (enum fence f = FENCE_NONE + 1; f < FENCE_ASSUMED; f++) {
		cr_expect_eq(fence_from_name(fence_name(f)), f, "%s", fence_name(f));
		cr_expect_str_eq(reason_name(fence_reason(f)), fence_name(f),
				 "a fence is reported under its own name");
	}
	cr_expect_eq(fence_from_name("assumed"), FENCE_NONE,
		     "it is no proof: it has a key of its own");
	cr_expect_eq(fence_from_name("none"), FENCE_NONE);
	cr_expect_eq(fence_from_name(""), FENCE_NONE);
	cr_expect_eq(fence_from_name("peer-close"), FENCE_NONE);
	cr_expect_eq(fence_reason(FENCE_ASSUMED), REASON_ASSUMED);
}

Test(model, guards_are_the_reasons_up_to_fence_off)
{
	cr_expect(reason_is_guard(REASON_VANISHED));
	cr_expect(reason_is_guard(REASON_FENCE_OFF));
	cr_expect_not(reason_is_guard(REASON_WAITING));
	cr_expect_not(reason_is_guard(REASON_ASSUMED));
}

static size_t size_of(enum facts_type type)
{
	static const size_t sizes[] = {
		[FACTS_BOOL] = sizeof(bool),    [FACTS_TRI] = sizeof(enum tri),
		[FACTS_U32] = sizeof(uint32_t), [FACTS_U64] = sizeof(uint64_t),
		[FACTS_PID] = sizeof(pid_t),    [FACTS_ENUM] = sizeof(int),
	};

	return sizes[type];
}

/* Fields follow each other without a gap but for alignment: so none is left out of the audit log. */
static void expect_whole(const struct facts_field *fields, size_t count, size_t size)
{
	size_t end = 0;

	for (size_t i = 0; i < count; i++) {
		size_t one = size_of(fields[i].type);
		size_t aligned = (end + one - 1) / one * one;

		cr_expect_eq(fields[i].offset, aligned, "a member before %s is not in the table",
			     fields[i].name);
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(fields[i].name, fields[k].name);
		end = fields[i].offset + fields[i].count * one;
	}
	cr_expect_geq(end + sizeof(uint64_t), size + 1, "the last member is not in the table");
	cr_expect_leq(end, size);
}

Test(model, every_fact_is_in_the_table)
{
	expect_whole(facts_fields, facts_field_count, sizeof(struct facts));
	expect_whole(policy_fields, policy_field_count, sizeof(struct policy));
}

Test(model, grow_keeps_what_is_there)
{
	uint64_t *list = NULL;
	size_t room = 0;

	for (size_t i = 0; i < 1000; i++) {
		uint64_t *more = grow(list, i, &room, sizeof(*list), 1000);

		cr_assert_not_null(more);
		list = more;
		cr_expect_eq(list[i], 0, "the new member is empty");
		cr_expect_gt(room, i);
		list[i] = i + 1;
	}
	for (size_t i = 0; i < 1000; i++)
		cr_expect_eq(list[i], i + 1);
	cr_expect_null(grow(list, 1000, &room, sizeof(*list), 1000), "no more than the limit");
	cr_expect_eq(list[999], 1000, "and what was there stays");
	free(list);
}

/* The address sanitizer ends a program that asks for so much. */
#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

Test(model, grow_fails_when_there_is_no_memory)
{
	size_t room = SIZE_MAX / 64, before = room;

	if (SANITIZED)
		cr_skip_test("the sanitizer allows no failing allocation");
	cr_expect_null(grow(NULL, room, &room, 16, SIZE_MAX));
	cr_expect_eq(room, before);
}

Test(model, identities)
{
	const struct ident a = { 10, 5 }, later = { 10, 6 }, other = { 11, 1 };

	cr_expect(ident_equal(a, a));
	cr_expect_not(ident_equal(a, later), "the number was given to another process");
	cr_expect_not(ident_equal(a, other));
	cr_expect_eq(ident_compare(a, a), 0);
	cr_expect_lt(ident_compare(a, later), 0);
	cr_expect_gt(ident_compare(later, a), 0);
	cr_expect_lt(ident_compare(later, other), 0);
	cr_expect_gt(ident_compare(other, later), 0);
}

Test(model, files)
{
	const struct file_id a = { 1, 2 }, device = { 9, 2 }, inode = { 1, 9 };

	cr_expect(file_id_equal(a, a));
	cr_expect_not(file_id_equal(a, device));
	cr_expect_not(file_id_equal(a, inode));
}

Test(model, truth_is_known_or_not)
{
	cr_expect_eq(tri_of(true), TRI_YES);
	cr_expect_eq(tri_of(false), TRI_NO);
	cr_expect_eq((enum tri)0, TRI_UNKNOWN, "what was never filled in is unknown");
}

Test(model, argv_elements)
{
	char argv[] = "a\0\0bc";
	struct proc p = { .argv = argv, .argv_len = sizeof(argv) };
	const char *at = proc_argv_next(&p, NULL);

	cr_expect_str_eq(at, "a");
	at = proc_argv_next(&p, at);
	cr_expect_str_eq(at, "", "an empty element is one");
	at = proc_argv_next(&p, at);
	cr_expect_str_eq(at, "bc");
	cr_expect_null(proc_argv_next(&p, at));
	p.argv_len = 0;
	cr_expect_null(proc_argv_next(&p, NULL), "it was read, and is empty");
	p.argv = NULL;
	cr_expect_null(proc_argv_next(&p, NULL), "it was not read");
}

Test(model, forked_or_execed)
{
	struct proc p = { .flags = PROC_FORKNOEXEC | PROC_KTHREAD };

	cr_expect(proc_never_execed(&p));
	p.flags = PROC_KTHREAD;
	cr_expect_not(proc_never_execed(&p));
}

Test(model, socket_tables)
{
	struct socket_table t = { .inet_count = 3, .unix_count = 3 };

	t.inet = calloc(3, sizeof(*t.inet));
	t.unix_rows = calloc(3, sizeof(*t.unix_rows));
	cr_assert(t.inet && t.unix_rows);
	for (uint64_t i = 0; i < 3; i++) {
		t.inet[i].ino = 30 - 10 * i;
		t.inet[i].state = (uint8_t)(30 - 10 * i);
		t.unix_rows[i].ino = 35 - 10 * i;
	}
	socket_table_sort(&t);
	for (uint64_t ino = 0; ino < 40; ino++) {
		const struct inet_row *inet = socket_table_inet(&t, ino);
		const struct unix_row *row = socket_table_unix(&t, ino);

		cr_expect_eq(inet != NULL, ino == 10 || ino == 20 || ino == 30, "%lu", ino);
		cr_expect_eq(row != NULL, ino == 15 || ino == 25 || ino == 35, "%lu", ino);
		if (inet)
			cr_expect_eq(inet->state, ino, "a row stays whole");
	}
	t.inet[0].ino = 0;
	cr_expect_null(socket_table_inet(&t, 0), "inode 0 is nobody's, and names none");
	socket_table_done(&t);
	cr_expect_null(t.inet);
	cr_expect_eq(t.inet_count + t.unix_count, 0);
	socket_table_sort(&t);
	cr_expect_null(socket_table_inet(&t, 10));
	cr_expect_null(socket_table_unix(&t, 15));
	socket_table_done(&t);
}

Test(model, evidence_is_freed)
{
	struct evidence e = { .seen = true };

	e.sockets = calloc(1, sizeof(*e.sockets));
	e.cgroup = strdup("/x");
	e.socket_count = 1;
	evidence_done(&e);
	cr_expect_null(e.sockets);
	cr_expect_null(e.cgroup);
	cr_expect_eq(e.socket_count, 0);
	cr_expect_not(e.seen);
	evidence_done(&e);
}

Test(model, sums_of_an_audit)
{
	struct audit a = build_audit();
	struct audit_summary sum;
	struct subject *s;

	build_host(&a, 4711);
	build_daemon(&a, 0, 4790);
	build_daemon(&a, 0, 4791)->verdict.action = ACTION_SUSPECT;
	build_worker(&a, 0, 4801);
	build_suspect(build_worker(&a, 0, 4802), MISSING_MARKERS, BUILD_HOUR);
	s = build_worker(&a, 0, 4803);
	build_reap(s, FENCE_PEER_CLOSED, BUILD_HOUR);
	s->ev.pss_bytes = 1000;
	s->ev.anon_bytes = 1;
	s->ev.rss_bytes = 10;
	s = build_helper(&a, 4804);
	build_reap(s, FENCE_PEER_CLOSED, BUILD_HOUR);
	s = build_worker(&a, 0, 4805);
	build_reap(s, FENCE_PEER_CLOSED, BUILD_HOUR);
	s->ev.pss_bytes = UNKNOWN_U64;
	s->ev.anon_bytes = 200;
	s->ev.rss_bytes = UNKNOWN_U64;
	s = build_worker(&a, 0, 4806);
	build_reap(s, FENCE_PEER_CLOSED, BUILD_HOUR);
	s->ev.pss_bytes = UNKNOWN_U64;
	s->ev.anon_bytes = UNKNOWN_U64;
	s->ev.rss_bytes = 30;
	build_lost_helper(&a, 0, 4807);
	sum = audit_summarise(&a);
	cr_expect_eq(sum.workers, 5, "helpers are none");
	cr_expect_eq(sum.keep, 1);
	cr_expect_eq(sum.reap, 3);
	cr_expect_eq(sum.suspect, 3, "a worker, a daemon, a lost helper");
	cr_expect_eq(sum.reclaimable_bytes, 1200, "Pss, or where it is unknown what is anonymous");
	cr_expect_eq(sum.reclaimable_rss_bytes, 40);
	cr_expect_eq(audit_find(&a, 4804)->role, ROLE_HELPER);
	cr_expect_null(audit_find(&a, 4711), "a host is no subject");
	audit_done(&a);
	cr_expect_null(a.subjects);
	cr_expect_eq(a.subject_count + a.daemon_count + a.host_count, 0);
	cr_expect_null(audit_find(&a, 4801));
	sum = audit_summarise(&a);
	cr_expect_eq(sum.workers + sum.suspect, 0);
}

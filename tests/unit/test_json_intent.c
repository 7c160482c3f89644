/* SPDX-License-Identifier: Apache-2.0 */
/* An intent gives back the facts and the policy that it was written with, or nothing. */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "report/json.h"

static int write_intent(struct subject *s, const struct policy *policy, struct buf *out)
{
	struct json_intent intent = {
		.wall_ms = BUILD_WALL_MS,
		.boot_id = BUILD_BOOT_ID,
		.subject = s,
		.policy = policy,
	};

	return json_intent(&intent, out);
}

/*
 * Every member, in the order of model/facts.h, so that one that no table names is seen to be lost.
 * Static, so that what lies between the members is zero.
 */
static const struct facts every_fact = {
	.id = { 4801, 8812400 },
	.uid = 1001,
	.single = true,
	.may_kill = true,
	.vanished = true,
	.is_self = true,
	.is_ancestor = true,
	.is_protected = true,
	.foreign_uid = true,
	.other_pidns = true,
	.changed = true,
	.traced = true,
	.dumping = true,
	.stopped = true,
	.uninterruptible = true,
	.unreadable = true,
	.asleep = TRI_NO,
	.wait = WAIT_FLOCK,
	.wait_forever = TRI_YES,
	.progress = TRI_NO,
	.age_ms = 101,
	.blocked_ms = 102,
	.silent_ms = 103,
	.cpu_ppm = UINT32_MAX,
	.socket = SOCKET_GONE,
	.transport = TRANSPORT_UNIX,
	.host_held = TRI_NO,
	.closing = true,
	.in_signoff_call = true,
	.recv_queue = 104,
	.send_queue = 105,
	.host_recv_queue = UNKNOWN_U64,
	.hangup_ms = 106,
	.host_gone = TRI_YES,
	.seen_ms = { 107, 108, 109, UNKNOWN_U64, 111, 112, 113 },
	.host_log = true,
	.logs_whole = true,
	.tasks_bound = 114,
	.tasks_open = 115,
	.pooled = true,
	.leased = true,
	.retired = true,
	.retired_by_operator = true,
	.retired_age_ms = 116,
	.late_byte = TRI_NO,
	.unpooled = { TRI_YES, TRI_NO, TRI_UNKNOWN },
	.ended_age_ms = INT64_MAX,
	.last_end_age_ms = 118,
	.term_default = true,
};

static const struct policy every_knob = {
	.timeout_ms = 1,
	.silent_after_ms = 2,
	.assume_leaked_after_ms = UNKNOWN_U64,
	.min_age_ms = 4,
	.idle_cpu_ppm = 5,
	.fences = UINT32_MAX,
	.helpers = true,
};

/* Writes and reads; both sides start as zero bytes, so that the whole struct can be compared. */
static void expect_round_trip(const struct facts *f, const struct policy *p, const char *what)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct subject *s = build_worker(&a, -1, 4801);
	struct facts facts;
	struct policy policy;

	memset(&facts, 0, sizeof(facts));
	memset(&policy, 0, sizeof(policy));
	memcpy(&s->facts, f, sizeof(*f));
	cr_assert_eq(write_intent(s, p, &out), 0);
	cr_assert_eq(json_intent_read(out.bytes, out.len, &facts, &policy), 0, "%s", what);
	cr_expect_eq(memcmp(&facts, f, sizeof(facts)), 0, "facts: %s", what);
	cr_expect_eq(memcmp(&policy, p, sizeof(policy)), 0, "policy: %s", what);
}

Test(json_intent, an_intent_gives_back_every_fact_and_knob)
{
	struct facts f;
	struct policy p;

	memset(&f, 0, sizeof(f));
	memset(&p, 0, sizeof(p));
	expect_round_trip(&f, &p, "nothing is known");
	expect_round_trip(&every_fact, &every_knob, "all is known, each value another");
}

/* Truth values are all alike above: set one at a time, none of them takes the place of another. */
Test(json_intent, each_member_comes_back_as_itself)
{
	struct policy p;

	memset(&p, 0, sizeof(p));
	for (size_t i = 0; i < facts_field_count; i++) {
		const struct facts_field *field = &facts_fields[i];
		struct facts f;

		memset(&f, 0, sizeof(f));
		((char *)&f)[field->offset] = 1;
		expect_round_trip(&f, &p, field->name);
	}
}

/* Replaces the first `from` in an intent line by `to`. */
static void edit(struct buf *out, const char *from, const char *to)
{
	_cleanup_(buf_done) struct buf edited = { 0 };
	char *at = strstr(out->bytes, from);

	cr_assert_not_null(at, "%s is not there", from);
	buf_add(&edited, out->bytes, (size_t)(at - out->bytes));
	buf_str(&edited, to);
	buf_str(&edited, at + strlen(from));
	buf_clear(out);
	buf_add(out, edited.bytes, edited.len);
}

static const struct {
	const char *from, *to;
	const char *why;
} bad_lines[] = {
	{ "reaper/1", "reaper/2", "another schema" },
	{ "\"intent\"", "\"outcome\"", "an outcome" },
	{ "\"record\"", "\"recorded\"", "no record" },
	{ "\"facts\":{", "\"facts\":[{", "no JSON" },
	{ "\"facts\":{", "\"fact\":{", "no facts" },
	{ "\"policy\":{", "\"policies\":{", "no policy" },
	{ "\"vanished\":false,", "", "a missing fact" },
	{ "\"helpers\":true", "\"help\":true", "a missing knob" },
	{ "\"vanished\":false", "\"vanished\":0", "a number for a truth value" },
	{ "\"vanished\":false", "\"vanished\":null", "a truth value that cannot be unknown" },
	{ "\"age_ms\":3600000", "\"age_ms\":\"3600000\"", "a string for a number" },
	{ "\"age_ms\":3600000", "\"age_ms\":-1", "a negative number" },
	{ "\"age_ms\":3600000", "\"age_ms\":1.5", "a fraction" },
	{ "\"age_ms\":3600000", "\"age_ms\":99999999999999999999", "a number that is too large" },
	{ "\"uid\":1000,\"single\"", "\"uid\":4294967296,\"single\"", "a uid beyond 32 bits" },
	{ "\"uid\":1000,\"single\"", "\"uid\":null,\"single\"", "a uid that is unknown" },
	{ "\"wait\":6", "\"wait\":15", "a wait that there is not" },
	{ "\"wait\":6", "\"wait\":4294967295", "a wait below all" },
	{ "\"socket\":2", "\"socket\":7", "a socket state that there is not" },
	{ "\"transport\":1", "\"transport\":3", "a transport that there is not" },
	{ "\"asleep\":true", "\"asleep\":1", "a number for an answer" },
	{ "\"unpooled\":[null,null,null]", "\"unpooled\":[null,null]", "a list that is too short" },
	{ "\"unpooled\":[null,null,null]", "\"unpooled\":[null,null,null,null]",
	  "a list that is too long" },
	{ "\"unpooled\":[null,null,null]", "\"unpooled\":[null,null,3]", "a bad element" },
	{ "\"unpooled\":[null,null,null]", "\"unpooled\":null", "no list" },
	{ "\"vanished\":false", "\"vanished\":false,\"vanished\":true",
	  "a fact that is said twice" },
};

Test(json_intent, a_bad_intent_is_refused_and_touches_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		_cleanup_(audit_done) struct audit a = build_audit();
		_cleanup_(buf_done) struct buf out = { 0 };
		struct policy policy = build_policy();
		struct facts facts = { .uid = 7 };

		cr_assert_eq(write_intent(build_worker(&a, -1, 4801), &policy, &out), 0);
		edit(&out, bad_lines[i].from, bad_lines[i].to);
		policy.fences = 77;
		cr_expect_eq(json_intent_read(out.bytes, out.len, &facts, &policy), -EINVAL, "%s",
			     bad_lines[i].why);
		cr_expect_eq(facts.uid, 7, "%s", bad_lines[i].why);
		cr_expect_eq(policy.fences, 77, "%s", bad_lines[i].why);
	}
}

Test(json_intent, a_torn_or_endless_line_is_refused)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct policy policy = build_policy();
	struct facts facts;
	_cleanup_free_ char *nested = malloc(100000);

	cr_assert_eq(write_intent(build_worker(&a, -1, 4801), &policy, &out), 0);
	for (size_t len = 0; len < out.len - 1; len++)
		cr_expect_eq(json_intent_read(out.bytes, len, &facts, &policy), -EINVAL, "%zu",
			     len);
	cr_expect_eq(json_intent_read(out.bytes, out.len - 1, &facts, &policy), 0,
		     "the newline is no part of it");
	memset(nested, '[', 100000);
	cr_expect_eq(json_intent_read(nested, 60000, &facts, &policy), -EINVAL, "nested");
	cr_expect_eq(json_intent_read(nested, 100000, &facts, &policy), -EINVAL, "too long");
	edit(&out, "\"term_default\"", "\"of_a_later_version\":[1,{}],\"term_default\"");
	cr_expect_eq(json_intent_read(out.bytes, out.len, &facts, &policy), 0,
		     "members of a later version decide nothing");
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

Test(json_intent, says_when_there_is_no_memory)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	struct policy policy = build_policy();
	struct subject *s = build_worker(&a, -1, 4801);
	size_t n = 0;
	int r;

	json_set_alloc_funcs(scarce_malloc, free);
	do {
		_cleanup_(buf_done) struct buf out = { 0 };

		allocations_left = n++;
		r = write_intent(s, &policy, &out);
		cr_assert(r == 0 || r == -ENOMEM, "%d", r);
		cr_assert(r == 0 || !out.len, "half of it was written");
	} while (r < 0 && n < 100000);
	json_set_alloc_funcs(malloc, free);
	cr_expect(r == 0 && n > 10, "%zu allocations", n);
}

/* The parser takes some failed allocations for a torn line. */
Test(json_intent, reading_without_memory_is_an_error)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	_cleanup_(buf_done) struct buf out = { 0 };
	struct policy policy = build_policy();
	struct facts facts = { .uid = 7 };
	size_t n = 0;
	int r;

	cr_assert_eq(write_intent(build_worker(&a, -1, 4801), &policy, &out), 0);
	json_set_alloc_funcs(scarce_malloc, free);
	do {
		allocations_left = n++;
		r = json_intent_read(out.bytes, out.len, &facts, &policy);
		cr_assert(r == 0 || ((r == -ENOMEM || r == -EINVAL) && facts.uid == 7), "%d", r);
	} while (r < 0 && n < 100000);
	json_set_alloc_funcs(malloc, free);
	cr_expect(r == 0 && n > 10, "%zu allocations", n);
}

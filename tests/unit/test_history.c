/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/history.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "build.h"
#include "grow_fail.h"

enum {
	HOUR = HISTORY_WINDOW_MS
};

static struct ident name(pid_t pid)
{
	return (struct ident){ pid, 1000 + (uint64_t)pid };
}

Test(history, a_new_entry_knows_nothing)
{
	_cleanup_(history_done) struct history h = { 0 };
	const struct history_entry *e = history_touch(&h, name(5), 77);

	cr_assert_not_null(e);
	cr_expect(ident_equal(e->id, name(5)));
	cr_expect_eq(e->touched_ms, 77);
	cr_expect_eq(e->class_index, -1);
	cr_expect_eq(e->idle_ms, UNKNOWN_U64);
	cr_expect_eq(e->main_cpu_ns, UNKNOWN_U64);
	cr_expect_eq(e->main_switches, UNKNOWN_U64);
	cr_expect_eq(e->cpu_ns, UNKNOWN_U64);
	cr_expect_eq(e->recv_queue, UNKNOWN_U64);
	cr_expect_eq(e->send_queue, UNKNOWN_U64);
	for (size_t f = 0; f < FENCE_COUNT; f++)
		cr_expect_eq(e->fence_ms[f], UNKNOWN_U64);
	cr_expect_not(e->before_known);
	cr_expect_not(e->wait_known);
	cr_expect_not(e->unkillable);
	cr_expect_eq(e->looks, 0);
}

Test(history, touched_again_it_keeps_what_it_knows)
{
	_cleanup_(history_done) struct history h = { 0 };
	struct history_entry *e = history_touch(&h, name(5), 77);

	cr_assert_not_null(e);
	e->looks = 3;
	e = history_touch(&h, name(5), 99);
	cr_assert_not_null(e);
	cr_expect_eq(h.count, 1);
	cr_expect_eq(e->looks, 3);
	cr_expect_eq(e->touched_ms, 99);
}

Test(history, found_by_identity_in_whatever_order_they_came)
{
	static const pid_t order[] = { 50, 10, 90, 30, 70, 20, 60 };
	_cleanup_(history_done) struct history h = { 0 };

	cr_expect_null(history_find(&h, name(50)), "an empty one");
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		cr_assert_not_null(history_touch(&h, name(order[i]), 1));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const struct history_entry *e = history_find(&h, name(order[i]));

		cr_assert_not_null(e, "%d", order[i]);
		cr_expect(ident_equal(e->id, name(order[i])));
	}
	for (size_t i = 1; i < h.count; i++)
		cr_expect_lt(history_at(&h, i - 1)->id.pid, history_at(&h, i)->id.pid, "sorted");
	cr_expect_null(history_find(&h, name(55)), "between two");
	cr_expect_null(history_find(&h, name(99)), "behind the last");
	cr_expect_null(history_find(&h, (struct ident){ 50, 7 }), "another process of that number");
}

Test(history, a_number_used_again_is_another_entry)
{
	_cleanup_(history_done) struct history h = { 0 };

	cr_assert_not_null(history_touch(&h, (struct ident){ 50, 9 }, 1));
	cr_assert_not_null(history_touch(&h, (struct ident){ 50, 7 }, 1));
	cr_expect_eq(h.count, 2);
	cr_expect_eq(history_at(&h, 0)->id.start, 7);
}

/* Which of so many comes at a turn of a look. */
static pid_t upwards(pid_t turn, pid_t count)
{
	(void)count;
	return turn;
}

static pid_t downwards(pid_t turn, pid_t count)
{
	return count - 1 - turn;
}

static pid_t scattered(pid_t turn, pid_t count)
{
	return (pid_t)((uint64_t)turn * 7919 % (uint64_t)count);
}

static const struct crowd {
	const char *why;
	pid_t count;
	pid_t (*which)(pid_t turn, pid_t count);
} crowds[] = {
	{ "as many as the file has lines, and one", 16384 + 1, upwards },
	{ "many more", 60000, upwards },
	{ "the last comes first", 60000, downwards },
	{ "of many daemons", 60000, scattered },
};

/* What each look does: it asks what was seen of each, judges it, and says what it has seen. */
Test(history, a_look_at_many_loses_none_of_them)
{
	for (size_t i = 0; i < ARRAY_SIZE(crowds); i++) {
		const struct crowd *c = &crowds[i];
		_cleanup_(history_done) struct history h = { 0 };
		pid_t lost = 0;

		for (pid_t turn = 0; turn < c->count; turn++) {
			pid_t pid = 1 + c->which(turn, c->count);
			struct history_entry *e = history_touch(&h, name(pid), 100);

			cr_assert_not_null(e);
			e->fence_ms[FENCE_HOST_GONE] = (uint64_t)pid;
		}
		history_prune(&h, 100);
		for (pid_t turn = 0; turn < c->count; turn++) {
			pid_t pid = 1 + c->which(turn, c->count);
			const struct history_entry *before = history_find(&h, name(pid));

			lost += !before || before->fence_ms[FENCE_HOST_GONE] != (uint64_t)pid;
			cr_assert_not_null(history_touch(&h, name(pid), 200));
		}
		history_prune(&h, 200);
		cr_expect_eq(lost, 0, "%s: %d have begun anew", c->why, lost);
		cr_expect_eq(h.count, (size_t)c->count, "%s: %zu", c->why, h.count);
		cr_expect_eq(history_find(&h, name(1))->fence_ms[FENCE_HOST_GONE], 1, "%s", c->why);
		cr_expect_eq(history_find(&h, name(c->count))->fence_ms[FENCE_HOST_GONE],
			     (uint64_t)c->count, "%s", c->why);
	}
}

/* All but so many places are taken, by one and the same process 9: a million would take long. */
static struct history nearly_full(size_t left)
{
	struct history h = {
		.entries = calloc(HISTORY_ENTRIES_MAX, sizeof(struct history_entry)),
		.count = HISTORY_ENTRIES_MAX - left,
		.room = HISTORY_ENTRIES_MAX,
		.order = calloc(HISTORY_ENTRIES_MAX, sizeof(uint32_t)),
		.order_room = HISTORY_ENTRIES_MAX,
	};

	cr_assert(h.entries && h.order);
	h.entries[0].id = name(9);
	h.entries[0].touched_ms = 100;
	return h;
}

Test(history, when_full_a_newcomer_is_not_remembered)
{
	_cleanup_(history_done) struct history h = nearly_full(1);
	struct history_entry *e = history_touch(&h, name(20), 200);

	cr_assert_not_null(e);
	cr_expect_eq(h.count, HISTORY_ENTRIES_MAX, "there was room for one");
	cr_expect_eq(history_find(&h, name(20)), e);
	for (pid_t pid = 30; pid <= 40; pid += 10) {
		e = history_touch(&h, name(pid), 200);
		cr_assert_not_null(e, "it is judged like one that is seen first");
		cr_expect(ident_equal(e->id, name(pid)));
		cr_expect_eq(e->fence_ms[FENCE_RETIRED], UNKNOWN_U64, "%d", pid);
		e->fence_ms[FENCE_RETIRED] = 200;
		cr_expect_eq(h.count, HISTORY_ENTRIES_MAX);
		cr_expect_null(history_find(&h, name(pid)), "%d", pid);
	}
	cr_expect_not_null(history_find(&h, name(9)), "it may be next in this look");
	e = history_touch(&h, name(9), 200);
	cr_expect_eq(e, &h.entries[0]);
	cr_expect_eq(e->touched_ms, 200);
}

Test(history, who_was_refused_gets_the_room_of_the_gone)
{
	_cleanup_(history_done) struct history h = nearly_full(0);

	cr_assert_not_null(history_touch(&h, name(9), 200));
	cr_assert_not_null(history_touch(&h, name(30), 200));
	history_prune(&h, 200);
	cr_expect_eq(h.count, 1);
	cr_assert_not_null(history_touch(&h, name(30), 300));
	cr_expect_not_null(history_find(&h, name(30)));
	cr_expect_not_null(history_find(&h, name(9)));
}

/* Since boot, and what is left of a wait that began at 1000 and is looked at by 9000. */
static const struct {
	const char *why;
	uint64_t suspended_ms, began_ms;
} suspends[] = {
	{ "how long before the first look is not known", 500, 1000 },
	{ "none", 500, 1000 },
	{ "the clocks were read one after the other", 510, 1000 },
	{ "a moment", 521, 1011 },
	{ "the other way round", 511, 1011 },
	{ "three seconds", 3511, 4011 },
	{ "longer than anybody has waited", 90000, 9000 },
};

Test(history, a_suspended_machine_lets_no_wait_grow)
{
	_cleanup_(history_done) struct history h = { 0 };
	struct history_entry *e = history_touch(&h, name(1), 1);

	cr_assert_not_null(e);
	e->wait_ms = e->still_ms = e->idle_ms = e->fence_ms[FENCE_PEER_CLOSED] = 1000;
	e->before_ms = e->held_ms = 1000;
	cr_assert_eq(history_kill(&h, 1000), 0);
	for (size_t i = 0; i < ARRAY_SIZE(suspends); i++) {
		uint64_t want = suspends[i].began_ms;

		history_suspended(&h, suspends[i].suspended_ms, 9000);
		cr_expect_eq(e->wait_ms, want, "%s: %lu", suspends[i].why, e->wait_ms);
		cr_expect_eq(e->still_ms, want, "%s", suspends[i].why);
		cr_expect_eq(e->idle_ms, want, "%s", suspends[i].why);
		cr_expect_eq(e->fence_ms[FENCE_PEER_CLOSED], want, "%s", suspends[i].why);
		cr_expect_eq(e->before_ms, want, "%s", suspends[i].why);
		cr_expect_eq(e->held_ms, want, "%s", suspends[i].why);
	}
	e->held_ms = 0;
	history_suspended(&h, 95000, 9000);
	cr_expect_eq(e->held_ms, 0, "nobody was seen to hold it");
	cr_expect_eq(e->fence_ms[FENCE_HOST_GONE], UNKNOWN_U64, "what never began");
	cr_expect_eq(h.kills[0], 1000, "an hour's limit is an hour's");
}

Test(history, a_step_of_the_wall_clock)
{
	static const struct {
		const char *why;
		uint64_t ahead_ms;
		bool stepped;
	} rows[] = {
		{ "what was before the first look is not known", 5000000, false },
		{ "it stands", 5000000, false },
		{ "the clocks were read one after the other", 5002000, false },
		{ "a step", 5004001, true },
		{ "once", 5004001, false },
		{ "back, by as much as two readings may", 5002001, false },
		{ "back", 5000000, true },
	};
	struct history h = { 0 };
	uint64_t since_ms = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_expect_eq(history_clock_stepped(&h, rows[i].ahead_ms, 100 + i), rows[i].stepped,
			     "%s", rows[i].why);
		since_ms = rows[i].stepped ? 100 + i : since_ms;
		cr_expect_eq(history_unstepped_ms(&h), since_ms ? rows[i].ahead_ms + since_ms : 0,
			     "%s", rows[i].why);
	}
}

Test(history, what_this_look_did_not_see_is_forgotten)
{
	_cleanup_(history_done) struct history h = { 0 };

	for (pid_t pid = 1; pid <= 6; pid++)
		cr_assert_not_null(history_touch(&h, name(pid), pid % 2 ? 100 : 200));
	history_prune(&h, 200);
	cr_expect_eq(h.count, 3);
	for (pid_t pid = 1; pid <= 6; pid++)
		cr_expect_eq(history_find(&h, name(pid)) != NULL, pid % 2 == 0, "%d", pid);
	history_prune(&h, 300);
	cr_expect_eq(h.count, 0, "nobody was seen");
	cr_expect_null(history_find(&h, name(2)));
}

static const struct {
	const char *why;
	uint64_t now_ms;
	uint32_t kills;
} hours[] = {
	{ "all of them", 3000, 3 },
	{ "the first is an hour old to the millisecond", HOUR + 1000, 2 },
	{ "a millisecond before that", HOUR + 999, 3 },
	{ "two have passed", HOUR + 2500, 1 },
	{ "all have passed", 3ull * HOUR, 0 },
};

Test(history, kills_of_the_last_hour)
{
	for (size_t i = 0; i < ARRAY_SIZE(hours); i++) {
		_cleanup_(history_done) struct history h = { 0 };

		cr_expect_eq(history_kills(&h, 1), 0, "none yet");
		for (uint64_t ms = 1000; ms <= 3000; ms += 1000)
			cr_assert_eq(history_kill(&h, ms), 0);
		cr_expect_eq(history_kills(&h, hours[i].now_ms), hours[i].kills, "%s",
			     hours[i].why);
		history_prune(&h, hours[i].now_ms);
		cr_expect_eq(h.kill_count, hours[i].kills, "%s: what is kept", hours[i].why);
		cr_expect_eq(history_kills(&h, hours[i].now_ms), hours[i].kills, "%s, pruned",
			     hours[i].why);
		if (h.kill_count)
			cr_expect_eq(h.kills[h.kill_count - 1], 3000, "the youngest stay");
	}
}

Test(history, without_memory)
{
	_cleanup_(history_done) struct history h = { 0 };

	for (unsigned call = 1; call <= 2; call++) {
		grow_fail_at(call);
		cr_expect_null(history_touch(&h, name(5), 1), "call %u", call);
		cr_expect_eq(h.count, 0);
	}
	cr_expect_not_null(history_touch(&h, name(5), 1), "then there is");
	grow_fail_at(1);
	cr_expect_eq(history_kill(&h, 1), -ENOMEM);
	cr_expect_eq(h.kill_count, 0);
}

Test(history, done_is_empty)
{
	struct history h = { 0 };

	cr_assert_not_null(history_touch(&h, name(5), 1));
	cr_assert_eq(history_kill(&h, 1), 0);
	history_done(&h);
	cr_expect_null(h.entries);
	cr_expect_null(h.order);
	cr_expect_null(h.kills);
	cr_expect_eq(h.count + h.room + h.order_room + h.kill_count + h.kill_room, 0);
	history_done(&h);
}

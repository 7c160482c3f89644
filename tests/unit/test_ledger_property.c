/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a host with a pool: whatever happens, a worker that the ledger proves to be neither
 * pooled nor leased is one that the host has given up. The host is honest, but its log loses records and
 * its lists are written late; Python's side loses bindings, the host is stopped now and then, and logs are
 * read at any time and in any order.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ledger_script.h"

enum {
	HISTORIES = 400,
	WORKERS = 24, /* of one history */
	TASKS = 3,    /* at once */
	LENGTH_MS = 900 * 1000,
	TICK_MS = 500,
	SHORT_STOP_AT_MS = 60500, /* after the last release */
	LONG_STOP_AT_MS = 55000,
	PURGE_MS = 60 * 1000,
	PURGE_EVERY_MS = 10 * 1000,
	TEXT_MAX = 512 * 1024,
};

/* What the host does and promises. */
enum habit {
	NEVER_REUSES,
	REPORTS_ALL,
	BRACKETS,
	REPORTS,
	HABITS
};

static const char *const promises[] = {
	[NEVER_REUSES] = "pool=none tasks=all",
	[REPORTS_ALL] = "pool=reported tasks=all",
	[BRACKETS] = "tasks=all",
	[REPORTS] = "pool=reported",
};

enum truth {
	UNBORN,
	LEASED,
	POOLED,
	GIVEN_UP,
	CLOSED
};

struct worker {
	enum truth truth;
	uint64_t born_ms, byte_ms;
};

struct task {
	unsigned id; /* 0: none */
	unsigned worker;
	bool silent; /* it has taken the worker, and sends it no byte */
	uint64_t end_ms;
};

/* Text that waits to be read. */
struct unread {
	unsigned log;
	char *text;
	size_t len;
};

struct history {
	uint64_t seed;
	uint64_t now;
	enum habit habit;
	unsigned loses;   /* of a thousand records of the host */
	unsigned written; /* records of the host since its last beat, those that were lost too */
	struct worker worker[WORKERS];
	struct task task[TASKS];
	unsigned tasks, born;
	unsigned pool[WORKERS], pooled; /* the longest there first */
	uint64_t release_ms, purge_at, list_at, beat_at, stopped_until;
	enum truth listed[WORKERS]; /* as read for the next beat */
	struct unread host, python;
};

static unsigned dice(struct history *h, unsigned sides)
{
	h->seed = h->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(h->seed >> 33) % sides;
}

static void _printf_(3, 4)
	write_record(struct history *h, struct unread *u, const char *format, ...)
{
	va_list args;

	u->len += (size_t)snprintf(u->text + u->len, TEXT_MAX - u->len, "%" PRIu64 " ", h->now);
	va_start(args, format);
	u->len += (size_t)vsnprintf(u->text + u->len, TEXT_MAX - u->len, format, args);
	va_end(args);
	cr_assert_lt(u->len, TEXT_MAX - 100);
}

static void read_some(struct script *s, struct unread *u)
{
	char head[32];

	(void)snprintf(head, sizeof(head), "log %u 1000", u->log);
	script_run(s, head, &script_usual);
	u->text[u->len] = '\0';
	script_run(s, u->text, &script_usual);
	u->len = 0;
}

/* The host takes a worker: the one that has been in its pool for longest, else a new one. */
static bool lease(struct history *h, unsigned *ret)
{
	if (h->pooled) {
		*ret = h->pool[0];
		memmove(h->pool, h->pool + 1, --h->pooled * sizeof(*h->pool));
	} else {
		if (h->born == WORKERS)
			return false;
		*ret = h->born++;
		h->worker[*ret].born_ms = h->now;
		h->worker[*ret].byte_ms = h->now;
	}
	h->worker[*ret].truth = LEASED;
	return true;
}

/* One record of the host: some are lost on the way, and the host does not know. */
static void _printf_(2, 3) tell(struct history *h, const char *format, ...)
{
	char record[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(record, sizeof(record), format, args);
	va_end(args);
	h->written++;
	if (dice(h, 1000) >= h->loses)
		write_record(h, &h->host, "%s\n", record);
}

static void begin_task(struct history *h, struct task *t)
{
	unsigned id = ++h->tasks;

	/* Before a worker may be taken for it. */
	if (h->habit != REPORTS)
		tell(h, "begin task=%u", id);
	if (!lease(h, &t->worker)) {
		tell(h, "end task=%u", id);
		return;
	}
	t->id = id;
	t->silent = dice(h, 3) == 0;
	t->end_ms = h->now + 500 + 500 * dice(h, dice(h, 8) ? 30 : 600);
	if (dice(h, 2))
		write_record(h, &h->python, "begin task=%u worker=%u:80\n", id, 100 + t->worker);
}

static void end_task(struct history *h, struct task *t)
{
	struct worker *w = &h->worker[t->worker];
	unsigned fate = dice(h, 10);

	if (fate < 6 && h->habit != NEVER_REUSES) {
		w->truth = POOLED;
		h->pool[h->pooled++] = t->worker;
		h->release_ms = h->now;
	} else {
		w->truth = fate < 9 ? GIVEN_UP : CLOSED;
	}
	tell(h, "end task=%u", t->id);
	t->id = 0;
}

/* Reads pool and leases at one moment, and writes them with the beat, at once or a little later. */
static void list(struct history *h, uint64_t delay_ms)
{
	for (unsigned i = 0; i < WORKERS; i++)
		h->listed[i] = h->worker[i].truth;
	h->beat_at = h->now + delay_ms;
	h->list_at = h->beat_at + 1000 + 1000 * dice(h, 10);
}

static void beat(struct history *h)
{
	for (unsigned i = 0; i < WORKERS && h->habit != BRACKETS; i++) {
		if (h->listed[i] == POOLED)
			tell(h, "pooled worker=%u:80", 100 + i);
		else if (h->listed[i] == LEASED)
			tell(h, "leased worker=%u:80", 100 + i);
	}
	write_record(h, &h->host, "beat n=%u\n", h->written);
	h->written = 0;
	h->beat_at = UINT64_MAX;
}

/* Stops the host: at any time, and just where it keeps the pool from being purged. */
static void stop_sometimes(struct history *h)
{
	bool short_one = h->release_ms / TICK_MS % 2;

	if (dice(h, 300) == 0)
		h->stopped_until = h->now + 1000 * dice(h, 80);
	else if (h->pooled &&
		 h->now - h->release_ms == (short_one ? SHORT_STOP_AT_MS : LONG_STOP_AT_MS) &&
		 dice(h, 3))
		h->stopped_until =
			h->release_ms + (short_one ? 80000 : 100000) + TICK_MS * dice(h, 2);
}

static void run_host(struct history *h)
{
	for (unsigned i = 0; i < TASKS; i++) {
		struct task *t = &h->task[i];

		if (t->id && !t->silent && dice(h, 8) == 0)
			h->worker[t->worker].byte_ms = h->now;
		if (t->id && h->now >= t->end_ms)
			end_task(h, t);
		else if (!t->id && dice(h, h->now / 200000 % 2 ? 40 : 500) == 0)
			begin_task(h, t);
	}
	/* Where a stop is to begin, and where one ends, its beat is in time. */
	if (h->now == h->stopped_until || h->now - h->release_ms == SHORT_STOP_AT_MS - TICK_MS)
		list(h, 0);
	else if (h->now >= h->list_at)
		list(h, TICK_MS * dice(h, 4));
	if (h->now >= h->beat_at)
		beat(h);
	/* After a stop its beat may come first, and the purge a moment later. */
	if (h->now >= h->purge_at && h->now != h->stopped_until) {
		h->purge_at = h->now + PURGE_EVERY_MS;
		for (; h->now - h->release_ms > PURGE_MS && h->pooled; h->pooled--)
			h->worker[h->pool[h->pooled - 1]].truth = CLOSED;
	}
	stop_sometimes(h);
}

/* Asks about one worker. Returns whether it was proven to be given up. */
static bool ask(struct history *h, struct script *s, unsigned worker,
		unsigned proofs[UNPOOLED_COUNT])
{
	const struct worker *w = &h->worker[worker];
	struct ledger_question q = script_usual;
	struct marker_facts f;
	bool proven = false;

	q.worker.id.pid = q.worker.ns_pid = 100 + (pid_t)worker;
	q.born_ms = w->born_ms;
	q.last_byte_ms = w->byte_ms;
	q.now_ms = h->now;
	cr_assert_eq(ledger_ask(s->ledger, &q, &f), 0);
	if (f.open || f.pooled || f.leased || (f.bound && f.late_byte != TRI_NO))
		return false;
	for (unsigned i = 0; i < UNPOOLED_COUNT; i++) {
		proofs[i] += f.unpooled[i] == TRI_YES;
		proven |= f.unpooled[i] == TRI_YES;
	}
	return proven;
}

static const char *truth_name(enum truth truth)
{
	return truth == POOLED ? "pooled" : "leased";
}

static void check_workers(struct history *h, struct script *s, unsigned proofs[UNPOOLED_COUNT],
			  unsigned history)
{
	for (unsigned i = 0; i < h->born; i++) {
		enum truth truth = h->worker[i].truth;

		if (ask(h, s, i, proofs))
			cr_assert(truth == GIVEN_UP || truth == CLOSED,
				  "history %u: worker %u is %s at %" PRIu64, history, i,
				  truth_name(truth), h->now);
	}
}

static void live(struct history *h, struct script *s, unsigned proofs[UNPOOLED_COUNT],
		 unsigned history)
{
	for (; h->now < LENGTH_MS; h->now += TICK_MS) {
		bool goes_on = h->now == h->stopped_until;

		if (h->now >= h->stopped_until)
			run_host(h);
		if (dice(h, 40) == 0)
			read_some(s, &h->python);
		/* What is decided is decided after all logs were read to their end. */
		if (dice(h, goes_on ? 2 : 40) == 0) {
			read_some(s, dice(h, 2) ? &h->python : &h->host);
			read_some(s, &h->python);
			read_some(s, &h->host);
			check_workers(h, s, proofs, history);
		}
	}
}

Test(ledger_property, what_is_proven_is_true)
{
	static char texts[2][TEXT_MAX];
	unsigned proofs[UNPOOLED_COUNT] = { 0 };

	for (unsigned i = 0; i < HISTORIES; i++) {
		struct history h = { .seed = i * UINT64_C(7919) + 1,
				     .now = 10000,
				     .habit = i % HABITS,
				     .loses = i % 3 ? 0 : 100,
				     .written = 1,
				     .beat_at = UINT64_MAX,
				     .host = { 1, texts[0], 0 },
				     .python = { 2, texts[1], 0 } };
		struct script s = script_begin();

		write_record(&h, &h.host,
			     "host host=4711:50 WHO class=pyspark pool_timeout=60000 %s\n",
			     promises[h.habit]);
		write_record(&h, &h.python, "daemon daemon=4790:60 WHO\n");
		live(&h, &s, proofs, i);
		ledger_free(s.ledger);
	}
	/* Each of the proofs was had, and often. */
	for (unsigned i = 0; i < UNPOOLED_COUNT; i++)
		cr_assert_gt(proofs[i], 1000, "proof %u: %u", i, proofs[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_times.h"

#include <string.h>

#include "correlate/ledger_index.h"
#include "model/grow.h"
#include "model/tri.h"

void ledger_gaps_reset(struct ledger_gaps *g, bool quiet, uint64_t from)
{
	g->count = quiet;
	g->gap[0] = (struct ledger_span){ from, UNKNOWN_U64 };
}

static void add_gap(struct ledger_gaps *g, uint64_t from, uint64_t to)
{
	/* UNKNOWN_U64 is longer than any. */
	if (to <= from || to - from < LEDGER_IDLE_EXTRA_MS)
		return;
	if (g->count == LEDGER_GAPS_MAX)
		memmove(g->gap, g->gap + 1, --g->count * sizeof(*g->gap));
	g->gap[g->count++] = (struct ledger_span){ from, to };
}

void ledger_gaps_cut(struct ledger_gaps *g, uint64_t from, uint64_t to)
{
	struct ledger_gaps old;

	/* Nearly always a task begins at the very end. */
	if (!g->count || g->gap[g->count - 1].to <= from)
		return;
	old = *g;
	g->count = 0;
	for (uint32_t i = 0; i < old.count; i++) {
		struct ledger_span span = old.gap[i];

		add_gap(g, span.from, MIN(span.to, from));
		add_gap(g, MAX(span.from, to), span.to);
	}
}

void ledger_gaps_quiet(struct ledger_gaps *g, uint64_t from)
{
	if (!g->count || g->gap[g->count - 1].to != UNKNOWN_U64)
		add_gap(g, from, UNKNOWN_U64);
}

uint64_t ledger_gaps_seek(const struct ledger_gaps *g, uint64_t from, uint64_t *ret_end)
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->gap[i].to <= from)
			continue;
		*ret_end = g->gap[i].to;
		return MAX(g->gap[i].from, from);
	}
	return UNKNOWN_U64;
}

/* Thins the older half out, so that the list reaches far back and is still exact for the last hour. */
static void thin_out(struct ledger_beats *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++)
		if (i >= b->count / 2 || i % 2 == 0)
			b->beat[kept++] = b->beat[i];
	b->count = kept;
}

static void add_run(struct ledger_beats *b, uint64_t ms)
{
	if (b->run_count && ms - b->run[b->run_count - 1].to <= LEDGER_RUN_GAP_MS) {
		b->run[b->run_count - 1].to = ms;
		return;
	}
	if (b->run_count == LEDGER_RUNS_MAX)
		memmove(b->run, b->run + 1, --b->run_count * sizeof(*b->run));
	b->run[b->run_count++] = (struct ledger_span){ ms, ms };
}

int ledger_beats_add(struct ledger_beats *b, uint64_t ms, uint64_t begun_ms, bool complete)
{
	struct ledger_beat *more;

	if (complete) {
		if (b->count == LEDGER_BEATS_MAX)
			thin_out(b);
		more = grow(b->beat, b->count, &b->room, sizeof(*more), LEDGER_BEATS_MAX);
		if (!more)
			return -LEDGER_ENOMEM;
		b->beat = more;
		b->beat[b->count++] = (struct ledger_beat){ ms, begun_ms };
	}
	add_run(b, ms);
	return 0;
}

const struct ledger_beat *ledger_beats_begun_after(const struct ledger_beats *b, uint64_t ms)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->beat[i].begun_ms > ms)
			return &b->beat[i];
	return NULL;
}

const struct ledger_beat *ledger_beats_from(const struct ledger_beats *b, uint64_t ms)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->beat[i].ms >= ms)
			return &b->beat[i];
	return NULL;
}

uint64_t ledger_beats_reach(const struct ledger_beats *b, uint64_t ms)
{
	for (uint32_t i = 0; i < b->run_count; i++)
		if (b->run[i].from <= ms + LEDGER_RUN_GAP_MS && b->run[i].to > ms)
			return b->run[i].to;
	return ms;
}

uint64_t ledger_beats_seen_after(const struct ledger_beats *b, uint64_t ms)
{
	for (uint32_t i = 0; i < b->run_count; i++)
		if (b->run[i].from > ms)
			return b->run[i].from;
	return UNKNOWN_U64;
}

void ledger_beats_clear(struct ledger_beats *b)
{
	b->count = 0;
	b->run_count = 0;
}

void ledger_beats_done(struct ledger_beats *b)
{
	free(b->beat);
}

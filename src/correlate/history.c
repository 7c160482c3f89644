/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/grow.h"

struct history_entry *history_at(const struct history *h, size_t i)
{
	return &h->entries[h->order[i]];
}

/* Where the first whose identity is not less stands in the order. */
static size_t place(const struct history *h, struct ident id)
{
	size_t low = 0, high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ident_compare(history_at(h, middle)->id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct history_entry *history_find(const struct history *h, struct ident id)
{
	size_t at = place(h, id);

	return at < h->count && ident_equal(history_at(h, at)->id, id) ? history_at(h, at) : NULL;
}

static void clear_entry(struct history_entry *e, struct ident id)
{
	*e = (struct history_entry){
		.id = id,
		.idle_ms = UNKNOWN_U64,
		.main_cpu_ns = UNKNOWN_U64,
		.main_switches = UNKNOWN_U64,
		.cpu_ns = UNKNOWN_U64,
		.recv_queue = UNKNOWN_U64,
		.send_queue = UNKNOWN_U64,
		.class_index = -1,
	};
	for (size_t f = 0; f < FENCE_COUNT; f++)
		e->fence_ms[f] = UNKNOWN_U64;
}

static struct history_entry *add(struct history *h, struct ident id)
{
	size_t at = place(h, id);
	struct history_entry *entries;
	uint32_t *order;

	order = grow(h->order, h->count, &h->order_room, sizeof(*order), HISTORY_ENTRIES_MAX);
	if (!order)
		return NULL;
	h->order = order;
	entries = grow(h->entries, h->count, &h->room, sizeof(*entries), HISTORY_ENTRIES_MAX);
	if (!entries)
		return NULL;
	h->entries = entries;
	memmove(&order[at + 1], &order[at], (h->count - at) * sizeof(*order));
	order[at] = (uint32_t)h->count;
	return &entries[h->count++];
}

struct history_entry *history_touch(struct history *h, struct ident id, uint64_t now_ms)
{
	struct history_entry *e = history_find(h, id);

	if (!e) {
		e = h->count < HISTORY_ENTRIES_MAX ? add(h, id) : &h->refused;
		if (!e)
			return NULL;
		clear_entry(e, id);
	}
	e->touched_ms = now_ms;
	return e;
}

static int compare_entries(const void *a, const void *b)
{
	const struct history_entry *p = a, *q = b;

	return ident_compare(p->id, q->id);
}

static void prune_entries(struct history *h, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++)
		if (h->entries[i].touched_ms == now_ms)
			h->entries[kept++] = h->entries[i];
	h->count = kept;
	if (kept)
		qsort(h->entries, kept, sizeof(*h->entries), compare_entries);
	for (size_t i = 0; i < kept; i++)
		h->order[i] = (uint32_t)i;
}

static void prune_kills(struct history *h, uint64_t now_ms)
{
	size_t old = 0;

	while (old < h->kill_count && h->kills[old] + HISTORY_WINDOW_MS <= now_ms)
		old++;
	h->kill_count -= old;
	if (h->kill_count)
		memmove(h->kills, h->kills + old, h->kill_count * sizeof(*h->kills));
}

void history_prune(struct history *h, uint64_t now_ms)
{
	prune_entries(h, now_ms);
	prune_kills(h, now_ms);
}

bool history_clock_stepped(struct history *h, uint64_t wall_minus_boot_ms, uint64_t now_ms)
{
	uint64_t before = h->wall_minus_boot_ms;

	h->wall_minus_boot_ms = wall_minus_boot_ms;
	if (!before || (wall_minus_boot_ms <= before + HISTORY_STEP_MS &&
			wall_minus_boot_ms + HISTORY_STEP_MS >= before))
		return false;
	h->stepped_ms = now_ms;
	return true;
}

uint64_t history_unstepped_ms(const struct history *h)
{
	return h->stepped_ms ? h->wall_minus_boot_ms + h->stepped_ms : 0;
}

static void begin_later(uint64_t *at_ms, uint64_t ms, uint64_t now_ms)
{
	if (*at_ms && *at_ms != UNKNOWN_U64)
		*at_ms = MIN(*at_ms + ms, now_ms);
}

void history_suspended(struct history *h, uint64_t suspended_ms, uint64_t now_ms)
{
	uint64_t ms = 0;

	if (h->suspended_known && suspended_ms > h->suspended_ms + HISTORY_SUSPEND_MS)
		ms = suspended_ms - h->suspended_ms;
	h->suspended_known = true;
	h->suspended_ms = suspended_ms;
	for (size_t i = 0; ms && i < h->count; i++) {
		struct history_entry *e = &h->entries[i];

		for (size_t f = 0; f < FENCE_COUNT; f++)
			begin_later(&e->fence_ms[f], ms, now_ms);
		begin_later(&e->wait_ms, ms, now_ms);
		begin_later(&e->still_ms, ms, now_ms);
		begin_later(&e->idle_ms, ms, now_ms);
		/* What was done since is a rate, and the kernel dates bytes by a clock that stood. */
		begin_later(&e->before_ms, ms, now_ms);
		begin_later(&e->held_ms, ms, now_ms);
	}
}

int history_kill(struct history *h, uint64_t now_ms)
{
	uint64_t *kills =
		grow(h->kills, h->kill_count, &h->kill_room, sizeof(*kills), HISTORY_KILLS_MAX);

	if (!kills)
		return -ENOMEM;
	h->kills = kills;
	kills[h->kill_count++] = now_ms;
	return 0;
}

uint32_t history_kills(const struct history *h, uint64_t now_ms)
{
	uint32_t kills = 0;

	for (size_t i = 0; i < h->kill_count; i++)
		kills += h->kills[i] + HISTORY_WINDOW_MS > now_ms;
	return kills;
}

void history_done(struct history *h)
{
	free(h->entries);
	free(h->order);
	free(h->kills);
	memset(h, 0, sizeof(*h));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_index.h"

#include <string.h>

#include "model/grow.h"

enum {
	INDEX_FIRST_SIZE = 64,
};

uint32_t ledger_pool_take(struct ledger_pool *p, size_t size)
{
	char *items;
	uint32_t number;

	if (p->free) {
		number = p->free - 1;
		memcpy(&p->free, p->items + number * size, sizeof(p->free));
		memset(p->items + number * size, 0, size);
	} else {
		items = grow(p->items, p->count, &p->room, size, LEDGER_POOL_MAX);
		if (!items)
			return LEDGER_NONE;
		p->items = items;
		number = (uint32_t)p->count++;
	}
	p->used++;
	return number;
}

void ledger_pool_give(struct ledger_pool *p, size_t size, uint32_t number)
{
	memcpy(p->items + number * size, &p->free, sizeof(p->free));
	p->free = number + 1;
	p->used--;
}

/* FNV-1a with a last stir: tables look at the low bits. */
static uint32_t stir(uint64_t hash)
{
	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(hash >> 32);
}

/* Names that differ in their last byte alone, as numbers in a row do, become neighbours: what is looked up
 * next is in the cache already. */
uint32_t ledger_index_hash(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t hash = UINT64_C(14695981039346656037), last = len;

	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ last) * UINT64_C(1099511628211);
		last = at[i];
	}
	return (stir(hash) & ~0xfu) + (uint32_t)last;
}

uint32_t ledger_index_hash_pair(uint64_t a, uint64_t b)
{
	return stir((a + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0x94d049bb133111eb) ^
		    b * UINT64_C(0xff51afd7ed558ccd));
}

/* Puts an item into the first free slot behind its own; tells how far behind that was. */
static uint32_t place(struct ledger_index *ix, uint32_t hash, uint32_t item)
{
	uint32_t mask = ix->size - 1, far = 0;

	while (ix->slots[(hash + far) & mask].item)
		far++;
	ix->slots[(hash + far) & mask] = (struct ledger_slot){ hash, item + 1 };
	return far;
}

static int widen(struct ledger_index *ix)
{
	struct ledger_index wide = { .size = ix->size ? ix->size * 2 : INDEX_FIRST_SIZE };

	wide.slots = calloc(wide.size, sizeof(*wide.slots));
	if (!wide.slots)
		return -LEDGER_ENOMEM;
	for (uint32_t i = 0; i < ix->size; i++)
		if (ix->slots[i].item)
			place(&wide, ix->slots[i].hash, ix->slots[i].item - 1);
	free(ix->slots);
	ix->slots = wide.slots;
	ix->size = wide.size;
	return 0;
}

int ledger_index_put(struct ledger_index *ix, uint32_t hash, uint32_t item)
{
	if (ix->used >= ix->size / 2) {
		int err = widen(ix);

		if (err < 0)
			return err;
	}
	ix->used++;
	if (place(ix, hash, item) < LEDGER_INDEX_RUN_MAX)
		return 0;
	ledger_index_remove(ix, hash, item);
	return -LEDGER_E2BIG;
}

uint32_t ledger_index_next(const struct ledger_index *ix, uint32_t hash, uint32_t *at)
{
	uint32_t mask = ix->size - 1;

	if (!ix->size)
		return LEDGER_NONE;
	for (;; ++*at) {
		const struct ledger_slot *slot = &ix->slots[(hash + *at) & mask];

		if (!slot->item)
			return LEDGER_NONE;
		if (slot->hash == hash) {
			++*at;
			return slot->item - 1;
		}
	}
}

/* Closes the hole, so that no search stops there: what stands behind it moves up unless it is at home. */
void ledger_index_remove(struct ledger_index *ix, uint32_t hash, uint32_t item)
{
	uint32_t mask = ix->size - 1, hole = hash & mask, next;

	while (ix->slots[hole].item != item + 1)
		hole = (hole + 1) & mask;
	for (next = (hole + 1) & mask; ix->slots[next].item; next = (next + 1) & mask) {
		uint32_t from_home = (next - ix->slots[next].hash) & mask;

		if (from_home < ((next - hole) & mask))
			continue;
		ix->slots[hole] = ix->slots[next];
		hole = next;
	}
	ix->slots[hole].item = 0;
	ix->used--;
}

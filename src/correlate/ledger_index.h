/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ledger is made of: arrays whose members have numbers, and hash tables (open addressing) that
 * find those numbers. Both zeroed are empty.
 */
#ifndef REAPER_CORRELATE_LEDGER_INDEX_H
#define REAPER_CORRELATE_LEDGER_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

#define LEDGER_NONE UINT32_MAX

enum {
	LEDGER_ENOMEM = 12, /* this floor has no errno */
	LEDGER_E2BIG = 7,
	/* Members with one hash in a row; honest names reach some tens, forged ones would make every search
	 * as long as the table. */
	LEDGER_INDEX_RUN_MAX = 1024,
	LEDGER_POOL_MAX = 4 * 1024 * 1024,
};

/* Members of one size; what is given back is taken again. Pointers hold until the next take. */
struct ledger_pool {
	char *items; /* owned */
	size_t count, room;
	uint32_t used; /* taken and not given back */
	uint32_t
		free; /* the last that was given back, plus 1; its first bytes name the one before */
};

/**
 * Takes a zeroed member.
 *
 * @param size	of a member, the same at every call; at least that of a uint32_t.
 * @return its number; LEDGER_NONE: no memory.
 */
uint32_t ledger_pool_take(struct ledger_pool *p, size_t size) _must_check_;

/** Gives a member back. */
void ledger_pool_give(struct ledger_pool *p, size_t size, uint32_t number);

struct ledger_slot {
	uint32_t hash;
	uint32_t item; /* plus 1; 0: free */
};

struct ledger_index {
	struct ledger_slot *slots; /* owned */
	uint32_t size;             /* a power of 2, or 0 */
	uint32_t used;
};

/** @return the hash of some bytes. */
uint32_t ledger_index_hash(const void *bytes, size_t len);

/** @return the hash of two numbers. */
uint32_t ledger_index_hash_pair(uint64_t a, uint64_t b);

/**
 * Adds an item.
 *
 * @return 0; -LEDGER_ENOMEM; -LEDGER_E2BIG: too many in a row, the item was not added.
 */
int ledger_index_put(struct ledger_index *ix, uint32_t hash, uint32_t item) _must_check_;

/**
 * Gives the items with a hash, one by one; whether they are the right ones is for the caller to say.
 *
 * @param at	0 at first; changed by each call.
 * @return the item; LEDGER_NONE: there is no other.
 */
uint32_t ledger_index_next(const struct ledger_index *ix, uint32_t hash, uint32_t *at);

/** Takes an item out; it must be there. */
void ledger_index_remove(struct ledger_index *ix, uint32_t hash, uint32_t item);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one row of a table changes in a struct that a builder made: members and their new values.
 */
#ifndef REAPER_TESTS_CHANGE_H
#define REAPER_TESTS_CHANGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/facts.h"
#include "model/policy.h"

enum {
	CHANGES_MAX = 20
};

struct change {
	size_t offset;
	size_t size; /* 0: no more changes */
	uint64_t value;
};

#define CHANGE(type, member, new_value)                                               \
	{                                                                             \
		offsetof(struct type, member), sizeof(((struct type *)NULL)->member), \
			(uint64_t)(new_value)                                         \
	}

/* F(socket, SOCKET_GONE), F(seen_ms[FENCE_RETIRED], 5): of struct facts; P: of struct policy. */
#define F(member, new_value) CHANGE(facts, member, new_value)
#define P(member, new_value) CHANGE(policy, member, new_value)

static inline void change_one(void *object, const struct change *c)
{
	void *at = (char *)object + c->offset;

	switch (c->size) {
	case sizeof(uint8_t):
		*(uint8_t *)at = (uint8_t)c->value;
		return;
	case sizeof(uint32_t):
		*(uint32_t *)at = (uint32_t)c->value;
		return;
	case sizeof(uint64_t):
		*(uint64_t *)at = c->value;
		return;
	default:
		abort();
	}
}

/** Makes the changes, up to the first of size 0. */
static inline void change_list(void *object, const struct change *changes, size_t max)
{
	for (size_t i = 0; i < max && changes[i].size; i++)
		change_one(object, &changes[i]);
}

/** The same for a whole row. */
static inline void change_all(void *object, const struct change changes[CHANGES_MAX])
{
	change_list(object, changes, CHANGES_MAX);
}

#endif

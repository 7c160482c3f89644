/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow: the one place where the pure floors allocate.
 */
#ifndef REAPER_MODEL_GROW_H
#define REAPER_MODEL_GROW_H

#include <stddef.h>

#include "base/macro.h"

/**
 * Makes room for one more member.
 *
 * @param array	the array, or NULL.
 * @param count	members in use.
 * @param room	members allocated; updated.
 * @param size	bytes of one member.
 * @param max	members at most.
 * @return the array, moved perhaps, with member [count] zeroed; NULL: no memory or no more than max: the
 *         old array is untouched.
 */
void *grow(void *array, size_t count, size_t *room, size_t size, size_t max) _must_check_;

#endif

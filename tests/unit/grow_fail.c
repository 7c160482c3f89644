/* SPDX-License-Identifier: Apache-2.0 */
#include "grow_fail.h"

#include "model/grow.h"

static unsigned left;
static bool failed;

/* The linker's names: grow() as the program calls it, and as it is. */
void *__real_grow(void *array, size_t count, size_t *room, size_t size, size_t max);
void *__wrap_grow(void *array, size_t count, size_t *room, size_t size, size_t max);

void grow_fail_at(unsigned call)
{
	left = call;
	failed = false;
}

bool grow_has_failed(void)
{
	return failed;
}

void *__wrap_grow(void *array, size_t count, size_t *room, size_t size, size_t max)
{
	if (left && !--left) {
		failed = true;
		return NULL;
	}
	return __real_grow(array, count, room, size, max);
}

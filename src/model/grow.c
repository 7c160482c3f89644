/* SPDX-License-Identifier: Apache-2.0 */
#include "model/grow.h"

#include <stdlib.h>
#include <string.h>

void *grow(void *array, size_t count, size_t *room, size_t size, size_t max)
{
	char *bytes = array;

	if (count >= max)
		return NULL;
	if (count == *room) {
		size_t more = count ? count * 2 : 16;

		bytes = realloc(array, more * size);
		if (!bytes)
			return NULL;
		*room = more;
	}
	memset(bytes + count * size, 0, size);
	return bytes;
}

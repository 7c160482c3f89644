/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a history of memory: what is taken is written again and read the same, and can be
 * judged.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "app/memory_file.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

enum {
	AFTER_MS = 60000,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(growth_done) struct growth g = { 0 }, again = { 0 };
	_cleanup_(buf_done) struct buf text = { 0 };

	if (memory_file_parse((const char *)data, size, BOOT, &g)) {
		assert(!g.count);
		return 0;
	}
	for (size_t i = 0; i < g.count; i++) {
		struct memory_trend t = growth_judge(&g.series[i], AFTER_MS);

		assert(t.growing == TRI_UNKNOWN || t.window_ms >= AFTER_MS);
		assert(t.growing != TRI_YES || t.anon_per_s >= 0);
	}
	memory_file_format(&g, BOOT, &text);
	if (text.failed)
		return 0;
	assert(!memory_file_parse(text.bytes, text.len, BOOT, &again));
	assert(again.count == g.count);
	for (size_t i = 0; i < g.count; i++)
		assert(again.series[i].count == g.series[i].count &&
		       !memcmp(again.series[i].sample, g.series[i].sample,
			       g.series[i].count * sizeof(g.series[i].sample[0])));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a history: what is taken is written again byte by byte, or it was not strict. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "app/history_file.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(history_done) struct history h = { 0 }, again = { 0 };
	_cleanup_(buf_done) struct buf text = { 0 }, twice = { 0 };

	if (history_file_parse((const char *)data, size, BOOT, &h)) {
		assert(!h.count && !h.kill_count);
		return 0;
	}
	history_file_format(&h, BOOT, &text);
	if (text.failed)
		return 0;
	assert(!history_file_parse(text.bytes, text.len, BOOT, &again));
	assert(again.count == h.count && again.kill_count == h.kill_count);
	history_file_format(&again, BOOT, &twice);
	assert(twice.failed ||
	       (twice.len == text.len && !memcmp(twice.bytes, text.bytes, text.len)));
	return 0;
}

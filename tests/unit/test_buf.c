/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

Test(buf, appends_in_order)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_str(&b, "a");
	buf_add(&b, "b\0c", 3);
	buf_printf(&b, "-%d-%s", 42, "x");
	cr_assert_eq(b.len, 9);
	cr_assert_eq(memcmp(b.bytes, "ab\0c-42-x", 10), 0, "the NUL behind it included");
	cr_assert_not(b.failed);
}

Test(buf, appending_nothing_makes_an_empty_string)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_add(&b, NULL, 0);
	cr_assert_str_eq(b.bytes, "");
	buf_printf(&b, "%s", "");
	cr_assert_eq(b.len, 0);
}

Test(buf, grows_over_every_length)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	/* Each length ends just below, at and above the room at some time. */
	for (size_t i = 0; i < 3000; i++) {
		if (i % 2)
			buf_printf(&b, "%c", (int)('a' + i % 26));
		else
			buf_add(&b, &(char){ (char)('a' + i % 26) }, 1);
		cr_assert_eq(b.len, i + 1);
		cr_assert_lt(b.len, b.room);
		cr_assert_eq(b.bytes[b.len], '\0');
	}
	for (size_t i = 0; i < 3000; i++)
		cr_assert_eq(b.bytes[i], (char)('a' + i % 26));
}

Test(buf, printf_longer_than_any_room)
{
	_cleanup_(buf_done) struct buf b = { 0 };

	buf_printf(&b, "%05000d|", 7);
	cr_assert_eq(b.len, 5001);
	cr_assert_eq(b.bytes[4999], '7');
	cr_assert_eq(b.bytes[5000], '|');
}

Test(buf, remembers_a_failed_allocation)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	volatile size_t too_much = SIZE_MAX - 2;

	buf_str(&b, "kept");
	buf_add(&b, "x", too_much);
	cr_assert(b.failed);
	cr_assert_str_eq(b.bytes, "kept");
	buf_str(&b, "lost");
	buf_printf(&b, "%d", 1);
	cr_assert_str_eq(b.bytes, "kept", "after a hole nothing is appended");
	buf_clear(&b);
	cr_assert_not(b.failed);
	buf_str(&b, "new");
	cr_assert_str_eq(b.bytes, "new");
}

Test(buf, clear_keeps_the_memory)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	const char *before;

	buf_str(&b, "first");
	before = b.bytes;
	buf_clear(&b);
	cr_assert_eq(b.len, 0);
	cr_assert_str_eq(b.bytes, "");
	buf_str(&b, "next");
	cr_assert_eq(b.bytes, before);
}

Test(buf, clear_and_done_take_an_empty_one)
{
	struct buf b = { 0 };

	buf_clear(&b);
	buf_done(&b);
	cr_assert_null(b.bytes);
	cr_assert_eq(b.room, 0);
}

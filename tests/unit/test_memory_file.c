/* SPDX-License-Identifier: Apache-2.0 */
#include "app/memory_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tmpdir.h"

#define BOOT   "01234567-89ab-cdef-0123-456789abcdef"
#define HEADER "reaper-memory/1 boot=" BOOT "\n"
#define NOW    UINT64_C(1000000)
#define LARGE  "1152921504606846976" /* MEMORY_BYTES_MAX */
#define TEXT   HEADER "sample 7:100 5000 900 300 200 400\n"

#define _cleanup_growth_ _cleanup_(growth_done)
#define _cleanup_buf_    _cleanup_(buf_done)

struct row {
	const char *why;
	const char *text;
};

/* Each is written again as it was read. */
static const struct row good[] = {
	{ "nothing is known", HEADER },
	{ "one sample", TEXT },
	{ "two of one process", TEXT "sample 7:100 5500 901 301 301 301\n" },
	{ "of several, two of one number", TEXT "sample 7:101 9 1 1 1 1\nsample 10:1 5 0 0 0 0\n" },
	{ "the largest numbers", HEADER "sample 4194304:18446744073709551615 31622400000000 " LARGE
					" " LARGE " " LARGE " " LARGE "\n" },
};

Test(memory_file, reads_and_writes_the_same)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_growth_ struct growth g = { 0 };
		_cleanup_buf_ struct buf text = { 0 };

		cr_expect_eq(memory_file_parse(good[i].text, strlen(good[i].text), BOOT, &g), 0,
			     "%s", good[i].why);
		memory_file_format(&g, BOOT, &text);
		cr_assert_not(text.failed);
		cr_expect_str_eq(text.bytes, good[i].text, "%s: %s", good[i].why, text.bytes);
	}
}

Test(memory_file, what_it_reads)
{
	_cleanup_growth_ struct growth g = { 0 };
	const struct memory_series *s;

	cr_assert_eq(memory_file_parse(TEXT, strlen(TEXT), BOOT, &g), 0);
	s = growth_find(&g, (struct ident){ .pid = 7, .start = 100 });
	cr_assert_not_null(s);
	cr_assert_eq(s->count, 1);
	cr_expect_eq(s->sample[0].ms, 5000);
	cr_expect_eq(s->sample[0].vm_bytes, 900);
	cr_expect_eq(s->sample[0].anon_bytes, 300);
	cr_expect_eq(s->sample[0].least_bytes, 200);
	cr_expect_eq(s->sample[0].most_bytes, 400);
}

static const struct row bad[] = {
	{ "nothing", "" },
	{ "another boot", "reaper-memory/1 boot=11234567-89ab-cdef-0123-456789abcdef\n" },
	{ "a boot that goes on", "reaper-memory/1 boot=" BOOT "0\n" },
	{ "another format", "reaper-memory/2 boot=" BOOT "\n" },
	{ "a header that is torn", "reaper-memory/1 boot=" BOOT },
	{ "no header", "sample 7:100 5000 900 300 200 400\n" },
	{ "a header twice", HEADER HEADER },
	{ "a torn line", TEXT "sample 7:100 6000 900 300 200 400" },
	{ "an empty line", HEADER "\n" },
	{ "an unknown word", HEADER "look 7:100 5000 900 300 200 400\n" },
	{ "a field too few", HEADER "sample 7:100 5000 900 300 200\n" },
	{ "a field too many", HEADER "sample 7:100 5000 900 300 200 400 5\n" },
	{ "two blanks", HEADER "sample  7:100 5000 900 300 200 400\n" },
	{ "pid 0", HEADER "sample 0:100 5000 900 300 200 400\n" },
	{ "no start", HEADER "sample 7 5000 900 300 200 400\n" },
	{ "a time that stands for unknown",
	  HEADER "sample 7:100 18446744073709551615 900 300 200 400\n" },
	{ "a time that no clock gets to",
	  HEADER "sample 7:100 13906666666666600100 900 300 200 400\n" },
	{ "a negative size", HEADER "sample 7:100 5000 -900 300 200 400\n" },
	{ "no number", HEADER "sample 7:100 5000 900 x 200 400\n" },
	{ "no least", HEADER "sample 7:100 5000 900 300 - 400\n" },
	{ "no most", HEADER "sample 7:100 5000 900 300 200 -\n" },
	{ "less than its least", HEADER "sample 7:100 5000 900 300 301 400\n" },
	{ "more than its most", HEADER "sample 7:100 5000 900 300 200 299\n" },
	{ "larger than any process", HEADER "sample 7:100 5000 1152921504606846977 300 200 400\n" },
	{ "a moment twice", TEXT "sample 7:100 5000 900 300 200 400\n" },
	{ "backwards", TEXT "sample 7:100 4000 900 300 200 400\n" },
	{ "closer than we look", TEXT "sample 7:100 5499 900 300 200 400\n" },
	{ "processes out of order", TEXT "sample 6:100 5000 900 300 200 400\n" },
	{ "one process in two places",
	  TEXT "sample 8:1 5 1 1 1 1\nsample 7:100 6000 900 300 200 400\n" },
	{ "lines that end as in DOS", HEADER "sample 7:100 5000 900 300 200 400\r\n" },
	{ "a line too long", HEADER
	  "sample 7:100 5000 "
	  "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000900 300 200 400\n" },
};

Test(memory_file, what_starts_afresh)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_growth_ struct growth g = { 0 };

		cr_expect_eq(memory_file_parse(bad[i].text, strlen(bad[i].text), BOOT, &g), -EINVAL,
			     "%s", bad[i].why);
		cr_expect_eq(g.count, 0, "%s: nothing of it is kept", bad[i].why);
	}
}

Test(memory_file, a_nul_or_no_boot)
{
	static const char nul[] = HEADER "sample 7:100 5000 900 300 200 400\0\n";
	static const char no_boot[] = "reaper-memory/1 boot=\n";
	_cleanup_growth_ struct growth g = { 0 };

	cr_expect_eq(memory_file_parse(nul, sizeof(nul) - 1, BOOT, &g), -EINVAL);
	cr_expect_eq(memory_file_parse(no_boot, sizeof(no_boot) - 1, "", &g), -EINVAL);
}

/* Every process with every sample that there can be, and one more of each. */
Test(memory_file, as_much_as_there_can_be)
{
	_cleanup_growth_ struct growth g = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	size_t whole;

	buf_str(&text, HEADER);
	for (int pid = 1; pid <= MEMORY_SERIES_MAX; pid++)
		for (int i = 1; i <= MEMORY_SAMPLES_MAX; i++)
			buf_printf(&text, "sample %d:1 %d000 5 5 5 5\n", pid, i);
	cr_assert_not(text.failed);
	whole = text.len;
	cr_expect_eq(memory_file_parse(text.bytes, whole, BOOT, &g), 0);
	cr_expect_eq(g.count, MEMORY_SERIES_MAX);
	growth_done(&g);
	buf_printf(&text, "sample %d:1 1000 5 5 5 5\n", MEMORY_SERIES_MAX + 1);
	cr_expect_eq(memory_file_parse(text.bytes, text.len, BOOT, &g), -EINVAL, "a process more");
	buf_clear(&text);
	buf_str(&text, HEADER);
	for (int i = 1; i <= MEMORY_SAMPLES_MAX + 1; i++)
		buf_printf(&text, "sample 7:1 %d000 5 5 5 5\n", i);
	cr_expect_eq(memory_file_parse(text.bytes, text.len, BOOT, &g), -EINVAL, "a sample more");
	buf_clear(&text);
	buf_str(&text, HEADER);
	for (int pid = 1; pid <= MEMORY_SERIES_MAX + 1; pid++)
		buf_printf(&text, "sample %d:1 1000 5 5 5 5\n", pid);
	cr_expect_eq(memory_file_parse(text.bytes, text.len, BOOT, &g), -EINVAL,
		     "a process more, of one sample");
}

static size_t loaded(const struct tmpdir *d)
{
	_cleanup_growth_ struct growth g = { 0 };

	cr_expect_eq(memory_file_load(d->path, BOOT, NOW, &g), 0);
	return g.count;
}

Test(memory_file, saved_and_loaded)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_growth_ struct growth g = { 0 };
	struct stat st;
	char path[PATH_MAX];

	cr_expect_eq(loaded(&d), 0, "none is there");
	cr_assert_eq(memory_file_parse(TEXT, strlen(TEXT), BOOT, &g), 0);
	cr_assert_eq(memory_file_save(d.path, BOOT, &g), 0);
	cr_expect_eq(loaded(&d), 1);
	cr_assert_eq(stat(tmpdir_path(&d, "memory", path), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_expect_eq(memory_file_save("/nonexistent", BOOT, &g), -ENOENT);
}

Test(memory_file, what_is_not_loaded)
{
	static const char future[] = HEADER "sample 7:100 1000001 900 300 200 400\n";
	static const char now[] = HEADER "sample 7:100 1000000 900 300 200 400\n";
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();

	tmpdir_write(&d, "memory", TEXT, strlen(TEXT), 0640);
	cr_expect_eq(loaded(&d), 1, "a good one");
	tmpdir_write(&d, "memory", TEXT, strlen(TEXT), 0660);
	cr_expect_eq(loaded(&d), 0, "its group may write it");
	tmpdir_write(&d, "memory", TEXT, strlen(TEXT), 0600);
	cr_expect_eq(loaded(&d), 0, "another mode than ours");
	tmpdir_write(&d, "memory", TEXT, strlen(TEXT) - 1, 0640);
	cr_expect_eq(loaded(&d), 0, "a torn one");
	tmpdir_write(&d, "memory", future, strlen(future), 0640);
	cr_expect_eq(loaded(&d), 0, "it speaks of times to come");
	tmpdir_write(&d, "memory", now, strlen(now), 0640);
	cr_expect_eq(loaded(&d), 1, "of just now");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding logs and following them.
 */
#include "observe/markers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "live.h"
#include "markers_dir.h"

TestSuite(markers, .init = dir_make, .fini = dir_remove);

Test(markers, no_directory_is_no_error)
{
	cr_assert_eq(rmdir(dir_top), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.logs, 0);
	cr_assert(counts.whole);
	cr_assert_eq(mkdir(dir_top, 0755), 0);
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 1);
}

Test(markers, a_file_for_a_directory_is_said)
{
	cr_assert_eq(rmdir(dir_top), 0);
	cr_assert_eq(close(open(dir_top, O_CREAT | O_WRONLY, 0644)), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_not(counts.whole);
	cr_assert(counts.behind_anybody);
	cr_assert(strstr(counts.first_distrusted, "cannot be read"), "%s", counts.first_distrusted);
	cr_assert_eq(unlink(dir_top), 0);
	cr_assert_eq(mkdir(dir_top, 0755), 0);
}

Test(markers, finds_logs_here_and_one_below_in_order)
{
	dir_mkdir("app", 0755);
	dir_mkdir("app/deeper", 0755);
	dir_mkdir("zoo.log", 0755);
	dir_log("b.log", "reaper/1 2 beat n=0\n");
	dir_log("a.log", "reaper/1 1 beat n=0\n");
	dir_log("a.txt", "reaper/1 9 beat n=0\n");
	dir_log("log", "reaper/1 9 beat n=0\n");
	dir_log("app/.log", "reaper/1 3 beat n=0\n");
	dir_log("app/x.log", "reaper/1 4 beat n=0\n");
	dir_log("app/x.log.1", "reaper/1 9 beat n=0\n");
	dir_log("app/deeper/y.log", "reaper/1 9 beat n=0\n");
	dir_log("zoo.log/z.log", "reaper/1 5 sealed\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 5);
	for (unsigned i = 0; i < taken.count; i++) {
		cr_assert_eq(taken.ms[i], i + 1, "%s", taken.name[i]);
		cr_assert_eq(taken.owner[i], geteuid());
	}
	cr_assert_str_eq(taken.name[3], "app/x.log");
	cr_assert_eq(taken.event[4], MARKER_UNKNOWN, "an unknown event counts in a beat");
	cr_assert_eq(counts.logs, 5);
	cr_assert_eq(counts.unknown, 1);
	cr_assert_eq(counts.bad, 0);
	cr_assert_eq(counts.distrusted, 0, "%s", counts.first_distrusted);
	cr_assert_eq(counts.deep, 1);
	cr_assert_str_eq(counts.first_deep, "app/deeper");
	cr_assert(counts.whole);
}

static const struct {
	const char *name; /* below tests/fixtures/markers */
	unsigned records;
} fixtures[] = {
	{ "spark-host.log", 10 },
	{ "spark-daemon.log", 3 },
	{ "pyjava-host.log", 7 },
	{ "pyjava-worker.log", 3 },
};

Test(markers, reads_logs_as_their_writers_write_them)
{
	static char bytes[FIXTURE_MAX];
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++) {
		(void)snprintf(name, sizeof(name), "markers/%s", fixtures[i].name);
		(void)fixture_read(name, bytes);
		dir_log(fixtures[i].name, bytes);
		cr_assert_eq(dir_read(), 0);
		cr_assert_eq(taken.count, fixtures[i].records, "%s: %u", name, taken.count);
		cr_assert_eq(counts.bad + counts.unknown, 0, "%s", counts.first_bad);
	}
}

Test(markers, follows_what_is_appended)
{
	dir_log("a.log", DIR_HOST "reaper/1 2 beat n=1\nreaper/1 3 be");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 2, "half a line waits");
	cr_assert(counts.whole);
	cr_assert_eq(counts.bad, 0);
	cr_assert_eq(counts.torn, 1);
	cr_assert_str_eq(counts.first_torn, "a.log");
	dir_append("a.log", "at n=0\nreaper/1 4 beat n=0\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 2);
	cr_assert_eq(counts.torn, 0, "it is whole now");
	cr_assert_eq(taken.ms[0], 3);
	cr_assert_eq(taken.log[0], 1);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 0);
	cr_assert_eq(taken.forgotten, 0);
	cr_assert_eq(counts.logs, 1);
}

Test(markers, truncation_begins_a_new_log)
{
	dir_log("a.log", DIR_HOST "reaper/1 2 beat n=1\n");
	cr_assert_eq(dir_read(), 0);
	dir_log("a.log", "reaper/1 3 beat n=0\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(taken.forgot[0], 1);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 2);
}

Test(markers, truncation_and_growth_beyond_begins_a_new_log)
{
	dir_log("a.log", "reaper/1 2 beat n=1\n");
	cr_assert_eq(dir_read(), 0);
	dir_log("a.log", DIR_HOST "reaper/1 3 beat n=1\nreaper/1 4 beat n=0\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(taken.count, 3);
	cr_assert_eq(taken.log[2], 2);
}

Test(markers, a_missing_moment_forgets_and_a_new_file_begins)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(unlink(dir_path("a.log")), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(counts.logs, 0);
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 2);
}

Test(markers, replacement_begins_a_new_log_and_a_new_name_does_not)
{
	dir_log("a.log", DIR_HOST "reaper/1 2 beat n=1\n");
	cr_assert_eq(dir_read(), 0);
	dir_log("new", DIR_HOST "reaper/1 2 beat n=1\nreaper/1 3 beat n=0\n");
	cr_assert_eq(rename(dir_path("a.log"), dir_path("b.log")), 0);
	cr_assert_eq(rename(dir_path("new"), dir_path("a.log")), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 0, "b.log is the log that was a.log");
	cr_assert_eq(taken.count, 3);
	cr_assert_eq(taken.log[0], 2);
	dir_append("b.log", "reaper/1 9 beat n=0\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 1);
	cr_assert_str_eq(taken.name[0], "b.log");
	cr_assert_eq(unlink(dir_path("a.log")), 0);
	cr_assert_eq(rename(dir_path("b.log"), dir_path("a.log.1")), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.forgotten, 2);
}

/* Each row is the second half of a log whose first line is good; the line that follows is read. */
static const struct {
	const char *why;
	const char *bytes;
	size_t len;
	unsigned bad;
	const char *first; /* what the first fault is called */
} noise[] = {
	{ "an empty line", "\n", 1, 1, "a.log:2: expected reaper/1" },
	{ "zeros", "\0\0\0\0\n", 5, 1, "a.log:2: expected reaper/1" },
	{ "a zero in a record", "reaper/1 1 beat n=0\0 x=1\n", 25, 1,
	  "a.log:2: expected printable ASCII" },
	{ "a terminal's escape", "reaper/1 1 beat n=0\033[2J\n", 24, 1,
	  "a.log:2: expected printable ASCII" },
	{ "two bad lines", "x\ny\n", 4, 2, "a.log:2: expected reaper/1" },
	{ "another process's record",
	  "reaper/1 1 host host=4712:1 boot=" DIR_BOOT " pidns=1 class=x\n", 86, 1,
	  "a.log:2: a second process writes this log" },
	{ "the same process's record again", DIR_HOST, sizeof(DIR_HOST) - 1, 0, "" },
};

Test(markers, noise_is_counted_and_skipped)
{
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
		unsigned good = noise[i].len > 50; /* an identity record is given on */

		dir_log("a.log", DIR_HOST);
		dir_write("a.log", noise[i].bytes, noise[i].len, O_APPEND);
		dir_append("a.log", "reaper/1 7 beat n=0\n");
		cr_assert_eq(dir_read(), 0);
		cr_assert_eq(taken.count, 2 + good, "%s: %u", noise[i].why, taken.count);
		cr_assert_eq(taken.ms[taken.count - 1], 7, "%s", noise[i].why);
		cr_assert_eq(counts.bad, noise[i].bad, "%s: %u", noise[i].why, counts.bad);
		cr_assert_eq(taken.bad, good ? 0 : noise[i].bad, "%s: the sink is told",
			     noise[i].why);
		cr_assert_str_eq(counts.first_bad, noise[i].first, "%s", noise[i].why);
		cr_assert(counts.whole);
	}
}

Test(markers, of_many_the_first_is_named)
{
	dir_log("b.log", DIR_HOST "half");
	dir_log("a.log", DIR_HOST "half");
	dir_log("c.log", DIR_HOST "half");
	dir_log("0.log", DIR_HOST);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.torn, 3);
	cr_assert_str_eq(counts.first_torn, "a.log");
}

Test(markers, bad_lines_stay_counted_while_the_log_is_there)
{
	dir_log("b.log", "x\n");
	dir_log("a.log", DIR_HOST "\ny\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.bad, 3);
	cr_assert_str_eq(counts.first_bad, "a.log:2: expected reaper/1");
	cr_assert_eq(unlink(dir_path("a.log")), 0);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.bad, 1);
	cr_assert_str_eq(counts.first_bad, "b.log:1: expected reaper/1");
}

/* Lines whose length with the newline lies around the limit and around the size of a block. */
Test(markers, long_lines_are_skipped_wherever_a_block_ends)
{
	static const size_t lengths[] = { 511, 512, 513, 1024, 65535, 65536, 65537, 200000 };
	static char line[200001];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t len = lengths[i],
		       head = (size_t)snprintf(line, sizeof(line), "reaper/1 5 beat n=0 x=");

		memset(line + head, 'y', len - head);
		line[len - 1] = '\n';
		dir_log("a.log", DIR_HOST);
		dir_write("a.log", line, len, O_APPEND);
		dir_append("a.log", "reaper/1 7 beat n=0\nx\n");
		cr_assert_eq(dir_read(), 0);
		cr_assert_eq(taken.count, len <= MARKER_LINE_MAX ? 3 : 2, "%zu", len);
		cr_assert_eq(taken.ms[taken.count - 1], 7, "%zu", len);
		cr_assert_eq(counts.bad, len <= MARKER_LINE_MAX ? 1 : 2, "%zu", len);
		cr_assert_eq(taken.bad, counts.bad, "%zu", len);
		cr_assert(strstr(counts.first_bad, len <= MARKER_LINE_MAX
							   ? ":4: expected reaper/1"
							   : ":2: expected at most 512"),
			  "%zu: %s", len, counts.first_bad);
	}
}

Test(markers, a_line_that_never_ends_is_counted_once)
{
	static char half[700];

	memset(half, 'y', sizeof(half));
	dir_write("a.log", half, sizeof(half), O_TRUNC);
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.bad, 1);
	dir_write("a.log", half, sizeof(half), O_APPEND);
	cr_assert_eq(dir_read(), 0);
	dir_append("a.log", "\nreaper/1 7 beat n=0\n");
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(counts.bad, 1);
	cr_assert_eq(taken.bad, 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 1);
}

/* A sink without memory gets the line again; it is one all the same. */
Test(markers, a_bad_line_is_told_until_it_is_taken)
{
	static char endless[700];

	memset(endless, 'y', sizeof(endless));
	dir_log("a.log", "x\n");
	dir_write("b.log", endless, sizeof(endless), O_TRUNC);
	for (unsigned i = 0; i < 2; i++) {
		taken.refuse = -ENOMEM;
		cr_assert_eq(dir_read(), -ENOMEM);
	}
	taken.refuse = 0;
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.bad, 2);
	cr_assert_eq(counts.bad, 2);
}

Test(markers, a_sparse_giant_is_read_piece_by_piece)
{
	dir_log("a.log", DIR_HOST);
	cr_assert_eq(truncate(dir_path("a.log"), (off_t)10 * 1024 * 1024 * 1024), 0);
	dir_log("b.log", "reaper/1 7 beat n=0\n");
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(dir_read(), 0);
		cr_assert_not(counts.whole);
		cr_assert_not(counts.behind_anybody);
		cr_assert_eq(counts.behind_count, 1);
		cr_assert_eq(counts.behind[0], geteuid());
		cr_assert_eq(counts.bad, 1);
		cr_assert_eq(taken.count, i ? 0 : 2);
	}
}

Test(markers, takes_16_mib_of_one_log_in_one_call)
{
	static char block[37 * 4096];
	size_t written = 0;

	for (size_t i = 0; i < sizeof(block); i += 37)
		memcpy(block + i, "reaper/1 1763640001001 end task=1234\n", 37);
	dir_log("a.log", "");
	for (; written <= MARKER_UNREAD_MAX + sizeof(block); written += sizeof(block))
		dir_write("a.log", block, sizeof(block), O_APPEND);
	cr_assert_eq(dir_read(), 0);
	cr_assert_not(counts.whole);
	cr_assert_leq(taken.count, MARKER_UNREAD_MAX / 37);
	cr_assert_geq(taken.count, MARKER_UNREAD_MAX / 37 - 1);
	written -= 37 * (size_t)taken.count;
	cr_assert_eq(dir_read(), 0);
	cr_assert(counts.whole);
	cr_assert_eq(taken.count, written / 37);
	cr_assert_eq(counts.bad, 0);
}

Test(markers, what_the_sink_refuses_comes_again)
{
	dir_log("a.log", DIR_HOST "reaper/1 2 beat n=1\n");
	taken.refuse = -ENOMEM;
	cr_assert_eq(dir_read(), -ENOMEM);
	taken.refuse = 0;
	cr_assert_eq(dir_read(), 0);
	cr_assert_eq(taken.count, 2);
	cr_assert_eq(taken.forgotten, 0);
}

/* Writes a log as badly as it can be done. */
static void write_badly(void *arg _unused_)
{
	live_ready();
	for (unsigned i = 0;; i++) {
		int fd = open(dir_path("a.log"), O_WRONLY | O_CREAT | (i % 3 ? O_APPEND : O_TRUNC),
			      0644);

		(void)!write(fd, DIR_HOST, sizeof(DIR_HOST) - 1);
		(void)!write(fd, "reaper/1 2 be", 13);
		(void)!write(fd, "at n=1\nx\n", 9);
		if (i % 7 == 0)
			(void)!ftruncate(fd, 40);
		close(fd);
		if (i % 5 == 0)
			unlink(dir_path("a.log"));
		if (i % 11 == 0)
			rename(dir_path("a.log"), dir_path("b.log"));
	}
}

Test(markers, nothing_that_a_writer_does_meanwhile_is_an_error)
{
	unsigned rounds = 0, records = 0;
	pid_t child = live_start(write_badly, NULL);

	while (rounds < 200 || records < 50) {
		cr_assert_eq(dir_read(), 0);
		for (unsigned i = 0; i < MIN(taken.count, (unsigned)DIR_TAKEN_MAX); i++)
			cr_assert(taken.event[i] == MARKER_HOST
					  ? taken.ms[i] == 1
					  : taken.event[i] == MARKER_BEAT && taken.ms[i] == 2);
		records += taken.count;
		rounds++;
	}
	live_end(child);
}

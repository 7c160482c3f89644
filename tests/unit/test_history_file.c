/* SPDX-License-Identifier: Apache-2.0 */
#include "app/history_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "app/commands.h"
#include "tmpdir.h"

#define BOOT   "01234567-89ab-cdef-0123-456789abcdef"
#define HEADER "reaper-history/1 boot=" BOOT "\n"
#define NOW    UINT64_C(1000000)

#define _cleanup_history_ _cleanup_(history_done)
#define _cleanup_buf_     _cleanup_(buf_done)

static int parse(const char *text, size_t len, struct history *h)
{
	return history_file_parse(text, len, BOOT, h);
}

struct row {
	const char *why;
	const char *text;
};

/* Each is written again as it was read. */
static const struct row good[] = {
	{ "nothing is known", HEADER },
	{ "the clocks", HEADER "clock 1763640000123 0\n" },
	{ "the clocks, and more", HEADER "clock 1 5000\nseen 7:100 peer-closed 5000 -\nkill 7\n" },
	{ "a fence", HEADER "seen 7:100 peer-closed 5000 -\n" },
	{ "a wait by its call", HEADER "seen 7:100 wait 5000 7:7ffd0:7f00\n" },
	{ "a wait outside a call", HEADER "seen 7:100 wait 5000 -1:0:0\n" },
	{ "a wait by its place", HEADER "seen 7:100 wait 5000 @do_epoll_wait\n" },
	{ "the largest numbers",
	  HEADER "seen 4194304:18446744073709551615 wait 18446744073709551614 "
		 "9223372036854775807:ffffffffffffffff:ffffffffffffffff\n" },
	{ "a wait, and what it had used of a CPU",
	  HEADER "seen 7:100 wait 5000 7:7ffd0:7f00,1234567890,6000\n" },
	{ "the same by its place", HEADER "seen 7:100 wait 5000 @do_epoll_wait,0,0\n" },
	{ "the longest line",
	  HEADER "seen 4194304:18446744073709551615 wait 18446744073709551614 "
		 "@xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,"
		 "18446744073709551614,18446744073709551614\n" },
	{ "a daemon without a worker", HEADER "seen 7:100 idle 5000 -\n" },
	{ "every kind of one process", HEADER "seen 7:100 host-gone 1 -\n"
					      "seen 7:100 signed-off 2 -\n"
					      "seen 7:100 peer-closed 3 -\n"
					      "seen 7:100 retired 4 -\n"
					      "seen 7:100 task-ended 5 -\n"
					      "seen 7:100 assumed 6 -\n"
					      "seen 7:100 wait 7 1:2:3\n"
					      "seen 7:100 idle 8 -\n" },
	{ "two of one number", HEADER "seen 7:100 retired 1 -\nseen 7:101 retired 1 -\n" },
	{ "in order of number, not of text",
	  HEADER "seen 9:100 retired 1 -\nseen 10:1 retired 1 -\n" },
	{ "kills, two at once", HEADER "kill 5\nkill 6\nkill 6\n" },
	{ "both", HEADER "seen 7:100 retired 1 -\nkill 5\n" },
};

Test(history_file, reads_and_writes_the_same)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_history_ struct history h = { 0 };
		_cleanup_buf_ struct buf text = { 0 };

		cr_expect_eq(parse(good[i].text, strlen(good[i].text), &h), 0, "%s", good[i].why);
		history_file_format(&h, BOOT, &text);
		cr_assert_not(text.failed);
		cr_expect_str_eq(text.bytes, good[i].text, "%s: %s", good[i].why, text.bytes);
	}
}

Test(history_file, what_it_reads)
{
	static const char text[] =
		HEADER "seen 7:100 wait 5000 0:7ffd0:7f00,77,6500\n"
		       "seen 7:100 peer-closed 6000 -\nseen 8:1 idle 9 -\nkill 5\n";
	_cleanup_history_ struct history h = { 0 };
	const struct history_entry *e;

	cr_assert_eq(parse(text, sizeof(text) - 1, &h), 0);
	cr_assert_eq(h.count, 2);
	e = history_find(&h, (struct ident){ .pid = 7, .start = 100 });
	cr_assert_not_null(e);
	cr_expect(e->wait_known);
	cr_expect_eq(e->wait_ms, 5000);
	cr_expect_eq(e->nr, 0);
	cr_expect_eq(e->sp, 0x7ffd0);
	cr_expect_eq(e->pc, 0x7f00);
	cr_expect_str_empty(e->wchan);
	cr_expect_eq(e->looks, 1, "only the first look is on disk");
	cr_expect_eq(e->cpu_ns, 77);
	cr_expect_eq(e->before_ms, 6500);
	cr_expect_eq(e->fence_ms[FENCE_PEER_CLOSED], 6000);
	cr_expect_eq(e->fence_ms[FENCE_RETIRED], UNKNOWN_U64);
	cr_expect_eq(e->idle_ms, UNKNOWN_U64);
	cr_expect_not(e->before_known, "the look before is of another run");
	e = history_find(&h, (struct ident){ .pid = 8, .start = 1 });
	cr_assert_not_null(e);
	cr_expect_eq(e->idle_ms, 9);
	cr_expect_not(e->wait_known);
	cr_expect_eq(e->cpu_ns, UNKNOWN_U64);
	cr_expect_eq(history_kills(&h, 6), 1);
}

struct bad_row {
	const char *why;
	const char *text;
	size_t len; /* 0: strlen(text) */
};

static const struct bad_row bad[] = {
	{ "nothing", "", 0 },
	{ "another boot", "reaper-history/1 boot=11234567-89ab-cdef-0123-456789abcdef\n", 0 },
	{ "a boot that goes on", "reaper-history/1 boot=" BOOT "0\n", 0 },
	{ "no boot", "reaper-history/1 boot=\n", 0 },
	{ "another format", "reaper-history/2 boot=" BOOT "\n", 0 },
	{ "a header that is torn", "reaper-history/1 boot=" BOOT, 0 },
	{ "no header", "kill 5\n", 0 },
	{ "a header twice", HEADER HEADER, 0 },
	{ "a torn line", HEADER "seen 7:100 retired 1 -", 0 },
	{ "a torn line behind a whole one", HEADER "kill 5\nkill 6", 0 },
	{ "an empty line", HEADER "\nkill 5\n", 0 },
	{ "an unknown word", HEADER "died 5\n", 0 },
	{ "an unknown fence", HEADER "seen 7:100 idle-daemon 1 -\n", 0 },
	{ "no fence", HEADER "seen 7:100 none 1 -\n", 0 },
	{ "a field too few", HEADER "seen 7:100 retired 1\n", 0 },
	{ "a field too many", HEADER "seen 7:100 retired 1 - -\n", 0 },
	{ "two blanks", HEADER "seen  7:100 retired 1 -\n", 0 },
	{ "a blank behind", HEADER "kill 5 \n", 0 },
	{ "a tab", HEADER "kill\t5\n", 0 },
	{ "pid 0", HEADER "seen 0:100 retired 1 -\n", 0 },
	{ "a pid above the limit", HEADER "seen 4194305:100 retired 1 -\n", 0 },
	{ "no start", HEADER "seen 7 retired 1 -\n", 0 },
	{ "an empty start", HEADER "seen 7: retired 1 -\n", 0 },
	{ "a negative time", HEADER "kill -5\n", 0 },
	{ "a time that stands for unknown", HEADER "kill 18446744073709551615\n", 0 },
	{ "a time that overflows", HEADER "kill 18446744073709551616\n", 0 },
	{ "a fence with a wait", HEADER "seen 7:100 retired 1 1:2:3\n", 0 },
	{ "a wait without one", HEADER "seen 7:100 wait 1 -\n", 0 },
	{ "a wait of two parts", HEADER "seen 7:100 wait 1 1:2\n", 0 },
	{ "a wait of four parts", HEADER "seen 7:100 wait 1 1:2:3:4\n", 0 },
	{ "a call number below -1", HEADER "seen 7:100 wait 1 -2:0:0\n", 0 },
	{ "a call number that overflows", HEADER "seen 7:100 wait 1 9223372036854775808:0:0\n", 0 },
	{ "an address with a prefix", HEADER "seen 7:100 wait 1 1:0x2:3\n", 0 },
	{ "an address in capitals", HEADER "seen 7:100 wait 1 1:2:F\n", 0 },
	{ "an address too long", HEADER "seen 7:100 wait 1 1:2:10000000000000000\n", 0 },
	{ "no place", HEADER "seen 7:100 wait 1 @\n", 0 },
	{ "no place, and a CPU's time", HEADER "seen 7:100 wait 1 @,1,1\n", 0 },
	{ "a CPU's time, and not when", HEADER "seen 7:100 wait 1 1:2:3,1\n", 0 },
	{ "a CPU's time and nothing behind", HEADER "seen 7:100 wait 1 1:2:3,1,\n", 0 },
	{ "no CPU's time, and when", HEADER "seen 7:100 wait 1 1:2:3,,1\n", 0 },
	{ "three of them", HEADER "seen 7:100 wait 1 1:2:3,1,1,1\n", 0 },
	{ "a CPU's time that stands for unknown",
	  HEADER "seen 7:100 wait 1 1:2:3,18446744073709551615,1\n", 0 },
	{ "a negative CPU's time", HEADER "seen 7:100 wait 1 1:2:3,-1,1\n", 0 },
	{ "a place too long",
	  HEADER
	  "seen 7:100 wait 1 @xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
	  0 },
	{ "a kind twice", HEADER "seen 7:100 retired 1 -\nseen 7:100 retired 2 -\n", 0 },
	{ "a wait twice", HEADER "seen 7:100 wait 1 1:2:3\nseen 7:100 wait 1 1:2:3\n", 0 },
	{ "out of order", HEADER "seen 8:1 retired 1 -\nseen 7:1 retired 1 -\n", 0 },
	{ "one process in two places",
	  HEADER "seen 7:1 retired 1 -\nseen 8:1 retired 1 -\nseen 7:1 idle 1 -\n", 0 },
	{ "kills out of order", HEADER "kill 6\nkill 5\n", 0 },
	{ "the clocks twice", HEADER "clock 5 0\nclock 5 0\n", 0 },
	{ "clocks that are unknown", HEADER "clock 0 0\n", 0 },
	{ "clocks without a number", HEADER "clock x 0\n", 0 },
	{ "clocks since no moment", HEADER "clock 5 x\n", 0 },
	{ "clocks of one number", HEADER "clock 5\n", 0 },
	{ "clocks of three", HEADER "clock 5 5 5\n", 0 },
	{ "a NUL", HEADER "kill 5\0006\n", sizeof(HEADER "kill 5\0006\n") - 1 },
	{ "a line too long",
	  HEADER
	  "seen 7:100 retired 1 "
	  "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	  "0000000000000000000000000000000000000000-\n",
	  0 },
	{ "lines that end as in DOS", HEADER "kill 5\r\n", 0 },
};

Test(history_file, what_starts_afresh)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_history_ struct history h = { 0 };
		size_t len = bad[i].len ? bad[i].len : strlen(bad[i].text);

		cr_expect_eq(parse(bad[i].text, len, &h), -EINVAL, "%s", bad[i].why);
		cr_expect(!h.count && !h.kill_count, "%s: nothing of it is kept", bad[i].why);
	}
}

Test(history_file, an_unknown_boot_fits_no_file)
{
	static const char text[] = "reaper-history/1 boot=\n";
	_cleanup_history_ struct history h = { 0 };

	cr_expect_eq(history_file_parse(text, sizeof(text) - 1, "", &h), -EINVAL);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

static struct history_entry *seen(struct history *h, pid_t pid)
{
	struct history_entry *e = history_touch(h, (struct ident){ .pid = pid, .start = 1 }, NOW);

	cr_assert_not_null(e);
	return e;
}

static bool is_written(const struct history *h, pid_t pid)
{
	return history_find(h, (struct ident){ .pid = pid, .start = 1 });
}

/* 16,383 lines behind the header, one a kill: 5,460 of three lines fit, and two lines are left. */
Test(history_file, the_longest_proven_are_kept_whole)
{
	_cleanup_history_ struct history h = { 0 }, again = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	const pid_t count = HISTORY_FILE_LINES_MAX / 2, fit = (HISTORY_FILE_LINES_MAX - 2) / 3;

	for (pid_t pid = 1; pid <= count; pid++) {
		struct history_entry *e = seen(&h, pid);

		e->fence_ms[FENCE_RETIRED] = 30000 - (uint64_t)pid;
		e->fence_ms[FENCE_PEER_CLOSED] = 40000;
		e->wait_known = true;
		e->wait_ms = (uint64_t)pid;
	}
	cr_assert_eq(history_kill(&h, 1), 0);
	history_file_format(&h, BOOT, &text);
	cr_assert_not(text.failed);
	cr_expect_eq(count_lines(text.bytes), 2 + 3 * (size_t)fit);
	cr_assert_eq(parse(text.bytes, text.len, &again), 0);
	cr_expect_eq(again.kill_count, 1, "a kill limits what may be ended, however old");
	cr_expect_eq(again.count, (size_t)fit);
	cr_expect(is_written(&again, count), "the longest proven");
	cr_expect(is_written(&again, count - fit + 1), "the last that fits");
	cr_expect_not(is_written(&again, count - fit), "the first that does not");
	cr_expect_not(is_written(&again, 1), "however long it has waited");
	for (size_t i = 0; i < again.count; i++) {
		const struct history_entry *e = history_at(&again, i);

		cr_expect_eq(e->fence_ms[FENCE_RETIRED], 30000 - (uint64_t)e->id.pid);
		cr_expect_eq(e->fence_ms[FENCE_PEER_CLOSED], 40000);
		cr_expect_eq(e->wait_ms, (uint64_t)e->id.pid);
	}
}

/* Of one line each; who comes last in the order of claims does not fit. */
static const struct claim_row {
	const char *why;
	uint64_t proof_ms, wait_ms, idle_ms; /* of one, where all others are proven since 5000 */
	bool written;
} claims[] = {
	{ "proven a moment longer", 4999, UNKNOWN_U64, UNKNOWN_U64, true },
	{ "proven a moment less long", 5001, UNKNOWN_U64, UNKNOWN_U64, false },
	{ "as long, and of a greater number", 5000, UNKNOWN_U64, UNKNOWN_U64, false },
	{ "as long, and waiting (a line more)", 5000, 6000, UNKNOWN_U64, true },
	{ "not proven, however long it waits", UNKNOWN_U64, 1, UNKNOWN_U64, false },
	{ "nor however long it is idle", UNKNOWN_U64, UNKNOWN_U64, 1, false },
};

Test(history_file, who_is_written_where_not_all_fit)
{
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		const struct claim_row *c = &claims[i];
		_cleanup_history_ struct history h = { 0 }, again = { 0 };
		_cleanup_buf_ struct buf text = { 0 };
		struct history_entry *e;

		for (pid_t pid = 1; pid < HISTORY_FILE_LINES_MAX; pid++)
			seen(&h, pid)->fence_ms[FENCE_RETIRED] = 5000;
		e = seen(&h, HISTORY_FILE_LINES_MAX);
		e->fence_ms[FENCE_TASK_ENDED] = c->proof_ms;
		e->wait_known = c->wait_ms != UNKNOWN_U64;
		e->wait_ms = c->wait_ms;
		e->idle_ms = c->idle_ms;
		history_file_format(&h, BOOT, &text);
		cr_expect_eq(count_lines(text.bytes), HISTORY_FILE_LINES_MAX, "%s", c->why);
		cr_assert_eq(parse(text.bytes, text.len, &again), 0);
		cr_expect_eq(is_written(&again, HISTORY_FILE_LINES_MAX), c->written, "%s", c->why);
		cr_expect(is_written(&again, 1), "%s", c->why);
	}
}

/* The younger waits make room; which are the same in each run, so those written are due some day. */
Test(history_file, run_after_run_the_same_are_kept)
{
	_cleanup_buf_ struct buf text = { 0 };
	const pid_t count = HISTORY_FILE_LINES_MAX + 1000;

	for (uint64_t run = 1; run <= 3; run++) {
		_cleanup_history_ struct history h = { 0 };

		if (text.len)
			cr_assert_eq(parse(text.bytes, text.len, &h), 0);
		for (pid_t pid = 1; pid <= count; pid++) {
			struct history_entry *e = seen(&h, pid);

			if (e->fence_ms[FENCE_HOST_GONE] == UNKNOWN_U64)
				e->fence_ms[FENCE_HOST_GONE] = run * 1000;
		}
		cr_expect_eq(history_at(&h, 0)->fence_ms[FENCE_HOST_GONE], 1000, "run %lu", run);
		buf_done(&text);
		history_file_format(&h, BOOT, &text);
	}
}

/* Whatever order they were seen in. */
Test(history_file, lines_stand_in_the_order_of_identities)
{
	_cleanup_history_ struct history h = { 0 }, again = { 0 };
	_cleanup_buf_ struct buf text = { 0 };

	seen(&h, 9)->idle_ms = 1;
	seen(&h, 7)->idle_ms = 2;
	seen(&h, 8)->idle_ms = 3;
	history_file_format(&h, BOOT, &text);
	cr_expect_str_eq(text.bytes,
			 HEADER "seen 7:1 idle 2 -\nseen 8:1 idle 3 -\nseen 9:1 idle 1 -\n");
	cr_expect_eq(parse(text.bytes, text.len, &again), 0);
}

Test(history_file, kills_come_first)
{
	_cleanup_history_ struct history h = { 0 }, again = { 0 };
	_cleanup_buf_ struct buf text = { 0 };

	h.wall_minus_boot_ms = 5;
	h.stepped_ms = 6;
	for (int i = 0; i < HISTORY_FILE_LINES_MAX + 5; i++)
		cr_assert_eq(history_kill(&h, (uint64_t)i), 0);
	history_touch(&h, (struct ident){ .pid = 7, .start = 1 }, NOW)->idle_ms = 5;
	history_file_format(&h, BOOT, &text);
	cr_expect_eq(count_lines(text.bytes), HISTORY_FILE_LINES_MAX);
	cr_assert_eq(parse(text.bytes, text.len, &again), 0);
	cr_expect_eq(again.kill_count, HISTORY_FILE_LINES_MAX - 2);
	cr_expect_eq(again.kills[0], 7, "the youngest");
	cr_expect_eq(again.wall_minus_boot_ms, 5);
	cr_expect_eq(again.stepped_ms, 6);
	cr_expect_eq(again.count, 0);
}

Test(history_file, more_lines_than_may_be)
{
	_cleanup_history_ struct history h = { 0 };
	_cleanup_buf_ struct buf text = { 0 };

	buf_str(&text, HEADER);
	for (int i = 1; i < HISTORY_FILE_LINES_MAX; i++)
		buf_str(&text, "kill 5\n");
	cr_expect_eq(parse(text.bytes, text.len, &h), 0, "as many as may be");
	history_done(&h);
	buf_str(&text, "kill 5\n");
	cr_expect_eq(parse(text.bytes, text.len, &h), -EINVAL, "one more");
}

/* ---- the file ---- */

static size_t loaded(const struct tmpdir *d)
{
	_cleanup_history_ struct history h = { 0 };

	cr_expect_eq(history_file_load(d->path, BOOT, NOW, &h), 0);
	return h.count + h.kill_count;
}

Test(history_file, saves_and_loads)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_history_ struct history h = { 0 }, again = { 0 };
	char path[PATH_MAX];
	struct stat st;

	cr_expect_eq(loaded(&d), 0, "no file is an empty one");
	history_touch(&h, (struct ident){ .pid = 7, .start = 1 }, NOW)->idle_ms = 5;
	cr_assert_eq(history_kill(&h, NOW), 0);
	(void)umask(0);
	cr_assert_eq(history_file_save(d.path, BOOT, &h), 0);
	cr_assert_eq(stat(tmpdir_path(&d, "history", path), &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_assert_eq(history_file_load(d.path, BOOT, NOW, &again), 0);
	cr_expect_eq(again.count, 1);
	cr_expect_eq(again.kill_count, 1);
	cr_expect_eq(history_file_save("/proc/none", BOOT, &h), -ENOENT, "no directory");
}

Test(history_file, another_boot_starts_afresh)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_history_ struct history h = { 0 };

	cr_assert_eq(history_kill(&h, 5), 0);
	cr_assert_eq(history_file_save(d.path, "11234567-89ab-cdef-0123-456789abcdef", &h), 0);
	cr_expect_eq(loaded(&d), 0);
}

/* It may hold the kills of the last hour: to go on without them would double what the limits allow. */
Test(history_file, what_cannot_be_read_now_is_not_missing)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_history_ struct history h = { 0 };
	_cleanup_history_ struct history read = { 0 };
	struct rlimit limit, none;

	cr_assert_eq(history_kill(&h, 5), 0);
	cr_assert_eq(history_file_save(d.path, BOOT, &h), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(history_file_load(d.path, BOOT, NOW, &read), -EMFILE);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(history_file_load(d.path, BOOT, NOW, &read), 0);
	cr_expect_eq(read.kill_count, 1);
}

/* An audit is wanted most on a bad day. */
Test(history_file, what_cannot_be_read_now_keeps_from_ending_and_not_from_looking)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	static struct config config; /* half a megabyte */
	static struct look look;
	struct rlimit limit, none;
	int looking, ending;

	cr_assert_lt((size_t)snprintf(config.state_dir, sizeof(config.state_dir), "%s", d.path),
		     sizeof(config.state_dir));
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	looking = command_remember(&config, false, &look);
	ending = command_remember(&config, true, &look);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(looking, 0);
	cr_expect_eq(ending, (int)EXIT_BLIND);
	cr_expect_eq(command_remember(&config, true, &look), 0);
}

#define TEXT HEADER "kill 5\n"

struct file_row {
	const char *why;
	const char *text;
	mode_t dir_mode, mode;
	size_t loaded;
};

static const struct file_row files[] = {
	{ "as it is written", TEXT, 0750, 0640, 1 },
	{ "another mode", TEXT, 0750, 0644, 0 },
	{ "writable by its group", TEXT, 0750, 0660, 0 },
	{ "in a directory that others may write", TEXT, 0777, 0640, 0 },
	{ "a torn line", TEXT "kill", 0750, 0640, 0 },
	{ "a kill that is yet to come", HEADER "kill 1000001\n", 0750, 0640, 0 },
	{ "a kill of this moment", HEADER "kill 1000000\n", 0750, 0640, 1 },
	{ "a fence that is yet to come", HEADER "seen 7:1 retired 1000001 -\n", 0750, 0640, 0 },
	{ "a wait that is yet to come", HEADER "seen 7:1 wait 1000001 1:2:3\n", 0750, 0640, 0 },
	{ "a look now", HEADER "seen 7:1 wait 5 1:2:3,1,1000000\n", 0750, 0640, 1 },
	{ "a look that is yet to come", HEADER "seen 7:1 wait 5 1:2:3,1,1000001\n", 0750, 0640, 0 },
};

Test(history_file, which_files_it_believes)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();

		tmpdir_write(&d, "history", files[i].text, strlen(files[i].text), files[i].mode);
		cr_assert_eq(chmod(d.path, files[i].dir_mode), 0);
		cr_expect_eq(loaded(&d), files[i].loaded, "%s", files[i].why);
	}
}

Test(history_file, links_and_other_kinds)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX], other[PATH_MAX];

	tmpdir_write(&d, "target", TEXT, strlen(TEXT), 0640);
	cr_assert_eq(symlink(tmpdir_path(&d, "target", path), tmpdir_path(&d, "history", other)),
		     0);
	cr_expect_eq(loaded(&d), 0, "a symbolic link");
	cr_assert_eq(unlink(other), 0);
	cr_assert_eq(link(path, other), 0);
	cr_expect_eq(loaded(&d), 0, "a hard link");
	cr_assert_eq(unlink(other), 0);
	cr_assert_eq(mkfifo(other, 0640), 0);
	cr_assert_eq(chmod(other, 0640), 0);
	cr_expect_eq(loaded(&d), 0, "a FIFO, without waiting for its other end");
}

Test(history_file, of_somebody_else)
{
	if (geteuid())
		cr_skip_test("only root can give a file away");
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX];

	tmpdir_write(&d, "history", TEXT, strlen(TEXT), 0640);
	cr_assert_eq(chown(tmpdir_path(&d, "history", path), 65534, 65534), 0);
	cr_expect_eq(loaded(&d), 0);
}

/* Root's file is believed where the text is a configuration; a history must be one's own. */
Test(history_file, of_root_for_a_user)
{
	if (geteuid())
		cr_skip_test("only root can become somebody else");
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	int status;
	pid_t pid;

	tmpdir_write(&d, "history", TEXT, strlen(TEXT), 0640);
	cr_assert_eq(chmod(d.path, 0755), 0);
	pid = fork();
	if (!pid) {
		struct history h = { 0 };
		char path[PATH_MAX];

		(void)alarm(20);
		/* The group of the file, so that it can be read. */
		if (setresuid(65534, 65534, 65534) ||
		    access(tmpdir_path(&d, "history", path), R_OK) ||
		    history_file_load(d.path, BOOT, NOW, &h))
			_exit(2);
		_exit(h.kill_count != 0);
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(WEXITSTATUS(status), 0, "%d", WEXITSTATUS(status));
}

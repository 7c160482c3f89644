/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people and programs read of ends and of crash loops.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "golden.h"
#include "report/json.h"
#include "report/text.h"
#include "report/words.h"

enum {
	BOOT_MS = 50 * BUILD_MINUTE
};

static const struct exit_record server = {
	.id = { 5001, 8812345 },
	.role = ROLE_SINGLE,
	.class_name = "model",
	.label = "ps",
	.ending = { ENDING_SIGNAL, SIGSEGV, TRI_NO },
	.at_ms = BOOT_MS - 3 * BUILD_SECOND,
	.lived_ms = 12 * BUILD_SECOND,
	.counts = true,
};

static const struct exit_record worker = {
	.id = { 4803, 8812400 },
	.role = ROLE_WORKER,
	.class_name = "pyspark",
	.daemon = { 4790, 8812390 },
	.host = { 4711, 8812000 },
	.ending = { ENDING_CODE, 255, TRI_NO },
	.at_ms = BOOT_MS,
	.lived_ms = 250,
};

static const struct exit_record a_daemon = {
	.id = { 4790, 8812390 },
	.role = ROLE_DAEMON,
	.host = { 4711, 8812000 },
	.ending = { ENDING_SIGNAL, 64, TRI_YES },
	.at_ms = BOOT_MS,
	.lived_ms = UNKNOWN_U64,
	.counts = true,
};

static const struct exit_record lost = {
	.id = { 5002, 8812346 },
	.role = ROLE_SINGLE,
	.class_name = "hostile\x1b[31m",
	.label = "a\nb",
	.at_ms = BOOT_MS,
	.lived_ms = BUILD_HOUR,
};

static const struct exit_record *const records[] = { &server, &worker, &a_daemon, &lost };

static struct crashes crashes_of(int role, const int *signals, size_t count)
{
	struct crashes c = { .role = role, .window_ms = 10 * BUILD_MINUTE, .count = count };

	for (size_t i = 0; i < count; i++) {
		struct crash *crash = &c.crash[i];

		crash->at_ms = BOOT_MS - BUILD_MINUTE + i * (4 * BUILD_SECOND + 100 * i);
		c.unseen += signals[i] == 0;
		c.by_signal += signals[i] != 0;
		if (signals[i])
			crash->ending = (struct ending){ ENDING_SIGNAL, signals[i], TRI_NO };
	}
	c.restarts = c.unseen;
	return c;
}

static const int segv[] = { SIGSEGV, SIGSEGV, SIGSEGV };
static const int mixed[] = { SIGABRT, SIGSEGV, SIGBUS, SIGSEGV, SIGKILL, 0, SIGFPE, 64 };
static const int unseen[] = { 0, 0, 0 };

static struct crashes groups[4];

static void fill_groups(void)
{
	groups[0] = crashes_of(ROLE_SINGLE, segv, ARRAY_SIZE(segv));
	groups[0].cores = 2;
	groups[1] = crashes_of(ROLE_WORKER, mixed, ARRAY_SIZE(mixed));
	groups[2] = crashes_of(ROLE_DAEMON, segv, 1);
	groups[3] = crashes_of(ROLE_SINGLE, unseen, ARRAY_SIZE(unseen));
}

Test(words_exit, ends)
{
	static const char *const expected[] = {
		"died by SIGSEGV, 12s old; no core",
		"exited with 255, 0.2s old",
		"died by signal 64; core dumped",
		"is gone, and how it ended was not seen, 1h old",
	};
	char words[WORDS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		cr_expect_str_eq(words_exit(records[i], words), expected[i], "%s", words);
}

Test(words_exit, loops)
{
	static const char *const expected[] = {
		"3 of its class and role died by a signal within 8.4s: SIGSEGV 3; 4.1s, 4.3s "
		"apart; 2 dumped core",
		"7 of its workers died by a signal and 1 began anew after an end that was not "
		"seen within 32s: SIGSEGV 2, SIGABRT 1, SIGBUS 1, SIGFPE 1 and others; 4.7s, "
		"4.9s, 5.1s, 5.3s apart; no core",
		"1 daemon of its host and class died by a signal within 0.0s: SIGSEGV 1; no core",
		"3 of its class and role began anew after an end that was not seen within 8.4s; "
		"4.1s, 4.3s apart",
	};
	char words[WORDS_MAX];

	fill_groups();
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		cr_expect_str_eq(words_crashes(&groups[i], words), expected[i], "%s", words);
}

/* Everything at its longest is cut, not broken. */
Test(words_exit, the_longest_loop_has_room)
{
	struct crashes c = { .role = ROLE_DAEMON, .window_ms = 24 * BUILD_HOUR };
	char words[WORDS_MAX];

	for (c.count = 0; c.count < CRASHES_MAX; c.count++) {
		c.crash[c.count].at_ms = c.count * c.count * BUILD_MINUTE;
		c.crash[c.count].ending.how = c.count % 2 ? ENDING_SIGNAL : ENDING_UNKNOWN;
		c.crash[c.count].ending.number = 30 + (int)c.count;
	}
	c.by_signal = c.unseen = c.cores = c.restarts = UINT32_MAX;
	cr_expect_lt(strlen(words_crashes(&c, words)), WORDS_MAX - 1, "%s", words);
}

Test(words_exit, one_line_for_each)
{
	_cleanup_(buf_done) struct buf json = { 0 }, text = { 0 };
	struct event e = { .wall_ms = BUILD_WALL_MS, .boot_ms = BOOT_MS };

	fill_groups();
	for (e.kind = EVENT_EXIT; e.kind <= EVENT_CRASH_LOOP; e.kind++)
		for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
			struct exit_record group = *records[i];

			group.id.pid = 0;
			e.exit = e.kind == EVENT_EXIT ? records[i] : &group;
			e.crashes = e.kind == EVENT_EXIT ? NULL : &groups[i];
			cr_assert_eq(json_event(&e, &json), 0);
			text_event(&e, &text);
		}
	golden_expect("exits.jsonl", &json);
	golden_expect("exits.txt", &text);
	golden_expect_printable("exits.txt", &text, true);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ending.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

enum {
	CORE = 0x80
};

static const struct {
	int status;
	struct ending ending;
	const char *why;
} statuses[] = {
	{ 0, { ENDING_CODE, 0, TRI_NO }, "all went well" },
	{ 3 << 8, { ENDING_CODE, 3, TRI_NO }, "a code" },
	{ 255 << 8, { ENDING_CODE, 255, TRI_NO }, "the largest code" },
	{ SIGSEGV, { ENDING_SIGNAL, SIGSEGV, TRI_NO }, "a signal" },
	{ SIGSEGV | CORE, { ENDING_SIGNAL, SIGSEGV, TRI_YES }, "and its core" },
	{ SIGKILL, { ENDING_SIGNAL, SIGKILL, TRI_NO }, "SIGKILL" },
	{ 64, { ENDING_SIGNAL, 64, TRI_NO }, "the last real-time signal" },
};

Test(ending, of_a_wait_status)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct ending e = ending_of_status(statuses[i].status);

		cr_expect_eq(e.how, statuses[i].ending.how, "%s", statuses[i].why);
		cr_expect_eq(e.number, statuses[i].ending.number, "%s", statuses[i].why);
		cr_expect_eq(e.core, statuses[i].ending.core, "%s", statuses[i].why);
	}
}

Test(ending, names)
{
	cr_expect_str_eq(ending_how_name(ENDING_UNKNOWN), "unknown");
	cr_expect_str_eq(ending_how_name(ENDING_CODE), "code");
	cr_expect_str_eq(ending_how_name(ENDING_SIGNAL), "signal");
	cr_expect_str_eq(ending_signal_name(SIGSEGV), "SIGSEGV");
	cr_expect_str_eq(ending_signal_name(SIGABRT), "SIGABRT");
	cr_expect_null(ending_signal_name(0));
	cr_expect_null(ending_signal_name(-1));
	cr_expect_null(ending_signal_name(SIGCHLD), "nobody ends by it");
	cr_expect_null(ending_signal_name(64));
	cr_expect_null(ending_signal_name(1000));
}

/* "11x2 6x1": each signal with its count. */
static const char *counted(const struct crashes *c, char text[128])
{
	struct crash_signal signals[CRASHES_MAX];
	size_t count = crashes_signals(c, signals);

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), 128 - strlen(text), "%s%dx%u", i ? " " : "",
			 signals[i].signal, signals[i].count);
	return text;
}

Test(ending, signals_are_counted_the_most_frequent_first)
{
	static const struct {
		struct ending ending[6];
		const char *text;
	} rows[] = {
		{ { { 0 } }, "" },
		{ { { ENDING_SIGNAL, 11, TRI_NO } }, "11x1" },
		{ { { ENDING_SIGNAL, 6, TRI_NO },
		    { ENDING_SIGNAL, 11, TRI_NO },
		    { ENDING_SIGNAL, 11, TRI_YES } },
		  "11x2 6x1" },
		{ { { ENDING_SIGNAL, 11, TRI_NO }, { ENDING_SIGNAL, 6, TRI_NO } }, "6x1 11x1" },
		{ { { ENDING_SIGNAL, 6, TRI_NO },
		    { ENDING_UNKNOWN, 0, TRI_UNKNOWN },
		    { ENDING_SIGNAL, 6, TRI_NO } },
		  "6x2" },
	};
	char text[128];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct crashes c = { 0 };

		for (; c.count < 6 && (rows[i].ending[c.count].how || c.count < 3); c.count++)
			c.crash[c.count].ending = rows[i].ending[c.count];
		cr_expect_str_eq(counted(&c, text), rows[i].text, "%s, not %s", text, rows[i].text);
	}
}

Test(ending, three_are_a_loop)
{
	static const struct {
		uint32_t by_signal, unseen, restarts;
		bool loop;
	} rows[] = {
		{ 0, 0, 0, false }, { 2, 0, 9, false }, { 3, 0, 0, true },
		{ 2, 1, 1, true },  { 0, 3, 3, true },  { 0, 2, 3, false },
	};

	cr_expect_not(crashes_loop(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct crashes c = { .by_signal = rows[i].by_signal,
				     .unseen = rows[i].unseen,
				     .restarts = rows[i].restarts };

		cr_expect_eq(crashes_loop(&c), rows[i].loop, "row %zu", i);
	}
}

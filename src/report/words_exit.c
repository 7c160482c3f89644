/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "report/words.h"

enum {
	SIGNALS_SHOWN = 4,
	GAPS_SHOWN = 4, /* the latest */
};

static void add(char ret[WORDS_MAX], const char *format, ...) _printf_(2, 3);

static void add(char ret[WORDS_MAX], const char *format, ...)
{
	size_t len = strlen(ret);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(ret + len, WORDS_MAX - len, format, args);
	va_end(args);
}

static void add_signal(char ret[WORDS_MAX], int signal)
{
	const char *name = ending_signal_name(signal);

	if (name)
		add(ret, "%s", name);
	else
		add(ret, "signal %d", signal);
}

const char *words_exit(const struct exit_record *exit, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];

	ret[0] = '\0';
	switch (exit->ending.how) {
	case ENDING_SIGNAL:
		add(ret, "died by ");
		add_signal(ret, exit->ending.number);
		break;
	case ENDING_CODE:
		add(ret, "exited with %d", exit->ending.number);
		break;
	case ENDING_UNKNOWN:
	case ENDING_HOW_COUNT:
		add(ret, "is gone, and how it ended was not seen");
		break;
	}
	if (exit->lived_ms != UNKNOWN_U64)
		add(ret, ", %s old", words_age(exit->lived_ms, age, sizeof(age)));
	if (exit->ending.how == ENDING_SIGNAL && exit->ending.core != TRI_UNKNOWN)
		add(ret, exit->ending.core == TRI_YES ? "; core dumped" : "; no core");
	return ret;
}

static void add_whose(const struct crashes *c, uint32_t count, char ret[WORDS_MAX])
{
	add(ret, "%" PRIu32 " ", count);
	if (c->role == ROLE_WORKER)
		add(ret, "of its workers");
	else if (c->role == ROLE_DAEMON)
		add(ret, "daemon%s of its host and class", count == 1 ? "" : "s");
	else
		add(ret, "of its class and role");
}

static void add_count(const struct crashes *c, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];
	uint64_t span = c->count ? c->crash[c->count - 1].at_ms - c->crash[0].at_ms : 0;

	if (c->by_signal) {
		add_whose(c, c->by_signal, ret);
		add(ret, " died by a signal");
	}
	if (c->unseen && c->by_signal)
		add(ret, " and %" PRIu32, c->unseen);
	else if (c->unseen)
		add_whose(c, c->unseen, ret);
	if (c->unseen)
		add(ret, " began anew after an end that was not seen");
	add(ret, " within %s", words_age(span, age, sizeof(age)));
}

static void add_signals(const struct crashes *c, char ret[WORDS_MAX])
{
	struct crash_signal signals[CRASHES_MAX];
	size_t count = crashes_signals(c, signals);

	for (size_t i = 0; i < MIN(count, (size_t)SIGNALS_SHOWN); i++) {
		add(ret, i ? ", " : ": ");
		add_signal(ret, signals[i].signal);
		add(ret, " %" PRIu32, signals[i].count);
	}
	if (count > SIGNALS_SHOWN)
		add(ret, " and others");
}

static void add_gaps(const struct crashes *c, char ret[WORDS_MAX])
{
	size_t from = c->count > GAPS_SHOWN + 1 ? c->count - GAPS_SHOWN - 1 : 0;
	char age[WORDS_SHORT_MAX];

	for (size_t i = from + 1; i < c->count; i++)
		add(ret, "%s%s", i == from + 1 ? "; " : ", ",
		    words_age(c->crash[i].at_ms - c->crash[i - 1].at_ms, age, sizeof(age)));
	if (c->count > 1)
		add(ret, " apart");
}

const char *words_crashes(const struct crashes *c, char ret[WORDS_MAX])
{
	ret[0] = '\0';
	add_count(c, ret);
	add_signals(c, ret);
	add_gaps(c, ret);
	if (c->by_signal && c->cores)
		add(ret, "; %" PRIu32 " dumped core", c->cores);
	else if (c->by_signal)
		add(ret, "; no core");
	return ret;
}

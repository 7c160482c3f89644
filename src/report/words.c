/* SPDX-License-Identifier: Apache-2.0 */
#include "report/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"

enum {
	SECOND_MS = 1000,
	MINUTE_MS = 60 * SECOND_MS,
	HOUR_MS = 60 * MINUTE_MS,
	DAY_MS = 24 * HOUR_MS,
	WORDS_EXACT = 10, /* below it a size or an age in seconds is shown with one decimal */
};

static const struct {
	const char *what;
	const char *how;
} missing_words[] = {
	[MISSING_NOTHING] = { NULL, NULL },
	[MISSING_MARKERS] = { "no marker: cannot tell pooled from leaked",
			      "let its host write a marker log (reaper-markers(5))" },
	[MISSING_TASK_END] = { "no end of its task in the markers",
			       "let its host write `end` for every task; if it was given up: "
			       "`reaper retire PID`" },
	[MISSING_BINDING] = { "its host's markers name no task of this worker",
			      "let its host write `begin` with worker= or lport= and dport=" },
	[MISSING_POOL_WORD] = { "its tasks ended, but its host may pool it",
				"let its host promise pool=none, pool=reported or tasks=all" },
	[MISSING_LOG_END] = { "its host's marker logs were not read to their end",
			      "sweep more often, or let each host write a log of its own" },
	[MISSING_EVIDENCE] = { "its task socket could not be read",
			       "run reaper as its user or as root, in its namespaces" },
	[MISSING_OWN_LOG] = { "no marker log of its own: cannot tell a hang from work",
			      "let it write one (reaper_markers, reaper-markers(5)); if it was "
			      "given up: `reaper retire PID`" },
	[MISSING_OWN_END] = { "its log does not say that its work is done",
			      "let it write `begin` and `end` for each task, with pool=none; if it "
			      "was given up: `reaper retire PID`" },
	[MISSING_MAY_KILL] = { "proven, but its class does not say may_kill",
			       "may_kill = yes in its [class]" },
};
static_assert(ARRAY_SIZE(missing_words) == MISSING_COUNT, "every missing proof has words");

const char *words_missing(enum missing missing)
{
	return missing_words[missing].what;
}

const char *words_how_to_get(enum missing missing)
{
	return missing_words[missing].how;
}

static const char *const proof_how[] = {
	[FENCE_NONE] = NULL,
	[FENCE_HOST_GONE] = NULL,
	[FENCE_SIGNED_OFF] =
		"let reaper read its /proc/PID/syscall and fd: run it as the same user, or "
		"with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
	[FENCE_PEER_CLOSED] = NULL,
	[FENCE_RETIRED] = "a `retired` record in its host's marker log, or `reaper retire PID`",
	[FENCE_TASK_ENDED] = "marker logs of its host with `begin` and `end` and one of pool=none, "
			     "pool=reported, tasks=all (reaper-markers(5))",
	[FENCE_ASSUMED] =
		"set assume_leaked_after; it is no proof, and a later task attempt may fail",
};
static_assert(ARRAY_SIZE(proof_how) == FENCE_COUNT, "every fence has a word on how to get it");

const char *words_proof_how(enum fence fence, enum tri holds)
{
	/* What it does is known, and it is something else. */
	bool sure = fence == FENCE_SIGNED_OFF && holds == TRI_NO;

	return sure || holds == TRI_YES ? NULL : proof_how[fence];
}

const char *words_age(uint64_t ms, char *ret, size_t size)
{
	static const struct {
		uint64_t ms, part_ms;
		char unit, part;
	} units[] = {
		{ DAY_MS, HOUR_MS, 'd', 'h' },
		{ HOUR_MS, MINUTE_MS, 'h', 'm' },
		{ MINUTE_MS, 0, 'm', 0 },
		{ WORDS_EXACT * SECOND_MS, 0, 's', 0 },
	};

	if (ms == UNKNOWN_U64) {
		snprintf(ret, size, "?");
		return ret;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t unit = units[i].unit == 's' ? SECOND_MS : units[i].ms;
		uint64_t part = units[i].part_ms ? ms % unit / units[i].part_ms : 0;

		if (ms < units[i].ms)
			continue;
		if (part)
			snprintf(ret, size, "%" PRIu64 "%c%" PRIu64 "%c", ms / unit, units[i].unit,
				 part, units[i].part);
		else
			snprintf(ret, size, "%" PRIu64 "%c", ms / unit, units[i].unit);
		return ret;
	}
	snprintf(ret, size, "%" PRIu64 ".%" PRIu64 "s", ms / SECOND_MS, ms % SECOND_MS / 100);
	return ret;
}

const char *words_size(uint64_t bytes, char *ret, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t whole = bytes, tenths = 0;
	size_t unit = 0;

	if (bytes == UNKNOWN_U64) {
		snprintf(ret, size, "?");
		return ret;
	}
	while (whole >= 1024) {
		tenths = whole % 1024 * 10 / 1024;
		whole /= 1024;
		unit++;
	}
	if (unit && whole < WORDS_EXACT)
		snprintf(ret, size, "%" PRIu64 ".%" PRIu64 " %s", whole, tenths, units[unit]);
	else
		snprintf(ret, size, "%" PRIu64 " %s", whole, units[unit]);
	return ret;
}

/* Where the last whole character or escape of text that ends at or before max ends. */
static size_t whole_until(const char *text, size_t max)
{
	size_t at = 0;

	while (text[at]) {
		size_t next = at + 1;

		if (text[at] == '\\' && text[at + 1] == 'x' && text[at + 2] && text[at + 3])
			next = at + 4;
		while (((unsigned char)text[next] & 0xc0) == 0x80)
			next++;
		if (next > max)
			break;
		at = next;
	}
	return at;
}

const char *words_name(const char *raw, char ret[WORDS_NAME_MAX], size_t size)
{
	static const char more[] = "...";
	char text[4 * WORDS_NAME_MAX];
	size_t at;

	log_escape(raw, strlen(raw), text, sizeof(text));
	at = strlen(text);
	if (at < size) {
		memcpy(ret, text, at + 1);
		return ret;
	}
	at = whole_until(text, size - sizeof(more));
	memcpy(ret, text, at);
	memcpy(ret + at, more, sizeof(more));
	return ret;
}

const char *words_wait(const struct subject *s, char ret[WORDS_NAME_MAX])
{
	const char *name = s->facts.id.pid ? wait_kind_name(s->facts.wait) : NULL;

	if (!name && s->ev.main.wchan[0])
		name = s->ev.main.wchan;
	return name ? words_name(name, ret, WORDS_NAME_MAX) : NULL;
}

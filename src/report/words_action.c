/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "report/words.h"

enum {
	SECOND_MS = 1000
};

/* Before the process' role and number, and behind them. */
static const struct {
	const char *before, *behind;
} outcomes[] = {
	[OUTCOME_EXITED] = { "ended ", "" },
	[OUTCOME_KILLED] = { "killed ", "" },
	[OUTCOME_UNKILLABLE] = { "could not end ", "" },
	[OUTCOME_VANISHED] = { "", " was gone before any signal" },
	[OUTCOME_SPARED] = { "spared ", "" },
	[OUTCOME_HELD] = { "held back ", "" },
	[OUTCOME_REFUSED] = { "was not allowed to end ", "" },
};
static_assert(ARRAY_SIZE(outcomes) == OUTCOME_COUNT, "every outcome has words");

static const char *signal_name(int number)
{
	return number == SIGKILL ? "SIGKILL" : "SIGTERM";
}

static void add_took(const struct action_record *action, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];
	size_t len = strlen(ret);

	if (action->took_ms == UNKNOWN_U64)
		return;
	if (action->took_ms < SECOND_MS)
		snprintf(age, sizeof(age), "%" PRIu64 " ms", action->took_ms);
	else
		words_age(action->took_ms, age, sizeof(age));
	snprintf(ret + len, WORDS_MAX - len, " in %s", age);
}

const char *words_action(const struct action_record *action, char ret[WORDS_MAX])
{
	enum outcome outcome = action->outcome;
	bool gone = outcome == OUTCOME_EXITED || outcome == OUTCOME_KILLED;
	char size[WORDS_SHORT_MAX];
	size_t len;

	snprintf(ret, WORDS_MAX, "%s%s %" PRId32 "%s", outcomes[outcome].before,
		 role_name(action->role), action->id.pid, outcomes[outcome].behind);
	len = strlen(ret);
	if (action->signal && (gone || outcome == OUTCOME_UNKILLABLE))
		snprintf(ret + len, WORDS_MAX - len, " with %s", signal_name(action->signal));
	if (!gone)
		return ret;
	add_took(action, ret);
	len = strlen(ret);
	if (action->freed_bytes != UNKNOWN_U64)
		snprintf(ret + len, WORDS_MAX - len, ", %s freed",
			 words_size(action->freed_bytes, size, sizeof(size)));
	return ret;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_log.h"

#include <string.h>

struct ledger_log *ledger_log_new(const struct ledger_source *source)
{
	size_t size = strlen(source->name) + 1;
	struct ledger_log *log = calloc(1, sizeof(*log) + size);

	if (!log)
		return NULL;
	memcpy(log->name, source->name, size);
	log->number = source->log;
	log->owner = source->owner;
	log->pool_timeout_ms = UNKNOWN_U64;
	return log;
}

void ledger_log_promise(struct ledger_log *log, const struct marker *m)
{
	if (!*log->class_name) {
		memcpy(log->class_name, m->class_name, sizeof(log->class_name));
		log->pool = m->pool;
		log->tasks_all = m->tasks_all;
		log->pool_timeout_ms = m->pool_timeout_ms;
		return;
	}
	if (log->pool != m->pool || strcmp(log->class_name, m->class_name) != 0) {
		log->pool = POOL_UNKNOWN;
		log->tasks_all = false;
	}
	if (!m->tasks_all)
		log->tasks_all = false;
	if (m->pool_timeout_ms != UNKNOWN_U64 &&
	    (log->pool_timeout_ms == UNKNOWN_U64 || m->pool_timeout_ms > log->pool_timeout_ms))
		log->pool_timeout_ms = m->pool_timeout_ms;
}

void ledger_log_time(struct ledger_log *log, uint64_t ms)
{
	if (ms + LEDGER_JITTER_MS >= log->max_ms) {
		log->max_ms = MAX(log->max_ms, ms);
		return;
	}
	log->max_ms = ms;
	if (log->scope)
		ledger_scope_step(log->scope, ms);
}

int ledger_log_beat(struct ledger_log *log, const struct marker *m)
{
	bool complete = m->n == log->since_beat;
	uint64_t ms = m->unix_ms;
	int err;

	if (!complete)
		log->lossy = true;
	if (log->epoch != log->scope->epoch) {
		ledger_beats_clear(&log->beats);
		log->beat_ms = UNKNOWN_U64;
		log->epoch = log->scope->epoch;
	}
	/* When its listing began is known from the beat before it. */
	if (log->beat_ms == UNKNOWN_U64 || ms < log->beat_ms) {
		complete = false;
		ms = log->beat_ms == UNKNOWN_U64 ? ms : log->beat_ms;
	}
	err = ledger_beats_add(&log->beats, ms, log->beat_ms, complete);
	if (err == 0)
		log->beat_ms = ms;
	return err;
}

void ledger_log_free(struct ledger_log *log)
{
	ledger_beats_done(&log->beats);
	free(log);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger.h"

#include <assert.h>
#include <string.h>

#include "correlate/ledger_log.h"
#include "correlate/ledger_state.h"
#include "model/grow.h"

struct ledger *ledger_new(const char *boot_id)
{
	struct ledger *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	strncpy(l->boot, boot_id, sizeof(l->boot) - 1);
	return l;
}

static int need_log(struct ledger *l, const struct ledger_source *source, struct ledger_log **ret)
{
	struct ledger_log *log = ledger_state_log(l, source->log), **more;
	size_t at = ledger_state_log_place(l, source->log);

	if (!log) {
		more = grow(l->logs, l->log_count, &l->log_room, sizeof(*more), LEDGER_LOGS_MAX);
		if (!more)
			return -LEDGER_ENOMEM;
		l->logs = more;
		log = ledger_log_new(source);
		if (!log)
			return -LEDGER_ENOMEM;
		memmove(more + at + 1, more + at, (l->log_count - at) * sizeof(*more));
		more[at] = log;
		l->log_count++;
	}
	*ret = log;
	return 0;
}

static void find_newest(struct ledger_scope *s)
{
	s->newest = 0;
	s->last_ms = 0;
	for (const struct ledger_log *log = s->first_log; log; log = log->next)
		if (log->last_ms >= s->last_ms) {
			s->newest = log->number;
			s->last_ms = log->last_ms;
		}
}

static void detach(struct ledger *l, struct ledger_log *log)
{
	struct ledger_scope *s = log->scope;
	struct ledger_log **link;

	if (!s)
		return;
	for (link = &s->first_log; *link != log;)
		link = &(*link)->next;
	*link = log->next;
	log->scope = NULL;
	s->logs--;
	if (s->newest == log->number)
		find_newest(s);
	if (s->logs)
		return;
	s->left = l->changes;
	ledger_state_drop_left(l);
}

static int attach(struct ledger *l, struct ledger_log *log, const struct marker *m)
{
	struct ledger_scope *s;
	int err = ledger_state_need_scope(l, &log->writer, &s);

	if (err < 0)
		return err;
	if (log->writer.kind == MARKER_HOST && s->logs == LEDGER_HOST_LOGS_MAX) {
		/* What is not read may hold the task that is still open. */
		s->lost = true;
		return -LEDGER_E2BIG;
	}
	log->scope = s;
	log->next = s->first_log;
	s->first_log = log;
	s->logs++;
	log->start_ms = m->unix_ms;
	log->beat_ms = m->unix_ms;
	log->epoch = s->epoch;
	return 0;
}

static struct ledger_writer writer_of(const struct ledger_log *log, const struct marker *m)
{
	struct ledger_writer w = { .kind = m->event, .pid_ns = m->pid_ns, .owner = log->owner };

	if (m->event == MARKER_HOST)
		w.id = m->host;
	else if (m->event == MARKER_DAEMON)
		w.id = m->daemon;
	return w;
}

/* Whose task an `end` is to end, nobody can tell any more. */
static void mix(struct ledger_log *log)
{
	log->mixed = true;
	if (log->scope)
		log->scope->lost = true;
}

/* Takes a host, daemon or operator record. */
static int identify(struct ledger *l, struct ledger_log *log, const struct marker *m)
{
	const struct ledger_writer w = writer_of(log, m);
	bool other_boot = strcmp(m->boot, l->boot) != 0;
	bool both_operators = log->writer.kind == MARKER_OPERATOR && w.kind == MARKER_OPERATOR;
	int err;

	if (ledger_state_same_writer(&log->writer, &w) && log->other_boot == other_boot) {
		ledger_log_promise(log, m);
		return 0;
	}
	if (log->writer.kind != MARKER_UNKNOWN && !both_operators) {
		mix(log);
		return 0;
	}
	detach(l, log);
	log->writer = w;
	log->other_boot = other_boot;
	if (other_boot)
		return 0;
	err = attach(l, log, m);
	if (err == -LEDGER_E2BIG) {
		mix(log);
		return 0;
	}
	if (err < 0)
		log->writer.kind = MARKER_UNKNOWN; /* so that the record can be given again */
	else
		ledger_log_promise(log, m);
	return err;
}

#define BY(kind) (1u << MARKER_##kind)

/* Who may say what; what others say counts for nothing. */
static const unsigned may_say[] = {
	[MARKER_UNKNOWN] = 0,
	[MARKER_HOST] = BY(UNKNOWN) | BY(HOST) | BY(DAEMON) | BY(OPERATOR),
	[MARKER_DAEMON] = BY(UNKNOWN) | BY(HOST) | BY(DAEMON) | BY(OPERATOR),
	[MARKER_OPERATOR] = BY(UNKNOWN) | BY(HOST) | BY(DAEMON) | BY(OPERATOR),
	[MARKER_BEGIN] = BY(HOST) | BY(DAEMON),
	[MARKER_DONE] = BY(HOST) | BY(DAEMON),
	[MARKER_END] = BY(HOST),
	[MARKER_POOLED] = BY(HOST),
	[MARKER_LEASED] = BY(HOST),
	[MARKER_RETIRED] = BY(HOST) | BY(OPERATOR),
	[MARKER_BEAT] = BY(HOST),
};
static_assert(ARRAY_SIZE(may_say) == MARKER_EVENT_COUNT, "every event has those who may say it");

static int take(struct ledger *l, struct ledger_log *log, const struct marker *m)
{
	if (log->mixed || !(may_say[m->event] & 1u << log->writer.kind))
		return 0;
	if (may_say[m->event] & BY(UNKNOWN))
		return identify(l, log, m);
	if (!log->scope)
		return 0;
	if (m->event == MARKER_BEGIN)
		return ledger_scope_begin(log->scope, m);
	if (m->event == MARKER_END)
		return ledger_scope_end(log->scope, m);
	if (m->event == MARKER_BEAT)
		return ledger_log_beat(log, m);
	return ledger_scope_note(log->scope, m, log->number);
}

int ledger_add(struct ledger *l, const struct ledger_source *source, const struct marker *m)
{
	struct ledger_log *log;
	int err = need_log(l, source, &log);

	if (err < 0)
		return err;
	if (m->bad) {
		log->lossy = true;
		l->changes++;
		return 0;
	}
	ledger_log_time(log, m->unix_ms);
	err = take(l, log, m);
	if (err < 0)
		return err;
	log->since_beat = m->event == MARKER_BEAT ? 0 : log->since_beat + 1;
	log->last_ms = m->unix_ms;
	if (log->scope && log->last_ms >= log->scope->last_ms) {
		log->scope->last_ms = log->last_ms;
		log->scope->newest = log->number;
	}
	l->changes++;
	return 0;
}

void ledger_forget(struct ledger *l, uint32_t log)
{
	size_t at = ledger_state_log_place(l, log);
	struct ledger_log *gone = ledger_state_log(l, log);

	if (!gone)
		return;
	l->changes++;
	l->log_count--;
	memmove(l->logs + at, l->logs + at + 1, (l->log_count - at) * sizeof(*l->logs));
	detach(l, gone);
	ledger_log_free(gone);
}

void ledger_clock_stepped(struct ledger *l, uint64_t now_ms)
{
	for (size_t i = 0; i < l->scope_count; i++)
		if (l->scopes[i])
			ledger_scope_step(l->scopes[i], now_ms);
	for (size_t i = 0; i < l->log_count; i++)
		l->logs[i]->max_ms = 0;
	l->changes++;
}

void ledger_trust_from(struct ledger *l, uint64_t ms)
{
	l->trusted_ms = ms;
}

void ledger_doubt_silent(struct ledger *l, uint64_t since_ms)
{
	for (size_t i = 0; i < l->log_count; i++) {
		struct ledger_log *log = l->logs[i];

		if (log->beat_ms < since_ms) /* UNKNOWN_U64 is not */
			log->epoch = 0;      /* of no scope */
	}
	l->changes++;
}

void ledger_set_whole(struct ledger *l, bool whole)
{
	l->whole = whole;
	l->behind_count = 0;
}

void ledger_set_behind(struct ledger *l, uint32_t owner)
{
	if (l->behind_count < LEDGER_BEHIND_MAX)
		l->behind[l->behind_count++] = owner;
	else
		l->whole = false;
}

static uint64_t last_beat(const struct ledger_scope *s)
{
	uint64_t ms = 0;

	for (const struct ledger_log *log = s->first_log; log; log = log->next)
		if (log->beats.run_count)
			ms = MAX(ms, log->beats.run[log->beats.run_count - 1].to);
	return ms;
}

static void describe(const struct ledger *l, const struct ledger_scope *s, struct ledger_host *ret)
{
	*ret = (struct ledger_host){
		.id = s->writer.id,
		.pid_ns = s->writer.pid_ns,
		.owner = s->writer.owner,
		.log = s->newest,
		.name = ledger_state_log(l, s->newest)->name,
		.last_ms = s->last_ms,
		.beat_ms = last_beat(s),
	};
}

static bool is_host(const struct ledger_scope *s)
{
	return s && s->logs && s->writer.kind == MARKER_HOST;
}

bool ledger_host_at(const struct ledger *l, size_t i, struct ledger_host *ret)
{
	for (size_t at = 0; at < l->scope_count; at++) {
		if (!is_host(l->scopes[at]) || i--)
			continue;
		describe(l, l->scopes[at], ret);
		return true;
	}
	return false;
}

bool ledger_log_at(const struct ledger *l, size_t i, struct ledger_log_info *ret)
{
	const struct ledger_log *log;

	if (i >= l->log_count)
		return false;
	log = l->logs[i];
	*ret = (struct ledger_log_info){
		.log = log->number,
		.owner = log->owner,
		.name = log->name,
		.kind = log->writer.kind,
		.id = log->writer.id,
		.pid_ns = log->writer.pid_ns,
		.other_boot = log->other_boot,
		.last_ms = log->last_ms,
	};
	return true;
}

bool ledger_host_find(const struct ledger *l, const struct ledger_name *host, uint32_t uid,
		      struct ledger_host *ret)
{
	struct ledger_scope *found[LEDGER_NAMED_MAX], *newest = NULL;
	size_t n = ledger_state_named(l, MARKER_HOST, host, uid, found);

	for (size_t i = 0; i < n; i++)
		if (is_host(found[i]) && (!newest || found[i]->last_ms > newest->last_ms))
			newest = found[i];
	if (!newest)
		return false;
	describe(l, newest, ret);
	return true;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->log_count; i++)
		ledger_log_free(l->logs[i]);
	for (size_t i = 0; i < l->scope_count; i++)
		ledger_scope_free(l->scopes[i]);
	free(l->by_writer.slots);
	free(l->logs);
	free(l->scopes);
	free(l);
}

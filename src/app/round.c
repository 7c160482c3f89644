/* SPDX-License-Identifier: Apache-2.0 */
#include "app/round.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/output.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pin.h"
#include "model/grow.h"
#include "report/json.h"

int round_open(const struct options *o, const struct config *c, struct look *l, struct round *ret)
{
	(void)pin_make_room();
	*ret = (struct round){
		.options = o,
		.config = c,
		.look = l,
		.log = { .fd = -1 },
	};
	return audit_log_open(c->audit_log, &ret->log);
}

static void announce(const struct round *r, enum event_kind kind,
		     const struct action_record *record, const char *text)
{
	struct event e = {
		.kind = kind,
		.wall_ms = clock_wall_ms(),
		.audit = r->audit_taken ? &r->audit : NULL,
		.action = record,
	};

	if (text)
		(void)snprintf(e.text, sizeof(e.text), "%s", text);
	output_event(r->options, &e);
}

static void keep_record(struct round *r, const struct action_record *record)
{
	struct action_record *more = grow(r->records, r->record_count, &r->record_room,
					  sizeof(*more), AUDIT_SUBJECTS_MAX);

	if (!more) {
		r->error = -ENOMEM;
		return;
	}
	r->records = more;
	more[r->record_count++] = *record;
}

static void take_record(void *arg, const struct action_record *record)
{
	struct round *r = arg;

	keep_record(r, record);
	metrics_count(&r->metrics, record);
	if (json_outcome(clock_wall_ms(), r->look->self.boot_id, record, &r->outcomes) < 0)
		r->error = -ENOMEM;
	if (r->announce)
		announce(r, EVENT_ACTION, record, NULL);
}

static void write_outcomes(struct round *r)
{
	int err;

	if (!r->outcomes.len)
		return;
	err = audit_log_append(&r->log, &r->outcomes, false);
	if (err < 0) {
		log_error("audit log %s: an outcome cannot be written: %s", r->log.path,
			  strerror(-err));
		r->error = err;
		r->metrics.errors++;
	}
	buf_clear(&r->outcomes);
}

static void open_breaker(struct round *r)
{
	char text[AUDIT_TEXT_MAX];

	r->metrics.breaker_opened++;
	(void)snprintf(text, sizeof(text),
		       "%zu due workers are held back: policy.max_kills_per_sweep is %u, "
		       "policy.max_kills_per_hour %u",
		       r->held, r->config->limits.per_sweep, r->config->limits.per_hour);
	if (r->options->json && r->announce)
		announce(r, EVENT_BREAKER, NULL, text);
	else
		log_error("%s", text);
}

int round_look(struct round *r, uint64_t sample_ms)
{
	int err = look_twice(r->look, sample_ms, &r->audit);

	if (err < 0)
		return err;
	r->audit_taken = true;
	r->audit.dry_run = r->options->dry_run;
	return 0;
}

int round_begin(struct round *r)
{
	_cleanup_(plan_done) struct plan plan = { 0 };
	int err;

	if (r->options->dry_run)
		return 0;
	r->reap = (struct reap){
		.look = r->look,
		.config = r->config,
		.log = &r->log,
		.sink = take_record,
		.arg = r,
	};
	err = plan_make(&r->audit, &r->config->limits,
			history_kills(&r->look->history, clock_boot_ms()), &plan);
	if (err < 0)
		return err;
	r->held = plan.held;
	if (!plan.count && !plan.held)
		return 0;
	if (r->log_error) {
		r->reap.need = REAP_INTENTS;
		return r->log_error;
	}
	if (r->held)
		open_breaker(r);
	err = reap_begin(&r->reap, &r->audit, &plan);
	r->reaping = err == 0 && r->reap.count;
	write_outcomes(r);
	return err;
}

bool round_step(struct round *r)
{
	if (!r->reaping)
		return false;
	r->reaping = reap_step(&r->reap, clock_boot_ms());
	if (r->reap.error) {
		log_error("some helpers could not be ended: %s", strerror(-r->reap.error));
		r->error = r->reap.error;
		r->reap.error = 0;
	}
	write_outcomes(r);
	return r->reaping;
}

void round_say_failed(const struct round *r, int err)
{
	if (r->reap.need == REAP_LOOK)
		log_error("nothing was ended: the second look failed: %s", strerror(-err));
	else if (r->reap.need == REAP_INTENTS)
		log_error("nothing was ended: audit log %s: %s", r->log.path, strerror(-err));
	else
		log_error("nothing was ended: history in %s: %s", r->config->state_dir,
			  strerror(-err));
}

void round_stop(struct round *r, const char *why)
{
	if (r->reaping)
		reap_stop(&r->reap, why);
	r->reaping = false;
	write_outcomes(r);
}

static bool is_gone(const struct action_record *record)
{
	return record->outcome == OUTCOME_EXITED || record->outcome == OUTCOME_KILLED ||
	       record->outcome == OUTCOME_VANISHED;
}

/* What the second look spared is no leak: it was found to be of use. Who was signalled before is one. */
size_t round_left(const struct round *r)
{
	size_t left = 0;

	for (size_t i = 0; i < r->record_count; i++)
		left += role_is_judged(r->records[i].role) && !is_gone(&r->records[i]) &&
			(r->records[i].outcome != OUTCOME_SPARED || r->records[i].signal);
	return left;
}

/* Gone for certain in our own pid namespace; of another's writers their long silence speaks. */
static bool is_alive(const struct round *r, const struct ledger_log_info *log)
{
	const struct proc *p = snapshot_find(&r->audit.snapshot, log->id.pid);

	return !log->other_boot && log->pid_ns == r->look->self.pid_ns && p &&
	       ident_equal(p->id, log->id);
}

/* An operator's word is kept, and so is a log that does not say whose it is. */
static bool is_outlived(const struct round *r, const struct ledger_log_info *log)
{
	if (log->kind != MARKER_HOST && log->kind != MARKER_DAEMON)
		return false;
	return !is_alive(r, log) && log->last_ms + r->config->marker_keep_ms <= r->audit.wall_ms;
}

void round_clean_markers(struct round *r)
{
	struct ledger_log_info log;

	if (!r->audit_taken || r->options->dry_run)
		return;
	for (size_t i = 0; ledger_log_at(r->look->ledger, i, &log); i++) {
		int err = is_outlived(r, &log) ? markers_remove(r->look->markers, log.log) : 0;

		if (err < 0 && err != -ENOENT)
			log_verbose("marker log %s, whose writer is gone: %s, ignoring", log.name,
				    strerror(-err));
	}
}

void round_end(struct round *r)
{
	reap_done(&r->reap);
	if (r->audit_taken)
		audit_done(&r->audit);
	r->audit_taken = false;
	r->record_count = 0;
	r->held = 0;
	r->error = 0;
}

void round_close(struct round *r)
{
	round_end(r);
	audit_log_close(&r->log);
	buf_done(&r->outcomes);
	free(r->records);
	r->records = NULL;
	r->record_room = 0;
}

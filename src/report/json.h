/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON, schema reaper/1 (docs/reaper.schema.json): one document, or one line per event. Sizes are
 * bytes, times milliseconds, unknown is null; strings are printable ASCII, everything else is escaped.
 * The only door to jansson.
 */
#ifndef REAPER_REPORT_JSON_H
#define REAPER_REPORT_JSON_H

#include "base/buf.h"
#include "model/event.h"
#include "model/explanation.h"
#include "model/facts.h"
#include "model/policy.h"

/**
 * Writes the audit document.
 *
 * @param actions	what a sweep did, or NULL (audit: no member "actions").
 * @return 0; -ENOMEM.
 */
int json_audit(const struct audit *a, const struct action_record *actions, size_t action_count,
	       struct buf *ret) _must_check_;

/** Writes the audit document with the member "explain". @return 0; -ENOMEM. */
int json_explanation(const struct explanation *e, struct buf *ret) _must_check_;

/** Writes {schema, checks[]}. @return 0; -ENOMEM. */
int json_checks(const struct checks *c, struct buf *ret) _must_check_;

/** Writes {schema, settings[]}. @return 0; -ENOMEM. */
int json_settings(const struct setting *settings, size_t count, struct buf *ret) _must_check_;

/** Writes one event as one line with its newline. @return 0; -ENOMEM. */
int json_event(const struct event *e, struct buf *ret) _must_check_;

/* An intent, or an outcome, of the audit log. */
struct json_intent {
	uint64_t wall_ms;
	const char *boot_id;
	const struct subject *subject; /* a worker, or a helper */
	const struct subject *worker;  /* the helper's, or the subject itself: whose facts count */
	const struct policy *policy;
	bool kill_at_once; /* SIGKILL without SIGTERM */
};

/** Writes an intent line: who, the verdict, and the facts and policy that give it again. @return 0; -ENOMEM. */
int json_intent(const struct json_intent *intent, struct buf *ret) _must_check_;

/** Writes an outcome line. @return 0; -ENOMEM. */
int json_outcome(uint64_t wall_ms, const char *boot_id, const struct action_record *action,
		 struct buf *ret) _must_check_;

/**
 * Reads the facts and the policy of an intent line back, for replaying a decision.
 *
 * @return 0; -EINVAL: not such a line; -ENOMEM (some of it is told as -EINVAL).
 */
int json_intent_read(const char *line, size_t len, struct facts *ret_facts,
		     struct policy *ret_policy) _must_check_;

#endif

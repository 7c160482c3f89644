/* SPDX-License-Identifier: Apache-2.0 */
#include "report/metrics.h"

#include <errno.h>
#include <inttypes.h>

#include "base/fs.h"

enum {
	METRICS_MODE = 0640,
	MS_PER_SECOND = 1000,
};

void metrics_count(struct metrics *m, const struct action_record *action)
{
	m->outcomes[action->outcome]++;
	if (action->freed_bytes != UNKNOWN_U64)
		m->freed_bytes += action->freed_bytes;
}

static void head(struct buf *ret, const char *name, const char *type, const char *help)
{
	buf_printf(ret, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(struct buf *ret, const char *name, const char *type, const char *help,
		   uint64_t value)
{
	head(ret, name, type, help);
	buf_printf(ret, "%s %" PRIu64 "\n", name, value);
}

/* The action that a reason belongs to: model/verdict.h lists them in this order. */
static enum action action_of(enum reason reason)
{
	if (reason >= REASON_HOST_GONE)
		return ACTION_REAP;
	return reason >= REASON_SILENT ? ACTION_SUSPECT : ACTION_KEEP;
}

/* A helper has no verdict of its own. */
static void count_verdicts(const struct audit *a, uint64_t counts[REASON_COUNT])
{
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].role != ROLE_HELPER)
			counts[a->subjects[i].verdict.reason]++;
	for (size_t i = 0; i < a->daemon_count; i++)
		counts[a->daemons[i].verdict.reason]++;
}

/* Every reason is written, with 0 too: a series that comes and goes cannot be alerted on. */
static void write_verdicts(const struct audit *a, struct buf *ret)
{
	static const char name[] = "reaper_verdicts";
	uint64_t counts[REASON_COUNT] = { 0 };

	count_verdicts(a, counts);
	head(ret, name, "gauge", "Workers, daemons and lost helpers by their last verdict.");
	for (enum reason r = 0; r < REASON_COUNT; r++)
		buf_printf(ret, "%s{verdict=\"%s\",reason=\"%s\"} %" PRIu64 "\n", name,
			   action_name(action_of(r)), reason_name(r), counts[r]);
}

static void write_gauges(const struct audit *a, struct buf *ret)
{
	struct audit_summary sum = audit_summarise(a);
	static const char last[] = "reaper_last_look_timestamp_seconds";

	head(ret, last, "gauge", "When the processes were last looked at.");
	buf_printf(ret, "%s %" PRIu64 ".%03" PRIu64 "\n", last, a->wall_ms / MS_PER_SECOND,
		   a->wall_ms % MS_PER_SECOND);
	number(ret, "reaper_hosts", "gauge", "JVMs that were seen.", a->host_count);
	number(ret, "reaper_daemons", "gauge", "Python daemons that were seen.", a->daemon_count);
	number(ret, "reaper_workers", "gauge", "Workers that were seen.", sum.workers);
	write_verdicts(a, ret);
	number(ret, "reaper_reclaimable_bytes", "gauge", "Memory of the workers that are due.",
	       sum.reclaimable_bytes);
	number(ret, "reaper_unreadable_trees", "gauge",
	       "Trees of other users that could not be read.", a->hidden_trees);
	number(ret, "reaper_marker_records_skipped", "gauge",
	       "Records of the marker logs that were not understood.", a->bad_records);
}

void metrics_format(const struct metrics *m, const struct audit *a, struct buf *ret)
{
	static const char name[] = "reaper_actions_total";

	number(ret, "reaper_sweeps_total", "counter", "Sweeps since the program began.", m->sweeps);
	head(ret, name, "counter", "Processes that were to be ended, by what became of it.");
	for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
		buf_printf(ret, "%s{outcome=\"%s\"} %" PRIu64 "\n", name, outcome_name(o),
			   m->outcomes[o]);
	number(ret, "reaper_freed_bytes_total", "counter",
	       "Memory of the processes that were ended.", m->freed_bytes);
	number(ret, "reaper_breaker_opened_total", "counter",
	       "Sweeps in which a limit on kills was reached.", m->breaker_opened);
	number(ret, "reaper_errors_total", "counter", "Sweeps that could not see or act as asked.",
	       m->errors);
	if (a)
		write_gauges(a, ret);
}

int metrics_write(const char *path, const struct metrics *m, const struct audit *a)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	metrics_format(m, a, &text);
	if (text.failed)
		return -ENOMEM;
	return fs_replace(path, text.bytes, text.len, METRICS_MODE);
}

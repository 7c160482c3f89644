/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics file: Prometheus' text format for a node_exporter textfile collector, written aside
 * and renamed into place.
 */
#ifndef REAPER_REPORT_METRICS_H
#define REAPER_REPORT_METRICS_H

#include "base/buf.h"
#include "model/event.h"

/* What is counted since the program began. */
struct metrics {
	uint64_t sweeps;
	uint64_t outcomes[OUTCOME_COUNT];
	uint64_t freed_bytes;
	uint64_t breaker_opened;
	uint64_t errors;
};

/** Counts an action. */
void metrics_count(struct metrics *m, const struct action_record *action);

/**
 * Writes counters, and gauges of the last audit (verdicts by reason).
 *
 * @param a	the last audit, or NULL: counters only.
 */
void metrics_format(const struct metrics *m, const struct audit *a, struct buf *ret);

/** Writes the file, 0640. @return 0; negative errno. */
int metrics_write(const char *path, const struct metrics *m, const struct audit *a) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes ended, and what the ends of a group add up to.
 */
#ifndef REAPER_REPORT_JSON_EXIT_H
#define REAPER_REPORT_JSON_EXIT_H

#include "model/event.h"
#include "report/jsonw.h"

/** Adds the members of one end. The event's two clocks say when it was. */
void json_exit_record(struct jsonw *row, const struct event *e);

/** Adds the members of a crash loop. */
void json_exit_loop(struct jsonw *row, const struct event *e);

/**
 * Adds the member "exits": null where nothing counts.
 *
 * @param wall_ms	the wall clock,
 * @param boot_ms	and the boot clock, at one same moment.
 */
void json_exit_crashes(struct jsonw *row, const struct crashes *c, uint64_t wall_ms,
		       uint64_t boot_ms);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of hosts, daemons, workers and actions: the same in documents and in event lines.
 */
#ifndef REAPER_REPORT_JSON_ROWS_H
#define REAPER_REPORT_JSON_ROWS_H

#include "model/event.h"
#include "report/jsonw.h"

/** Adds the members of a host. */
void json_rows_host(struct jsonw *row, const struct host *h);

/** Adds the members of a daemon. */
void json_rows_daemon(struct jsonw *row, const struct audit *a, const struct daemon *d);

/** Adds the members of a worker, helper or lost helper. */
void json_rows_worker(struct jsonw *row, const struct audit *a, const struct subject *s);

/** Adds the member "memory": how it went and what it runs into; null where it is not followed. */
void json_rows_memory(struct jsonw *row, const struct audit *a, const struct subject *s);

/** Adds the members of an action. */
void json_rows_action(struct jsonw *row, const struct action_record *action);

/** Adds the member "summary". */
void json_rows_summary(struct jsonw *doc, const struct audit *a);

/** Adds what every audit document has. */
void json_rows_audit(struct jsonw *doc, const struct audit *a);

#endif

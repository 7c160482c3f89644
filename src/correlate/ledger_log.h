/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One log: the promises of its writer, and its beats.
 */
#ifndef REAPER_CORRELATE_LEDGER_LOG_H
#define REAPER_CORRELATE_LEDGER_LOG_H

#include "base/macro.h"
#include "correlate/ledger_state.h"

/** Makes a log that nobody has introduced yet. @return the log, owned by the caller; NULL: no memory. */
struct ledger_log *ledger_log_new(const struct ledger_source *source) _must_check_;

/** Takes the promises of a host record; of two that differ the weaker hold. */
void ledger_log_promise(struct ledger_log *log, const struct marker *m);

/** Looks at the time of a record: where it ran backwards, no age counts across. */
void ledger_log_time(struct ledger_log *log, uint64_t ms);

/** Takes a beat. @return 0; -LEDGER_ENOMEM. */
int ledger_log_beat(struct ledger_log *log, const struct marker *m) _must_check_;

/** Frees it. */
void ledger_log_free(struct ledger_log *log);

#endif

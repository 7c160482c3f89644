/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a look that asks the markers, applies [protect], and decides.
 */
#ifndef REAPER_APP_LOOK_JUDGE_H
#define REAPER_APP_LOOK_JUDGE_H

#include "app/look.h"
#include "correlate/tree.h"

/**
 * Reads what is new in the marker logs, and notices when the wall clock was stepped.
 *
 * @return 0; -ENOMEM.
 */
int look_markers(struct look *l, struct audit *a) _must_check_;

/**
 * Lists the living hosts that wrote a log, also those without a daemon.
 *
 * @return 0; -ENOMEM.
 */
int look_logged_hosts(struct look *l, struct audit *a) _must_check_;

/**
 * Fills facts and verdicts, and keeps in the history what the next look needs.
 *
 * @return 0; -ENOMEM.
 */
int look_judge(struct look *l, const struct tree_input *in, struct audit *a) _must_check_;

#endif

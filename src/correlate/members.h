/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes below daemons, those that lost theirs, and those that stand alone: workers, singles,
 * helpers, lost helpers. The second half of tree_build(). Pure.
 */
#ifndef REAPER_CORRELATE_MEMBERS_H
#define REAPER_CORRELATE_MEMBERS_H

#include "correlate/tree.h"

/**
 * Fills a->subjects, by daemon, then pid, helpers behind their worker, and counts each daemon's.
 *
 * @param a	its snapshot, classes, hosts and daemons are filled.
 * @return 0; -ENOMEM.
 */
int members_find(struct audit *a, const struct tree_input *in) _must_check_;

#endif

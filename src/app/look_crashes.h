/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ends that watch has seen say about the living: a daemon whose workers crash again and
 * again, or that stands in the place of daemons that did, and a single whose like do.
 */
#ifndef REAPER_APP_LOOK_CRASHES_H
#define REAPER_APP_LOOK_CRASHES_H

#include "app/look.h"

/** Makes suspects of those whose group is in a crash loop, and keeps the figures. @return 0; -ENOMEM. */
int look_crashes_judge(const struct look *l, struct audit *a) _must_check_;

#endif

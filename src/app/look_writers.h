/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a look that asks hosts for the threads that write to workers.
 */
#ifndef REAPER_APP_LOOK_WRITERS_H
#define REAPER_APP_LOOK_WRITERS_H

#include "model/audit.h"

/**
 * Lists the writers of each host that has a worker which signed off; a host may have thousands of
 * threads, so no other is asked.
 *
 * @return 0; -ENOMEM.
 */
int look_writers(struct audit *a) _must_check_;

#endif

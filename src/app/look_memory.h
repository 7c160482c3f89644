/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the memory of programs that stand alone goes: one sample more of each, what it will run into,
 * and whom the kernel would then kill. A part of look_take().
 */
#ifndef REAPER_APP_LOOK_MEMORY_H
#define REAPER_APP_LOOK_MEMORY_H

#include "app/look.h"

/**
 * Fills the memory of each single that is followed; what is gone is forgotten.
 *
 * @return 0; -ENOMEM.
 */
int look_memory(struct look *l, struct audit *a) _must_check_;

#endif

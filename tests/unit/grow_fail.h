/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs out of memory when it is told to. A test that asks for it is linked with -Wl,--wrap=grow.
 */
#ifndef REAPER_TESTS_GROW_FAIL_H
#define REAPER_TESTS_GROW_FAIL_H

#include <stdbool.h>

/** Makes the call of grow() of that number fail, counted from now on; 0: none does. */
void grow_fail_at(unsigned call);

/** @return true if the call that grow_fail_at() named has come. */
bool grow_has_failed(void);

#endif

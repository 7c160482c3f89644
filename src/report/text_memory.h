/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the memory of a process went, for people: a part of explain.
 */
#ifndef REAPER_REPORT_TEXT_MEMORY_H
#define REAPER_REPORT_TEXT_MEMORY_H

#include "report/line.h"

/**
 * Shows both series with their slopes, the limit, and whom the kernel would kill.
 *
 * @param s	its memory is followed.
 */
void text_memory(struct lines *l, const struct audit *a, const struct subject *s);

#endif

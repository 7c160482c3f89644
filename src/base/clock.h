/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks. Time enters the rest of the program as an argument.
 */
#ifndef REAPER_BASE_CLOCK_H
#define REAPER_BASE_CLOCK_H

#include <stdint.h>

/** @return milliseconds since boot, suspend included (CLOCK_BOOTTIME), as process starts count. */
uint64_t clock_boot_ms(void);

/** @return milliseconds since 1970 (CLOCK_REALTIME); may be stepped at any time. */
uint64_t clock_wall_ms(void);

/**
 * @return milliseconds that the machine has been suspended since boot (CLOCK_BOOTTIME less
 *         CLOCK_MONOTONIC, time_namespaces(7) may add to it); never more than it was.
 */
uint64_t clock_suspended_ms(void);

/** @return start ticks (field 22 of /proc/<pid>/stat) as milliseconds since boot. */
uint64_t clock_ticks_to_ms(uint64_t ticks);

/** Sleeps; a signal ends it early. */
void clock_sleep_ms(uint64_t ms);

#endif

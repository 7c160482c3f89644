/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sd_notify(3)'s protocol, spoken to NOTIFY_SOCKET; without that variable everything is a no-op.
 */
#ifndef REAPER_APP_NOTIFY_H
#define REAPER_APP_NOTIFY_H

#include <stdint.h>

#include "base/macro.h"

struct notify {
	int fd;               /* -1: nobody asked */
	uint64_t watchdog_ms; /* send "WATCHDOG=1" at least this often; 0: not asked */
};

/** Opens it from the environment (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID). Never fails: then nothing is sent. */
void notify_open(struct notify *n);

/** Sends assignments, one per line ("READY=1\nSTATUS=..."); a failure is ignored, as sd_notify(3) advises. */
void notify_send(const struct notify *n, const char *format, ...) _printf_(2, 3);

/** Closes it. */
void notify_close(struct notify *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sd_notify(3)'s protocol, spoken to NOTIFY_SOCKET; without that variable everything is a no-op.
 */
#ifndef REAPER_APP_NOTIFY_H
#define REAPER_APP_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/macro.h"

struct notify {
	int fd; /* -1: nobody asked */
	struct sockaddr_un to;
	socklen_t to_len;
	uint64_t watchdog_ms; /* send "WATCHDOG=1" at least this often; 0: not asked */
};

/**
 * Opens it from the environment: NOTIFY_SOCKET (a path, or an abstract name behind '@'),
 * WATCHDOG_USEC (half of it counts, as sd_watchdog_enabled(3) advises) and WATCHDOG_PID. Never
 * fails: then nothing is sent.
 */
void notify_open(struct notify *n);

/**
 * Sends assignments, one per line ("READY=1\nSTATUS=..."); a failure is ignored, as sd_notify(3)
 * advises, and a reader that does not read holds the caller up for a second at most. A newline
 * begins the next assignment, so nothing foreign may be put in.
 */
void notify_send(const struct notify *n, const char *format, ...) _printf_(2, 3);

/** Says that the configuration is being read again: RELOADING=1 with its MONOTONIC_USEC; READY=1 must follow. */
void notify_reloading(const struct notify *n);

/** Closes it. */
void notify_close(struct notify *n);

#endif

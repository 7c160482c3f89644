/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that waits: signals, the timer, the ends of what was signalled and of what is watched,
 * in one poll(2).
 */
#ifndef REAPER_APP_LOOP_H
#define REAPER_APP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "app/reap.h"
#include "base/macro.h"

struct loop {
	int signals; /* signalfd: TERM, INT, HUP */
	int timer;   /* timerfd, CLOCK_BOOTTIME */
	int exits;   /* borrowed: readable when one that is watched has ended; -1: none is */
};

/* What ended a wait; several may be set. */
struct loop_news {
	bool stop;   /* SIGTERM or SIGINT */
	bool reload; /* SIGHUP, however often */
	bool tick;
	bool deaf; /* signals cannot be read: nobody could stop it */
};

/**
 * Blocks the signals and opens both descriptors.
 *
 * @return 0; negative errno.
 */
int loop_open(struct loop *ret) _must_check_;

/** Sets the timer: the first tick at once, then every interval. @return 0; negative errno. */
int loop_set_interval(struct loop *l, uint64_t interval_ms) _must_check_;

/**
 * Waits for news, for the end of a victim or of one that is watched, or for the deadline.
 *
 * @param reap		what is being ended, or NULL.
 * @param most_ms	the longest wait (the service manager's watchdog, a census); UNKNOWN_U64: no limit.
 * @return 0; negative errno: it could not wait; what signals say is told all the same.
 */
int loop_wait(struct loop *l, const struct reap *reap, uint64_t most_ms, struct loop_news *ret)
	_must_check_;

/** Closes what it opened. */
void loop_close(struct loop *l);

#endif

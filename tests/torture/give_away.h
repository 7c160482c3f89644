/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of reaper's own objects, and before one of them something that happens: the
 * number of a process is given away. What reaper is at then has a name, a point.
 */
#ifndef REAPER_TESTS_GIVE_AWAY_H
#define REAPER_TESTS_GIVE_AWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	GIVE_NEVER = -1,
	GIVE_PAUSE_US = 25 * 1000, /* between two looks */
};

/* Where a sweep is. */
enum point {
	POINT_FIRST_LOOK,
	POINT_PLAN, /* between the look that read the evidence and the pin */
	POINT_PIN,
	POINT_PINNED, /* between the pin and the second look */
	POINT_SECOND_LOOK,
	POINT_LOOKED, /* between the second look and the intents */
	POINT_INTENTS,
	POINT_COUNT_OF_KILLS,
	POINT_QUESTION, /* the last one before a signal */
	POINT_TERM,
	POINT_KILL,
	POINT_WAIT,
	POINT_LIST, /* of the tree, after the signals */
	POINTS,
};

/** @return its name. */
const char *point_name(enum point point);

/** Says where reaper is, where no wrapped function says so. */
void give_at(enum point point);

/**
 * From now on each system call of reaper's counts.
 *
 * @param wanted	only those there; POINTS: all.
 * @param before	so many of these pass, and then act() is called; GIVE_NEVER.
 * @param by_number	signals go by number, as kill(2) sends them.
 */
void give_arm(enum point wanted, int before, void (*act)(void), bool by_number);

/** Until it is disarmed, signals that go by number go to this one as well. */
void give_signals_also_to(pid_t number);

/** Stops counting. @return where it was when act() was called. */
enum point give_disarm(void);

/** @return how many system calls there were, there or in all (POINTS), until it was disarmed. */
unsigned give_calls(enum point at);

/** @return how many pins there were, in all, whose directory and pidfd are of two processes. */
unsigned long give_mixed_pins(void);

/** Counts a system call of a library that reaper is in; outside of one it does nothing. */
void give_inside(void);

/* poll(2) as it is. */
struct pollfd;
int give_poll(struct pollfd *fds, unsigned long count, int timeout_ms);

#endif

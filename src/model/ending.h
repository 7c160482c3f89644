/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process ended, as its parent would learn it, and what the ends of a group of processes add up
 * to: a crash loop, or not.
 */
#ifndef REAPER_MODEL_ENDING_H
#define REAPER_MODEL_ENDING_H

#include <stddef.h>

#include "model/ident.h"
#include "model/tri.h"

enum {
	CRASH_LOOP = 3,   /* so many crashes within crash_window are a loop */
	CRASHES_MAX = 32, /* of one group that are remembered, the latest */
};

enum ending_how {
	ENDING_UNKNOWN, /* nobody saw it, or the kernel does not tell us */
	ENDING_CODE,    /* it exited by itself */
	ENDING_SIGNAL,
	ENDING_HOW_COUNT,
};

struct ending {
	enum ending_how how;
	int number;    /* the exit code, or the signal; 0 where unknown */
	enum tri core; /* was core dumped? Unknown where how is */
};

/* One crash, or one restart after an end that nobody saw. */
struct crash {
	uint64_t at_ms; /* boot clock */
	struct ending ending;
};

/*
 * What of a group's ends lies within crash_window. A group is the workers of one daemon, the daemons
 * of one host and class, or the singles of one class and role of one user.
 */
struct crashes {
	int role; /* enum role: whose they are */
	uint64_t window_ms;
	uint32_t by_signal;              /* crashes by a signal */
	uint32_t unseen;                 /* restarts of singles whose end nobody saw */
	uint32_t cores;                  /* of those by a signal: core was dumped */
	uint32_t restarts;               /* of singles, however they ended */
	struct crash crash[CRASHES_MAX]; /* that count, in order of time; unseen ones too */
	size_t count;
};

/* How many of them died by one signal. */
struct crash_signal {
	int signal;
	uint32_t count;
};

/** @return what a wait status says (wait(2)). */
struct ending ending_of_status(int status);

/** @return "unknown", "code" or "signal". */
const char *ending_how_name(enum ending_how how);

/** @return "SIGSEGV" ...; NULL: no signal that ends a process by default has this number. */
const char *ending_signal_name(int signal);

/**
 * Counts by signal, the most frequent first, then by number.
 *
 * @return how many different ones there are.
 */
size_t crashes_signals(const struct crashes *c, struct crash_signal ret[CRASHES_MAX]);

/**
 * Tells whether these are a crash loop.
 *
 * @return true if CRASH_LOOP or more of them count; an end that nobody saw does, where a restart
 *         followed it.
 */
static inline bool crashes_loop(const struct crashes *c)
{
	return c && c->by_signal + c->unseen >= CRASH_LOOP;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole sweeps among the people of people.h: look, plan, pin, second look, intents, signals, in
 * each of which the number of the worker that is due, of its helper, its daemon or its JVM is
 * given away.
 */
#ifndef REAPER_TESTS_SWEEPS_H
#define REAPER_TESTS_SWEEPS_H

#include <stdbool.h>

struct sweeps_sum {
	unsigned long given;   /* numbers */
	unsigned long wrong;   /* somebody was signalled who was not proven */
	unsigned long missed;  /* a leak was still there after a sweep that nobody disturbed */
	unsigned long hurried; /* somebody has another priority */
	struct {
		unsigned long given, wrong;
	} above; /* of those: numbers of daemons and JVMs, and what was wrong then */
};

/**
 * Gives so many numbers away.
 *
 * @param seed	of the calls before which it does.
 * @param control	signals go by number, as kill(2) sends them.
 */
void sweeps_take(unsigned long numbers, unsigned seed, bool control, struct sweeps_sum *sum);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole sweeps among the people of people.h: look, plan, pin, second look, intents, signals, in
 * each of which the number of the worker that is due, of its helper, its daemon or its JVM is
 * given away.
 */
#ifndef REAPER_TESTS_SWEEPS_H
#define REAPER_TESTS_SWEEPS_H

#include <stdbool.h>

enum {
	SWEEPS_ALL_POINTS = 200, /* so many numbers are expected to reach every point */
};

struct sweeps_sum {
	unsigned long given;   /* numbers */
	unsigned long wrong;   /* somebody was signalled who was not proven */
	unsigned long missed;  /* a leak was still there after a sweep that nobody disturbed */
	unsigned long hurried; /* somebody has another priority */
	unsigned long never; /* points at which a number should have been given away, and was not */
	unsigned long unseen; /* kinds of numbers with which nobody was ever signalled */
	struct {
		unsigned long given, wrong;
	} above; /* of those: numbers of daemons and JVMs, and what was wrong then */
};

/**
 * Gives so many numbers away, and from SWEEPS_ALL_POINTS on each kind at each point.
 *
 * @param seed	of the calls before which it does.
 * @param control	signals go by number, as kill(2) sends them.
 */
void sweeps_take(unsigned long numbers, unsigned seed, bool control, struct sweeps_sum *sum);

#endif

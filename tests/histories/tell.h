/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host, its daemon and its workers write to their logs. Each does nothing where the host has no such
 * habit; a record may be lost.
 */
#ifndef REAPER_TESTS_TELL_H
#define REAPER_TESTS_TELL_H

#include "world.h"

/** @return a number below `sides`. */
unsigned tell_dice(struct world *w, unsigned sides);

/** The first record of a host's log, which it begins. */
void tell_host(struct world *w);

/** The first record of a daemon's log, which it begins. */
void tell_daemon(struct world *w);

/** That a task begins or ends. */
void tell_task(struct world *w, enum marker_event event, unsigned id);

/** What the host says of one worker. */
void tell_worker(struct world *w, enum marker_event event, const struct worker *p);

/** Whose task a worker has, as the host knows it: by the ports of its connection. */
void tell_ports(struct world *w, const struct worker *p);

/** The same, as Python knows it: by the worker's number and start. */
void tell_binding(struct world *w, const struct worker *p);

/** Pool and leases are read at one moment, and written a little later. */
void tell_begin_beat(struct world *w, uint64_t delay_ms);

/** That list, and how many records there were since the last one. */
void tell_beat(struct world *w);

#endif

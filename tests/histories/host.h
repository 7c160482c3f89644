/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host does, and its daemon: tasks begin and end, workers are forked, leased, fed, read from, pooled,
 * given up and closed; both die, and others get their numbers. Nothing happens where it could not.
 */
#ifndef REAPER_TESTS_HOST_H
#define REAPER_TESTS_HOST_H

#include "world.h"

/** A task begins. @param arg which one. */
void host_begins(struct world *w, unsigned arg);

/** A task gets a worker, from the pool or a new one. @param arg which task; 8: there is more to send later. */
void host_leases(struct world *w, unsigned arg);

/** Sends a task's first bytes. */
void host_feeds(struct world *w, struct worker *p);

/** Sends the rest. */
void host_feeds_more(struct world *w, struct worker *p);

/** Reads what a worker has sent, who may go on then. */
void host_reads(struct world *w, struct worker *p);

/** Has read a worker's last byte: back to the pool with it, or it is closed. */
void host_takes_end(struct world *w, struct worker *p);

/** Shuts its end for writing; it still reads. */
void host_shuts(struct world *w, struct worker *p);

/** A task ends. @param arg which one; 8: its workers are given up, not closed. */
void host_ends(struct world *w, unsigned arg);

/** Closes all that are in the pool. */
void host_purges(struct world *w);

/** Dies. @param arg 8: a child has copies of its ends. */
void host_dies(struct world *w, unsigned arg);

/** Begets a child that has copies of its ends; if there is one, that dies. */
void host_child(struct world *w);

/** A daemon gets the number of the one that died. Who was forked by that leaves its group, or the kernel
 * would not give that number away. */
void host_forks_daemon(struct world *w);

/** Another JVM gets the number of the one that died; it knows nothing of that, and counts its tasks from one. */
void host_again(struct world *w);

/** A stranger gets a number that is free. @param arg 8: the host's, else the daemon's. */
void host_stranger(struct world *w, unsigned arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a look that finds task sockets: one table per network namespace and look, one exact
 * lookup per worker.
 */
#ifndef REAPER_APP_LOOK_SOCKETS_H
#define REAPER_APP_LOOK_SOCKETS_H

#include "app/look.h"

enum {
	LOOK_TABLES_MAX = 256, /* network namespaces of one look */
};

struct look_tables {
	struct socket_table table[LOOK_TABLES_MAX]; /* in the order in which they were asked for */
	size_t count;
};

/**
 * Finds every daemon's listener, every worker's task socket, and which helpers hold their worker's.
 *
 * @return 0; -ENOMEM.
 */
int look_sockets(struct look *l, struct audit *a) _must_check_;

#endif

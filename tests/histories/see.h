/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a look at a world reads of /proc and sock_diag, as observe/ would give it, and some of it denied.
 * Whatever it allocates belongs to the audit. Each that can fail returns 0; -ENOMEM.
 */
#ifndef REAPER_TESTS_SEE_H
#define REAPER_TESTS_SEE_H

#include "correlate/task_socket.h"
#include "model/audit.h"
#include "world.h"

enum {
	SEE_UID = 1000,
	SEE_REAPER = 9000, /* our own number */
	SEE_PID_NS = 1,
	SEE_NET_NS = 2,
	SEE_OTHER_UID = 1001,
	SEE_OTHER_PID_NS = 3,
};

/* What one look may not see. */
enum denial {
	DENY_SYSCALL = 1,
	DENY_SCHED = 2,
	DENY_ROWS = 4, /* hosts' ends are in no dump, and lookups are not answered */
	DENY_AGES = 8, /* of TCP */
	DENY_LOG = 16, /* the host's is not read to its end */
	DENY_ASLEEP = 32,
	DENY_FDS = 64,
	DENY_WRITERS = 128,
};

/** The census. */
int see_processes(const struct world *w, struct audit *a);

/** A worker's evidence. */
int see_worker(const struct world *w, const struct worker *p, unsigned denied, struct evidence *e);

/** The daemon's. */
int see_daemon(const struct world *w, struct evidence *e);

/** The threads by which a host feeds its workers. */
int see_writers(const struct world *w, unsigned denied, struct host *h);

/** All sockets; socket_table_done() frees them. */
int see_table(const struct world *w, unsigned denied, struct socket_table *t);

/** What an exact lookup of the host's end answers. */
struct task_socket_lookup see_lookup(const struct world *w, const struct worker *p,
				     unsigned denied);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reaper's own correlate/ and decide/ looking at a world: what app/ reads from /proc, sock_diag and
 * marker logs is made from the world here, some of it denied, and handed on in the same order.
 */
#ifndef REAPER_TESTS_JUDGE_H
#define REAPER_TESTS_JUDGE_H

#include "correlate/history.h"
#include "correlate/ledger.h"
#include "model/audit.h"
#include "world.h"

enum {
	JUDGE_RUNS = 1024, /* moments at which the host was seen running */
};

struct judge {
	struct policy policy;
	struct history history;
	struct ledger *ledger;      /* owned */
	unsigned taken[WORLD_LOGS]; /* of the world's records, of each log */
	uint64_t began_ms; /* boot clock; how the wall clock was set before, it cannot know */
	bool logs_read;    /* into this ledger */
	uint64_t runs[JUDGE_RUNS]; /* wall clock */
	size_t run_count;
	struct ident host_seen; /* at the look before; 0: none */
	uint64_t suspended_ms;  /* that the world was, at the look before */
	uint64_t
		untold_ms; /* of that: between two runs of which the later has the earlier's history */
};

/** Begins with nothing known. @return 0; -ENOMEM. */
int judge_begin(struct judge *j, const struct world *w);

/** Ends it. */
void judge_end(struct judge *j);

/** Begins again, as another run of reaper does: with what stands in the logs. @return 0; -ENOMEM. */
int judge_restart(struct judge *j, const struct world *w);

/** Keeps what state_dir/history would keep for another run (app/history_file.h); logs are read again. */
int judge_reload(struct judge *j, const struct world *w);

/**
 * Takes one look.
 *
 * @param denied	bits of enum denial.
 * @param ret	empty; audit_done() frees it.
 * @return 0; -ENOMEM.
 */
int judge_look(struct judge *j, struct world *w, unsigned denied, struct audit *ret);

#endif

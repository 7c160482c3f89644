/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all logs of one writer said: of a host, of a daemon, or of the operators of one uid. Tasks, their
 * ends and bindings are sets, so neither the order of logs nor a record that comes twice changes anything.
 */
#ifndef REAPER_CORRELATE_LEDGER_SCOPE_H
#define REAPER_CORRELATE_LEDGER_SCOPE_H

#include "base/macro.h"
#include "correlate/ledger_store.h"
#include "correlate/ledger_times.h"
#include "model/marker.h"

/* Who writes. */
struct ledger_writer {
	enum marker_event kind; /* MARKER_HOST, MARKER_DAEMON, MARKER_OPERATOR */
	struct ident id;        /* in its own namespace; pid 0 for operators */
	uint64_t pid_ns;
	uint32_t owner; /* of its logs */
};

struct ledger_log;

struct ledger_scope {
	struct ledger_writer writer;
	uint32_t hash;
	uint32_t logs;                /* that are there */
	struct ledger_log *first_log; /* of these; not owned */
	uint32_t newest;              /* the log with the last record */
	uint64_t last_ms;             /* of that record */
	uint64_t left;                /* the ledger's count of changes when its last log went */
	uint64_t learned;  /* what there was to learn when ends were last looked for elsewhere */
	uint64_t opened;   /* the ledger's count of changes plus 1, when open_ms was found */
	uint64_t open_ms;  /* when its first open task began; 0: before the epoch */
	uint32_t epoch;    /* grows where time ran backwards or was stepped */
	uint64_t floor_ms; /* nothing older counts */
	bool lost; /* a record had no room, or two processes wrote one log: nothing is proven */
	uint64_t max_end_ms;
	struct ledger_gaps gaps; /* without an open task */
	struct ledger_store store;
};

/**
 * Makes an empty scope.
 *
 * @param used	counts the items of all scopes; not owned.
 * @return the scope, owned by the caller; NULL: no memory.
 */
struct ledger_scope *ledger_scope_new(const struct ledger_writer *writer, uint32_t *used)
	_must_check_;

/**
 * Takes a `begin`.
 *
 * @return 0; -LEDGER_ENOMEM: the record may be given again.
 */
int ledger_scope_begin(struct ledger_scope *s, const struct marker *m) _must_check_;

/** Takes an `end`. @return as ledger_scope_begin(). */
int ledger_scope_end(struct ledger_scope *s, const struct marker *m) _must_check_;

/** Takes a `pooled`, `leased`, `retired` or `done` of a log. @return as ledger_scope_begin(). */
int ledger_scope_note(struct ledger_scope *s, const struct marker *m, uint32_t log) _must_check_;

/**
 * Ends a task, or a job and every open task of it. An end that is known already may only become earlier.
 *
 * @param epoch	of the scope, or 0: before every age that counts.
 */
void ledger_scope_close(struct ledger_scope *s, uint32_t entry, uint64_t ms, uint32_t epoch);

/**
 * Gives a worker what was bound to its pair of ports after its birth; what is older binds nobody.
 *
 * @return 0; -LEDGER_ENOMEM.
 */
int ledger_scope_resolve(struct ledger_scope *s, uint16_t lport, uint16_t dport,
			 struct ident worker, uint64_t born_ms) _must_check_;

/** No age counts across this moment. */
void ledger_scope_step(struct ledger_scope *s, uint64_t ms);

/** Frees it; NULL is allowed. */
void ledger_scope_free(struct ledger_scope *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a ledger: its logs, and the scopes that they write. For ledger*.c alone.
 */
#ifndef REAPER_CORRELATE_LEDGER_STATE_H
#define REAPER_CORRELATE_LEDGER_STATE_H

#include "base/macro.h"
#include "correlate/ledger.h"
#include "correlate/ledger_scope.h"
#include "correlate/ledger_times.h"

enum {
	LEDGER_LOGS_MAX = 2 * MARKER_LOGS_MAX, /* while old ones go and new ones come */
	LEDGER_HOST_LOGS_MAX = 64,             /* of one host: one for each class is usual */
	LEDGER_LEFT_MAX = 64, /* scopes without a log that are remembered: it may come back */
	LEDGER_BEHIND_MAX = 8,
	LEDGER_JITTER_MS = 1000, /* threads of one writer take the time, then wait for the file */
	LEDGER_FUTURE_MS = 10 * 1000, /* a look takes its time before it reads the logs */
};

struct ledger_log {
	uint32_t number;
	uint32_t owner;
	struct ledger_writer writer; /* kind MARKER_UNKNOWN: no identity record yet */
	struct ledger_scope *scope;  /* NULL: not believed */
	struct ledger_log *next;     /* of that scope */
	bool other_boot;
	bool mixed; /* two processes write it: nothing of it counts any more */
	/* What a host promises for one class. */
	char class_name[MARKER_NAME_MAX];
	enum pool_promise pool;
	bool tasks_all;
	uint64_t pool_timeout_ms; /* UNKNOWN_U64: it does not say */
	uint64_t start_ms;        /* of its identity record */
	uint64_t last_ms;
	uint64_t max_ms; /* the latest since time last ran backwards */
	/* Its beats. */
	uint32_t epoch;      /* of the scope, when beat_ms was read */
	uint64_t beat_ms;    /* of the last beat, or start_ms; UNKNOWN_U64: none in this epoch */
	uint64_t since_beat; /* records */
	bool lossy; /* a line was no record, or the number of a beat was not that of the records */
	struct ledger_beats beats;
	char name[];
};

struct ledger {
	char boot[MARKER_BOOT_MAX];
	bool whole;
	uint32_t behind[LEDGER_BEHIND_MAX]; /* owners with a log that was not read to its end */
	uint32_t behind_count;
	uint64_t trusted_ms;      /* no age of what is dated before counts */
	uint64_t changes;         /* records and logs that came and went */
	uint32_t used;            /* items of all scopes */
	struct ledger_log **logs; /* owned; by number */
	size_t log_count, log_room;
	struct ledger_scope **scopes; /* owned; NULL: a free place */
	size_t scope_count, scope_room;
	struct ledger_index by_writer;
};

/** Tells whether two writers are the same, logs of one owner. */
bool ledger_state_same_writer(const struct ledger_writer *a, const struct ledger_writer *b);

/** Finds what a writer said. @return the scope, owned by the ledger; NULL: no such writer wrote. */
struct ledger_scope *ledger_state_scope(const struct ledger *l, const struct ledger_writer *writer);

/** Finds the scope of a writer or makes one. @return 0; -LEDGER_ENOMEM; -LEDGER_E2BIG: not believed. */
int ledger_state_need_scope(struct ledger *l, const struct ledger_writer *writer,
			    struct ledger_scope **ret) _must_check_;

/**
 * Forgets the writer that has been without a log for longest, if there are too many of these. (A log that is
 * replaced is missing for a moment, and its writer's tasks run on.)
 */
void ledger_state_drop_left(struct ledger *l);

enum {
	LEDGER_NAMED_MAX = 4, /* two namespaces, two owners */
};

/**
 * Finds the scopes of a process: by either of its names, in logs of root or of a uid.
 *
 * @param ret	at most LEDGER_NAMED_MAX.
 * @return how many.
 */
size_t ledger_state_named(const struct ledger *l, enum marker_event kind,
			  const struct ledger_name *name, uint32_t uid,
			  struct ledger_scope *ret[LEDGER_NAMED_MAX]);

/** @return the name of a process in a namespace; pid 0: it cannot be told there. */
struct ident ledger_state_local(const struct ledger_name *name, uint64_t pid_ns);

/** Finds where a log stands among the logs, or would stand. */
size_t ledger_state_log_place(const struct ledger *l, uint32_t number);

/** Finds a log by number. @return the log, owned by the ledger; NULL. */
struct ledger_log *ledger_state_log(const struct ledger *l, uint32_t number);

#endif

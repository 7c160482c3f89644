/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all believed marker logs said, kept as sets (bindings, ends) and, within a host's log, as a
 * sequence (pooled, leased, beat). Pure: records and times come in, facts go out.
 */
#ifndef REAPER_CORRELATE_LEDGER_H
#define REAPER_CORRELATE_LEDGER_H

#include "base/macro.h"
#include "model/marker.h"

struct ledger;

/* Who wrote a record (observe/markers.h has the same, as the reader knows it). */
struct ledger_source {
	uint32_t log; /* from 1 */
	uint32_t owner;
	const char *name;
};

/* A process as a writer may have named it: by its number in our namespace, or in its own. */
struct ledger_name {
	struct ident id;     /* pid and start as we see it */
	uint64_t our_pid_ns; /* inode of our pid namespace */
	pid_t ns_pid;        /* its number in its own namespace; 0: unknown */
	uint64_t pid_ns;     /* inode of its own namespace; 0: unknown */
};

/* One question about one worker. */
struct ledger_question {
	struct ledger_name worker;
	uint32_t uid; /* of the worker: whose logs it believes */
	/* Whose promises hold; NULL: its host is itself, whatever it names. */
	const char *class_name;
	struct ledger_name host; /* id.pid 0: unknown */
	bool host_alive;
	struct ledger_name daemon; /* id.pid 0: unknown */
	uint16_t lport, dport; /* its task socket: the host's and the daemon's port; 0: unknown */
	uint64_t born_ms;      /* wall clock */
	/* Wall clock of the last byte on its task socket (of one that is its own host: of its last
	 * run); UNKNOWN_U64. */
	uint64_t last_byte_ms;
	uint64_t class_pool_timeout_ms; /* of the class; UNKNOWN_U64: only the host can say */
	uint64_t now_ms;                /* wall clock */
	/* Times at which this reaper itself saw the host run (its CPU clock advanced, not stopped), sorted;
	 * beside the beats these close the gaps of `host idle`. */
	const uint64_t *host_runs;
	size_t host_run_count;
};

/* One host as its logs know it, for audit and for cleaning up. */
struct ledger_host {
	struct ident id; /* as the writer names it */
	uint64_t pid_ns;
	uint32_t owner;
	uint32_t log;     /* its newest log */
	const char *name; /* of that log; owned by the ledger, valid until the next change */
	uint64_t last_ms; /* wall clock of its last record */
	uint64_t beat_ms; /* of the last beat in any of its logs; 0: none */
};

/**
 * Makes an empty ledger that believes records of this boot only.
 *
 * @return the ledger, owned by the caller; NULL: no memory.
 */
struct ledger *ledger_new(const char *boot_id);

/**
 * Takes one record. Records of a log before its identity record (host, daemon, operator), and events that
 * its kind of writer may not say, count for nothing; all of them count for the next beat. Where two
 * processes write one log, nothing is proven from what either says. A line that is no record (marker.bad) may
 * have been a `begin`, so a log that has one says of no task any more that it was the last.
 *
 * @return 0; -ENOMEM (written as a plain number: this floor has no errno): the record may be given again.
 */
int ledger_add(struct ledger *l, const struct ledger_source *source, const struct marker *m)
	_must_check_;

/**
 * Forgets a log: its promises, its beats, and its word on workers. Tasks stay, begun or ended, as long as
 * their writer has another log or may come back with one (an ended id stays ended, and a task that runs
 * while its log is replaced still runs).
 */
void ledger_forget(struct ledger *l, uint32_t log);

/**
 * Remembers that the wall clock was stepped against the boot clock: no age counts across this moment.
 */
void ledger_clock_stepped(struct ledger *l, uint64_t now_ms);

/**
 * Trusts no age of a record that is dated before a moment: since then the wall clock has not been stepped. For
 * a reader that begins after the step; one that was there tells of it by ledger_clock_stepped().
 */
void ledger_trust_from(struct ledger *l, uint64_t ms);

/**
 * Takes no word of beats from a host that has not beaten since a moment, until it beats again. For a reader
 * that begins: the wall clock may have been set back before, and a host that is silent, stopped or on a machine
 * that was suspended, has written nothing that shows it, so that its last beats pass for later than the birth
 * of a worker that it forked after them.
 */
void ledger_doubt_silent(struct ledger *l, uint64_t since_ms);

/**
 * Says whether every believed log was read to its end at the last read, but for those of the owners
 * that ledger_set_behind() names.
 */
void ledger_set_whole(struct ledger *l, bool whole);

/**
 * Says that a log of this owner was not read to its end, until the next ledger_set_whole(): then workers of
 * that uid (root's: all) have to wait, and no others.
 */
void ledger_set_behind(struct ledger *l, uint32_t owner);

/**
 * Answers what the logs say about one worker. A `begin` by ports that fits the question's task socket
 * (and is younger than the worker) is bound to it for good.
 *
 * @param ret	filled; all zero where no believed log speaks of its host.
 * @return 0; -ENOMEM.
 */
int ledger_ask(struct ledger *l, const struct ledger_question *q, struct marker_facts *ret)
	_must_check_;

/**
 * Lists the hosts of this boot that wrote logs, one by one.
 *
 * @return true: *ret is the i-th; false: there are no more.
 */
bool ledger_host_at(const struct ledger *l, size_t i, struct ledger_host *ret);

/* One log, for removing those whose writer has been gone for long. */
struct ledger_log_info {
	uint32_t log;
	uint32_t owner;
	const char *name;       /* owned by the ledger, valid until the next change */
	enum marker_event kind; /* MARKER_UNKNOWN: no identity record was read */
	struct ident id;        /* of the host or daemon that writes it, as it names itself */
	uint64_t pid_ns;
	bool other_boot;  /* written in another boot: its writer is gone for sure */
	uint64_t last_ms; /* wall clock of its last record */
};

/** Lists the logs, believed or not, one by one. @return as ledger_host_at(). */
bool ledger_log_at(const struct ledger *l, size_t i, struct ledger_log_info *ret);

/** Finds the newest log of a host among those that a uid may believe. @return as ledger_host_at(). */
bool ledger_host_find(const struct ledger *l, const struct ledger_name *host, uint32_t uid,
		      struct ledger_host *ret);

/** Frees it; NULL is allowed. */
void ledger_free(struct ledger *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was seen before: since when a fence has held, since when a worker has sat in one same wait, and
 * when something was last ended. Each look gives a new history from the old one, so what is gone is
 * forgotten. Pure: times are the boot clock's, handed in.
 */
#ifndef REAPER_CORRELATE_HISTORY_H
#define REAPER_CORRELATE_HISTORY_H

#include "base/macro.h"
#include "model/audit.h"
#include "model/evidence.h"
#include "model/policy.h"
#include "model/verdict.h"

enum {
	HISTORY_ENTRIES_MAX = AUDIT_SUBJECTS_MAX, /* in memory; the file holds fewer */
	HISTORY_KILLS_MAX = 100000,
	HISTORY_WINDOW_MS = 3600 * 1000, /* of max_kills_per_hour */
	HISTORY_SUSPEND_MS = 10, /* the clocks that tell of it are read one after the other */
	HISTORY_STEP_MS =
		2000, /* by less the wall clock was not stepped: a leap second, two readings */
};

/* One worker or daemon. */
struct history_entry {
	struct ident id;
	uint64_t fence_ms[FENCE_COUNT]; /* first seen; UNKNOWN_U64: not holding at the last look */
	bool wait_known;
	int64_t nr; /* the wait that every look since wait_ms has shown, and no work between */
	uint64_t sp;
	uint64_t pc;
	char wchan[EVIDENCE_WCHAN_MAX]; /* instead, where the call cannot be read */
	uint64_t wait_ms;               /* first look that showed it */
	uint64_t still_ms;              /* first look since which its counters have not moved */
	uint32_t looks;                 /* that showed it, the first included */
	uint64_t idle_ms;   /* of a daemon: since when it has had no worker; UNKNOWN_U64 */
	uint64_t before_ms; /* boot clock of the look before, with a wait that of another run too */
	uint64_t cpu_ns;    /* what all its threads had used then */
	/* Of this run only, not on disk: the look before. */
	bool before_known;
	uint64_t main_cpu_ns, main_switches;
	uint64_t recv_queue, send_queue;
	uint64_t closed_ino; /* its task socket, when nobody was seen to hold the host's end; 0 */
	uint64_t held_ms;    /* boot clock of the last look that saw it held; 0: none did */
	struct file_id exe;
	uid_t uid;
	uint64_t pid_ns, net_ns;
	uint32_t flags;
	bool unkillable; /* it outlived a SIGKILL */
	bool shown;      /* its verdict was reported: */
	enum action action;
	enum reason reason;
	struct ident daemon; /* whose child it was seen to be; pid 0: unknown */
	struct ident host;
	int class_index;
	uint64_t touched_ms; /* last look that saw it */
};

struct history {
	struct history_entry *entries; /* owned; in no order: history_at() */
	size_t count;
	size_t room;
	uint32_t *order; /* owned; places in entries, by identity: a newcomer moves these alone */
	size_t order_room;
	struct history_entry refused; /* for whom there was no room */
	uint64_t *kills; /* owned; boot clock of each kill of the last hour, oldest first */
	size_t kill_count;
	size_t kill_room;
	bool suspended_known;        /* of this run only: */
	uint64_t suspended_ms;       /* for how long the machine was suspended, at the last look */
	uint64_t wall_minus_boot_ms; /* at the last look, of another run too; 0: unknown */
	uint64_t stepped_ms; /* boot clock of the look that saw the wall clock stepped; 0: none */
};

/** Finds an entry. @return the entry, owned by the history, valid until the next history_touch(); or NULL. */
struct history_entry *history_find(const struct history *h, struct ident id);

/** @return the entry that is so many in the order of identities; i is less than h->count. */
struct history_entry *history_at(const struct history *h, size_t i);

/**
 * Finds an entry or makes an empty one. None makes room for another: who has not been touched may be
 * next in this look. When full, a newcomer gets an empty one that nobody finds again, so it waits
 * longer, until history_prune() has made room.
 *
 * @return the entry, valid until the next call; NULL: no memory.
 */
struct history_entry *history_touch(struct history *h, struct ident id, uint64_t now_ms)
	_must_check_;

/** Forgets every entry that was not touched at now_ms, and kills older than an hour. */
void history_prune(struct history *h, uint64_t now_ms);

/**
 * Takes out of every wait the time for which the machine was suspended since the last call: nobody could
 * run in it, so it proves nothing of anybody. What limits kills stays.
 *
 * @param suspended_ms	for how long in all, since boot.
 * @param now_ms	boot clock: no wait begins later.
 */
void history_suspended(struct history *h, uint64_t suspended_ms, uint64_t now_ms);

/**
 * Says whether the wall clock was stepped against the boot clock since the last look, of this run or of one
 * before. Adjusting moves both alike (adjtimex(2)), so what lies between them changes by steps alone.
 *
 * @param wall_minus_boot_ms	now.
 * @param now_ms		boot clock.
 */
bool history_clock_stepped(struct history *h, uint64_t wall_minus_boot_ms, uint64_t now_ms)
	_must_check_;

/** @return since when, by the wall clock as it is now, it has not been stepped; 0: no step is known. */
uint64_t history_unstepped_ms(const struct history *h);

/** Remembers a kill. @return 0; -ENOMEM. */
int history_kill(struct history *h, uint64_t now_ms) _must_check_;

/** @return how many kills lie in the hour before now_ms. */
uint32_t history_kills(const struct history *h, uint64_t now_ms);

/** Frees what it holds and makes it empty. */
void history_done(struct history *h);

#endif

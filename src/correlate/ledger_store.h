/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks, jobs, workers and the bindings between tasks and workers, by number and by name. Bounded: where
 * there is no room the oldest ended tasks are forgotten, then workers without a binding.
 */
#ifndef REAPER_CORRELATE_LEDGER_STORE_H
#define REAPER_CORRELATE_LEDGER_STORE_H

#include "base/macro.h"
#include "correlate/ledger_index.h"
#include "model/marker.h"

enum {
	LEDGER_ITEMS_MAX = 2 * 1024 * 1024, /* tasks, jobs, workers and bindings of all stores */
	LEDGER_STORE_ITEMS = 1024 * 1024,   /* of one: more than one call can read from one log */
	LEDGER_STORE_SHARE = 1024,          /* of one, however full the others are */
	LEDGER_STORE_WORKERS = 256 * 1024,  /* beyond, workers are forgotten before tasks */
	LEDGER_TWINS_MAX =
		32, /* bindings of a task among which one that comes again is looked for */
	LEDGER_NAME_HERE = 16,
};

enum ledger_list {
	LIST_NONE,
	LIST_OPEN,  /* begun and not ended */
	LIST_SPARE, /* may be forgotten: ended, or a job that no open task names */
	LIST_COUNT,
};

/* A task, or a job. Numbers of others are plus 1, so that 0 is nobody. */
struct ledger_entry {
	uint32_t next, prev; /* in its list */
	uint32_t hash;
	uint32_t bindings; /* the newest */
	uint32_t job;      /* of an open task */
	uint32_t members;  /* of a job: its open tasks */
	uint32_t next_member, prev_member;
	uint64_t begin_ms; /* the earliest; UNKNOWN_U64: no begin was read */
	uint64_t end_ms;   /* the earliest; UNKNOWN_U64: not ended */
	uint32_t begin_epoch, end_epoch;
	uint8_t list; /* enum ledger_list */
	bool is_job;
	bool two_jobs; /* begun with two of them: only its own end ends it */
	uint8_t name_len;
	union {
		char here[LEDGER_NAME_HERE];
		char *away; /* owned, if it is longer */
	} name;             /* not NUL-ended */
};

/* The last word of a host on where a worker is. */
enum ledger_where {
	WHERE_UNKNOWN,
	WHERE_POOLED,
	WHERE_LEASED,
};

/* Which log said something, and when. */
struct ledger_said {
	uint32_t log; /* 0: none did */
	uint32_t epoch;
	uint64_t ms;
};

/* A worker; or (pid 0, the ports in `start`) whoever will turn out to be behind a pair of ports. */
struct ledger_worker {
	uint32_t next_free;
	uint32_t hash;
	struct ident id;
	uint32_t bindings;         /* the newest; plus 1 */
	uint32_t forgotten;        /* bindings to tasks that were forgotten, all of them ended */
	uint64_t forgotten_end_ms; /* the last of their ends */
	uint32_t forgotten_epoch;
	bool taken;
	enum ledger_where where;
	struct ledger_said where_said;
	struct ledger_said retired;
	uint64_t done_ms; /* 0: never */
};

struct ledger_binding {
	uint32_t next_of_worker, prev_of_worker; /* plus 1 */
	uint32_t next_of_entry, prev_of_entry;   /* plus 1 */
	uint32_t entry;
	uint32_t worker;
	uint32_t epoch;
	uint64_t ms; /* of the latest record that binds them */
};

struct ledger_store {
	uint32_t *used;                               /* items of all stores; not owned */
	uint32_t first[LIST_COUNT], last[LIST_COUNT]; /* plus 1 */
	struct ledger_pool entries, workers, bindings;
	struct ledger_index by_name, by_ident;
	uint32_t hand;    /* the worker that is looked at next for forgetting */
	uint64_t gone_ms; /* the last thing that was known of a worker that was forgotten */
};

/** @return an entry; the pointer holds until the next is made. */
struct ledger_entry *ledger_store_entry(const struct ledger_store *s, uint32_t entry);

/** @return a worker; the pointer holds until the next is made. */
struct ledger_worker *ledger_store_worker(const struct ledger_store *s, uint32_t worker);

/** @return a binding; the pointer holds until the next is made. */
struct ledger_binding *ledger_store_binding(const struct ledger_store *s, uint32_t binding);

/** @return the name of an entry, name_len bytes without a NUL. */
const char *ledger_store_name(const struct ledger_entry *e);

/** Finds a task or job. @return its number; LEDGER_NONE. */
uint32_t ledger_store_find(const struct ledger_store *s, bool is_job, const char *name, size_t len);

/** Finds a worker. @return its number; LEDGER_NONE. */
uint32_t ledger_store_find_worker(const struct ledger_store *s, struct ident id);

/**
 * Tells whether an entry is bound to a worker. (Of a task with very many workers only the newest are looked
 * at: for such a task what comes twice is counted twice, and nothing else.)
 */
bool ledger_store_is_bound(const struct ledger_store *s, uint32_t entry, uint32_t worker);

/**
 * Makes room for what one record can add.
 *
 * @return false: there is none.
 */
bool ledger_store_make_room(struct ledger_store *s) _must_check_;

/**
 * Finds a task or job or makes one, in no list (a job: spare).
 *
 * @return 0; -LEDGER_ENOMEM; -LEDGER_E2BIG: too many names of one hash.
 */
int ledger_store_need(struct ledger_store *s, bool is_job, const char *name, uint32_t *ret_entry)
	_must_check_;

/** Finds a worker or makes one. @return as ledger_store_need(). */
int ledger_store_need_worker(struct ledger_store *s, struct ident id, uint32_t *ret_worker)
	_must_check_;

/** Binds an entry to a worker, once; a later record makes it later. @return 0; -LEDGER_ENOMEM. */
int ledger_store_bind(struct ledger_store *s, uint32_t entry, uint32_t worker, uint64_t ms,
		      uint32_t epoch) _must_check_;

/** Takes a binding away. */
void ledger_store_unbind(struct ledger_store *s, uint32_t binding);

/** Moves an entry to the end of a list. */
void ledger_store_move(struct ledger_store *s, uint32_t entry, enum ledger_list list);

/** Frees what it holds. */
void ledger_store_done(struct ledger_store *s);

#endif

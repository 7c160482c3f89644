/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true: a host, its daemon, their workers with their sockets, the host's pool and tasks, and
 * what all of them write to their logs. It knows nothing of reaper; who is in use, it knows by itself.
 * Measured on Spark and pyjava is what it imitates (docs/SAFETY.md says where); it does it in any order.
 */
#ifndef REAPER_TESTS_WORLD_H
#define REAPER_TESTS_WORLD_H

#include <stdio.h>

#include "model/ident.h"
#include "model/marker.h"

enum {
	WORLD_WORKERS = 3,
	WORLD_TASKS = 2,
	WORLD_RECORDS = 8192, /* of one history */
	WORLD_HOST = 4711,
	WORLD_DAEMON = 4790,
	WORLD_WORKER = 4801, /* the first one's number */
	WORLD_PORT = 39917,  /* the first daemon's; that of each later one is below it */
	WORLD_LOGS = 8,      /* of all hosts and daemons that follow each other */
	WORLD_PURGE_MS = 60 * 1000,
	WORLD_PURGE_EVERY_MS = 10 * 1000,
	WORLD_SOME_BYTES = 100,      /* that are sent at once */
	WORLD_BEGIN_MS = 100 * 1000, /* of the boot clock */
	WORLD_LOOP_MS = 100,         /* a loop of waits wakes so often */
	WORLD_IDLE_CPU_PPM =
		10000, /* who uses less of a core does no work, if it waits where it did */
	WORLD_RESTS = 256,
};

#define WORLD_BOOT "01234567-89ab-cdef-0123-456789abcdef"
#define WORLD_PATH "/tmp/daemon.sock"

/* What the host has in mind with a worker. */
enum use {
	USE_NONE, /* not born */
	USE_LEASED,
	USE_POOLED,
	USE_GIVEN_UP, /* forgotten, its connection left open */
	USE_CLOSED,
};

/* Where a worker's main thread is. */
enum phase {
	PHASE_NEWBORN,  /* reads its socket, which it has not duplicated yet */
	PHASE_PROTOCOL, /* reads its socket, between two tasks */
	PHASE_RUNNING,
	PHASE_POLL, /* from here to PHASE_OWN_RECV: blocked in user code */
	PHASE_FUTEX,
	PHASE_SLEEP,
	PHASE_LOOP,     /* wakes for nothing, ten times a second */
	PHASE_BURN,     /* its other threads work */
	PHASE_DUP_RECV, /* recv(1024) on a duplicate of the task socket */
	PHASE_OWN_RECV, /* recv(1024) on a socket of its own */
	PHASE_WRITE,    /* its host does not read */
	PHASE_SIGNED_OFF,
	PHASE_COUNT,
};

/* The host's end of a connection. */
enum end {
	END_OPEN,
	END_SHUT, /* for writing; it still reads */
	END_CLOSED,
	END_RESET, /* closed with bytes unread: no table has it any more */
};

/* Why a worker must not be ended, whoever uses it or not. */
enum kept {
	KEPT_TRACED,
	KEPT_STOPPED,
	KEPT_UNINTERRUPTIBLE, /* in D, or frozen */
	KEPT_DUMPING,
	KEPT_PASSING, /* those before it pass */
	KEPT_EXECED = KEPT_PASSING,
	KEPT_OTHER_UID,
	KEPT_OTHER_PID_NS,
	KEPT_PROTECTED,
	KEPT_COUNT,
};

/* A moment at which it was blocked. */
struct rest {
	uint64_t ms, cpu_ns;
	enum phase phase;
};

struct worker {
	struct ident id;
	bool alive;
	enum use use;
	unsigned task; /* index of the one that leased it */
	enum phase phase;
	enum end end;
	unsigned serial;     /* of its connection */
	struct ident daemon; /* that forked it */
	uint16_t port;       /* of that daemon */
	bool left_group;     /* its daemon's number could not be given away while it is a group's */
	bool fed;            /* its task's first bytes were sent */
	bool more;           /* the host has more to send */
	bool sent_all;       /* it has sent its last byte of this task */
	bool leaves;         /* ... and left the protocol */
	unsigned kept;       /* bits of enum kept */
	uint32_t recv_queue, send_queue, host_recv_queue;
	uint64_t born_ms, ran_ms, worked_ms, byte_ms, fin_ms, fed_ms;
	uint64_t unused_ms; /* since its host gave it up or closed it; 0: it did not */
	uint64_t cpu_ns, switches;
	struct rest rests[WORLD_RESTS];
	unsigned rest_count; /* that there ever were */
};

struct task {
	unsigned id; /* 0: none */
};

struct record {
	unsigned log; /* each host and each daemon has one */
	struct marker marker;
};

/* What a host is, and how it may break its word. */
struct habit {
	bool reuses;
	bool logs;
	bool brackets; /* tasks=all */
	bool reports;  /* pool=reported */
	bool retires;
	bool lossy; /* some of its records are lost, which it does not know */
	bool ports; /* binds by ports too */
	bool unix_sockets;
};

enum lie {
	LIE_NONE,
	LIE_TAKES_UP,    /* takes up again whom it gave up */
	LIE_REUSES,      /* says pool=none */
	LIE_HIDES_POOL,  /* its beats do not list the pool */
	LIE_HIDES_LEASE, /* ... nor the leases */
	LIE_NEVER_PURGES,
	LIE_BEGINS_LATE,  /* tells of a task when it is over */
	LIE_LOSES_BEATS,  /* counts no record that was lost */
	LIE_NO_SUCH_ROW,  /* the kernel says of a connection that it is not there */
	LIE_NO_WRITER,    /* a thread that writes is not shown */
	LIE_LONG_BLOCKED, /* who ran just now is said to have been blocked for an hour */
	LIE_NEVER_SLEPT,  /* the kernel says that it was never suspended */
	LIE_NO_STEP,      /* nobody sees that the wall clock was set */
	LIE_NO_DOUBT,     /* who reads logs for the first time believes beats of any age */
	LIE_HIDES,        /* one of enum kept, in its order, is not shown */
	LIE_COUNT = LIE_HIDES + KEPT_COUNT,
};

struct world {
	enum lie lie;
	struct habit habit;
	uint64_t now;          /* boot clock */
	uint64_t wall;         /* minus boot clock */
	uint64_t suspended_ms; /* since boot; the boot clock went on */
	bool host_up, stopped, daemon_up;
	struct ident host, daemon; /* their numbers may be used again */
	unsigned host_log, daemon_log, logs;
	uint16_t port;         /* the daemon's */
	struct ident stranger; /* who has the number of a dead host or daemon; 0: nobody */
	bool child;            /* a child of the host holds copies of its ends */
	bool was_running;      /* since the last look */
	bool unshared;         /* the daemon's next children are in a pid namespace of their own */
	struct worker worker[WORLD_WORKERS];
	struct task task[WORLD_TASKS];
	unsigned pool[WORLD_WORKERS], pooled; /* the longest there first */
	unsigned tasks, births, connections;
	uint64_t release_ms, purge_at, beat_at, list_at;
	struct worker listed[WORLD_WORKERS]; /* as they were when the next beat was begun */
	uint64_t written;                    /* records since the last beat */
	uint64_t seed;                       /* of what is left to chance */
	struct record *records;              /* WORLD_RECORDS; what was written, the oldest first */
	unsigned record_count;
};

enum op {
	OP_SERVE, /* from the task's begin to user code; thrice, as the others that come in numbers */
	OP_SERVE_2,
	OP_SERVE_3,
	OP_FINISH, /* to the host's last read */
	OP_FINISH_2,
	OP_BEGIN,
	OP_LEASE,
	OP_FEED,
	OP_FEED_MORE,
	OP_STEP, /* of a worker */
	OP_STEP_2,
	OP_STEP_3,
	OP_WORK, /* of one that is blocked, and will be blocked in the same place again */
	OP_WORK_2,
	OP_HOST_READS,
	OP_HOST_TAKES_END,
	OP_SHUT,
	OP_END_TASK,
	OP_RETIRE,
	OP_BEAT,
	OP_PASS,
	OP_PASS_2,
	OP_STOP,
	OP_DAEMON_DIES,
	OP_HOST_DIES,
	OP_CHILD_DIES,
	OP_HOST_AGAIN,   /* another JVM gets its number, and a daemon that has the other's */
	OP_DAEMON_AGAIN, /* a daemon of the same host gets its number */
	OP_STRANGER,     /* gets a number that is free */
	OP_CLOCK,
	OP_SUSPEND,
	OP_DIES,
	OP_HOLD,   /* a worker is traced, stopped, in D or dumping core; or no more */
	OP_CHANGE, /* it becomes for good what no worker is, or one that is protected */
	OP_COUNT,
};

/**
 * Makes a world in which nothing has happened.
 *
 * @param habits	which habits the host has, by bits.
 * @param records	room for WORLD_RECORDS.
 */
void world_begin(struct world *w, enum lie lie, unsigned habits, struct record *records);

/** Lets something happen, if it can. @param arg to whom, and how. */
void world_do(struct world *w, enum op op, unsigned arg);

/** Lets time pass: a host that runs purges its pool and beats. */
void world_pass(struct world *w, uint64_t ms);

/** Ends a worker, as a signal does. */
void world_kill(struct world *w, unsigned worker);

/** @return whether a worker's host closed its end, and it waits for something else: it must be ended. */
bool world_leaks(const struct world *w, unsigned worker);

/** Says what is wrong with ending a worker now. @return NULL: nobody will use it again. */
const char *world_uses(const struct world *w, unsigned worker);

/** Says why a worker must be kept now, used or not. @return NULL: nothing keeps it. */
const char *world_keeps(const struct world *w, unsigned worker);

/** @return bits of enum kept: what a worker shows of that. */
unsigned world_shows(const struct world *w, const struct worker *p);

/** @return when a worker last did something: a byte, or work. */
uint64_t world_worked(const struct world *w, unsigned worker);

/** @return whether somebody has the host's end of a worker's connection. */
bool world_holds(const struct world *w, const struct worker *p);

/** Writes what world_do() would do, and what is true of everybody. */
void world_print(const struct world *w, enum op op, unsigned arg, FILE *to);

#endif

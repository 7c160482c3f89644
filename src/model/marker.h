/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that a host, its Python side or an operator wrote (reaper-markers(5)), and what all logs
 * together say about one worker.
 */
#ifndef REAPER_MODEL_MARKER_H
#define REAPER_MODEL_MARKER_H

#include "model/ident.h"
#include "model/tri.h"

enum {
	MARKER_LINE_MAX = 512, /* bytes of one record, its newline included */
	MARKER_ID_MAX = 65,    /* a task's or job's name, with its NUL */
	MARKER_NAME_MAX = 65,  /* class, app, outcome */
	MARKER_BOOT_MAX = 37,
	MARKER_LOGS_MAX = 4096,               /* logs of one sweep */
	MARKER_UNREAD_MAX = 16 * 1024 * 1024, /* bytes of one log that one sweep takes */
	MARKER_TASKS_SHOWN = 8,
};

enum marker_event {
	MARKER_UNKNOWN, /* skipped and counted */
	MARKER_HOST,
	MARKER_DAEMON,
	MARKER_OPERATOR,
	MARKER_BEGIN,
	MARKER_DONE,
	MARKER_END,
	MARKER_POOLED,
	MARKER_LEASED,
	MARKER_RETIRED,
	MARKER_BEAT,
	MARKER_EVENT_COUNT,
};

/* What a host promises of its pool; the weaker of two holds. */
enum pool_promise {
	POOL_UNKNOWN,
	POOL_NONE,
	POOL_REPORTED,
};

/* One record. Strings are decoded, NUL-terminated, and "" where the record has no such key. */
struct marker {
	bool bad; /* it is none: a line that could not be read, and may have said anything */
	uint64_t unix_ms;
	enum marker_event event;
	struct ident host; /* pid 0: none. Pids are those of the writer's pid namespace */
	struct ident daemon;
	struct ident worker;
	char boot[MARKER_BOOT_MAX];
	uint64_t pid_ns; /* 0: none */
	char class_name[MARKER_NAME_MAX];
	char app[MARKER_NAME_MAX];
	enum pool_promise pool;
	bool tasks_all;
	uint64_t pool_timeout_ms; /* UNKNOWN_U64: not said */
	bool has_uid;
	uint32_t uid; /* operator */
	char task[MARKER_ID_MAX];
	char job[MARKER_ID_MAX];
	uint16_t lport, dport; /* 0: none */
	char outcome[MARKER_NAME_MAX];
	uint64_t n; /* beat: records since the last beat */
};

/* The JSON field "marker" of a worker. */
enum marker_state {
	MARKS_NONE,
	MARKS_OPEN,
	MARKS_ENDED,
	MARKS_DONE,
	MARKS_POOLED,
	MARKS_LEASED,
	MARKS_RETIRED,
	MARKS_STATE_COUNT,
};

/* The ways of proving that the host neither pools nor leases a worker. */
enum unpooled {
	UNPOOLED_DECLARED,
	UNPOOLED_REPORTED,
	UNPOOLED_HOST_IDLE,
	UNPOOLED_COUNT,
};

/* What all believed logs say about one worker; wall-clock times, 0 where there is none. */
struct marker_facts {
	enum marker_state state;
	bool host_log;          /* a believed log of its host is there */
	bool logs_whole;        /* what may speak of it was read to its end, and nothing was lost */
	bool ages_trusted;      /* no clock step and no backward record lies between then and now */
	uint32_t bound;         /* tasks ever bound to it */
	uint32_t open;          /* of these: begun and not ended */
	uint64_t open_since_ms; /* unix time of the oldest open one's begin */
	uint64_t last_end_ms;   /* unix time of the last end of a bound task */
	bool pooled;            /* the host's latest word is: in its pool */
	bool leased;
	bool retired; /* by its host */
	uint64_t retired_ms;
	bool retired_by_operator;
	uint64_t operator_ms;
	enum tri late_byte; /* a byte moved later than last_end_ms + 10 s: a binding was missed */
	enum tri unpooled[UNPOOLED_COUNT];
	uint64_t unpooled_ms[UNPOOLED_COUNT];          /* unix time since which that proof stands */
	uint32_t task_count;                           /* names below */
	char tasks[MARKER_TASKS_SHOWN][MARKER_ID_MAX]; /* open ones first */
	char job[MARKER_ID_MAX];
};

/**
 * Names a worker's marker state as JSON does.
 *
 * @return a constant string, never NULL.
 */
const char *marker_state_name(enum marker_state state);

#endif

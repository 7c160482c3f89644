/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thing that happened, for every sink.
 */
#ifndef REAPER_MODEL_EVENT_H
#define REAPER_MODEL_EVENT_H

#include "model/audit.h"

enum event_kind {
	EVENT_START,
	EVENT_VERDICT, /* of one process, when it changed */
	EVENT_ACTION,
	EVENT_SWEEP, /* one sweep is over */
	EVENT_RELOAD,
	EVENT_BREAKER,
	EVENT_HOST_GONE,
	EVENT_EXIT,       /* a process ended, and not as it should */
	EVENT_CRASH_LOOP, /* its like do so again and again */
	EVENT_STOP,
	EVENT_KIND_COUNT,
};

enum outcome {
	OUTCOME_EXITED,     /* gone after SIGTERM */
	OUTCOME_KILLED,     /* gone after SIGKILL */
	OUTCOME_UNKILLABLE, /* still there kill_grace after SIGKILL */
	OUTCOME_VANISHED,   /* gone before a signal */
	OUTCOME_SPARED,     /* the second look, or the last check before a signal, differed */
	OUTCOME_HELD,       /* by a limit, for want of an intent on the disk, told to stop */
	OUTCOME_REFUSED,    /* the kernel refused the signal, or the pin */
	OUTCOME_COUNT,
};

/* What was done to one process. */
struct action_record {
	struct ident id;
	enum role role;
	int signal; /* the last that was sent; 0: none */
	enum outcome outcome;
	uint64_t freed_bytes; /* UNKNOWN_U64 */
	uint64_t took_ms;     /* from the first signal until it was gone or given up */
	char why[AUDIT_TEXT_MAX];
};

/* How one process ended; with pid 0: whose like crash again and again. */
struct exit_record {
	struct ident id;
	enum role role; /* ROLE_WORKER, ROLE_DAEMON or ROLE_SINGLE */
	char class_name[CLASS_NAME_MAX];
	char label[CLASS_NAME_MAX];
	struct ident daemon; /* of a worker; pid 0: unknown */
	struct ident host;   /* pid 0: none */
	struct ending ending;
	uint64_t at_ms;    /* boot clock */
	uint64_t lived_ms; /* UNKNOWN_U64 */
	bool counts;       /* as a crash */
};

struct event {
	enum event_kind kind;
	uint64_t wall_ms;
	uint64_t boot_ms; /* EVENT_EXIT, EVENT_CRASH_LOOP: the same moment by the boot clock */
	const struct audit *audit;          /* or NULL */
	const struct subject *subject;      /* EVENT_VERDICT of a worker or helper, or NULL */
	const struct daemon *daemon;        /* EVENT_VERDICT of a daemon, or NULL */
	const struct action_record *action; /* EVENT_ACTION, or NULL */
	struct ident host;                  /* EVENT_HOST_GONE */
	const struct exit_record *exit;     /* EVENT_EXIT, EVENT_CRASH_LOOP, or NULL */
	const struct crashes *crashes;      /* EVENT_CRASH_LOOP, or NULL */
	char text[AUDIT_TEXT_MAX];          /* for people: what was reloaded, why it stopped ... */
};

/** @return the name as JSON shows it: "start" ... */
const char *event_kind_name(enum event_kind kind);

/** @return the name as JSON shows it: "exited" ... */
const char *outcome_name(enum outcome outcome);

#endif

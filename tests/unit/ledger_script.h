/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of marker logs, and what a ledger answers about worker 4801 of host 4711 after them. Lines:
 *
 *   log NUMBER OWNER            the records that follow are of this log
 *   TIME EVENT KEY=VALUE...     a record; n=* counts as the host should, BOOT and WHO stand for the usual
 *   beats FROM TO STEP          a beat every STEP ms
 *   bad                         a line that is no record
 *   forget NUMBER               the log is gone
 *   step TIME                   the wall clock was stepped
 *   trust TIME                  a reader begins, and knows that the wall clock was stepped then
 *   doubt TIME                  a reader begins, and doubts who has not beaten since then
 *   behind UID, part            a log of that owner, some log, was not read to its end
 *   ask                         a look in between
 */
#ifndef REAPER_TESTS_LEDGER_SCRIPT_H
#define REAPER_TESTS_LEDGER_SCRIPT_H

#include <stddef.h>

#include "correlate/ledger.h"

#define SCRIPT_BOOT       "01234567-89ab-cdef-0123-456789abcdef"
#define SCRIPT_OTHER_BOOT "fedcba98-7654-3210-fedc-ba9876543210"

enum {
	SCRIPT_US = 1,    /* our pid namespace */
	SCRIPT_INNER = 7, /* that of a container */
	SCRIPT_BORN = 2000,
	SCRIPT_NOW = 1000000,
	SCRIPT_UID = 1000,
	SCRIPT_LOGS = 64,
};

/* Feeds scripts to one ledger. */
struct script {
	struct ledger *ledger; /* owned */
	struct ledger_source source;
	uint64_t since_beat[SCRIPT_LOGS]; /* records, by log */
};

/* The question that rows change. */
extern const struct ledger_question script_usual;

/** Begins with an empty ledger, all of whose logs are whole. */
struct script script_begin(void);

/** Adds one record. @return as ledger_add(). */
int script_add(struct script *s, const char *record);

/** Runs a script; every record must be taken. */
void script_run(struct script *s, const char *script, const struct ledger_question *q);

/**
 * Writes what an answer says beyond nothing at all: the state, open/bound, since, end, late, words, the proofs
 * (! for no), part, untrusted, tasks and job.
 *
 * @return a text that holds until the next call.
 */
const char *script_describe(const struct marker_facts *f);

struct script_row {
	const char *why;
	const char *script;
	const char *want;
	void (*change)(struct ledger_question *q); /* what is asked differently; NULL: nothing */
};

/** Runs each row, and asks twice: nothing is used up by asking. */
void script_check(const struct script_row *rows, size_t count);

#define HOST     "log 1 1000\n1000 host host=4711:50 WHO class=pyspark"
#define DAEMON   "log 2 1000\n1500 daemon daemon=4790:60 WHO\n"
#define OPERATOR "log 9 1000\n1000 operator uid=1000 WHO\n"
#define W        "worker=4801:80"
#define REPORTED HOST " pool=reported\n"
#define NONE     HOST " pool=none\n"
#define ALL      HOST " tasks=all pool_timeout=60000\n"
#define SERVED   "5000 begin task=17 " W "\n8000 end task=17\n"
#define SECOND   "log 3 1000\n1000 host host=4711:50 WHO class=pyspark"

/** Changes of a question, for rows. */
void ask_other_class(struct ledger_question *q);

/** The host is no longer that process. */
void ask_host_dead(struct ledger_question *q);

/** Nobody knows who the host was. */
void ask_host_unknown(struct ledger_question *q);

/** Nobody knows when a byte last moved. */
void ask_no_byte_known(struct ledger_question *q);

/** Its task socket has ports. */
void ask_ports(struct ledger_question *q);

/** All are in a container: 4711 is 1 there, 4790 is 9, 4801 is 22. */
void ask_contained(struct ledger_question *q);

#endif

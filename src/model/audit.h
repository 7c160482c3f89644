/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that one sweep found and decided: hosts, their daemons, and the processes below them.
 * What reports print and what plans are made of.
 */
#ifndef REAPER_MODEL_AUDIT_H
#define REAPER_MODEL_AUDIT_H

#include "base/macro.h"
#include "model/class.h"
#include "model/ending.h"
#include "model/evidence.h"
#include "model/facts.h"
#include "model/marker.h"
#include "model/memory.h"
#include "model/policy.h"
#include "model/snapshot.h"
#include "model/socket.h"
#include "model/verdict.h"

enum {
	AUDIT_BOOT_MAX = 37,
	AUDIT_LABEL_MAX = 64,
	AUDIT_LOG_NAME_MAX = 256,
	AUDIT_SUBJECTS_MAX = 1024 * 1024,
	AUDIT_TEXT_MAX = 192,
};

enum role {
	ROLE_OTHER,
	ROLE_HOST,
	ROLE_DAEMON,
	ROLE_WORKER,
	ROLE_SINGLE, /* of a class of singles: one program, forked by no daemon */
	ROLE_HELPER, /* any other descendant of a worker; of a single, what it forked and never exec'ed */
	ROLE_LOST_HELPER, /* its group leader was a daemon; neither a worker nor below one any more */
	ROLE_REAPER,
	ROLE_COUNT,
};

/* The threads of a host that write to its workers. */
struct writers {
	bool known;
	uint64_t *began_ms; /* owned; of each, by the boot clock */
	size_t count;
};

struct host {
	struct ident id;
	uid_t uid;
	char comm[PROC_COMM_MAX];
	char label[AUDIT_LABEL_MAX]; /* last word of its main class (SparkSubmit), or "" */
	bool alive;
	bool named;      /* by --host */
	bool unreadable; /* another user's, and nothing below it can be judged from here */
	int place;       /* its index in an audit that is cut; -1: it goes */
	uint64_t up_ms;
	struct writers writers;       /* read only where a worker of it has signed off */
	char log[AUDIT_LOG_NAME_MAX]; /* its newest marker log's file name, or "" */
	uint64_t log_age_ms;          /* since its last record; UNKNOWN_U64 */
	uint64_t beat_age_ms;         /* since its last beat; UNKNOWN_U64: none */
};

struct daemon {
	struct ident id;
	uid_t uid;
	int class_index;                /* into audit.classes */
	int host;                       /* index into audit.hosts; -1: no ancestor is a host */
	bool kept;                      /* one of its processes stays in an audit that is cut */
	int place;                      /* its index there; -1: it goes */
	uint32_t workers;               /* direct ones that live */
	uint64_t rss_bytes;             /* of its workers */
	struct evidence ev;             /* its executable, namespaces, sockets */
	uint16_t port;                  /* it listens on; 0: none found */
	char path[SOCKET_PATH_MAX + 1]; /* it listens on (unix); "" */
	uint64_t idle_ms;               /* since it last had a worker, as far as known */
	size_t crashes;                 /* for audit_crashes(): its workers', or those before it */
	struct verdict verdict;
};

/* A worker, a single, a helper or a lost helper. */
struct subject {
	struct ident id;
	enum role role;
	pid_t ppid;
	pid_t pgrp;
	uid_t uid;
	uint32_t threads;
	uint64_t rss_bytes;
	char comm[PROC_COMM_MAX];
	char label[CLASS_NAME_MAX]; /* of a single: its role in its class, or "" */
	bool orphan;                /* its daemon is dead */
	int class_index;            /* -1: unknown */
	int daemon;                 /* index into audit.daemons; -1 */
	int host;                   /* index into audit.hosts; -1 */
	int worker; /* of a helper: index of its worker or single in audit.subjects; else -1 */
	bool holds_task_socket; /* of a helper: its worker's */
	struct ident daemon_id; /* the daemon that it had, also when that is dead; pid 0: unknown */
	struct ident host_id;   /* likewise; of a single: itself */
	struct evidence ev;
	struct task_socket socket;
	struct marker_facts marks;
	struct memory *memory; /* owned; of a single that is followed, else NULL */
	struct facts facts;
	size_t crashes; /* of a single, for audit_crashes(): of its class and role */
	struct verdict verdict;
};

struct audit {
	uint64_t wall_ms; /* unix time of the look */
	uint64_t boot_ms; /* boot clock of the look */
	char boot_id[AUDIT_BOOT_MAX];
	bool dry_run;
	uint64_t sampled_ms;      /* between its two looks; 0: one look */
	struct snapshot snapshot; /* owned */
	struct host *hosts;       /* owned; by pid */
	size_t host_count;
	struct daemon *daemons; /* owned; by pid */
	size_t daemon_count;
	struct subject *subjects; /* owned; by daemon, then pid; helpers behind their worker */
	size_t subject_count;
	struct crashes *crashes; /* owned; what watch has seen end */
	size_t crash_count;
	size_t crash_room;
	uint32_t hidden_trees;           /* hosts of other users that could not be read */
	uint32_t bad_records;            /* marker records that were skipped */
	char bad_record[AUDIT_TEXT_MAX]; /* "file:line: what", the first of them */
	struct classes classes;          /* last: half a megabyte, of which little is used */
};

struct audit_summary {
	uint32_t workers, singles;
	uint32_t keep, suspect, reap; /* suspects: daemons and lost helpers too */
	uint64_t reclaimable_bytes;   /* of those due: Pss, or where unknown anon */
	uint64_t reclaimable_rss_bytes;
};

/** Counts workers and verdicts. */
struct audit_summary audit_summarise(const struct audit *a);

/** @return the worker, single, helper or lost helper with that pid, or NULL. */
struct subject *audit_find(const struct audit *a, pid_t pid);

/** @return true for those that are judged by themselves, and can be ended: workers and singles. */
bool role_is_judged(enum role role);

/**
 * Keeps what a group's ends add up to.
 *
 * @return the value by which audit_crashes() finds it; 0: no memory.
 */
size_t audit_add_crashes(struct audit *a, const struct crashes *c) _must_check_;

/** @return what was kept, owned by the audit, valid until the next is added; NULL for 0 and for no audit. */
const struct crashes *audit_crashes(const struct audit *a, size_t which);

/** @return the role's name as explain --json shows it. */
const char *role_name(enum role role);

/** Frees what a subject holds. */
void subject_done(struct subject *s);

/** Frees what the audit holds and makes it empty. */
void audit_done(struct audit *a);

#endif

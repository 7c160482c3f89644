/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a decision may know about one worker: flat, plain, and written to the audit log as it is,
 * so that every decision can be made again from its record.
 */
#ifndef REAPER_MODEL_FACTS_H
#define REAPER_MODEL_FACTS_H

#include <stddef.h>

#include "model/ident.h"
#include "model/marker.h"
#include "model/socket.h"
#include "model/tri.h"
#include "model/verdict.h"

/* What the main thread waits in; names are those of "blocked_in". */
enum wait_kind {
	WAIT_UNKNOWN, /* not readable, not in a call, or a call that is no known wait */
	WAIT_POLL,
	WAIT_PPOLL,
	WAIT_EPOLL,
	WAIT_SELECT,
	WAIT_FUTEX,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_RECV,
	WAIT_SEND,
	WAIT_ACCEPT,
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_FLOCK,
	WAIT_RESTART, /* restart_syscall: one of the above, continued */
	WAIT_KIND_COUNT,
};

struct facts {
	struct ident id;
	uint32_t uid;
	bool single;   /* one program, that writes its own log as the host of itself */
	bool may_kill; /* its class says that a proof may end it; asked of singles only */

	/* identity and state: true objects */
	bool vanished;
	bool is_self;
	bool is_ancestor; /* pid 1, a kernel thread, a host, a daemon, an ancestor of reaper or of a worker */
	bool is_protected;
	bool foreign_uid;
	bool other_pidns;
	bool changed; /* executable, uid, namespaces or PF_FORKNOEXEC differ from before */
	bool traced;
	bool dumping;
	bool stopped;
	bool uninterruptible;
	bool unreadable; /* a piece of evidence that a kill needs was denied or torn */

	/* what it does */
	enum tri asleep; /* every thread */
	enum wait_kind wait;
	enum tri wait_forever; /* its wait has no timeout */
	enum tri progress; /* between the looks: main thread, bytes, or more CPU than idle_cpu */
	uint64_t age_ms;
	uint64_t blocked_ms; /* main thread, loops of one same wait counted as one */
	uint64_t silent_ms;  /* since the last sign of life: a byte or, where unknown, a run */
	uint32_t cpu_ppm;    /* of one core; UINT32_MAX: one look only */

	/* its task socket */
	enum socket_state socket;
	enum transport transport;
	enum tri host_held;
	bool closing;
	bool in_signoff_call; /* recvfrom(fd, ., 1024, 0) on the task socket, held by one descriptor */
	uint64_t recv_queue;
	uint64_t send_queue;
	uint64_t host_recv_queue;
	enum tri host_writes; /* may a thread of its host? asked of what has signed off */
	uint64_t hangup_ms;

	enum tri host_gone; /* the JVM that started its daemon has exited */

	/* how long ago each fence was first seen by this reaper; UNKNOWN_U64: just now */
	uint64_t seen_ms[FENCE_COUNT];

	/* markers; ages against the wall clock, UNKNOWN_U64 where there is none or none can be trusted */
	bool host_log;
	bool logs_whole;
	uint32_t tasks_bound;
	uint32_t tasks_open;
	bool pooled;
	bool leased;
	bool retired;
	bool retired_by_operator;
	uint64_t retired_age_ms; /* of the host's word, or the operator's if there is no other */
	enum tri late_byte;
	enum tri unpooled[UNPOOLED_COUNT];
	uint64_t ended_age_ms; /* since all tasks ended and the first proof of `unpooled` stood */
	uint64_t last_end_age_ms; /* since the last bound task ended */

	/* where its memory goes; of singles only */
	enum tri growing;
	uint64_t until_limit_ms; /* until it runs into a limit at this rate; UNKNOWN_U64 */

	/* how it would be ended */
	bool term_default; /* SIGTERM is neither caught, ignored nor blocked */
};

enum facts_type {
	FACTS_BOOL,
	FACTS_TRI,
	FACTS_U32,
	FACTS_U64,
	FACTS_PID,
	FACTS_ENUM, /* an int-sized enum; written as its number */
};

/* One member of struct facts (or struct policy), for writing it down and reading it back. */
struct facts_field {
	const char *name;
	enum facts_type type;
	size_t offset;
	size_t count; /* elements; 1 for a plain member */
};

extern const struct facts_field facts_fields[];
extern const size_t facts_field_count;
extern const struct facts_field policy_fields[];
extern const size_t policy_field_count;

/** @return the name of a wait for "blocked_in", or NULL for WAIT_UNKNOWN. */
const char *wait_kind_name(enum wait_kind wait);

#endif

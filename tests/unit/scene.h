/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host, its daemon and one worker, looked at for the second time: nothing is odd, the worker has
 * been in the same read for a minute, and its last byte came 20 s ago. Rows change what differs.
 */
#ifndef REAPER_TESTS_SCENE_H
#define REAPER_TESTS_SCENE_H

#include <criterion/criterion.h>
#include <string.h>

#include "build.h"
#include "change.h"
#include "correlate/correlate.h"

/* Of struct evidence, of struct history_entry, of struct task_socket, of struct marker_facts. */
#define E(member, new_value) CHANGE(evidence, member, new_value)
#define B(member, new_value) CHANGE(history_entry, member, new_value)
#define T(member, new_value) CHANGE(task_socket, member, new_value)
#define M(member, new_value) CHANGE(marker_facts, member, new_value)

enum {
	SCENE_REAPER = 9000,
	SCENE_HOST = 4711,
	SCENE_DAEMON = 4790,
	SCENE_WORKER = 4801,
	SCENE_NOW = 9000000, /* boot clock of the second look */
	SCENE_APART = 10 * BUILD_SECOND,
	SCENE_STILL = 60 * BUILD_SECOND,
};

struct scene {
	struct audit audit;
	struct policy policy;
	struct tree_input tree;
	struct history_entry before;
	struct subject *worker;
};

static inline struct proc *scene_proc(struct audit *a, pid_t pid, pid_t ppid, const char *comm)
{
	struct proc *p = snapshot_add(&a->snapshot);

	cr_assert_not_null(p);
	p->id = (struct ident){ pid, 8812345 + (uint64_t)pid };
	p->ppid = ppid;
	p->pgrp = pid;
	p->threads = 1;
	p->state = 'S';
	memcpy(p->comm, comm, strlen(comm) + 1);
	return p;
}

/* As correlate_remember() leaves it. */
static inline struct history_entry scene_before(const struct subject *s)
{
	const struct evidence *e = &s->ev;
	struct history_entry b = {
		.id = s->id,
		.wait_known = true,
		.nr = e->main.nr,
		.sp = e->main.sp,
		.pc = e->main.pc,
		.wait_ms = SCENE_NOW - SCENE_STILL,
		.still_ms = SCENE_NOW - SCENE_STILL,
		.looks = 5,
		.before_known = true,
		.before_ms = SCENE_NOW - SCENE_APART,
		.main_cpu_ns = e->main_cpu_ns,
		.main_switches = e->main_switches,
		.cpu_ns = e->cpu_ns,
		.exe = e->exe,
		.uid = e->uids[1],
		.pid_ns = e->pid_ns,
		.net_ns = e->net_ns,
	};

	for (size_t i = 0; i < FENCE_COUNT; i++)
		b.fence_ms[i] = UNKNOWN_U64;
	return b;
}

/** Makes the scene; scene_done() frees it. */
static inline void scene_make(struct scene *s)
{
	*s = (struct scene){ .audit = build_audit(), .policy = build_policy() };
	scene_proc(&s->audit, 1, 0, "init");
	scene_proc(&s->audit, SCENE_HOST, 1, "java");
	scene_proc(&s->audit, SCENE_DAEMON, SCENE_HOST, "python3");
	scene_proc(&s->audit, SCENE_WORKER, SCENE_DAEMON, "python3")->flags = PROC_FORKNOEXEC;
	scene_proc(&s->audit, SCENE_REAPER, 1, "reaper");
	build_host(&s->audit, SCENE_HOST);
	build_daemon(&s->audit, 0, SCENE_DAEMON);
	s->worker = build_worker(&s->audit, 0, SCENE_WORKER);
	s->worker->ev.taken_ms = SCENE_NOW;
	s->worker->socket.read_ms = SCENE_NOW;
	s->worker->ev.others_blocked_ms = s->worker->ev.blocked_ms;
	s->before = scene_before(s->worker);
}

/** Makes the worker an orphan. */
static inline void scene_orphan(struct scene *s)
{
	s->worker->daemon = -1;
	s->worker->host = -1;
	s->worker->orphan = true;
}

/** Fills in the worker's facts. @param first_look whether nothing was seen before. */
static inline const struct facts *scene_facts(struct scene *s, bool first_look)
{
	const struct correlate_input in = {
		.policy = &s->policy,
		.audit = &s->audit,
		.tree = &s->tree,
		.before = first_look ? NULL : &s->before,
		.self = SCENE_REAPER,
	};

	correlate_facts(&in, s->worker);
	return &s->worker->facts;
}

static inline void scene_done(struct scene *s)
{
	audit_done(&s->audit);
}

/** Compares member by member. @return the name of the first that differs, or NULL. */
static inline const char *facts_differ(const struct facts *a, const struct facts *b)
{
	static const size_t sizes[] = {
		[FACTS_BOOL] = sizeof(bool),    [FACTS_TRI] = sizeof(enum tri),
		[FACTS_U32] = sizeof(uint32_t), [FACTS_U64] = sizeof(uint64_t),
		[FACTS_PID] = sizeof(pid_t),    [FACTS_ENUM] = sizeof(int),
	};

	for (size_t i = 0; i < facts_field_count; i++) {
		const struct facts_field *field = &facts_fields[i];

		if (memcmp((const char *)a + field->offset, (const char *)b + field->offset,
			   sizes[field->type] * field->count) != 0)
			return field->name;
	}
	return NULL;
}

#endif

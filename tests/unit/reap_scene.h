/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living processes that are to be ended, without the looks that found them.
 */
#ifndef REAPER_TESTS_REAP_SCENE_H
#define REAPER_TESTS_REAP_SCENE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include "app/reap.h"
#include "base/clock.h"
#include "base/pin.h"
#include "build.h"
#include "live.h"
#include "model/grow.h"
#include "observe/evidence.h"

enum {
	TOLD_MAX = 64,
	MANY = 40,
	SOON_MS = 200,
	LONG_MS = 60 * 1000,
};

struct scene {
	struct look look;
	struct config config;
	struct reap reap;
	struct action_record told[TOLD_MAX];
	size_t told_count;
};

static inline void tell(void *arg, const struct action_record *record)
{
	struct scene *s = arg;

	cr_assert_lt(s->told_count, TOLD_MAX);
	s->told[s->told_count++] = *record;
}

static inline void scene_make(struct scene *s)
{
	*s = (struct scene){
		.config = { .term_grace_ms = LONG_MS, .kill_grace_ms = LONG_MS },
		.reap = { .look = &s->look, .config = &s->config, .sink = tell, .arg = s },
	};
	s->reap.settled = true; /* no list of the tree: all are here */
	s->reap.second = build_audit();
	s->reap.second_taken = true;
}

static inline void scene_done(struct scene *s)
{
	reap_done(&s->reap);
	history_done(&s->look.history);
}

/* What justified the signals. */
static inline void add_to_second_look(struct scene *s, pid_t pid, int dirfd)
{
	struct subject *seen = build_worker(&s->reap.second, -1, pid);

	evidence_done(&seen->ev);
	cr_assert_eq(evidence_look(dirfd, pid, 0, NULL, &seen->ev), 0);
}

/* Adds a process; a helper belongs to the first, a worker. */
static inline struct victim *add(struct scene *s, pid_t pid, enum role role)
{
	struct reap *r = &s->reap;
	struct victim *more = grow(r->victims, r->count, &r->room, sizeof(*more), TOLD_MAX);

	cr_assert_not_null(more);
	r->victims = more;
	cr_assert_eq(act_pin((struct ident){ .pid = pid }, role, &more[r->count]), 0);
	more[r->count].worker = 0;
	if (role == ROLE_WORKER)
		add_to_second_look(s, pid, more[r->count].dirfd);
	return &more[r->count++];
}

static inline const struct action_record *told_of(const struct scene *s, pid_t pid)
{
	const struct action_record *found = NULL;

	for (size_t i = 0; i < s->told_count; i++)
		if (s->told[i].id.pid == pid) {
			cr_expect_null(found, "%d is told of twice", pid);
			found = &s->told[i];
		}
	return found;
}

/* How a process' story ended; -1: nothing was told of it. */
static inline int outcome_of(const struct scene *s, pid_t pid)
{
	const struct action_record *told = told_of(s, pid);

	return told ? (int)told->outcome : -1;
}

static inline void await_end(const struct victim *v)
{
	cr_assert_eq(pin_wait(v->pidfd, LIVE_WAIT_MS), 1);
}

/* Leaves room for that many descriptors. @return what was allowed before. */
static inline struct rlimit allow_descriptors(rlim_t more)
{
	struct rlimit before, few;
	int end = 0, next;

	for (int fd = 0; fd < FD_SETSIZE; fd++)
		end = fcntl(fd, F_GETFD) < 0 ? end : fd + 1;
	/* No number below the last one that is in use is left free. */
	do
		next = dup(0);
	while (next >= 0 && next < end);
	cr_assert_geq(next, 0);
	(void)close(next);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)next + more;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	return before;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What watch learns between its looks: how the workers, daemons and singles that the last look saw
 * have ended, at the moment when they do. Each is held by a pidfd, in one epoll set: the set stays in
 * the kernel, so a wait costs what has happened and not, as with poll(2), what is watched.
 */
#ifndef REAPER_APP_WATCH_EXITS_H
#define REAPER_APP_WATCH_EXITS_H

#include "app/look.h"
#include "app/reap.h"
#include "model/event.h"

enum {
	WATCH_EXITS_MAX = 16384, /* pidfds at most; and never more than half of all descriptors */
	WATCH_EXITS_LINES = 32,  /* ends that are told one by one between two looks */
};

/* Takes an event without its time, and gives it one. */
typedef void (*watch_exits_sink)(void *arg, struct event *e);

struct watch_exits {
	struct look *look; /* borrowed; its exits are filled */
	watch_exits_sink sink;
	void *arg;
	bool verbose;            /* tell of every end that is not as it should be */
	int epoll;               /* readable when one of them has ended; -1: not open */
	struct watched *members; /* owned; sorted by identity */
	size_t count;
	size_t room;
	size_t pinned; /* of these have a pidfd */
	size_t most;   /* may have one */
	size_t left_out;
	int left_out_why; /* negative errno */
	bool said_left_out;
	size_t lines; /* told since the last look */
	size_t untold;
	uint64_t read_ms;      /* boot clock: who has not been reported lived then */
	uint64_t census_ms;    /* when to look for who came after one that ended; UNKNOWN_U64 */
	uint64_t census_in_ms; /* how long that was put off */
};

/** Opens the set. @return 0; negative errno. watch_exits_close() closes it, whatever the result. */
int watch_exits_open(struct look *look, watch_exits_sink sink, void *arg, bool verbose,
		     struct watch_exits *ret) _must_check_;

/**
 * Notes and tells who has ended.
 *
 * @param reap	what is being ended by this program: that is no crash.
 */
void watch_exits_read(struct watch_exits *w, const struct reap *reap);

/**
 * Takes over whom a look has seen: who is new is held, and who came after one that ended is noted.
 *
 * @param reap	as for watch_exits_read(), which this calls first.
 * @return 0; -ENOMEM.
 */
int watch_exits_update(struct watch_exits *w, const struct audit *a, const struct reap *reap)
	_must_check_;

/**
 * Takes a census, and no look, so that what crashes more often than sweeps come is not lost from sight.
 * To be called once watch_exits_census_ms() has come.
 *
 * @return 0; negative errno of the census.
 */
int watch_exits_census(struct watch_exits *w, const struct reap *reap) _must_check_;

/** @return the boot clock's time of the next census; UNKNOWN_U64: none is needed. */
uint64_t watch_exits_census_ms(const struct watch_exits *w);

/** Closes everything. */
void watch_exits_close(struct watch_exits *w);

#endif

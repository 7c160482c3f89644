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

/* One that is watched. */
struct watched {
	struct ident id;
	struct exits_key key;
	struct exits_origin origin; /* of singles */
	struct ident daemon, host;
	int pidfd;         /* -1: it is not held */
	uint64_t alive_ms; /* boot clock; it lived then: when it was held, or else last seen */
	uint64_t died_ms;  /* 0: it lives */
	bool ours;         /* this program ended it */
	bool placed;       /* a single: whom it came after is noted */
	bool seen;         /* by the last look */
	bool over; /* to be forgotten; kept so long, for a look that began before it ended */
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
 * Finds one that is watched.
 *
 * @param count	of the members, so many are sorted and asked: w->count, or less while some are added.
 * @return it, valid until members are added; NULL: it is not watched.
 */
struct watched *watch_exits_find(const struct watch_exits *w, size_t count, struct ident id);

/** Puts members in the order in which watch_exits_find() looks for them. */
void watch_exits_sort(struct watch_exits *w);

/** Notes and tells that a member has ended, and how, and forgets it. */
void watch_exits_conclude(struct watch_exits *w, struct watched *m, struct ending ending);

/** Holds a member no longer: it is over, and to be dropped. */
void watch_exits_release(struct watch_exits *w, struct watched *m);

/** Tells of the crash loop of a member's group, if it is one and that was not told yet. */
void watch_exits_tell_loop(struct watch_exits *w, const struct watched *m);

/** Closes everything. */
void watch_exits_close(struct watch_exits *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending workers: pin, look again, write the intents, signal, see them gone. The conductor of act/: it never
 * waits by itself, but for the short pause before the second look.
 */
#ifndef REAPER_APP_REAP_H
#define REAPER_APP_REAP_H

#include "act/act.h"
#include "app/look.h"
#include "decide/plan.h"
#include "report/audit_log.h"

enum {
	REAP_HELPERS_MAX = 64, /* of one worker */
	REAP_ROUNDS_MAX = 8,   /* lists of the tree after the signals */
};

/* Told of every process whose story has ended (or that proved unkillable). */
typedef void (*reap_sink)(void *arg, const struct action_record *record);

/* What has to go well before the first signal. */
enum reap_need {
	REAP_LOOK,    /* the second look */
	REAP_INTENTS, /* in the audit log */
	REAP_COUNT,   /* of kills, in state_dir */
};

struct reap {
	struct look *look;           /* borrowed */
	const struct config *config; /* borrowed */
	struct audit_log *log;       /* borrowed */
	reap_sink sink;
	void *arg;
	struct victim *victims; /* owned; a worker, then its helpers */
	size_t count;
	size_t room;
	struct audit second; /* owned: the look that justified the signals */
	bool second_taken;
	enum reap_need need; /* the one that failed, where reap_begin() did */
	unsigned rounds;     /* lists of the tree that were taken after the signals */
	bool settled;        /* the last one showed nothing new */
	int error;           /* the first error that held something back; 0 */
};

/**
 * Pins what a plan lists, looks again, writes the intents and the count of kills, and sends the first
 * signals. Workers that the
 * plan holds back are reported as held.
 *
 * @param r	its first five members are set.
 * @param first	the look that the plan was made of.
 * @return 0; negative errno: nothing was signalled, and r->need says what failed.
 */
int reap_begin(struct reap *r, const struct audit *first, const struct plan *plan) _must_check_;

/**
 * Goes on as far as it can without waiting.
 *
 * @param now_ms	boot clock.
 * @return true: something still has to end; call again when the pidfd of a victim for which
 *         reap_waits_for() holds is readable, or at reap_deadline_ms().
 */
bool reap_step(struct reap *r, uint64_t now_ms);

/** @return the boot clock's time at which to call reap_step() at the latest; UNKNOWN_U64: none. */
uint64_t reap_deadline_ms(const struct reap *r);

/** @return true if its pidfd has to be polled: it is signalled, or will be, and is not gone. */
bool reap_waits_for(const struct victim *v);

/** Breaks off: what is still alive is reported as held, nothing more is signalled. */
void reap_stop(struct reap *r, const char *why);

/** Releases everything. */
void reap_done(struct reap *r);

#endif

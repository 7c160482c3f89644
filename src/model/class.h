/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a process a daemon: the [class NAME] sections. A class describes daemons and nothing
 * else; it can turn no guard off.
 */
#ifndef REAPER_MODEL_CLASS_H
#define REAPER_MODEL_CLASS_H

#include "model/proc.h"

enum {
	CLASS_COUNT_MAX = 16,
	CLASS_NAME_MAX = 32,
	CLASS_WORDS_MAX = 8,   /* elements of one alternative */
	CLASS_CHOICES_MAX = 8, /* alternatives separated by '|' */
	CLASS_WORD_MAX = 96,
};

/* Alternatives of consecutive argv elements; count 0: none. */
struct words {
	size_t count;
	char word[CLASS_WORDS_MAX][CLASS_WORD_MAX];
};

struct choices {
	size_t count;
	struct words choice[CLASS_CHOICES_MAX];
};

struct worker_class {
	char name[CLASS_NAME_MAX];
	struct choices daemon_args;  /* consecutive elements that make a process the daemon */
	struct choices host_comm;    /* one word each */
	struct choices exclude_args; /* one word each: an argument that begins so */
	uint64_t pool_timeout_ms;    /* UNKNOWN_U64: only the host record can say */
};

struct classes {
	size_t count;
	struct worker_class class[CLASS_COUNT_MAX]; /* in file order: the first match wins */
};

/**
 * Tells whether an argv makes its process a daemon of this class: one alternative stands in it, and
 * everything between argv[0] and the match begins with '-' or follows -X or -W (python(1)), and no
 * argument begins with one of exclude_args.
 *
 * @param p	a process whose argv was read; without argv the answer is false.
 * @return true if it is a daemon of this class.
 */
bool class_matches_argv(const struct worker_class *c, const struct proc *p);

/**
 * Tells whether a command name is a host's of this class.
 *
 * @return true if comm equals one of host_comm.
 */
bool class_matches_host(const struct worker_class *c, const char *comm);

#endif

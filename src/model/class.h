/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a process a daemon, or one that stands alone: the [class NAME] sections. A class can turn
 * no guard off.
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

enum class_kind {
	CLASS_OF_DAEMONS, /* a host starts a daemon, the daemon forks workers */
	CLASS_OF_SINGLES, /* one program, forked by no daemon */
	CLASS_KIND_COUNT,
};

struct worker_class {
	char name[CLASS_NAME_MAX];
	enum class_kind kind;
	struct choices daemon_args;  /* consecutive elements that make a process the daemon */
	struct choices host_comm;    /* one word each */
	struct choices exclude_args; /* one word each: an argument that begins so */
	uint64_t pool_timeout_ms;    /* UNKNOWN_U64: only the host record can say */
	struct choices args;         /* of singles: consecutive elements that make one */
	struct choices role_args;    /* of singles, one word each: what follows it is its role */
	bool may_kill;               /* of singles: a proof may end one */
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
 * Tells whether an argv makes its process a single of this class: one alternative stands in it, and
 * everything between its begin and the match begins with '-' or follows -X or -W, and no argument begins
 * with one of exclude_args. The program's own name (argv[0]) may be a part of the match, and a word
 * without a '/' also stands for the last part of a path.
 *
 * @param p	a process whose argv was read; without argv the answer is false.
 * @return true if it is a single of this class.
 */
bool class_matches_single(const struct worker_class *c, const struct proc *p);

/**
 * Finds the role that a single has in its class: what follows one of role_args, in the same argument
 * (`--job_name=ps`) or in the next one (`--job_name ps`).
 *
 * @return its beginning, in p's argv; NULL: no argument says.
 */
const char *class_role_of(const struct worker_class *c, const struct proc *p);

/** @return "daemon" or "single". */
const char *class_kind_name(enum class_kind kind);

/**
 * Tells whether a command name is a host's of this class.
 *
 * @return true if comm equals one of host_comm.
 */
bool class_matches_host(const struct worker_class *c, const char *comm);

#endif

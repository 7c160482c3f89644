/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those among whom numbers are given away, in a pid namespace of their own: a JVM by its name, its
 * daemon, which forks workers, and strangers who get the number of one of them. They share a page
 * in which each says that it is there, and how it ended.
 */
#ifndef REAPER_TESTS_PEOPLE_H
#define REAPER_TESTS_PEOPLE_H

#include <stdbool.h>
#include <sys/types.h>

enum number {
	NUMBER_VICTIM = 4000, /* of the plain trials */
	NUMBER_HOST = 5000,
	NUMBER_DAEMON,
	NUMBER_LEAK, /* a worker whose connection its host has closed */
	NUMBER_POOLED,
	NUMBER_HELPER, /* the leak's child */
	NUMBER_CHILD,  /* of a stranger who has the daemon's number */
};

/* Who gets a number, beside workers. */
enum person_kind {
	PERSON_SLEEPER, /* has nothing to do with anybody */
	PERSON_JAVA,    /* the same, with the JVM's name */
	PERSON_PARENT,  /* the same, with a child that has a worker's closed connection */
};

struct person {
	pid_t pid; /* 0: nobody */
	int pidfd;
	unsigned char place; /* on the page */
};

/** Says why, and ends this program. */
__attribute__((noreturn)) void give_up(const char *what);

/**
 * A child with that number, which waits for ever where this returns in it.
 *
 * @return 0 in the child; its number; -1: errno.
 */
pid_t born(pid_t number, int *ret_pidfd);

/** Ends a child by a signal, if nobody else did, and waits for it; the signal that did end it. */
int ended_by(int *pidfd, int sig);

/** Makes the page, a loopback device, and the port on which daemons listen. */
void people_open(void);

/** What a daemon does: main() of this program, called as a daemon is. */
__attribute__((noreturn)) void people_daemon(void);

/** A JVM and its daemon. */
void people_start_tree(struct person *ret_host, struct person *ret_daemon);

/* A worker that a daemon is asked for. */
struct order {
	pid_t number;
	pid_t helper;   /* its child's number; 0: it has none */
	bool twin;      /* it gets the same connection as the one before it */
	bool own_group; /* it leaves its daemon's, which keeps the daemon's number from others */
	bool stubborn;  /* it ignores SIGTERM */
	unsigned char place, helper_place;
};

/** The daemon forks a worker. @return the host's end of its connection; -1 for a twin. */
int people_fork(struct order order, struct person *ret, struct person *ret_helper);

/** A child of ours. @param ret_child	of PERSON_PARENT. */
void people_meet(enum person_kind kind, pid_t number, struct person *ret, struct person *ret_child);

/** Waits until somebody sleeps. */
void people_settle(const struct person *p);

/** Ends somebody at once and waits until the number is free. */
void people_kill(struct person *p);

/** @return true if it has ended. */
bool person_is_gone(const struct person *p);

/** Asks somebody to leave. @return false: a signal had ended it before. */
bool people_dismiss(struct person *p);

#endif

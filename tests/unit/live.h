/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a test starts to look at. Each dies with the test, however that ends.
 */
#ifndef REAPER_TESTS_LIVE_H
#define REAPER_TESTS_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	LIVE_WAIT_MS = 20000
};

struct proc;

/* What a child does. It calls live_ready() once it is what the test wants, and never returns. */
typedef void (*live_body)(void *arg);

/**
 * Forks a child and waits until it is ready; the test fails if that takes too long.
 *
 * @return its pid; live_end() ends it.
 */
pid_t live_start(live_body body, void *arg);

/** Says in a child that it is ready. After setresuid(2) it must call live_die_with_parent() too. */
void live_ready(void);

/** Makes the kernel end this child when the test ends. */
void live_die_with_parent(void);

/** Waits until /proc/<pid>/stat shows a state; the test fails if that takes too long. */
void live_await_state(pid_t pid, char state);

/** Waits until a child has so many threads, the main one among them, and each sleeps. */
void live_await_threads(pid_t pid, unsigned count);

/** As processes_read_argv(), again while the thread that reads it was held up. */
int live_read_argv(struct proc *p);

/** Ends a child by SIGKILL and reaps it. */
void live_end(pid_t pid);

/** @return milliseconds by the monotonic clock. */
uint64_t live_now_ms(void);

/**
 * Gives the time that interrupts and other virtual machines took from all CPUs since boot, which the
 * scheduler's clocks leave out.
 *
 * @return milliseconds, to 10 ms for each CPU.
 */
uint64_t live_stolen_ms(void);

/** Sleeps, whatever signals come. */
void live_sleep_ms(uint64_t ms);

/** Ends the child with status 77 when a call that it needs is not allowed here. */
void live_need(bool allowed);

/**
 * Waits for a child that checks something by itself.
 *
 * @return its exit status; the test is skipped when that is 77.
 */
int live_wait(pid_t pid);

/** Sleeps for ever: the usual body. Calls live_ready() itself. */
void live_pause(void *arg);

#endif

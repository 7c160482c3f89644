/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line.
 */
#ifndef REAPER_APP_CLI_H
#define REAPER_APP_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macro.h"

enum {
	CLI_HOSTS_MAX = 64,
	CLI_SETS_MAX = 128,
};

enum command {
	COMMAND_NONE,
	COMMAND_AUDIT,
	COMMAND_SWEEP,
	COMMAND_WATCH,
	COMMAND_EXPLAIN,
	COMMAND_RETIRE,
	COMMAND_DOCTOR,
	COMMAND_CHECK_CONFIG,
	COMMAND_COUNT,
};

/* Exit statuses; of several the first in the order 2, 4, 3, 1, 0 counts. */
enum {
	EXIT_CLEAN = 0,  /* nothing is left leaking */
	EXIT_LEAK = 1,   /* a leak remains */
	EXIT_USAGE = 2,  /* usage or configuration error, nothing was done */
	EXIT_BLIND = 3,  /* the run could not see or act as asked */
	EXIT_LOCKED = 4, /* another reaper holds the lock */
};

struct options {
	enum command command;
	const char *config_path; /* NULL: the default */
	bool dry_run;
	bool json;
	bool quiet;
	bool verbose;
	pid_t pid; /* of explain and retire */
	pid_t hosts[CLI_HOSTS_MAX];
	size_t host_count;
	const char *sets[CLI_SETS_MAX]; /* point into argv */
	size_t set_count;
};

/**
 * Reads argv. Options may stand before or after the command. --help and --version print to stdout.
 *
 * @return -1: run *ret; else the exit status with which to leave (the reason is printed).
 */
int cli_parse(int argc, char **argv, struct options *ret) _must_check_;

/** @return the worse of two exit statuses, in the order 2, 4, 3, 1, 0. */
int cli_worse(int a, int b);

#endif

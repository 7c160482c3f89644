/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What explain, doctor and check-config show beside the audit.
 */
#ifndef REAPER_MODEL_EXPLANATION_H
#define REAPER_MODEL_EXPLANATION_H

#include "model/audit.h"

enum {
	CHECK_TEXT_MAX = 512,
	CHECK_FIX_MAX = 1536,
	CHECKS_MAX = 64,
	SETTING_VALUE_MAX = 512,
};

/* Every proof and guard for one process. */
struct explanation {
	pid_t pid;
	enum role role;
	const struct audit *audit;          /* cut to that process' host */
	const struct subject *subject;      /* workers, helpers, lost helpers; else NULL */
	const struct daemon *daemon;        /* daemons; else NULL */
	const struct host *host;            /* hosts; else NULL */
	enum tri proof[FENCE_COUNT];        /* does each fence hold? [FENCE_NONE] is not used */
	uint64_t proof_age_ms[FENCE_COUNT]; /* UNKNOWN_U64 */
	bool guard[REASON_COUNT]; /* does each guard object? Only guards' reasons are used */
	char why[AUDIT_TEXT_MAX]; /* for other roles: what it is, and why it is let alone */
};

enum check_status {
	CHECK_OK,
	CHECK_ADVICE,
	CHECK_BAD,
	CHECK_STATUS_COUNT,
};

struct check {
	const char *name; /* a word: "privileges", "kernel" ... */
	enum check_status status;
	char found[CHECK_TEXT_MAX];
	char fix[CHECK_FIX_MAX]; /* "" where there is nothing to do; lines to copy begin with blanks */
};

struct checks {
	size_t count;
	struct check check[CHECKS_MAX];
};

/* One line of check-config. */
struct setting {
	const char *section;
	const char *key;
	char value[SETTING_VALUE_MAX];
	char origin[SETTING_VALUE_MAX]; /* "default", "FILE:LINE" or "command line" */
};

/** @return "ok", "advice" or "bad". */
const char *check_status_name(enum check_status status);

/** @return true if the reason is a guard's: it can object to a verdict. */
bool reason_is_guard(enum reason reason);

#endif

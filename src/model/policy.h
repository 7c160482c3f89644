/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knobs that a decision may read ([policy]), and the rules of [protect]. Times are milliseconds.
 */
#ifndef REAPER_MODEL_POLICY_H
#define REAPER_MODEL_POLICY_H

#include "model/class.h"
#include "model/tri.h"
#include "model/verdict.h"

enum {
	PROTECT_RULES_MAX = 64,
	PROTECT_VALUE_MAX = 192,
};

struct policy {
	uint64_t timeout_ms;
	uint64_t silent_after_ms;
	uint64_t assume_leaked_after_ms; /* UNKNOWN_U64: never */
	uint64_t min_age_ms;
	uint64_t growing_within_ms;
	uint32_t idle_cpu_ppm; /* of one core */
	uint32_t fences;       /* bit n: enum fence n may kill */
	bool helpers;
};

struct limits {
	uint32_t per_sweep;
	uint32_t per_hour;
};

enum protect_kind {
	PROTECT_USER,
	PROTECT_COMM,
	PROTECT_ARGS,
	PROTECT_CGROUP,
};

struct protect_rule {
	enum protect_kind kind;
	uid_t uid; /* PROTECT_USER */
	char value[PROTECT_VALUE_MAX];
};

struct protect {
	size_t count;
	bool wants_args;   /* a rule asks for argv */
	bool wants_cgroup; /* a rule asks for the cgroup */
	struct protect_rule rule[PROTECT_RULES_MAX];
};

/**
 * Finds the first rule that names a process.
 *
 * @param p		the process; its argv is asked by `args` rules, where it was read.
 * @param cgroup	its cgroup path, or NULL: no cgroup rule matches.
 * @return the rule, owned by the list, or NULL.
 */
const struct protect_rule *protect_match(const struct protect *rules, const struct proc *p,
					 const char *cgroup);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <string.h>

static bool args_match(const struct proc *p, const char *prefix)
{
	for (const char *at = proc_argv_next(p, NULL); at; at = proc_argv_next(p, at))
		if (strncmp(at, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static bool rule_matches(const struct protect_rule *r, const struct proc *p, const char *cgroup)
{
	switch (r->kind) {
	case PROTECT_USER:
		return p->uid == r->uid;
	case PROTECT_COMM:
		return strcmp(p->comm, r->value) == 0;
	case PROTECT_ARGS:
		return args_match(p, r->value);
	case PROTECT_CGROUP:
		return cgroup && strncmp(cgroup, r->value, strlen(r->value)) == 0;
	}
	return true; /* a rule that is not understood keeps */
}

const struct protect_rule *protect_match(const struct protect *rules, const struct proc *p,
					 const char *cgroup)
{
	for (size_t i = 0; i < rules->count; i++)
		if (rule_matches(&rules->rule[i], p, cgroup))
			return &rules->rule[i];
	return NULL;
}

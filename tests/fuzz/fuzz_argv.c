/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a process' argv: what makes it a daemon, or a program that stands alone, must be in it, as
 * whole elements, and before any element that is no option.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/class.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct worker_class daemons = {
	.name = "pyspark",
	.daemon_args = { 2,
			 { { 2, { "-m", "pyspark.daemon" } }, { 2, { "-m", "reaper_pyspark" } } } },
	.exclude_args = { 1, { { 1, { "pyspark.sql.worker" } } } },
};

static const struct worker_class singles = {
	.name = "trainer",
	.kind = CLASS_OF_SINGLES,
	.args = { 1, { { 2, { "train.py", "--ps" } } } },
	.role_args = { 1, { { 1, { "--job_name" } } } },
};

static void must(bool kept)
{
	if (!kept)
		abort();
}

/* A program is also known by the last part of its path. */
static bool is_or_ends_in(const char *element, const char *word)
{
	const char *slash = strrchr(element, '/');

	return strcmp(element, word) == 0 || (slash && strcmp(slash + 1, word) == 0);
}

/* Said again in other words. */
static bool has_elements(const struct proc *p, const char *first, const char *second)
{
	for (const char *at = proc_argv_next(p, NULL), *next; at; at = next) {
		next = proc_argv_next(p, at);
		if (next && is_or_ends_in(at, first) && is_or_ends_in(next, second))
			return true;
	}
	return false;
}

static bool has_prefix(const struct proc *p, const char *prefix)
{
	for (const char *at = proc_argv_next(p, NULL); at; at = proc_argv_next(p, at))
		if (strncmp(at, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc p = { .argv_len = size + 1 };
	const char *role;

	p.argv = malloc(size + 1);
	must(p.argv != NULL);
	memcpy(p.argv, data, size);
	p.argv[size] = '\0';
	if (class_matches_argv(&daemons, &p))
		must((has_elements(&p, "-m", "pyspark.daemon") ||
		      has_elements(&p, "-m", "reaper_pyspark")) &&
		     !has_prefix(&p, "pyspark.sql.worker"));
	if (class_matches_single(&singles, &p))
		must(has_elements(&p, "train.py", "--ps"));
	role = class_role_of(&singles, &p);
	must(!role || (role >= p.argv && role < p.argv + p.argv_len));
	free(p.argv);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a command line: what is taken is whole and within its limits, what is refused ends with
 * the status of a usage error.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli.h"

enum {
	WORDS_MAX = 300,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void check(const struct options *o, const char *from, const char *to)
{
	must(o->command < COMMAND_COUNT);
	must(o->host_count <= CLI_HOSTS_MAX && o->set_count <= CLI_SETS_MAX);
	must(o->command != COMMAND_NONE);
	must((o->command != COMMAND_EXPLAIN && o->command != COMMAND_RETIRE) || o->pid > 0);
	for (size_t i = 0; i < o->host_count; i++)
		must(o->hosts[i] > 0);
	for (size_t i = 0; i < o->set_count; i++)
		must(o->sets[i] >= from && o->sets[i] < to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "reaper";
	char *text = malloc(size + 1), *argv[WORDS_MAX + 2] = { name };
	struct options o;
	int argc = 1, status;

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *at = text; at < text + size && argc <= WORDS_MAX; at += strlen(at) + 1)
		argv[argc++] = at;
	status = cli_parse(argc, argv, &o);
	if (status < 0)
		check(&o, text, text + size + 1);
	else
		must(status == EXIT_CLEAN || status == EXIT_USAGE);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/class.h"

#include <string.h>

/* Does this alternative begin at that element? */
static bool words_at(const struct words *w, const struct proc *p, const char *at)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!at || strcmp(at, w->word[i]) != 0)
			return false;
		at = proc_argv_next(p, at);
	}
	return w->count > 0;
}

/* The interpreter's own options stand before the match; a script's name or another program do not. */
static bool words_match(const struct words *w, const struct proc *p)
{
	const char *at = proc_argv_next(p, proc_argv_next(p, NULL));

	while (at && !words_at(w, p, at)) {
		bool takes_value = strcmp(at, "-X") == 0 || strcmp(at, "-W") == 0;

		if (at[0] != '-')
			return false;
		at = proc_argv_next(p, at);
		if (at && takes_value)
			at = proc_argv_next(p, at);
	}
	return at != NULL;
}

static bool excluded(const struct worker_class *c, const struct proc *p)
{
	for (const char *at = proc_argv_next(p, NULL); at; at = proc_argv_next(p, at))
		for (size_t i = 0; i < c->exclude_args.count; i++) {
			const char *word = c->exclude_args.choice[i].word[0];

			if (strncmp(at, word, strlen(word)) == 0)
				return true;
		}
	return false;
}

bool class_matches_argv(const struct worker_class *c, const struct proc *p)
{
	if (!p->argv_len)
		return false;
	for (size_t i = 0; i < c->daemon_args.count; i++)
		if (words_match(&c->daemon_args.choice[i], p))
			return !excluded(c, p);
	return false;
}

bool class_matches_host(const struct worker_class *c, const char *comm)
{
	for (size_t i = 0; i < c->host_comm.count; i++)
		if (strcmp(c->host_comm.choice[i].word[0], comm) == 0)
			return true;
	return false;
}

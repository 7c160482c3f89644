/* SPDX-License-Identifier: Apache-2.0 */
#include "model/class.h"

#include <assert.h>
#include <string.h>

#include "base/macro.h"

static const char *const kind_names[] = {
	[CLASS_OF_DAEMONS] = "daemon",
	[CLASS_OF_SINGLES] = "single",
};
static_assert(ARRAY_SIZE(kind_names) == CLASS_KIND_COUNT, "every kind has a name");

const char *class_kind_name(enum class_kind kind)
{
	return kind_names[kind];
}

typedef bool same_word(const char *element, const char *word);

static bool is_word(const char *element, const char *word)
{
	return strcmp(element, word) == 0;
}

/* A program or a script may be named by its path, and is known by its last part. */
static bool is_word_or_path(const char *element, const char *word)
{
	const char *slash = strrchr(element, '/');

	return is_word(element, word) || (slash && !strchr(word, '/') && is_word(slash + 1, word));
}

/* Does this alternative begin at that element? */
static bool words_at(const struct words *w, const struct proc *p, const char *at, same_word *same)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!at || !same(at, w->word[i]))
			return false;
		at = proc_argv_next(p, at);
	}
	return w->count > 0;
}

/* The interpreter's own options stand before the match; a script's name or another program do not. */
static bool words_match(const struct words *w, const struct proc *p, const char *at,
			same_word *same)
{
	while (at && !words_at(w, p, at, same)) {
		bool takes_value = strcmp(at, "-X") == 0 || strcmp(at, "-W") == 0;

		if (at[0] != '-')
			return false;
		at = proc_argv_next(p, at);
		if (at && takes_value)
			at = proc_argv_next(p, at);
	}
	return at != NULL;
}

/* What stands behind the end of an argv that is too long may be the word that excludes it. */
static bool excluded(const struct worker_class *c, const struct proc *p)
{
	if (c->exclude_args.count && p->argv_cut)
		return true;
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
	const char *at = proc_argv_next(p, proc_argv_next(p, NULL));

	if (c->kind != CLASS_OF_DAEMONS)
		return false;
	for (size_t i = 0; i < c->daemon_args.count; i++)
		if (words_match(&c->daemon_args.choice[i], p, at, is_word))
			return !excluded(c, p);
	return false;
}

bool class_matches_single(const struct worker_class *c, const struct proc *p)
{
	const char *first = proc_argv_next(p, NULL), *second = proc_argv_next(p, first);

	if (c->kind != CLASS_OF_SINGLES || !first)
		return false;
	for (size_t i = 0; i < c->args.count; i++) {
		const struct words *w = &c->args.choice[i];

		if (words_at(w, p, first, is_word_or_path) ||
		    words_match(w, p, second, is_word_or_path))
			return !excluded(c, p);
	}
	return false;
}

const char *class_role_of(const struct worker_class *c, const struct proc *p)
{
	for (const char *at = proc_argv_next(p, NULL); at; at = proc_argv_next(p, at))
		for (size_t i = 0; i < c->role_args.count; i++) {
			const char *word = c->role_args.choice[i].word[0];
			size_t len = strlen(word);

			if (strncmp(at, word, len) != 0)
				continue;
			if (word[len - 1] == '=')
				return at + len;
			if (at[len] == '=')
				return at + len + 1;
			if (!at[len])
				return proc_argv_next(p, at);
		}
	return NULL;
}

bool class_matches_host(const struct worker_class *c, const char *comm)
{
	if (c->kind != CLASS_OF_DAEMONS)
		return false;
	for (size_t i = 0; i < c->host_comm.count; i++)
		if (strcmp(c->host_comm.choice[i].word[0], comm) == 0)
			return true;
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_argv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/grow.h"

/* An argv that was read once per exec: the stack (where it may be known) changes with each, the name with
 * most, and what is young is read again. */
struct argv_cache {
	struct ident id;
	uint64_t stack_start;
	char comm[PROC_COMM_MAX];
	char *argv; /* owned */
	size_t len;
	bool cut;
	bool used; /* by this look */
};

enum {
	ARGV_SETTLED_MS = 60 * 1000
};

void look_argv_forget(struct look *l)
{
	for (size_t i = 0; i < l->argv_count; i++)
		free(l->argvs[i].argv);
	free(l->argvs);
	l->argvs = NULL;
	l->argv_count = 0;
	l->argv_sorted = 0;
}

static int compare_key(const void *key, const void *member)
{
	return ident_compare(*(const struct ident *)key, ((const struct argv_cache *)member)->id);
}

static int compare(const void *a, const void *b)
{
	const struct argv_cache *p = a, *q = b;

	return ident_compare(p->id, q->id);
}

/* What this look has added stands behind the others, unsorted: nobody asks for it twice. */
static struct argv_cache *cached(const struct look *l, const struct proc *p)
{
	if (!l->argv_sorted)
		return NULL;
	return bsearch(&p->id, l->argvs, l->argv_sorted, sizeof(*l->argvs), compare_key);
}

static bool is_settled(const struct proc *p, uint64_t boot_ms)
{
	return clock_ticks_to_ms(p->id.start) + ARGV_SETTLED_MS < boot_ms;
}

/* gcc's analyzer loses sight of what is kept in an array that grows: look_argv_forget() and
 * snapshot_done() free it, and LeakSanitizer watches them. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* NUL-ended, as argv is. */
static char *copy_argv(const char *argv, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, argv, len);
	copy[len] = '\0';
	return copy;
}

static int from_cache(struct argv_cache *c, struct proc *p)
{
	char *argv = copy_argv(c->argv, c->len);

	if (!argv)
		return -ENOMEM;
	c->used = true;
	p->argv_len = c->len;
	p->argv_cut = c->cut;
	p->argv = argv;
	return 0;
}

static int to_cache(struct look *l, const struct proc *p)
{
	struct argv_cache *c =
		grow(l->argvs, l->argv_count, &l->argv_room, sizeof(*c), PROC_COUNT_MAX);
	char *argv;

	if (!c)
		return -ENOMEM;
	l->argvs = c;
	argv = copy_argv(p->argv, p->argv_len);
	if (!argv)
		return -ENOMEM;
	c = &c[l->argv_count++];
	memcpy(c->comm, p->comm, sizeof(c->comm));
	c->stack_start = p->stack_start;
	c->id = p->id;
	c->len = p->argv_len;
	c->cut = p->argv_cut;
	c->used = true;
	c->argv = argv;
	return 0;
}

static bool is_same_exec(const struct argv_cache *c, const struct proc *p)
{
	return c->stack_start == p->stack_start && strcmp(c->comm, p->comm) == 0;
}

/* @return whether it had been read before. */
static int recall(struct look *l, struct proc *p, uint64_t boot_ms)
{
	struct argv_cache *c = cached(l, p);
	int err;

	if (!c || !is_settled(p, boot_ms) || !is_same_exec(c, p))
		return 0;
	err = from_cache(c, p);
	return err < 0 ? err : 1;
}

/* Denied, silent or not asked: it has no argv then, and may be a daemon. What is gone is none.
 * @return how many were not asked; -ENOMEM. */
static int read_some(struct look *l, struct proc *const *procs, size_t count, uint64_t boot_ms)
{
	_cleanup_free_ int *errs = calloc(count + 1, sizeof(*errs));
	int r = errs ? processes_read_argvs(procs, count, errs) : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct proc *p = procs[i];

		if (errs[i] == -ETIMEDOUT)
			log_notice("process %d does not let its command line be read: its memory "
				   "is locked, as by a file system that does not answer",
				   (int)p->id.pid);
		r += errs[i] == -EBUSY;
		p->argv_unread = errs[i] && errs[i] != -ESRCH && errs[i] != -ENOENT;
		if (errs[i] == -ENOMEM ||
		    (!errs[i] && !cached(l, p) && is_settled(p, boot_ms) && to_cache(l, p) < 0))
			r = -ENOMEM;
	}
	return r;
}

int look_argv_read(struct look *l, struct proc *p, uint64_t boot_ms)
{
	int r = recall(l, p, boot_ms);

	if (r)
		return MIN(r, 0);
	return MIN(read_some(l, &p, 1, boot_ms), 0);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

static void drop_unused(struct look *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->argv_count; i++) {
		if (l->argvs[i].used) {
			l->argvs[kept] = l->argvs[i];
			l->argvs[kept++].used = false;
		} else {
			free(l->argvs[i].argv);
		}
	}
	l->argv_count = kept;
	l->argv_sorted = kept;
	if (kept)
		qsort(l->argvs, kept, sizeof(*l->argvs), compare);
}

int look_argv_read_all(struct look *l, const struct tree_input *in, struct audit *a)
{
	_cleanup_free_ struct proc **some = calloc(a->snapshot.count + 1, sizeof(*some));
	size_t count = 0;
	int unasked;

	if (!some)
		return -ENOMEM;
	for (size_t i = 0; i < a->snapshot.count; i++) {
		struct proc *p = &a->snapshot.procs[i];
		int r = tree_wants_argv(a, in, p) ? recall(l, p, a->boot_ms) : 1;

		if (r < 0)
			return r;
		if (!r)
			some[count++] = p;
	}
	unasked = read_some(l, some, count, a->boot_ms);
	if (unasked < 0)
		return unasked;
	if (unasked)
		log_notice("%d command lines were not read: too many others were answered late, "
			   "or not at all",
			   unasked);
	drop_unused(l);
	return 0;
}

void look_argv_label(const struct proc *p, struct host *h)
{
	static const char *const with_value[] = { "-cp", "-classpath",    "--class-path",
						  "-p",  "--module-path", "--add-modules" };
	const char *at = proc_argv_next(p, NULL), *cut;
	char separator = '.';

	while (at && (at = proc_argv_next(p, at)) && at[0] == '-') {
		if (strcmp(at, "-jar") == 0) {
			at = proc_argv_next(p, at);
			separator = '/';
			break;
		}
		for (size_t i = 0; at && i < ARRAY_SIZE(with_value); i++)
			if (strcmp(at, with_value[i]) == 0) {
				at = proc_argv_next(p, at);
				break;
			}
	}
	if (!at)
		return;
	cut = strrchr(at, strchr(at, '/') ? '/' : separator);
	(void)snprintf(h->label, sizeof(h->label), "%s", cut ? cut + 1 : at);
}

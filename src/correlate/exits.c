/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/exits.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "model/grow.h"

enum {
	TICK_MS = 10,       /* a process' start is known to one clock tick */
	TOGETHER_MS = 1000, /* how long it takes to tear a container down */
	ALL_MAX = CRASHES_MAX + EXITS_RESTARTS_MAX,
};

static void set_class(const struct audit *a, int class_index, struct exits_key *key)
{
	if (class_index >= 0)
		memcpy(key->class_name, a->classes.class[class_index].name,
		       sizeof(key->class_name));
}

struct exits_key exits_key_daemon(const struct audit *a, const struct daemon *d)
{
	struct exits_key key = { .role = ROLE_DAEMON, .uid = d->uid };

	set_class(a, d->class_index, &key);
	if (d->host >= 0)
		key.owner = a->hosts[d->host].id;
	return key;
}

struct exits_key exits_key_workers(const struct audit *a, const struct daemon *d)
{
	struct exits_key key = { .role = ROLE_WORKER, .owner = d->id };

	set_class(a, d->class_index, &key);
	return key;
}

struct exits_key exits_key_subject(const struct audit *a, const struct subject *s)
{
	struct exits_key key = { .role = s->role };

	set_class(a, s->class_index, &key);
	if (s->role == ROLE_WORKER) {
		key.owner = s->daemon_id;
		return key;
	}
	key.uid = s->uid;
	memcpy(key.label, s->label, sizeof(key.label));
	return key;
}

static bool key_equal(const struct exits_key *a, const struct exits_key *b)
{
	return a->role == b->role && a->uid == b->uid && ident_equal(a->owner, b->owner) &&
	       strcmp(a->class_name, b->class_name) == 0 && strcmp(a->label, b->label) == 0;
}

/* FNV-1a: few names, and nothing hangs on two of them being taken for one. */
uint64_t exits_hash(const char *bytes, size_t len)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/*
 * SIGTERM, SIGINT, SIGHUP and SIGQUIT are how people, shells, service managers and containers end a
 * program, and how a daemon ends its group; SIGUSR1 and SIGUSR2 are words to it. All others come from
 * the kernel or the C library for what the program itself did. SIGKILL is the OOM killer's, or that of
 * somebody whose patience is over, three times in a row; but it is also how Spark's daemon ends a
 * worker whose task was cancelled, day by day.
 */
bool exits_is_crash(enum role role, struct ending ending)
{
	if (ending.how != ENDING_SIGNAL)
		return false;
	switch (ending.number) {
	case SIGHUP:
	case SIGINT:
	case SIGQUIT:
	case SIGTERM:
	case SIGUSR1:
	case SIGUSR2:
		return false;
	case SIGKILL:
		return role != ROLE_WORKER;
	default:
		return true;
	}
}

static struct exits_group *find(const struct exits *x, const struct exits_key *key)
{
	for (size_t i = 0; i < x->count; i++)
		if (key_equal(&x->groups[i].key, key))
			return &x->groups[i];
	return NULL;
}

static struct exits_group *oldest(const struct exits *x)
{
	struct exits_group *oldest = &x->groups[0];

	for (size_t i = 1; i < x->count; i++)
		if (x->groups[i].touched_ms < oldest->touched_ms)
			oldest = &x->groups[i];
	return oldest;
}

static struct exits_group *touch(struct exits *x, const struct exits_key *key, uint64_t now_ms)
{
	struct exits_group *g = find(x, key), *groups;

	if (!g && x->count >= EXITS_GROUPS_MAX) {
		g = oldest(x);
		*g = (struct exits_group){ .key = *key };
	} else if (!g) {
		groups = grow(x->groups, x->count, &x->room, sizeof(*groups), EXITS_GROUPS_MAX);
		if (!groups)
			return NULL;
		x->groups = groups;
		g = &groups[x->count++];
		g->key = *key;
	}
	g->touched_ms = MAX(g->touched_ms, now_ms);
	return g;
}

static bool is_killed_with(const struct crash *before, struct ending ending, uint64_t at_ms)
{
	return ending.number == SIGKILL && before->ending.number == SIGKILL &&
	       at_ms < before->at_ms + TOGETHER_MS;
}

int exits_note(struct exits *x, const struct exits_key *key, struct ending ending, uint64_t at_ms)
{
	struct exits_group *g = touch(x, key, at_ms);
	struct crash *last;

	if (!g)
		return -ENOMEM;
	last = &g->crashes[(g->crash_count + CRASHES_MAX - 1) % CRASHES_MAX];
	if (is_killed_with(last, ending, at_ms))
		return 0;
	g->crashes[g->crash_count++ % CRASHES_MAX] = (struct crash){ at_ms, ending };
	return 1;
}

static void forget_gone(struct exits_group *g, size_t at)
{
	g->gone_count--;
	memmove(&g->gone[at], &g->gone[at + 1], (g->gone_count - at) * sizeof(g->gone[0]));
}

int exits_gone(struct exits *x, const struct exits_key *key, const struct exits_gone *gone,
	       uint64_t now_ms)
{
	struct exits_group *g = touch(x, key, now_ms);

	if (!g)
		return -ENOMEM;
	if (g->gone_count == EXITS_GONE_MAX)
		forget_gone(g, 0);
	g->gone[g->gone_count++] = *gone;
	return 0;
}

/* A parent is one process; a cgroup outlives its processes where a container is started anew. */
static bool is_successor(const struct exits_gone *gone, const struct exits_origin *origin,
			 uint64_t began_ms)
{
	const struct exits_origin *was = &gone->origin;

	if (!origin->argv_hash || was->argv_hash != origin->argv_hash ||
	    began_ms + TICK_MS < gone->alive_ms)
		return false;
	return (was->parent.pid && ident_equal(was->parent, origin->parent)) ||
	       (was->cgroup_hash && was->cgroup_hash == origin->cgroup_hash);
}

bool exits_born(struct exits *x, const struct exits_key *key, const struct exits_origin *origin,
		uint64_t began_ms, uint64_t now_ms)
{
	struct exits_group *g = find(x, key);

	for (size_t i = 0; g && i < g->gone_count; i++) {
		struct exits_restart restart = {
			.at_ms = began_ms,
			.unseen = g->gone[i].ending.how == ENDING_UNKNOWN,
		};

		if (!is_successor(&g->gone[i], origin, began_ms))
			continue;
		g->restarts[g->restart_count++ % EXITS_RESTARTS_MAX] = restart;
		forget_gone(g, i);
		g->touched_ms = MAX(g->touched_ms, now_ms);
		return true;
	}
	return false;
}

static bool is_within(uint64_t at_ms, uint64_t now_ms, uint64_t window_ms)
{
	return at_ms + window_ms > now_ms;
}

/* Keeps them in order of time: an end that was pending for a while is told late. */
static void insert(struct crash *all, size_t *count, const struct crash *crash)
{
	size_t at = (*count)++;

	for (; at && all[at - 1].at_ms > crash->at_ms; at--)
		all[at] = all[at - 1];
	all[at] = *crash;
}

static size_t collect(const struct exits_group *g, uint64_t now_ms, struct crash *all,
		      struct crashes *ret)
{
	uint64_t crashes = MIN(g->crash_count, (uint64_t)CRASHES_MAX);
	uint64_t restarts = MIN(g->restart_count, (uint64_t)EXITS_RESTARTS_MAX);
	size_t count = 0;

	for (uint64_t i = 0; i < crashes; i++) {
		if (!is_within(g->crashes[i].at_ms, now_ms, ret->window_ms))
			continue;
		insert(all, &count, &g->crashes[i]);
		ret->by_signal++;
		ret->cores += g->crashes[i].ending.core == TRI_YES;
	}
	for (uint64_t i = 0; i < restarts; i++) {
		const struct crash unseen = { .at_ms = g->restarts[i].at_ms };

		if (!is_within(unseen.at_ms, now_ms, ret->window_ms))
			continue;
		ret->restarts++;
		if (!g->restarts[i].unseen)
			continue;
		insert(all, &count, &unseen);
		ret->unseen++;
	}
	return count;
}

bool exits_ask(const struct exits *x, const struct exits_key *key, uint64_t now_ms,
	       uint64_t window_ms, struct crashes *ret)
{
	const struct exits_group *g = find(x, key);
	struct crash all[ALL_MAX];
	size_t count, from;

	*ret = (struct crashes){ .role = (int)key->role, .window_ms = window_ms };
	if (!g)
		return false;
	count = collect(g, now_ms, all, ret);
	from = count > CRASHES_MAX ? count - CRASHES_MAX : 0;
	ret->count = count - from;
	if (ret->count)
		memcpy(ret->crash, all + from, ret->count * sizeof(all[0]));
	return ret->count || ret->restarts;
}

bool exits_tell(struct exits *x, const struct exits_key *key, uint64_t now_ms, uint64_t window_ms)
{
	struct exits_group *g = find(x, key);
	struct crashes c;
	bool told;

	if (!g)
		return false;
	(void)exits_ask(x, key, now_ms, window_ms, &c);
	told = g->told;
	g->told = crashes_loop(&c);
	return g->told && !told;
}

void exits_done(struct exits *x)
{
	free(x->groups);
	memset(x, 0, sizeof(*x));
}

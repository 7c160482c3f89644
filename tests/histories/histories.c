/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of a world (world.h), at which reaper's own correlate/ and decide/ look (judge.h):
 * `histories [--control] [--seed N] COUNT`. Whoever is to be ended must be one whom the world does not use
 * any more, who has done nothing for the timeout, and whom nothing else keeps, as a tracer or another user
 * does; the world knows that by itself. A history that shows something else is made as short as it can be,
 * and printed. With --control the world breaks its word, in one way after another, and each must be found.
 *
 * Exit status: 0; 1: somebody in use was ended (--control: a lie was not found).
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "correlate/correlate.h"
#include "judge.h"
#include "see.h"
#include "world.h"

enum {
	STEPS = 48, /* of one history */
	OP_SWEEP = OP_COUNT,
	SWEEPS = 5,                  /* as often as other steps */
	OP_CRON = OP_SWEEP + SWEEPS, /* a sweep by another run */
	CRONS = 3,
	OP_RESTART = OP_CRON + CRONS,
	RESTARTS = 2,
	OPS = OP_RESTART + RESTARTS,
	SAMPLE_MS = 100,
	PATIENCE = 12, /* sweeps, by which each whose host hung up must be ended */
	PAUSE_MS = 60,
	COUNT_MAX = 1000000000,
	ENOUGH = 20000, /* histories, after which every proof must have been had */
};

/* A step of a history; what it is about. */
struct step {
	uint8_t op, arg;
};

struct history_of {
	unsigned habits;
	enum lie lie;
	unsigned count;
	struct step step[STEPS];
};

struct run {
	const struct history_of *h;
	unsigned at; /* the next step */
	struct world world;
	struct judge judge;
	char wrong[160]; /* "": nothing */
	bool print;
};

static struct {
	uint64_t histories, looks, ended[FENCE_COUNT];
} total;

static struct record records[WORLD_RECORDS];
static uint64_t seed;

static uint64_t dice(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static __attribute__((noreturn)) void give_up(const char *what)
{
	(void)fprintf(stderr, "histories: %s\n", what);
	exit(1);
}

static void happen(struct run *r, struct step s)
{
	world_do(&r->world, (enum op)s.op, s.arg);
	if (r->print)
		world_print(&r->world, (enum op)s.op, s.arg, stdout);
}

/* What stands next in the history happens now, between two looks or before a signal. */
static void happen_next(struct run *r)
{
	const struct step *s = &r->h->step[r->at];

	if (r->at < r->h->count && s->op < OP_COUNT) {
		r->at++;
		happen(r, *s);
	}
}

static void look(struct run *r, unsigned denied, struct audit *ret)
{
	world_pass(&r->world, 1); /* what is done takes time: no two looks are at one moment */
	if (judge_look(&r->judge, &r->world, denied, ret) < 0)
		give_up("no memory");
	total.looks++;
	for (size_t i = 0; r->print && i < ret->subject_count; i++) {
		const struct subject *s = &ret->subjects[i];

		printf("            looks at %d: %s %s\n", s->id.pid - WORLD_WORKER,
		       action_name(s->verdict.action), reason_name(s->verdict.reason));
	}
}

/* What the host's own word proves is as old as that word, however the wall clock was set: no older than the
 * moment since which it does not use the worker. */
static bool is_early(const struct run *r, const struct world *looked_at, const struct subject *s)
{
	uint64_t unused_ms = looked_at->worker[s->id.pid - WORLD_WORKER].unused_ms;

	if (s->verdict.fence != FENCE_RETIRED && s->verdict.fence != FENCE_TASK_ENDED)
		return false;
	return unused_ms > r->judge.began_ms &&
	       looked_at->now - unused_ms < r->judge.policy.timeout_ms;
}

/* @param looked_at	the world at the look that said so: what is done after that look, none can see. */
static void end(struct run *r, const struct world *looked_at, const struct subject *s)
{
	unsigned worker = (unsigned)(s->id.pid - WORLD_WORKER);
	const struct worker *p = &r->world.worker[worker];
	const char *uses = world_uses(&r->world, worker);
	const char *keeps = world_keeps(looked_at, worker);
	/* Between two runs nobody sees whether the machine was suspended. */
	uint64_t quiet_ms = looked_at->now - world_worked(looked_at, worker) + r->judge.untold_ms;

	/* A pin outlives its process, and names no other. */
	if (!p->alive || !ident_equal(p->id, s->id))
		return;
	if (uses || keeps)
		(void)snprintf(r->wrong, sizeof(r->wrong), "%u is ended by %s, but %s", worker,
			       reason_name(s->verdict.reason), uses ? uses : keeps);
	else if (quiet_ms < r->judge.policy.timeout_ms)
		(void)snprintf(r->wrong, sizeof(r->wrong),
			       "%u is ended by %s, but it worked %" PRIu64 " ms before", worker,
			       reason_name(s->verdict.reason), quiet_ms);
	else if (is_early(r, looked_at, s))
		(void)snprintf(r->wrong, sizeof(r->wrong), "%u is ended by %s, but too early",
			       worker, reason_name(s->verdict.reason));
	total.ended[s->verdict.fence]++;
	world_kill(&r->world, worker);
}

static bool anybody_is_due(const struct audit *a)
{
	for (size_t i = 0; i < a->subject_count; i++)
		if (a->subjects[i].verdict.action == ACTION_REAP)
			return true;
	return false;
}

/* As app/round.c does: two looks, a plan, a third look that must agree, and the signals. */
static void sweep(struct run *r, unsigned arg, unsigned always)
{
	unsigned denied = always | (arg & 1 ? 0 : 1u << (arg >> 1 & 7));
	static struct audit first, second; /* large */
	struct world looked_at;

	if (r->print)
		printf("%10s a sweep (%u)\n", "", arg);
	look(r, arg & 16 ? denied : always, &first);
	world_pass(&r->world, SAMPLE_MS);
	audit_done(&first);
	look(r, arg & 32 ? denied : always, &first);
	if (!anybody_is_due(&first)) {
		audit_done(&first);
		return;
	}
	world_pass(&r->world, PAUSE_MS);
	if (arg & 64)
		happen_next(r);
	look(r, arg & 128 ? denied : always, &second);
	looked_at = r->world;
	for (size_t i = 0; i < first.subject_count; i++) {
		const struct subject *before = &first.subjects[i];
		const struct subject *now = audit_find(&second, before->id.pid);

		if (before->verdict.action != ACTION_REAP || !now ||
		    now->verdict.action != ACTION_REAP || correlate_difference(before, now))
			continue;
		if (arg & 4)
			happen_next(r);
		end(r, &looked_at, now);
	}
	audit_done(&first);
	audit_done(&second);
}

/* @param kept	state_dir/history is still there. */
static void begin_again(struct run *r, bool kept)
{
	if ((kept ? judge_reload : judge_restart)(&r->judge, &r->world) < 0)
		give_up("no memory");
	if (r->print)
		printf("%10s reaper is started anew, %s a history\n", "",
		       kept ? "with" : "without");
}

/* From cron, once a second; the kernel may have forgotten when who last ran. */
static void end_leaks(struct run *r)
{
	unsigned denied = r->h->habits & 2048 ? DENY_SCHED : 0;

	for (unsigned i = 0; i < PATIENCE && !r->wrong[0]; i++) {
		begin_again(r, true);
		sweep(r, 0, denied);
		world_pass(&r->world, 1100);
	}
	for (unsigned i = 0; i < WORLD_WORKERS && !r->wrong[0]; i++)
		if (world_leaks(&r->world, i))
			(void)snprintf(r->wrong, sizeof(r->wrong), "%u is leaked, and is not ended",
				       i);
}

/* @return what went wrong, or NULL; valid until the next call. */
static const char *live(const struct history_of *h, bool print)
{
	static struct run r;

	r = (struct run){ .h = h, .print = print };
	world_begin(&r.world, h->lie, h->habits, records);
	if (judge_begin(&r.judge, &r.world) < 0)
		give_up("no memory");
	while (r.at < h->count && !r.wrong[0]) {
		struct step s = h->step[r.at++];

		if (s.op < OP_COUNT) {
			happen(&r, s);
		} else if (s.op < OP_RESTART) {
			if (s.op >= OP_CRON)
				begin_again(&r, true);
			sweep(&r, s.arg, 0);
		} else {
			begin_again(&r, !(s.arg & 1));
		}
	}
	if (!r.wrong[0] && h->lie == LIE_NONE)
		end_leaks(&r);
	judge_end(&r.judge);
	return r.wrong[0] ? r.wrong : NULL;
}

static struct history_of some_history(enum lie lie)
{
	uint64_t d = dice();
	struct history_of h = { .habits = (unsigned)(d >> 32), .lie = lie, .count = STEPS };

	for (unsigned i = 0; i < STEPS; i++) {
		d = dice();
		h.step[i] = (struct step){ (uint8_t)((d >> 40) % OPS), (uint8_t)(d >> 24) };
	}
	return h;
}

static struct history_of without(const struct history_of *h, unsigned from, unsigned count)
{
	struct history_of less = *h;

	memmove(&less.step[from], &less.step[from + count],
		(less.count - from - count) * sizeof(*less.step));
	less.count -= count;
	return less;
}

/* Takes out what it is wrong without, as many steps at once as can be. */
static void shrink(struct history_of *h)
{
	for (unsigned count = h->count / 2; count; count /= 2)
		for (unsigned i = 0; i + count <= h->count;) {
			struct history_of less = without(h, i, count);

			if (live(&less, false))
				*h = less;
			else
				i++;
		}
}

static void show(struct history_of *h, uint64_t which)
{
	shrink(h);
	printf("history %" PRIu64 ", habits %u:\n", which, h->habits & 4095);
	printf("wrong: %s\n", live(h, true));
}

/* The first `skip` of them are made up and not lived. */
static uint64_t try_many(enum lie lie, uint64_t skip, uint64_t count, bool until_wrong)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < count; i++) {
		struct history_of h = some_history(lie);

		if (i < skip)
			continue;
		total.histories++;
		if (!live(&h, false))
			continue;
		wrong++;
		if (until_wrong)
			return i + 1;
		if (wrong == 1)
			show(&h, i);
	}
	return until_wrong ? 0 : wrong;
}

/* What does harm once in a hundred thousand histories is looked for close before the first that is known to:
 * once the world makes up others, it is found later, or `skip` is to be set anew. */
static const struct {
	const char *name;
	uint64_t skip;
} lies[] = {
	[LIE_TAKES_UP] = { "a host takes up again whom it gave up" },
	[LIE_REUSES] = { "a host that says pool=none reuses" },
	[LIE_HIDES_POOL] = { "beats do not list the pool" },
	[LIE_HIDES_LEASE] = { "beats do not list the leases" },
	[LIE_NEVER_PURGES] = { "a pool is never purged", .skip = 690 * 1000 },
	[LIE_BEGINS_LATE] = { "tasks are told when they are over" },
	[LIE_LOSES_BEATS] = { "beats do not count what was lost" },
	[LIE_NO_SUCH_ROW] = { "the kernel denies connections" },
	[LIE_NO_WRITER] = { "threads that write are not shown" },
	[LIE_LONG_BLOCKED] = { "the kernel's clock of a thread is an hour behind" },
	[LIE_NEVER_SLEPT] = { "the kernel does not tell that it was suspended" },
	[LIE_NO_STEP] = { "nobody sees that the wall clock was set", .skip = 60 * 1000 },
	[LIE_NO_DOUBT] = { "beats of any age are believed", .skip = 260 * 1000 },
	[LIE_HIDES + KEPT_TRACED] = { "a tracer is not shown" },
	[LIE_HIDES + KEPT_STOPPED] = { "a stop is not shown" },
	[LIE_HIDES + KEPT_UNINTERRUPTIBLE] = { "an uninterruptible sleep is not shown" },
	[LIE_HIDES + KEPT_DUMPING] = { "a dump of core is not shown" },
	[LIE_HIDES + KEPT_EXECED] = { "another program is not shown" },
	[LIE_HIDES + KEPT_OTHER_UID] = { "another user is not shown" },
	[LIE_HIDES + KEPT_OTHER_PID_NS] = { "another pid namespace is not shown" },
	[LIE_HIDES + KEPT_PROTECTED] = { "a rule that protects is not read" },
};
static_assert(ARRAY_SIZE(lies) == LIE_COUNT, "every lie is tried");

static int try_lies(uint64_t count)
{
	int missed = 0;

	for (enum lie lie = LIE_NONE + 1; lie < LIE_COUNT; lie++) {
		uint64_t found = try_many(lie, lies[lie].skip, count, true);

		missed += !found;
		printf("%s: %s, after %" PRIu64 " histories, of which %" PRIu64 " were lived\n",
		       lies[lie].name, found ? "found" : "NOT FOUND", found ? found : count,
		       (found ? found : count) - MIN(count, lies[lie].skip));
	}
	printf("%d lies, %d not found\n", LIE_COUNT - 1, missed);
	return missed ? 1 : 0;
}

static int try_truth(uint64_t count)
{
	uint64_t wrong = try_many(LIE_NONE, 0, count, false);
	bool each = true;

	printf("%" PRIu64 " histories, %" PRIu64 " looks, ended:", total.histories, total.looks);
	for (enum fence f = FENCE_NONE + 1; f < FENCE_ASSUMED; f++) {
		printf(" %s %" PRIu64 "%s", fence_name(f), total.ended[f],
		       f + 1 < FENCE_ASSUMED ? "," : "");
		each &= total.ended[f] > 0;
	}
	printf("\nfigure random histories: %" PRIu64 " histories, %" PRIu64 " wrong\n",
	       total.histories, wrong);
	if (!each && count >= ENOUGH)
		give_up("a proof never came up");
	return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool control = false;
	uint64_t count = 0;

	seed = UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 1; i < argc; i++) {
		uint64_t n;

		if (strcmp(argv[i], "--control") == 0) {
			control = true;
		} else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc &&
			   parse_u64(argv[i + 1], UINT32_MAX, &n) == 0) {
			seed ^= (n + 1) * UINT64_C(0xbf58476d1ce4e5b9);
			i++;
		} else if (parse_u64(argv[i], COUNT_MAX, &count) < 0) {
			give_up("usage: histories [--control] [--seed N] COUNT");
		}
	}
	if (!count)
		give_up("usage: histories [--control] [--seed N] COUNT");
	return control ? try_lies(count) : try_truth(count);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/macro.h"
#include "host.h"
#include "tell.h"
#include "worker.h"

enum {
	SECOND = 1000,
	BEAT_EVERY_MS = 8 * SECOND,
	BEAT_DELAYS = 4, /* half seconds between list and beat, less one */
	BURN_NS_PER_MS = 500000,
	LOOP_NS_PER_MS = 800,
	WALL_MS = 1763640000,
	SHORT_TIMES = 4,
	UNNOTICED_MS = 2 * SECOND, /* CLOCK_STEP_MS of app/look_judge.c */
};

static const uint64_t times_ms[] = { 10, 500, 1100, 3000, 11000, 21000, 62000, 115000 };
static_assert(SHORT_TIMES < ARRAY_SIZE(times_ms), "they are the first");

static bool runs(const struct world *w)
{
	return w->host_up && !w->stopped;
}

bool world_holds(const struct world *w, const struct worker *p)
{
	return p->end < END_CLOSED && (w->host_up || w->child);
}

/* ---- time ---- */

/* What its other threads do costs, and work is work. */
static void burn(struct world *w, uint64_t ms)
{
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct worker *p = &w->worker[i];

		if (!p->alive || worker_is_held(p))
			continue;
		if (p->phase == PHASE_BURN || p->phase == PHASE_RUNNING) {
			p->cpu_ns += ms * BURN_NS_PER_MS;
			p->worked_ms = w->now;
		} else if (p->phase == PHASE_LOOP) {
			p->cpu_ns += ms * LOOP_NS_PER_MS;
			p->switches += ms / WORLD_LOOP_MS;
		}
	}
}

static void host_duties(struct world *w)
{
	if (!runs(w))
		return;
	if (w->now >= w->purge_at) {
		w->purge_at = w->now + WORLD_PURGE_EVERY_MS;
		if (w->now - w->release_ms > WORLD_PURGE_MS && w->lie != LIE_NEVER_PURGES)
			host_purges(w);
	}
	if (w->now >= w->beat_at)
		tell_beat(w);
	if (w->now >= w->list_at && w->beat_at == UINT64_MAX) {
		w->list_at = w->now + BEAT_EVERY_MS;
		tell_begin_beat(w, tell_dice(w, BEAT_DELAYS) * (uint64_t)SECOND / 2);
	}
}

static uint64_t next_duty(const struct world *w)
{
	uint64_t next = MIN(w->beat_at, w->list_at);

	next = MIN(next, w->purge_at);
	return MAX(next, w->now + 1);
}

static void note_rests(struct world *w)
{
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct worker *p = &w->worker[i];

		if (p->alive && p->phase != PHASE_RUNNING)
			p->rests[p->rest_count++ % WORLD_RESTS] =
				(struct rest){ w->now, p->cpu_ns, p->phase };
	}
}

void world_pass(struct world *w, uint64_t ms)
{
	uint64_t end = w->now + ms;

	while (w->now < end) {
		uint64_t to = runs(w) ? MIN(end, next_duty(w)) : end;
		uint64_t passed = to - w->now;

		w->now = to;
		w->was_running |= runs(w);
		burn(w, passed);
		host_duties(w);
	}
	note_rests(w);
}

/* Wakes, works for a while, and waits where it did before. */
static void work(struct world *w, struct worker *p, unsigned arg)
{
	enum phase wait = p->phase;

	if (!p->alive || worker_is_held(p) || wait < PHASE_POLL || wait > PHASE_OWN_RECV)
		return;
	p->phase = PHASE_RUNNING;
	worker_ran(w, p);
	world_pass(w, times_ms[arg % SHORT_TIMES]);
	p->phase = wait;
	worker_ran(w, p);
}

static void later(uint64_t *at_ms, uint64_t ms)
{
	if (*at_ms != UINT64_MAX)
		*at_ms += ms;
}

/* Nobody runs, and all clocks stand still but those of the boot and of the wall: what the kernel says of
 * threads and connections, and what the host waits for (System.nanoTime()), is no older afterwards. */
static void suspend(struct world *w, uint64_t ms)
{
	w->now += ms;
	w->suspended_ms += ms;
	later(&w->release_ms, ms);
	later(&w->purge_at, ms);
	later(&w->list_at, ms);
	later(&w->beat_at, ms);
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct worker *p = &w->worker[i];

		p->ran_ms += ms;
		p->worked_ms += ms;
		p->byte_ms += ms;
		p->fin_ms += ms;
		p->fed_ms += ms;
		for (unsigned r = 0; r < MIN(p->rest_count, (unsigned)WORLD_RESTS); r++)
			p->rests[r].ms += ms;
	}
}

/* ---- everybody ---- */

static const int64_t steps_ms[] = { -3600 * SECOND, -5 * SECOND, -1500,
				    1500,           5 * SECOND,  3600 * SECOND };
static const uint64_t suspends_ms[] = { 500, 1500, 21000, 62000, 115000, 8 * 3600 * SECOND };

void world_begin(struct world *w, enum lie lie, unsigned habits, struct record *records)
{
	*w = (struct world){
		.lie = lie,
		.habit = { .reuses = habits & 1 || lie == LIE_REUSES,
			   .logs = habits & (2 | 1024),
			   .brackets = habits & 4,
			   .reports = habits & 8,
			   .retires = habits & 16,
			   .lossy = (habits & 96) == 96 || lie == LIE_LOSES_BEATS,
			   .ports = habits & 128,
			   .unix_sockets = habits & 256 },
		.now = WORLD_BEGIN_MS,
		.wall = (uint64_t)WALL_MS * SECOND,
		.host_up = true,
		.daemon_up = true,
		.host = { WORLD_HOST, 1000 },
		.daemon = { WORLD_DAEMON, 2000 },
		.port = WORLD_PORT,
		.purge_at = WORLD_BEGIN_MS + WORLD_PURGE_EVERY_MS,
		.list_at = habits & 512 ? WORLD_BEGIN_MS + BEAT_EVERY_MS : UINT64_MAX,
		.beat_at = UINT64_MAX,
		.seed = habits,
		.records = records,
	};
	if (!w->habit.logs)
		w->habit.brackets = w->habit.reports = w->habit.retires = false;
	tell_host(w);
	tell_daemon(w);
}

void world_kill(struct world *w, unsigned worker)
{
	worker_dies(&w->worker[worker]);
}

/* Among those that live, so that little is done in vain. */
static struct worker *choose(struct world *w, unsigned arg)
{
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct worker *p = &w->worker[(arg + i) % WORLD_WORKERS];

		if (p->alive)
			return p;
	}
	return &w->worker[0];
}

static void serve(struct world *w, unsigned arg)
{
	host_begins(w, arg);
	host_leases(w, arg);
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct worker *p = &w->worker[i];

		if (p->use != USE_LEASED || p->fed)
			continue;
		if (p->phase == PHASE_NEWBORN)
			worker_steps(w, p, arg);
		host_feeds(w, p);
		worker_steps(w, p, arg);
	}
}

static void finish_and_read(struct world *w, struct worker *p, unsigned arg)
{
	if (!p->alive || p->phase != PHASE_RUNNING)
		worker_steps(w, p, 0);
	if (!p->alive || p->phase != PHASE_RUNNING)
		return;
	worker_steps(w, p, arg | 128);
	host_reads(w, p);
	host_takes_end(w, p);
}

/* The namespace of a process stands when it is forked. */
static void change(struct world *w, struct worker *p, unsigned arg)
{
	enum kept kept = KEPT_PASSING + arg / 8 % (KEPT_COUNT - KEPT_PASSING);

	if (kept == KEPT_OTHER_PID_NS)
		w->unshared = !w->unshared;
	else if (p->alive)
		p->kept |= 1u << kept;
}

/* A step that is no longer than clocks drift is not noticed, and none may wait for less than that. */
static void set_clock(struct world *w, int64_t ms)
{
	w->wall += (uint64_t)ms;
	for (unsigned i = 0; ms > 0 && ms < UNNOTICED_MS && i < WORLD_WORKERS; i++)
		w->worker[i].unused_ms -= MIN(w->worker[i].unused_ms, (uint64_t)ms);
}

/* Sometimes right behind a record, so that its age is that of the step. */
static void give_up(struct world *w, struct worker *p)
{
	if (!p->alive || !runs(w))
		return;
	if (p->use == USE_LEASED)
		host_ends(w, p->task | 8);
	if (p->use == USE_GIVEN_UP && w->habit.retires)
		tell_worker(w, MARKER_RETIRED, p);
}

static void do_worker(struct world *w, enum op op, struct worker *p, unsigned arg)
{
	if (op == OP_STEP || op == OP_STEP_2 || op == OP_STEP_3)
		worker_steps(w, p, arg);
	else if (op == OP_WORK || op == OP_WORK_2)
		work(w, p, arg);
	else if (op == OP_DIES && (arg & 192) == 192)
		worker_dies(p);
	else if (op == OP_HOLD && (arg & 128))
		worker_holds(w, p, arg);
	else if (op == OP_CHANGE && (arg & 192) == 192)
		change(w, p, arg);
	else if (!runs(w))
		return;
	else if (op == OP_FINISH || op == OP_FINISH_2)
		finish_and_read(w, p, arg);
	else if (op == OP_FEED)
		host_feeds(w, p);
	else if (op == OP_FEED_MORE)
		host_feeds_more(w, p);
	else if (op == OP_HOST_READS)
		host_reads(w, p);
	else if (op == OP_HOST_TAKES_END)
		host_takes_end(w, p);
	else if (op == OP_SHUT)
		host_shuts(w, p);
	else if (op == OP_RETIRE && p->use == USE_GIVEN_UP && w->habit.retires)
		tell_worker(w, MARKER_RETIRED, p);
}

void world_do(struct world *w, enum op op, unsigned arg)
{
	w->was_running |= runs(w);
	switch (op) {
	case OP_SERVE:
	case OP_SERVE_2:
	case OP_SERVE_3:
		if (runs(w))
			serve(w, arg);
		break;
	case OP_BEGIN:
		if (runs(w))
			host_begins(w, arg);
		break;
	case OP_LEASE:
		if (runs(w))
			host_leases(w, arg);
		break;
	case OP_END_TASK:
		if (runs(w))
			host_ends(w, arg);
		break;
	case OP_BEAT:
		if (runs(w) && w->beat_at == UINT64_MAX)
			tell_begin_beat(w, 0);
		break;
	case OP_PASS:
	case OP_PASS_2:
		world_pass(w, times_ms[arg % ARRAY_SIZE(times_ms)]);
		break;
	case OP_STOP:
		w->stopped = w->host_up && !w->stopped && !(arg & 128);
		break;
	case OP_DAEMON_DIES:
		w->daemon_up = w->daemon_up && (arg & 192);
		break;
	case OP_HOST_DIES:
		if (!(arg & 192))
			host_dies(w, arg);
		break;
	case OP_CHILD_DIES:
		if (!(arg & 64))
			host_child(w);
		break;
	case OP_HOST_AGAIN:
		if (!(arg & 128))
			host_again(w);
		break;
	case OP_DAEMON_AGAIN:
		if (!(arg & 128))
			host_forks_daemon(w);
		break;
	case OP_STRANGER:
		if (!(arg & 128))
			host_stranger(w, arg);
		break;
	case OP_CLOCK:
		if (arg & 224)
			break;
		if (arg & 16)
			give_up(w, choose(w, arg));
		set_clock(w, steps_ms[arg % ARRAY_SIZE(steps_ms)]);
		break;
	case OP_SUSPEND:
		if (!(arg & 192))
			suspend(w, suspends_ms[arg % ARRAY_SIZE(suspends_ms)]);
		break;
	default:
		do_worker(w, op, choose(w, arg), arg);
	}
	if (runs(w) && w->now >= w->beat_at)
		tell_beat(w);
	note_rests(w);
}

const char *world_uses(const struct world *w, unsigned worker)
{
	const struct worker *p = &w->worker[worker];

	if (!p->alive || !w->host_up)
		return NULL;
	if (p->use == USE_POOLED)
		return "it is in its host's pool";
	if (p->use != USE_LEASED)
		return NULL;
	/* It has nothing left to do, and a dead one's bytes can be read as well. */
	if (p->phase == PHASE_SIGNED_OFF && !p->more && !p->host_recv_queue && !p->send_queue)
		return NULL;
	return "a task has it";
}

unsigned world_shows(const struct world *w, const struct worker *p)
{
	return w->lie >= LIE_HIDES ? p->kept & ~(1u << (w->lie - LIE_HIDES)) : p->kept;
}

static const char *const keeps[KEPT_COUNT] = {
	[KEPT_TRACED] = "it is traced",
	[KEPT_STOPPED] = "it is stopped",
	[KEPT_UNINTERRUPTIBLE] = "it is in uninterruptible sleep",
	[KEPT_DUMPING] = "it is dumping core",
	[KEPT_EXECED] = "it runs another program",
	[KEPT_OTHER_UID] = "it is another user's",
	[KEPT_OTHER_PID_NS] = "it is in another pid namespace",
	[KEPT_PROTECTED] = "it is protected",
};

/* It differs from its daemon, and when that has died nothing in /proc tells from whom. */
static bool is_kept(const struct world *w, const struct worker *p, enum kept k)
{
	if (k == KEPT_OTHER_UID || k == KEPT_OTHER_PID_NS)
		return w->daemon_up && ident_equal(p->daemon, w->daemon);
	return true;
}

const char *world_keeps(const struct world *w, unsigned worker)
{
	const struct worker *p = &w->worker[worker];

	for (enum kept k = 0; k < KEPT_COUNT; k++)
		if (p->kept & 1u << k && is_kept(w, p, k))
			return keeps[k];
	return NULL;
}

bool world_leaks(const struct world *w, unsigned worker)
{
	const struct worker *p = &w->worker[worker];

	return p->alive && !p->kept && p->use == USE_CLOSED && p->end >= END_CLOSED &&
	       w->daemon_up && ident_equal(p->daemon, w->daemon) && p->phase >= PHASE_POLL &&
	       p->phase <= PHASE_WRITE && p->phase != PHASE_BURN;
}

/* It was in the wait in which it is now, and has moved no byte since, nor used idle_cpu. */
static bool idle_since(const struct world *w, const struct worker *p, const struct rest *r)
{
	return r->phase == p->phase && r->ms >= p->byte_ms && r->ms < w->now &&
	       (p->cpu_ns - r->cpu_ns) / (w->now - r->ms) < WORLD_IDLE_CPU_PPM;
}

uint64_t world_worked(const struct world *w, unsigned worker)
{
	const struct worker *p = &w->worker[worker];
	unsigned count = MIN(p->rest_count, (unsigned)WORLD_RESTS);
	uint64_t worked_ms = p->worked_ms;

	for (unsigned i = 0; i < count; i++)
		if (idle_since(w, p, &p->rests[i]))
			worked_ms = MIN(worked_ms, p->rests[i].ms);
	return worked_ms;
}

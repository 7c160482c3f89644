/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <string.h>

#include "tell.h"
#include "worker.h"

enum {
	TICK_MS = 10,
};

/* Whoever held a copy of the host's end lets go of it. */
static void close_end(struct world *w, struct worker *p)
{
	if (p->end == END_OPEN)
		p->fin_ms = w->now;
	p->end = p->host_recv_queue ? END_RESET : END_CLOSED;
	if (p->end == END_RESET)
		p->recv_queue = 0;
}

static void hang_up(struct world *w, struct worker *p)
{
	p->use = USE_CLOSED;
	p->unused_ms = w->now;
	p->more = false;
	if (!w->child)
		close_end(w, p);
}

static struct worker *find_room(struct world *w)
{
	for (unsigned i = 0; i < WORLD_WORKERS; i++)
		if (!w->worker[i].alive && w->worker[i].use != USE_LEASED &&
		    w->worker[i].use != USE_POOLED)
			return &w->worker[i];
	return NULL;
}

/* No two processes with one number are born in one tick. */
static uint64_t next_start(struct world *w)
{
	return w->now / TICK_MS + w->births++;
}

static struct worker *fork_worker(struct world *w)
{
	struct worker *p = w->daemon_up ? find_room(w) : NULL;

	if (!p)
		return NULL;
	*p = (struct worker){
		.id = { WORLD_WORKER + (pid_t)(p - w->worker), next_start(w) },
		.alive = true,
		.daemon = w->daemon,
		.port = w->port,
		.serial = ++w->connections,
		.born_ms = w->now,
		.byte_ms = w->now,
		.kept = w->unshared ? 1u << KEPT_OTHER_PID_NS : 0,
	};
	worker_ran(w, p);
	return p;
}

static struct worker *given_up(struct world *w)
{
	for (unsigned i = 0; i < WORLD_WORKERS; i++)
		if (w->worker[i].use == USE_GIVEN_UP && w->worker[i].alive)
			return &w->worker[i];
	return NULL;
}

static struct worker *from_pool(struct world *w)
{
	struct worker *p;

	if (w->lie == LIE_TAKES_UP && given_up(w))
		return given_up(w);
	if (!w->pooled)
		return NULL;
	p = &w->worker[w->pool[0]];
	memmove(w->pool, w->pool + 1, --w->pooled * sizeof(*w->pool));
	return p;
}

void host_leases(struct world *w, unsigned arg)
{
	unsigned task = arg % WORLD_TASKS;
	struct worker *p;

	if (!w->task[task].id)
		return;
	p = from_pool(w);
	if (!p)
		p = fork_worker(w);
	if (!p)
		return;
	p->use = USE_LEASED;
	p->unused_ms = 0;
	p->task = task;
	p->fed = p->sent_all = p->leaves = false;
	p->more = arg & 8;
	if (w->habit.logs && w->habit.ports && !w->habit.unix_sockets)
		tell_ports(w, p);
}

void host_begins(struct world *w, unsigned arg)
{
	struct task *t = &w->task[arg % WORLD_TASKS];

	if (t->id)
		return;
	t->id = ++w->tasks;
	if (w->habit.brackets && w->lie != LIE_BEGINS_LATE)
		tell_task(w, MARKER_BEGIN, t->id);
}

void host_feeds(struct world *w, struct worker *p)
{
	if (p->use != USE_LEASED || p->fed || p->end != END_OPEN)
		return;
	p->fed = true;
	p->fed_ms = w->now;
	if (!p->alive)
		return;
	p->recv_queue += WORLD_SOME_BYTES;
	worker_moves(w, p);
}

void host_feeds_more(struct world *w, struct worker *p)
{
	if (p->use != USE_LEASED || !p->fed || !p->more || p->end != END_OPEN)
		return;
	p->more = false;
	if (!p->alive)
		return;
	p->recv_queue += WORLD_SOME_BYTES;
	worker_moves(w, p);
}

void host_reads(struct world *w, struct worker *p)
{
	if (p->use != USE_LEASED)
		return;
	if (p->send_queue)
		worker_moves(w, p);
	p->host_recv_queue = p->send_queue;
	p->send_queue = 0;
	if (p->alive && p->phase == PHASE_WRITE) {
		p->phase = PHASE_RUNNING;
		if (!worker_is_held(p))
			worker_ran(w, p);
	}
}

static void release(struct world *w, struct worker *p)
{
	p->use = USE_POOLED;
	p->more = false;
	w->pool[w->pooled++] = (unsigned)(p - w->worker);
	w->release_ms = w->now;
}

void host_takes_end(struct world *w, struct worker *p)
{
	if (p->use != USE_LEASED || !p->sent_all || p->host_recv_queue || p->send_queue)
		return;
	if (w->habit.reuses && !p->leaves && p->end == END_OPEN && p->alive)
		release(w, p);
	else
		hang_up(w, p);
}

void host_shuts(struct world *w, struct worker *p)
{
	if (p->use != USE_LEASED || p->end != END_OPEN)
		return;
	p->end = END_SHUT;
	p->fin_ms = w->now;
	p->more = false;
}

void host_ends(struct world *w, unsigned arg)
{
	struct task *t = &w->task[arg % WORLD_TASKS];

	if (!t->id)
		return;
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		struct worker *p = &w->worker[i];

		if (p->use != USE_LEASED || &w->task[p->task] != t)
			continue;
		if (arg & 8) {
			p->use = USE_GIVEN_UP;
			p->unused_ms = w->now;
			p->more = false;
		} else {
			hang_up(w, p);
		}
	}
	if (w->lie == LIE_BEGINS_LATE)
		tell_task(w, MARKER_BEGIN, t->id);
	tell_task(w, MARKER_END, t->id);
	t->id = 0;
}

void host_purges(struct world *w)
{
	for (unsigned i = 0; i < w->pooled; i++)
		hang_up(w, &w->worker[w->pool[i]]);
	w->pooled = 0;
}

/* The kernel closes what a process held. */
static void let_go(struct world *w)
{
	for (unsigned i = 0; i < WORLD_WORKERS; i++)
		if (!w->host_up && w->worker[i].end < END_CLOSED)
			close_end(w, &w->worker[i]);
		else if (w->worker[i].use == USE_CLOSED && w->worker[i].end < END_CLOSED)
			close_end(w, &w->worker[i]);
}

void host_dies(struct world *w, unsigned arg)
{
	if (!w->host_up)
		return;
	w->host_up = w->stopped = false;
	w->beat_at = UINT64_MAX;
	if (!w->child)
		w->child = arg & 8;
	if (!w->child)
		let_go(w);
}

void host_child(struct world *w)
{
	/* The first call begets one. */
	w->child = !w->child && w->host_up;
	if (!w->child)
		let_go(w);
}

void host_forks_daemon(struct world *w)
{
	if (w->daemon_up || !w->host_up || w->logs == WORLD_LOGS)
		return;
	for (unsigned i = 0; i < WORLD_WORKERS; i++)
		w->worker[i].left_group = true;
	if (w->stranger.pid == WORLD_DAEMON)
		w->stranger = (struct ident){ 0 };
	w->daemon_up = true;
	w->unshared = false;
	w->daemon.start = next_start(w);
	w->port--;
	tell_daemon(w);
}

void host_again(struct world *w)
{
	if (w->host_up || w->child || w->logs + 2 > WORLD_LOGS)
		return;
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		w->worker[i].use = USE_CLOSED;
		w->worker[i].more = false;
	}
	if (w->stranger.pid == WORLD_HOST)
		w->stranger = (struct ident){ 0 };
	memset(w->task, 0, sizeof(w->task));
	w->tasks = w->pooled = 0;
	w->host_up = true;
	w->daemon_up = false;
	w->host.start = next_start(w);
	w->purge_at = w->now + WORLD_PURGE_EVERY_MS;
	tell_host(w);
	host_forks_daemon(w);
}

void host_stranger(struct world *w, unsigned arg)
{
	bool host = arg & 8;

	if (!(host ? w->host_up : w->daemon_up))
		w->stranger = (struct ident){ host ? WORLD_HOST : WORLD_DAEMON, next_start(w) };
}

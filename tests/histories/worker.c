/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include "tell.h"

enum {
	RUN_NS = 20000000,
	HELD = (1 << KEPT_PASSING) - 1,
};

void worker_ran(struct world *w, struct worker *p)
{
	p->ran_ms = w->now;
	p->worked_ms = w->now;
	p->cpu_ns += RUN_NS;
	p->switches++;
}

void worker_moves(struct world *w, struct worker *p)
{
	p->byte_ms = w->now;
	p->worked_ms = w->now;
}

static void send_some(struct world *w, struct worker *p)
{
	if (p->end > END_SHUT)
		return;
	p->host_recv_queue += WORLD_SOME_BYTES;
	worker_moves(w, p);
}

/* Who has not read its input to the end can serve no other task. */
static void finish(struct world *w, struct worker *p, bool leaves)
{
	leaves |= p->more || p->recv_queue;
	send_some(w, p);
	p->sent_all = true;
	p->leaves = leaves;
	p->phase = leaves ? PHASE_SIGNED_OFF : PHASE_PROTOCOL;
}

static void block(struct world *w, struct worker *p, unsigned arg)
{
	if (arg & 4)
		send_some(w, p);
	p->phase = PHASE_POLL + arg / 8 % (PHASE_WRITE - PHASE_POLL + 1);
	if (p->phase == PHASE_WRITE && p->end <= END_SHUT)
		p->send_queue += WORLD_SOME_BYTES;
}

static bool has_end(const struct worker *p)
{
	return p->end != END_OPEN && !p->recv_queue;
}

static void take_input(struct world *w, struct worker *p, unsigned arg)
{
	p->recv_queue = 0;
	p->phase = PHASE_RUNNING;
	if (p->use == USE_LEASED && !(arg & 4))
		tell_binding(w, p);
}

void worker_dies(struct worker *p)
{
	p->alive = false;
	p->recv_queue = p->send_queue = 0;
}

bool worker_is_held(const struct worker *p)
{
	return p->kept & (1u << KEPT_STOPPED | 1u << KEPT_UNINTERRUPTIBLE | 1u << KEPT_DUMPING);
}

/* Who goes on has run; a core is dumped to the end, and that is its end. */
static void let_go_on(struct world *w, struct worker *p)
{
	if (p->kept & 1u << KEPT_DUMPING)
		worker_dies(p);
	else if (worker_is_held(p))
		worker_ran(w, p);
	p->kept &= ~(unsigned)HELD;
}

void worker_holds(struct world *w, struct worker *p, unsigned arg)
{
	if (!p->alive)
		return;
	if (p->kept & HELD)
		let_go_on(w, p);
	else
		p->kept |= 1u << arg / 8 % KEPT_PASSING;
}

void worker_steps(struct world *w, struct worker *p, unsigned arg)
{
	if (!p->alive || p->phase == PHASE_WRITE || worker_is_held(p))
		return;
	/* Nothing wakes it. */
	if ((p->phase == PHASE_PROTOCOL || p->phase == PHASE_SIGNED_OFF) && !p->recv_queue &&
	    !has_end(p))
		return;
	worker_ran(w, p);
	if (p->phase == PHASE_NEWBORN)
		p->phase = PHASE_PROTOCOL;
	else if (p->phase == PHASE_PROTOCOL && p->recv_queue)
		take_input(w, p, arg);
	else if (p->phase == PHASE_SIGNED_OFF && p->recv_queue)
		p->recv_queue = 0; /* it throws away what comes after its last byte */
	else if (p->phase == PHASE_PROTOCOL || p->phase == PHASE_SIGNED_OFF)
		worker_dies(p);
	else if (p->phase != PHASE_RUNNING)
		p->phase = PHASE_RUNNING;
	else if (arg & 128)
		finish(w, p, arg & 64);
	else
		block(w, p, arg);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/activity.h"

#include <string.h>

#include "base/macro.h"
#include "correlate/task_socket.h"
#include "correlate/wait.h"

enum {
	LOOKS_OF_A_LOOP = 3, /* that must show one same wait before it counts as one */
	JIFFY_MS = 10, /* at most: the unit in which TCP dates a byte (include/linux/jiffies.h) */
};

static bool same_wait(const struct evidence *e, const struct history_entry *b)
{
	return b->wait_known && wait_same(&e->main, !b->wchan[0], b->nr, b->sp, b->pc, b->wchan);
}

static bool moved(uint64_t now, uint64_t before)
{
	return now != before || now == UNKNOWN_U64;
}

/* Nobody was left to send a byte at the look before either; of another run the proof alone is known. */
static bool was_closed(const struct subject *s, const struct history_entry *b)
{
	if (s->socket.host_held != TRI_NO)
		return false;
	return b->before_known ? s->socket.ino == b->closed_ino
			       : b->fence_ms[FENCE_PEER_CLOSED] <= b->before_ms;
}

/* No byte can have come since: the connection says so, or nobody is left to send one. */
static bool silent_since(const struct subject *s, const struct history_entry *b, uint64_t since_ms)
{
	if (s->socket.silent_ms == UNKNOWN_U64)
		return was_closed(s, b);
	return s->socket.silent_ms >= s->socket.read_ms - since_ms + JIFFY_MS;
}

static bool main_moved(const struct evidence *e, const struct history_entry *b)
{
	return moved(e->main_cpu_ns, b->main_cpu_ns) || moved(e->main_switches, b->main_switches);
}

static bool queues_changed(const struct subject *s, const struct history_entry *b)
{
	return s->socket.recv_queue != b->recv_queue || s->socket.send_queue != b->send_queue;
}

/* The connection's clock tells of bytes that came and went, its queues of those that were read. */
static bool bytes_moved(const struct subject *s, const struct history_entry *b)
{
	if (s->socket.silent_ms != UNKNOWN_U64 && !silent_since(s, b, b->before_ms))
		return true;
	return queues_changed(s, b);
}

/* Nanoseconds in a millisecond are millionths of a core. */
static uint32_t cpu_rate(const struct evidence *e, const struct history_entry *b)
{
	if (e->cpu_ns == UNKNOWN_U64 || e->cpu_ns < b->cpu_ns || e->taken_ms <= b->before_ms)
		return UINT32_MAX;
	return (uint32_t)MIN((e->cpu_ns - b->cpu_ns) / (e->taken_ms - b->before_ms),
			     (uint64_t)UINT32_MAX - 1);
}

/* A main thread that wakes and goes back to the same wait has been in it since the first of at least
 * three looks that showed nothing else, neither a byte nor work. */
static bool is_loop(const struct subject *s, const struct history_entry *b, uint32_t cpu_ppm,
		    const struct policy *policy)
{
	return same_wait(&s->ev, b) && b->looks + 1 >= LOOKS_OF_A_LOOP &&
	       silent_since(s, b, b->wait_ms) && cpu_ppm < policy->idle_cpu_ppm;
}

static uint64_t blocked_for(const struct subject *s, const struct history_entry *b, bool loop)
{
	uint64_t known = s->ev.blocked_ms;

	if (!b || !same_wait(&s->ev, b))
		return known;
	if (loop)
		return known == UNKNOWN_U64 ? s->ev.taken_ms - b->wait_ms
					    : MAX(known, s->ev.taken_ms - b->wait_ms);
	/* Without the scheduler's own word: since the first look with the same counters. */
	if (known == UNKNOWN_U64 && b->before_known && !main_moved(&s->ev, b))
		return s->ev.taken_ms - b->still_ms;
	return known;
}

static enum tri progress_of(const struct correlate_input *in, const struct subject *s, bool loop,
			    uint32_t cpu_ppm)
{
	const struct history_entry *b = in->before;
	const struct evidence *e = &s->ev;

	if (!b || !b->before_known) {
		/* One look is enough where no thread has run for all the time that counts. */
		if (e->blocked_ms != UNKNOWN_U64 && e->others_blocked_ms != UNKNOWN_U64 &&
		    MIN(e->blocked_ms, e->others_blocked_ms) >= in->policy->timeout_ms)
			return TRI_NO;
		return TRI_UNKNOWN;
	}
	if ((main_moved(e, b) && !loop) || bytes_moved(s, b))
		return TRI_YES;
	if (cpu_ppm == UINT32_MAX)
		return TRI_UNKNOWN;
	return tri_of(cpu_ppm >= in->policy->idle_cpu_ppm);
}

void activity_facts(const struct correlate_input *in, const struct subject *s, struct facts *f)
{
	const struct history_entry *b = in->before;
	bool loop = false;

	f->asleep = s->ev.asleep;
	f->wait = wait_classify(&s->ev.main, &f->wait_forever);
	f->age_ms = s->ev.age_ms;
	f->cpu_ppm = UINT32_MAX;
	if (b && b->before_known)
		f->cpu_ppm = cpu_rate(&s->ev, b);
	if (b)
		loop = is_loop(s, b, f->cpu_ppm, in->policy);
	f->progress = progress_of(in, s, loop, f->cpu_ppm);
	f->blocked_ms = blocked_for(s, b, loop);
	f->silent_ms = s->socket.silent_ms != UNKNOWN_U64 ? s->socket.silent_ms : f->blocked_ms;
}
/* It served within the wait, or worked since the look before (of another run too), or may have, where
 * nothing tells of its bytes or of its CPU time: this is another wait, though in the same place. */
static bool has_worked(const struct policy *policy, const struct subject *s,
		       const struct history_entry *b)
{
	if (!silent_since(s, b, b->wait_ms))
		return true;
	if (b->before_known && (!silent_since(s, b, b->before_ms) || queues_changed(s, b)))
		return true;
	/* In no time nothing is done. */
	return s->ev.taken_ms != b->before_ms && cpu_rate(&s->ev, b) >= policy->idle_cpu_ppm;
}

static void remember_wait(const struct evidence *e, bool worked, uint64_t now_ms,
			  struct history_entry *b)
{
	bool same = same_wait(e, b) && !worked;

	if (!b->before_known || main_moved(e, b))
		b->still_ms = now_ms;
	if (same) {
		b->looks++;
		return;
	}
	b->wait_known = e->main.known || e->main.wchan[0];
	b->nr = e->main.nr;
	b->sp = e->main.sp;
	b->pc = e->main.pc;
	memset(b->wchan, 0, sizeof(b->wchan));
	if (!e->main.known)
		memcpy(b->wchan, e->main.wchan, sizeof(b->wchan));
	b->wait_ms = now_ms;
	b->looks = 1;
}

void activity_remember(const struct policy *policy, const struct subject *s, uint64_t now_ms,
		       struct history_entry *e)
{
	remember_wait(&s->ev, has_worked(policy, s, e), now_ms, e);
	e->before_known = true;
	e->before_ms = s->ev.taken_ms;
	e->main_cpu_ns = s->ev.main_cpu_ns;
	e->main_switches = s->ev.main_switches;
	e->cpu_ns = s->ev.cpu_ns;
	e->recv_queue = s->socket.recv_queue;
	e->send_queue = s->socket.send_queue;
}

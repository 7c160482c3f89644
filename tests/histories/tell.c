/* SPDX-License-Identifier: Apache-2.0 */
#include "tell.h"

#include <assert.h>
#include <string.h>

enum {
	LOST_ONE_IN = 16,
};

unsigned tell_dice(struct world *w, unsigned sides)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(w->seed >> 33) % sides;
}

static struct marker *write_record(struct world *w, unsigned log, enum marker_event event)
{
	struct record *r = &w->records[w->record_count++];

	assert(w->record_count < WORLD_RECORDS);
	*r = (struct record){ .log = log };
	r->marker = (struct marker){
		.unix_ms = w->now + w->wall,
		.event = event,
		.pool_timeout_ms = UNKNOWN_U64,
	};
	return &r->marker;
}

/* A record that is lost was written, as far as the host knows. */
static void lose_sometimes(struct world *w, enum marker_event event)
{
	if (!w->habit.lossy || event == MARKER_HOST || tell_dice(w, LOST_ONE_IN))
		return;
	w->record_count--;
	if (w->lie == LIE_LOSES_BEATS)
		w->written--;
}

void tell_task(struct world *w, enum marker_event event, unsigned id)
{
	struct marker *m;

	if (!w->habit.logs)
		return;
	m = write_record(w, w->host_log, event);
	(void)snprintf(m->task, sizeof(m->task), "%u", id);
	w->written++;
	lose_sometimes(w, event);
}

void tell_worker(struct world *w, enum marker_event event, const struct worker *p)
{
	write_record(w, w->host_log, event)->worker = p->id;
	w->written++;
	lose_sometimes(w, event);
}

void tell_ports(struct world *w, const struct worker *p)
{
	struct marker *m = write_record(w, w->host_log, MARKER_BEGIN);

	(void)snprintf(m->task, sizeof(m->task), "%u", w->task[p->task].id);
	m->lport = (uint16_t)(WORLD_PORT + p->serial + 1);
	m->dport = p->port;
	w->written++;
	lose_sometimes(w, MARKER_BEGIN);
}

void tell_binding(struct world *w, const struct worker *p)
{
	struct marker *m = write_record(w, w->daemon_log, MARKER_BEGIN);

	(void)snprintf(m->task, sizeof(m->task), "%u", w->task[p->task].id);
	m->worker = p->id;
}

static void identify(struct marker *m)
{
	memcpy(m->boot, WORLD_BOOT, sizeof(WORLD_BOOT));
	m->pid_ns = 1;
}

void tell_host(struct world *w)
{
	struct marker *m;

	w->host_log = w->logs++;
	w->written = 0;
	if (!w->habit.logs)
		return;
	m = write_record(w, w->host_log, MARKER_HOST);
	identify(m);
	m->host = w->host;
	memcpy(m->class_name, "pyspark", sizeof("pyspark"));
	m->tasks_all = w->habit.brackets;
	m->pool = w->habit.reports ? POOL_REPORTED : POOL_UNKNOWN;
	if (!w->habit.reuses || w->lie == LIE_REUSES)
		m->pool = POOL_NONE;
	w->written = 1;
}

void tell_daemon(struct world *w)
{
	struct marker *m;

	w->daemon_log = w->logs++;
	m = write_record(w, w->daemon_log, MARKER_DAEMON);
	identify(m);
	m->daemon = w->daemon;
}

/* Pool and leases are read at one moment, and written a little later. */
void tell_begin_beat(struct world *w, uint64_t delay_ms)
{
	memcpy(w->listed, w->worker, sizeof(w->listed));
	w->beat_at = w->now + delay_ms;
}

static bool is_listed(const struct world *w, enum use use)
{
	if (use == USE_POOLED)
		return w->lie != LIE_HIDES_POOL;
	return use == USE_LEASED && w->lie != LIE_HIDES_LEASE;
}

void tell_beat(struct world *w)
{
	w->beat_at = UINT64_MAX;
	if (!w->habit.logs)
		return;
	for (unsigned i = 0; w->habit.reports && i < WORLD_WORKERS; i++)
		if (is_listed(w, w->listed[i].use))
			tell_worker(w,
				    w->listed[i].use == USE_POOLED ? MARKER_POOLED : MARKER_LEASED,
				    &w->listed[i]);
	write_record(w, w->host_log, MARKER_BEAT)->n = w->written;
	w->written = 0;
}

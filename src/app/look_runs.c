/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/grow.h"

enum {
	RUNS_MAX = 16384, /* moments at which one host was seen running */
	RUN_APART_MS = 1000,
};

/* When one host was seen to run: its CPU clock had advanced and it was not stopped. */
struct host_runs {
	struct ident id;
	uint64_t cpu_ns;
	uint64_t *wall_ms; /* owned; sorted */
	size_t count;
	size_t room;
	bool seen; /* by this look */
};

static void run_clear(struct host_runs *r)
{
	free(r->wall_ms);
	*r = (struct host_runs){ 0 };
}

void look_runs_free(struct look *l)
{
	for (size_t i = 0; i < l->run_count; i++)
		run_clear(&l->runs[i]);
	free(l->runs);
	l->runs = NULL;
	l->run_count = 0;
}

static struct host_runs *find_runs(const struct look *l, struct ident id)
{
	for (size_t i = 0; i < l->run_count; i++)
		if (ident_equal(l->runs[i].id, id))
			return &l->runs[i];
	return NULL;
}

static int add_run(struct host_runs *r, uint64_t wall_ms)
{
	uint64_t *more;

	if (r->count && wall_ms < r->wall_ms[r->count - 1])
		r->count = 0; /* the clock went back: no age counts across that */
	if (r->count && wall_ms < r->wall_ms[r->count - 1] + RUN_APART_MS)
		return 0;
	if (r->count == RUNS_MAX)
		memmove(r->wall_ms, r->wall_ms + 1, --r->count * sizeof(*r->wall_ms));
	more = grow(r->wall_ms, r->count, &r->room, sizeof(*more), RUNS_MAX);
	if (!more)
		return -ENOMEM;
	r->wall_ms = more;
	more[r->count++] = wall_ms;
	return 0;
}

static int watch_host(struct look *l, const struct audit *a, const struct host *h)
{
	const struct proc *p = snapshot_find(&a->snapshot, h->id.pid);
	struct host_runs *r = find_runs(l, h->id);
	uint64_t cpu_ns = cpu_clock_process_ns(h->id.pid);
	bool ran;

	if (!r) {
		size_t room = l->run_count; /* one by one: a machine has few hosts */

		r = grow(l->runs, l->run_count, &room, sizeof(*r), PROC_COUNT_MAX);
		if (!r)
			return -ENOMEM;
		l->runs = r;
		r = &r[l->run_count++];
		r->id = h->id;
		r->cpu_ns = cpu_ns;
		r->seen = true;
		return 0;
	}
	ran = cpu_ns != UNKNOWN_U64 && r->cpu_ns != UNKNOWN_U64 && cpu_ns > r->cpu_ns;
	r->cpu_ns = cpu_ns;
	r->seen = true;
	if (p && (p->state == 'T' || p->state == 't'))
		r->count = 0; /* a stopped host purges nothing: begin again */
	return ran ? add_run(r, a->wall_ms) : 0;
}

int look_runs_note(struct look *l, const struct audit *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->host_count; i++)
		if (watch_host(l, a, &a->hosts[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < l->run_count; i++) {
		if (l->runs[i].seen) {
			l->runs[kept] = l->runs[i];
			l->runs[kept++].seen = false;
		} else {
			run_clear(&l->runs[i]);
		}
	}
	l->run_count = kept;
	return 0;
}

const uint64_t *look_runs_of(const struct look *l, struct ident host, size_t *ret_count)
{
	const struct host_runs *r = find_runs(l, host);

	*ret_count = r ? r->count : 0;
	return r ? r->wall_ms : NULL;
}

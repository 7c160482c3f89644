/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/writers.h"

#include "base/macro.h"

enum {
	SLACK_MS = 1000, /* the times of two processes are read one after the other, in ticks */
};

static uint64_t ago(const struct evidence *e, uint64_t ms)
{
	return e->taken_ms - MIN(ms, e->taken_ms);
}

enum tri writers_may_write(const struct audit *a, const struct subject *worker)
{
	const struct evidence *e = &worker->ev;
	const struct writers *w;
	uint64_t ran_ms = UNKNOWN_U64;

	if (worker->host < 0 || !a->hosts[worker->host].writers.known)
		return TRI_UNKNOWN;
	if (e->blocked_ms != UNKNOWN_U64)
		ran_ms = ago(e, e->blocked_ms) + SLACK_MS;
	w = &a->hosts[worker->host].writers;
	for (size_t i = 0; i < w->count; i++)
		if (w->began_ms[i] + SLACK_MS >= ago(e, e->age_ms) && w->began_ms[i] <= ran_ms)
			return TRI_YES;
	return TRI_NO;
}

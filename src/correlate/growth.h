/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose memory grows, and when it will run into a limit: a bounded history of each process that is
 * followed, and the judgement of it. Pure: times are the boot clock's, handed in.
 *
 * A process grows when some stretch that ends now, at least `after_ms` long, shows all of this:
 *
 * - the slope of RssAnon (the median of the slopes between any two samples: one wild sample moves it
 *   little) is above zero even at the lower end of its 99 % confidence interval: no noise;
 * - the least of each quarter of it lies above the least of the quarter before, by at least half as
 *   much as where it rose most: no step, no warm-up that levels off, and no garbage collector's teeth
 *   that come back to the same floor;
 * - the last quarter goes higher than all that was seen before the stretch, by the same measure: no
 *   slow tooth of which the stretch is but the rise.
 *
 * Of several such stretches, each at least twice as long as the one before, the shortest counts.
 */
#ifndef REAPER_CORRELATE_GROWTH_H
#define REAPER_CORRELATE_GROWTH_H

#include "base/macro.h"
#include "model/memory.h"

enum {
	GROWTH_SAMPLES_MIN = 8,  /* two for each quarter; fewer bear no confidence interval */
	GROWTH_SPACING_MS = 500, /* a sample that follows sooner says nothing new */
};

struct growth {
	struct memory_series *series; /* owned; by identity */
	size_t count;
	size_t room;
};

/** Finds a process. @return its series, owned by g, valid until the next growth_note(); or NULL. */
const struct memory_series *growth_find(const struct growth *g, struct ident id);

/**
 * Adds a sample. With all its room in use a series first gives up one: that without which the gap is
 * the narrowest beside its age. So the newest stay close together, the first is never given up, and a
 * look back over any time finds a like number of them. The least and the most of what is given up are
 * kept in the next. A sample that is not known, comes too soon, or is later than MEMORY_MS_MAX is left
 * out; so is a process more than MEMORY_SERIES_MAX.
 *
 * @param now_ms	of this look: what growth_prune() asks for.
 * @return 0; -ENOMEM.
 */
int growth_note(struct growth *g, struct ident id, const struct memory_sample *sample,
		uint64_t now_ms) _must_check_;

/** Forgets every process that was not noted at now_ms. */
void growth_prune(struct growth *g, uint64_t now_ms);

/**
 * Judges a series.
 *
 * @param after_ms	for so long at least it must have grown.
 * @return its trend; where it does not grow the slopes are those of the shortest stretch.
 */
struct memory_trend growth_judge(const struct memory_series *s, uint64_t after_ms);

/** @return how long until so many bytes are used up; UNKNOWN_U64: it does not grow, or nobody knows. */
uint64_t growth_until(const struct memory_trend *t, const struct memory_limit *limit);

/** Frees what it holds and makes it empty. */
void growth_done(struct growth *g);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/growth.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/grow.h"

enum {
	QUARTERS = 4,
	MS_PER_S = 1000,
	PAIRS_MAX = MEMORY_SAMPLES_MAX * (MEMORY_SAMPLES_MAX - 1) / 2,
	/* Of the normal distribution: 99 % lie within 2.58 standard deviations. */
	CONFIDENCE_PERCENT = 258,
	PERCENT = 100,
	RISE_PART = 2, /* of the greatest rise, which each quarter has to reach */
};
#define UNTIL_MAX_MS (UINT64_C(100) * 365 * 24 * 3600 * MS_PER_S) /* a time that nobody plans for */
static_assert((int)GROWTH_SAMPLES_MIN >= 2 * (int)QUARTERS, "two samples for each quarter");

/* ---- what is kept ---- */

/* The first series whose identity is not less. */
static size_t place(const struct growth *g, struct ident id)
{
	size_t at = 0;

	while (at < g->count && ident_compare(g->series[at].id, id) < 0)
		at++;
	return at;
}

const struct memory_series *growth_find(const struct growth *g, struct ident id)
{
	size_t at = place(g, id);

	return at < g->count && ident_equal(g->series[at].id, id) ? &g->series[at] : NULL;
}

static int insert(struct growth *g, size_t at, struct ident id)
{
	struct memory_series *series =
		grow(g->series, g->count, &g->room, sizeof(*series), MEMORY_SERIES_MAX);

	if (!series)
		return -ENOMEM;
	g->series = series;
	memmove(&series[at + 1], &series[at], (g->count - at) * sizeof(*series));
	memset(&series[at], 0, sizeof(*series));
	series[at].id = id;
	g->count++;
	return 0;
}

/* How wide the gap would be without a sample, beside its age. */
static double gap_without(const struct memory_series *s, size_t i)
{
	uint64_t gap_ms = s->sample[i + 1].ms - s->sample[i - 1].ms;
	uint64_t age_ms = s->sample[s->count - 1].ms - s->sample[i].ms;

	return (double)gap_ms / (double)age_ms;
}

/* Gives up the sample that is missed the least; the next one keeps what it says of least and most. */
static void thin_out(struct memory_series *s)
{
	struct memory_sample *gone, *next;
	size_t least = 1;

	for (size_t i = 2; i + 1 < s->count; i++)
		if (gap_without(s, i) < gap_without(s, least))
			least = i;
	gone = &s->sample[least];
	next = &s->sample[least + 1];
	next->least_bytes = MIN(next->least_bytes, gone->least_bytes);
	next->most_bytes = MAX(next->most_bytes, gone->most_bytes);
	s->count--;
	memmove(gone, next, (s->count - least) * sizeof(*gone));
}

static bool is_new(const struct memory_series *s, const struct memory_sample *sample)
{
	const struct memory_sample *last;

	if (sample->ms > MEMORY_MS_MAX || sample->vm_bytes > MEMORY_BYTES_MAX ||
	    sample->most_bytes > MEMORY_BYTES_MAX || sample->anon_bytes > sample->most_bytes ||
	    sample->least_bytes > sample->anon_bytes)
		return false;
	if (!s->count)
		return true;
	last = &s->sample[s->count - 1];
	return sample->ms > last->ms && sample->ms - last->ms >= GROWTH_SPACING_MS;
}

int growth_note(struct growth *g, struct ident id, const struct memory_sample *sample,
		uint64_t now_ms)
{
	size_t at = place(g, id);
	struct memory_series *s;

	if (at == g->count || !ident_equal(g->series[at].id, id)) {
		if (g->count == MEMORY_SERIES_MAX)
			return 0;
		if (insert(g, at, id) < 0)
			return -ENOMEM;
	}
	s = &g->series[at];
	s->touched_ms = now_ms;
	if (!is_new(s, sample))
		return 0;
	if (s->count == MEMORY_SAMPLES_MAX)
		thin_out(s);
	s->sample[s->count++] = *sample;
	return 0;
}

void growth_prune(struct growth *g, uint64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (g->series[i].touched_ms != now_ms)
			continue;
		if (kept != i)
			g->series[kept] = g->series[i];
		kept++;
	}
	g->count = kept;
}

void growth_done(struct growth *g)
{
	free(g->series);
	memset(g, 0, sizeof(*g));
}

/* ---- what is made of it ---- */

/* Some last samples of a series. */
struct stretch {
	const struct memory_sample *sample;
	size_t count;
};

static uint64_t length(const struct stretch *w)
{
	return w->sample[w->count - 1].ms - w->sample[0].ms;
}

enum measure {
	MEASURE_VM,
	MEASURE_ANON,
};

static double bytes_of(const struct memory_sample *s, enum measure measure)
{
	return (double)(measure == MEASURE_VM ? s->vm_bytes : s->anon_bytes);
}

static int compare_slopes(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* All slopes between two samples, in order, as bytes per second. */
static size_t slopes_of(const struct stretch *w, enum measure measure, double ret[PAIRS_MAX])
{
	size_t pairs = 0;

	for (size_t i = 1; i < w->count; i++)
		for (size_t j = 0; j < i; j++) {
			double bytes =
				bytes_of(&w->sample[i], measure) - bytes_of(&w->sample[j], measure);

			ret[pairs++] =
				bytes * MS_PER_S / (double)(w->sample[i].ms - w->sample[j].ms);
		}
	qsort(ret, pairs, sizeof(*ret), compare_slopes);
	return pairs;
}

/* The middle one (Theil and Sen). */
static int64_t median(const double *slopes, size_t count)
{
	return (int64_t)((slopes[(count - 1) / 2] + slopes[count / 2]) / 2);
}

/*
 * The lower end of the confidence interval of that slope (Sen 1968): the order statistic that lies
 * half of z standard deviations of Kendall's S below the middle; the variance of S is
 * n (n - 1) (2 n + 5) / 18. With 8 samples it is the third least of 28.
 */
static double lower_bound(const double *slopes, size_t pairs, size_t samples)
{
	const uint64_t variance_18 = samples * (samples - 1) * (2 * samples + 5);
	const uint64_t square = UINT64_C(1) * CONFIDENCE_PERCENT * CONFIDENCE_PERCENT * variance_18;
	const uint64_t unit = UINT64_C(18) * PERCENT * PERCENT;
	uint64_t width = 0;

	while (width * width * unit < square)
		width++;
	return slopes[(pairs - width) / 2 - 1];
}

/* Least and most of each quarter of a stretch. */
struct quarter {
	size_t count;
	double floor, peak;
};

static void quarters_of(const struct stretch *w, struct quarter ret[QUARTERS])
{
	memset(ret, 0, QUARTERS * sizeof(*ret));
	for (size_t i = 0; i < w->count; i++) {
		uint64_t at_ms = w->sample[i].ms - w->sample[0].ms;
		/* One more: so the very last is of the last quarter. */
		struct quarter *q = &ret[at_ms * QUARTERS / (length(w) + 1)];
		/* What the first says of the time before it is not of this stretch. */
		uint64_t least = i ? w->sample[i].least_bytes : w->sample[i].anon_bytes;

		q->floor = q->count ? MIN(q->floor, (double)least) : (double)least;
		q->peak = MAX(q->peak, (double)w->sample[i].most_bytes);
		q->count++;
	}
}

/* By how much each floor has to lie above the one before; 0: of one of them nothing is known, or none
 * rises. */
static double rise_of(const struct quarter q[QUARTERS])
{
	double most = 0;

	for (size_t i = 0; i < QUARTERS; i++) {
		if (!q[i].count)
			return 0;
		if (i)
			most = MAX(most, q[i].floor - q[i - 1].floor);
	}
	return most / RISE_PART;
}

static bool floors_rise(const struct quarter q[QUARTERS], double by)
{
	for (size_t i = 1; i < QUARTERS; i++)
		if (q[i].floor < q[i - 1].floor + by)
			return false;
	return true;
}

static bool passed_its_past(const struct memory_series *s, const struct stretch *w, double by,
			    double peak)
{
	for (const struct memory_sample *at = s->sample; at < w->sample; at++)
		if (peak < (double)at->most_bytes + by)
			return false;
	return true;
}

static bool is_above_noise(const struct stretch *w)
{
	double slopes[PAIRS_MAX] = { 0 };
	size_t pairs = slopes_of(w, MEASURE_ANON, slopes);

	return lower_bound(slopes, pairs, w->count) > 0;
}

/* What is cheap to ask comes first: hardly anything gets past it. */
static bool is_growth(const struct memory_series *s, const struct stretch *w)
{
	struct quarter q[QUARTERS];
	double by;

	quarters_of(w, q);
	by = rise_of(q);
	return by > 0 && floors_rise(q, by) && passed_its_past(s, w, by, q[QUARTERS - 1].peak) &&
	       is_above_noise(w);
}

/* The shortest stretch that ends now, is so long, and has the samples that a judgement needs. */
static bool find_stretch(const struct memory_series *s, uint64_t ms, struct stretch *ret)
{
	for (size_t count = GROWTH_SAMPLES_MIN; count <= s->count; count++) {
		*ret = (struct stretch){ &s->sample[s->count - count], count };
		if (length(ret) >= ms)
			return true;
	}
	return false;
}

static struct memory_trend trend_of(enum tri growing, const struct stretch *w)
{
	struct memory_trend t = { .growing = growing, .window_ms = length(w) };
	double slopes[PAIRS_MAX] = { 0 };
	size_t pairs = slopes_of(w, MEASURE_ANON, slopes);

	t.anon_per_s = median(slopes, pairs);
	pairs = slopes_of(w, MEASURE_VM, slopes);
	t.vm_per_s = median(slopes, pairs);
	return t;
}

struct memory_trend growth_judge(const struct memory_series *s, uint64_t after_ms)
{
	struct stretch shortest, w;

	if (!find_stretch(s, after_ms, &shortest))
		return (struct memory_trend){ .growing = TRI_UNKNOWN };
	w = shortest;
	do {
		if (is_growth(s, &w))
			return trend_of(TRI_YES, &w);
	} while (find_stretch(s, 2 * length(&w), &w));
	return trend_of(TRI_NO, &shortest);
}

uint64_t growth_until(const struct memory_trend *t, const struct memory_limit *limit)
{
	double ms;

	if (t->growing != TRI_YES || t->anon_per_s <= 0 || limit->of == MEMORY_LIMIT_UNKNOWN)
		return UNKNOWN_U64;
	ms = (double)limit->room_bytes * MS_PER_S / (double)t->anon_per_s;
	return ms < (double)UNTIL_MAX_MS ? (uint64_t)ms : UNKNOWN_U64;
}

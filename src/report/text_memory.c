/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_memory.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/words.h"

enum {
	MEMORY_INDENT = 2,
	MEMORY_COLUMN = 17, /* as in the section of evidence */
	CURVE_COLUMNS = 60,
	CURVE_LEVELS = 8,
};

/* By how full they look. */
static const char *const blocks[CURVE_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const marks[CURVE_LEVELS] = { "_", ".", ":", "-", "=", "+", "*", "#" };

enum series {
	SERIES_ANON,
	SERIES_VM,
};

static uint64_t value_of(const struct memory_sample *s, enum series series)
{
	return series == SERIES_ANON ? s->anon_bytes : s->vm_bytes;
}

static void label(struct lines *l, const char *name)
{
	line_pad(l, MEMORY_INDENT);
	line_text(l, name);
	line_pad(l, MEMORY_COLUMN);
}

static uint64_t most_of(const struct memory_series *s, enum series series)
{
	uint64_t most = 1;

	for (size_t i = 0; i < s->count; i++)
		most = MAX(most, value_of(&s->sample[i], series));
	return most;
}

/* A column for each like part of the time, from nothing to its most: what was the last known then. */
static void curve(struct lines *l, const struct memory_series *s, enum series series)
{
	const char *const *levels = l->style->utf8 ? blocks : marks;
	uint64_t from = s->sample[0].ms, time = s->sample[s->count - 1].ms - from;
	uint64_t most = most_of(s, series);
	size_t at = 0;

	if (s->count < 2)
		return;
	line_pad(l, MEMORY_COLUMN);
	for (uint64_t column = 0; column < CURVE_COLUMNS; column++) {
		uint64_t until = from + time * column / (CURVE_COLUMNS - 1);
		double part;

		while (at + 1 < s->count && s->sample[at + 1].ms <= until)
			at++;
		part = (double)value_of(&s->sample[at], series) / (double)most;
		line_text(l, levels[(size_t)(part * (CURVE_LEVELS - 1) + 0.5)]);
	}
	line_end(l);
}

static void say_series(struct lines *l, const struct memory *m, enum series series)
{
	const struct memory_series *s = &m->series;
	char first[WORDS_SHORT_MAX], last[WORDS_SHORT_MAX], rate[WORDS_SHORT_MAX + 4];
	int64_t per_s = series == SERIES_ANON ? m->trend.anon_per_s : m->trend.vm_per_s;

	label(l, series == SERIES_ANON ? "RssAnon" : "VmSize");
	line_printf(l, "%s, then %s",
		    words_size(value_of(&s->sample[0], series), first, sizeof(first)),
		    words_size(value_of(&s->sample[s->count - 1], series), last, sizeof(last)));
	if (m->trend.window_ms)
		line_printf(l, ", lately %s", words_rate(per_s, rate, sizeof(rate)));
	line_end(l);
	curve(l, s, series);
}

static void say_looks(struct lines *l, const struct memory *m)
{
	const struct memory_series *s = &m->series;
	char time[WORDS_SHORT_MAX], window[WORDS_SHORT_MAX];

	label(l, "looks");
	line_printf(l, "%zu kept, over %s", s->count,
		    words_age(s->sample[s->count - 1].ms - s->sample[0].ms, time, sizeof(time)));
	if (m->trend.growing == TRI_YES)
		line_printf(l, "; it has grown for %s",
			    words_age(m->trend.window_ms, window, sizeof(window)));
	else
		line_text(l, m->trend.growing == TRI_NO ? "; it does not grow"
							: "; too few to say whether it grows");
	line_end(l);
}

static void say_limit(struct lines *l, const struct memory *m)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	char limit[WORDS_MAX], room[WORDS_SHORT_MAX], age[WORDS_SHORT_MAX];

	buf_str(&text, words_limit(&m->limit, limit));
	if (m->limit.of != MEMORY_LIMIT_UNKNOWN)
		buf_printf(&text, ", %s are left",
			   words_size(m->limit.room_bytes, room, sizeof(room)));
	if (m->until_limit_ms != UNKNOWN_U64)
		buf_printf(&text, ", used up in %s",
			   words_age(m->until_limit_ms, age, sizeof(age)));
	label(l, "limit");
	line_wrap(l, text.failed ? "" : text.bytes, "", MEMORY_COLUMN);
	line_end(l);
	l->out->failed |= text.failed;
}

static void say_victim(struct lines *l, const struct audit *a, const struct subject *s)
{
	char text[2 * WORDS_MAX], victim[WORDS_MAX];

	(void)snprintf(text, sizeof(text), "would now take %s; oom_score %" PRIu32,
		       words_victim(a, s, victim), s->memory->victim.oom_score);
	label(l, "OOM killer");
	line_wrap(l, text, "", MEMORY_COLUMN);
	line_end(l);
}

void text_memory(struct lines *l, const struct audit *a, const struct subject *s)
{
	const struct memory *m = s->memory;

	say_looks(l, m);
	say_series(l, m, SERIES_ANON);
	say_series(l, m, SERIES_VM);
	say_limit(l, m);
	if (m->victim.id.pid)
		say_victim(l, a, s);
}

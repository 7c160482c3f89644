/* SPDX-License-Identifier: Apache-2.0 */
#include "app/memory_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "app/state_file.h"

#define FILE_NAME "memory"
#define HEADER    "reaper-memory/1 boot="

enum {
	LINE_FIELDS = 7,
};

/* A sample that is not kept (too soon after the last, too many of one process, too many processes)
 * was not written by us. */
static int add_sample(struct growth *g, struct ident id, const struct memory_sample *sample)
{
	const struct memory_series *s = growth_find(g, id);
	size_t before = s ? s->count : 0;
	int r;

	if (before == MEMORY_SAMPLES_MAX ||
	    (g->count && ident_compare(g->series[g->count - 1].id, id) > 0))
		return -EINVAL;
	r = growth_note(g, id, sample, sample->ms);
	if (r < 0)
		return r;
	s = growth_find(g, id);
	return s && s->count == before + 1 ? 0 : -EINVAL;
}

/* sample <pid>:<start> <boottime_ms> <vm> <anon> <least> <most> */
static int parse_sample(void *arg, const struct state_fields *f)
{
	struct memory_sample sample;
	struct ident id;

	if (f->count != LINE_FIELDS || strcmp(f->field[0], "sample") ||
	    state_file_ident(f->field[1], &id) || state_file_u64(f->field[2], &sample.ms) ||
	    state_file_u64(f->field[3], &sample.vm_bytes) ||
	    state_file_u64(f->field[4], &sample.anon_bytes) ||
	    state_file_u64(f->field[5], &sample.least_bytes) ||
	    state_file_u64(f->field[6], &sample.most_bytes))
		return -EINVAL;
	return add_sample(arg, id, &sample);
}

int memory_file_parse(const char *bytes, size_t len, const char *boot_id, struct growth *g)
{
	int r = state_file_parse(bytes, len, HEADER, boot_id, MEMORY_FILE_LINES_MAX, parse_sample,
				 g);

	if (r < 0)
		growth_done(g);
	return r;
}

static void format_sample(struct ident id, const struct memory_sample *s, struct buf *ret)
{
	buf_printf(ret,
		   "sample %d:%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		   "\n",
		   (int)id.pid, id.start, s->ms, s->vm_bytes, s->anon_bytes, s->least_bytes,
		   s->most_bytes);
}

void memory_file_format(const struct growth *g, const char *boot_id, struct buf *ret)
{
	buf_printf(ret, HEADER "%s\n", boot_id);
	for (size_t i = 0; i < g->count; i++) {
		const struct memory_series *s = &g->series[i];

		for (size_t n = 0; n < s->count; n++)
			format_sample(s->id, &s->sample[n], ret);
	}
}

static bool speaks_of_the_future(const struct growth *g, uint64_t now_ms)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->series[i].touched_ms > now_ms)
			return true;
	return false;
}

int memory_file_load(const char *state_dir, const char *boot_id, uint64_t now_ms, struct growth *g)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len = 0;
	int r = state_file_read(state_dir, FILE_NAME,
				(size_t)MEMORY_FILE_LINES_MAX * STATE_LINE_MAX, &bytes, &len);

	if (!r)
		r = memory_file_parse(bytes, len, boot_id, g);
	if (!r && speaks_of_the_future(g, now_ms))
		growth_done(g);
	return r == -ENOMEM ? r : 0;
}

int memory_file_save(const char *state_dir, const char *boot_id, const struct growth *g)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	memory_file_format(g, boot_id, &text);
	return state_file_write(state_dir, FILE_NAME, &text);
}

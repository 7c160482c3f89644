/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_rows.h"

static struct jsonw samples(const struct audit *a, const struct memory_series *s)
{
	struct jsonw list = jsonw_list();

	for (size_t i = 0; i < s->count; i++) {
		const struct memory_sample *one = &s->sample[i];
		struct jsonw row = jsonw_list();

		jsonw_push_int(&row, (int64_t)(a->boot_ms - MIN(one->ms, a->boot_ms)));
		jsonw_push_int(&row, (int64_t)one->vm_bytes);
		jsonw_push_int(&row, (int64_t)one->anon_bytes);
		jsonw_push(&list, &row);
	}
	return list;
}

static void add_victim(struct jsonw *row, const struct audit *a, const struct oom_candidate *c)
{
	const struct subject *s = audit_find(a, c->id.pid);
	struct jsonw victim;

	if (!c->id.pid) {
		jsonw_null(row, "kernel_would_kill");
		return;
	}
	victim = jsonw_object();
	jsonw_int(&victim, "pid", c->id.pid);
	jsonw_u64(&victim, "start", c->id.start);
	jsonw_str(&victim, "comm", c->comm);
	jsonw_str(&victim, "label", s && s->label[0] ? s->label : NULL);
	jsonw_int(&victim, "oom_score", c->oom_score);
	jsonw_add(row, "kernel_would_kill", &victim);
}

static void add_slope(struct jsonw *row, const char *key, const struct memory_trend *t,
		      int64_t per_s)
{
	if (t->window_ms)
		jsonw_int(row, key, per_s);
	else
		jsonw_null(row, key);
}

void json_rows_memory(struct jsonw *row, const struct audit *a, const struct subject *s)
{
	const struct memory *m = s->memory;
	struct jsonw memory, list;
	bool limited;

	if (!m) {
		jsonw_null(row, "memory");
		return;
	}
	memory = jsonw_object();
	list = samples(a, &m->series);
	limited = m->limit.of != MEMORY_LIMIT_UNKNOWN;
	jsonw_add(&memory, "samples", &list);
	jsonw_tri(&memory, "growing", m->trend.growing);
	jsonw_u64(&memory, "window_ms", m->trend.window_ms ? m->trend.window_ms : UNKNOWN_U64);
	add_slope(&memory, "slope_bytes_per_s", &m->trend, m->trend.anon_per_s);
	add_slope(&memory, "vm_slope_bytes_per_s", &m->trend, m->trend.vm_per_s);
	jsonw_str(&memory, "limit_of", memory_limit_name(m->limit.of));
	jsonw_str(&memory, "limit_cgroup", m->limit.cgroup[0] ? m->limit.cgroup : NULL);
	jsonw_u64(&memory, "limit_bytes", limited ? m->limit.limit_bytes : UNKNOWN_U64);
	jsonw_u64(&memory, "room_bytes", limited ? m->limit.room_bytes : UNKNOWN_U64);
	jsonw_u64(&memory, "until_limit_ms", m->until_limit_ms);
	add_victim(&memory, a, &m->victim);
	jsonw_add(row, "memory", &memory);
}

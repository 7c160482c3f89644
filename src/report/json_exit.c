/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_exit.h"

#include "report/words.h"

static void add_pid(struct jsonw *row, const char *key, pid_t pid)
{
	if (pid)
		jsonw_int(row, key, pid);
	else
		jsonw_null(row, key);
}

static void add_group(struct jsonw *row, const struct exit_record *x)
{
	jsonw_str(row, "role", role_name(x->role));
	jsonw_str(row, "class", x->class_name[0] ? x->class_name : NULL);
	jsonw_str(row, "label", x->label[0] ? x->label : NULL);
	add_pid(row, "daemon", x->daemon.pid);
	add_pid(row, "host", x->host.pid);
}

static void add_number(struct jsonw *row, const char *key, const struct ending *ending,
		       enum ending_how how)
{
	if (ending->how == how)
		jsonw_int(row, key, ending->number);
	else
		jsonw_null(row, key);
}

static uint64_t wall_of(uint64_t at_ms, uint64_t wall_ms, uint64_t boot_ms)
{
	return wall_ms - (boot_ms - at_ms);
}

void json_exit_record(struct jsonw *row, const struct event *e)
{
	const struct exit_record *x = e->exit;
	char why[WORDS_MAX];

	jsonw_int(row, "pid", x->id.pid);
	jsonw_u64(row, "start", x->id.start);
	add_group(row, x);
	jsonw_str(row, "how", ending_how_name(x->ending.how));
	add_number(row, "code", &x->ending, ENDING_CODE);
	add_number(row, "signal", &x->ending, ENDING_SIGNAL);
	jsonw_str(row, "signal_name",
		  x->ending.how == ENDING_SIGNAL ? ending_signal_name(x->ending.number) : NULL);
	jsonw_tri(row, "core_dumped", x->ending.core);
	jsonw_bool(row, "counts", x->counts);
	jsonw_u64(row, "ended", wall_of(x->at_ms, e->wall_ms, e->boot_ms));
	jsonw_u64(row, "age_ms", x->lived_ms);
	jsonw_str(row, "why", words_exit(x, why));
}

void json_exit_loop(struct jsonw *row, const struct event *e)
{
	char why[WORDS_MAX];

	add_group(row, e->exit);
	json_exit_crashes(row, e->crashes, e->wall_ms, e->boot_ms);
	jsonw_str(row, "why", words_crashes(e->crashes, why));
}

static void add_signals(struct jsonw *exits, const struct crashes *c)
{
	struct jsonw list = jsonw_list();
	struct crash_signal signals[CRASHES_MAX];
	size_t count = crashes_signals(c, signals);

	for (size_t i = 0; i < count; i++) {
		struct jsonw row = jsonw_object();

		jsonw_int(&row, "signal", signals[i].signal);
		jsonw_str(&row, "name", ending_signal_name(signals[i].signal));
		jsonw_int(&row, "count", signals[i].count);
		jsonw_push(&list, &row);
	}
	jsonw_add(exits, "by_signal", &list);
}

static void add_times(struct jsonw *exits, const struct crashes *c, uint64_t wall_ms,
		      uint64_t boot_ms)
{
	struct jsonw times = jsonw_list(), between = jsonw_list();

	for (size_t i = 0; i < c->count; i++) {
		uint64_t at_ms = c->crash[i].at_ms;

		jsonw_push_int(&times, (int64_t)wall_of(at_ms, wall_ms, boot_ms));
		if (i)
			jsonw_push_int(&between, (int64_t)(at_ms - c->crash[i - 1].at_ms));
	}
	jsonw_add(exits, "times", &times);
	jsonw_add(exits, "between_ms", &between);
}

void json_exit_crashes(struct jsonw *row, const struct crashes *c, uint64_t wall_ms,
		       uint64_t boot_ms)
{
	struct jsonw exits;

	if (!c) {
		jsonw_null(row, "exits");
		return;
	}
	exits = jsonw_object();
	jsonw_u64(&exits, "window_ms", c->window_ms);
	add_signals(&exits, c);
	jsonw_int(&exits, "unseen", c->unseen);
	jsonw_int(&exits, "core_dumped", c->cores);
	jsonw_int(&exits, "restarts", c->restarts);
	add_times(&exits, c, wall_ms, boot_ms);
	jsonw_add(row, "exits", &exits);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"
#include "report/json_exit.h"
#include "report/json_rows.h"

/* What every line has. */
static struct jsonw line_of(uint64_t wall_ms, const char *key, const char *what)
{
	struct jsonw line = jsonw_document();

	jsonw_u64(&line, "time", wall_ms);
	jsonw_str(&line, key, what);
	return line;
}

static void add_verdict(struct jsonw *line, const struct event *e)
{
	if (e->audit && e->subject) {
		json_rows_worker(line, e->audit, e->subject);
	} else if (e->audit && e->daemon) {
		json_rows_daemon(line, e->audit, e->daemon);
		jsonw_str(line, "role", role_name(ROLE_DAEMON));
	}
}

static void add_text(struct jsonw *line, const struct event *e)
{
	jsonw_str(line, "why", e->text[0] ? e->text : NULL);
}

int json_event(const struct event *e, struct buf *ret)
{
	struct jsonw line = line_of(e->wall_ms, "event", event_kind_name(e->kind));

	switch (e->kind) {
	case EVENT_VERDICT:
		add_verdict(&line, e);
		break;
	case EVENT_ACTION:
		if (e->action)
			json_rows_action(&line, e->action);
		break;
	case EVENT_HOST_GONE:
		jsonw_int(&line, "pid", e->host.pid);
		jsonw_u64(&line, "start", e->host.start);
		add_text(&line, e);
		break;
	case EVENT_EXIT:
		if (e->exit)
			json_exit_record(&line, e);
		break;
	case EVENT_CRASH_LOOP:
		if (e->exit && e->crashes)
			json_exit_loop(&line, e);
		break;
	case EVENT_START:
	case EVENT_SWEEP:
	case EVENT_RELOAD:
	case EVENT_BREAKER:
	case EVENT_STOP:
	case EVENT_KIND_COUNT:
		if (e->audit) {
			jsonw_str(&line, "boot_id", e->audit->boot_id);
			jsonw_bool(&line, "dry_run", e->audit->dry_run);
			json_rows_summary(&line, e->audit);
		}
		add_text(&line, e);
		break;
	}
	return jsonw_finish(&line, JSONW_LINE, ret);
}

int json_outcome(uint64_t wall_ms, const char *boot_id, const struct action_record *action,
		 struct buf *ret)
{
	struct jsonw line = line_of(wall_ms, "record", "outcome");

	jsonw_str(&line, "boot_id", boot_id);
	json_rows_action(&line, action);
	return jsonw_finish(&line, JSONW_LINE, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "report/text.h"
#include "report/words.h"

/* Longer than any why or text, escaped. */
enum {
	EVENT_ESCAPED_MAX = 4 * AUDIT_TEXT_MAX
};

/* Appends ": text", escaped; nothing for "". */
static void add_text(const char *text, struct buf *ret)
{
	char escaped[EVENT_ESCAPED_MAX];

	if (text[0])
		buf_printf(ret, ": %s", log_escape(text, strlen(text), escaped, sizeof(escaped)));
}

static void add_verdict(const struct verdict *v, const char *why, struct buf *ret)
{
	buf_printf(ret, ": %s %s: %s", action_name(v->action), reason_name(v->reason), why);
}

static void say_verdict(const struct event *e, struct buf *ret)
{
	char why[WORDS_MAX];

	if (e->subject) {
		const struct subject *s = e->subject;

		buf_printf(ret, "%s %" PRId32, role_name(s->role), s->id.pid);
		if (s->daemon_id.pid)
			buf_printf(ret, " of daemon %" PRId32, s->daemon_id.pid);
		add_verdict(&s->verdict, words_why(e->audit, s, why), ret);
	} else if (e->daemon) {
		buf_printf(ret, "daemon %" PRId32, e->daemon->id.pid);
		add_verdict(&e->daemon->verdict, words_why_daemon(e->audit, e->daemon, why), ret);
	}
}

static void say_sweep(const struct event *e, struct buf *ret)
{
	struct audit_summary sum = { 0 };
	char size[WORDS_SHORT_MAX];

	if (e->audit)
		sum = audit_summarise(e->audit);
	buf_printf(ret,
		   "sweep: %" PRIu32 " worker%s, %" PRIu32 " to keep, %" PRIu32 " suspect, %" PRIu32
		   " due",
		   sum.workers, sum.workers == 1 ? "" : "s", sum.keep, sum.suspect, sum.reap);
	if (sum.reclaimable_bytes)
		buf_printf(ret, ", %s to be freed",
			   words_size(sum.reclaimable_bytes, size, sizeof(size)));
	add_text(e->text, ret);
}

static void say_exit(const struct event *e, struct buf *ret)
{
	const struct exit_record *x = e->exit;
	char words[WORDS_MAX], name[WORDS_NAME_MAX];

	buf_printf(ret, "%s: ", event_kind_name(e->kind));
	if (x->class_name[0])
		buf_printf(ret, "%s ", words_name(x->class_name, name, sizeof(name)));
	buf_str(ret, role_name(x->role));
	if (x->label[0])
		buf_printf(ret, " %s", words_name(x->label, name, sizeof(name)));
	if (x->id.pid)
		buf_printf(ret, " %" PRId32, x->id.pid);
	if (x->daemon.pid)
		buf_printf(ret, " of daemon %" PRId32, x->daemon.pid);
	else if (x->host.pid)
		buf_printf(ret, " of host %" PRId32, x->host.pid);
	if (e->kind == EVENT_CRASH_LOOP && e->crashes)
		buf_printf(ret, ": %s", words_crashes(e->crashes, words));
	else
		buf_printf(ret, " %s", words_exit(x, words));
}

void text_event(const struct event *e, struct buf *ret)
{
	char words[WORDS_MAX];

	switch (e->kind) {
	case EVENT_VERDICT:
		say_verdict(e, ret);
		break;
	case EVENT_ACTION:
		if (!e->action)
			break;
		buf_str(ret, words_action(e->action, words));
		add_text(e->action->why, ret);
		break;
	case EVENT_SWEEP:
		say_sweep(e, ret);
		break;
	case EVENT_HOST_GONE:
		buf_printf(ret, "host-gone: host %" PRId32 " has exited", e->host.pid);
		break;
	case EVENT_EXIT:
	case EVENT_CRASH_LOOP:
		if (e->exit)
			say_exit(e, ret);
		break;
	case EVENT_START:
	case EVENT_RELOAD:
	case EVENT_BREAKER:
	case EVENT_STOP:
	case EVENT_KIND_COUNT:
		buf_str(ret, event_kind_name(e->kind));
		add_text(e->text, ret);
		break;
	}
	buf_str(ret, "\n");
}

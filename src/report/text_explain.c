/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/line.h"
#include "report/text.h"
#include "report/text_evidence.h"
#include "report/text_memory.h"
#include "report/words.h"

enum {
	EXPLAIN_COMM_COLUMNS = 15,
	EXPLAIN_LABEL_COLUMNS = 24,
	EXPLAIN_INDENT = 2,
	EXPLAIN_NAME_COLUMN = 11,
	EXPLAIN_WORDS_COLUMN = 27,
};

static const struct {
	const char *word;
	enum line_color color;
} holds[] = {
	[TRI_UNKNOWN] = { "unknown", LINE_YELLOW },
	[TRI_NO] = { "no", LINE_DIM },
	[TRI_YES] = { "holds", LINE_GREEN },
};

static const struct {
	const char *word;
	enum line_color color;
} verdicts[] = {
	[ACTION_KEEP] = { "keep", LINE_GREEN },
	[ACTION_SUSPECT] = { "suspect", LINE_YELLOW },
	[ACTION_REAP] = { "REAP", LINE_RED },
};
static_assert(ARRAY_SIZE(verdicts) == ACTION_COUNT, "every verdict has a word");

static void heading(struct lines *l, const char *text)
{
	line_end(l);
	line_color(l, LINE_BOLD);
	line_text(l, text);
	line_color(l, LINE_PLAIN);
	line_end(l);
}

static void add_class(struct lines *l, const struct audit *a, int index)
{
	if (index < 0 || (size_t)index >= a->classes.count)
		return;
	line_text(l, " (");
	line_foreign(l, a->classes.class[index].name, EXPLAIN_LABEL_COLUMNS);
	line_text(l, ")");
}

static void add_host(struct lines *l, const struct audit *a, int index, struct ident id)
{
	const struct host *h;

	if (index < 0 || (size_t)index >= a->host_count) {
		if (id.pid)
			line_printf(l, ", host %" PRId32 ", which is gone", id.pid);
		else
			line_text(l, ", no host");
		return;
	}
	h = &a->hosts[index];
	line_printf(l, ", host %" PRId32 " ", h->id.pid);
	line_foreign(l, h->comm, EXPLAIN_COMM_COLUMNS);
}

/* "worker 4803 of daemon 4790 (pyspark), host 4711 java" */
static void title(struct lines *l, const struct explanation *e)
{
	const struct audit *a = e->audit;
	const struct subject *s = e->subject;

	line_color(l, LINE_BOLD);
	if (e->role == ROLE_OTHER)
		line_printf(l, "process %" PRId32, e->pid);
	else
		line_printf(l, "%s %" PRId32, role_name(e->role), e->pid);
	line_color(l, LINE_PLAIN);
	if (s) {
		if (s->role == ROLE_HELPER && s->worker >= 0)
			line_printf(l, " of %s %" PRId32, role_name(a->subjects[s->worker].role),
				    a->subjects[s->worker].id.pid);
		if (s->daemon_id.pid)
			line_printf(l, " of daemon %" PRId32 "%s", s->daemon_id.pid,
				    s->orphan ? ", which is gone" : "");
		add_class(l, a, s->class_index);
		if (s->role != ROLE_SINGLE)
			add_host(l, a, s->host, s->host_id);
		if (s->label[0]) {
			line_text(l, ", role ");
			line_foreign(l, s->label, EXPLAIN_LABEL_COLUMNS);
		}
	} else if (e->daemon) {
		add_class(l, a, e->daemon->class_index);
		add_host(l, a, e->daemon->host, (struct ident){ 0 });
	} else if (e->host) {
		line_text(l, " ");
		line_foreign(l, e->host->comm, EXPLAIN_COMM_COLUMNS);
		if (e->host->label[0]) {
			line_text(l, " (");
			line_foreign(l, e->host->label, EXPLAIN_LABEL_COLUMNS);
			line_text(l, ")");
		}
	}
	line_end(l);
}

static void add_verdict(struct lines *l, const struct verdict *v)
{
	line_color(l, verdicts[v->action].color);
	line_printf(l, "%s %s", verdicts[v->action].word, reason_name(v->reason));
	line_color(l, LINE_PLAIN);
	line_text(l, ": ");
}

static void judgement(struct lines *l, const struct explanation *e)
{
	char text[WORDS_MAX];

	if (e->subject) {
		add_verdict(l, &e->subject->verdict);
		line_wrap(l, words_why(e->audit, e->subject, text), "", EXPLAIN_INDENT);
	} else if (e->daemon) {
		add_verdict(l, &e->daemon->verdict);
		line_wrap(l, words_why_daemon(e->audit, e->daemon, text), "", EXPLAIN_INDENT);
	} else {
		line_foreign(l, e->why, AUDIT_TEXT_MAX);
	}
	line_end(l);
}

static void row(struct lines *l, const char *word, enum line_color color, const char *name,
		const char *text)
{
	line_pad(l, EXPLAIN_INDENT);
	line_color(l, color);
	line_text(l, word);
	line_color(l, LINE_PLAIN);
	line_pad(l, EXPLAIN_NAME_COLUMN);
	line_text(l, name);
	line_pad(l, EXPLAIN_WORDS_COLUMN);
	line_wrap(l, text, "", EXPLAIN_WORDS_COLUMN);
}

static void proof(struct lines *l, enum fence f, const struct explanation *e)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	char words[WORDS_MAX], age[WORDS_SHORT_MAX];
	enum tri answer = e->proof[f];

	buf_str(&text, words_proof(f, answer, &e->subject->facts, words));
	if (answer == TRI_YES)
		buf_printf(&text, " (for %s)", words_age(e->proof_age_ms[f], age, sizeof(age)));
	row(l, holds[answer].word, holds[answer].color, fence_name(f),
	    text.failed ? "" : text.bytes);
	line_end(l);
	l->out->failed |= text.failed;
	if (!words_proof_how(f, answer))
		return;
	line_pad(l, EXPLAIN_WORDS_COLUMN);
	line_text(l, "how to get it: ");
	line_wrap(l, words_proof_how(f, answer), "", EXPLAIN_WORDS_COLUMN);
	line_end(l);
}

static void proofs(struct lines *l, const struct explanation *e)
{
	heading(l, "proofs that its host will never use it again");
	for (enum fence f = FENCE_NONE + 1; f < FENCE_COUNT; f++)
		proof(l, f, e);
}

static void guards(struct lines *l, const struct explanation *e)
{
	char text[WORDS_MAX];

	heading(l, "guards");
	for (enum reason r = 0; r < REASON_COUNT; r++) {
		bool objects = e->guard[r];

		if (!reason_is_guard(r))
			continue;
		row(l, objects ? "objects" : "fine", objects ? LINE_YELLOW : LINE_DIM,
		    reason_name(r), words_guard(r, objects, &e->subject->facts, text));
		line_end(l);
	}
}

static void missing(struct lines *l, const struct subject *s)
{
	if (!words_missing(s->verdict.missing))
		return;
	heading(l, "what is missing");
	line_pad(l, EXPLAIN_INDENT);
	line_wrap(l, words_missing(s->verdict.missing), "", EXPLAIN_INDENT);
	line_end(l);
	line_pad(l, EXPLAIN_INDENT);
	line_text(l, "how to get it: ");
	line_wrap(l, words_how_to_get(s->verdict.missing), "", EXPLAIN_INDENT);
	line_end(l);
}

void text_explanation(const struct explanation *e, const struct text_style *style, struct buf *ret)
{
	struct lines l = lines_of(style, ret);

	title(&l, e);
	judgement(&l, e);
	if (e->subject && e->subject->facts.id.pid) {
		proofs(&l, e);
		guards(&l, e);
		missing(&l, e->subject);
	}
	if (e->subject && e->subject->memory) {
		heading(&l, "memory");
		text_memory(&l, e->audit, e->subject);
	}
	if ((e->subject && e->subject->ev.seen) || (e->daemon && e->daemon->ev.seen)) {
		heading(&l, "evidence");
		text_evidence(&l, e);
	}
}

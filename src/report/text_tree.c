/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/line.h"
#include "report/text.h"
#include "report/text_detail.h"

enum {
	TREE_COMM_COLUMNS = 15,
	TREE_LABEL_COLUMNS = 24,
	TREE_CLASS_COLUMNS = 20,
	TREE_LOG_COLUMNS_MIN = 20, /* a log's name that has less room goes into a line of its own */
	TREE_VERDICT_COLUMNS = 9,
	TREE_REASON_COLUMNS = 14,
	TREE_SOCKETS_SHOWN = 4, /* of a program that is stuck; all of them with -v */
	TREE_HOST_INDENT = 5,   /* below the number in "host 4711" */
};

/* What precedes a line: our own glyphs, so no foreign byte ever gets here. */
struct prefix {
	char text[LINE_PREFIX_MAX];
};

struct tree {
	struct lines l;
	const struct audit *a;
	int pid_width;
};

static const enum line_color verdict_colors[] = {
	[ACTION_KEEP] = LINE_DIM,
	[ACTION_SUSPECT] = LINE_YELLOW,
	[ACTION_REAP] = LINE_RED,
};
static_assert(ARRAY_SIZE(verdict_colors) == ACTION_COUNT, "every verdict has a colour");

static const char *const verdict_words[] = {
	[ACTION_KEEP] = "keep",
	[ACTION_SUSPECT] = "suspect",
	[ACTION_REAP] = "REAP",
};
static_assert(ARRAY_SIZE(verdict_words) == ACTION_COUNT, "every verdict has a word");

/* The prefix of what lies below a line that has this prefix. */
static struct prefix below(const struct tree *t, const struct prefix *at, bool last)
{
	struct prefix p;
	const char *line = t->l.style->utf8 ? "│  " : "|  ";

	snprintf(p.text, sizeof(p.text), "%.*s%s", (int)sizeof(p.text) - 8, at->text,
		 last ? "   " : line);
	return p;
}

static void branch(struct tree *t, const struct prefix *at, bool last)
{
	const char *glyph = last ? "└─ " : "├─ ";

	if (!t->l.style->utf8)
		glyph = last ? "`- " : "|- ";
	line_text(&t->l, at->text);
	line_text(&t->l, glyph);
}

/* Words that begin in the middle of a line, and a size at its end; what does not fit goes below. */
static void detail_and_size(struct tree *t, const char *detail, uint64_t bytes,
			    const struct prefix *under, unsigned column)
{
	char size[WORDS_SHORT_MAX], shown[4 * WORDS_MAX];
	unsigned size_columns, end;
	size_t fits;

	detail = line_shown(&t->l, detail, shown, sizeof(shown));
	words_size(bytes, size, sizeof(size));
	size_columns = line_columns(size);
	end = t->l.width - size_columns;
	fits = line_fit(detail, end - 2 > t->l.column ? end - 2 - t->l.column : 0);
	line_printf(&t->l, "%.*s", (int)fits, detail);
	line_pad(&t->l, end);
	line_text(&t->l, size);
	line_end(&t->l);
	detail += fits + strspn(detail + fits, " ");
	if (!*detail)
		return;
	line_text(&t->l, under->text);
	line_pad(&t->l, column);
	line_wrap(&t->l, detail, under->text, column);
	line_end(&t->l);
}

static void continued(struct tree *t, const char *text, const struct prefix *under, unsigned column)
{
	line_text(&t->l, under->text);
	line_pad(&t->l, column);
	line_wrap(&t->l, text, under->text, column);
	line_end(&t->l);
}

static uint64_t rss_of(const struct subject *s)
{
	return s->ev.seen ? s->ev.rss_bytes : s->rss_bytes;
}

static void draw_helper(struct tree *t, const struct subject *s, const struct prefix *at, bool last)
{
	struct prefix under = below(t, at, last);
	unsigned column;

	branch(t, at, last);
	line_printf(&t->l, "%-*" PRId32 " ", t->pid_width, s->id.pid);
	column = t->l.column + TREE_VERDICT_COLUMNS;
	line_color(&t->l, verdict_colors[s->verdict.action]);
	line_text(&t->l, "helper");
	line_color(&t->l, LINE_PLAIN);
	line_pad(&t->l, column);
	line_foreign(&t->l, s->comm, TREE_COMM_COLUMNS);
	column += TREE_REASON_COLUMNS;
	line_pad(&t->l, column);
	detail_and_size(t, text_detail_helper(t->a, s), rss_of(s), &under, column);
}

/* How many helpers stand behind a worker. */
static size_t helpers_of(const struct audit *a, size_t worker)
{
	size_t n = 0;

	if (!role_is_judged(a->subjects[worker].role))
		return 0;
	while (worker + 1 + n < a->subject_count &&
	       a->subjects[worker + 1 + n].role == ROLE_HELPER &&
	       a->subjects[worker + 1 + n].worker == (int)worker)
		n++;
	return n;
}

/* Which of several programs of its class it is; of one that is stuck, what it may be waiting for. */
static void draw_single(struct tree *t, const struct subject *s, const struct prefix *under,
			unsigned column)
{
	size_t shown = s->verdict.reason == REASON_STUCK_WAIT ? s->ev.socket_count : 0;
	char text[WORDS_MAX];

	if (s->label[0]) {
		line_text(&t->l, under->text);
		line_pad(&t->l, column);
		line_text(&t->l, "role ");
		line_foreign(&t->l, s->label, TREE_CLASS_COLUMNS);
		line_end(&t->l);
	}
	if (!t->l.style->verbose)
		shown = MIN(shown, (size_t)TREE_SOCKETS_SHOWN);
	for (size_t i = 0; i < shown; i++)
		continued(t, text_detail_held(&s->ev.sockets[i], text), under, column);
}

static void draw_subject(struct tree *t, size_t index, const struct prefix *at, bool last)
{
	const struct subject *s = &t->a->subjects[index];
	size_t helpers = helpers_of(t->a, index);
	struct prefix under = below(t, at, last);
	struct prefix beside = helpers ? below(t, &under, false) : under;
	char text[WORDS_MAX];
	unsigned column, reason_column;

	branch(t, at, last);
	line_printf(&t->l, "%-*" PRId32 " ", t->pid_width, s->id.pid);
	column = t->l.column + TREE_VERDICT_COLUMNS;
	reason_column = column;
	line_color(&t->l, verdict_colors[s->verdict.action]);
	line_text(&t->l, verdict_words[s->verdict.action]);
	line_pad(&t->l, column);
	line_text(&t->l, reason_name(s->verdict.reason));
	line_color(&t->l, LINE_PLAIN);
	column += TREE_REASON_COLUMNS;
	line_pad(&t->l, column);
	detail_and_size(t, text_detail(t->a, s, text), rss_of(s), &beside, column);
	if (s->role == ROLE_SINGLE)
		draw_single(t, s, &beside, reason_column);
	if (text_detail_missing(s, text)[0])
		continued(t, text, &beside, reason_column);
	if (t->l.style->verbose && s->verdict.action == ACTION_SUSPECT &&
	    words_how_to_get(s->verdict.missing))
		continued(t, words_how_to_get(s->verdict.missing), &beside, reason_column);
	for (size_t i = 1; i <= helpers; i++)
		draw_helper(t, &t->a->subjects[index + i], &under, i == helpers);
}

static bool is_orphan(const struct subject *s)
{
	return s->role == ROLE_LOST_HELPER || (s->role == ROLE_WORKER && s->daemon < 0);
}

static bool is_single_of(const struct subject *s, int class_index)
{
	return s->role == ROLE_SINGLE && s->class_index == class_index;
}

/* Tells whether a subject stands below the daemon of that index; -1: among the host's orphans. */
static bool stands_below(const struct subject *s, int host, int daemon)
{
	if (s->role == ROLE_HELPER || s->role == ROLE_SINGLE)
		return false;
	if (daemon < 0)
		return is_orphan(s) && s->host == host;
	return !is_orphan(s) && s->daemon == daemon;
}

static void draw_subjects(struct tree *t, int host, int daemon, const struct prefix *at)
{
	size_t left = 0;

	for (size_t i = 0; i < t->a->subject_count; i++)
		left += stands_below(&t->a->subjects[i], host, daemon);
	for (size_t i = 0; i < t->a->subject_count && left; i++)
		if (stands_below(&t->a->subjects[i], host, daemon))
			draw_subject(t, i, at, --left == 0);
}

static void say_count(struct tree *t, uint32_t n, const char *noun)
{
	if (n)
		line_printf(&t->l, "%" PRIu32 " %s%s", n, noun, n == 1 ? "" : "s");
	else
		line_printf(&t->l, "no %s", noun);
}

static void draw_daemon(struct tree *t, int index, const struct prefix *at, bool last)
{
	const struct daemon *d = &t->a->daemons[index];
	struct prefix under = below(t, at, last);
	char text[WORDS_SHORT_MAX];

	branch(t, at, last);
	line_printf(&t->l, "daemon %" PRId32 " ", d->id.pid);
	if (d->class_index >= 0 && (size_t)d->class_index < t->a->classes.count)
		line_foreign(&t->l, t->a->classes.class[d->class_index].name, TREE_CLASS_COLUMNS);
	line_text(&t->l, "  ");
	say_count(t, d->workers, "worker");
	if (d->workers)
		line_printf(&t->l, "  %s", words_size(d->rss_bytes, text, sizeof(text)));
	if (d->verdict.action == ACTION_SUSPECT) {
		line_text(&t->l, "  ");
		line_color(&t->l, LINE_YELLOW);
		line_printf(&t->l, "suspect %s", reason_name(d->verdict.reason));
		line_color(&t->l, LINE_PLAIN);
		line_printf(&t->l, ", for %s", words_age(d->idle_ms, text, sizeof(text)));
	}
	line_end(&t->l);
	draw_subjects(t, -1, index, &under);
}

static void draw_orphans(struct tree *t, int host, const struct prefix *at)
{
	struct prefix under = below(t, at, true);
	uint32_t workers = 0, lost = 0;

	for (size_t i = 0; i < t->a->subject_count; i++) {
		const struct subject *s = &t->a->subjects[i];

		if (!stands_below(s, host, -1))
			continue;
		workers += s->role == ROLE_WORKER;
		lost += s->role == ROLE_LOST_HELPER;
	}
	branch(t, at, true);
	line_text(&t->l, "orphans  ");
	if (workers)
		say_count(t, workers, "worker");
	if (workers && lost)
		line_text(&t->l, ", ");
	if (lost)
		say_count(t, lost, "lost helper");
	line_end(&t->l);
	draw_subjects(t, host, -1, &under);
}

static size_t count_daemons(const struct audit *a, int host)
{
	size_t n = 0;

	for (size_t i = 0; i < a->daemon_count; i++)
		n += a->daemons[i].host == host;
	return n;
}

static bool has_orphans(const struct audit *a, int host)
{
	for (size_t i = 0; i < a->subject_count; i++)
		if (stands_below(&a->subjects[i], host, -1))
			return true;
	return false;
}

/* What stands below a host, or, with -1, below "no host". */
static void draw_below_host(struct tree *t, int host)
{
	const struct prefix margin = { "" };
	bool orphans = has_orphans(t->a, host);
	size_t left = count_daemons(t->a, host);

	if (!left && !orphans) {
		branch(t, &margin, true);
		line_text(&t->l, "no daemon");
		line_end(&t->l);
		return;
	}
	for (size_t i = 0; i < t->a->daemon_count; i++)
		if (t->a->daemons[i].host == host)
			draw_daemon(t, (int)i, &margin, --left == 0 && !orphans);
	if (orphans)
		draw_orphans(t, host, &margin);
}

static void draw_markers(struct tree *t, const struct host *h)
{
	char age[WORDS_SHORT_MAX], behind[WORDS_SHORT_MAX + 8];
	unsigned needed;

	if (!h->log[0]) {
		line_text(&t->l, "  no markers");
		return;
	}
	snprintf(behind, sizeof(behind), ", %s ago", words_age(h->log_age_ms, age, sizeof(age)));
	needed = (unsigned)strlen("  markers: ") + (unsigned)strlen(behind);
	if (t->l.column + needed + TREE_LOG_COLUMNS_MIN > t->l.width) {
		line_end(&t->l);
		line_pad(&t->l, TREE_HOST_INDENT);
	} else {
		line_text(&t->l, "  ");
	}
	line_text(&t->l, "markers: ");
	line_foreign(&t->l, h->log, t->l.width - t->l.column - (unsigned)strlen(behind));
	line_text(&t->l, behind);
}

static void draw_host(struct tree *t, int index)
{
	const struct host *h = &t->a->hosts[index];
	char age[WORDS_SHORT_MAX];

	line_color(&t->l, LINE_BOLD);
	line_printf(&t->l, "host %" PRId32 " ", h->id.pid);
	line_foreign(&t->l, h->comm, TREE_COMM_COLUMNS);
	line_color(&t->l, LINE_PLAIN);
	if (h->label[0]) {
		line_text(&t->l, " (");
		line_foreign(&t->l, h->label, TREE_LABEL_COLUMNS);
		line_text(&t->l, ")");
	}
	if (h->alive)
		line_printf(&t->l, "  up %s", words_age(h->up_ms, age, sizeof(age)));
	else
		line_text(&t->l, "  gone");
	draw_markers(t, h);
	line_end(&t->l);
	if (h->unreadable) {
		line_printf(&t->l, "%*sof user %" PRIu32 ": cannot be read from here",
			    TREE_HOST_INDENT, "", h->uid);
		line_end(&t->l);
		return;
	}
	draw_below_host(t, index);
}

/* Programs that stand alone, below their class. */
static void draw_singles(struct tree *t, int class_index)
{
	const struct prefix margin = { "" };
	size_t left = 0;

	for (size_t i = 0; i < t->a->subject_count; i++)
		left += is_single_of(&t->a->subjects[i], class_index);
	if (!left)
		return;
	line_color(&t->l, LINE_BOLD);
	line_text(&t->l, "class ");
	line_foreign(&t->l, t->a->classes.class[class_index].name, TREE_CLASS_COLUMNS);
	line_color(&t->l, LINE_PLAIN);
	line_text(&t->l, "  ");
	say_count(t, (uint32_t)left, "single");
	line_end(&t->l);
	for (size_t i = 0; i < t->a->subject_count && left; i++)
		if (is_single_of(&t->a->subjects[i], class_index))
			draw_subject(t, i, &margin, --left == 0);
}

static int pid_width(const struct audit *a)
{
	pid_t most = 0;
	int width = 1;

	for (size_t i = 0; i < a->subject_count; i++)
		most = MAX(most, a->subjects[i].id.pid);
	for (; most >= 10; most /= 10)
		width++;
	return width;
}

void text_audit(const struct audit *a, const struct text_style *style, struct buf *ret)
{
	struct tree t = { .l = lines_of(style, ret), .a = a, .pid_width = pid_width(a) };

	for (size_t i = 0; i < a->host_count; i++)
		draw_host(&t, (int)i);
	if (count_daemons(a, -1) || has_orphans(a, -1)) {
		line_text(&t.l, "no host");
		line_end(&t.l);
		draw_below_host(&t, -1);
	}
	for (size_t i = 0; i < a->classes.count; i++)
		draw_singles(&t, (int)i);
	text_summary(a, style, ret);
}

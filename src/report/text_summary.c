/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "report/line.h"
#include "report/text.h"
#include "report/words.h"

static void wrapped(struct lines *l, const char *text)
{
	line_wrap(l, text, "", 0);
	line_end(l);
}

/* Suspects that a proof could be had for; daemons and lost helpers are only reported. */
static uint32_t provable(const struct audit *a)
{
	uint32_t n = 0;

	for (size_t i = 0; i < a->subject_count; i++)
		n += a->subjects[i].verdict.action == ACTION_SUSPECT &&
		     words_missing(a->subjects[i].verdict.missing);
	return n;
}

static void say_workers(const struct audit_summary *sum, uint32_t suspects, struct buf *line)
{
	char size[WORDS_SHORT_MAX];

	buf_printf(line, "%" PRIu32 " worker%s, ", sum->workers, sum->workers == 1 ? "" : "s");
	if (sum->singles)
		buf_printf(line, "%" PRIu32 " single%s, ", sum->singles,
			   sum->singles == 1 ? "" : "s");
	if (!sum->reap) {
		buf_str(line, "nothing due.");
	} else {
		buf_printf(line, "%" PRIu32 " due", sum->reap);
		if (sum->reclaimable_bytes)
			buf_printf(line, ": %s to be freed",
				   words_size(sum->reclaimable_bytes, size, sizeof(size)));
		buf_printf(line, ". `reaper sweep` would end %s", sum->reap == 1 ? "it" : "them");
	}
	if (!suspects) {
		buf_str(line, sum->reap ? "." : "");
		return;
	}
	buf_printf(line, "%s `reaper doctor` says how to prove the ", sum->reap ? ";" : "");
	if (suspects == 1)
		buf_str(line, "suspect.");
	else
		buf_printf(line, "%" PRIu32 " suspects.", suspects);
}

static void say_hidden(uint32_t hidden, struct buf *line)
{
	if (hidden == 1)
		buf_str(line, "1 tree of another user cannot be read from here and is not judged");
	else
		buf_printf(line,
			   "%" PRIu32
			   " trees of other users cannot be read from here and are not judged",
			   hidden);
	buf_str(line, ": `reaper doctor` says what it takes.");
}

/* The file's name is the writer's choice. */
static void say_skipped(const struct audit *a, struct lines *l)
{
	if (!a->bad_records)
		return;
	if (a->bad_records == 1)
		line_text(l, "1 marker record was skipped:");
	else
		line_printf(l, "%" PRIu32 " marker records were skipped, this one first:",
			    a->bad_records);
	line_end(l);
	line_text(l, "  ");
	line_foreign(l, a->bad_record, l->width - l->column);
	line_end(l);
}

void text_summary(const struct audit *a, const struct text_style *style, struct buf *ret)
{
	struct lines l = lines_of(style, ret);
	_cleanup_(buf_done) struct buf line = { 0 };
	struct audit_summary sum = audit_summarise(a);

	if (a->host_count || a->daemon_count || a->subject_count) {
		say_workers(&sum, provable(a), &line);
	} else {
		buf_str(&line, "no host found: no JVM with a Python daemon can be seen from here. "
			       "`reaper doctor` says what can be seen, and what to change.");
	}
	wrapped(&l, line.failed ? "" : line.bytes);
	buf_clear(&line);
	if (a->hidden_trees) {
		say_hidden(a->hidden_trees, &line);
		wrapped(&l, line.failed ? "" : line.bytes);
	}
	if (style->verbose)
		say_skipped(a, &l);
	ret->failed |= line.failed;
}

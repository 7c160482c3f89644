/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are a whole marker log. What the parser takes can be written and read again as the same
 * record; what the ledger makes of the records keeps its promises, whatever they say.
 */
#include <stdlib.h>
#include <string.h>

#include "correlate/ledger.h"
#include "observe/marker_parse.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void check_again(const struct marker *m)
{
	char line[MARKER_LINE_MAX + 1];
	unsigned unknown_keys;
	struct marker again;
	int len;

	if (m->event == MARKER_UNKNOWN)
		return;
	len = marker_format(m, line);
	/* What was plain may need three bytes for one when it is written. */
	if (len < 0)
		return;
	must(line[len - 1] == '\n' && !line[len]);
	must(!marker_parse(line, (size_t)len - 1, &again, &unknown_keys) && !unknown_keys);
	must(again.event == m->event && again.unix_ms == m->unix_ms &&
	     ident_equal(again.worker, m->worker) && strcmp(again.task, m->task) == 0 &&
	     strcmp(again.job, m->job) == 0 && again.n == m->n && again.lport == m->lport);
}

/* What must hold of every answer. */
static void check_facts(const struct marker_facts *f, const struct ledger_question *q)
{
	must(f->task_count <= MARKER_TASKS_SHOWN);
	must(!(f->pooled && f->leased));
	must(!f->open || f->state == MARKS_OPEN || f->state == MARKS_DONE ||
	     f->state == MARKS_RETIRED);
	for (unsigned i = 0; i < UNPOOLED_COUNT; i++) {
		if (f->unpooled[i] != TRI_YES)
			continue;
		must(f->host_log && !f->open);
		must(i == UNPOOLED_DECLARED ? f->bound > 0 : f->unpooled_ms[i] > q->born_ms);
	}
}

static void ask(struct ledger *l, pid_t worker)
{
	static const uint64_t runs[] = { 1000, 20000, 40000, 60000, 80000, 100000 };
	struct ledger_question q = {
		.worker = { { worker, 80 }, 1, worker, 1 },
		.class_name = "pyspark",
		.host = { { 4711, 50 }, 1, 4711, 1 },
		.host_alive = true,
		.daemon = { { 4790, 60 }, 1, 4790, 1 },
		.lport = 45873,
		.dport = 39917,
		.born_ms = 2000,
		.last_byte_ms = 9000,
		.class_pool_timeout_ms = 60000,
		.now_ms = 1000000,
		.host_runs = runs,
		.host_run_count = ARRAY_SIZE(runs),
	};
	struct marker_facts facts;

	must(ledger_ask(l, &q, &facts) == 0);
	check_facts(&facts, &q);
	/* Asked again, it says the same. */
	struct marker_facts again;

	must(ledger_ask(l, &q, &again) == 0);
	must(again.open == facts.open && again.bound == facts.bound && again.state == facts.state);
}

/* A line goes to the log that its length names, so that one input is a few logs. */
static void take_line(struct ledger *l, const char *line, size_t len)
{
	const struct ledger_source source = { 1 + (uint32_t)len % 3, 0, "x.log" };
	unsigned unknown_keys;
	struct marker m;

	if (marker_parse(line, len, &m, &unknown_keys))
		return;
	check_again(&m);
	must(ledger_add(l, &source, &m) == 0);
	/* What a log says of a clock that nobody has counts as little as a log that goes. */
	if (m.unix_ms % 1009 == 0)
		ledger_clock_stepped(l, m.unix_ms);
	if (m.unix_ms % 1013 == 0)
		ledger_forget(l, source.log);
	if (m.unix_ms % 7 == 0)
		ask(l, m.worker.pid ? m.worker.pid : 4801);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct ledger *l = ledger_new(BOOT);

	must(l != NULL);
	ledger_set_whole(l, true);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		take_line(l, at, (size_t)(stop - at));
		at = newline ? newline + 1 : end;
	}
	ask(l, 4801);
	ledger_free(l);
	return 0;
}

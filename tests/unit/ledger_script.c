/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger_script.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "observe/marker_parse.h"

const struct ledger_question script_usual = {
	.worker = { { 4801, 80 }, SCRIPT_US, 4801, SCRIPT_US },
	.uid = SCRIPT_UID,
	.class_name = "pyspark",
	.host = { { 4711, 50 }, SCRIPT_US, 4711, SCRIPT_US },
	.host_alive = true,
	.daemon = { { 4790, 60 }, SCRIPT_US, 4790, SCRIPT_US },
	.born_ms = SCRIPT_BORN,
	.last_byte_ms = 9000,
	.class_pool_timeout_ms = 60000,
	.now_ms = SCRIPT_NOW,
};

/* Replaces the first `from` in a line. */
static void replace(char *line, size_t size, const char *from, const char *to)
{
	char *at = strstr(line, from), rest[600];

	if (!at)
		return;
	(void)snprintf(rest, sizeof(rest), "%s", at + strlen(from));
	(void)snprintf(at, size - (size_t)(at - line), "%s%s", to, rest);
}

int script_add(struct script *f, const char *text)
{
	uint64_t *since_beat = &f->since_beat[f->source.log % ARRAY_SIZE(f->since_beat)];
	char line[600], n[32];
	struct marker m;
	unsigned unknown;
	const char *bad;

	(void)snprintf(line, sizeof(line), "reaper/1 %s", text);
	(void)snprintf(n, sizeof(n), "n=%" PRIu64, *since_beat);
	replace(line, sizeof(line), "n=*", n);
	replace(line, sizeof(line), " WHO", " boot=BOOT pidns=1");
	replace(line, sizeof(line), "=BOOT", "=" SCRIPT_BOOT);
	bad = marker_parse(line, strlen(line), &m, &unknown);
	cr_assert_null(bad, "%s: %s", line, bad);
	*since_beat = m.event == MARKER_BEAT ? 0 : *since_beat + 1;
	return ledger_add(f->ledger, &f->source, &m);
}

static void add_beats(struct script *f, uint64_t from, uint64_t to, uint64_t step)
{
	for (; from <= to; from += step) {
		char line[64];

		(void)snprintf(line, sizeof(line), "%" PRIu64 " beat n=*", from);
		cr_assert_eq(script_add(f, line), 0);
	}
}

static void run_line(struct script *f, const char *line, const struct ledger_question *q)
{
	static char names[SCRIPT_LOGS][16];
	uint64_t a, b, c;
	struct marker_facts facts;

	if (sscanf(line, "log %" SCNu64 " %" SCNu64, &a, &b) == 2) {
		char *name = names[a % ARRAY_SIZE(names)];

		(void)snprintf(name, sizeof(names[0]), "%u.log", (unsigned)a);
		f->source = (struct ledger_source){ (uint32_t)a, (uint32_t)b, name };
	} else if (sscanf(line, "beats %" SCNu64 " %" SCNu64 " %" SCNu64, &a, &b, &c) == 3) {
		add_beats(f, a, b, c);
	} else if (sscanf(line, "forget %" SCNu64, &a) == 1) {
		ledger_forget(f->ledger, (uint32_t)a);
	} else if (sscanf(line, "step %" SCNu64, &a) == 1) {
		ledger_clock_stepped(f->ledger, a);
	} else if (sscanf(line, "trust %" SCNu64, &a) == 1) {
		ledger_trust_from(f->ledger, a);
	} else if (sscanf(line, "doubt %" SCNu64, &a) == 1) {
		ledger_doubt_silent(f->ledger, a);
	} else if (sscanf(line, "behind %" SCNu64, &a) == 1) {
		ledger_set_behind(f->ledger, (uint32_t)a);
	} else if (strcmp(line, "bad") == 0) {
		const struct marker bad = { .bad = true };

		cr_assert_eq(ledger_add(f->ledger, &f->source, &bad), 0);
	} else if (strcmp(line, "part") == 0) {
		ledger_set_whole(f->ledger, false);
	} else if (strcmp(line, "ask") == 0) {
		cr_assert_eq(ledger_ask(f->ledger, q, &facts), 0);
	} else {
		cr_assert_eq(script_add(f, line), 0);
	}
}

void script_run(struct script *f, const char *script, const struct ledger_question *q)
{
	char line[600];

	for (size_t len; *script; script += len + (script[len] == '\n')) {
		len = strcspn(script, "\n");
		(void)snprintf(line, sizeof(line), "%.*s", (int)len, script);
		run_line(f, line, q);
	}
}

struct script script_begin(void)
{
	struct script f = { .ledger = ledger_new(SCRIPT_BOOT),
			    .source = { 1, SCRIPT_UID, "1.log" } };

	cr_assert_not_null(f.ledger);
	ledger_set_whole(f.ledger, true);
	return f;
}

static char shown[1024];

static void _printf_(1, 2) show(const char *format, ...)
{
	size_t len = strlen(shown);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(shown + len, sizeof(shown) - len, format, args);
	va_end(args);
}

static void show_tri(const char *name, enum tri tri, uint64_t ms)
{
	if (tri == TRI_YES)
		show(" %s@%" PRIu64, name, ms);
	else if (tri == TRI_NO)
		show(" !%s", name);
}

/* Writes what differs from nothing at all. */
const char *script_describe(const struct marker_facts *f)
{
	*shown = '\0';
	show("%s", marker_state_name(f->state));
	if (f->bound || f->open)
		show(" %u/%u", (unsigned)f->open, (unsigned)f->bound);
	if (f->open_since_ms)
		show(" since=%" PRIu64, f->open_since_ms);
	if (f->last_end_ms)
		show(" end=%" PRIu64, f->last_end_ms);
	if (f->late_byte == TRI_YES)
		show(" late");
	if (f->late_byte == TRI_UNKNOWN && f->host_log)
		show(" late?");
	show("%s%s", f->pooled ? " pooled" : "", f->leased ? " leased" : "");
	if (f->retired)
		show(" retired@%" PRIu64, f->retired_ms);
	if (f->retired_by_operator)
		show(" operator@%" PRIu64, f->operator_ms);
	show_tri("declared", f->unpooled[UNPOOLED_DECLARED], f->unpooled_ms[UNPOOLED_DECLARED]);
	show_tri("reported", f->unpooled[UNPOOLED_REPORTED], f->unpooled_ms[UNPOOLED_REPORTED]);
	show_tri("idle", f->unpooled[UNPOOLED_HOST_IDLE], f->unpooled_ms[UNPOOLED_HOST_IDLE]);
	if (f->host_log && !f->logs_whole)
		show(" part");
	if ((f->host_log || f->retired_by_operator) && !f->ages_trusted)
		show(" untrusted");
	for (uint32_t i = 0; i < f->task_count; i++)
		show("%s%s", i ? "," : " tasks=", f->tasks[i]);
	if (*f->job)
		show(" job=%s", f->job);
	return shown;
}

void script_check(const struct script_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ledger_question q = script_usual;
		struct script f = script_begin();
		struct marker_facts facts;

		if (rows[i].change)
			rows[i].change(&q);
		script_run(&f, rows[i].script, &q);
		cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
		cr_expect_str_eq(script_describe(&facts), rows[i].want, "%s: %s", rows[i].why,
				 shown);
		/* Nothing is used up by asking. */
		cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
		cr_expect_str_eq(script_describe(&facts), rows[i].want, "%s, again: %s",
				 rows[i].why, shown);
		ledger_free(f.ledger);
	}
}

void ask_other_class(struct ledger_question *q)
{
	q->class_name = "pyjava";
}

void ask_host_dead(struct ledger_question *q)
{
	q->host_alive = false;
}

void ask_host_unknown(struct ledger_question *q)
{
	q->host = (struct ledger_name){ 0 };
	q->host_alive = false;
}

void ask_no_byte_known(struct ledger_question *q)
{
	q->last_byte_ms = UNKNOWN_U64;
}

void ask_ports(struct ledger_question *q)
{
	q->lport = 45873;
	q->dport = 39917;
}

void ask_contained(struct ledger_question *q)
{
	q->worker = (struct ledger_name){ { 4801, 80 }, SCRIPT_US, 22, SCRIPT_INNER };
	q->host = (struct ledger_name){ { 4711, 50 }, SCRIPT_US, 1, SCRIPT_INNER };
	q->daemon = (struct ledger_name){ { 4790, 60 }, SCRIPT_US, 9, SCRIPT_INNER };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are small scripts: which logs say what, then what the ledger answers about worker 4801 of host
 * 4711. Lines of a script:
 *
 *   log NUMBER OWNER            the records that follow are of this log
 *   TIME EVENT KEY=VALUE...     a record; n=* counts as the host should, BOOT and WHO stand for the usual
 *   beats FROM TO STEP          a beat every STEP ms
 *   forget NUMBER               the log is gone
 *   step TIME                   the wall clock was stepped
 *   behind UID, part            a log of that owner, some log, was not read to its end
 *   ask                         a look in between
 */
#include "correlate/ledger.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "correlate/ledger_state.h"
#include "observe/marker_parse.h"

#define BOOT       "01234567-89ab-cdef-0123-456789abcdef"
#define OTHER_BOOT "fedcba98-7654-3210-fedc-ba9876543210"

enum {
	US = 1,    /* our pid namespace */
	INNER = 7, /* that of a container */
	BORN = 2000,
	NOW = 1000000,
	UID = 1000,
};

/*
 * The test is linked with --wrap for these, so that memory can run out anywhere in the ledger; without, the
 * tests of that skip.
 */
extern void *__real_malloc(size_t size) __attribute__((weak));
extern void *__real_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__real_realloc(void *old, size_t size) __attribute__((weak));
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long fails_in; /* the allocation that fails, counted from here; 0: none */

static bool may_allocate(void)
{
	return !fails_in || --fails_in;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
	return may_allocate() ? __real_realloc(old, size) : NULL;
}

/* Feeds one script. */
struct feeder {
	struct ledger *ledger;
	struct ledger_source source;
	uint64_t since_beat[64]; /* by log */
};

static const struct ledger_question usual = {
	.worker = { { 4801, 80 }, US, 4801, US },
	.uid = UID,
	.class_name = "pyspark",
	.host = { { 4711, 50 }, US, 4711, US },
	.host_alive = true,
	.daemon = { { 4790, 60 }, US, 4790, US },
	.born_ms = BORN,
	.last_byte_ms = 9000,
	.class_pool_timeout_ms = 60000,
	.now_ms = NOW,
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

static int add_line(struct feeder *f, const char *text)
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
	replace(line, sizeof(line), "=BOOT", "=" BOOT);
	bad = marker_parse(line, strlen(line), &m, &unknown);
	cr_assert_null(bad, "%s: %s", line, bad);
	*since_beat = m.event == MARKER_BEAT ? 0 : *since_beat + 1;
	return ledger_add(f->ledger, &f->source, &m);
}

static void add_beats(struct feeder *f, uint64_t from, uint64_t to, uint64_t step)
{
	for (; from <= to; from += step) {
		char line[64];

		(void)snprintf(line, sizeof(line), "%" PRIu64 " beat n=*", from);
		cr_assert_eq(add_line(f, line), 0);
	}
}

static void run_line(struct feeder *f, const char *line, const struct ledger_question *q)
{
	static char names[64][16];
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
	} else if (sscanf(line, "behind %" SCNu64, &a) == 1) {
		ledger_set_behind(f->ledger, (uint32_t)a);
	} else if (strcmp(line, "part") == 0) {
		ledger_set_whole(f->ledger, false);
	} else if (strcmp(line, "ask") == 0) {
		cr_assert_eq(ledger_ask(f->ledger, q, &facts), 0);
	} else {
		cr_assert_eq(add_line(f, line), 0);
	}
}

static void run(struct feeder *f, const char *script, const struct ledger_question *q)
{
	char line[600];

	for (size_t len; *script; script += len + (script[len] == '\n')) {
		len = strcspn(script, "\n");
		(void)snprintf(line, sizeof(line), "%.*s", (int)len, script);
		run_line(f, line, q);
	}
}

static struct feeder begin(void)
{
	struct feeder f = { .ledger = ledger_new(BOOT), .source = { 1, UID, "1.log" } };

	cr_assert_not_null(f.ledger);
	ledger_set_whole(f.ledger, true);
	return f;
}

static char shown[1024];

static void show(const char *format, ...)
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
static const char *describe(const struct marker_facts *f)
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

struct row {
	const char *why;
	const char *script;
	const char *want;
	void (*change)(struct ledger_question *q); /* what is asked differently */
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ledger_question q = usual;
		struct feeder f = begin();
		struct marker_facts facts;

		if (rows[i].change)
			rows[i].change(&q);
		run(&f, rows[i].script, &q);
		cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
		cr_expect_str_eq(describe(&facts), rows[i].want, "%s: %s", rows[i].why, shown);
		/* Nothing is used up by asking. */
		cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
		cr_expect_str_eq(describe(&facts), rows[i].want, "%s, again: %s", rows[i].why,
				 shown);
		ledger_free(f.ledger);
	}
}

#define HOST     "log 1 1000\n1000 host host=4711:50 WHO class=pyspark"
#define DAEMON   "log 2 1000\n1500 daemon daemon=4790:60 WHO\n"
#define OPERATOR "log 9 1000\n1000 operator uid=1000 WHO\n"
#define W        "worker=4801:80"

static void host_dead(struct ledger_question *q)
{
	q->host_alive = false;
}

static void host_unknown(struct ledger_question *q)
{
	q->host = (struct ledger_name){ 0 };
	q->host_alive = false;
}

static void no_byte_known(struct ledger_question *q)
{
	q->last_byte_ms = UNKNOWN_U64;
}

static void ports(struct ledger_question *q)
{
	q->lport = 45873;
	q->dport = 39917;
}

static void half_ports(struct ledger_question *q)
{
	q->lport = 45873;
}

static void younger(struct ledger_question *q)
{
	q->born_ms = 4000;
	ports(q);
}

static const struct row sets[] = {
	{ "nobody wrote", "", "none", NULL },
	{ "a host that says nothing of it", HOST, "none", NULL },
	{ "an open task", HOST "\n5000 begin task=17 job=3 " W,
	  "open 1/1 since=5000 tasks=17 job=3", NULL },
	{ "an ended task", HOST "\n5000 begin task=17 job=3 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a record that comes twice",
	  HOST "\n5000 begin task=17 " W "\n5000 begin task=17 " W "\n8000 end task=17\n"
	       "8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "the earlier of two ends counts, whatever comes first",
	  HOST "\n5000 begin task=17 " W "\n8500 end task=17\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "the earlier of two begins counts",
	  HOST "\n5500 begin task=17 " W "\n5000 begin task=17 " W, "open 1/1 since=5000 tasks=17",
	  NULL },
	{ "an end before its begin", HOST "\n8000 end task=17\n8000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "an end in another log of the host",
	  HOST "\nlog 3 1000\n1001 host host=4711:50 WHO class=other\n8000 end task=17\n"
	       "log 1 1000\n5000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "an ended id stays ended",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17\n9000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a job's end ends every task of it, also a later one, and no other",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=18 job=3 " W
	       "\n5002 begin task=19 job=4 " W "\n8000 end job=3\n8500 begin task=20 job=3 " W,
	  "open 1/4 since=5002 end=8000 tasks=19,20,18,17 job=4", NULL },
	{ "a job's end before its begin", HOST "\n8000 end job=3\n8000 begin task=17 job=3 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a job bound by itself", HOST "\n5000 begin job=3 " W, "open 1/1 since=5000 job=3",
	  NULL },
	{ "a job bound by itself, ended with its task",
	  HOST "\n5000 begin job=3 " W "\n5001 begin task=17 job=3 " W "\n8000 end job=3",
	  "ended 0/2 end=8000 tasks=17 job=3", NULL },
	{ "a task that ended does not end its job",
	  HOST "\n5000 begin job=3 " W "\n5001 begin task=17 job=3 " W "\n8000 end task=17",
	  "open 1/2 since=5000 end=8000 tasks=17 job=3", NULL },
	{ "a task and a job of one name are two",
	  HOST "\n5000 begin task=3 " W "\n5001 begin job=3 " W "\n8000 end task=3",
	  "open 1/2 since=5001 end=8000 tasks=3 job=3", NULL },
	{ "a task begun with two jobs is ended by neither",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=17 job=4 " W
	       "\n5002 begin task=17 job=3 " W "\n8000 end job=3\n8001 end job=4",
	  "open 1/1 since=5000 tasks=17", NULL },
	{ "a task begun with two jobs is ended by its own end",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=17 job=4 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a task may bind several workers, and end for all of them",
	  HOST "\n5000 begin task=17 worker=4802:81\n5000 begin task=17 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a task without a locator binds nobody", HOST "\n5000 begin task=17", "none", NULL },
	{ "a task of another worker", HOST "\n5000 begin task=17 worker=4801:81", "none", NULL },
	{ "eight names at most, open ones first",
	  HOST "\n5000 begin task=a " W "\n5001 begin task=b " W
	       "\n5001 end task=b\n5002 begin task=c " W "\n5003 begin task=d " W
	       "\n5004 begin task=e " W "\n5005 begin task=f " W "\n5006 begin task=g " W
	       "\n5007 begin task=h " W "\n5008 begin task=i " W "\n5009 begin task=j " W,
	  "open 9/10 since=5000 end=5001 tasks=j,i,h,g,f,e,d,c", NULL },
	{ "names that are longer than most",
	  HOST "\n5000 begin task=0123456789abcdef0 job=0123456789abcdef1 " W,
	  "open 1/1 since=5000 tasks=0123456789abcdef0 job=0123456789abcdef1", NULL },
	{ "a name that is as long as fits inside", HOST "\n5000 begin task=0123456789abcdef " W,
	  "open 1/1 since=5000 tasks=0123456789abcdef", NULL },

	{ "Python's begin, the host's end",
	  HOST "\n8000 end task=17\n" DAEMON "5000 begin task=17 " W, "ended 0/1 end=8000 tasks=17",
	  NULL },
	{ "Python's begin, the end of its job",
	  HOST "\n8000 end job=3\n" DAEMON "5000 begin task=17 job=3 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "Python's job and its tasks, the end of the job, another task",
	  HOST "\n8000 end job=3\n" DAEMON "5000 begin job=3 " W "\n5001 begin task=17 job=3 " W
	       "\n5002 begin task=18 job=3 " W "\n5003 begin task=19 " W,
	  "open 1/4 since=5003 end=8000 tasks=19,18,17 job=3", NULL },
	{ "Python's job is last",
	  HOST "\n8000 end job=3\n" DAEMON "5003 begin task=19 " W "\n5000 begin job=3 " W,
	  "open 1/2 since=5003 end=8000 tasks=19 job=3", NULL },
	{ "both sides begin a task: it is one",
	  HOST "\n5000 begin task=17 job=3 " W "\n" DAEMON "5001 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17 job=3", NULL },
	{ "both sides begin a task: it ended once",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17\n" DAEMON "5001 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "the host began what Python binds",
	  HOST "\n5000 begin task=17\n5000 begin task=18 " W "\n" DAEMON "5001 begin task=17 " W,
	  "open 2/2 since=5000 tasks=18,17", NULL },
	{ "an end by Python's side ends nothing",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n8000 end task=17",
	  "open 1/1 since=5000 tasks=17", NULL },
	{ "done proves nothing",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n8000 done " W " task=17",
	  "done 1/1 since=5000 tasks=17", NULL },
	{ "done, and the next task",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n6000 done " W "\n7000 begin task=18 " W,
	  "open 2/2 since=5000 tasks=18,17", NULL },
	{ "done without a binding", HOST "\n" DAEMON "8000 done " W, "done", NULL },
	{ "Python's side alone", DAEMON "5000 begin task=17 " W, "open 1/1 since=5000 tasks=17",
	  NULL },
	{ "Python's side of another daemon",
	  HOST "\nlog 2 1000\n1500 daemon daemon=4791:60 WHO\n5000 begin task=17 " W, "none",
	  NULL },

	{ "a host that is gone has ended all", HOST "\n5000 begin task=17 " W,
	  "ended 0/1 end=1000000 tasks=17", host_dead },
	{ "a host that is gone ended nothing that had ended before",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17", "ended 0/1 end=8000 tasks=17",
	  host_dead },
	{ "a host that is unknown is not gone", DAEMON "5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17", host_unknown },

	{ "ports that fit bind", HOST "\n5000 begin task=18 lport=45873 dport=39917",
	  "open 1/1 since=5000 tasks=18", ports },
	{ "ports that fit bind for every task over that connection",
	  HOST
	  "\n5000 begin task=18 lport=45873 dport=39917\n5000 begin task=19 lport=45873 dport=39917\n"
	  "8000 end task=18\n8000 end task=19",
	  "ended 0/2 end=8000 tasks=18,19", ports },
	{ "ports that fit half bind nobody",
	  HOST
	  "\n5000 begin task=18 lport=45873 dport=39918\n5000 begin task=19 lport=45874 dport=39917",
	  "none", ports },
	{ "ports of a worker whose ports are unknown",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917", "none", NULL },
	{ "ports of a worker whose ports are half known",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917", "none", half_ports },
	{ "ports before the worker's birth were another's",
	  HOST "\n4000 begin task=18 lport=45873 dport=39917", "none", younger },
	{ "a task that began before the worker's birth, and took it later",
	  HOST "\n3000 begin task=18\n4001 begin task=18 lport=45873 dport=39917",
	  "open 1/1 since=3000 tasks=18", younger },
	{ "a worker and ports: the worker counts",
	  HOST "\n5000 begin task=18 worker=4802:81 lport=45873 dport=39917", "none", ports },
	{ "ports and worker of one task are one binding",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917\n5000 begin task=18 " W,
	  "open 1/1 since=5000 tasks=18", ports },
	{ "ports in a daemon's log", HOST "\n" DAEMON "5000 begin task=18 lport=45873 dport=39917",
	  "open 1/1 since=5000 tasks=18", ports },
	{ "ports whose task was begun before the clock was stepped",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917\nstep 900000", "none", ports },
};

Test(ledger, tasks_and_ends_are_sets)
{
	check_rows(sets, ARRAY_SIZE(sets));
}

static void other_uid(struct ledger_question *q)
{
	q->uid = 1001;
}

static void by_root(struct ledger_question *q)
{
	q->uid = 0;
}

static void contained(struct ledger_question *q)
{
	q->worker = (struct ledger_name){ { 4801, 80 }, US, 22, INNER };
	q->host = (struct ledger_name){ { 4711, 50 }, US, 1, INNER };
	q->daemon = (struct ledger_name){ { 4790, 60 }, US, 9, INNER };
}

static void contained_unreadable(struct ledger_question *q)
{
	contained(q);
	q->worker.ns_pid = 0;
	q->host.ns_pid = 0;
	q->host.pid_ns = 0;
}

static void we_are_nowhere(struct ledger_question *q)
{
	q->worker.our_pid_ns = 0;
	q->worker.pid_ns = 0;
	q->host.our_pid_ns = 0;
	q->host.pid_ns = 0;
}

static void other_start(struct ledger_question *q)
{
	q->worker.id.start = 81;
}

static void other_host_start(struct ledger_question *q)
{
	q->host.id.start = 51;
}

#define IN_CONTAINER "log 1 1000\n1000 host host=1:50 boot=BOOT pidns=7 class=pyspark"

static const struct row names[] = {
	{ "a log of the worker's uid", HOST "\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17", NULL },
	{ "a log of another uid", HOST "\n5000 begin task=17 " W, "none", other_uid },
	{ "a log of root counts for all",
	  "log 1 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17", other_uid },
	{ "root believes root",
	  "log 1 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17", by_root },
	{ "root does not believe a user", HOST "\n5000 begin task=17 " W, "none", by_root },
	{ "a stranger's end ends nothing",
	  HOST "\n5000 begin task=17 " W "\nlog 3 1001\n1000 host host=4711:50 WHO class=pyspark\n"
	       "8000 end task=17",
	  "open 1/1 since=5000 tasks=17", NULL },
	{ "root's end ends a user's task",
	  HOST "\n5000 begin task=17 " W "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n"
	       "8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a user's end ends no task of root's log, though the user's own is",
	  "log 3 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W "\n" HOST
	  "\n5000 begin task=17 " W "\n8000 end task=17",
	  "open 1/1 since=5000 end=8000 tasks=17", NULL },
	{ "the same, where the user's log is asked first",
	  HOST "\n5000 begin task=17 " W "\n5000 begin task=18 " W "\n8000 end task=17\n"
	       "log 2 0\n1500 daemon daemon=4790:60 WHO\n5000 begin task=17 " W,
	  "open 2/2 since=5000 end=8000 tasks=18,17", NULL },
	{ "T13: another process with that number",
	  HOST "\n5000 begin task=17 " W "\n8000 retired " W, "none", other_start },
	{ "another host with that number", HOST "\n5000 begin task=17 " W, "none",
	  other_host_start },
	{ "a host that names itself by its own namespace",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80", "open 1/1 since=5000 tasks=17",
	  contained },
	{ "numbers of that namespace are not ours", IN_CONTAINER "\n5000 begin task=17 " W, "none",
	  contained },
	{ "our numbers are not of that namespace", HOST "\n5000 begin task=17 worker=22:80", "none",
	  contained },
	{ "one writer inside and one outside",
	  IN_CONTAINER
	  "\n5000 begin task=17 worker=22:80\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n"
	  "5001 begin task=18 " W "\n8000 end task=17",
	  "open 1/2 since=5001 end=8000 tasks=18,17", contained },
	{ "Python's side inside, the host's word outside",
	  HOST "\n8000 end task=17\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n"
	       "5000 begin task=17 worker=22:80",
	  "ended 0/1 end=8000 tasks=17", contained },
	{ "a namespace that cannot be read translates nothing",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80", "none", contained_unreadable },
	{ "the host outside can be told, the worker inside cannot",
	  HOST
	  "\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n5000 begin task=17 worker=22:80",
	  "none", contained_unreadable },
	{ "a namespace that is neither",
	  "log 1 1000\n1000 host host=4711:50 boot=BOOT pidns=5 class=pyspark\n"
	  "5000 begin task=17 " W,
	  "none", contained },
	{ "nobody knows where we are", HOST "\n5000 begin task=17 " W, "none", we_are_nowhere },
	{ "another boot's host",
	  "log 1 1000\n1000 host host=4711:50 boot=" OTHER_BOOT " pidns=1 class=pyspark\n"
	  "5000 begin task=17 " W,
	  "none", NULL },
	{ "records before the identity record",
	  "log 1 1000\n900 begin task=17 " W "\n1000 host host=4711:50 WHO class=pyspark", "none",
	  NULL },
	{ "the same identity record again",
	  HOST "\n5000 begin task=17 " W "\n6000 host host=4711:50 WHO class=pyspark",
	  "open 1/1 since=5000 tasks=17", NULL },
	{ "a second host in one log: nobody is believed any more",
	  HOST "\n5000 begin task=17 " W
	       "\n6000 host host=4712:51 WHO class=pyspark\n8000 end task=17\n"
	       "8001 retired " W,
	  "open 1/1 since=5000 part tasks=17", NULL },
	{ "a second boot in one log",
	  HOST "\n6000 host host=4711:50 boot=" OTHER_BOOT
	       " pidns=1 class=pyspark\n8001 retired " W,
	  "none part", NULL },
	{ "our host in a log of another boot's",
	  "log 1 1000\n1000 host host=4711:50 boot=" OTHER_BOOT
	  " pidns=1 class=pyspark\n1001 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "none", NULL },
	{ "an operator in a host's log", HOST "\n6000 operator uid=1000 WHO\n8001 retired " W,
	  "none part", NULL },
	{ "a log that is gone leaves what it began and what ended",
	  HOST "\n5000 begin task=17 " W "\n5001 begin task=18 " W "\n8000 end task=17\nforget 1\n"
	       "log 3 1000\n8500 host host=4711:50 WHO class=pyspark\n8501 begin task=17 " W,
	  "open 1/2 since=5001 end=8000 tasks=18,17", NULL },
	{ "without any log nothing is said", HOST "\n5000 begin task=17 " W "\nforget 1", "none",
	  NULL },
	{ "a log that was never there", HOST "\n5000 begin task=17 " W "\nforget 5",
	  "open 1/1 since=5000 tasks=17", NULL },
};

Test(ledger, names_are_those_of_the_writer)
{
	check_rows(names, ARRAY_SIZE(names));
}

#define REPORTED HOST " pool=reported\n"

static void other_class(struct ledger_question *q)
{
	q->class_name = "pyjava";
}

static const struct row words[] = {
	{ "pooled", HOST "\n5000 pooled " W, "pooled pooled", NULL },
	{ "leased", HOST "\n5000 leased " W " task=17", "leased leased", NULL },
	{ "pooled, then leased", HOST "\n5000 pooled " W "\n5000 leased " W, "leased leased",
	  NULL },
	{ "leased, then pooled", HOST "\n5000 leased " W "\n5000 pooled " W, "pooled pooled",
	  NULL },
	{ "an older word in another log",
	  HOST "\n5000 pooled " W
	       "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\n4999 leased " W,
	  "pooled pooled", NULL },
	{ "an older word of root's",
	  HOST "\n5000 pooled " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n4999 leased " W,
	  "pooled pooled", NULL },
	{ "a newer word of root's",
	  HOST "\n5000 pooled " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n5001 leased " W,
	  "leased leased", NULL },
	{ "a word of a log that is gone",
	  HOST "\n5000 pooled " W
	       "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\nforget 1",
	  "none", NULL },
	{ "a word of Python's side", HOST "\n" DAEMON "5000 pooled " W "\n5001 retired " W, "none",
	  NULL },
	{ "a host that does not list takes no word back by silence",
	  HOST "\n5000 pooled " W "\nbeats 10000 50000 10000", "pooled pooled", NULL },
	{ "a beat right after the word is its own list's",
	  REPORTED "5000 pooled " W "\n5000 beat n=*", "pooled pooled !declared !reported", NULL },
	{ "the list of the next beat has it no more",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n15001 beat n=*", "none !declared", NULL },
	{ "a beat that is not complete takes nothing back",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n15001 beat n=7",
	  "pooled pooled !declared !reported", NULL },
	{ "a list after the clock was stepped",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\nstep 4000\n6000 beat n=*\n6500 beat n=*",
	  "none !declared", NULL },
	{ "no list yet after the clock was stepped",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n5002 beat n=*\nstep 4000",
	  "pooled pooled !declared !reported", NULL },
	{ "the first list after the clock was stepped began nobody knows when",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n5002 beat n=*\nstep 4000\n6000 beat n=*",
	  "pooled pooled !declared !reported", NULL },

	{ "retired", HOST "\n5000 retired " W, "retired retired@5000", NULL },
	{ "retired again: the first time counts", HOST "\n5000 retired " W "\n7000 retired " W,
	  "retired retired@5000", NULL },
	{ "retired in two logs: the newer log's word",
	  HOST "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\n6000 retired " W
	       "\nlog 1 1000\n5000 retired " W,
	  "retired retired@6000", NULL },
	{ "retired by root and by the user",
	  HOST "\n5000 retired " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n4000 retired " W,
	  "retired retired@4000", NULL },
	{ "retired with an open task: that objects elsewhere",
	  HOST "\n4000 begin task=17 " W "\n5000 retired " W,
	  "retired 1/1 since=4000 retired@5000 tasks=17", NULL },
	{ "retired, then pooled: it was not given up", HOST "\n5000 retired " W "\n5000 pooled " W,
	  "pooled pooled", NULL },
	{ "pooled, then retired", HOST "\n4000 pooled " W "\n5000 retired " W,
	  "retired pooled retired@5000", NULL },
	{ "retired, then begun upon",
	  HOST "\n5000 retired " W "\n5001 begin task=17 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "retired, then begun upon as Python says",
	  HOST "\n5000 retired " W "\n8000 end task=17\n" DAEMON "5001 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "retired by a log of another class", HOST "\n5000 retired " W, "none", other_class },
	{ "retired by a log that is gone",
	  HOST "\n5000 retired " W
	       "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\nforget 1",
	  "none", NULL },
	{ "retired before the clock was stepped", HOST "\n5000 retired " W "\nstep 900000",
	  "retired retired@5000 untrusted", NULL },
	{ "retired in the future", HOST "\n1020000 retired " W, "retired retired@1020000 untrusted",
	  NULL },

	{ "an operator's word", HOST "\n" OPERATOR "5000 retired " W, "retired operator@5000",
	  NULL },
	{ "an operator's word without a host's log", OPERATOR "5000 retired " W,
	  "retired operator@5000", NULL },
	{ "an operator's first word counts", OPERATOR "5000 retired " W "\n6000 retired " W,
	  "retired operator@5000", NULL },
	{ "an operator may say nothing else",
	  HOST "\n5000 begin task=17 " W "\n" OPERATOR "5000 retired " W
	       "\n8000 end task=17\n8000 pooled " W,
	  "retired 1/1 since=5000 operator@5000 tasks=17", NULL },
	{ "an operator of another uid", "log 9 1001\n1000 operator uid=1001 WHO\n5000 retired " W,
	  "none", NULL },
	{ "root's word counts for all", "log 9 0\n1000 operator uid=0 WHO\n5000 retired " W,
	  "retired operator@5000", other_uid },
	{ "root's and the user's word",
	  OPERATOR "5000 retired " W "\nlog 8 0\n1000 operator uid=0 WHO\n4000 retired " W,
	  "retired operator@4000", NULL },
	{ "an operator of another worker", OPERATOR "5000 retired worker=4802:80", "none", NULL },
	{ "an operator's later record says who speaks now",
	  "log 9 1000\n1000 operator uid=1000 boot=" OTHER_BOOT
	  " pidns=1\n1000 retired worker=4801:80\n"
	  "2000 operator uid=1000 boot=BOOT pidns=7\n2000 retired worker=22:80\n"
	  "3000 operator uid=1000 boot=BOOT pidns=7\n3000 retired worker=23:80",
	  "retired operator@2000", contained },
	{ "an operator of another boot",
	  "log 9 1000\n1000 operator uid=1000 boot=" OTHER_BOOT " pidns=1\n5000 retired " W, "none",
	  NULL },
	{ "a host in an operator's log",
	  OPERATOR "5000 retired " W "\n6000 host host=4711:50 WHO class=pyspark", "none", NULL },
	{ "an operator's log that is gone", OPERATOR "5000 retired " W "\nforget 9", "none", NULL },
	{ "an operator's word before the clock was stepped",
	  OPERATOR "5000 retired " W "\nstep 900000", "retired operator@5000 untrusted", NULL },
	{ "an operator's word in the future", OPERATOR "1020000 retired " W,
	  "retired operator@1020000 untrusted", NULL },
};

Test(ledger, the_last_word_on_a_worker)
{
	check_rows(words, ARRAY_SIZE(words));
}

#define NONE   HOST " pool=none\n"
#define ALL    HOST " tasks=all pool_timeout=60000\n"
#define SERVED "5000 begin task=17 " W "\n8000 end task=17\n"
#define SECOND "log 3 1000\n1000 host host=4711:50 WHO class=pyspark"

static void byte_at_18s(struct ledger_question *q)
{
	q->last_byte_ms = 18000;
}

static void byte_at_18s_and_1ms(struct ledger_question *q)
{
	q->last_byte_ms = 18001;
}

static void born_at_100s(struct ledger_question *q)
{
	q->born_ms = 100000;
	q->last_byte_ms = 100000;
}

static const struct row declared[] = {
	{ "declared", NONE SERVED, "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "a host that does not declare it", HOST "\n" SERVED, "ended 0/1 end=8000 tasks=17",
	  NULL },
	{ "a task is open", NONE SERVED "8001 begin task=18 " W,
	  "open 1/2 since=8001 end=8000 !declared tasks=18,17", NULL },
	{ "T4: a fresh worker that nothing binds, leased by a running task",
	  NONE "5000 begin task=17", "none", NULL },
	{ "bound by Python's side", NONE "8000 end task=17\n" DAEMON "5000 begin task=17 " W,
	  "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "declared for another class", NONE SERVED, "ended 0/1 end=8000 tasks=17", other_class },
	{ "two logs that say the same", NONE SERVED SECOND " pool=none",
	  "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "two logs that do not", NONE SERVED SECOND, "ended 0/1 end=8000 tasks=17", NULL },
	{ "two logs that contradict each other", NONE SERVED SECOND " pool=reported",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "three logs, two of which say it",
	  NONE SERVED SECOND " pool=none\nlog 4 0\n"
			     "1000 host host=4711:50 WHO class=pyspark",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a log of another class does not matter",
	  NONE SERVED "log 3 1000\n1000 host host=4711:50 WHO class=pyjava pool=reported",
	  "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "a log that takes its promise back",
	  NONE SERVED "9000 host host=4711:50 WHO class=pyspark", "ended 0/1 end=8000 tasks=17",
	  NULL },
	{ "a log that turns to another class",
	  NONE SERVED "9000 host host=4711:50 WHO class=pyjava pool=none",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a promise in a log that is gone", NONE SERVED SECOND "\nforget 1",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a byte 10 s after the end is its own", NONE SERVED,
	  "ended 0/1 end=8000 declared@8000 tasks=17", byte_at_18s },
	{ "a later byte: a binding was missed", NONE SERVED,
	  "ended 0/1 end=8000 late declared@8000 tasks=17", byte_at_18s_and_1ms },
	{ "nobody knows the last byte", NONE SERVED,
	  "ended 0/1 end=8000 late? declared@8000 tasks=17", no_byte_known },
	{ "a later byte while a task is open", NONE SERVED "8001 begin task=18 " W,
	  "open 1/2 since=8001 end=8000 !declared tasks=18,17", byte_at_18s_and_1ms },
	{ "an end before the clock was stepped", NONE SERVED "step 7000",
	  "ended 0/1 end=8000 late? declared@8000 untrusted tasks=17", NULL },
	{ "an end before, and one after",
	  NONE "5000 begin task=16 " W "\n5000 end task=16\nstep 7000\n7500 begin task=17 " W
	       "\n8000 end task=17",
	  "ended 0/2 end=8000 declared@8000 tasks=17,16", NULL },
	{ "an end in the future", NONE "5000 begin task=17 " W "\n1020000 end task=17",
	  "ended 0/1 end=1020000 declared@1020000 untrusted tasks=17", NULL },
	{ "an end learned from a log whose time ran backwards",
	  NONE "8000 end task=17\n6000 begin task=1\n" DAEMON "5000 begin task=17 " W,
	  "ended 0/1 end=8000 late? declared@8000 untrusted tasks=17", NULL },
	{ "time that runs backwards in a log", NONE SERVED "6999 begin task=18",
	  "ended 0/1 end=8000 late? declared@8000 untrusted tasks=17", NULL },
	{ "threads that write a second late", NONE SERVED "7000 begin task=18",
	  "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "time that runs backwards in a log that is not believed",
	  NONE SERVED "log 3 1000\n9000 begin task=1\n1000 begin task=2",
	  "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "a log that was not read to its end", NONE SERVED "part",
	  "ended 0/1 end=8000 declared@8000 part tasks=17", NULL },
	{ "a log of this uid that was not", NONE SERVED "behind 1000",
	  "ended 0/1 end=8000 declared@8000 part tasks=17", NULL },
	{ "a log of root that was not", NONE SERVED "behind 0",
	  "ended 0/1 end=8000 declared@8000 part tasks=17", NULL },
	{ "a log of another uid that was not", NONE SERVED "behind 1001",
	  "ended 0/1 end=8000 declared@8000 tasks=17", NULL },
	{ "logs of many uids that were not",
	  NONE SERVED
	  "behind 1\nbehind 2\nbehind 3\nbehind 4\nbehind 5\nbehind 6\nbehind 7\nbehind 8\nbehind 9",
	  "ended 0/1 end=8000 declared@8000 part tasks=17", NULL },
	{ "T1: a signed-off worker whose task runs on is the task's",
	  NONE "5000 begin task=17 " W "\n" DAEMON "6000 done " W,
	  "done 1/1 since=5000 !declared tasks=17", NULL },
	{ "T2: a leased worker whose connection nobody saw is the task's",
	  NONE "5000 begin task=17 " W, "open 1/1 since=5000 !declared tasks=17", NULL },
	{ "T3: a pooled orphan whose host nobody knows", REPORTED "5000 pooled " W, "none",
	  host_unknown },
};

Test(ledger, declared)
{
	check_rows(declared, ARRAY_SIZE(declared));
}

static const struct row reported[] = {
	{ "two beats whose lists began after the end", REPORTED SERVED "beats 9000 29000 10000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17", NULL },
	{ "the first list may have begun before the end", REPORTED SERVED "beats 9000 19000 10000",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "the proof gets no younger", REPORTED SERVED "beats 9000 900000 10000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17", NULL },
	{ "beats that come often", REPORTED SERVED "beats 9000 100000 2000",
	  "ended 0/1 end=8000 !declared reported@21000 tasks=17", NULL },
	{ "beats less than 10 s apart", REPORTED SERVED "beats 9000 20999 1000",
	  "ended 0/1 end=8000 !declared reported@20000 tasks=17", NULL },
	{ "beats less than 10 s apart, one too few", REPORTED SERVED "beats 9000 19999 1000",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "no binding is needed", REPORTED "beats 9000 29000 10000",
	  "none !declared reported@29000", NULL },
	{ "pooled by the last list",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 pooled " W "\n30000 beat n=*",
	  "pooled 0/1 end=8000 pooled !declared !reported tasks=17", NULL },
	{ "leased by the last list",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 leased " W "\n30000 beat n=*",
	  "leased 0/1 end=8000 leased !declared !reported tasks=17", NULL },
	{ "pooled by a list in between: it starts again",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 pooled " W "\nbeats 30000 60000 10000",
	  "ended 0/1 end=8000 !declared reported@60000 tasks=17", NULL },
	{ "a task is open",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 begin task=18 " W
			  "\nbeats 31000 91000 10000",
	  "open 1/2 since=30000 end=8000 !declared !reported tasks=18,17", NULL },
	{ "T5: the lists of another class's pool prove nothing",
	  REPORTED SERVED "beats 9000 99000 10000", "ended 0/1 end=8000 tasks=17", other_class },
	{ "T5: each class has its own",
	  REPORTED SERVED
	  "beats 9000 99000 10000\nlog 3 1000\n1000 host host=4711:50 WHO class=pyjava",
	  "ended 0/1 end=8000 tasks=17", other_class },
	{ "T6: the lists lost their `pooled` line",
	  REPORTED SERVED "9000 beat n=*\n19000 beat n=1\n29000 beat n=1\n39000 beat n=1",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "T6: one of them did: the next one counts again",
	  REPORTED SERVED "9000 beat n=*\n19000 beat n=1\nbeats 29000 39000 10000",
	  "ended 0/1 end=8000 !declared reported@39000 tasks=17", NULL },
	{ "T6: an unknown event counts, as its writer counts it",
	  REPORTED SERVED "8000 sealed x=1\nbeats 9000 29000 10000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17", NULL },
	{ "T7: a list that began before the last end",
	  REPORTED "7000 beat n=*\n7500 begin task=17 " W
		   "\n8000 end task=17\n8500 beat n=*\n18500 beat n=*",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "T7: a list whose beat before came at the very end",
	  REPORTED "7500 begin task=17 " W
		   "\n8000 end task=17\n8000 beat n=*\nbeats 18000 28000 10000",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "T8: beats from before the worker was born", REPORTED "beats 9000 99000 10000",
	  "none !declared", born_at_100s },
	{ "T8: and one after", REPORTED "beats 9000 129000 10000", "none !declared reported@129000",
	  born_at_100s },
	{ "two logs of one class must both prove it",
	  REPORTED SERVED "beats 9000 29000 10000\n" SECOND " pool=reported",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "two logs of one class: the later proof",
	  REPORTED SERVED "beats 9000 29000 10000\n" SECOND
			  " pool=reported\nbeats 9500 39500 10000",
	  "ended 0/1 end=8000 !declared reported@29500 tasks=17", NULL },
	{ "beats in the future", REPORTED SERVED "beats 9000 19000 10000\n1010001 beat n=*",
	  "ended 0/1 end=8000 !declared tasks=17", NULL },
	{ "beats right now", REPORTED SERVED "beats 9000 19000 10000\n1010000 beat n=*",
	  "ended 0/1 end=8000 !declared reported@1010000 tasks=17", NULL },
	{ "beats before the clock was stepped", REPORTED SERVED "beats 9000 99000 10000\nstep 5000",
	  "ended 0/1 end=8000 late? !declared untrusted tasks=17", NULL },
	{ "beats after the clock was stepped",
	  REPORTED SERVED "beats 9000 99000 10000\nstep 5000\nbeats 6000 36000 10000",
	  "ended 0/1 end=8000 late? !declared reported@26000 untrusted tasks=17", NULL },
	{ "beats after time ran backwards",
	  REPORTED SERVED "beats 9000 99000 10000\nbeats 60000 90000 10000",
	  "ended 0/1 end=8000 late? !declared reported@90000 untrusted tasks=17", NULL },
	{ "a beat that is a little earlier than the last",
	  REPORTED SERVED "beats 9000 19000 10000\n18500 beat n=*\n29000 beat n=*",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17", NULL },
	{ "pooled in another log before the clock was stepped",
	  REPORTED "5000 pooled " W
		   "\nlog 3 0\n1000 host host=4711:50 WHO class=other\n5001 pooled " W
		   "\nlog 1 1000\nbeats 9000 39000 10000",
	  "pooled pooled !declared !reported", NULL },
};

Test(ledger, reported)
{
	check_rows(reported, ARRAY_SIZE(reported));
}

static uint64_t seen_running[4096];

static void ran_all_the_time(struct ledger_question *q)
{
	for (size_t i = 0; i < 300; i++)
		seen_running[i] = 1000 + i * 1000;
	q->host_runs = seen_running;
	q->host_run_count = 300;
}

static void stopped_for_25s(struct ledger_question *q)
{
	ran_all_the_time(q);
	for (size_t i = 60; i < 300; i++)
		seen_running[i] += 24000;
}

static void ran_until_50s(struct ledger_question *q)
{
	ran_all_the_time(q);
	q->host_run_count = 50;
}

static void pyjava_timeout(struct ledger_question *q)
{
	q->class_pool_timeout_ms = UNKNOWN_U64;
}

static void born_at_50s(struct ledger_question *q)
{
	q->born_ms = 50000;
}

static void byte_at_60s(struct ledger_question *q)
{
	q->last_byte_ms = 60000;
}

static const struct row idle[] = {
	{ "100 s without a task, seen running, closed by a beat",
	  ALL SERVED "beats 10000 110000 10000", "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "the proof gets no younger", ALL SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "99 s are too short", ALL SERVED "beats 10000 100000 10000\n108999 beat n=*",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "exactly 100 s since the last byte",
	  ALL SERVED "beats 10000 100000 10000\n109000 beat n=*",
	  "ended 0/1 end=8000 idle@109000 tasks=17", NULL },
	{ "no binding is needed", ALL "beats 10000 110000 10000", "none idle@110000", NULL },
	{ "not all tasks are bracketed",
	  HOST " tasks=some pool_timeout=60000\n" SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a longer pool_timeout of the host",
	  HOST " tasks=all pool_timeout=160000\n" SERVED "beats 10000 210000 10000",
	  "ended 0/1 end=8000 idle@210000 tasks=17", NULL },
	{ "a shorter one is not believed",
	  HOST " tasks=all pool_timeout=1\n" SERVED "beats 10000 100000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "only the class knows it", HOST " tasks=all\n" SERVED "beats 10000 110000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "only the host knows it", ALL SERVED "beats 10000 110000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17", pyjava_timeout },
	{ "nobody knows it", HOST " tasks=all\n" SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", pyjava_timeout },
	{ "a host that says it later: the longer counts",
	  HOST " tasks=all\n" SERVED
	       "9000 host host=4711:50 WHO class=pyspark tasks=all pool_timeout=90000\n"
	       "9000 host host=4711:50 WHO class=pyspark tasks=all pool_timeout=70000\n"
	       "9000 host host=4711:50 WHO class=pyspark tasks=all\nbeats 10000 140000 10000",
	  "ended 0/1 end=8000 idle@140000 tasks=17", pyjava_timeout },
	{ "a host that takes tasks=all back",
	  ALL SERVED "9000 host host=4711:50 WHO class=pyspark\n"
		     "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "T5: the promise of another class", ALL SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", other_class },
	{ "T5: a task of another class counts, pools are not told apart by it",
	  ALL SERVED "log 3 1000\n1000 host host=4711:50 WHO class=pyjava\n20000 begin task=j\n"
		     "log 1 1000\nbeats 21000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "two logs: both must promise",
	  ALL SERVED "beats 10000 110000 10000\n" SECOND "\nbeats 10000 110000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "two logs: both must be closed",
	  ALL SERVED "beats 10000 110000 10000\n" SECOND " tasks=all",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "two logs: the later beat and the longer time",
	  ALL SERVED "beats 10000 190000 10000\n" SECOND
		     " tasks=all pool_timeout=90000\n139500 beat n=*",
	  "ended 0/1 end=8000 idle@140000 tasks=17", NULL },
	{ "two logs: the younger one tells of nothing older",
	  ALL SERVED
	  "beats 10000 150000 10000\nlog 3 1000\n"
	  "50000 host host=4711:50 WHO class=pyspark tasks=all\nbeats 60000 150000 10000",
	  "ended 0/1 end=8000 idle@150000 tasks=17", NULL },
	{ "a task of the host is open", ALL SERVED "9000 begin task=18\nbeats 10000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "a task of the worker is open",
	  ALL SERVED "9000 begin task=18 " W "\nbeats 10000 900000 10000",
	  "open 1/2 since=9000 end=8000 !idle tasks=18,17", NULL },
	{ "a task in between: the stretch begins after it",
	  ALL SERVED
	  "beats 10000 50000 10000\n55000 begin task=18\n57000 end task=18\nbeats 60000 160000 10000",
	  "ended 0/1 end=8000 idle@160000 tasks=17", NULL },
	{ "the stretch lies in the past, the host is busy again",
	  ALL SERVED "beats 10000 120000 10000\n125000 begin task=18\nbeats 130000 900000 10000",
	  "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "a job's end ends the stretch's last task",
	  ALL SERVED "9000 begin task=18 job=3\n20000 end job=3\nbeats 21000 121000 10000",
	  "ended 0/1 end=8000 idle@121000 tasks=17", NULL },
	{ "a task that only its end tells of may have run all the time",
	  ALL SERVED "beats 10000 120000 10000\n125000 end task=18\nbeats 130000 230000 10000",
	  "ended 0/1 end=8000 idle@230000 tasks=17", NULL },
	{ "an open task that only Python tells of",
	  ALL SERVED "beats 10000 900000 10000\n" DAEMON "50000 begin task=18",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "an open task that only Python tells of, later than the stretch",
	  ALL SERVED "beats 10000 900000 10000\n" DAEMON "110000 begin task=18",
	  "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "the same before Python's clock was stepped",
	  ALL SERVED "beats 10000 900000 10000\n" DAEMON
		     "110000 begin task=18\n100000 begin task=19",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "root's log knows of a task in the stretch",
	  ALL SERVED "beats 10000 160000 10000\nlog 3 0\n1000 host host=4711:50 WHO class=other\n"
		     "30000 begin task=90\n55000 end task=90",
	  "ended 0/1 end=8000 idle@160000 tasks=17", NULL },
	{ "root's log knows of an open task",
	  ALL SERVED "beats 10000 900000 10000\nlog 3 0\n1000 host host=4711:50 WHO class=other\n"
		     "30000 begin task=90",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "T8: a stretch from before the worker was born", ALL SERVED "beats 10000 140000 10000",
	  "ended 0/1 end=8000 tasks=17", born_at_50s },
	{ "T8: and one that is later", ALL SERVED "beats 10000 150000 10000",
	  "ended 0/1 end=8000 idle@150000 tasks=17", born_at_50s },
	{ "the worker moved a byte", ALL SERVED "beats 10000 150000 10000",
	  "ended 0/1 end=8000 late tasks=17", byte_at_60s },
	{ "nobody knows its last byte", ALL SERVED "beats 10000 900000 10000",
	  "ended 0/1 end=8000 late? tasks=17", no_byte_known },
	{ "pooled in the stretch",
	  ALL SERVED "beats 10000 50000 10000\n55000 pooled " W "\nbeats 60000 150000 10000",
	  "pooled 0/1 end=8000 pooled tasks=17", NULL },
	{ "T9: the log breaks off, the host runs on", ALL SERVED "beats 10000 100000 10000",
	  "ended 0/1 end=8000 tasks=17", ran_all_the_time },
	{ "T9: a log that lost a record may have lost a begin",
	  ALL SERVED "9000 beat n=7\nbeats 10000 900000 10000", "ended 0/1 end=8000 tasks=17",
	  NULL },
	{ "seen running by us alone, but for the last beat",
	  ALL SERVED "9000 beat n=*\n120000 beat n=*", "ended 0/1 end=8000 idle@120000 tasks=17",
	  ran_all_the_time },
	{ "T10: one stop of more than 20 s: the stretch begins after it",
	  ALL SERVED "9000 beat n=*\n184999 beat n=*\n185000 beat n=*",
	  "ended 0/1 end=8000 idle@185000 tasks=17", stopped_for_25s },
	{ "T10: stopped, and the stretch after it is too short",
	  ALL SERVED "9000 beat n=*\n184999 beat n=*", "ended 0/1 end=8000 tasks=17",
	  stopped_for_25s },
	{ "T10: beats at most 20 s apart", ALL SERVED "beats 10000 110000 20000",
	  "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "T10: beats more than 20 s apart", ALL SERVED "beats 10000 900000 20001",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "T10: our looks and the beats fill each other's holes",
	  ALL SERVED "beats 60000 120000 10000", "ended 0/1 end=8000 idle@110000 tasks=17",
	  ran_until_50s },
	{ "T10: both stop", ALL SERVED "beats 10000 60000 10000\nbeats 90000 180000 10000",
	  "ended 0/1 end=8000 tasks=17", ran_until_50s },
	{ "T10: both stop, and a stretch after it",
	  ALL SERVED "beats 10000 60000 10000\nbeats 90000 190000 10000",
	  "ended 0/1 end=8000 idle@190000 tasks=17", ran_until_50s },
	{ "T11: a dead purge thread shows nowhere: the manual says so",
	  ALL SERVED "beats 10000 110000 10000", "ended 0/1 end=8000 idle@110000 tasks=17", NULL },
	{ "T12: a begin that is written late is as open as its time says",
	  ALL SERVED "beats 10000 60000 10000\n59500 begin task=18\nbeats 70000 900000 10000",
	  "ended 0/1 end=8000 tasks=17", NULL },
	{ "T12: a begin that is older than the log's last second",
	  ALL SERVED "beats 10000 120000 10000\n50000 begin task=18\nbeats 51000 900000 10000",
	  "ended 0/1 end=8000 late? untrusted tasks=17", NULL },
	{ "a closing beat in the future", ALL SERVED "beats 10000 20000 10000\n1010001 beat n=*",
	  "ended 0/1 end=8000 tasks=17", ran_all_the_time },
	{ "a stretch from before the clock was stepped",
	  ALL SERVED "beats 10000 900000 10000\nstep 20000",
	  "ended 0/1 end=8000 late? untrusted tasks=17", NULL },
	{ "a stretch after the clock was stepped",
	  ALL SERVED "beats 10000 900000 10000\nstep 20000\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? idle@120000 untrusted tasks=17", NULL },
	{ "the clock was stepped while a task was open",
	  ALL SERVED "9000 begin task=18\nstep 20000\n25000 end task=18\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? idle@130000 untrusted tasks=17", NULL },
	{ "a log of the host whose beats are from before the step",
	  ALL SERVED "beats 10000 110000 10000\n" SECOND
		     " tasks=all\nbeats 10000 110000 10000\nstep 20000\n"
		     "log 1 1000\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? untrusted tasks=17", NULL },
	{ "a log of another class whose beats are from before the step",
	  ALL SERVED
	  "beats 10000 110000 10000\nlog 3 1000\n1000 host host=4711:50 WHO class=other\n"
	  "beats 10000 110000 10000\nstep 20000\nlog 1 1000\nbeats 30000 140000 10000",
	  "ended 0/1 end=8000 late? idle@120000 untrusted tasks=17", NULL },
};

Test(ledger, host_idle)
{
	check_rows(idle, ARRAY_SIZE(idle));
}

Test(ledger, hosts_and_logs_are_listed)
{
	static const char script[] =
		HOST "\n5000 beat n=*\n" DAEMON
		     "log 3 0\n1000 host host=1:50 boot=BOOT pidns=7 class=pyspark\n"
		     "log 4 1000\n6000 host host=4711:50 WHO class=pyjava\n" OPERATOR
		     "log 5 1000\n7000 host host=4712:51 boot=" OTHER_BOOT
		     " pidns=1 class=pyspark\nlog 6 1001\n7000 beat n=0\n"
		     "log 4 1000\n5500 beat n=*";
	struct ledger_question q = usual;
	struct feeder f = begin();
	struct ledger_log_info log;
	struct ledger_host h;

	cr_assert_not(ledger_host_at(f.ledger, 0, &h));
	cr_assert_not(ledger_host_find(f.ledger, &q.host, UID, &h));
	run(&f, script, &q);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert(h.id.pid == 4711 && h.id.start == 50 && h.pid_ns == US && h.owner == UID);
	cr_assert_eq(h.log, 4, "the log with the last record");
	cr_assert_str_eq(h.name, "4.log");
	cr_assert_eq(h.last_ms, 6000);
	cr_assert(ledger_host_at(f.ledger, 1, &h));
	cr_assert(h.id.pid == 1 && h.pid_ns == INNER && h.owner == 0 && h.log == 3);
	cr_assert_not(ledger_host_at(f.ledger, 2, &h), "another boot's host is no host");

	cr_assert(ledger_host_find(f.ledger, &q.host, UID, &h));
	cr_assert_eq(h.log, 4);
	cr_assert_not(ledger_host_find(f.ledger, &q.host, 1001, &h));
	contained(&q);
	cr_assert(ledger_host_find(f.ledger, &q.host, UID, &h));
	cr_assert_eq(h.log, 4, "of both names the newer log");
	cr_assert(ledger_host_find(f.ledger, &q.host, 1001, &h));
	cr_assert_eq(h.log, 3, "root's");

	for (size_t i = 0; i < 7; i++)
		cr_assert_eq(ledger_log_at(f.ledger, i, &log), i < 7);
	cr_assert_not(ledger_log_at(f.ledger, 7, &log));
	cr_assert(ledger_log_at(f.ledger, 1, &log));
	cr_assert(log.log == 2 && log.kind == MARKER_DAEMON && log.id.pid == 4790 &&
		  log.owner == UID);
	cr_assert_str_eq(log.name, "2.log");
	cr_assert(ledger_log_at(f.ledger, 4, &log));
	cr_assert(log.log == 5 && log.other_boot && log.last_ms == 7000);
	cr_assert(ledger_log_at(f.ledger, 5, &log));
	cr_assert(log.log == 6 && log.kind == MARKER_UNKNOWN && log.owner == 1001);

	ledger_forget(f.ledger, 4);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 1, "the one that is left");
	cr_assert_eq(h.last_ms, 5000);
	ledger_forget(f.ledger, 2);
	ledger_forget(f.ledger, 1);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 3);
	ledger_free(f.ledger);
}

/* Whatever the order of the logs, and however often each comes, the answer is the same. */
Test(ledger, the_order_of_logs_does_not_matter)
{
	static const char *const logs[] = {
		HOST " pool=reported tasks=all pool_timeout=60000\n4000 pooled " W
		     "\n5000 begin task=17 job=3 " W
		     "\n8000 end task=17\n8500 end job=3\nbeats 9000 300000 10000\n",
		DAEMON "5001 begin task=17 job=3 " W "\n5002 begin task=18 job=3 " W
		       "\n8400 done " W "\n",
		"log 3 1000\n1000 host host=4711:50 WHO class=pyjava\n7000 end task=19\n",
		"log 4 0\n1500 daemon daemon=4790:60 WHO\n5003 begin task=18 " W "\n",
		"log 5 0\n1000 host host=4711:50 WHO class=pyspark pool=reported tasks=all\n8600 end task=18\n"
		"beats 9500 300000 10000\n",
	};
	char first[sizeof(shown)] = "";

	for (unsigned order = 0; order < 5 * 4 * 3 * 2; order++) {
		bool used[ARRAY_SIZE(logs)] = { false };
		struct feeder f = begin();
		struct marker_facts facts;

		for (unsigned left = ARRAY_SIZE(logs), code = order; left; code /= left, left--) {
			unsigned skip = code % left, i = 0;

			for (; used[i] || skip; i++)
				skip -= !used[i];
			used[i] = true;
			run(&f, logs[i], &usual);
			if (order % 2)
				run(&f, "ask", &usual);
		}
		cr_assert_eq(ledger_ask(f.ledger, &usual, &facts), 0);
		facts.task_count = 0; /* in the order in which they came */
		describe(&facts);
		if (!order)
			memcpy(first, shown, sizeof(first));
		cr_assert_str_eq(shown, first, "order %u", order);
		ledger_free(f.ledger);
	}
	cr_assert_str_eq(first, "ended 0/2 end=8600 !declared reported@29500 idle@109500", "%s",
			 first);
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void add(struct ledger *l, uint32_t log, const struct marker *m)
{
	const struct ledger_source source = { log, UID, "x.log" };

	cr_assert_eq(ledger_add(l, &source, m), 0);
}

static struct marker host_record(pid_t pid, const char *class_name)
{
	struct marker m = { .unix_ms = 1000,
			    .event = MARKER_HOST,
			    .host = { pid, 50 },
			    .pid_ns = US,
			    .boot = BOOT,
			    .pool = POOL_NONE,
			    .pool_timeout_ms = UNKNOWN_U64 };

	(void)snprintf(m.class_name, sizeof(m.class_name), "%s", class_name);
	return m;
}

static struct marker task_record(enum marker_event event, uint64_t ms, unsigned task)
{
	struct marker m = { .unix_ms = ms, .event = event };

	(void)snprintf(m.task, sizeof(m.task), "%u", task);
	return m;
}

/* Months of a busy host: what is forgotten is the oldest that has ended, memory has a limit, and the worker
 * still knows when its last task ended. */
Test(ledger, a_busy_host_is_remembered_within_limits, .timeout = 120)
{
	struct marker host = host_record(4711, "pyspark");
	struct feeder f = begin();
	struct marker_facts facts;
	double began = cpu_ms(), took;
	struct marker m;

	add(f.ledger, 1, &host);
	for (unsigned i = 0; i < 500000; i++) {
		m = task_record(MARKER_BEGIN, 5000 + i / 10, i);
		m.worker = (struct ident){ i < 10 ? 4801 : 5000 + (pid_t)(i % 64), 80 };
		add(f.ledger, 1, &m);
		m = task_record(MARKER_END, 5000 + i / 10, i);
		add(f.ledger, 1, &m);
	}
	took = cpu_ms() - began;
	/* Measured: 150 to 300 ms; a table that has decayed would need minutes. */
	cr_assert_lt(took, 10000, "1e6 records took %.0f ms", took);
	cr_assert_leq(f.ledger->used, LEDGER_STORE_ITEMS);
	for (unsigned i = 500000; i < 1200000; i++) {
		m = task_record(MARKER_BEGIN, 5000 + i / 10, i);
		m.worker = (struct ident){ 5000 + (pid_t)(i % 64), 80 };
		add(f.ledger, 1, &m);
		m = task_record(MARKER_END, 5000 + i / 10, i);
		add(f.ledger, 1, &m);
	}
	cr_assert_leq(f.ledger->used, LEDGER_STORE_ITEMS);
	cr_assert_eq(ledger_ask(f.ledger, &usual, &facts), 0);
	cr_assert_str_eq(describe(&facts), "ended 0/10 end=5000 declared@5000", "%s", shown);

	/* A begin of a task whose end was forgotten is an open task: that can only keep. */
	m = task_record(MARKER_BEGIN, 126000, 3);
	m.worker = (struct ident){ 4801, 80 };
	add(f.ledger, 1, &m);
	cr_assert_eq(ledger_ask(f.ledger, &usual, &facts), 0);
	cr_assert_eq(facts.open, 1);
	cr_assert(facts.logs_whole);
	ledger_free(f.ledger);
}

/* One record or question with the n-th allocation failing: it may say so, and is then given again. */
static void add_again(struct feeder *f, const char *line, long n, bool *ret_failed)
{
	const struct feeder before = *f;
	int err;

	fails_in = n;
	err = add_line(f, line);
	*ret_failed = n && !fails_in;
	fails_in = 0;
	if (!*ret_failed) {
		cr_assert_eq(err, 0, "%s", line);
		return;
	}
	cr_assert_eq(err, -LEDGER_ENOMEM, "%s: %d", line, err);
	memcpy(f->since_beat, before.since_beat, sizeof(f->since_beat));
	cr_assert_eq(add_line(f, line), 0, "%s", line);
}

/* Every record of a long script, and the question after it, with each of its allocations failing once. */
Test(ledger, memory_that_runs_out_changes_nothing)
{
	struct ledger_question q = usual;
	struct marker_facts facts;
	unsigned failures = 0;

	if (!__real_malloc)
		cr_skip_test("not linked with --wrap");
	ports(&q);
	for (long n = 1; n <= 6; n++) {
		struct feeder f = begin();
		char line[200];
		bool failed;

		for (unsigned i = 0; i < 800; i++) {
			static const char *const kinds[] = {
				"%u begin task=%u job=%u-with-a-long-name worker=4801:80",
				"%u begin task=%u-with-a-long-name worker=%u:80",
				"%u begin task=%u-by-ports lport=45873 dport=39917",
				"%u pooled worker=%u:1",
				"%u end task=%u-never-begun",
				"%u beat n=*",
			};

			f.source = (struct ledger_source){ 1 + i / 40, UID, "x.log" };
			(void)snprintf(line, sizeof(line),
				       i % 40 ? kinds[i % 6]
					      : "%u host host=4711:%u WHO class=pyspark tasks=all",
				       5000 + i, i % 40 ? 100 + i : 50 + i / 40 % 18, 300 + i);
			add_again(&f, line, n, &failed);
			failures += failed;
		}
		fails_in = n;
		if (ledger_ask(f.ledger, &q, &facts) < 0) {
			failures++;
			cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
		}
		fails_in = 0;
		cr_assert_eq(facts.bound, 26, "%u", (unsigned)facts.bound);
		cr_assert_eq(facts.open, 26);
		cr_assert(facts.logs_whole);
		ledger_free(f.ledger);
		fails_in = n;
		f.ledger = ledger_new(BOOT);
		cr_assert_eq(!f.ledger, n == 1);
		fails_in = 0;
		ledger_free(f.ledger);
	}
	cr_assert_gt(failures, 50, "%u", failures);
}

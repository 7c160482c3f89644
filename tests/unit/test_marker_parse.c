/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/marker_parse.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOOT    "01234567-89ab-cdef-0123-456789abcdef"
#define T       "reaper/1 1763640000123 "
#define WHO     " boot=" BOOT " pidns=4026531836"
#define HOST    T "host host=4711:8812345" WHO " class=pyspark"
#define TEN     "0123456789"
#define FIFTY   TEN TEN TEN TEN TEN
#define LONG_64 FIFTY TEN "0123"

static const char *parse(const char *line, struct marker *m, unsigned *unknown)
{
	memset(m, 0xa5, sizeof(*m)); /* nothing of an older record may stay */
	return marker_parse(line, strlen(line), m, unknown);
}

static void check_same(const struct marker *a, const struct marker *b, const char *why)
{
	cr_assert_eq(a->unix_ms, b->unix_ms, "%s", why);
	cr_assert_eq(a->event, b->event, "%s", why);
	cr_assert(ident_equal(a->host, b->host), "%s", why);
	cr_assert(ident_equal(a->daemon, b->daemon), "%s", why);
	cr_assert(ident_equal(a->worker, b->worker), "%s", why);
	cr_assert_str_eq(a->boot, b->boot, "%s", why);
	cr_assert_eq(a->pid_ns, b->pid_ns, "%s", why);
	cr_assert_str_eq(a->class_name, b->class_name, "%s", why);
	cr_assert_str_eq(a->app, b->app, "%s", why);
	cr_assert_eq(a->pool, b->pool, "%s", why);
	cr_assert_eq(a->tasks_all, b->tasks_all, "%s", why);
	cr_assert_eq(a->pool_timeout_ms, b->pool_timeout_ms, "%s", why);
	cr_assert_eq(a->has_uid, b->has_uid, "%s", why);
	cr_assert_eq(a->uid, b->uid, "%s", why);
	cr_assert_str_eq(a->task, b->task, "%s", why);
	cr_assert_str_eq(a->job, b->job, "%s", why);
	cr_assert_eq(a->lport, b->lport, "%s", why);
	cr_assert_eq(a->dport, b->dport, "%s", why);
	cr_assert_str_eq(a->outcome, b->outcome, "%s", why);
	cr_assert_eq(a->n, b->n, "%s", why);
}

static const struct {
	const char *why;
	const char *line;
	struct marker want; /* pool_timeout_ms 0 stands for UNKNOWN_U64 */
	unsigned unknown;
} good[] = {
	{ .why = "a host's promises",
	  HOST " pool=reported tasks=all pool_timeout=60000 app=spark-42",
	  { .event = MARKER_HOST,
	    .host = { 4711, 8812345 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark",
	    .pool = POOL_REPORTED,
	    .tasks_all = true,
	    .pool_timeout_ms = 60000,
	    .app = "spark-42" } },
	{ .why = "a host that promises nothing",
	  HOST,
	  { .event = MARKER_HOST,
	    .host = { 4711, 8812345 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark" } },
	{ .why = "the same in words",
	  HOST " pool=unknown tasks=some",
	  { .event = MARKER_HOST,
	    .host = { 4711, 8812345 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark" } },
	{ .why = "a host that never reuses",
	  HOST " pool=none",
	  { .event = MARKER_HOST,
	    .host = { 4711, 8812345 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark",
	    .pool = POOL_NONE } },
	{ .why = "the longest pool_timeout",
	  HOST " pool_timeout=31622400000",
	  { .event = MARKER_HOST,
	    .host = { 4711, 8812345 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark",
	    .pool_timeout_ms = 31622400000 } },
	{ .why = "the keys in another order",
	  T "host class=pyspark pidns=4026531836 boot=" BOOT " host=1:0",
	  { .event = MARKER_HOST,
	    .host = { 1, 0 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark" } },
	{ .why = "a daemon",
	  T "daemon daemon=4790:8812390" WHO,
	  { .event = MARKER_DAEMON,
	    .daemon = { 4790, 8812390 },
	    .boot = BOOT,
	    .pid_ns = 4026531836 } },
	{ .why = "a daemon of a class, and its application",
	  T "daemon daemon=4790:8812390" WHO " class=pyspark app=a-1",
	  { .event = MARKER_DAEMON,
	    .daemon = { 4790, 8812390 },
	    .boot = BOOT,
	    .pid_ns = 4026531836,
	    .class_name = "pyspark",
	    .app = "a-1" } },
	{ .why = "an operator, root",
	  T "operator uid=0" WHO,
	  { .event = MARKER_OPERATOR, .has_uid = true, .boot = BOOT, .pid_ns = 4026531836 } },
	{ .why = "a binding",
	  T "begin task=17 job=3 worker=4801:8812400",
	  { .event = MARKER_BEGIN, .task = "17", .job = "3", .worker = { 4801, 8812400 } } },
	{ .why = "a binding by ports",
	  T "begin task=18 job=3 lport=45873 dport=39917",
	  { .event = MARKER_BEGIN, .task = "18", .job = "3", .lport = 45873, .dport = 39917 } },
	{ .why = "a task without a locator",
	  T "begin task=19",
	  { .event = MARKER_BEGIN, .task = "19" } },
	{ .why = "a job alone", T "begin job=j", { .event = MARKER_BEGIN, .job = "j" } },
	{ .why = "Python's word",
	  T "done worker=4801:8812400 code=-1 task=17 outcome=x",
	  { .event = MARKER_DONE, .worker = { 4801, 8812400 }, .task = "17", .outcome = "x" } },
	{ .why = "Python's word, an exit code of one digit",
	  T "done worker=4801:8812400 code=1",
	  { .event = MARKER_DONE, .worker = { 4801, 8812400 } } },
	{ .why = "an end",
	  T "end task=17 outcome=ok",
	  { .event = MARKER_END, .task = "17", .outcome = "ok" } },
	{ .why = "a job's end",
	  T "end job=3 outcome=failed",
	  { .event = MARKER_END, .job = "3", .outcome = "failed" } },
	{ .why = "pooled",
	  T "pooled worker=4801:8812400",
	  { .event = MARKER_POOLED, .worker = { 4801, 8812400 } } },
	{ .why = "leased",
	  T "leased worker=4803:8812500 task=21",
	  { .event = MARKER_LEASED, .worker = { 4803, 8812500 }, .task = "21" } },
	{ .why = "leased to a job",
	  T "leased worker=4803:8812500 job=2",
	  { .event = MARKER_LEASED, .worker = { 4803, 8812500 }, .job = "2" } },
	{ .why = "retired in a task of a job",
	  T "retired worker=4803:8812500 task=21 job=2",
	  { .event = MARKER_RETIRED, .worker = { 4803, 8812500 }, .task = "21", .job = "2" } },
	{ .why = "retired, the largest numbers",
	  T "retired worker=4194304:18446744073709551615",
	  { .event = MARKER_RETIRED, .worker = { 4194304, UINT64_MAX } } },
	{ .why = "a beat of nothing", T "beat n=0", { .event = MARKER_BEAT } },
	{ .why = "a beat", T "beat n=9", { .event = MARKER_BEAT, .n = 9 } },
	{ .why = "an encoded name",
	  T "end task=a%20b%25%C3%a9",
	  { .event = MARKER_END, .task = "a b%\xc3\xa9" } },
	{ .why = "every hexadecimal digit, in either case",
	  T "end task=%01%23%45%67%89%ab%cd%ef%AB%CD%EF",
	  { .event = MARKER_END, .task = "\x01\x23\x45\x67\x89\xab\xcd\xef\xab\xcd\xef" } },
	{ .why = "every plain byte that is no letter",
	  T "end task=._:/@+-",
	  { .event = MARKER_END, .task = "._:/@+-" } },
	{ .why = "the longest name",
	  T "end task=" LONG_64,
	  { .event = MARKER_END, .task = LONG_64 } },
	{ .why = "unknown keys are skipped and counted",
	  T "end later=%41 task=17 x_2=",
	  { .event = MARKER_END, .task = "17" },
	  2 },
	{ .why = "the first and last bytes of which a key may be",
	  T "end az_09=1 task=17",
	  { .event = MARKER_END, .task = "17" },
	  1 },
	{ .why = "an unknown key that begins another is not that key",
	  T "end xy=1 task=17 x=1",
	  { .event = MARKER_END, .task = "17" },
	  2 },
	{ .why = "two unknown keys of one length",
	  T "end x=1 task=17 y=1",
	  { .event = MARKER_END, .task = "17" },
	  2 },
	{ .why = "a key of another event is unknown here",
	  T "end task=17 n=what",
	  { .event = MARKER_END, .task = "17" },
	  1 },
	{ .why = "a key that another begins with",
	  T "end taskset=1 task=17",
	  { .event = MARKER_END, .task = "17" },
	  1 },
	{ .why = "the beginning of a key",
	  T "end tas=1 task=17",
	  { .event = MARKER_END, .task = "17" },
	  1 },
	{ .why = "a key's first letter and length",
	  T "end tusk=1 task=17",
	  { .event = MARKER_END, .task = "17" },
	  1 },
	{ .why = "the beginning of an event", T "en task=1", { .event = MARKER_UNKNOWN } },
	{ .why = "an event's first letter and length",
	  T "elk task=1",
	  { .event = MARKER_UNKNOWN } },
	{ .why = "an unknown event, its keys are its own",
	  T "sealed task=1 x=",
	  { .event = MARKER_UNKNOWN } },
	{ .why = "an unknown event without keys", T "sealed_2", { .event = MARKER_UNKNOWN } },
};

Test(marker_parse, reads_every_record)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct marker want = good[i].want, m;
		unsigned unknown = 99;
		const char *bad = parse(good[i].line, &m, &unknown);

		cr_assert_null(bad, "%s: %s", good[i].why, bad);
		want.unix_ms = 1763640000123;
		if (!want.pool_timeout_ms)
			want.pool_timeout_ms = UNKNOWN_U64;
		check_same(&m, &want, good[i].why);
		cr_assert_eq(unknown, good[i].unknown, "%s: %u", good[i].why, unknown);
	}
}

static const struct {
	const char *why;
	const char *line;
	const char *expected; /* part of the phrase */
} bad[] = {
	{ "nothing", "", "reaper/1" },
	{ "a start of the magic", "reaper/1", "reaper/1" },
	{ "another version", "reaper/2 1 beat n=0", "reaper/1" },
	{ "a tab for a blank", "reaper/1\t1 beat n=0", "reaper/1" },
	{ "no time", "reaper/1 ", "milliseconds" },
	{ "no event", "reaper/1 1", "event" },
	{ "a time of letters", "reaper/1 now beat n=0", "milliseconds" },
	{ "a time below zero", "reaper/1 -1 beat n=0", "milliseconds" },
	{ "a time after 2286", "reaper/1 10000000000000 beat n=0", "milliseconds" },
	{ "a time that overflows", "reaper/1 99999999999999999999 beat n=0", "milliseconds" },
	{ "two blanks before the time", "reaper/1  1 beat n=0", "milliseconds" },
	{ "two blanks before the event", "reaper/1 1  beat n=0", "event" },
	{ "two blanks before a key", "reaper/1 1 beat  n=0", "one blank" },
	{ "a blank at the end", "reaper/1 1 beat n=0 ", "one blank" },
	{ "a blank after the event", "reaper/1 1 beat ", "event" },
	{ "an event with a stranger", "reaper/1 1 BEAT n=0", "event" },
	{ "an event that is a pair", "reaper/1 1 n=0", "event" },
	{ "a carriage return", "reaper/1 1 beat n=0\r", "printable" },
	{ "a byte above ASCII", "reaper/1 1 beat n=0 x=\xc3\xa9", "printable" },
	{ "the first byte above the printable ones", "reaper/1 1 beat n=0 x=\x7f", "printable" },
	{ "the last printable byte, which is not plain", "reaper/1 1 beat n=0 x=~", "percent" },
	{ "a word without =", "reaper/1 1 beat n", "KEY=VALUE" },
	{ "an empty key", "reaper/1 1 beat =0", "key of" },
	{ "a key in capitals", "reaper/1 1 beat N=0", "key of" },
	{ "a key with a stranger", "reaper/1 1 beat {n}=0", "key of" },
	{ "a key with a sign below the digits", "reaper/1 1 beat n=0 x-y=0", "key of" },
	{ "the same key twice", "reaper/1 1 beat n=0 n=0", "once" },
	{ "the same unknown key twice", "reaper/1 1 beat x=1 n=0 x=1", "once" },
	{ "the same unknown key twice, side by side", "reaper/1 1 beat x=1 x=2 n=0", "once" },
	{ "... and at the end", "reaper/1 1 beat n=0 x=1 x=2", "once" },
	{ "a value that is not encoded", "reaper/1 1 beat n=0 x=a,b", "percent" },
	{ "two = in a pair", "reaper/1 1 beat n=0 x=a=b", "percent" },
	{ "a beat without n", T "beat", "every key" },
	{ "a beat with an empty n", T "beat n=", "number" },
	{ "a beat with a sign", T "beat n=+1", "number" },
	{ "a beat above 64 bits", T "beat n=18446744073709551616", "number" },
	{ "a host without a class", T "host host=1:2" WHO, "every key" },
	{ "a host without a boot", T "host host=1:2 pidns=1 class=x", "every key" },
	{ "a host without a start", T "host host=4711" WHO " class=x", "PID:START" },
	{ "a host with a start of letters", T "host host=4711:a" WHO " class=x", "PID:START" },
	{ "a host with an empty start", T "host host=4711:" WHO " class=x", "PID:START" },
	{ "a host without a pid", T "host host=:1" WHO " class=x", "PID:START" },
	{ "pid 0", T "host host=0:1" WHO " class=x", "PID:START" },
	{ "a pid that no kernel gives", T "host host=4194305:1" WHO " class=x", "PID:START" },
	{ "a start above 64 bits", T "host host=1:18446744073709551616" WHO " class=x",
	  "PID:START" },
	{ "a namespace of none", T "daemon daemon=1:2 boot=" BOOT " pidns=0", "namespace" },
	{ "a namespace of letters", T "daemon daemon=1:2 boot=" BOOT " pidns=x", "namespace" },
	{ "a boot in capitals",
	  T "daemon daemon=1:2 pidns=1 boot=01234567-89AB-cdef-0123-456789abcdef", "boot" },
	{ "a boot without dashes",
	  T "daemon daemon=1:2 pidns=1 boot=0123456789ab0cdef001230456789abcdef0", "boot" },
	{ "a boot with a dash too many",
	  T "daemon daemon=1:2 pidns=1 boot=01234567-89ab-cdef-0123-45678-abcdef", "boot" },
	{ "a boot with a sign below the digits",
	  T "daemon daemon=1:2 pidns=1 boot=01234567-89ab-cdef-0123-45678.abcdef", "boot" },
	{ "a boot with a letter above f",
	  T "daemon daemon=1:2 pidns=1 boot=01234567-89ab-cdef-0123-45678gabcdef", "boot" },
	{ "the start of a boot", T "daemon daemon=1:2 pidns=1 boot=01234567-89ab-cdef", "boot" },
	{ "a boot and a digit more", T "daemon daemon=1:2 pidns=1 boot=" BOOT "0", "boot" },
	{ "a short boot", T "daemon daemon=1:2 pidns=1 boot=" TEN, "boot" },
	{ "an empty class", T "host host=1:2" WHO " class=", "1 to 64" },
	{ "a name of 65 bytes", T "end task=" LONG_64 "x", "1 to 64" },
	{ "a name of 65 bytes, encoded", T "end task=" LONG_64 "%41", "1 to 64" },
	{ "a name with a comma", T "end task=a,b", "1 to 64" },
	{ "a name with the byte behind z", T "end task=a{b", "1 to 64" },
	{ "a NUL in a name", T "end task=a%00b", "1 to 64" },
	{ "an escape cut short", T "end task=a%4", "1 to 64" },
	{ "an escape of one byte", T "end task=%", "1 to 64" },
	{ "an escape without a first digit", T "end task=%g0", "1 to 64" },
	{ "an escape without a second digit", T "end task=%0G", "1 to 64" },
	{ "an escape with a letter above f", T "end task=%g1", "1 to 64" },
	{ "an escape with the byte below A", T "end task=%@1", "1 to 64" },
	{ "an escape with a sign", T "end task=%/1", "1 to 64" },
	{ "a pool of another word", HOST " pool=some", "pool=" },
	{ "a pool that begins right", HOST " pool=non", "pool=" },
	{ "tasks of another word", HOST " tasks=none", "tasks=" },
	{ "a pool_timeout of 0", HOST " pool_timeout=0", "366 days" },
	{ "a pool_timeout above a year", HOST " pool_timeout=31622400001", "366 days" },
	{ "a pool_timeout with a unit", HOST " pool_timeout=60s", "366 days" },
	{ "an operator without a uid", T "operator" WHO, "every key" },
	{ "an operator above 32 bits", T "operator uid=4294967296" WHO, "user's number" },
	{ "a begin of nothing", T "begin worker=1:2", "task or job" },
	{ "half a pair of ports", T "begin task=1 lport=1", "together" },
	{ "the other half", T "begin task=1 dport=1", "together" },
	{ "port 0", T "begin task=1 lport=0 dport=1", "port" },
	{ "port 65536", T "begin task=1 lport=65536 dport=1", "port" },
	{ "an end of nothing", T "end outcome=ok", "task or job" },
	{ "an end of both", T "end task=1 job=1", "not both" },
	{ "done by nobody", T "done task=1", "every key" },
	{ "an exit code of letters", T "done worker=1:2 code=x", "exit code" },
	{ "an exit code with a letter first", T "done worker=1:2 code=x1", "exit code" },
	{ "an empty exit code", T "done worker=1:2 code=", "exit code" },
	{ "a sign for an exit code", T "done worker=1:2 code=-", "exit code" },
	{ "nobody pooled", T "pooled", "every key" },
	{ "nobody leased", T "leased task=1", "every key" },
	{ "nobody retired", T "retired", "every key" },
	{ "511 bytes and one more",
	  T "end task=1 x=" FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY TEN TEN "0123456",
	  "512" },
};

Test(marker_parse, refuses_what_is_not_of_its_form)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		unsigned unknown;
		struct marker m;
		const char *phrase = parse(bad[i].line, &m, &unknown);

		cr_assert_not_null(phrase, "%s was taken", bad[i].why);
		cr_assert(strstr(phrase, bad[i].expected), "%s: %s", bad[i].why, phrase);
	}
}

Test(marker_parse, takes_512_bytes_with_the_newline)
{
	char line[MARKER_LINE_MAX + 1];
	size_t len = (size_t)snprintf(line, sizeof(line), T "end task=1 x=");
	unsigned unknown;
	struct marker m;

	memset(line + len, 'y', sizeof(line) - len);
	cr_assert_null(marker_parse(line, MARKER_LINE_MAX - 1, &m, &unknown));
	cr_assert_not_null(marker_parse(line, MARKER_LINE_MAX, &m, &unknown));
}

/* A NUL inside the line must not end it: what stands behind it would be nobody's. */
Test(marker_parse, refuses_a_nul)
{
	static const char line[] = T "end task=1\0 x=1";
	unsigned unknown;
	struct marker m;

	cr_assert_not_null(marker_parse(line, sizeof(line) - 1, &m, &unknown));
}

Test(marker_parse, reads_only_the_bytes_it_was_given)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		size_t whole = strlen(good[i].line);

		for (size_t len = 0; len <= whole; len++) {
			char *exact = malloc(len + !len); /* the sanitizer sees a byte too many */
			unsigned unknown;
			struct marker m;

			memcpy(exact, good[i].line, len);
			(void)!marker_parse(exact, len, &m, &unknown);
			free(exact);
		}
	}
}

/* Neither a page that may not be read, nor the rest of the line. */
Test(marker_parse, what_stands_behind_its_bytes_says_nothing)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + page;

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(end, page, PROT_NONE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		size_t whole = strlen(good[i].line);

		for (size_t len = 0; len <= whole; len++) {
			const char *alone, *begun;
			unsigned unknown;
			struct marker m;

			memcpy(end - len, good[i].line, len);
			alone = marker_parse(end - len, len, &m, &unknown);
			begun = marker_parse(good[i].line, len, &m, &unknown);
			cr_assert_eq(alone, begun, "%s: %zu bytes", good[i].why, len);
		}
	}
	munmap(pages, 2 * page);
}

Test(marker_parse, writes_what_it_reads)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char line[MARKER_LINE_MAX + 1];
		struct marker m, again;
		unsigned unknown;
		int len;

		cr_assert_null(parse(good[i].line, &m, &unknown));
		len = marker_format(&m, line);
		if (m.event == MARKER_UNKNOWN) {
			cr_assert_eq(len, -EINVAL, "%s", good[i].why);
			continue;
		}
		cr_assert_gt(len, 0, "%s: %d", good[i].why, len);
		cr_assert_eq((size_t)len, strlen(line));
		cr_assert_eq(line[len - 1], '\n');
		cr_assert_null(marker_parse(line, (size_t)len - 1, &again, &unknown));
		check_same(&m, &again, good[i].why);
	}
}

Test(marker_parse, writes_bytes_as_documented)
{
	struct marker m = { .unix_ms = 1763640000123,
			    .event = MARKER_RETIRED,
			    .worker = { 4802, 8812401 },
			    .pool_timeout_ms = UNKNOWN_U64,
			    .task = "a b\n\xff" };
	char line[MARKER_LINE_MAX + 1];

	cr_assert_gt(marker_format(&m, line), 0);
	cr_assert_str_eq(line, T "retired task=a%20b%0A%FF worker=4802:8812401\n");
}

Test(marker_parse, does_not_write_what_it_would_not_read)
{
	struct marker nobody = { .unix_ms = 1, .event = MARKER_RETIRED };
	struct marker half = { .unix_ms = 1, .event = MARKER_BEGIN, .task = "1", .lport = 1 };
	struct marker late = { .unix_ms = UINT64_MAX, .event = MARKER_BEAT };
	struct marker uidless = {
		.unix_ms = 1, .event = MARKER_OPERATOR, .pid_ns = 1, .boot = BOOT
	};
	struct marker big = {
		.unix_ms = 1, .event = MARKER_HOST, .host = { 1, 2 }, .pid_ns = 1, .boot = BOOT
	};
	char line[MARKER_LINE_MAX + 1] = "untouched";

	cr_assert_eq(marker_format(&nobody, line), -EINVAL);
	cr_assert_eq(marker_format(&half, line), -EINVAL);
	cr_assert_eq(marker_format(&late, line), -EINVAL);
	cr_assert_eq(marker_format(&uidless, line), -EINVAL);
	memset(big.class_name, ' ', sizeof(big.class_name) - 1);
	memset(big.app, ' ', sizeof(big.app) - 1);
	cr_assert_eq(marker_format(&big, line), -EINVAL, "pool_timeout 0 is no time");
	big.pool_timeout_ms = UNKNOWN_U64;
	cr_assert_gt(marker_format(&big, line), 0);
	memset(line, 0, sizeof(line));
	memcpy(line, "untouched", 9);
	big.event = MARKER_DONE;
	big.worker = (struct ident){ 1, 2 };
	memset(big.task, ' ', sizeof(big.task) - 1);
	memset(big.job, ' ', sizeof(big.job) - 1);
	memset(big.outcome, ' ', sizeof(big.outcome) - 1);
	cr_assert_eq(marker_format(&big, line), -ENOSPC);
	cr_assert_str_eq(line, "untouched");
}

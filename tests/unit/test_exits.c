/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/exits.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "grow_fail.h"

enum {
	WINDOW = 10 * BUILD_MINUTE,
	NOW = BUILD_HOUR,
};

static const struct ending segv = { ENDING_SIGNAL, SIGSEGV, TRI_NO };
static const struct ending dumped = { ENDING_SIGNAL, SIGSEGV, TRI_YES };
static const struct ending code = { ENDING_CODE, 3, TRI_NO };
static const struct ending unseen = { 0 };

static struct exits_key single(const char *label)
{
	struct exits_key key = { .role = ROLE_SINGLE, .uid = 1000, .class_name = "model" };

	snprintf(key.label, sizeof(key.label), "%s", label);
	return key;
}

static struct exits_key worker_of(pid_t daemon)
{
	return (struct exits_key){
		.role = ROLE_WORKER,
		.class_name = "pyspark",
		.owner = { daemon, 7 },
	};
}

static void note(struct exits *x, const struct exits_key *key, struct ending ending, uint64_t at_ms)
{
	cr_assert_eq(exits_note(x, key, ending, at_ms), 1);
}

/* "11@100 ?@200 signal=1 unseen=1 cores=0 restarts=1" */
static const char *asked(const struct exits *x, const struct exits_key *key, uint64_t now_ms,
			 char text[512])
{
	struct crashes c;
	bool any = exits_ask(x, key, now_ms, WINDOW, &c);

	text[0] = '\0';
	for (size_t i = 0; i < c.count; i++)
		snprintf(text + strlen(text), 512 - strlen(text), "%d@%llu ",
			 c.crash[i].ending.number, (unsigned long long)c.crash[i].at_ms);
	snprintf(text + strlen(text), 512 - strlen(text),
		 "signal=%u unseen=%u cores=%u restarts=%u%s", c.by_signal, c.unseen, c.cores,
		 c.restarts, any ? "" : " nothing");
	cr_expect_eq(c.window_ms, WINDOW);
	cr_expect_eq(c.role, (int)key->role);
	return text;
}

static void expect(const struct exits *x, const struct exits_key *key, uint64_t now_ms,
		   const char *want)
{
	char text[512];

	cr_expect_str_eq(asked(x, key, now_ms, text), want, "%s", text);
}

Test(exits, which_signals_are_a_crash)
{
	static const struct {
		int signal;
		bool worker, daemon, single;
		const char *why;
	} rows[] = {
		{ SIGSEGV, true, true, true, "what the kernel raises" },
		{ SIGBUS, true, true, true, "likewise" },
		{ SIGILL, true, true, true, "likewise" },
		{ SIGFPE, true, true, true, "likewise" },
		{ SIGTRAP, true, true, true, "likewise" },
		{ SIGSYS, true, true, true, "a seccomp filter" },
		{ SIGABRT, true, true, true, "abort(3)" },
		{ SIGPIPE, true, true, true, "wrote to who hung up" },
		{ SIGALRM, true, true, true, "its own timer" },
		{ SIGXCPU, true, true, true, "its limit" },
		{ SIGXFSZ, true, true, true, "its limit" },
		{ 64, true, true, true, "a real-time signal" },
		{ SIGKILL, false, true, true, "Spark's daemon kills workers day by day" },
		{ SIGTERM, false, false, false, "how programs are ended" },
		{ SIGINT, false, false, false, "likewise" },
		{ SIGHUP, false, false, false, "how a daemon ends its group" },
		{ SIGQUIT, false, false, false, "how people end programs" },
		{ SIGUSR1, false, false, false, "a word to it" },
		{ SIGUSR2, false, false, false, "a word to it" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ending e = { ENDING_SIGNAL, rows[i].signal, TRI_NO };

		cr_expect_eq(exits_is_crash(ROLE_WORKER, e), rows[i].worker, "worker, %s",
			     rows[i].why);
		cr_expect_eq(exits_is_crash(ROLE_DAEMON, e), rows[i].daemon, "daemon, %s",
			     rows[i].why);
		cr_expect_eq(exits_is_crash(ROLE_SINGLE, e), rows[i].single, "single, %s",
			     rows[i].why);
	}
	cr_expect_not(exits_is_crash(ROLE_SINGLE, code));
	cr_expect_not(exits_is_crash(ROLE_SINGLE, unseen));
	cr_expect_not(exits_is_crash(ROLE_SINGLE, (struct ending){ ENDING_CODE, SIGSEGV, TRI_NO }),
		      "11 is a code here");
}

Test(exits, keys)
{
	_cleanup_(audit_done) struct audit a = build_audit();
	struct exits_key key;
	struct daemon *d;
	struct subject *s;

	build_host(&a, 4711);
	d = build_daemon(&a, 0, 4790);
	key = exits_key_daemon(&a, d);
	cr_expect_eq(key.role, ROLE_DAEMON);
	cr_expect_str_eq(key.class_name, "pyspark");
	cr_expect(ident_equal(key.owner, a.hosts[0].id));
	cr_expect_eq(key.uid, d->uid);
	key = exits_key_workers(&a, d);
	cr_expect_eq(key.role, ROLE_WORKER);
	cr_expect(ident_equal(key.owner, d->id));
	d->host = -1;
	key = exits_key_daemon(&a, d);
	cr_expect_eq(key.owner.pid, 0);
	s = build_worker(&a, 0, 4801);
	s->daemon_id = a.daemons[0].id;
	key = exits_key_subject(&a, s);
	cr_expect(ident_equal(key.owner, a.daemons[0].id));
	cr_expect_eq(key.uid, 0, "the daemon says whose they are");
	s->role = ROLE_SINGLE;
	s->class_index = -1;
	s->uid = 7;
	strcpy(s->label, "ps");
	key = exits_key_subject(&a, s);
	cr_expect_eq(key.role, ROLE_SINGLE);
	cr_expect_str_eq(key.class_name, "");
	cr_expect_str_eq(key.label, "ps");
	cr_expect_eq(key.uid, 7);
	cr_expect_eq(key.owner.pid, 0);
}

/* -1 is no place: what lies before the hosts and the classes is none of theirs. */
Test(exits, who_has_no_host_or_class_has_the_key_of_none)
{
	static struct {
		struct worker_class before;
		struct audit audit;
	} at;
	const struct subject s = { .role = ROLE_SINGLE, .class_index = -1 };
	struct exits_key key;
	struct daemon *d;

	memset(&at.before, 'x', sizeof(at.before));
	at.audit = build_audit();
	key = exits_key_subject(&at.audit, &s);
	cr_expect_str_eq(key.class_name, "");
	build_host(&at.audit, 4711);
	d = build_daemon(&at.audit, -1, 4790);
	at.audit.hosts++;
	at.audit.host_count--;
	key = exits_key_daemon(&at.audit, d);
	cr_expect_eq(key.owner.pid, 0);
	cr_expect_str_eq(key.class_name, "pyspark");
	at.audit.hosts--;
	at.audit.host_count++;
	audit_done(&at.audit);
}

Test(exits, a_group_is_told_from_others_by_all_of_its_key)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("ps"), other;

	note(&x, &key, segv, NOW);
	expect(&x, &key, NOW, "11@3600000 signal=1 unseen=0 cores=0 restarts=0");
	other = key;
	other.role = ROLE_DAEMON;
	expect(&x, &other, NOW, "signal=0 unseen=0 cores=0 restarts=0 nothing");
	other = key;
	other.uid++;
	expect(&x, &other, NOW, "signal=0 unseen=0 cores=0 restarts=0 nothing");
	other = key;
	other.class_name[0]++;
	expect(&x, &other, NOW, "signal=0 unseen=0 cores=0 restarts=0 nothing");
	other = key;
	other.label[0]++;
	expect(&x, &other, NOW, "signal=0 unseen=0 cores=0 restarts=0 nothing");
	other = key;
	other.owner.pid = 5;
	expect(&x, &other, NOW, "signal=0 unseen=0 cores=0 restarts=0 nothing");
}

Test(exits, only_the_window_counts)
{
	static const struct {
		uint64_t now_ms;
		const char *want;
		bool loop;
	} rows[] = {
		{ 3000, "11@1000 11@2000 11@3000 signal=3 unseen=0 cores=1 restarts=0", true },
		{ WINDOW + 999, "11@1000 11@2000 11@3000 signal=3 unseen=0 cores=1 restarts=0",
		  true },
		{ WINDOW + 1000, "11@2000 11@3000 signal=2 unseen=0 cores=1 restarts=0", false },
		{ WINDOW + 2999, "11@3000 signal=1 unseen=0 cores=0 restarts=0", false },
		{ WINDOW + 3000, "signal=0 unseen=0 cores=0 restarts=0 nothing", false },
	};
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = worker_of(4790);

	note(&x, &key, segv, 1000);
	note(&x, &key, segv, 3000);
	note(&x, &key, dumped, 2000); /* its parent took long to ask */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct crashes c;

		expect(&x, &key, rows[i].now_ms, rows[i].want);
		(void)exits_ask(&x, &key, rows[i].now_ms, WINDOW, &c);
		cr_expect_eq(crashes_loop(&c), rows[i].loop, "row %zu", i);
	}
}

Test(exits, killed_together_is_one)
{
	static const struct {
		struct ending ending;
		uint64_t at_ms;
		int counts;
		const char *why;
	} rows[] = {
		{ { ENDING_SIGNAL, SIGKILL, TRI_NO }, NOW, 1, "the first" },
		{ { ENDING_SIGNAL, SIGKILL, TRI_NO }, NOW + 900, 0, "its neighbour" },
		{ { ENDING_SIGNAL, SIGKILL, TRI_NO }, NOW + 999, 0, "and its neighbour" },
		{ { ENDING_SIGNAL, SIGKILL, TRI_NO }, NOW + 1000, 1, "again, however often" },
		{ { ENDING_SIGNAL, SIGKILL, TRI_NO }, NOW + 1900, 0, "its neighbour" },
		{ { ENDING_SIGNAL, SIGSEGV, TRI_NO }, NOW + 2800, 1, "one that crashed" },
		{ { ENDING_SIGNAL, SIGSEGV, TRI_NO }, NOW + 2800, 1, "and another" },
		{ { ENDING_SIGNAL, SIGKILL, TRI_NO }, NOW + 2900, 1, "after that" },
		{ { ENDING_SIGNAL, SIGSEGV, TRI_NO }, NOW + 2950, 1, "a crash is its own" },
	};
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(exits_note(&x, &key, rows[i].ending, rows[i].at_ms), rows[i].counts,
			     "%s", rows[i].why);
	expect(&x, &key, NOW + 3000,
	       "9@3600000 9@3601000 11@3602800 11@3602800 9@3602900 11@3602950 signal=6 unseen=0 "
	       "cores=0 restarts=0");
}

Test(exits, the_ring_keeps_the_latest)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = worker_of(4790);
	struct crashes c;

	for (uint64_t i = 1; i <= 2 * CRASHES_MAX + 5; i++)
		note(&x, &key, segv, i);
	cr_expect(exits_ask(&x, &key, 100, WINDOW, &c));
	cr_expect_eq(c.count, CRASHES_MAX);
	cr_expect_eq(c.by_signal, CRASHES_MAX);
	cr_expect_eq(c.crash[0].at_ms, CRASHES_MAX + 6);
	cr_expect_eq(c.crash[CRASHES_MAX - 1].at_ms, 2 * CRASHES_MAX + 5);
}

Test(exits, a_loop_is_told_once_until_it_is_over)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = worker_of(4790);

	cr_expect_not(exits_tell(&x, &key, NOW, WINDOW), "nobody knows of it");
	note(&x, &key, segv, NOW);
	note(&x, &key, segv, NOW + 1);
	cr_expect_not(exits_tell(&x, &key, NOW + 1, WINDOW), "two are none");
	note(&x, &key, segv, NOW + 2);
	cr_expect(exits_tell(&x, &key, NOW + 2, WINDOW));
	cr_expect_not(exits_tell(&x, &key, NOW + 3, WINDOW));
	note(&x, &key, segv, NOW + 4);
	cr_expect_not(exits_tell(&x, &key, NOW + 4, WINDOW), "it goes on");
	cr_expect_not(exits_tell(&x, &key, NOW + WINDOW + 3, WINDOW), "it is over");
	for (int i = 0; i < CRASH_LOOP; i++)
		note(&x, &key, segv, NOW + 2 * WINDOW);
	cr_expect(exits_tell(&x, &key, NOW + 2 * WINDOW, WINDOW), "and begins again");
}

static const struct exits_origin server = { 17, { 50, 5 }, 99 };

static void gone(struct exits *x, const struct exits_key *key, pid_t pid, struct ending ending)
{
	struct exits_gone g = { { pid, 1 }, server, NOW, ending };

	cr_assert_eq(exits_gone(x, key, &g, NOW), 0);
}

Test(exits, who_stands_in_the_place_of_one_that_ended)
{
	static const struct {
		struct exits_origin origin;
		uint64_t began_ms;
		bool born;
		const char *why;
	} rows[] = {
		{ { 17, { 50, 5 }, 99 }, NOW + 5, true, "the same in all" },
		{ { 17, { 50, 5 }, 0 }, NOW + 5, true, "the same parent" },
		{ { 17, { 51, 5 }, 99 }, NOW + 5, true, "the same cgroup" },
		{ { 17, { 50, 6 }, 98 }, NOW + 5, false, "another parent of that number" },
		{ { 17, { 0, 0 }, 0 }, NOW + 5, false, "neither is known" },
		{ { 18, { 50, 5 }, 99 }, NOW + 5, false, "another argv" },
		{ { 0, { 50, 5 }, 99 }, NOW + 5, false, "its argv is not known" },
		{ { 17, { 50, 5 }, 99 }, NOW - 10, true, "in the same clock tick" },
		{ { 17, { 50, 5 }, 99 }, NOW - 11, false, "it lived beside it" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(exits_done) struct exits x = { 0 };
		struct exits_key key = single("");

		gone(&x, &key, 1, segv);
		cr_expect_eq(exits_born(&x, &key, &rows[i].origin, rows[i].began_ms, NOW),
			     rows[i].born, "%s", rows[i].why);
		cr_expect_not(exits_born(&x, &key, &server, NOW + 5, NOW) == rows[i].born,
			      "only one comes after one: %s", rows[i].why);
	}
}

Test(exits, what_is_not_known_is_no_likeness)
{
	static const struct exits_origin nobody = { 17, { 0, 0 }, 0 },
					 no_argv = { 0, { 50, 5 }, 99 };
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single(""), other = single("ps");
	struct exits_gone g = { { 1, 1 }, nobody, NOW, segv };

	cr_assert_eq(exits_gone(&x, &key, &g, NOW), 0);
	cr_expect_not(exits_born(&x, &key, &nobody, NOW + 5, NOW));
	cr_expect_not(exits_born(&x, &key, &server, NOW + 5, NOW));
	g.origin = no_argv;
	cr_assert_eq(exits_gone(&x, &key, &g, NOW), 0);
	cr_expect_not(exits_born(&x, &key, &no_argv, NOW + 5, NOW));
	cr_expect_not(exits_born(&x, &other, &server, NOW + 5, NOW), "nobody of that role ended");
}

Test(exits, restarts_after_an_end_that_nobody_saw_count)
{
	static const struct ending endings[] = { { ENDING_CODE, 3, TRI_NO },
						 { ENDING_UNKNOWN, 0, TRI_UNKNOWN },
						 { ENDING_SIGNAL, SIGTERM, TRI_NO },
						 { ENDING_UNKNOWN, 0, TRI_UNKNOWN } };
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("");
	struct crashes c;

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		gone(&x, &key, (pid_t)i + 1, endings[i]);
		cr_assert(exits_born(&x, &key, &server, NOW + 1000 * i, NOW));
	}
	expect(&x, &key, NOW + 5000, "0@3601000 0@3603000 signal=0 unseen=2 cores=0 restarts=4");
	note(&x, &key, segv, NOW + 2000);
	expect(&x, &key, NOW + 5000,
	       "0@3601000 11@3602000 0@3603000 signal=1 unseen=2 cores=0 restarts=4");
	(void)exits_ask(&x, &key, NOW + 5000, WINDOW, &c);
	cr_expect(crashes_loop(&c));
	expect(&x, &key, NOW + WINDOW + 2500, "0@3603000 signal=0 unseen=1 cores=0 restarts=1");
}

Test(exits, a_restart_alone_is_something)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("");

	gone(&x, &key, 1, code);
	expect(&x, &key, NOW, "signal=0 unseen=0 cores=0 restarts=0 nothing");
	cr_assert(exits_born(&x, &key, &server, NOW, NOW));
	expect(&x, &key, NOW, "signal=0 unseen=0 cores=0 restarts=1");
}

Test(exits, all_rings_are_bounded)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("");
	struct crashes c;
	int born = 0;

	for (int i = 0; i < EXITS_GONE_MAX + 3; i++)
		gone(&x, &key, i + 1, unseen);
	while (exits_born(&x, &key, &server, NOW, NOW))
		born++;
	cr_expect_eq(born, EXITS_GONE_MAX);
	for (int i = 0; i < EXITS_RESTARTS_MAX; i++) {
		gone(&x, &key, i + 1, unseen);
		cr_assert(exits_born(&x, &key, &server, NOW + 1, NOW));
	}
	for (int i = 0; i < CRASHES_MAX; i++)
		note(&x, &key, segv, NOW + 2);
	(void)exits_ask(&x, &key, NOW + 2, WINDOW, &c);
	cr_expect_eq(c.count, CRASHES_MAX);
	cr_expect_eq(c.restarts, EXITS_RESTARTS_MAX);
	cr_expect_eq(c.unseen, EXITS_RESTARTS_MAX);
	cr_expect_eq(c.by_signal, CRASHES_MAX);
	cr_expect_eq(c.crash[0].at_ms, NOW + 2, "of both together the latest are kept");
}

Test(exits, when_full_the_group_touched_longest_ago_goes)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key;

	for (pid_t pid = 1; pid <= EXITS_GROUPS_MAX; pid++) {
		key = worker_of(pid);
		note(&x, &key, segv, pid == 7 || pid == 9 ? 1 : 10);
	}
	key = worker_of(1000);
	note(&x, &key, segv, 5);
	cr_expect_eq(x.count, EXITS_GROUPS_MAX);
	expect(&x, &key, 10, "11@5 signal=1 unseen=0 cores=0 restarts=0");
	key = worker_of(7);
	expect(&x, &key, 10, "signal=0 unseen=0 cores=0 restarts=0 nothing");
	key = worker_of(9); /* as old, but it came later */
	expect(&x, &key, 10, "11@1 signal=1 unseen=0 cores=0 restarts=0");
	key = worker_of(8);
	expect(&x, &key, 10, "11@10 signal=1 unseen=0 cores=0 restarts=0");
	note(&x, &key, segv, 11);
	expect(&x, &key, 11, "11@10 11@11 signal=2 unseen=0 cores=0 restarts=0");
	key = worker_of(1000);
	expect(&x, &key, 10, "11@5 signal=1 unseen=0 cores=0 restarts=0"); /* nobody had to go */
}

Test(exits, a_restart_touches_its_group)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("");

	gone(&x, &key, 1, segv);
	for (pid_t pid = 1; pid < EXITS_GROUPS_MAX; pid++) {
		struct exits_key other = worker_of(pid);

		note(&x, &other, segv, NOW + 1);
	}
	cr_assert(exits_born(&x, &key, &server, NOW + 2, NOW + 2));
	key = worker_of(1000);
	note(&x, &key, segv, NOW + 3);
	key = single("");
	expect(&x, &key, NOW + 3, "signal=0 unseen=0 cores=0 restarts=1");
}

Test(exits, hashes)
{
	cr_expect_neq(exits_hash("", 0), 0);
	cr_expect_neq(exits_hash("a\0b", 3), exits_hash("a\0c", 3));
	cr_expect_neq(exits_hash("a", 1), exits_hash("a", 2));
	cr_expect_eq(exits_hash("server", 6), exits_hash("server", 6));
	/* Eight bytes that FNV-1a turns into 0. */
	cr_expect_eq(exits_hash("\xd5\x6b\xb9\x53\x42\x87\x08\x36", 8), 1);
}

Test(exits, without_memory)
{
	_cleanup_(exits_done) struct exits x = { 0 };
	struct exits_key key = single("");
	struct exits_gone g = { { 1, 1 }, server, NOW, segv };

	grow_fail_at(1);
	cr_expect_eq(exits_note(&x, &key, segv, NOW), -ENOMEM);
	grow_fail_at(1);
	cr_expect_eq(exits_gone(&x, &key, &g, NOW), -ENOMEM);
	cr_expect_eq(x.count, 0);
}

Test(exits, done_is_empty)
{
	struct exits x = { 0 };
	struct exits_key key = single("");

	note(&x, &key, segv, NOW);
	exits_done(&x);
	cr_expect_null(x.groups);
	cr_expect_eq(x.count + x.room, 0);
	exits_done(&x);
}

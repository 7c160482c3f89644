/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/tree.h"

#include <errno.h>

#include "census.h"
#include "grow_fail.h"

#define PYJAVA "python -m pyjava.daemon"

static const struct row {
	const char *why;
	const char *want;
	pid_t named[CENSUS_NAMED_MAX];
	struct tree_memory memory[CENSUS_MEMORY_MAX];
	struct person people[CENSUS_MAX];
} rows[] = {
	{ "nobody", "", {}, {}, { { 0 } } },
	{ "a JVM without a daemon is none of ours", "", {}, {}, { INIT, JVM } },
	{ "--host names one all the same", "H4711*", { 4711 }, {}, { INIT, JVM } },
	{ "--host names what is not there", "", { 4712 }, {}, { INIT, JVM } },
	{ "--host names a host that has a daemon",
	  "H4711* D4790/4711/pyspark:0",
	  { 4711 },
	  {},
	  { INIT, JVM, DAEMON } },
	{ "--host twice", "H4711*", { 4711, 4711 }, {}, { INIT, JVM } },
	{ "--host names a parent of whatever name",
	  "H4700* D4790/4700/pyspark:0",
	  { 4700 },
	  {},
	  { INIT,
	    { 4700, 1, 4700, EXECED, "mvn", NULL },
	    { 4790, 4700, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "--host names the host above a shell: the shell is none",
	  "H4711* D4790/4711/pyspark:0",
	  { 4711 },
	  {},
	  { INIT,
	    JVM,
	    { 4750, 4711, 4711, EXECED, "bash", NULL },
	    { 4790, 4750, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "--host names a grandparent: the nearest of both kinds is the host",
	  "H4700* H4711 D4790/4711/pyspark:0",
	  { 4700 },
	  {},
	  { INIT,
	    { 4700, 1, 4700, EXECED, "mvn", NULL },
	    { 4711, 4700, 4711, EXECED, "java", NULL },
	    DAEMON } },
	{ "hosts stand in the order of their numbers, however they were found",
	  "H4600 H4711* D4790/4600/pyspark:0",
	  { 4711 },
	  {},
	  { INIT,
	    JVM,
	    { 4600, 1, 4600, EXECED, "java", NULL },
	    { 4790, 4600, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "an executor's JVM below a worker's JVM: the nearest is the host",
	  "H4712 D4790/4712/pyspark:0",
	  {},
	  {},
	  { INIT,
	    JVM,
	    { 4712, 4711, 4711, EXECED, "java", NULL },
	    { 4790, 4712, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "a shell between them",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  {},
	  { INIT,
	    JVM,
	    { 4750, 4711, 4711, EXECED, "bash", NULL },
	    { 4790, 4750, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "two daemons of one host",
	  "H4711 D4790/4711/pyspark:0 D4791/4711/pyspark:0",
	  {},
	  {},
	  { INIT, JVM, DAEMON, { 4791, 4711, 4791, EXECED, "python3", DAEMON_ARGV } } },
	{ "a JVM that is Spark and pyjava at once",
	  "H4711 D4790/4711/pyspark:0 D4791/4711/pyjava:0",
	  {},
	  {},
	  { INIT, JVM, DAEMON, { 4791, 4711, 4791, EXECED, "python3", PYJAVA } } },
	{ "a daemon whose JVM has exited",
	  "D4790/0/pyspark:0",
	  {},
	  {},
	  { INIT, { 4790, 1, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "a daemon whose parent was not seen",
	  "D4790/0/pyspark:0",
	  {},
	  {},
	  { INIT, { 4790, 77, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "a daemon's zombie is none",
	  "",
	  {},
	  {},
	  { INIT, JVM, { 4790, 4711, 4790, ZOMBIE, "python3", DAEMON_ARGV } } },
	{ "a kernel thread is none",
	  "",
	  {},
	  {},
	  { INIT, JVM, { 4790, 4711, 4790, KERNEL, "python3", DAEMON_ARGV } } },
	{ "a worker shows its daemon's argv, and is none",
	  "",
	  {},
	  {},
	  { INIT, JVM, { 4790, 4711, 4790, FORKED, "python3", DAEMON_ARGV } } },
	{ "a loop of parents ends",
	  "D4790/0/pyspark:0",
	  {},
	  {},
	  { INIT,
	    { 4790, 4791, 4790, EXECED, "python3", DAEMON_ARGV },
	    { 4791, 4790, 4790, EXECED, "bash", NULL } } },

	{ "an orphan's host is known if it was seen while the daemon lived",
	  "H4711 W4801/0o@4711",
	  {},
	  { { { 4801, CENSUS_START + 4801 }, { 4790, 7 }, { 4711, CENSUS_START + 4711 }, 0 } },
	  { INIT, JVM, ORPHAN(4801) } },
	{ "another process has the host's number now",
	  "W4801/0o",
	  {},
	  { { { 4801, CENSUS_START + 4801 }, { 4790, 7 }, { 4711, 7 }, 0 } },
	  { INIT, JVM, ORPHAN(4801) } },
	{ "the host has exited",
	  "W4801/0o",
	  {},
	  { { { 4801, CENSUS_START + 4801 }, { 4790, 7 }, { 4711, 7 }, 0 } },
	  { INIT, ORPHAN(4801) } },
	{ "the host has exited, and its parent does not ask for its end",
	  "W4801/0o",
	  {},
	  { { { 4801, CENSUS_START + 4801 }, { 4790, 7 }, { 4711, CENSUS_START + 4711 }, 0 } },
	  { INIT, { 4711, 1, 4711, ZOMBIE, "java", NULL }, ORPHAN(4801) } },
	{ "another process has the worker's number now: it says nothing of a host",
	  "W4801/0o",
	  {},
	  { { { 4801, 7 }, { 4790, 7 }, { 4711, CENSUS_START + 4711 }, 0 } },
	  { INIT, JVM, ORPHAN(4801) } },
	{ "the worker has exited",
	  "",
	  {},
	  { { { 4801, CENSUS_START + 4801 }, { 4790, 7 }, { 4711, CENSUS_START + 4711 }, 0 } },
	  { INIT, JVM } },
};

static struct tree_input input(const struct row *r)
{
	struct tree_input in = { .named_hosts = r->named, .memory = r->memory };

	while (in.memory_count < CENSUS_MEMORY_MAX && r->memory[in.memory_count].id.pid)
		in.memory_count++;
	while (in.named_count < CENSUS_NAMED_MAX && r->named[in.named_count])
		in.named_count++;
	return in;
}

#define JOB "python3 nightly.py"

static const struct row jobs[] = {
	{ "a program that stands alone is no host when --host names it",
	  "S5000/0",
	  { 5000 },
	  {},
	  { INIT, { 5000, 1, 5000, EXECED, "python3", JOB } } },
	{ "what it forked shows its argv, and is none",
	  "H5001* S5000/0 h5001/5000",
	  { 5001 },
	  {},
	  { INIT,
	    { 5000, 1, 5000, EXECED, "python3", JOB },
	    { 5001, 5000, 5000, FORKED, "python3", JOB } } },
	{ "another program is a host then",
	  "H5000*",
	  { 5000 },
	  {},
	  { INIT, { 5000, 1, 5000, EXECED, "python3", "python3 hourly.py" } } },
};

/* One class of singles, the first; the one behind it matches, too. */
static void only_jobs(struct audit *a)
{
	for (size_t i = 0; i < 2; i++) {
		struct worker_class *c = &a->classes.class[i];

		c->kind = CLASS_OF_SINGLES;
		c->args.count = c->args.choice[0].count = 1;
		snprintf(c->args.choice[0].word[0], CLASS_WORD_MAX, "nightly.py");
	}
}

static void expect_row(const struct row *r, bool of_jobs)
{
	struct tree_input in = input(r);
	struct audit a = census(r->people);
	char text[CENSUS_TEXT];

	if (of_jobs)
		only_jobs(&a);
	cr_assert_eq(tree_build(&a, &in), 0);
	census_text(&a, text);
	cr_expect_str_eq(text, r->want, "%s:\n%s\nnot\n%s", r->why, text, r->want);
	audit_done(&a);
}

Test(tree, who_is_who)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_row(&rows[i], false);
}

Test(tree, who_stands_alone_is_no_host)
{
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++)
		expect_row(&jobs[i], true);
}

Test(tree, the_first_class_that_matches)
{
	const struct person who[CENSUS_MAX] = { INIT, { 5000, 1, 5000, EXECED, "python3", JOB } };
	struct audit a = census(who);

	cr_expect_eq(tree_single_class_of(&a, snapshot_find(&a.snapshot, 5000)), -1);
	only_jobs(&a);
	cr_expect_eq(tree_single_class_of(&a, snapshot_find(&a.snapshot, 5000)), 0);
	cr_expect_eq(tree_single_class_of(&a, snapshot_find(&a.snapshot, 1)), -1, "no argv");
	audit_done(&a);
}

Test(tree, a_jvm_of_another_class_is_no_host)
{
	const struct person who[CENSUS_MAX] = { INIT, JVM, DAEMON };
	struct tree_input in = { 0 };
	struct audit a = census(who);
	char text[CENSUS_TEXT];

	snprintf(a.classes.class[0].host_comm.choice[0].word[0], CLASS_WORD_MAX, "scala");
	cr_assert_eq(tree_build(&a, &in), 0);
	census_text(&a, text);
	cr_expect_str_eq(text, "D4790/0/pyspark:0", "pyjava's hosts are called java: %s", text);
	audit_done(&a);
}

Test(tree, what_a_host_and_a_daemon_say)
{
	const struct person who[CENSUS_MAX] = { INIT, JVM, DAEMON };
	struct tree_input in = { 0 };
	struct audit a = census(who);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_expect(ident_equal(a.hosts[0].id, census_ident(4711)));
	cr_expect_str_eq(a.hosts[0].comm, "java");
	cr_expect_eq(a.hosts[0].uid, 1000);
	cr_expect(a.hosts[0].alive);
	cr_expect_not(a.hosts[0].named);
	cr_expect_eq(a.hosts[0].log_age_ms, UNKNOWN_U64);
	cr_expect(ident_equal(a.daemons[0].id, census_ident(4790)));
	cr_expect_eq(a.daemons[0].uid, 1000);
	cr_expect_eq(a.daemons[0].idle_ms, UNKNOWN_U64);
	cr_expect_eq(tree_find_host(&a, census_ident(4711)), 0);
	cr_expect_eq(tree_find_host(&a, census_ident(4712)), -1);
	cr_expect_eq(tree_add_host(&a, snapshot_find(&a.snapshot, 4711)), 0, "it is there");
	cr_expect_eq(tree_add_host(&a, snapshot_find(&a.snapshot, 1)), 1, "it comes behind");
	audit_done(&a);
}

/* Whoever is not who he seems is remembered, and nobody is given to him. */
Test(tree, what_is_told_of_daemons)
{
	enum {
		NOT_READ,
		HOSTLESS,
		OTHER_UID,
		SETUID,
		PLAIN,
		COUNT
	};
	const struct person who[CENSUS_MAX] = {
		INIT,
		JVM,
		{ 4780, 4711, 4780, EXECED, "python3", DAEMON_ARGV },
		{ 4781, 1, 4781, EXECED, "python3", DAEMON_ARGV },
		{ 4782, 4711, 4782, EXECED, "python3", DAEMON_ARGV },
		{ 4783, 4711, 4783, EXECED, "python3", DAEMON_ARGV },
		DAEMON,
	};
	struct tree_input in = { 0 };
	struct audit a = census(who);
	struct tree_daemon told[COUNT];
	struct host hosts[2] = { { .id = { 1, 1 } } };

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.daemon_count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		a.daemons[i].ev.ids_known = i != NOT_READ;
	a.daemons[OTHER_UID].ev.uids[3] = 1;
	a.daemons[SETUID].ev.exe_setuid = true;
	snapshot_find(&a.snapshot, 4790)->sid = 77;
	cr_assert_eq(a.host_count, 1);
	hosts[1] = a.hosts[0];
	free(a.hosts);
	a.hosts = &hosts[1]; /* nobody is given to the host before the first */
	cr_assert_eq(tree_daemons(&a, NULL, 0, told), COUNT);
	a.hosts = NULL;
	a.host_count = 0;
	for (size_t i = 0; i < COUNT; i++) {
		cr_expect(ident_equal(told[i].id, a.daemons[i].id));
		cr_expect_eq(told[i].host.pid, i == PLAIN ? 4711 : 0, "%zu", i);
		cr_expect_eq(told[i].last, UNKNOWN_U64);
	}
	cr_expect(ident_equal(told[PLAIN].host, census_ident(4711)));
	cr_expect_eq(told[PLAIN].sid, 77);
	cr_expect_eq(told[PLAIN].uid, 1000);
	cr_expect_eq(told[PLAIN].class_index, 0);
	audit_done(&a);
}

static const struct {
	const char *why;
	size_t want;
	pid_t sid; /* of the one that is left */
	struct person people[CENSUS_MAX];
	uint64_t start; /* of the daemon before; 0: as the census has it */
	uint64_t last, want_last;
} deaths[] = {
	{ "one is left in its group: this look is the first to miss it",
	  2,
	  0,
	  { INIT, JVM, DAEMON, { 4801, 1, 4799, FORKED, "a", NULL } },
	  0,
	  UNKNOWN_U64,
	  CENSUS_START + 4801 },
	{ "another look was",
	  2,
	  0,
	  { INIT, JVM, DAEMON, { 4801, 1, 4799, FORKED, "a", NULL } },
	  0,
	  99,
	  99 },
	{ "and it is a zombie itself",
	  2,
	  0,
	  { INIT,
	    JVM,
	    DAEMON,
	    { 4799, 4711, 4799, ZOMBIE, "a", NULL },
	    { 4801, 1, 4799, FORKED, "a", NULL } },
	  0,
	  UNKNOWN_U64,
	  CENSUS_START + 4801 },
	{ "only a zombie is left",
	  1,
	  0,
	  { INIT, JVM, DAEMON, { 4801, 1, 4799, ZOMBIE, "a", NULL } } },
	{ "nobody is", 1, 0, { INIT, JVM, DAEMON } },
	{ "only in another session",
	  1,
	  9,
	  { INIT, JVM, DAEMON, { 4801, 1, 4799, FORKED, "a", NULL } } },
	{ "it is a zombie, and nobody is left",
	  1,
	  0,
	  { INIT, JVM, DAEMON, { 4799, 4711, 4799, ZOMBIE, "a", NULL } } },
	{ "it is about to die, and has no argv any more: it is there",
	  2,
	  0,
	  { INIT, JVM, DAEMON, { 4799, 1, 4799, EXECED, "a", NULL } },
	  0,
	  UNKNOWN_U64,
	  UNKNOWN_U64 },
	{ "another has its number",
	  1,
	  0,
	  { INIT,
	    JVM,
	    DAEMON,
	    { 4799, 1, 4799, EXECED, "a", NULL },
	    { 4801, 1, 4799, FORKED, "a", NULL } },
	  7 },
};

Test(tree, the_dead_are_told_while_their_group_is_there)
{
	for (size_t i = 0; i < ARRAY_SIZE(deaths); i++) {
		struct tree_daemon before = { .id = census_ident(4799),
					      .uid = 7,
					      .last = deaths[i].last };
		struct tree_input in = { 0 };
		struct audit a = census(deaths[i].people);
		struct proc *left = snapshot_find(&a.snapshot, 4801);
		struct tree_daemon told[2];

		if (deaths[i].start)
			before.id.start = deaths[i].start;
		if (left)
			left->sid = deaths[i].sid;
		cr_assert_eq(tree_build(&a, &in), 0);
		cr_expect_eq(tree_daemons(&a, &before, 1, told), deaths[i].want, "%s",
			     deaths[i].why);
		cr_expect_eq(told[0].id.pid, 4790, "by number: %s", deaths[i].why);
		if (deaths[i].want == 2)
			cr_expect(told[1].uid == 7 && told[1].last == deaths[i].want_last, "%s",
				  deaths[i].why);
		audit_done(&a);
	}
}

Test(tree, who_lives_is_told_once)
{
	const struct person who[CENSUS_MAX] = { INIT, JVM, DAEMON };
	struct tree_input in = { 0 };
	struct audit a = census(who);
	struct tree_daemon told[2];

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(tree_daemons(&a, NULL, 0, told), 1);
	told[1] = told[0];
	told[1].last = 1;
	cr_expect_eq(tree_daemons(&a, &told[1], 1, told), 1);
	cr_expect_eq(told[0].last, UNKNOWN_U64);
	audit_done(&a);
}

/* By identity; who exec'ed is no worker in any case. */
Test(tree, forks_of_workers_are_told_while_they_are_there)
{
	enum {
		LATER = 4804
	};
	const struct person who[CENSUS_MAX] = {
		INIT,
		JVM,
		DAEMON,
		WORKER(4801),
		{ 4802, 4801, 4790, FORKED, "python3", NULL },
		{ 4803, 4801, 4790, EXECED, "sh", NULL },
		{ LATER, 1, 4790, FORKED, "python3", NULL },
		{ 4805, 1, 4500, FORKED, "python3", NULL },
	};
	const struct ident before[] = {
		{ 4800, CENSUS_START + 4800 }, /* gone */
		{ 4802, CENSUS_START + 4802 },
		{ 4804, 7 }, /* another had its number */
		{ 4805, CENSUS_START + 4805 },
	};
	struct tree_input in = { 0 };
	struct audit a = census(who);
	struct ident told[ARRAY_SIZE(who) + ARRAY_SIZE(before)];

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(tree_helpers(&a, before, ARRAY_SIZE(before), told), 3);
	cr_expect(ident_equal(told[0], census_ident(4802)), "once");
	cr_expect(ident_equal(told[1], census_ident(LATER)));
	cr_expect(ident_equal(told[2], census_ident(4805)));
	cr_assert_eq(tree_helpers(&a, NULL, 0, told), 2);
	cr_expect(ident_equal(told[0], census_ident(4802)));
	cr_expect(ident_equal(told[1], census_ident(LATER)));
	audit_done(&a);
}

Test(tree, nobody_is_told_of_where_there_is_no_daemon)
{
	const struct person who[CENSUS_MAX] = { INIT };
	struct audit a = census(who);

	cr_expect_eq(tree_daemons(&a, NULL, 0, NULL), 0);
	cr_expect_eq(tree_helpers(&a, NULL, 0, NULL), 0);
	audit_done(&a);
}

Test(tree, without_memory_nothing_leaks)
{
	const struct row r = {
		.named = { 1 },
		.memory = { { { 4801, CENSUS_START + 4801 },
			      { 77, 7 },
			      { 4712, CENSUS_START + 4712 },
			      0 } },
		.people = { INIT,
			    JVM,
			    { 4712, 1, 4712, EXECED, "java", NULL },
			    DAEMON,
			    { 4801, 1, 77, FORKED, "python3", NULL } },
	};
	struct tree_input in = input(&r);
	unsigned call = 1;

	for (;; call++) {
		struct audit a = census(r.people);
		int err;

		grow_fail_at(call);
		err = tree_build(&a, &in);
		audit_done(&a);
		if (!grow_has_failed()) {
			cr_expect_eq(err, 0);
			break;
		}
		cr_expect_eq(err, -ENOMEM, "call %u", call);
	}
	cr_expect_eq(call, 7, "a daemon, three hosts, a worker and its place: %u", call);
}

static const struct {
	const char *why;
	bool want;
	struct person who;
} argvs[] = {
	{ "it leads its group", true, { 4790, 1, 4790, EXECED, "python3", NULL } },
	{ "it leads its group, and nobody is above",
	  true,
	  { 4790, 77, 4790, EXECED, "python3", NULL } },
	{ "it lives below a JVM", true, { 4790, 4711, 4711, EXECED, "python3", NULL } },
	{ "neither", false, { 4790, 1, 1, EXECED, "bash", NULL } },
	{ "it was forked, and its leader lives",
	  false,
	  { 4790, 4711, 4711, FORKED, "python3", NULL } },
	{ "it was forked, and its leader has gone",
	  true,
	  { 4790, 1, 77, FORKED, "python3", NULL } },
	{ "it was forked, and its leader is dead",
	  true,
	  { 4790, 1, 4780, FORKED, "python3", NULL } },
	{ "it was forked, and leads its group", false, { 4790, 1, 4790, FORKED, "python3", NULL } },
	{ "a zombie", false, { 4790, 4711, 4790, ZOMBIE, "python3", NULL } },
	{ "a dead one", false, { 4790, 4711, 77, DEAD, "python3", NULL } },
	{ "a zombie whose threads live", true, { 4790, 4711, 77, ZOMBIE_LEADER, "python3", NULL } },
	{ "a kernel thread", false, { 4790, 2, 4790, KERNEL, "kworker", NULL } },
};

Test(tree, wants_argv)
{
	const struct person dead = { 4780, 1, 4780, ZOMBIE, "python3", NULL };
	const struct tree_input in = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(argvs); i++) {
		const struct person who[CENSUS_MAX] = { INIT, JVM, dead, argvs[i].who };
		struct audit a = census(who);
		const struct proc *p = snapshot_find(&a.snapshot, 4790);

		cr_expect_eq(tree_wants_argv(&a, &in, p), argvs[i].want, "%s", argvs[i].why);
		audit_done(&a);
	}
}

/* Where programs may stand alone, whoever exec'ed may be one; without, only who may be a daemon. */
Test(tree, wants_argv_of_singles)
{
	const struct person who[CENSUS_MAX] = { INIT,
						{ 5000, 1, 77, EXECED, "python3", NULL },
						{ 5001, 1, 77, FORKED, "python3", NULL } };
	const struct tree_input in = { 0 };
	struct audit a = census(who);
	const struct proc *execed = snapshot_find(&a.snapshot, 5000);

	cr_expect_not(tree_wants_argv(&a, &in, execed));
	a.classes.class[a.classes.count++].kind = CLASS_OF_SINGLES;
	cr_expect(tree_wants_argv(&a, &in, execed));
	audit_done(&a);
}

static const struct {
	const char *why;
	bool want;
	pid_t ancestor, pid;
} lines[] = {
	{ "a parent", true, 4711, 4790 },
	{ "a grandparent", true, 4711, 4801 },
	{ "pid 1 is above all", true, 1, 4801 },
	{ "nobody is above pid 1", false, 1, 1 },
	{ "nor above himself", false, 4801, 4801 },
	{ "a child is not above its parent", false, 4801, 4711 },
	{ "not there", false, 4711, 77 },
	{ "the way up is broken", false, 4711, 5001 },
	{ "a loop ends", false, 4711, 6000 },
	{ "pid 1 has no parent, and 0 is nobody", false, 0, 4801 },
};

Test(tree, is_ancestor)
{
	const struct person who[CENSUS_MAX] = { INIT,
						JVM,
						DAEMON,
						WORKER(4801),
						{ 5001, 5000, 5000, EXECED, "a", NULL },
						{ 6000, 6001, 6000, EXECED, "a", NULL },
						{ 6001, 6000, 6000, EXECED, "a", NULL } };
	struct audit a = census(who);

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		cr_expect_eq(tree_is_ancestor(&a.snapshot, lines[i].ancestor, lines[i].pid),
			     lines[i].want, "%s", lines[i].why);
	audit_done(&a);
}

static const struct {
	const char *why;
	const char *want;
	struct ident hosts[3];
	bool keep_hostless;
} cuts[] = {
	{ "one host of two",
	  "H4711 D4790/4711/pyspark:2 W4801/4790@4711 h4803/4801@4711 W4802/4790@4711",
	  { { 4711, CENSUS_START + 4711 } },
	  false },
	{ "the other",
	  "H4712 D4791/4712/pyspark:1 W4900/4791@4712 h4901/4900@4712",
	  { { 4712, CENSUS_START + 4712 } },
	  false },
	{ "both, in the order in which they were",
	  "H4711 H4712 D4790/4711/pyspark:2 D4791/4712/pyspark:1 W4801/4790@4711 h4803/4801@4711 "
	  "W4802/4790@4711 W4900/4791@4712 h4901/4900@4712",
	  { { 4712, CENSUS_START + 4712 }, { 4711, CENSUS_START + 4711 } },
	  false },
	{ "one host, and those that have none",
	  "H4712 D4791/4712/pyspark:1 D4795/0/pyspark:1 W4900/4791@4712 h4901/4900@4712 "
	  "W4950/4795 W4960/0o h4961/4960o",
	  { { 4712, CENSUS_START + 4712 } },
	  true },
	{ "only those that have none",
	  "D4795/0/pyspark:1 W4950/4795 W4960/0o h4961/4960o",
	  {},
	  true },
	{ "nobody", "", {}, false },
	{ "another process has the host's number", "", { { 4711, 7 } }, false },
};

static const struct person all_kinds[CENSUS_MAX] = {
	INIT,
	JVM,
	{ 4712, 1, 4712, EXECED, "java", NULL },
	DAEMON,
	{ 4791, 4712, 4791, EXECED, "python3", DAEMON_ARGV },
	{ 4795, 1, 4795, EXECED, "python3", DAEMON_ARGV },
	WORKER(4801),
	WORKER(4802),
	{ 4803, 4801, 4790, FORKED, "python3", NULL },
	{ 4900, 4791, 4791, FORKED, "python3", NULL },
	{ 4901, 4900, 4791, FORKED, "python3", NULL },
	{ 4950, 4795, 4795, FORKED, "python3", NULL },
	{ 4960, 1, 77, FORKED, "python3", DAEMON_ARGV },
	{ 4961, 4960, 77, FORKED, "python3", NULL },
};

static size_t count_hosts(const struct ident hosts[3])
{
	size_t n = 0;
	while (n < 3 && hosts[n].pid)
		n++;
	return n;
}

Test(tree, keep_hosts)
{
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct audit a = census(all_kinds);
		const struct tree_input in = { 0 };
		char text[CENSUS_TEXT];

		cr_assert_eq(tree_build(&a, &in), 0);
		for (size_t k = 0; k < a.subject_count; k++)
			a.subjects[k].ev.cgroup = strdup("/freed");
		for (size_t k = 0; k < a.daemon_count; k++)
			a.daemons[k].ev.cgroup = strdup("/freed");
		for (size_t k = 0; k < a.host_count; k++)
			a.hosts[k].writers.began_ms = calloc(1, sizeof(uint64_t));
		tree_keep_hosts(&a, cuts[i].hosts, count_hosts(cuts[i].hosts),
				cuts[i].keep_hostless);
		census_text(&a, text);
		cr_expect_str_eq(text, cuts[i].want, "%s:\n%s\nnot\n%s", cuts[i].why, text,
				 cuts[i].want);
		audit_done(&a);
	}
}

/* Of a host that has exited only the name is left, in those that it started. */
Test(tree, keep_hosts_that_have_exited)
{
	const struct ident gone = { 4711, 7 };
	const struct tree_input in = { 0 };
	struct audit a = census(all_kinds);
	char text[CENSUS_TEXT];

	cr_assert_eq(tree_build(&a, &in), 0);
	for (size_t i = 0; i < a.subject_count; i++)
		if (a.subjects[i].host < 0)
			a.subjects[i].host_id = gone;
	tree_keep_hosts(&a, &gone, 1, false);
	census_text(&a, text);
	cr_expect_str_eq(text, "D4795/0/pyspark:1 W4950/4795 W4960/0o h4961/4960o",
			 "a worker is compared with its daemon: %s", text);
	audit_done(&a);
}

static const struct {
	const char *why;
	const char *want;
	bool keep_hostless;
	struct person people[CENSUS_MAX];
} hostless[] = {
	{ "a daemon without a worker",
	  "D4795/0/pyspark:0",
	  true,
	  { INIT, { 4795, 1, 4795, EXECED, "python3", DAEMON_ARGV } } },
	{ "the first daemon, for its worker",
	  "D4795/0/pyspark:1 W4950/4795",
	  false,
	  { INIT,
	    { 4795, 1, 4795, EXECED, "python3", DAEMON_ARGV },
	    { 4950, 4795, 4795, FORKED, "python3", NULL } } },
};

Test(tree, keep_daemons_without_a_host)
{
	const struct ident gone = { 4711, 7 };
	const struct tree_input in = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(hostless); i++) {
		struct audit a = census(hostless[i].people);
		char text[CENSUS_TEXT];

		cr_assert_eq(tree_build(&a, &in), 0);
		for (size_t k = 0; k < a.subject_count; k++)
			a.subjects[k].host_id = gone;
		tree_keep_hosts(&a, &gone, 1, hostless[i].keep_hostless);
		census_text(&a, text);
		cr_expect_str_eq(text, hostless[i].want, "%s: %s", hostless[i].why, text);
		audit_done(&a);
	}
}

/* It has no daemon: the one that lies right before those of the audit is not marked. */
Test(tree, an_orphan_that_stays_keeps_no_daemon)
{
	const struct person who[CENSUS_MAX] = {
		INIT, JVM, DAEMON, { 4960, 1, 77, FORKED, "python3", DAEMON_ARGV }
	};
	const struct tree_input in = { 0 };
	struct audit a = census(who);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.daemon_count--, 1);
	a.daemons++;
	tree_keep_hosts(&a, NULL, 0, true);
	a.daemons--;
	cr_expect_eq(a.subject_count, 1);
	cr_expect_not(a.daemons[0].kept);
	evidence_done(&a.daemons[0].ev);
	audit_done(&a);
}

Test(tree, hosts_and_daemons_are_known_in_the_census)
{
	const struct person who[CENSUS_MAX] = { INIT, JVM, DAEMON, WORKER(4801) };
	const struct tree_input in = { 0 };
	struct audit a = census(who);

	cr_assert_eq(tree_build(&a, &in), 0);
	tree_keep_hosts(&a, NULL, 0, false);
	cr_expect_eq(a.host_count + a.daemon_count + a.subject_count, 0);
	cr_expect(snapshot_find(&a.snapshot, 4711)->listed, "of whichever tree");
	cr_expect(snapshot_find(&a.snapshot, 4790)->listed);
	cr_expect_not(snapshot_find(&a.snapshot, 1)->listed);
	cr_expect_not(snapshot_find(&a.snapshot, 4801)->listed);
	audit_done(&a);
}

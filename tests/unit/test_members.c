/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/members.h"

#include <errno.h>

#include "census.h"
#include "grow_fail.h"

/* Whose child somebody was seen to be. */
#define SEEN(pid)                                                             \
	{                                                                     \
		{ pid, CENSUS_START + (pid) }, { 4790, CENSUS_START + 4790 }, \
			{ 4711, CENSUS_START + 4711 }, 0                      \
	}

/* What the last look saw of the daemon of ORPHAN(), and of others. */
#define LAST(pid, sid, uid, class_index, last)                                          \
	{                                                                               \
		{ pid, CENSUS_START + (pid) }, { 4711, CENSUS_START + 4711 }, sid, uid, \
			class_index, last                                               \
	}
#define LAST_OF(pid) LAST(pid, 0, 1000, 0, UNKNOWN_U64)
#define LAST_DAEMON  LAST_OF(4790)

static const struct row {
	const char *why;
	const char *want;
	struct tree_memory memory[CENSUS_MEMORY_MAX];
	struct person people[CENSUS_MAX];
	struct tree_daemon daemons[CENSUS_DAEMONS_MAX]; /* of the last look, by pid */
	struct ident helpers[CENSUS_MEMORY_MAX];        /* likewise */
} rows[] = {
	{ "nobody", "", {}, { { 0 } } },
	{ "a daemon and its workers, in order",
	  "H4711 D4790/4711/pyspark:2 W4801/4790@4711 W4802/4790@4711",
	  {},
	  { INIT, WORKER(4802), JVM, DAEMON, WORKER(4801) } },
	{ "a worker that is a zombie is none",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  { INIT, JVM, DAEMON, { 4801, 4790, 4790, ZOMBIE, "python3", NULL } } },
	{ "nor one that is dead",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  { INIT, JVM, DAEMON, { 4801, 4790, 4790, DEAD, "python3", NULL } } },
	{ "a zombie leader whose threads live is a living worker",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711",
	  {},
	  { INIT, JVM, DAEMON, { 4801, 4790, 4790, ZOMBIE_LEADER, "python3", NULL } } },
	{ "a daemon's child that exec'ed is its own affair, with all below",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    { 4801, 4790, 4790, EXECED, "sh", NULL },
	    { 4802, 4801, 4790, EXECED, "sleep", NULL } } },
	{ "this reaper saw it as a worker before it exec'ed",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711",
	  { SEEN(4801) },
	  { INIT, JVM, DAEMON, { 4801, 4790, 4790, EXECED, "sleep", NULL } } },
	{ "two daemons of one host, two daemons of two hosts: by daemon, then by number",
	  "H4711 H4712 D4790/4711/pyspark:1 D4791/4711/pyspark:1 D4792/4712/pyjava:1 "
	  "W4803/4790@4711 W4801/4791@4711 W4802/4792@4712",
	  {},
	  { INIT,
	    JVM,
	    { 4712, 1, 4712, EXECED, "java", NULL },
	    DAEMON,
	    { 4791, 4711, 4791, EXECED, "python3", DAEMON_ARGV " pyspark.worker" },
	    { 4792, 4712, 4792, EXECED, "python3", "python -m pyjava.daemon" },
	    WORKER(4803),
	    { 4801, 4791, 4791, FORKED, "python3", NULL },
	    { 4802, 4792, 4792, FORKED, "python3", NULL } } },

	{ "a daemon whose host is unknown, its worker and a lost helper",
	  "D4790/0/pyspark:1 W4801/4790 l4802/4790",
	  {},
	  { INIT,
	    { 4790, 1, 4790, EXECED, "python3", DAEMON_ARGV },
	    WORKER(4801),
	    { 4802, 1, 4790, EXECED, "sleep", NULL } } },
	{ "each of three workers has its helper",
	  "H4711 D4790/4711/pyspark:3 W4801/4790@4711 h4811/4801@4711 W4802/4790@4711 "
	  "h4812/4802@4711 W4803/4790@4711 h4813/4803@4711",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    WORKER(4801),
	    WORKER(4802),
	    WORKER(4803),
	    { 4811, 4801, 4790, EXECED, "sh", NULL },
	    { 4812, 4802, 4790, EXECED, "sh", NULL },
	    { 4813, 4803, 4790, EXECED, "sh", NULL } } },
	{ "what multiprocessing forks looks like its worker, and is its helper",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711 h4802/4801@4711",
	  {},
	  { INIT, JVM, DAEMON, WORKER(4801), { 4802, 4801, 4790, FORKED, "python3", NULL } } },
	{ "helpers stand behind their worker, in whatever depth and order of numbers",
	  "H4711 D4790/4711/pyspark:2 W4801/4790@4711 h4700/4801@4711 h4803/4801@4711 "
	  "h4804/4801@4711 W4802/4790@4711 h4701/4802@4711",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    WORKER(4801),
	    WORKER(4802),
	    { 4700, 4801, 4790, FORKED, "python3", NULL },
	    { 4701, 4802, 4790, EXECED, "sh", NULL },
	    { 4803, 4700, 4790, EXECED, "sh", NULL },
	    { 4804, 4803, 1, EXECED, "sleep", NULL } } },
	{ "a helper in a session of its own",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711 h4802/4801@4711",
	  {},
	  { INIT, JVM, DAEMON, WORKER(4801), { 4802, 4801, 4802, EXECED, "sleep", NULL } } },
	{ "a helper that is a zombie is none",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711",
	  {},
	  { INIT, JVM, DAEMON, WORKER(4801), { 4802, 4801, 4790, ZOMBIE, "python3", NULL } } },
	{ "a Spark below a worker: its workers are its own, its JVM is a helper",
	  "H4711 H4900 D4790/4711/pyspark:1 D4901/4900/pyspark:1 W4801/4790@4711 h4900/4801@4711 "
	  "W4902/4901@4900",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    WORKER(4801),
	    { 4900, 4801, 4790, EXECED, "java", NULL },
	    { 4901, 4900, 4901, EXECED, "python3", DAEMON_ARGV },
	    { 4902, 4901, 4901, FORKED, "python3", NULL },
	    { 4903, 4901, 4901, EXECED, "its own affair", NULL } } },
	{ "the same with lower numbers: what its daemon started is no helper of the worker above",
	  "H4600 H4711 D4601/4600/pyspark:0 D4790/4711/pyspark:1 W4801/4790@4711 h4600/4801@4711",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    WORKER(4801),
	    { 4600, 4801, 4790, EXECED, "java", NULL },
	    { 4601, 4600, 4601, EXECED, "python3", DAEMON_ARGV },
	    { 4602, 4601, 4601, EXECED, "its own affair", NULL } } },

	{ "its worker left while the daemon lives",
	  "H4711 D4790/4711/pyspark:0 l4802/4790@4711",
	  {},
	  { INIT, JVM, DAEMON, { 4802, 1, 4790, FORKED, "python3", NULL } } },
	{ "a subprocess whose worker left, and its child",
	  "H4711 D4790/4711/pyspark:0 l4802/4790@4711 l4803/4790@4711",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    { 4802, 1, 4790, EXECED, "sleep", NULL },
	    { 4803, 4802, 4790, EXECED, "sleep", NULL } } },
	{ "in a session of its own nothing links it any more",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  { INIT, JVM, DAEMON, { 4802, 1, 4802, EXECED, "sleep", NULL } } },
	{ "the daemon died, a sleeping helper without a socket: another orphan tells",
	  "W4801/0o l4802/0o",
	  {},
	  { INIT, ORPHAN(4801), { 4802, 1, 4790, EXECED, "sleep", NULL } } },
	{ "nobody tells: any process whose group leader has gone",
	  "",
	  {},
	  { INIT, { 4802, 1, 4790, EXECED, "sleep", NULL } } },
	{ "an orphan of another group tells nothing",
	  "W4801/0o",
	  {},
	  { INIT, ORPHAN(4801), { 4802, 1, 4791, EXECED, "sleep", NULL } } },
	{ "a group whose leader lives has lost none, even if the leader is an orphan",
	  "W4801/0o",
	  { SEEN(4801) },
	  { INIT,
	    { 4801, 1, 4801, FORKED, "python3", NULL },
	    { 4802, 1, 4801, EXECED, "sleep", NULL } } },
	{ "a worker of that number that is no orphan tells nothing",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    { 4801, 4790, 4777, FORKED, "python3", NULL },
	    { 4802, 1, 4777, EXECED, "sleep", NULL } } },

	{ "its daemon died: its argv, its group and its parent say so",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) } },
	{ "an orphan's argv that was not read",
	  "",
	  {},
	  { INIT, { 4801, 1, 4790, FORKED, "python3", NULL } } },
	{ "an orphan of another program",
	  "",
	  {},
	  { INIT, { 4801, 1, 4790, FORKED, "python3", "python -m http.server" } } },
	{ "an orphan that exec'ed into something else is unknown",
	  "",
	  {},
	  { INIT, { 4801, 1, 4790, EXECED, "sleep", "sleep 600" } } },
	{ "one that exec'ed into a daemon is one",
	  "D4801/0/pyspark:0",
	  {},
	  { INIT, { 4801, 1, 4790, EXECED, "python3", DAEMON_ARGV } } },
	{ "the leader of its own group lost none",
	  "",
	  {},
	  { INIT, { 4801, 1, 4801, FORKED, "python3", DAEMON_ARGV } } },
	{ "a dead leader whose parent does not ask for its end",
	  "W4801/0o",
	  {},
	  { INIT, JVM, { 4790, 4711, 4790, ZOMBIE, "python3", NULL }, ORPHAN(4801) } },
	{ "a leader that lives is no dead daemon",
	  "",
	  {},
	  { INIT, { 4790, 1, 4790, EXECED, "bash", NULL }, ORPHAN(4801) } },
	{ "what multiprocessing forked from an orphan",
	  "W4801/0o h4802/4801o",
	  {},
	  { INIT, ORPHAN(4801), { 4802, 4801, 4790, FORKED, "python3", DAEMON_ARGV } } },
	{ "a parent of another group is no worker",
	  "W4802/0o",
	  {},
	  { INIT,
	    { 4801, 1, 4801, FORKED, "python3", NULL },
	    { 4802, 4801, 4790, FORKED, "python3", DAEMON_ARGV } } },
	{ "a parent that exec'ed is no worker",
	  "l4801/0o W4802/0o",
	  {},
	  { INIT,
	    { 4801, 1, 4790, EXECED, "python3", NULL },
	    { 4802, 4801, 4790, FORKED, "python3", DAEMON_ARGV } } },
	{ "an orphan whose parent was not seen",
	  "W4801/0o",
	  {},
	  { INIT, { 4801, 77, 4790, FORKED, "python3", DAEMON_ARGV } } },
	{ "an orphan of a class that is left alone",
	  "",
	  {},
	  { INIT, { 4801, 1, 4790, FORKED, "python3", DAEMON_ARGV " pyspark.sql.worker.x" } } },
	{ "this reaper saw it: host and class are known, the argv is not asked",
	  "H4711 W4801/0o@4711",
	  { SEEN(4801) },
	  { INIT, JVM, { 4801, 1, 4790, FORKED, "python3", NULL } } },
	{ "this reaper saw it, and it exec'ed since",
	  "H4711 W4801/0o@4711",
	  { SEEN(4801) },
	  { INIT, JVM, { 4801, 1, 4790, EXECED, "sleep", NULL } } },
	{ "it was seen, and its host has exited",
	  "W4801/0o",
	  { SEEN(4801) },
	  { INIT, { 4801, 1, 4790, FORKED, "python3", NULL } } },
	{ "another of that number was seen",
	  "H4711 D4790/4711/pyspark:0",
	  { { { 4801, 7 }, { 4790, 7 }, { 4711, 7 }, 0 } },
	  { INIT, JVM, DAEMON, { 4801, 4790, 4790, EXECED, "sleep", NULL } } },
	{ "born and orphaned since the last look, which saw its daemon",
	  "H4711 W4801/0o@4711",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST_OF(4789), LAST_DAEMON, LAST_OF(4791) } },
	{ "with a helper, and one that lost its worker",
	  "H4711 W4801/0o@4711 h4802/4801o@4711 l4803/0o@4711",
	  {},
	  { INIT,
	    JVM,
	    ORPHAN(4801),
	    { 4802, 4801, 4790, EXECED, "sh", NULL },
	    { 4803, 1, 4790, EXECED, "sleep", NULL } },
	  { LAST_DAEMON } },
	{ "its host has another daemon",
	  "H4711 D4795/4711/pyspark:0 W4801/0o@4711",
	  {},
	  { INIT, JVM, ORPHAN(4801), { 4795, 4711, 4795, EXECED, "python3", DAEMON_ARGV } },
	  { LAST_DAEMON } },
	{ "born by the look that missed its daemon, and not seen by it",
	  "H4711 W4801/0o@4711",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1000, 0, CENSUS_START + 4801) } },
	{ "born when its daemon had gone: a worker has forked it",
	  "",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1000, 0, CENSUS_START + 4800) } },
	{ "likewise, but that daemon is of another session",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 1, 1000, 0, CENSUS_START + 4800) } },
	{ "likewise, but it was seen as a worker",
	  "H4711 W4801/0o@4711",
	  { SEEN(4801) },
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1000, 0, CENSUS_START + 4800) } },
	{ "it was seen as what a worker had forked and left behind",
	  "H4711 l4801/0o@4711",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST_DAEMON },
	  { { 7, 7 }, { 4801, CENSUS_START + 4801 }, { 4802, 7 } } },
	{ "likewise, and its host has exited as well",
	  "l4801/0o",
	  {},
	  { INIT, ORPHAN(4801) },
	  { LAST_DAEMON },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "likewise, and no daemon is known",
	  "",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  {},
	  { { 4801, CENSUS_START + 4801 } } },
	{ "likewise, and the daemon is of another user",
	  "",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1001, 0, UNKNOWN_U64) },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "likewise, and after a reload",
	  "",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1000, -1, UNKNOWN_U64) },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "likewise, with an argv of no class",
	  "",
	  {},
	  { INIT, JVM, { 4801, 1, 4790, FORKED, "a", "a" } },
	  { LAST(4790, 0, 1000, -1, UNKNOWN_U64) },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "likewise, and its daemon is a zombie",
	  "H4711 l4801/0o@4711",
	  {},
	  { INIT, JVM, { 4790, 4711, 4790, ZOMBIE, "python3", NULL }, ORPHAN(4801) },
	  { LAST_DAEMON },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "likewise, and its daemon shows no argv",
	  "",
	  {},
	  { INIT, JVM, { 4790, 4711, 4790, EXECED, "python3", NULL }, ORPHAN(4801) },
	  { LAST_DAEMON },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "one of that number was",
	  "H4711 W4801/0o@4711",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST_DAEMON },
	  { { 4801, 7 } } },
	{ "it was seen with a worker, but as a daemon's child as well",
	  "H4711 W4801/0o@4711",
	  { SEEN(4801) },
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST_DAEMON },
	  { { 4801, CENSUS_START + 4801 } } },
	{ "a reload forgets whose workers there were: they are workers still",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1000, -1, CENSUS_START + 4801) } },
	{ "a daemon whose host is not known",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { { { 4790, CENSUS_START + 4790 }, { 0 }, 0, 1000, 0, UNKNOWN_U64 } } },
	{ "a daemon of another session",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 1, 1000, 0, UNKNOWN_U64) } },
	{ "another user's daemon",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1001, 0, UNKNOWN_U64) } },
	{ "a daemon of another class",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST(4790, 0, 1000, 1, UNKNOWN_U64) } },
	{ "the last look saw no daemon of that number",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { LAST_OF(4789), LAST_OF(4791) } },
	{ "a program in a daemon's group that never was a worker",
	  "",
	  {},
	  { INIT, JVM, { 4801, 1, 4790, EXECED, "sleep", "sleep 600" } },
	  { LAST_DAEMON } },
	{ "its host has exited as well", "W4801/0o", {}, { INIT, ORPHAN(4801) }, { LAST_DAEMON } },
	{ "its host is a zombie",
	  "W4801/0o",
	  {},
	  { INIT, { 4711, 1, 4711, ZOMBIE, "java", NULL }, ORPHAN(4801) },
	  { LAST_DAEMON } },
	{ "its host has exited, and another JVM has the number",
	  "W4801/0o",
	  {},
	  { INIT, JVM, ORPHAN(4801) },
	  { { { 4790, CENSUS_START + 4790 }, { 4711, 7 }, 0, 1000, 0, UNKNOWN_U64 } } },
	{ "a daemon that lives still",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711",
	  {},
	  { INIT, JVM, DAEMON, WORKER(4801) },
	  { LAST_DAEMON } },
	{ "what was seen of the worker itself counts more",
	  "H4712 W4801/0o@4712",
	  { { { 4801, CENSUS_START + 4801 },
	      { 4790, CENSUS_START + 4790 },
	      { 4712, CENSUS_START + 4712 },
	      0 } },
	  { INIT, JVM, { 4712, 1, 4712, EXECED, "java", NULL }, ORPHAN(4801) },
	  { LAST_DAEMON } },
	{ "orphans stand behind those that have a daemon",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711 W4600/0o h4601/4600o W4700/0o",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    WORKER(4801),
	    { 4600, 1, 4500, FORKED, "python3", DAEMON_ARGV },
	    { 4601, 4600, 4500, FORKED, "python3", NULL },
	    { 4700, 1, 4500, FORKED, "python3", DAEMON_ARGV } } },
	{ "a daemon that was seen as another's worker is a daemon",
	  "H4711 D4790/4711/pyspark:0",
	  { SEEN(4790) },
	  { INIT, JVM, DAEMON } },
	{ "a torn census: two that are each other's parent",
	  "H4711 D4790/4711/pyspark:0 l4802/4790@4711 l4803/4790@4711",
	  {},
	  { INIT,
	    JVM,
	    DAEMON,
	    { 4802, 4803, 4790, EXECED, "a", NULL },
	    { 4803, 4802, 4790, EXECED, "b", NULL } } },
	{ "one that is its own parent",
	  "H4711 D4790/4711/pyspark:0 l4802/4790@4711",
	  {},
	  { INIT, JVM, DAEMON, { 4802, 4802, 4790, EXECED, "a", NULL } } },
};

static struct tree_input input(const struct row *r)
{
	struct tree_input in = { .memory = r->memory,
				 .daemons = r->daemons,
				 .helpers = r->helpers };

	while (in.memory_count < CENSUS_MEMORY_MAX && r->memory[in.memory_count].id.pid)
		in.memory_count++;
	while (in.daemon_count < CENSUS_DAEMONS_MAX && r->daemons[in.daemon_count].id.pid)
		in.daemon_count++;
	while (in.helper_count < CENSUS_MEMORY_MAX && r->helpers[in.helper_count].pid)
		in.helper_count++;
	return in;
}

static struct audit people(const struct row *r)
{
	struct audit a = census(r->people);
	struct choices *c = &a.classes.class[0].exclude_args;

	c->count = 1;
	c->choice[0].count = 1;
	snprintf(c->choice[0].word[0], CLASS_WORD_MAX, "pyspark.sql.worker");
	return a;
}

Test(members, who_is_who)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tree_input in = input(&rows[i]);
		struct audit a = people(&rows[i]);
		char text[CENSUS_TEXT];

		cr_assert_eq(tree_build(&a, &in), 0);
		census_text(&a, text);
		cr_expect_str_eq(text, rows[i].want, "%s:\n%s\nnot\n%s", rows[i].why, text,
				 rows[i].want);
		audit_done(&a);
	}
}

Test(members, what_a_subject_says_of_itself)
{
	const struct person who[CENSUS_MAX] = { INIT, JVM, DAEMON, WORKER(4801) };
	struct tree_input in = { 0 };
	struct audit a = census(who);
	const struct subject *s;

	cr_assert_eq(tree_build(&a, &in), 0);
	s = &a.subjects[0];
	cr_expect(ident_equal(s->id, census_ident(4801)));
	cr_expect_eq(s->ppid, 4790);
	cr_expect_eq(s->pgrp, 4790);
	cr_expect_eq(s->uid, 1000);
	cr_expect_eq(s->threads, 1);
	cr_expect_eq(s->rss_bytes, 1000);
	cr_expect_str_eq(s->comm, "python3");
	cr_expect_eq(s->class_index, 0);
	cr_expect_not(s->orphan);
	cr_expect(ident_equal(s->daemon_id, census_ident(4790)));
	cr_expect(ident_equal(s->host_id, census_ident(4711)));
	cr_expect_eq(a.daemons[0].rss_bytes, 1000);
	audit_done(&a);
}

Test(members, what_was_seen_of_an_orphan)
{
	const struct row r = { .memory = { SEEN(4801) },
			       .people = { INIT,
					   { 4801, 1, 4790, FORKED, "python3", NULL },
					   { 4802, 4801, 4790, FORKED, "python3", NULL },
					   { 4803, 1, 4790, EXECED, "sleep", NULL } } };
	struct tree_input in = input(&r);
	struct audit a = people(&r);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 3);
	for (size_t i = 0; i < a.subject_count; i++) {
		cr_expect(a.subjects[i].orphan, "the worker, its helper and a lost one");
		cr_expect_eq(a.subjects[i].class_index, 0);
		cr_expect(ident_equal(a.subjects[i].daemon_id, census_ident(4790)));
		cr_expect(ident_equal(a.subjects[i].host_id, census_ident(4711)));
	}
	audit_done(&a);
}

/* Daemon and host have both exited since the last look, and it is still that host's: --host keeps it. */
Test(members, what_the_last_look_says_of_an_orphan)
{
	const struct row r = { .people = { INIT, ORPHAN(4801) }, .daemons = { LAST_DAEMON } };
	const struct ident host = census_ident(4711);
	struct tree_input in = input(&r);
	struct audit a = people(&r);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 1);
	cr_expect(a.subjects[0].orphan);
	cr_expect_eq(a.subjects[0].class_index, 0);
	cr_expect(ident_equal(a.subjects[0].daemon_id, census_ident(4790)));
	cr_expect(ident_equal(a.subjects[0].host_id, host));
	tree_keep_hosts(&a, &host, 1, false);
	cr_expect_eq(a.subject_count, 1);
	audit_done(&a);
}

/* No daemon is believed whose host is not: it may be dressed as one. */
Test(members, what_the_last_look_says_without_a_host)
{
	const struct row r = {
		.people = { INIT, ORPHAN(4801) },
		.daemons = { { { 4790, CENSUS_START + 4790 }, { 0 }, 0, 1000, 0, UNKNOWN_U64 } },
	};
	struct tree_input in = input(&r);
	struct audit a = people(&r);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 1);
	cr_expect_eq(a.subjects[0].daemon_id.pid, 0);
	audit_done(&a);
}

/* It is listed for the sake of its orphan, or of what one left behind. */
Test(members, without_memory_for_the_host_of_an_orphan)
{
	static const struct row orphans[] = {
		{ .people = { INIT, JVM, ORPHAN(4801) }, .daemons = { LAST_DAEMON } },
		{ .people = { INIT, JVM, ORPHAN(4801) },
		  .daemons = { LAST_DAEMON },
		  .helpers = { { 4801, CENSUS_START + 4801 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(orphans); i++) {
		struct tree_input in = input(&orphans[i]);

		for (unsigned call = 1; call <= 2; call++) {
			struct audit a = people(&orphans[i]);

			grow_fail_at(call);
			cr_expect_eq(tree_build(&a, &in), -ENOMEM);
			cr_expect(grow_has_failed());
			cr_expect_eq(a.host_count, 0);
			audit_done(&a);
		}
	}
}

Test(members, the_host_of_a_daemon_that_outlives_it)
{
	const struct row r = { .memory = { SEEN(4801) },
			       .people = { INIT,
					   { 4790, 1, 4790, EXECED, "python3", DAEMON_ARGV },
					   WORKER(4801),
					   { 4802, 4801, 4790, FORKED, "python3", NULL } } };
	const struct ident host = census_ident(4711);
	struct tree_input in = input(&r);
	struct audit a = people(&r);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 2);
	for (size_t i = 0; i < a.subject_count; i++) {
		cr_expect_not(a.subjects[i].orphan);
		cr_expect(ident_equal(a.subjects[i].host_id, host));
		cr_expect_eq(a.subjects[i].host, -1);
	}
	tree_keep_hosts(&a, &host, 1, false);
	cr_expect_eq(a.subject_count, 2, "they are that host's");
	cr_assert_eq(a.daemon_count, 1);
	cr_expect_eq(a.subjects[0].daemon, 0, "and so their daemon stays too");
	audit_done(&a);
}

/* What was seen is of another daemon: it says nothing of this one's host. */
Test(members, the_host_of_another_daemon)
{
	const struct row r = {
		.memory = { { { 4801, CENSUS_START + 4801 },
			      { 4789, CENSUS_START + 4789 },
			      { 4711, CENSUS_START + 4711 },
			      0 } },
		.people = { INIT, { 4790, 1, 4790, EXECED, "python3", DAEMON_ARGV }, WORKER(4801) }
	};
	struct tree_input in = input(&r);
	struct audit a = people(&r);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 1);
	cr_expect_eq(a.subjects[0].host_id.pid, 0);
	audit_done(&a);
}

/* Its JVM lives, only the shell that stood between them has ended. */
Test(members, a_daemon_that_lost_what_stood_above_it)
{
	const struct row r = { .memory = { SEEN(4801) },
			       .people = { INIT,
					   JVM,
					   { 4790, 1, 4790, EXECED, "python3", DAEMON_ARGV },
					   WORKER(4801) } };
	struct tree_input in = input(&r);
	struct audit a = people(&r);

	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 1);
	cr_assert_geq(a.subjects[0].host, 0);
	cr_expect_eq(a.hosts[a.subjects[0].host].id.pid, 4711);
	audit_done(&a);
}

/* A worker, a helper and a lost one, so that every list grows. */
Test(members, without_memory_nothing_leaks)
{
	const struct row r = { .memory = { SEEN(4801) },
			       .people = { INIT,
					   JVM,
					   DAEMON,
					   WORKER(4801),
					   WORKER(4802),
					   { 4803, 4801, 4790, FORKED, "python3", NULL },
					   { 4804, 1, 4790, EXECED, "sleep", NULL } } };
	struct tree_input in = input(&r);
	unsigned call = 1;

	for (;; call++) {
		struct audit a = people(&r);
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
	cr_expect_eq(call, 11, "a host, a daemon, four members, four places: %u", call);
}

/* ---- programs that stand alone ---- */

#define JOB "python3 nightly.py"

static const struct row lone[] = {
	{ "a program", "S5000/0", {}, { INIT, { 5000, 1, 5000, EXECED, "python3", JOB } } },
	{ "two of them, one below the other",
	  "S5000/0 S5001/0",
	  {},
	  { INIT,
	    { 5001, 5000, 5001, EXECED, "python3", JOB },
	    { 5000, 1, 5000, EXECED, "python3", JOB } } },
	{ "what it forks is a part of it, and what that forks",
	  "S5000/0 h5001/5000 h5002/5000",
	  {},
	  { INIT,
	    { 5000, 1, 5000, EXECED, "python3", JOB },
	    { 5001, 5000, 5000, FORKED, "python3", JOB },
	    { 5002, 5001, 5000, FORKED, "python3", JOB } } },
	{ "what it starts is a program of its own, with all that this forks",
	  "S5000/0",
	  {},
	  { INIT,
	    { 5000, 1, 5000, EXECED, "python3", JOB },
	    { 5001, 5000, 5000, EXECED, "sleep", NULL },
	    { 5002, 5001, 5000, FORKED, "sleep", NULL } } },
	{ "a Spark that it starts is none of it",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711 S5000/0",
	  {},
	  { INIT,
	    { 5000, 1, 5000, EXECED, "python3", JOB },
	    { 4711, 5000, 5000, EXECED, "java", NULL },
	    DAEMON,
	    WORKER(4801) } },
	{ "below a worker it is its helper",
	  "H4711 D4790/4711/pyspark:1 W4801/4790@4711 h5000/4801@4711",
	  {},
	  { INIT, JVM, DAEMON, WORKER(4801), { 5000, 4801, 5000, EXECED, "python3", JOB } } },
	{ "what a daemon starts by another way is the daemon's own affair",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  { INIT, JVM, DAEMON, { 5000, 4790, 5000, EXECED, "python3", JOB } } },
	{ "a host is none, whatever its argv",
	  "H4711 D4790/4711/pyspark:0",
	  {},
	  { INIT, { 4711, 1, 4711, EXECED, "java", "java nightly.py" }, DAEMON } },
	{ "a zombie is none", "", {}, { INIT, { 5000, 1, 5000, ZOMBIE, "python3", JOB } } },
	{ "two that are each other's parents end the search",
	  "S5000/0 S5001/0",
	  {},
	  { INIT,
	    { 5000, 5001, 5000, EXECED, "python3", JOB },
	    { 5001, 5000, 5001, EXECED, "python3", JOB } } },
	{ "one that never exec'ed is none",
	  "",
	  {},
	  { INIT, { 5000, 1, 5000, FORKED, "python3", JOB } } },
};

static void add_lone_class(struct audit *a)
{
	struct worker_class *c = &a->classes.class[a->classes.count++];

	snprintf(c->name, sizeof(c->name), "nightly");
	c->kind = CLASS_OF_SINGLES;
	c->args.count = 1;
	c->args.choice[0].count = 1;
	snprintf(c->args.choice[0].word[0], CLASS_WORD_MAX, "nightly.py");
	c->role_args.count = 1;
	c->role_args.choice[0].count = 1;
	snprintf(c->role_args.choice[0].word[0], CLASS_WORD_MAX, "--role");
}

Test(members, programs_that_stand_alone)
{
	for (size_t i = 0; i < ARRAY_SIZE(lone); i++) {
		struct tree_input in = input(&lone[i]);
		struct audit a = people(&lone[i]);
		char text[CENSUS_TEXT];

		add_lone_class(&a);
		cr_assert_eq(tree_build(&a, &in), 0);
		census_text(&a, text);
		cr_expect_str_eq(text, lone[i].want, "%s:\n%s\nnot\n%s", lone[i].why, text,
				 lone[i].want);
		audit_done(&a);
	}
}

/* Of classes the first that matches counts: also the first of all. */
Test(members, a_single_of_the_first_class)
{
	const struct person who[CENSUS_MAX] = { INIT, { 5000, 1, 5000, EXECED, "python3", JOB } };
	struct tree_input in = { 0 };
	struct audit a = census(who);

	add_lone_class(&a);
	a.classes.class[0] = a.classes.class[a.classes.count - 1];
	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 1);
	cr_expect_eq(a.subjects[0].role, ROLE_SINGLE);
	cr_expect_eq(a.subjects[0].class_index, 0);
	audit_done(&a);
}

Test(members, what_a_single_says_of_itself)
{
	static const char longest[] = "a_role_of_more_than_thirty_one_bytes";
	const struct person who[CENSUS_MAX] = {
		INIT,
		{ 5000, 1, 5000, EXECED, "python3", JOB " --role=ps" },
		{ 5001, 1, 5001, EXECED, "python3",
		  JOB " --role a_role_of_more_than_thirty_one_bytes" },
		{ 5002, 1, 5002, EXECED, "python3", JOB },
	};
	struct tree_input in = { 0 };
	struct audit a = census(who);

	add_lone_class(&a);
	cr_assert_eq(tree_build(&a, &in), 0);
	cr_assert_eq(a.subject_count, 3);
	cr_expect_str_eq(a.subjects[0].label, "ps");
	cr_expect_eq(strlen(a.subjects[1].label), CLASS_NAME_MAX - 1);
	cr_expect_eq(strncmp(a.subjects[1].label, longest, CLASS_NAME_MAX - 1), 0);
	cr_expect_str_eq(a.subjects[2].label, "");
	cr_expect_eq(a.subjects[0].class_index, 2);
	cr_expect_eq(a.subjects[0].host, -1);
	cr_expect(ident_equal(a.subjects[0].host_id, census_ident(5000)), "the host of itself");
	audit_done(&a);
}

/* Named, it is itself; another one that is named too is what it was without a class. */
Test(members, a_single_that_is_named)
{
	static const pid_t named[] = { 5000, 5001, 1 };
	const struct person who[CENSUS_MAX] = {
		INIT,
		{ 5000, 1, 5000, EXECED, "python3", JOB },
		{ 5001, 5000, 5000, FORKED, "python3", JOB },
		{ 5002, 1, 5002, EXECED, "python3", JOB },
	};
	struct tree_input in = { .named_hosts = named, .named_count = 1 };
	const struct ident only = census_ident(5000);
	struct audit a = census(who);
	char text[CENSUS_TEXT];

	add_lone_class(&a);
	cr_assert_eq(tree_build(&a, &in), 0);
	tree_keep_hosts(&a, &only, 1, false);
	census_text(&a, text);
	cr_expect_str_eq(text, "S5000/0 h5001/5000", "%s", text);
	audit_done(&a);

	in.named_count = 3;
	a = census(who);
	add_lone_class(&a);
	cr_assert_eq(tree_build(&a, &in), 0);
	census_text(&a, text);
	cr_expect_str_eq(text, "H1* H5001* S5000/0 h5001/5000 S5002/0", "%s", text);
	audit_done(&a);
}

Test(members, a_single_needs_memory)
{
	const struct person who[CENSUS_MAX] = { INIT, { 5000, 1, 5000, EXECED, "python3", JOB } };
	struct tree_input in = { 0 };
	struct audit a = census(who);

	add_lone_class(&a);
	grow_fail_at(1);
	cr_expect_eq(tree_build(&a, &in), -ENOMEM);
	cr_expect(grow_has_failed());
	audit_done(&a);
}

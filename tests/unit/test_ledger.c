/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks, ends and bindings are sets.
 */
#include "correlate/ledger.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ledger_script.h"

static void half_ports(struct ledger_question *q)
{
	q->lport = 45873;
}

static void younger(struct ledger_question *q)
{
	q->born_ms = 4000;
	ask_ports(q);
}

static const struct script_row sets[] = {
	{ .why = "nobody wrote", "", "none" },
	{ .why = "a host that says nothing of it", HOST, "none" },
	{ .why = "an open task",
	  HOST "\n5000 begin task=17 job=3 " W,
	  "open 1/1 since=5000 tasks=17 job=3" },
	{ .why = "an ended task",
	  HOST "\n5000 begin task=17 job=3 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a record that comes twice",
	  HOST "\n5000 begin task=17 " W "\n5000 begin task=17 " W "\n8000 end task=17\n"
	       "8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "the earlier of two ends counts, whatever comes first",
	  HOST "\n5000 begin task=17 " W "\n8500 end task=17\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "and so it does the other way round",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17\n8500 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "the earlier of two begins counts",
	  HOST "\n5500 begin task=17 " W "\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "an end before its begin",
	  HOST "\n8000 end task=17\n8000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "an end in another log of the host",
	  HOST "\nlog 3 1000\n1001 host host=4711:50 WHO class=other\n8000 end task=17\n"
	       "log 1 1000\n5000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "an ended id stays ended",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17\n9000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "an end, and the same end after the clock was stepped",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17\nstep 7000\n7500 end task=17",
	  "ended 0/1 end=8000 late? untrusted tasks=17" },
	{ .why = "a begin, and the same begin after the clock was stepped",
	  HOST "\n5000 begin task=17 " W "\nstep 3000\n4000 begin task=17 " W "\n4500 end task=17",
	  "ended 0/1 end=4500 tasks=17" },
	{ .why = "an ended task joins no job",
	  HOST "\n8000 end task=17\n8000 begin task=17 job=3 " W "\n8001 end job=3",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "names of many lengths",
	  HOST "\n5000 begin task=a " W "\n5000 begin task=bb " W "\n" DAEMON
	       "5000 begin task=bb " W "\n5000 begin task=ccc " W,
	  "open 3/3 since=5000 tasks=bb,a,ccc" },
	{ .why = "a host's log that is gone, and Python's that is not",
	  HOST "\n5000 begin task=17 " W "\nforget 1\n" DAEMON "5000 begin task=18 " W,
	  "open 2/2 since=5000 tasks=17,18" },
	{ .why = "a job's end ends every task of it, also a later one, and no other",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=18 job=3 " W
	       "\n5002 begin task=19 job=4 " W "\n8000 end job=3\n8500 begin task=20 job=3 " W,
	  "open 1/4 since=5002 end=8000 tasks=19,20,18,17 job=4" },
	{ .why = "a job's end before its begin",
	  HOST "\n8000 end job=3\n8000 begin task=17 job=3 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a job bound by itself",
	  HOST "\n5000 begin job=3 " W,
	  "open 1/1 since=5000 job=3" },
	{ .why = "a job bound by itself, ended with its task",
	  HOST "\n5000 begin job=3 " W "\n5001 begin task=17 job=3 " W "\n8000 end job=3",
	  "ended 0/2 end=8000 tasks=17 job=3" },
	{ .why = "a task that ended does not end its job",
	  HOST "\n5000 begin job=3 " W "\n5001 begin task=17 job=3 " W "\n8000 end task=17",
	  "open 1/2 since=5000 end=8000 tasks=17 job=3" },
	{ .why = "a task and a job of one name are two",
	  HOST "\n5000 begin task=3 " W "\n5001 begin job=3 " W "\n8000 end task=3",
	  "open 1/2 since=5001 end=8000 tasks=3 job=3" },
	{ .why = "a task begun with two jobs is ended by neither",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=17 job=4 " W
	       "\n5002 begin task=17 job=3 " W "\n8000 end job=3\n8001 end job=4",
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "a task begun with two jobs is ended by its own end",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=17 job=4 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a task may bind several workers, and end for all of them",
	  HOST "\n5000 begin task=17 worker=4802:81\n5000 begin task=17 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a task without a locator binds nobody", HOST "\n5000 begin task=17", "none" },
	{ .why = "a task of another worker", HOST "\n5000 begin task=17 worker=4801:81", "none" },
	{ .why = "eight names at most, open ones first",
	  HOST "\n5000 begin task=a " W "\n5001 begin task=b " W
	       "\n5001 end task=b\n5002 begin task=c " W "\n5003 begin task=d " W
	       "\n5004 begin task=e " W "\n5005 begin task=f " W "\n5006 begin task=g " W
	       "\n5007 begin task=h " W "\n5008 begin task=i " W "\n5009 begin task=j " W,
	  "open 9/10 since=5000 end=5001 tasks=j,i,h,g,f,e,d,c" },
	{ .why = "names that are longer than most",
	  HOST "\n5000 begin task=0123456789abcdef0 job=0123456789abcdef1 " W,
	  "open 1/1 since=5000 tasks=0123456789abcdef0 job=0123456789abcdef1" },
	{ .why = "a name that another begins with",
	  HOST "\n5000 begin task=1 " W "\n5001 begin task=17 " W,
	  "open 2/2 since=5000 tasks=17,1" },
	{ .why = "of two jobs the newest task's",
	  HOST "\n5000 begin task=17 job=3 " W "\n5001 begin task=18 job=4 " W,
	  "open 2/2 since=5000 tasks=18,17 job=4" },
	{ .why = "a name that is as long as fits inside",
	  HOST "\n5000 begin task=0123456789abcdef " W,
	  "open 1/1 since=5000 tasks=0123456789abcdef" },

	{ .why = "Python's begin, the host's end",
	  HOST "\n8000 end task=17\n" DAEMON "5000 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "Python's begin, the end of its job",
	  HOST "\n8000 end job=3\n" DAEMON "5000 begin task=17 job=3 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "Python's job and its tasks, the end of the job, another task",
	  HOST "\n8000 end job=3\n" DAEMON "5000 begin job=3 " W "\n5001 begin task=17 job=3 " W
	       "\n5002 begin task=18 job=3 " W "\n5003 begin task=19 " W,
	  "open 1/4 since=5003 end=8000 tasks=19,18,17 job=3" },
	{ .why = "Python's job is last",
	  HOST "\n8000 end job=3\n" DAEMON "5003 begin task=19 " W "\n5000 begin job=3 " W,
	  "open 1/2 since=5003 end=8000 tasks=19 job=3" },
	{ .why = "Python's begin in a job, the end of the task alone",
	  HOST "\n8000 end task=17\n" DAEMON "5000 begin task=17 job=3 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "Python's job and its tasks, the end of the job, the end of another task",
	  HOST "\n8000 end job=3\n8500 end task=19\n" DAEMON "5000 begin job=3 " W
	       "\n5001 begin task=17 job=3 " W "\n5002 begin task=18 job=3 " W
	       "\n5003 begin task=19 " W,
	  "ended 0/4 end=8500 tasks=19,18,17 job=3" },
	{ .why = "both sides begin a task: it is one",
	  HOST "\n5000 begin task=17 job=3 " W "\n" DAEMON "5001 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17 job=3" },
	{ .why = "both sides begin a task: it ended once",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17\n" DAEMON "5001 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "both sides begin a task: asked about before it ended",
	  HOST "\n5000 begin task=17 " W "\n" DAEMON "5001 begin task=17 " W
	       "\nask\nlog 1 1000\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "the host began what Python binds",
	  HOST "\n5000 begin task=17\n5000 begin task=18 " W "\n" DAEMON "5001 begin task=17 " W,
	  "open 2/2 since=5000 tasks=18,17" },
	{ .why = "an end by Python's side ends nothing",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n8000 end task=17",
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "done proves nothing",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n8000 done " W " task=17",
	  "done 1/1 since=5000 tasks=17" },
	{ .why = "done, and the next task",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n6000 done " W "\n7000 begin task=18 " W,
	  "open 2/2 since=5000 tasks=18,17" },
	{ .why = "done without a binding", HOST "\n" DAEMON "8000 done " W, "done" },
	{ .why = "Python's side alone",
	  DAEMON "5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "Python's side of another daemon",
	  HOST "\nlog 2 1000\n1500 daemon daemon=4791:60 WHO\n5000 begin task=17 " W,
	  "none" },

	{ .why = "a host that is gone has ended all",
	  HOST "\n5000 begin task=17 " W,
	  "ended 0/1 end=1000000 tasks=17",
	  ask_host_dead },
	{ .why = "a host that is gone ended nothing that had ended before",
	  HOST "\n5000 begin task=17 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17",
	  ask_host_dead },
	{ .why = "a host that is unknown is not gone",
	  DAEMON "5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17",
	  ask_host_unknown },

	{ .why = "ports that fit bind",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917",
	  "open 1/1 since=5000 tasks=18",
	  ask_ports },
	{ .why = "ports that fit bind for every task over that connection",
	  HOST
	  "\n5000 begin task=18 lport=45873 dport=39917\n5000 begin task=19 lport=45873 dport=39917\n"
	  "8000 end task=18\n8000 end task=19",
	  "ended 0/2 end=8000 tasks=18,19",
	  ask_ports },
	{ .why = "ports that fit half bind nobody",
	  HOST
	  "\n5000 begin task=18 lport=45873 dport=39918\n5000 begin task=19 lport=45874 dport=39917",
	  "none",
	  ask_ports },
	{ .why = "ports of a worker whose ports are unknown",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917",
	  "none" },
	{ .why = "ports of a worker whose ports are half known",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917",
	  "none",
	  half_ports },
	{ .why = "ports before the worker's birth were another's",
	  HOST "\n4000 begin task=18 lport=45873 dport=39917",
	  "none",
	  younger },
	{ .why = "a task that began before the worker's birth, and took it later",
	  HOST "\n3000 begin task=18\n4001 begin task=18 lport=45873 dport=39917",
	  "open 1/1 since=3000 tasks=18",
	  younger },
	{ .why = "a worker and ports: the worker counts",
	  HOST "\n5000 begin task=18 worker=4802:81 lport=45873 dport=39917",
	  "none",
	  ask_ports },
	{ .why = "ports and worker of one task are one binding",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917\n5000 begin task=18 " W,
	  "open 1/1 since=5000 tasks=18",
	  ask_ports },
	{ .why = "ports in a daemon's log",
	  HOST "\n" DAEMON "5000 begin task=18 lport=45873 dport=39917",
	  "open 1/1 since=5000 tasks=18",
	  ask_ports },
	{ .why = "ports whose task was begun before the clock was stepped",
	  HOST "\n5000 begin task=18 lport=45873 dport=39917\nstep 900000",
	  "none",
	  ask_ports },
};

Test(ledger, tasks_and_ends_are_sets)
{
	script_check(sets, ARRAY_SIZE(sets));
}

/* Python's word alone is none of the host. */
Test(ledger, only_a_host_writes_a_host_s_log)
{
	struct script f = script_begin();
	struct marker_facts facts;

	script_run(&f, DAEMON SERVED, &script_usual);
	cr_assert_eq(ledger_ask(f.ledger, &script_usual, &facts), 0);
	cr_assert_eq(facts.bound, 1);
	cr_assert_not(facts.host_log);
	script_run(&f, HOST, &script_usual);
	cr_assert_eq(ledger_ask(f.ledger, &script_usual, &facts), 0);
	cr_assert(facts.host_log);
	script_run(&f, "forget 1", &script_usual);
	cr_assert_eq(ledger_ask(f.ledger, &script_usual, &facts), 0);
	cr_assert_not(facts.host_log, "it is gone");
	ledger_free(f.ledger);
}

/* What was there before the question is no answer. */
Test(ledger, where_no_log_speaks_all_is_zero)
{
	struct script f = script_begin();
	struct marker_facts facts = { .bound = 99, .logs_whole = true, .ages_trusted = true };

	script_run(&f, HOST "\n" SERVED "forget 1", &script_usual);
	cr_assert_eq(ledger_ask(f.ledger, &script_usual, &facts), 0);
	cr_assert_eq(facts.state, MARKS_NONE);
	cr_assert_eq(facts.bound, 0);
	cr_assert_not(facts.logs_whole);
	cr_assert_not(facts.ages_trusted);
	ledger_free(f.ledger);
}

/* A question about a worker that has no name where the writer lives takes its ports from nobody. */
Test(ledger, ports_wait_for_a_worker_that_can_be_named)
{
	struct ledger_question q = script_usual;
	struct script f = script_begin();
	struct marker_facts facts;

	ask_contained(&q);
	ask_ports(&q);
	script_run(&f,
		   "log 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n"
		   "5000 begin task=17 lport=45873 dport=39917",
		   &q);
	q.worker.ns_pid = 0;
	cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
	cr_assert_eq(facts.bound, 0);
	q.worker.ns_pid = 22;
	cr_assert_eq(ledger_ask(f.ledger, &q, &facts), 0);
	cr_assert_eq(facts.bound, 1);
	ledger_free(f.ledger);
}

Test(ledger, hosts_and_logs_are_listed)
{
	static const char script[] =
		HOST "\n5000 beat n=*\n" DAEMON
		     "log 3 0\n1000 host host=1:50 boot=BOOT pidns=7 class=pyspark\n"
		     "log 4 1000\n6000 host host=4711:50 WHO class=pyjava\n" OPERATOR
		     "log 5 1000\n7000 host host=4712:51 boot=" SCRIPT_OTHER_BOOT
		     " pidns=1 class=pyspark\nlog 6 1001\n7000 beat n=0\n"
		     "log 4 1000\n5500 beat n=*";
	struct ledger_question q = script_usual;
	struct script f = script_begin();
	struct ledger_log_info log;
	struct ledger_host h;

	cr_assert_not(ledger_host_at(f.ledger, 0, &h));
	cr_assert_not(ledger_host_find(f.ledger, &q.host, SCRIPT_UID, &h));
	script_run(&f, script, &q);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert(h.id.pid == 4711 && h.id.start == 50 && h.pid_ns == SCRIPT_US &&
		  h.owner == SCRIPT_UID);
	cr_assert_eq(h.log, 4, "the log with the last record");
	cr_assert_str_eq(h.name, "4.log");
	cr_assert_eq(h.last_ms, 6000);
	cr_assert(ledger_host_at(f.ledger, 1, &h));
	cr_assert(h.id.pid == 1 && h.pid_ns == SCRIPT_INNER && h.owner == 0 && h.log == 3);
	cr_assert_not(ledger_host_at(f.ledger, 2, &h), "another boot's host is no host");

	cr_assert(ledger_host_find(f.ledger, &q.host, SCRIPT_UID, &h));
	cr_assert_eq(h.log, 4);
	cr_assert_not(ledger_host_find(f.ledger, &q.host, 1001, &h));
	ask_contained(&q);
	cr_assert(ledger_host_find(f.ledger, &q.host, SCRIPT_UID, &h));
	cr_assert_eq(h.log, 4, "of both names the newer log");
	cr_assert(ledger_host_find(f.ledger, &q.host, 1001, &h));
	cr_assert_eq(h.log, 3, "root's");
	script_run(&f, "log 3 0\n9000 beat n=*", &q);
	cr_assert(ledger_host_find(f.ledger, &q.host, SCRIPT_UID, &h));
	cr_assert_eq(h.log, 3, "of both names the newer log");

	for (size_t i = 0; i < 7; i++)
		cr_assert_eq(ledger_log_at(f.ledger, i, &log), i < 7);
	cr_assert_not(ledger_log_at(f.ledger, 7, &log));
	cr_assert(ledger_log_at(f.ledger, 1, &log));
	cr_assert(log.log == 2 && log.kind == MARKER_DAEMON && log.id.pid == 4790 &&
		  log.owner == SCRIPT_UID);
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
	script_run(&f,
		   "log 10 1000\n4000 host host=4711:50 WHO class=a\n"
		   "log 11 1000\n5500 host host=4711:50 WHO class=b\n"
		   "log 12 1000\n5200 host host=4711:50 WHO class=c",
		   &q);
	ledger_forget(f.ledger, 10);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 11, "an older one went");
	ledger_forget(f.ledger, 11);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 12, "the newest of those that are left");
	ledger_forget(f.ledger, 12);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 1);
	ledger_forget(f.ledger, 1);
	cr_assert_not(ledger_host_find(f.ledger, &script_usual.host, SCRIPT_UID, &h));
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 3);
	ledger_free(f.ledger);
}

Test(ledger, of_logs_of_one_time_the_one_read_last_is_the_newest)
{
	struct script f = script_begin();
	struct ledger_host h;

	script_run(&f, HOST "\n" SECOND "\nlog 4 1000\n1000 host host=4711:50 WHO class=pyjava",
		   &script_usual);
	script_run(&f, "log 1 1000\n7000 begin task=17\nlog 3 1000\n7000 begin task=18",
		   &script_usual);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 3);
	ledger_forget(f.ledger, 4);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 3, "an older one went");
	ledger_free(f.ledger);
}

Test(ledger, of_two_owners_logs_of_one_time_root_s_is_found)
{
	struct script f = script_begin();
	struct ledger_host h;

	script_run(&f, HOST "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark", &script_usual);
	cr_assert(ledger_host_find(f.ledger, &script_usual.host, SCRIPT_UID, &h));
	cr_assert_eq(h.owner, 0);
	ledger_free(f.ledger);
}

Test(ledger, the_last_beat_of_a_host_is_that_of_any_of_its_logs)
{
	struct script f = script_begin();
	struct ledger_host h;

	script_run(&f, HOST "\n" SECOND, &script_usual);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.beat_ms, 0, "none");
	script_run(&f, "log 1 1000\n5000 beat n=*\nlog 3 1000\n4000 beat n=*", &script_usual);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.beat_ms, 5000);
	ledger_forget(f.ledger, 1);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.beat_ms, 4000);
	ledger_free(f.ledger);
	ledger_free(NULL);
}

/* A machine without a clock of its own begins at 0. */
Test(ledger, a_log_of_time_0_is_one)
{
	struct script f = script_begin();
	struct ledger_host h;

	script_run(&f,
		   "log 1 1000\n0 host host=4711:50 WHO class=pyspark\n"
		   "log 3 1000\n0 host host=4711:50 WHO class=pyjava\nforget 3",
		   &script_usual);
	cr_assert(ledger_host_at(f.ledger, 0, &h));
	cr_assert_eq(h.log, 1);
	cr_assert_eq(h.last_ms, 0);
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
		("log 5 0\n1000 host host=4711:50 WHO class=pyspark pool=reported tasks=all\n"
		 "8600 end task=18\nbeats 9500 300000 10000\n"),
	};
	char first[1024] = "";

	for (unsigned order = 0; order < 5 * 4 * 3 * 2; order++) {
		bool used[ARRAY_SIZE(logs)] = { false };
		struct script f = script_begin();
		struct marker_facts facts;

		for (unsigned left = ARRAY_SIZE(logs), code = order; left; code /= left, left--) {
			unsigned skip = code % left, i = 0;

			for (; used[i] || skip; i++)
				skip -= !used[i];
			used[i] = true;
			script_run(&f, logs[i], &script_usual);
			if (order % 2)
				script_run(&f, "ask", &script_usual);
		}
		cr_assert_eq(ledger_ask(f.ledger, &script_usual, &facts), 0);
		facts.task_count = 0; /* in the order in which they came */
		if (!order)
			(void)snprintf(first, sizeof(first), "%s", script_describe(&facts));
		cr_assert_str_eq(script_describe(&facts), first, "order %u", order);
		ledger_free(f.ledger);
	}
	cr_assert_str_eq(first, "ended 0/2 end=8600 !declared reported@29500 idle@109500", "%s",
			 first);
}

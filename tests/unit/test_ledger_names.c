/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose word counts for whom, and who is meant by a number.
 */
#include <criterion/criterion.h>

#include "correlate/ledger_state.h"
#include "ledger_script.h"

static void other_uid(struct ledger_question *q)
{
	q->uid = 1001;
}

static void by_root(struct ledger_question *q)
{
	q->uid = 0;
}

static void contained_unreadable(struct ledger_question *q)
{
	ask_contained(q);
	q->worker.ns_pid = 0;
	q->host.ns_pid = 0;
	q->host.pid_ns = 0;
}

static void contained_unreadable_ports(struct ledger_question *q)
{
	contained_unreadable(q);
	ask_ports(q);
}

static void unshared(struct ledger_question *q)
{
	ask_contained(q);
	q->worker.pid_ns = 8;
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

static const struct script_row names[] = {
	{ .why = "a log of the worker's uid",
	  HOST "\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "a log of another uid", HOST "\n5000 begin task=17 " W, "none", other_uid },
	{ .why = "a log of root counts for all",
	  "log 1 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17",
	  other_uid },
	{ .why = "root believes root",
	  "log 1 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "open 1/1 since=5000 tasks=17",
	  by_root },
	{ .why = "root does not believe a user", HOST "\n5000 begin task=17 " W, "none", by_root },
	{ .why = "a stranger's end ends nothing",
	  HOST "\n5000 begin task=17 " W "\nlog 3 1001\n1000 host host=4711:50 WHO class=pyspark\n"
	       "8000 end task=17",
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "root's end ends a user's task",
	  HOST "\n5000 begin task=17 " W "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n"
	       "8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a user's end ends no task of root's log, though the user's own is",
	  "log 3 0\n1000 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W "\n" HOST
	  "\n5000 begin task=17 " W "\n8000 end task=17",
	  "open 1/1 since=5000 end=8000 tasks=17" },
	{ .why = "the same, where the user's log is asked first",
	  HOST "\n5000 begin task=17 " W "\n5000 begin task=18 " W "\n8000 end task=17\n"
	       "log 2 0\n1500 daemon daemon=4790:60 WHO\n5000 begin task=17 " W,
	  "open 2/2 since=5000 end=8000 tasks=18,17" },
	{ .why = "T13: another process with that number",
	  HOST "\n5000 begin task=17 " W "\n8000 retired " W,
	  "none",
	  other_start },
	{ .why = "another host with that number",
	  HOST "\n5000 begin task=17 " W,
	  "none",
	  other_host_start },
	{ .why = "a host that names itself by its own namespace",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80",
	  "open 1/1 since=5000 tasks=17",
	  ask_contained },
	{ .why = "numbers of that namespace are not ours",
	  IN_CONTAINER "\n5000 begin task=17 " W,
	  "none",
	  ask_contained },
	{ .why = "our numbers are not of that namespace",
	  HOST "\n5000 begin task=17 worker=22:80",
	  "none",
	  ask_contained },
	{ .why = "one writer inside and one outside",
	  IN_CONTAINER
	  "\n5000 begin task=17 worker=22:80\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n"
	  "5001 begin task=18 " W "\n8000 end task=17",
	  "open 1/2 since=5001 end=8000 tasks=18,17",
	  ask_contained },
	{ .why = "Python's side inside, the host's word outside",
	  HOST "\n8000 end task=17\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n"
	       "5000 begin task=17 worker=22:80",
	  "ended 0/1 end=8000 tasks=17",
	  ask_contained },
	{ .why = "a namespace that cannot be read translates nothing",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80",
	  "none",
	  contained_unreadable },
	{ .why = "nor ports",
	  HOST "\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n"
	       "5000 begin task=17 lport=45873 dport=39917",
	  "none",
	  contained_unreadable_ports },
	{ .why = "the host outside can be told, the worker inside cannot",
	  HOST
	  "\nlog 2 1000\n1500 daemon daemon=9:60 boot=BOOT pidns=7\n5000 begin task=17 worker=22:80",
	  "none",
	  contained_unreadable },
	{ .why = "a namespace that is neither",
	  "log 1 1000\n1000 host host=4711:50 boot=BOOT pidns=5 class=pyspark\n"
	  "5000 begin task=17 " W,
	  "none",
	  ask_contained },
	{ .why = "nobody knows where we are",
	  HOST "\n5000 begin task=17 " W,
	  "none",
	  we_are_nowhere },
	{ .why = "a worker in a namespace of its own",
	  IN_CONTAINER "\n5000 begin task=17 worker=22:80",
	  "none",
	  unshared },
	{ .why = "another boot's host",
	  "log 1 1000\n1000 host host=4711:50 boot=" SCRIPT_OTHER_BOOT " pidns=1 class=pyspark\n"
	  "5000 begin task=17 " W,
	  "none" },
	{ .why = "records before the identity record",
	  "log 1 1000\n900 begin task=17 " W "\n1000 host host=4711:50 WHO class=pyspark",
	  "none" },
	{ .why = "a second host in a host's log, and Python's log",
	  HOST "\n6000 host host=4712:51 WHO class=pyspark\n" DAEMON "5000 begin task=17 " W,
	  "open 1/1 since=5000 part tasks=17" },
	{ .why = "the same identity record again",
	  HOST "\n5000 begin task=17 " W "\n6000 host host=4711:50 WHO class=pyspark",
	  "open 1/1 since=5000 tasks=17" },
	{ .why = "a second host in one log: nobody is believed any more",
	  HOST "\n5000 begin task=17 " W
	       "\n6000 host host=4712:51 WHO class=pyspark\n8000 end task=17\n"
	       "8001 retired " W,
	  "open 1/1 since=5000 part tasks=17" },
	{ .why = "a second boot in one log",
	  HOST "\n6000 host host=4711:50 boot=" SCRIPT_OTHER_BOOT
	       " pidns=1 class=pyspark\n8001 retired " W,
	  "none part" },
	{ .why = "our host in a log of another boot's",
	  "log 1 1000\n1000 host host=4711:50 boot=" SCRIPT_OTHER_BOOT
	  " pidns=1 class=pyspark\n1001 host host=4711:50 WHO class=pyspark\n5000 begin task=17 " W,
	  "none" },
	{ .why = "an operator in a host's log",
	  HOST "\n6000 operator uid=1000 WHO\n8001 retired " W,
	  "none part" },
	{ .why = "a log that is gone leaves what it began and what ended",
	  HOST "\n5000 begin task=17 " W "\n5001 begin task=18 " W "\n8000 end task=17\nforget 1\n"
	       "log 3 1000\n8500 host host=4711:50 WHO class=pyspark\n8501 begin task=17 " W,
	  "open 1/2 since=5001 end=8000 tasks=18,17" },
	{ .why = "without any log nothing is said",
	  HOST "\n5000 begin task=17 " W "\nforget 1",
	  "none" },
	{ .why = "a log that was never there",
	  HOST "\n5000 begin task=17 " W "\nforget 5",
	  "open 1/1 since=5000 tasks=17" },
};

Test(ledger, names_are_those_of_the_writer)
{
	script_check(names, ARRAY_SIZE(names));
}

Test(ledger_names, an_unknown_namespace_is_nobodys)
{
	const struct ledger_name unknown = { .id = { 4801, 80 }, .ns_pid = 4801 };

	cr_assert_eq(ledger_state_local(&unknown, 0).pid, 0);
	cr_assert_eq(ledger_state_local(&unknown, SCRIPT_US).pid, 0);
	cr_assert_eq(ledger_state_local(&script_usual.worker, SCRIPT_US).pid, 4801);
}

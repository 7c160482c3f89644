/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word on a worker: pooled, leased, given up.
 */
#include <criterion/criterion.h>

#include "ledger_script.h"

static void by_another_uid(struct ledger_question *q)
{
	q->uid = 1001;
}

static const struct script_row words[] = {
	{ .why = "pooled", HOST "\n5000 pooled " W, "pooled pooled" },
	{ .why = "leased", HOST "\n5000 leased " W " task=17", "leased leased" },
	{ .why = "pooled, then leased",
	  HOST "\n5000 pooled " W "\n5000 leased " W,
	  "leased leased" },
	{ .why = "leased, then pooled",
	  HOST "\n5000 leased " W "\n5000 pooled " W,
	  "pooled pooled" },
	{ .why = "an earlier time after the clock was stepped back is the later word",
	  HOST "\n5000 pooled " W "\nstep 3000\n4000 leased " W,
	  "leased leased" },
	{ .why = "an older word in another log",
	  HOST "\n5000 pooled " W
	       "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\n4999 leased " W,
	  "pooled pooled" },
	{ .why = "an older word of root's",
	  HOST "\n5000 pooled " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n4999 leased " W,
	  "pooled pooled" },
	{ .why = "a newer word of root's",
	  HOST "\n5000 pooled " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n5001 leased " W,
	  "leased leased" },
	{ .why = "root's word and the user's at the same time: the user's",
	  HOST "\n5000 pooled " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n5000 leased " W,
	  "pooled pooled" },
	{ .why = "a log that only tells of a task takes no word back, however old that is",
	  HOST "\n5000 begin task=17 " W
	       "\nlog 3 0\n0 host host=4711:50 WHO class=pyspark\n0 pooled " W,
	  "open 1/1 since=5000 pooled tasks=17" },
	{ .why = "a word of a log that is gone",
	  HOST "\n5000 pooled " W
	       "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\nforget 1",
	  "none" },
	{ .why = "a word of Python's side",
	  HOST "\n" DAEMON "5000 pooled " W "\n5001 retired " W,
	  "none" },
	{ .why = "a host that does not list takes no word back by silence",
	  HOST "\n5000 pooled " W "\nbeats 10000 50000 10000",
	  "pooled pooled" },
	{ .why = "a beat right after the word is its own list's",
	  REPORTED "5000 pooled " W "\n5000 beat n=*",
	  "pooled pooled !declared !reported" },
	{ .why = "a list that may have begun with the word",
	  REPORTED "5000 pooled " W "\n5000 beat n=*\n15000 beat n=*",
	  "pooled pooled !declared !reported" },
	{ .why = "the list of the next beat has it no more",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n15001 beat n=*",
	  "none !declared" },
	{ .why = "a beat that is not complete takes nothing back",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n15001 beat n=7",
	  "pooled pooled !declared !reported" },
	{ .why = "a list after the clock was stepped",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\nstep 4000\n6000 beat n=*\n6500 beat n=*",
	  "none !declared" },
	{ .why = "a list after the clock was stepped back is later than every word before",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\nstep 3000\n4000 beat n=*\n4500 beat n=*",
	  "none !declared" },
	{ .why = "a word before the clock was stepped back keeps no later list from proving",
	  REPORTED "500000 pooled " W "\nstep 3000\nbeats 4000 34000 10000",
	  "none !declared reported@24000" },
	{ .why = "no list yet after the clock was stepped",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n5002 beat n=*\nstep 4000",
	  "pooled pooled !declared !reported" },
	{ .why = "the first list after the clock was stepped began nobody knows when",
	  REPORTED "5000 pooled " W "\n5001 beat n=*\n5002 beat n=*\nstep 4000\n6000 beat n=*",
	  "pooled pooled !declared !reported" },

	{ .why = "retired", HOST "\n5000 retired " W, "retired retired@5000" },
	{ .why = "retired again: the first time counts",
	  HOST "\n5000 retired " W "\n7000 retired " W,
	  "retired retired@5000" },
	{ .why = "retired in two logs: the newer log's word",
	  HOST "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\n6000 retired " W
	       "\nlog 1 1000\n5000 retired " W,
	  "retired retired@6000" },
	{ .why = "retired by root and by the user",
	  HOST "\n5000 retired " W
	       "\nlog 3 0\n1000 host host=4711:50 WHO class=pyspark\n4000 retired " W,
	  "retired retired@4000" },
	{ .why = "retired with an open task: that objects elsewhere",
	  HOST "\n4000 begin task=17 " W "\n5000 retired " W,
	  "retired 1/1 since=4000 retired@5000 tasks=17" },
	{ .why = "retired, then pooled: it was not given up",
	  HOST "\n5000 retired " W "\n5000 pooled " W,
	  "pooled pooled" },
	{ .why = "pooled, then retired",
	  HOST "\n4000 pooled " W "\n5000 retired " W,
	  "retired pooled retired@5000" },
	{ .why = "retired, then begun upon",
	  HOST "\n5000 retired " W "\n5001 begin task=17 " W "\n8000 end task=17",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "begun upon and retired in one millisecond: it was given up",
	  HOST "\n5000 begin task=17 " W "\n5000 retired " W,
	  "retired 1/1 since=5000 retired@5000 tasks=17" },
	{ .why = "retired, then begun upon as Python says",
	  HOST "\n5000 retired " W "\n8000 end task=17\n" DAEMON "5001 begin task=17 " W,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "retired by a log of another class",
	  HOST "\n5000 retired " W,
	  "none",
	  ask_other_class },
	{ .why = "retired by a log that is gone",
	  HOST "\n5000 retired " W
	       "\nlog 3 1000\n1000 host host=4711:50 WHO class=pyspark\nforget 1",
	  "none" },
	{ .why = "retired before the clock was stepped",
	  HOST "\n5000 retired " W "\nstep 900000",
	  "retired retired@5000 untrusted" },
	{ .why = "retired in the future",
	  HOST "\n1020000 retired " W,
	  "retired retired@1020000 untrusted" },

	{ .why = "done in the millisecond in which it was begun upon",
	  HOST "\n" DAEMON "5000 begin task=17 " W "\n5000 done " W,
	  "done 1/1 since=5000 tasks=17" },

	{ .why = "an operator's word",
	  HOST "\n" OPERATOR "5000 retired " W,
	  "retired operator@5000" },
	{ .why = "an operator's word without a host's log",
	  OPERATOR "5000 retired " W,
	  "retired operator@5000" },
	{ .why = "an operator's first word counts",
	  OPERATOR "5000 retired " W "\n6000 retired " W,
	  "retired operator@5000" },
	{ .why = "an operator may say nothing else",
	  HOST "\n5000 begin task=17 " W "\n" OPERATOR "5000 retired " W
	       "\n8000 end task=17\n8000 pooled " W,
	  "retired 1/1 since=5000 operator@5000 tasks=17" },
	{ .why = "an operator of another uid",
	  "log 9 1001\n1000 operator uid=1001 WHO\n5000 retired " W,
	  "none" },
	{ .why = "root's word counts for all",
	  "log 9 0\n1000 operator uid=0 WHO\n5000 retired " W,
	  "retired operator@5000",
	  by_another_uid },
	{ .why = "root's and the user's word",
	  OPERATOR "5000 retired " W "\nlog 8 0\n1000 operator uid=0 WHO\n4000 retired " W,
	  "retired operator@4000" },
	{ .why = "an operator of another worker", OPERATOR "5000 retired worker=4802:80", "none" },
	{ .why = "an operator's later record says who speaks now",
	  "log 9 1000\n1000 operator uid=1000 boot=" SCRIPT_OTHER_BOOT
	  " pidns=1\n1000 retired worker=4801:80\n"
	  "2000 operator uid=1000 boot=BOOT pidns=7\n2000 retired worker=22:80\n"
	  "3000 operator uid=1000 boot=BOOT pidns=7\n3000 retired worker=23:80",
	  "retired operator@2000",
	  ask_contained },
	{ .why = "an operator of another boot",
	  "log 9 1000\n1000 operator uid=1000 boot=" SCRIPT_OTHER_BOOT " pidns=1\n5000 retired " W,
	  "none" },
	{ .why = "a host in an operator's log",
	  OPERATOR "5000 retired " W "\n6000 host host=4711:50 WHO class=pyspark",
	  "none" },
	{ .why = "an operator's log that is gone",
	  OPERATOR "5000 retired " W "\nforget 9",
	  "none" },
	{ .why = "an operator's word before the clock was stepped",
	  OPERATOR "5000 retired " W "\nstep 900000",
	  "retired operator@5000 untrusted" },
	{ .why = "an operator's word in the future",
	  OPERATOR "1020000 retired " W,
	  "retired operator@1020000 untrusted" },
};

Test(ledger, the_last_word_on_a_worker)
{
	script_check(words, ARRAY_SIZE(words));
}

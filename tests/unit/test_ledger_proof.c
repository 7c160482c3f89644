/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proofs `declared` and `reported`. T1 to T13 are traces in which a weaker rule ended a healthy worker.
 */
#include <criterion/criterion.h>

#include "correlate/ledger_state.h"
#include "ledger_script.h"

static void byte_at_18s(struct ledger_question *q)
{
	q->last_byte_ms = 18000;
}

static void byte_at_18s_and_1ms(struct ledger_question *q)
{
	q->last_byte_ms = 18001;
}

/* A program that is the host of itself: worker and host are one, and any class' promise is its own. */
static void ask_itself(struct ledger_question *q)
{
	q->host = q->worker;
	q->daemon.id.pid = 0;
	q->class_name = NULL;
	q->last_byte_ms = 9000;
}

static void ask_itself_later(struct ledger_question *q)
{
	ask_itself(q);
	q->last_byte_ms = 30000;
}

static void ask_other_program(struct ledger_question *q)
{
	ask_itself(q);
	q->class_name = "pyspark";
}

static void ask_other_program_later(struct ledger_question *q)
{
	ask_itself_later(q);
	q->class_name = "pyspark";
}

#define ITSELF "log 1 1000\n1000 host host=4801:80 WHO class=single pool=none tasks=all\n"
#define DONE   "21000 done " W "\n"

static const struct script_row itself[] = {
	{ .why = "its tasks ended",
	  ITSELF SERVED,
	  "ended 0/1 end=8000 declared@8000 tasks=17",
	  ask_itself },
	{ .why = "a task is open",
	  ITSELF "5000 begin task=17 " W,
	  "open 1/1 since=5000 !declared !idle tasks=17",
	  ask_itself },
	{ .why = "a task is open that nothing binds to it",
	  ITSELF SERVED "8500 begin task=18",
	  "ended 0/1 end=8000 !declared tasks=17",
	  ask_itself },
	{ .why = "a task is open at which its child works",
	  ITSELF SERVED "8500 begin task=18 worker=4802:90",
	  "ended 0/1 end=8000 !declared tasks=17",
	  ask_itself },
	{ .why = "a task that a child did not end, before it was done",
	  ITSELF SERVED "8500 begin task=18 worker=4802:90\n" DONE,
	  "ended 0/1 end=8000 declared@8000 tasks=17",
	  ask_itself },
	{ .why = "a task that a child began when it was done",
	  ITSELF SERVED "8500 begin task=18 worker=4802:90\n" DONE
			"21000 begin task=19 worker=4802:90",
	  "ended 0/1 end=8000 !declared tasks=17",
	  ask_itself },
	{ .why = "the task of a child has ended too",
	  ITSELF SERVED "8500 begin task=18 worker=4802:90\n8600 end task=18",
	  "ended 0/1 end=8000 declared@8000 tasks=17",
	  ask_itself },
	{ .why = "it ran long after its last task",
	  ITSELF SERVED,
	  "ended 0/1 end=8000 late declared@8000 tasks=17",
	  ask_itself_later },
	{ .why = "it ran on until it said that it was done",
	  ITSELF SERVED DONE,
	  "ended 0/1 end=8000 declared@8000 tasks=17",
	  ask_itself_later },
	{ .why = "a worker's `done` does not say so much",
	  ITSELF SERVED DONE,
	  "ended 0/1 end=8000 late tasks=17",
	  ask_other_program_later },
	{ .why = "done, and on with another task",
	  ITSELF SERVED DONE "22000 begin task=18 " W "\n23000 end task=18",
	  "ended 0/2 end=23000 declared@23000 tasks=18,17",
	  ask_itself_later },
	{ .why = "of another class nothing is promised where a class is asked for",
	  ITSELF SERVED,
	  "ended 0/1 end=8000 tasks=17",
	  ask_other_program },
	{ .why = "a line was lost, which may have begun another task",
	  ITSELF SERVED "bad",
	  "ended 0/1 end=8000 tasks=17",
	  ask_itself },
	{ .why = "... before any other",
	  "log 1 1000\nbad\n" ITSELF SERVED,
	  "ended 0/1 end=8000 tasks=17",
	  ask_itself },
	{ .why = "a new log took the place of the one that had it",
	  ITSELF "5000 begin task=17 " W "\nbad\nforget 1\nlog 2 1000\n1000 host host=4801:80 WHO "
		 "class=single pool=none tasks=all\n" SERVED,
	  "ended 0/1 end=8000 declared@8000 tasks=17",
	  ask_itself },
	{ .why = "it gave itself up",
	  ITSELF "9000 retired " W,
	  "retired retired@9000",
	  ask_itself },
	{ .why = "and lost a line",
	  ITSELF "9000 retired " W "\nbad",
	  "retired retired@9000",
	  ask_itself },
};

Test(ledger_proof, a_program_that_is_its_own_host)
{
	script_check(itself, sizeof(itself) / sizeof(*itself));
}

static const struct script_row declared[] = {
	{ .why = "declared", NONE SERVED, "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "a host that does not declare it",
	  HOST "\n" SERVED,
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a task is open",
	  NONE SERVED "8001 begin task=18 " W,
	  "open 1/2 since=8001 end=8000 !declared tasks=18,17" },
	{ .why = "T4: a fresh worker that nothing binds, leased by a running task",
	  NONE "5000 begin task=17",
	  "none" },
	{ .why = "bound by Python's side",
	  NONE "8000 end task=17\n" DAEMON "5000 begin task=17 " W,
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "declared for another class",
	  NONE SERVED,
	  "ended 0/1 end=8000 tasks=17",
	  ask_other_class },
	{ .why = "a record was lost, as a beat says",
	  NONE SERVED "9000 beat n=99",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "two logs that say the same",
	  NONE SERVED SECOND " pool=none",
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "two logs that do not", NONE SERVED SECOND, "ended 0/1 end=8000 tasks=17" },
	{ .why = "two logs that contradict each other",
	  NONE SERVED SECOND " pool=reported",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "three logs, two of which say it",
	  NONE SERVED SECOND " pool=none\nlog 4 0\n"
			     "1000 host host=4711:50 WHO class=pyspark",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a log of another class does not matter",
	  NONE SERVED "log 3 1000\n1000 host host=4711:50 WHO class=pyjava pool=reported",
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "a log that takes its promise back",
	  NONE SERVED "9000 host host=4711:50 WHO class=pyspark",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a log that turns to another class",
	  NONE SERVED "9000 host host=4711:50 WHO class=pyjava pool=none",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a promise in a log that is gone",
	  NONE SERVED SECOND "\nforget 1",
	  "ended 0/1 end=8000 tasks=17" },
	{ .why = "a byte 10 s after the end is its own",
	  NONE SERVED,
	  "ended 0/1 end=8000 declared@8000 tasks=17",
	  byte_at_18s },
	{ .why = "a later byte: a binding was missed",
	  NONE SERVED,
	  "ended 0/1 end=8000 late declared@8000 tasks=17",
	  byte_at_18s_and_1ms },
	{ .why = "nobody knows the last byte",
	  NONE SERVED,
	  "ended 0/1 end=8000 late? declared@8000 tasks=17",
	  ask_no_byte_known },
	{ .why = "a later byte while a task is open",
	  NONE SERVED "8001 begin task=18 " W,
	  "open 1/2 since=8001 end=8000 !declared tasks=18,17",
	  byte_at_18s_and_1ms },
	{ .why = "an end before the clock was stepped",
	  NONE SERVED "step 7000",
	  "ended 0/1 end=8000 late? declared@8000 untrusted tasks=17" },
	{ .why = "an end before, and one after",
	  NONE "5000 begin task=16 " W "\n5000 end task=16\nstep 7000\n7500 begin task=17 " W
	       "\n8000 end task=17",
	  "ended 0/2 end=8000 declared@8000 tasks=17,16" },
	{ .why = "an end in the future",
	  NONE "5000 begin task=17 " W "\n1020000 end task=17",
	  "ended 0/1 end=1020000 declared@1020000 untrusted tasks=17" },
	{ .why = "an end while the look was on its way",
	  NONE "5000 begin task=17 " W "\n1010000 end task=17",
	  "ended 0/1 end=1010000 declared@1010000 tasks=17" },
	{ .why = "an end learned from a log whose time ran backwards",
	  NONE "8000 end task=17\n6000 begin task=1\n" DAEMON "5000 begin task=17 " W,
	  "ended 0/1 end=8000 late? declared@8000 untrusted tasks=17" },
	{ .why = "time that runs backwards in a log",
	  NONE SERVED "6999 begin task=18",
	  "ended 0/1 end=8000 late? declared@8000 untrusted tasks=17" },
	{ .why = "threads that write a second late",
	  NONE SERVED "7000 begin task=18",
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "time that runs backwards in a log that is not believed",
	  NONE SERVED "log 3 1000\n9000 begin task=1\n1000 begin task=2",
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "a log that was not read to its end",
	  NONE SERVED "part",
	  "ended 0/1 end=8000 declared@8000 part tasks=17" },
	{ .why = "a log of this uid that was not",
	  NONE SERVED "behind 1000",
	  "ended 0/1 end=8000 declared@8000 part tasks=17" },
	{ .why = "a log of root that was not",
	  NONE SERVED "behind 0",
	  "ended 0/1 end=8000 declared@8000 part tasks=17" },
	{ .why = "a log of another uid that was not",
	  NONE SERVED "behind 1001",
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "logs of many uids that were not",
	  NONE SERVED
	  "behind 1\nbehind 2\nbehind 3\nbehind 4\nbehind 5\nbehind 6\nbehind 7\nbehind 8\nbehind 9",
	  "ended 0/1 end=8000 declared@8000 part tasks=17" },
	{ .why = "T1: a signed-off worker whose task runs on is the task's",
	  NONE "5000 begin task=17 " W "\n" DAEMON "6000 done " W,
	  "done 1/1 since=5000 !declared tasks=17" },
	{ .why = "T2: a leased worker whose connection nobody saw is the task's",
	  NONE "5000 begin task=17 " W,
	  "open 1/1 since=5000 !declared tasks=17" },
	{ .why = "T3: a pooled orphan whose host nobody knows",
	  REPORTED "5000 pooled " W,
	  "none",
	  ask_host_unknown },
};

Test(ledger, declared)
{
	script_check(declared, ARRAY_SIZE(declared));
}

static void born_at_100s(struct ledger_question *q)
{
	q->born_ms = 100000;
	q->last_byte_ms = 100000;
}

static const struct script_row reported[] = {
	{ .why = "two beats whose lists began after the end",
	  REPORTED SERVED "beats 9000 29000 10000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17" },
	{ .why = "the first list may have begun before the end",
	  REPORTED SERVED "beats 9000 19000 10000",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "the proof gets no younger",
	  REPORTED SERVED "beats 9000 900000 10000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17" },
	{ .why = "beats that come often",
	  REPORTED SERVED "beats 9000 100000 2000",
	  "ended 0/1 end=8000 !declared reported@21000 tasks=17" },
	{ .why = "beats less than 10 s apart",
	  REPORTED SERVED "beats 9000 20999 1000",
	  "ended 0/1 end=8000 !declared reported@20000 tasks=17" },
	{ .why = "beats less than 10 s apart, one too few",
	  REPORTED SERVED "beats 9000 19999 1000",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "no binding is needed",
	  REPORTED "beats 9000 29000 10000",
	  "none !declared reported@29000" },
	{ .why = "pooled by the last list",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 pooled " W "\n30000 beat n=*",
	  "pooled 0/1 end=8000 pooled !declared !reported tasks=17" },
	{ .why = "leased by the last list",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 leased " W "\n30000 beat n=*",
	  "leased 0/1 end=8000 leased !declared !reported tasks=17" },
	{ .why = "pooled by a list in between: it starts again",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 pooled " W "\nbeats 30000 60000 10000",
	  "ended 0/1 end=8000 !declared reported@60000 tasks=17" },
	{ .why = "leased by a list in between: it starts again",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 leased " W "\nbeats 30000 60000 10000",
	  "ended 0/1 end=8000 !declared reported@60000 tasks=17" },
	{ .why = "leased by every list to a task that has ended",
	  REPORTED SERVED "9000 beat n=*\n10000 leased " W
			  " task=17\n10000 beat n=*\n20000 leased " W " task=17\n20000 beat n=*",
	  "leased 0/1 end=8000 leased !declared !reported tasks=17" },
	{ .why = "a task is open",
	  REPORTED SERVED "beats 9000 29000 10000\n30000 begin task=18 " W
			  "\nbeats 31000 91000 10000",
	  "open 1/2 since=30000 end=8000 !declared !reported tasks=18,17" },
	{ .why = "T5: the lists of another class's pool prove nothing",
	  REPORTED SERVED "beats 9000 99000 10000",
	  "ended 0/1 end=8000 tasks=17",
	  ask_other_class },
	{ .why = "T5: each class has its own",
	  REPORTED SERVED
	  "beats 9000 99000 10000\nlog 3 1000\n1000 host host=4711:50 WHO class=pyjava",
	  "ended 0/1 end=8000 tasks=17",
	  ask_other_class },
	{ .why = "T6: the lists lost their `pooled` line",
	  REPORTED SERVED "9000 beat n=*\n19000 beat n=1\n29000 beat n=1\n39000 beat n=1",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "T6: one of them did: the next one counts again",
	  REPORTED SERVED "9000 beat n=*\n19000 beat n=1\nbeats 29000 39000 10000",
	  "ended 0/1 end=8000 !declared reported@39000 tasks=17" },
	{ .why = "T6: an unknown event counts, as its writer counts it",
	  REPORTED SERVED "8000 sealed x=1\nbeats 9000 29000 10000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17" },
	{ .why = "T7: a list that began before the last end",
	  REPORTED "7000 beat n=*\n7500 begin task=17 " W
		   "\n8000 end task=17\n8500 beat n=*\n18500 beat n=*",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "T7: a list whose beat before came at the very end",
	  REPORTED "7500 begin task=17 " W
		   "\n8000 end task=17\n8000 beat n=*\nbeats 18000 28000 10000",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "T8: beats from before the worker was born",
	  REPORTED "beats 9000 99000 10000",
	  "none !declared",
	  born_at_100s },
	{ .why = "T8: and one after",
	  REPORTED "beats 9000 129000 10000",
	  "none !declared reported@129000",
	  born_at_100s },
	{ .why = "two logs of one class must both prove it",
	  REPORTED SERVED "beats 9000 29000 10000\n" SECOND " pool=reported",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "two logs of one class: the later proof",
	  REPORTED SERVED "beats 9000 29000 10000\n" SECOND
			  " pool=reported\nbeats 9500 39500 10000",
	  "ended 0/1 end=8000 !declared reported@29500 tasks=17" },
	{ .why = "beats in the future",
	  REPORTED SERVED "beats 9000 19000 10000\n1010001 beat n=*",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "beats right now",
	  REPORTED SERVED "beats 9000 19000 10000\n1010000 beat n=*",
	  "ended 0/1 end=8000 !declared reported@1010000 tasks=17" },
	{ .why = "beats before the clock was stepped",
	  REPORTED SERVED "beats 9000 99000 10000\nstep 5000",
	  "ended 0/1 end=8000 late? !declared untrusted tasks=17" },
	{ .why = "beats after the clock was stepped",
	  REPORTED SERVED "beats 9000 99000 10000\nstep 5000\nbeats 6000 36000 10000",
	  "ended 0/1 end=8000 late? !declared reported@26000 untrusted tasks=17" },
	{ .why = "beats before the clock was stepped, and before we began",
	  REPORTED SERVED "beats 9000 99000 10000\ntrust 100000",
	  "ended 0/1 end=8000 late? !declared untrusted tasks=17" },
	{ .why = "beats after it",
	  REPORTED SERVED "beats 9000 99000 10000\ntrust 8001",
	  "ended 0/1 end=8000 late? !declared reported@29000 untrusted tasks=17" },
	{ .why = "what ended at that moment has an age",
	  REPORTED SERVED "beats 9000 99000 10000\ntrust 8000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17" },
	{ .why = "a reader that begins believes no host that has been silent for long",
	  REPORTED SERVED "beats 9000 99000 10000\ndoubt 99001",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "one that has just beaten is believed",
	  REPORTED SERVED "beats 9000 99000 10000\ndoubt 99000",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17" },
	{ .why = "so is one that beats again, from there on",
	  REPORTED SERVED "beats 9000 99000 10000\ndoubt 99001\nbeats 100000 119999 10000",
	  "ended 0/1 end=8000 !declared tasks=17" },
	{ .why = "so is one that beats again, twice after a first beat",
	  REPORTED SERVED "beats 9000 99000 10000\ndoubt 99001\nbeats 100000 120000 10000",
	  "ended 0/1 end=8000 !declared reported@120000 tasks=17" },
	{ .why = "whose log has no beats yet, and says enough without",
	  NONE SERVED "doubt 99001",
	  "ended 0/1 end=8000 declared@8000 tasks=17" },
	{ .why = "beats after time ran backwards",
	  REPORTED SERVED "beats 9000 99000 10000\nbeats 60000 90000 10000",
	  "ended 0/1 end=8000 late? !declared reported@90000 untrusted tasks=17" },
	{ .why = "a beat that is a little earlier than the last",
	  REPORTED SERVED "beats 9000 19000 10000\n18500 beat n=*\n29000 beat n=*",
	  "ended 0/1 end=8000 !declared reported@29000 tasks=17" },
	{ .why = "a beat that is a little earlier than the last: its list may be older than it says",
	  REPORTED "5000 begin task=17 " W "\n9000 beat n=*\n19000 beat n=*\n18700 end task=17\n"
		   "18500 beat n=*\n29000 beat n=*\n39000 beat n=*",
	  "ended 0/1 end=18700 !declared reported@39000 tasks=17" },
	{ .why = "two beats of one time: the second list began after the first",
	  REPORTED SERVED "9000 beat n=*\n9000 beat n=*\n19000 beat n=*",
	  "ended 0/1 end=8000 !declared reported@19000 tasks=17" },
	{ .why = "pooled in another log before the clock was stepped",
	  REPORTED "5000 pooled " W
		   "\nlog 3 0\n1000 host host=4711:50 WHO class=other\n5001 pooled " W
		   "\nlog 1 1000\nbeats 9000 39000 10000",
	  "pooled pooled !declared !reported" },
};

Test(ledger, reported)
{
	script_check(reported, ARRAY_SIZE(reported));
}

/* A beat for which there was no memory is given again: its list began when the beat before it came. */
Test(ledger_proof, a_beat_that_is_given_again)
{
	struct script f = script_begin();
	struct ledger_log *log;

	script_run(&f, REPORTED "9000 beat n=*", &script_usual);
	log = ledger_state_log(f.ledger, 1);
	log->beats.count = LEDGER_BEATS_MAX + 1;
	cr_assert_eq(script_add(&f, "19000 beat n=0"), -LEDGER_ENOMEM);
	log->beats.count = 0;
	cr_assert_eq(script_add(&f, "19000 beat n=0"), 0);
	cr_assert_eq(log->beats.count, 1);
	cr_assert_eq(log->beats.beat[0].ms, 19000);
	cr_assert_eq(log->beats.beat[0].begun_ms, 9000);
	ledger_free(f.ledger);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

static const char *const op_names[OP_COUNT] = {
	[OP_SERVE] = "a worker is given a task",
	[OP_SERVE_2] = "a worker is given a task",
	[OP_SERVE_3] = "a worker is given a task",
	[OP_FINISH] = "a worker finishes",
	[OP_FINISH_2] = "a worker finishes",
	[OP_BEGIN] = "a task begins",
	[OP_LEASE] = "a worker is leased",
	[OP_FEED] = "the host sends a task's first bytes",
	[OP_FEED_MORE] = "the host sends more",
	[OP_STEP] = "a worker goes on",
	[OP_STEP_2] = "a worker goes on",
	[OP_STEP_3] = "a worker goes on",
	[OP_WORK] = "a worker works, and waits where it did",
	[OP_WORK_2] = "a worker works, and waits where it did",
	[OP_HOST_READS] = "the host reads",
	[OP_HOST_TAKES_END] = "the host has read a worker's last byte",
	[OP_SHUT] = "the host shuts its end for writing",
	[OP_END_TASK] = "a task ends",
	[OP_RETIRE] = "the host tells whom it gave up",
	[OP_BEAT] = "the host beats",
	[OP_PASS] = "time passes",
	[OP_PASS_2] = "time passes",
	[OP_STOP] = "the host is stopped, or goes on",
	[OP_DAEMON_DIES] = "the daemon dies",
	[OP_HOST_DIES] = "the host dies",
	[OP_CHILD_DIES] = "a child of the host comes, or goes",
	[OP_HOST_AGAIN] = "another host gets the host's number",
	[OP_DAEMON_AGAIN] = "another daemon gets the daemon's number",
	[OP_STRANGER] = "a stranger gets a number",
	[OP_CLOCK] = "a worker may be given up, and the wall clock is set",
	[OP_SUSPEND] = "the machine is suspended",
	[OP_DIES] = "a worker dies",
	[OP_HOLD] = "a worker is held, or goes on",
	[OP_CHANGE] = "a worker is no plain worker any more",
};

static const char *const use_names[] = {
	[USE_NONE] = "unborn",       [USE_LEASED] = "leased", [USE_POOLED] = "pooled",
	[USE_GIVEN_UP] = "given up", [USE_CLOSED] = "closed",
};

static const char *const phase_names[PHASE_COUNT] = {
	[PHASE_NEWBORN] = "newborn",
	[PHASE_PROTOCOL] = "in the protocol",
	[PHASE_RUNNING] = "running",
	[PHASE_POLL] = "in poll",
	[PHASE_FUTEX] = "in futex",
	[PHASE_SLEEP] = "asleep",
	[PHASE_LOOP] = "in a loop of waits",
	[PHASE_BURN] = "its threads work",
	[PHASE_DUP_RECV] = "in recv on a duplicate",
	[PHASE_OWN_RECV] = "in recv on its own socket",
	[PHASE_WRITE] = "in write",
	[PHASE_SIGNED_OFF] = "signed off",
};

static const char *const kept_names[KEPT_COUNT] = {
	[KEPT_TRACED] = "traced",
	[KEPT_STOPPED] = "stopped",
	[KEPT_UNINTERRUPTIBLE] = "uninterruptible",
	[KEPT_DUMPING] = "dumping core",
	[KEPT_EXECED] = "exec'ed",
	[KEPT_OTHER_UID] = "another user's",
	[KEPT_OTHER_PID_NS] = "in another pid namespace",
	[KEPT_PROTECTED] = "protected",
};

static void print_worker(const struct world *w, unsigned i, FILE *to)
{
	const struct worker *p = &w->worker[i];

	(void)fprintf(to, " [%u %s, %s, end %d, queues %u %u %u%s", i, use_names[p->use],
		      phase_names[p->phase], (int)p->end, p->recv_queue, p->send_queue,
		      p->host_recv_queue, p->more ? ", more" : "");
	for (enum kept k = 0; k < KEPT_COUNT; k++)
		if (p->kept & 1u << k)
			(void)fprintf(to, ", %s", kept_names[k]);
	(void)fputc(']', to);
}

void world_print(const struct world *w, enum op op, unsigned arg, FILE *to)
{
	(void)fprintf(to, "%9.3f s %s (%u):", (double)(w->now - WORLD_BEGIN_MS) / 1000,
		      op_names[op], arg);
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		if (w->worker[i].alive)
			print_worker(w, i, to);
	}
	(void)fprintf(to, "%s%s%s%s%s%s\n", w->host_up ? "" : ", no host",
		      w->stopped ? ", stopped" : "", w->daemon_up ? "" : ", no daemon",
		      w->unshared ? ", unshared" : "", w->child ? ", a child" : "",
		      w->stranger.pid ? ", a stranger" : "");
}

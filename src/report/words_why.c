/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "report/words.h"

/* What a reason says by itself; where it needs a number, say_number() has the words. */
static const char *const fixed[] = {
	[REASON_VANISHED] = "it was gone before the look at it ended",
	[REASON_SELF] = "it is reaper itself",
	[REASON_ANCESTOR] = "it is a host, a daemon, pid 1, a kernel thread, or an ancestor of a "
			    "worker, of reaper, or of one whose command line could not be read",
	[REASON_PROTECTED] = "a rule of [protect] names it, its daemon or its host",
	[REASON_FOREIGN_UID] =
		"it runs as another user than its daemon, or is a set-user-ID program",
	[REASON_OTHER_PIDNS] = "it is pid 1 of a pid namespace, or in another one than its daemon",
	[REASON_CHANGED] = "its executable, user or namespaces are no longer those it was forked "
			   "with",
	[REASON_TRACED] = "a debugger traces it",
	[REASON_DUMPING] = "it is writing a core dump",
	[REASON_STOPPED] = "it is stopped",
	[REASON_UNINTERRUPTIBLE] = "a thread is in uninterruptible sleep, or it is frozen",
	[REASON_UNREADABLE] = "evidence that a kill needs could not be read",
	[REASON_RUNNING] = "one of its threads is running",
	[REASON_UNKNOWN_WAIT] = "its main thread is in no known blocking wait",
	[REASON_PROGRESS] = "it made progress between two looks",
	[REASON_TOO_YOUNG] = NULL,
	[REASON_OPEN_TASK] = NULL,
	[REASON_UNREAD_BYTES] = NULL,
	[REASON_FENCE_OFF] = NULL,
	[REASON_WAITING] = NULL,
	[REASON_LEASED] = "its host says that a task has it",
	[REASON_POOLED] = "its host says that it is in the pool and will be used again",
	[REASON_SERVING] = NULL,
	[REASON_IDLE] = NULL,
	[REASON_DAEMON] = "a daemon is never ended",
	[REASON_SILENT] = NULL,
	[REASON_IDLE_DAEMON] = NULL,
	[REASON_LOST_HELPER] =
		"its group leader was a daemon, and it is no worker nor below one any "
		"more",
	[REASON_STUCK_WAIT] = NULL,
	[REASON_GROWING] = NULL,
	[REASON_CRASH_LOOP] = NULL,
	[REASON_UNKILLABLE] = NULL,
	[REASON_HOST_GONE] =
		"its JVM has exited and nobody holds the host's end of its task socket",
	[REASON_SIGNED_OFF] = "it left the protocol and only waits for its host to hang up",
	[REASON_PEER_CLOSED] = "nobody holds the host's end of its task socket",
	[REASON_RETIRED] = NULL,
	[REASON_TASK_ENDED] = "all its tasks ended, and its host neither pools nor leases it",
	[REASON_ASSUMED] = NULL,
};
static_assert(ARRAY_SIZE(fixed) == REASON_COUNT, "every reason has words or says a number");

const char *words_reason(enum reason reason)
{
	return fixed[reason];
}

static const char *task_name(const struct subject *s, char ret[WORDS_NAME_MAX])
{
	return s->marks.task_count ? words_name(s->marks.tasks[0], ret, WORDS_NAME_MAX) : NULL;
}

static void say_open_task(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	char name[WORDS_NAME_MAX], age[WORDS_SHORT_MAX], since[WORDS_SHORT_MAX + 8] = "";
	const char *task = task_name(s, name);

	if (a && s->marks.open_since_ms && a->wall_ms >= s->marks.open_since_ms)
		snprintf(since, sizeof(since), " for %s",
			 words_age(a->wall_ms - s->marks.open_since_ms, age, sizeof(age)));
	if (!s->marks.open)
		snprintf(ret, WORDS_MAX, "%s",
			 s->verdict.reason == REASON_OPEN_TASK
				 ? "a task that is bound to it has not ended"
				 : fixed[REASON_RUNNING]);
	else if (s->marks.open == 1)
		snprintf(ret, WORDS_MAX, "task %s has been open on it%s", task ? task : "?", since);
	else
		snprintf(ret, WORDS_MAX, "%" PRIu32 " tasks have been open on it%s, among them %s",
			 s->marks.open, since, task ? task : "?");
}

const char *words_unread(const struct facts *f, char ret[WORDS_MAX])
{
	char in[WORDS_SHORT_MAX], out[WORDS_SHORT_MAX], far[WORDS_SHORT_MAX];
	bool empty = !f->recv_queue && !f->send_queue && !f->host_recv_queue;

	if (empty && f->host_writes != TRI_NO) {
		snprintf(
			ret, WORDS_MAX, "%s",
			f->host_writes == TRI_YES
				? "a thread of its host, begun before it signed off, may still write to it"
				: "its host's threads cannot be read: one may still write to it");
		return ret;
	}
	snprintf(ret, WORDS_MAX,
		 "bytes wait in its task socket (%s to read, %s to send, %s at the host) while its "
		 "host holds the other end",
		 words_size(f->recv_queue, in, sizeof(in)),
		 words_size(f->send_queue, out, sizeof(out)),
		 words_size(f->host_recv_queue, far, sizeof(far)));
	return ret;
}

static void say_waiting(const struct subject *s, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX], due[WORDS_SHORT_MAX];

	snprintf(ret, WORDS_MAX, "%s has held for %s; due in %s if nothing moves",
		 fence_name(s->verdict.fence), words_age(s->verdict.fence_age_ms, age, sizeof(age)),
		 words_age(s->verdict.due_in_ms, due, sizeof(due)));
}

static void say_silent(const struct subject *s, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX], name[WORDS_NAME_MAX];
	const char *wait = words_wait(s, name), *missing = words_missing(s->verdict.missing);

	snprintf(ret, WORDS_MAX, "silent for %s%s%s without a proof%s%s%s",
		 words_age(s->facts.silent_ms, age, sizeof(age)), wait ? " in " : "",
		 wait ? wait : "", missing ? " (" : "", missing ? missing : "", missing ? ")" : "");
}

static void say_stuck(const struct subject *s, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX], name[WORDS_NAME_MAX];
	const char *wait = words_wait(s, name), *missing = words_missing(s->verdict.missing);

	snprintf(ret, WORDS_MAX, "its main thread has been in %s without a timeout for %s%s%s%s",
		 wait ? wait : "a wait", words_age(s->facts.blocked_ms, age, sizeof(age)),
		 missing ? " (" : "", missing ? missing : "", missing ? ")" : "");
}

static void say_unkillable(const struct subject *s, char ret[WORDS_MAX])
{
	char name[WORDS_NAME_MAX];

	snprintf(ret, WORDS_MAX, "SIGKILL did not end it; it waits in %s",
		 s->ev.main.wchan[0] ? words_name(s->ev.main.wchan, name, sizeof(name)) : "?");
}

static void say_crash_loop(const struct audit *a, size_t crashes, char ret[WORDS_MAX])
{
	const struct crashes *c = audit_crashes(a, crashes);

	if (c)
		words_crashes(c, ret);
	else
		snprintf(ret, WORDS_MAX, "its like die by a signal again and again");
}

/* The reasons that say a number or a name. */
static void say_number(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];

	switch (s->verdict.reason) {
	case REASON_TOO_YOUNG:
		snprintf(ret, WORDS_MAX, "it began only %s ago",
			 words_age(s->facts.age_ms, age, sizeof(age)));
		break;
	case REASON_OPEN_TASK:
	case REASON_SERVING:
		say_open_task(a, s, ret);
		break;
	case REASON_UNREAD_BYTES:
		words_unread(&s->facts, ret);
		break;
	case REASON_FENCE_OFF:
		snprintf(ret, WORDS_MAX, "%s holds, but `fences` does not name it",
			 fence_name(s->verdict.fence));
		break;
	case REASON_WAITING:
		say_waiting(s, ret);
		break;
	case REASON_SILENT:
		say_silent(s, ret);
		break;
	case REASON_STUCK_WAIT:
		say_stuck(s, ret);
		break;
	case REASON_GROWING:
		words_growing(a, s, ret);
		break;
	case REASON_UNKILLABLE:
		say_unkillable(s, ret);
		break;
	case REASON_RETIRED:
		snprintf(ret, WORDS_MAX, "%s gave it up %s ago",
			 s->marks.retired || !s->marks.retired_by_operator ? "its host"
									   : "the operator",
			 words_age(s->verdict.fence_age_ms, age, sizeof(age)));
		break;
	case REASON_CRASH_LOOP:
		say_crash_loop(a, s->crashes, ret);
		break;
	case REASON_ASSUMED:
		snprintf(ret, WORDS_MAX,
			 "all its tasks ended, and it has been silent for %s: no proof, but "
			 "assume_leaked_after takes it for leaked",
			 words_age(s->verdict.fence_age_ms, age, sizeof(age)));
		break;
	default:
		snprintf(ret, WORDS_MAX,
			 "silent for %s; nothing says that its host is done with it",
			 words_age(s->facts.silent_ms, age, sizeof(age)));
		break;
	}
}

/* Behind words that are the same for every worker: since when, and where it waits. */
static void add_since(const struct subject *s, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];
	size_t len = strlen(ret);

	snprintf(ret + len, WORDS_MAX - len, ", for %s",
		 words_age(s->verdict.fence_age_ms, age, sizeof(age)));
}

static void add_wait(const struct subject *s, char ret[WORDS_MAX])
{
	char name[WORDS_NAME_MAX];
	const char *wait = words_wait(s, name);
	size_t len = strlen(ret);

	if (wait)
		snprintf(ret + len, WORDS_MAX - len, "; it waits in %s", wait);
}

/* A helper is ended with its worker or stays with it: what it does itself decides nothing. */
static void say_helper(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	const struct subject *worker = a && s->worker >= 0 ? &a->subjects[s->worker] : NULL;
	char of[WORDS_SHORT_MAX] = "its worker";
	const char *fate = "it stays with it";

	if (worker)
		snprintf(of, sizeof(of), "%s %" PRId32, role_name(worker->role), worker->id.pid);
	if (s->verdict.action == ACTION_REAP)
		fate = s->holds_task_socket ? "it holds the task socket too and is ended with it"
					    : "it is ended with it";
	else if (worker && worker->verdict.action == ACTION_REAP)
		fate = "`helpers` spares it";
	snprintf(ret, WORDS_MAX, "a descendant of %s: %s", of, fate);
}

const char *words_why(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	const char *words = fixed[s->verdict.reason];

	if (s->role == ROLE_HELPER) {
		say_helper(a, s, ret);
		return ret;
	}
	if (words)
		snprintf(ret, WORDS_MAX, "%s", words);
	else
		say_number(a, s, ret);
	if (s->verdict.action != ACTION_REAP)
		return ret;
	if (words)
		add_since(s, ret);
	add_wait(s, ret);
	return ret;
}

const char *words_why_daemon(const struct audit *a, const struct daemon *d, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];

	if (d->verdict.reason == REASON_CRASH_LOOP)
		say_crash_loop(a, d->crashes, ret);
	else if (d->verdict.reason == REASON_IDLE_DAEMON)
		snprintf(ret, WORDS_MAX, "no worker for %s%s; a daemon is never ended",
			 words_age(d->idle_ms, age, sizeof(age)),
			 d->host < 0 ? ", and no host" : "");
	else
		snprintf(ret, WORDS_MAX, "%s",
			 fixed[d->verdict.reason] ? fixed[d->verdict.reason]
						  : fixed[REASON_DAEMON]);
	return ret;
}

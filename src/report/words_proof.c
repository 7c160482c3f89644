/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/macro.h"
#include "report/words.h"

/* What is said where the facts add nothing: of a proof that holds, does not, is not known. */
static const char *const proofs[][3] = {
	[FENCE_NONE] = { "", "", "" },
	[FENCE_HOST_GONE] = {
		[TRI_UNKNOWN] = "whether its JVM has exited is not known",
		[TRI_NO] = "its JVM runs",
		[TRI_YES] = "its JVM has exited and nobody holds the host's end of its task socket",
	},
	[FENCE_SIGNED_OFF] = {
		[TRI_UNKNOWN] = "the call that its main thread is in, or its descriptors, could "
				"not be read",
		[TRI_NO] = "its main thread is not in the last call of the protocol",
		[TRI_YES] = "it left the protocol and only waits for its host to hang up",
	},
	[FENCE_PEER_CLOSED] = {
		[TRI_UNKNOWN] = "who holds the host's end of its task socket is not known",
		[TRI_NO] = "its host holds the other end of its task socket",
		[TRI_YES] = "nobody holds the host's end of its task socket",
	},
	[FENCE_RETIRED] = {
		[TRI_UNKNOWN] = "the marker logs were not read to their end",
		[TRI_NO] = "neither its host nor an operator gave it up",
		[TRI_YES] = "its host gave it up",
	},
	[FENCE_TASK_ENDED] = {
		[TRI_UNKNOWN] = "the markers do not say whether its host may use it again",
		[TRI_NO] = "nothing proves that its host neither pools nor leases it",
		[TRI_YES] = "all its tasks ended, and its host neither pools nor leases it",
	},
	[FENCE_ASSUMED] = {
		[TRI_UNKNOWN] = "no proof; only where assume_leaked_after is set",
		[TRI_NO] = "no proof; only where assume_leaked_after is set",
		[TRI_YES] = "no proof, but all its tasks ended, and it has been silent for longer "
			    "than assume_leaked_after",
	},
};
static_assert(ARRAY_SIZE(proofs) == FENCE_COUNT, "every fence has words");

static const char *host_gone(enum tri holds, const struct facts *f)
{
	if (holds != TRI_YES && f->single)
		return "it stands alone, without a JVM";
	if (holds == TRI_NO && f->host_gone == TRI_UNKNOWN)
		return "the host's end of its task socket is not closed, whatever became of its JVM";
	if (holds == TRI_YES || f->host_gone != TRI_YES)
		return NULL;
	if (f->host_held == TRI_YES)
		return "its JVM has exited, but somebody holds the host's end of its task socket";
	if (f->socket == SOCKET_NONE)
		return "its JVM has exited, but it has no task socket";
	return "its JVM has exited, but whether somebody holds the host's end of its task socket "
	       "is not known";
}

static const char *peer_closed(enum tri holds, const struct facts *f)
{
	if (holds != TRI_YES && f->socket == SOCKET_NONE)
		return "it has no task socket";
	if (holds == TRI_NO && f->host_held != TRI_YES)
		return "it is not known that nobody holds the host's end of its task socket";
	if (holds == TRI_NO && f->closing)
		return "its host shut down its end of the task socket, but still holds it";
	return NULL;
}

static const char *task_ended(enum tri holds, const struct facts *f)
{
	if (holds == TRI_YES)
		return NULL;
	if (!f->host_log)
		return "there is no marker log of its host";
	if (!f->logs_whole)
		return "its host's marker logs were not read to their end";
	if (f->tasks_open)
		return "a task that is bound to it has not ended";
	if (f->late_byte == TRI_YES)
		return "a byte moved long after its last task ended: a task was not announced";
	if (f->leased)
		return "its host says that a task has it";
	if (f->pooled)
		return "its host says that it is in the pool";
	return NULL;
}

/* What the facts say beyond the table, or NULL. */
static const char *special(enum fence fence, enum tri holds, const struct facts *f)
{
	switch (fence) {
	case FENCE_HOST_GONE:
		return host_gone(holds, f);
	case FENCE_SIGNED_OFF:
		return holds != TRI_YES && f->in_signoff_call
			       ? "it waits for its host to hang up, but bytes are still on their way"
			       : NULL;
	case FENCE_PEER_CLOSED:
		return peer_closed(holds, f);
	case FENCE_RETIRED:
		return holds == TRI_YES && !f->retired && f->retired_by_operator
			       ? "the operator gave it up"
			       : NULL;
	case FENCE_TASK_ENDED:
		return task_ended(holds, f);
	case FENCE_NONE:
	case FENCE_ASSUMED:
	case FENCE_COUNT:
		break;
	}
	return NULL;
}

const char *words_proof(enum fence fence, enum tri holds, const struct facts *f,
			char ret[WORDS_MAX])
{
	const char *words = f ? special(fence, holds, f) : NULL;

	snprintf(ret, WORDS_MAX, "%s", words ? words : proofs[fence][holds]);
	return ret;
}

/* What is said where a guard does not object. */
static const char *const fine[] = {
	[REASON_VANISHED] = "it is there",
	[REASON_SELF] = "it is not reaper",
	[REASON_ANCESTOR] = "it is no host, no daemon, no kernel thread, no ancestor",
	[REASON_PROTECTED] = "no rule of [protect] names it",
	[REASON_FOREIGN_UID] = "it runs as its daemon's user",
	[REASON_OTHER_PIDNS] = "it is in its daemon's pid namespace, and not pid 1 of one",
	[REASON_CHANGED] = "its executable, user and namespaces are those it was forked with",
	[REASON_TRACED] = "nobody traces it",
	[REASON_DUMPING] = "it writes no core dump",
	[REASON_STOPPED] = "it is not stopped",
	[REASON_UNINTERRUPTIBLE] = "no thread is in uninterruptible sleep",
	[REASON_UNREADABLE] = "all evidence that a kill needs could be read",
	[REASON_RUNNING] = "every thread is asleep",
	[REASON_UNKNOWN_WAIT] = "its main thread is in a known blocking wait",
	[REASON_PROGRESS] = "it made no progress between two looks",
	[REASON_TOO_YOUNG] = "it is older than min_age",
	[REASON_OPEN_TASK] = "no open task forbids it",
	[REASON_UNREAD_BYTES] = "no bytes wait in its socket while its host holds the other end",
	[REASON_FENCE_OFF] = "`fences` names every proof that holds",
};
static_assert(ARRAY_SIZE(fine) == REASON_FENCE_OFF + 1, "every guard has words");

static void objection(enum reason guard, const struct facts *f, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];

	switch (guard) {
	case REASON_TOO_YOUNG:
		snprintf(ret, WORDS_MAX, "it began only %s ago, later than min_age allows",
			 words_age(f ? f->age_ms : UNKNOWN_U64, age, sizeof(age)));
		break;
	case REASON_OPEN_TASK:
		snprintf(ret, WORDS_MAX, "a task that is bound to it has not ended");
		break;
	case REASON_UNREAD_BYTES:
		if (f)
			words_unread(f, ret);
		else
			snprintf(ret, WORDS_MAX, "bytes wait in its task socket");
		break;
	default:
		snprintf(ret, WORDS_MAX, "`fences` does not name the proof that holds");
		break;
	}
}

const char *words_guard(enum reason guard, bool objects, const struct facts *f, char ret[WORDS_MAX])
{
	const char *words = objects ? words_reason(guard) : fine[guard];

	if (words)
		snprintf(ret, WORDS_MAX, "%s", words);
	else
		objection(guard, f, ret);
	return ret;
}

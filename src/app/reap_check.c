/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reap_check.h"

#include <string.h>

#include "model/proc.h"
#include "observe/evidence.h"

bool reap_same_uids(const struct evidence *a, const struct evidence *b)
{
	return a->ids_known && b->ids_known && memcmp(a->uids, b->uids, sizeof(a->uids)) == 0;
}

/* A helper may start another program whenever it likes; a worker that does is none any more. One that
 * is about to end has no program, and what it waits for is its end: only a first signal would lie in wait
 * until somebody thaws it. */
static const char *check_judged(const struct victim *v, const struct evidence *now,
				const struct evidence *then)
{
	if ((v->role == ROLE_WORKER && !(now->flags & PROC_FORKNOEXEC)) ||
	    (now->exe.ino && !file_id_equal(now->exe, then->exe)))
		return "it runs another program";
	if (now->uninterruptible && v->stage == ACT_PINNED)
		return "it is in uninterruptible sleep";
	return now->stopped ? "it is stopped" : NULL;
}

static bool is_ended_with(const struct victim *worker)
{
	return worker->stage != ACT_DONE || worker->record.outcome == OUTCOME_EXITED ||
	       worker->record.outcome == OUTCOME_KILLED ||
	       worker->record.outcome == OUTCOME_VANISHED;
}

const char *reap_check(const struct reap *r, const struct victim *v)
{
	const struct victim *worker = &r->victims[v->worker];
	const struct subject *then = audit_find(&r->second, worker->id.pid);
	_cleanup_(evidence_done) struct evidence now = { 0 };

	if (!then || evidence_look(v->dirfd, v->id.pid, EVIDENCE_IDENTITY, NULL, &now) < 0)
		return "it cannot be looked at again";
	if (now.vanished)
		return NULL;
	if (!now.ids_known)
		return "it cannot be looked at again";
	if (!reap_same_uids(&now, &then->ev) || now.exe_setuid)
		return "it is another user's";
	if (now.tracer || now.dumping == TRI_YES)
		return "it is traced";
	if (role_is_judged(v->role))
		return check_judged(v, &now, &then->ev);
	return is_ended_with(worker) ? NULL : "its worker is not ended";
}

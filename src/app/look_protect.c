/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_protect.h"

#include "base/fs.h"
#include "base/pin.h"
#include "observe/evidence.h"

/* A JVM's class path alone can be longer than what a look reads of an argv. */
static bool rest_names(const struct config *c, const struct proc *p, const char *cgroup)
{
	struct proc whole = *p;
	bool named = true;

	whole.argv = NULL;
	if (processes_read_whole_argv(&whole) == 0)
		named = protect_match(&c->protect, &whole, cgroup);
	free(whole.argv);
	return named;
}

bool look_protect_names(const struct config *c, struct proc *p, const char *cgroup)
{
	if (!c->protect.count)
		return false;
	/* What a rule asks and nobody knows keeps. */
	if (c->protect.wants_cgroup && !cgroup)
		return true;
	if (c->protect.wants_args && (p->argv_unread || (!p->argv && processes_read_argv(p) < 0)))
		return true;
	if (protect_match(&c->protect, p, cgroup))
		return true;
	return c->protect.wants_args && p->argv_cut && rest_names(c, p, cgroup);
}

static bool rule_names(const struct look *l, const struct audit *a, pid_t pid, const char *cgroup)
{
	struct proc *p = snapshot_find(&a->snapshot, pid);

	return p && look_protect_names(l->config, p, cgroup);
}

static bool host_is_protected(const struct look *l, const struct audit *a, int host)
{
	_cleanup_(evidence_done) struct evidence e = { 0 };
	_cleanup_close_ int dirfd = -1;
	pid_t pid;

	if (host < 0)
		return false;
	pid = a->hosts[host].id.pid;
	if (!l->config->protect.wants_cgroup)
		return rule_names(l, a, pid, NULL);
	dirfd = pin_open(pid);
	if (dirfd < 0 || evidence_look(dirfd, pid, EVIDENCE_CGROUP, NULL, &e) < 0)
		return true;
	return rule_names(l, a, pid, e.cgroup);
}

static bool helper_protects(const struct look *l, const struct audit *a, size_t worker)
{
	for (size_t i = worker + 1; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];

		if (s->worker != (int)worker)
			return false;
		if (s->holds_task_socket && rule_names(l, a, s->id.pid, s->ev.cgroup))
			return true;
	}
	return false;
}

bool look_protect_keeps(const struct look *l, const struct audit *a, const struct subject *s)
{
	if (!l->config->protect.count)
		return false;
	if (rule_names(l, a, s->id.pid, s->ev.cgroup) || host_is_protected(l, a, s->host))
		return true;
	if (s->daemon >= 0 &&
	    rule_names(l, a, a->daemons[s->daemon].id.pid, a->daemons[s->daemon].ev.cgroup))
		return true;
	return helper_protects(l, a, (size_t)(s - a->subjects));
}

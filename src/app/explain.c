/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/commands.h"
#include "app/output.h"
#include "base/clock.h"
#include "base/log.h"
#include "correlate/tree.h"
#include "decide/decide.h"
#include "decide/fence.h"
#include "decide/guard.h"
#include "report/json.h"

static void fill_proofs(const struct policy *policy, const struct subject *s, struct explanation *e)
{
	for (enum fence f = FENCE_NONE; f < FENCE_COUNT; f++) {
		e->proof[f] = fence_holds(f, policy, &s->facts);
		e->proof_age_ms[f] =
			e->proof[f] == TRI_YES ? fence_age_ms(f, policy, &s->facts) : UNKNOWN_U64;
	}
	for (enum reason r = 0; r < REASON_COUNT; r++)
		e->guard[r] = reason_is_guard(r) && guard_objects(r, policy, &s->facts);
}

static void explain_subject(const struct policy *policy, const struct subject *s,
			    struct explanation *e)
{
	e->role = s->role;
	e->subject = s;
	if (role_is_judged(s->role))
		fill_proofs(policy, s, e);
}

static bool explain_daemon(const struct audit *a, struct explanation *e)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		if (a->daemons[i].id.pid == e->pid) {
			e->role = ROLE_DAEMON;
			e->daemon = &a->daemons[i];
			(void)snprintf(e->why, sizeof(e->why), "a daemon is never ended");
			return true;
		}
	return false;
}

static bool explain_host(const struct audit *a, struct explanation *e)
{
	for (size_t i = 0; i < a->host_count; i++)
		if (a->hosts[i].id.pid == e->pid) {
			e->role = ROLE_HOST;
			e->host = &a->hosts[i];
			(void)snprintf(e->why, sizeof(e->why), "a host is never ended");
			return true;
		}
	return false;
}

static void explain_other(const struct look *l, struct explanation *e)
{
	if (e->pid == l->self.pid) {
		e->role = ROLE_REAPER;
		(void)snprintf(e->why, sizeof(e->why), "this is reaper itself");
		return;
	}
	e->role = ROLE_OTHER;
	(void)snprintf(
		e->why, sizeof(e->why),
		"it is no worker: no child of a daemon of any class that never exec'ed; and no "
		"class of singles names it");
}

static struct ident host_of(const struct audit *a, const struct explanation *e)
{
	if (e->subject)
		return e->subject->host_id;
	if (e->daemon && e->daemon->host >= 0 && a->hosts)
		return a->hosts[e->daemon->host].id;
	return e->host ? e->host->id : (struct ident){ 0 };
}

static void find_role(struct look *l, const struct audit *a, struct explanation *e)
{
	const struct subject *s = audit_find(a, e->pid);

	e->subject = NULL;
	e->daemon = NULL;
	e->host = NULL;
	if (s)
		explain_subject(&l->config->policy, s, e);
	else if (!explain_daemon(a, e) && !explain_host(a, e))
		explain_other(l, e);
}

/* The snapshot stays whole when the rest is cut to one host. */
static int fill_explanation(struct look *l, struct audit *a, pid_t pid, struct explanation *ret)
{
	struct explanation e = { .pid = pid, .audit = a };
	struct ident host;

	if (!snapshot_find(&a->snapshot, pid))
		return -ESRCH;
	find_role(l, a, &e);
	host = host_of(a, &e);
	tree_keep_hosts(a, &host, host.pid ? 1 : 0, !host.pid && e.subject);
	find_role(l, a, &e); /* what stays has moved */
	*ret = e;
	return 0;
}

static int print_explanation(const struct options *o, const struct explanation *e)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct text_style style = output_style(o);
	int err = 0;

	if (o->json)
		err = json_explanation(e, &text);
	else if (!o->quiet)
		text_explanation(e, &style, &text);
	if (err == 0)
		err = output_text(&text);
	if (err < 0)
		log_error("cannot write the explanation: %s", strerror(-err));
	return err < 0 ? EXIT_BLIND : EXIT_CLEAN;
}

static int look_and_explain(const struct options *o, const struct config *c, struct look *l,
			    struct audit *a, struct explanation *e)
{
	int status = command_open_look(o, c, l), err;

	if (status)
		return status;
	status = command_remember(c, false, l);
	if (status)
		return status;
	err = look_twice(l, c->sample_ms, a);
	if (err < 0)
		return command_look_failed(l, err);
	a->dry_run = true;
	if (fill_explanation(l, a, o->pid, e) < 0) {
		log_error("there is no process %d", o->pid);
		return EXIT_BLIND;
	}
	return 0;
}

/* Another user's tree that was counted instead of judged. */
static bool is_hidden(const struct audit *a, const struct look *l, const struct explanation *e)
{
	const struct proc *p = snapshot_find(&a->snapshot, e->pid);

	return e->role == ROLE_OTHER && a->hidden_trees && p && p->uid != l->self.euid &&
	       proc_never_execed(p);
}

int command_explain(const struct options *o, const struct config *c)
{
	_cleanup_(audit_done) struct audit a = { 0 };
	_cleanup_(look_close) struct look l = { 0 };
	struct explanation e = { 0 };
	int status = look_and_explain(o, c, &l, &a, &e);

	if (status)
		return status;
	if (is_hidden(&a, &l, &e)) {
		log_error("process %d is another user's and may not be read from here; "
			  "`reaper doctor` says which privilege is missing",
			  o->pid);
		return EXIT_BLIND;
	}
	return print_explanation(o, &e);
}

static int write_retired(const struct options *o, const struct config *c, const struct look *l,
			 const struct subject *s)
{
	int err = markers_retire(c->marker_dir, l->self.euid, l->self.boot_id, l->self.pid_ns,
				 clock_wall_ms(), s->id);

	if (err < 0) {
		log_error("%s/operator-%u/retire.log: %s; nothing was written", c->marker_dir,
			  l->self.euid, strerror(-err));
		return EXIT_BLIND;
	}
	if (!o->quiet)
		log_notice("%s %d is retired: from policy.timeout on a sweep ends it",
			   role_name(s->role), s->id.pid);
	return EXIT_CLEAN;
}

/* Whose worker is it? A marker of ours would not be believed for another user's. */
static const char *refusal(const struct look *l, const struct explanation *e)
{
	if (!e->subject || !role_is_judged(e->role))
		return "it cannot be proven to be a worker";
	if (e->role == ROLE_SINGLE && !e->subject->facts.may_kill)
		return "its class does not say may_kill = yes";
	if (l->self.euid != 0 && l->self.euid != e->subject->uid)
		return "it is another user's";
	if (e->subject->facts.unreadable || e->subject->facts.vanished)
		return "it cannot be read well enough to prove what it is";
	if (e->subject->facts.changed || e->subject->facts.foreign_uid ||
	    e->subject->facts.is_ancestor || e->subject->facts.is_self)
		return "it is not what it was";
	return NULL;
}

int command_retire(const struct options *o, const struct config *c)
{
	_cleanup_(audit_done) struct audit a = { 0 };
	_cleanup_(look_close) struct look l = { 0 };
	struct explanation e = { 0 };
	int status = look_and_explain(o, c, &l, &a, &e);
	const char *why;

	if (status)
		return status;
	why = refusal(&l, &e);
	if (why) {
		log_error("process %d is not retired: %s", o->pid, why);
		return EXIT_BLIND;
	}
	status = print_explanation(o, &e);
	if (status || o->dry_run)
		return status;
	return write_retired(o, c, &l, e.subject);
}

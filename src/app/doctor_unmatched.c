/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_check.h"
#include "base/fs.h"
#include "base/pin.h"
#include "observe/evidence.h"
#include "observe/processes.h"
#include "observe/sockets.h"

enum {
	LOOKED_AT_MAX = 256, /* candidates of one examination */
	SHOWN_MAX = 8,
	ARGS_MAX = CLASS_WORD_MAX * 2,
};

#define JAVA "java" /* what the shipped classes call a host */

/* What is kept from one candidate to the next. */
struct search {
	const struct doctor_input *in;
	struct checks *ret;
	struct sockets *sockets;
	struct socket_table own; /* of our network namespace */
	unsigned looked_at;
	unsigned shown;
};

static bool is_jvm(const struct doctor_input *in, const struct proc *p)
{
	const struct classes *classes = &in->config->classes;

	for (size_t i = 0; i < in->audit->host_count; i++)
		if (ident_equal(in->audit->hosts[i].id, p->id))
			return true;
	for (size_t i = 0; i < classes->count; i++)
		if (class_matches_host(&classes->class[i], p -> comm))
			return true;
	return !strcmp(p->comm, JAVA);
}

static bool is_daemon(const struct audit *a, struct ident id)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		if (ident_equal(a->daemons[i].id, id))
			return true;
	return false;
}

static size_t count_forked(const struct snapshot *s, pid_t parent)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->procs[i].ppid == parent && proc_never_execed(&s->procs[i]);
	return n;
}

/* Tells whether a class takes such an argv for a daemon's and then leaves it alone (exclude_args). */
static bool is_left_out(const struct classes *classes, const struct proc *p)
{
	for (size_t i = 0; i < classes->count; i++) {
		struct worker_class class = classes->class[i];

		class.exclude_args.count = 0;
		if (class_matches_argv(&class, p))
			return true;
	}
	return false;
}

static bool is_loopback(const struct in6_addr *addr)
{
	static const struct in6_addr one = IN6ADDR_LOOPBACK_INIT;

	if (IN6_IS_ADDR_V4MAPPED(addr))
		return addr->s6_addr[12] == 127;
	return !memcmp(addr, &one, sizeof(one));
}

/* Finds where a process listens: on a loopback port or a unix path. */
static bool find_listener(const struct socket_table *t, const struct evidence *ev, char *ret,
			  size_t size)
{
	for (size_t i = 0; i < ev->socket_count; i++) {
		const struct inet_row *inet = socket_table_inet(t, ev->sockets[i].ino);
		const struct unix_row *row = socket_table_unix(t, ev->sockets[i].ino);

		if (inet && inet->state == TCP_STATE_LISTEN && is_loopback(&inet->local.addr)) {
			(void)snprintf(ret, size, "loopback port %u", inet->local.port);
			return true;
		}
		if (row && row->listening && row->path[0]) {
			(void)snprintf(ret, size, "%s", row->path);
			return true;
		}
	}
	return false;
}

static int listens(struct search *s, const struct proc *p, char *ret, size_t size, bool *ret_does)
{
	_cleanup_(evidence_done) struct evidence ev = { 0 };
	_cleanup_(socket_table_done) struct socket_table theirs = { 0 };
	_cleanup_close_ int dirfd = -1;
	int r;

	*ret_does = false;
	dirfd = pin_open(p->id.pid);
	if (dirfd < 0)
		return 0;
	r = evidence_look(dirfd, p->id.pid, EVIDENCE_SOCKETS, NULL, &ev);
	if (r || ev.vanished || !ident_equal(ev.id, p->id))
		return r;
	if (s->own.inet_known && ev.net_ns == s->in->self->net_ns) {
		*ret_does = find_listener(&s->own, &ev, ret, size);
		return 0;
	}
	r = sockets_read_proc(dirfd, &theirs);
	if (!r)
		*ret_does = find_listener(&theirs, &ev, ret, size);
	return r;
}

/* The elements that a [class] would name: -m MODULE, or else the script. */
static bool daemon_args(const struct proc *p, char ret[ARGS_MAX])
{
	const char *at = proc_argv_next(p, NULL);

	for (at = at ? proc_argv_next(p, at) : NULL; at; at = proc_argv_next(p, at)) {
		const char *next = proc_argv_next(p, at);
		bool module = !strcmp(at, "-m") && next;

		if (!module && at[0] == '-')
			continue;
		/* What a class cannot hold is not proposed. */
		if (strlen(module ? next : at) >= CLASS_WORD_MAX ||
		    strpbrk(module ? next : at, " \t|;\n"))
			return false;
		(void)snprintf(ret, ARGS_MAX, "%s%s", module ? "-m " : "", module ? next : at);
		return true;
	}
	return false;
}

static void show(struct search *s, const struct proc *p, const struct proc *parent, size_t forked,
		 const char *where)
{
	char args[ARGS_MAX];
	struct check *c;

	c = doctor_add(
		s->ret, "unmatched", CHECK_ADVICE,
		"process %d (%s), child of %d (%s), listens on %s and has %zu forked children, "
		"but is of no class",
		(int)p->id.pid, p->comm, (int)parent->id.pid, parent->comm, where, forked);
	s->shown++;
	if (!daemon_args(p, args)) {
		doctor_fix(c, "if its children are workers, describe it in a [class NAME] section");
		return;
	}
	doctor_fix(c, "if its children are workers, add to reaper.conf, with a name for it:");
	doctor_fix_line(c, "[class NAME]");
	doctor_fix_line(c, "daemon_args = %s", args);
	doctor_fix_line(c, "host_comm = %s", parent->comm);
}

/* Looks at one process. Returns 0; -ENOMEM. */
static int consider(struct search *s, const struct proc *p)
{
	const struct audit *a = s->in->audit;
	const struct proc *parent = snapshot_find(&a->snapshot, p->ppid);
	struct proc copy = *p;
	size_t forked;
	char where[SOCKET_PATH_MAX + 32];
	bool does = false;
	int r;

	if (!parent || !is_jvm(s->in, parent) || is_jvm(s->in, p) || is_daemon(a, p->id))
		return 0;
	forked = count_forked(&a->snapshot, p->id.pid);
	if (!forked || s->shown == SHOWN_MAX || s->looked_at++ >= LOOKED_AT_MAX)
		return 0;
	r = listens(s, p, where, sizeof(where), &does);
	if (r || !does)
		return r;
	copy.argv = NULL;
	copy.argv_len = 0;
	r = processes_read_argv(&copy);
	if (!r && !is_left_out(&s->in->config->classes, &copy))
		show(s, &copy, parent, forked, where);
	free(copy.argv);
	return r == -ENOMEM ? r : 0;
}

int doctor_unmatched(const struct doctor_input *in, struct checks *ret)
{
	struct search s = { .in = in, .ret = ret };
	int r;

	r = sockets_open(&s.sockets);
	if (!r)
		r = sockets_dump(s.sockets, &s.own);
	if (r && r != -ENOMEM) /* the check of sock_diag has said so */
		r = 0;
	for (size_t i = 0; !r && i < in->audit->snapshot.count; i++)
		r = consider(&s, &in->audit->snapshot.procs[i]);
	socket_table_done(&s.own);
	sockets_close(s.sockets);
	if (!r && !s.shown)
		doctor_add(ret, "unmatched", CHECK_OK,
			   "no child of a JVM looks like a daemon that no class describes");
	return r == -ENOMEM ? r : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "app/doctor_check.h"

/* Inode of the first pid namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO). */
#define FIRST_PID_NS UINT64_C(0xEFFFFFFC)

#define SHARE_PID_NS                                                                       \
	"share the JVM's pid namespace (Kubernetes: shareProcessNamespace: true; Docker: " \
	"--pid=container:NAME)"

enum {
	NAMES_MAX = 96
};

/* The capabilities that another user's tree needs and that are not there, with blanks between. */
static const char *missing_caps(const struct caps *caps, char ret[NAMES_MAX])
{
	const struct {
		bool there;
		const char *name;
	} needed[] = {
		{ caps->kill, "CAP_KILL" },
		{ caps->ptrace, "CAP_SYS_PTRACE" },
		{ caps->dac_read_search, "CAP_DAC_READ_SEARCH" },
	};
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!needed[i].there)
			len += (size_t)snprintf(ret + len, NAMES_MAX - len, "%s%s", len ? " " : "",
						needed[i].name);
	return ret;
}

static void check_privileges(const struct doctor_input *in, struct checks *ret)
{
	char missing[NAMES_MAX];
	struct check *c;
	size_t own = 0, foreign = 0;

	for (size_t i = 0; i < in->audit->host_count; i++) {
		if (in->audit->hosts[i].uid == in->self->euid)
			own++;
		else
			foreign++;
	}
	foreign = MAX(foreign, (size_t)in->audit->hidden_trees);
	(void)missing_caps(in->caps, missing);
	if (!missing[0]) {
		doctor_add(ret, "privileges", CHECK_OK,
			   "CAP_KILL, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are there: every "
			   "user's tree can be read and swept");
		return;
	}
	if (!foreign) {
		doctor_add(ret, "privileges", CHECK_OK,
			   "no other user's tree shows; your own (%zu) need no capability", own);
		return;
	}
	c = doctor_add(ret, "privileges", CHECK_ADVICE,
		       "trees of other users: %zu; to read and sweep them, missing: %s", foreign,
		       missing);
	doctor_fix(c, "run as root, or in a unit with AmbientCapabilities=CAP_KILL CAP_SYS_PTRACE "
		      "CAP_DAC_READ_SEARCH; or run a reaper as each of those users");
}

static void check_pid_namespace(const struct doctor_input *in, struct checks *ret)
{
	bool first = in->self->pid_ns == FIRST_PID_NS;
	struct check *c;

	if (in->audit->host_count || in->audit->hidden_trees) {
		doctor_add(ret, "pid-namespace", CHECK_OK, "%s, and hosts show in it",
			   first ? "reaper is in the first pid namespace"
				 : "reaper is in a pid namespace below the first");
		return;
	}
	c = doctor_add(ret, "pid-namespace", CHECK_ADVICE,
		       "no JVM with a Python daemon shows in %s pid namespace",
		       first ? "the first" : "this");
	if (first)
		doctor_fix(c, "if one runs: name it with --host PID, or describe its daemon in a "
			      "[class NAME] section");
	else
		doctor_fix(c, "if one runs outside: " SHARE_PID_NS);
}

/* Tells whether this daemon is the first in its network namespace. */
static bool is_first_of_net_ns(const struct audit *a, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (a->daemons[j].ev.net_ns == a->daemons[i].ev.net_ns)
			return false;
	return true;
}

static void check_net_namespace(const struct doctor_input *in, struct checks *ret)
{
	const struct audit *a = in->audit;
	size_t away = 0, spaces = 0;
	struct check *c;

	for (size_t i = 0; i < a->daemon_count; i++) {
		uint64_t net_ns = a->daemons[i].ev.net_ns;

		if (!net_ns || net_ns == in->self->net_ns)
			continue;
		away++;
		spaces += is_first_of_net_ns(a, i);
	}
	if (!away) {
		doctor_add(ret, "net-namespace", CHECK_OK,
			   "no daemon lives in another network namespace");
		return;
	}
	c = doctor_add(ret, "net-namespace", CHECK_ADVICE,
		       "%zu daemons live in %zu other network namespaces: TCP is read by "
		       "/proc/PID/net there, without exact ages; unix task sockets stay unknown",
		       away, spaces);
	doctor_fix(c, "where daemons use unix sockets, run a reaper in that namespace (a sidecar)");
}

void doctor_reach(const struct doctor_input *in, struct checks *ret)
{
	check_privileges(in, ret);
	check_pid_namespace(in, ret);
	check_net_namespace(in, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "app/doctor_check.h"
#include "base/fs.h"
#include "base/parse.h"
#include "base/pin.h"
#include "observe/sockets.h"

enum {
	MOUNTINFO_MAX = 256 * 1024,
	YAMA_SEE_CHILDREN_ONLY = 1, /* Documentation/admin-guide/LSM/Yama.rst */
	YAMA_SEE_NOBODY = 3,
};

static void check_pidfd(const struct doctor_input *in, struct checks *ret)
{
	_cleanup_close_ int dirfd = -1, pidfd = -1;
	struct utsname name = { 0 };
	struct check *c;

	(void)uname(&name);
	dirfd = pin_open(in->self->pid);
	pidfd = dirfd < 0 ? dirfd : pin_pidfd(dirfd, in->self->pid);
	if (pidfd >= 0) {
		doctor_add(ret, "kernel", CHECK_OK, "%s %s, pidfds work", name.sysname,
			   name.release);
		return;
	}
	c = doctor_add(ret, "kernel", CHECK_BAD, "%s %s gives no pidfd (%s): nothing can be ended",
		       name.sysname, name.release, strerror(-pidfd));
	doctor_fix(c, "use Linux 5.3 or later; in a container, let its seccomp profile allow "
		      "pidfd_open and pidfd_send_signal");
}

/* What /proc/<pid> tells of a thread, tried on ourselves. */
static void check_proc_files(struct checks *ret)
{
	char text[4096];
	struct check *c;

	if (fs_read_at(AT_FDCWD, "/proc/self/sched", text, sizeof(text)) > 0 &&
	    strstr(text, "se.exec_start")) {
		doctor_add(ret, "sched", CHECK_OK,
			   "/proc/PID/sched says to the millisecond when a thread last ran");
	} else {
		c = doctor_add(ret, "sched", CHECK_ADVICE,
			       "no se.exec_start in /proc/PID/sched: how long a worker has been "
			       "blocked counts from the first look on");
		doctor_fix(c, "run `reaper watch`, or sweep more often than `timeout`; a kernel "
			      "with CONFIG_SCHED_DEBUG has it");
	}
	if (fs_read_at(AT_FDCWD, "/proc/self/syscall", text, sizeof(text)) > 0) {
		doctor_add(ret, "syscall", CHECK_OK,
			   "/proc/PID/syscall names what a thread waits in");
	} else {
		c = doctor_add(ret, "syscall", CHECK_ADVICE,
			       "no /proc/PID/syscall: waits are known by wchan alone, and "
			       "`signed-off` cannot be proven");
		doctor_fix(c, "use a kernel with CONFIG_HAVE_ARCH_TRACEHOOK");
	}
}

static void check_sock_diag(struct checks *ret)
{
	struct socket_table table = { 0 };
	struct sockets *sockets = NULL;
	struct check *c;
	int r;

	r = sockets_open(&sockets);
	if (!r)
		r = sockets_dump(sockets, &table);
	if (!r && table.inet_known && table.unix_known) {
		doctor_add(ret, "sock-diag", CHECK_OK,
			   "sock_diag lists %zu TCP and %zu unix sockets with their ends",
			   table.inet_count, table.unix_count);
	} else {
		c = doctor_add(ret, "sock-diag", CHECK_ADVICE,
			       "sock_diag answers %s for TCP, %s for unix sockets: ages are not "
			       "exact, and who holds a unix socket's other end is unknown",
			       table.inet_known ? "rightly" : "not at all",
			       table.unix_known ? "rightly" : "not at all");
		doctor_fix(c, "load the kernel modules tcp_diag and unix_diag; let the unit have "
			      "its socket unit (reaper.socket), or AF_NETLINK in "
			      "RestrictAddressFamilies= and no PrivateNetwork=");
	}
	socket_table_done(&table);
	sockets_close(sockets);
}

/* Finds option NAME= or NAME in a list separated by commas; its value, or "" for a bare one. */
static bool find_option(const char *options, const char *name, char *ret_value, size_t size)
{
	size_t len = strlen(name);

	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, len) || (at[len] && !strchr("=,", at[len])))
			continue;
		at += len + (at[len] == '=');
		(void)snprintf(ret_value, size, "%.*s", (int)strcspn(at, ","), at);
		return true;
	}
	return false;
}

/* One line: id parent dev root point options [tags] - type source super-options. */
static bool parse_mount(char *line, struct doctor_proc_mount *ret)
{
	char *tail = strstr(line, " - proc "), *field = line, *options = NULL, *point = NULL;
	char value[24] = "";

	if (!tail)
		return false;
	*tail = '\0';
	for (int i = 0; field && i < 6; i++) {
		char *next = strchr(field, ' ');

		if (next)
			*next++ = '\0';
		if (i == 4)
			point = field;
		if (i == 5)
			options = field;
		field = next;
	}
	if (!point || !options || strcmp(point, "/proc"))
		return false;
	tail = strchr(tail + strlen(" - proc "), ' '); /* behind the source */
	*ret = (struct doctor_proc_mount){ .found = true };
	if (tail && find_option(tail + 1, "hidepid", value, sizeof(value))) {
		ret->hides = strcmp(value, "0") && strcmp(value, "off");
		memcpy(ret->hidepid, value, sizeof(value));
	}
	ret->subset = tail && find_option(tail + 1, "subset", value, sizeof(value));
	return true;
}

struct doctor_proc_mount doctor_parse_mountinfo(const char *text)
{
	struct doctor_proc_mount found = { 0 };
	char line[1024];

	while (*text) {
		size_t len = strcspn(text, "\n");

		/* A line that is longer is no plain mount of /proc. */
		if (len < sizeof(line)) {
			memcpy(line, text, len);
			line[len] = '\0';
			(void)parse_mount(line, &found);
		}
		text += len + (text[len] == '\n');
	}
	return found;
}

static void check_hidepid(const struct doctor_input *in, struct checks *ret)
{
	_cleanup_free_ char *text = malloc(MOUNTINFO_MAX);
	struct doctor_proc_mount mount;
	struct check *c;

	if (!text || fs_read_at(AT_FDCWD, "/proc/self/mountinfo", text, MOUNTINFO_MAX) <= 0)
		return;
	mount = doctor_parse_mountinfo(text);
	if (mount.subset) {
		c = doctor_add(
			ret, "proc-subset", CHECK_BAD,
			"/proc is mounted with subset=pid: /proc/uptime and /proc/sys are missing");
		doctor_fix(c, "mount /proc without it; in a unit, leave ProcSubset= out");
	}
	if (!mount.hides) {
		doctor_add(ret, "hidepid", CHECK_OK, "/proc shows every user's processes");
	} else if (in->caps->ptrace) {
		doctor_add(ret, "hidepid", CHECK_OK,
			   "/proc is mounted with hidepid=%s; CAP_SYS_PTRACE sees through it",
			   mount.hidepid);
	} else {
		c = doctor_add(ret, "hidepid", CHECK_ADVICE,
			       "/proc is mounted with hidepid=%s: other users' trees do not show",
			       mount.hidepid);
		doctor_fix(c,
			   "give reaper CAP_SYS_PTRACE or, unless it is ptraceable (4), the group "
			   "of the mount's gid=");
	}
}

static void check_yama(const struct doctor_input *in, struct checks *ret)
{
	char text[16];
	uint64_t scope;
	struct check *c;

	if (fs_read_at(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (parse_u64(text, YAMA_SEE_NOBODY, &scope) || scope < YAMA_SEE_CHILDREN_ONLY)
		return;
	if (scope < YAMA_SEE_NOBODY && in->caps->ptrace) {
		doctor_add(ret, "yama", CHECK_OK, "ptrace_scope is %s; CAP_SYS_PTRACE passes it",
			   text);
		return;
	}
	c = doctor_add(
		ret, "yama", CHECK_ADVICE,
		"ptrace_scope is %s: /proc/PID/syscall cannot be read, so waits are known by "
		"wchan alone and `signed-off` cannot be proven",
		text);
	if (scope < YAMA_SEE_NOBODY)
		doctor_fix(c, "give reaper CAP_SYS_PTRACE");
	else
		doctor_fix(c, "boot with another value: 3 cannot be changed while the system runs");
}

void doctor_kernel(const struct doctor_input *in, struct checks *ret)
{
	check_pidfd(in, ret);
	check_proc_files(ret);
	check_sock_diag(ret);
	check_hidepid(in, ret);
	check_yama(in, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "observe/evidence_fds.h"
#include "observe/evidence_threads.h"
#include "observe/mm_file.h"
#include "observe/proc_parse.h"

enum {
	EVIDENCE_STATUS_MAX = 32768, /* 1,500 bytes, and 11 for each supplementary group */
	EVIDENCE_CGROUP_FILE_MAX = 8192,
	EVIDENCE_ROLLUP_MAX = 4096,
	EVIDENCE_LINK_MAX = 64,
};

static void look_status(int dirfd, struct evidence *e, bool *ret_is_process)
{
	char bytes[EVIDENCE_STATUS_MAX];
	ssize_t len = fs_read_at(dirfd, "status", bytes, sizeof(bytes));
	struct proc_status status;

	*ret_is_process = true;
	if (len < 0 || proc_parse_status(bytes, (size_t)len, &status) < 0)
		return;
	if (status.tgid != e->id.pid) {
		*ret_is_process = false;
		return;
	}
	e->ids_known = true;
	memcpy(e->uids, status.uids, sizeof(e->uids));
	e->tracer = status.tracer;
	e->dumping = status.dumping;
	e->ns_pid = status.ns_pid;
	e->ns_depth = status.ns_depth;
	e->signals_known = true;
	e->sig_blocked = status.sig_blocked;
	e->sig_ignored = status.sig_ignored;
	e->sig_caught = status.sig_caught;
	e->main_switches = status.switches;
	e->vm_bytes = status.vm_bytes;
	e->rss_bytes = status.rss_bytes;
	e->anon_bytes = status.anon_bytes;
}

static uint64_t look_ns(int dirfd, const char *name)
{
	char link[EVIDENCE_LINK_MAX];
	ssize_t len = readlinkat(dirfd, name, link, sizeof(link));
	uint64_t ino;

	if (len < 0 || proc_parse_ns_link(link, (size_t)len, &ino) < 0)
		return 0;
	return ino;
}

/* What the kernel knows already is enough: a file system that does not answer must not hold us up. */
static void look_exe(int dirfd, struct evidence *e)
{
	struct statx st;

	if (statx(dirfd, "exe", AT_STATX_DONT_SYNC, STATX_MODE | STATX_INO, &st) < 0)
		return;
	e->exe.dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	e->exe.ino = st.stx_ino;
	e->exe_setuid = st.stx_mode & S_ISUID;
}

static int look_cgroup(int dirfd, struct evidence *e)
{
	char bytes[EVIDENCE_CGROUP_FILE_MAX];
	ssize_t len = fs_read_at(dirfd, "cgroup", bytes, sizeof(bytes));
	const char *path;
	size_t path_len;

	if (len < 0 || proc_parse_cgroup(bytes, (size_t)len, &path, &path_len) < 0 ||
	    path_len > EVIDENCE_CGROUP_MAX)
		return 0;
	e->cgroup = strndup(path, path_len);
	return e->cgroup ? 0 : -ENOMEM;
}

static uint64_t look_pss(struct ident id)
{
	struct mm_file f = { .id = id, .name = "smaps_rollup", .max = EVIDENCE_ROLLUP_MAX };
	uint64_t pss = UNKNOWN_U64;

	mm_files_read(&f, 1);
	if (f.err || proc_parse_pss(f.bytes, f.len, &pss) < 0)
		pss = UNKNOWN_U64;
	free(f.bytes);
	return pss;
}

/* What may have changed while we looked is told as it was last. */
static void take_stat(struct evidence *e, const struct proc_stat *stat)
{
	e->id.start = stat->start;
	e->ppid = stat->ppid;
	e->pgrp = stat->pgrp;
	e->flags = stat->flags;
	e->threads = stat->threads;
	e->state = stat->state;
}

static uint64_t age_ms(uint64_t start, uint64_t now_ms)
{
	uint64_t began_ms = clock_ticks_to_ms(start);

	return now_ms > began_ms ? now_ms - began_ms : 0;
}

/* Reads the stat file once more: the same process, and nothing new since the threads were listed? */
static void look_again(int dirfd, unsigned want, unsigned listed, struct evidence *e)
{
	struct proc_stat last;
	int r = evidence_read_stat(dirfd, "stat", &last);

	if (r == -ENOENT || r == -ESRCH || (r == 0 && last.start != e->id.start)) {
		e->vanished = true;
		return;
	}
	if (r < 0) {
		e->asleep = TRI_UNKNOWN;
		return;
	}
	take_stat(e, &last);
	e->stopped |= last.state == 'T' || last.state == 't';
	e->uninterruptible |= last.state == 'D';
	if (!(want & EVIDENCE_WAITS) || e->asleep != TRI_YES)
		return;
	if (last.state != 'S' && last.state != 'I')
		e->asleep = TRI_NO;
	else if (last.threads != listed)
		e->asleep = TRI_UNKNOWN;
}

static void evidence_init(pid_t pid, struct evidence *e)
{
	*e = (struct evidence){
		.id.pid = pid,
		.seen = true,
		.taken_ms = clock_boot_ms(),
		.age_ms = UNKNOWN_U64,
		.blocked_ms = UNKNOWN_U64,
		.others_blocked_ms = UNKNOWN_U64,
		.main_cpu_ns = UNKNOWN_U64,
		.main_switches = UNKNOWN_U64,
		.cpu_ns = UNKNOWN_U64,
		.vm_bytes = UNKNOWN_U64,
		.rss_bytes = UNKNOWN_U64,
		.anon_bytes = UNKNOWN_U64,
		.pss_bytes = UNKNOWN_U64,
	};
}

int evidence_look(int dirfd, pid_t pid, unsigned want, struct cpu_clock *clock,
		  struct evidence *ret)
{
	struct proc_stat first;
	unsigned listed = 0;
	bool is_process;
	int r;

	evidence_init(pid, ret);
	r = evidence_read_stat(dirfd, "stat", &first);
	if (r < 0 || first.pid != pid) {
		ret->vanished = r == 0 || r == -ENOENT || r == -ESRCH;
		return 0;
	}
	take_stat(ret, &first);
	ret->age_ms = age_ms(first.start, ret->taken_ms);
	look_status(dirfd, ret, &is_process);
	if (!is_process) {
		ret->vanished = true;
		return 0;
	}
	look_exe(dirfd, ret);
	ret->pid_ns = look_ns(dirfd, "ns/pid");
	ret->net_ns = look_ns(dirfd, "ns/net");
	if (want & EVIDENCE_SOCKETS)
		r = evidence_look_fds(dirfd, ret);
	if (r == 0 && want & EVIDENCE_CGROUP)
		r = look_cgroup(dirfd, ret);
	if (r < 0)
		return r;
	if (want & EVIDENCE_PSS)
		ret->pss_bytes = look_pss(ret->id);
	if (want & EVIDENCE_WAITS)
		evidence_look_threads(dirfd, clock, ret, &listed);
	ret->cpu_ns = cpu_clock_process_ns(pid);
	look_again(dirfd, want, listed, ret);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/processes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libproc2/pids.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "observe/cmdline_parse.h"
#include "observe/mm_file.h"
#include "observe/proc_parse.h"

enum {
	PROCESSES_STAT_MAX = 2048, /* 52 numbers and a name of 64 bytes */
};

struct processes {
	uint64_t page_bytes;
};

/* All but the first and the last come from /proc/<pid>/stat; the last from the directory's owner. */
enum {
	ITEM_PID,
	ITEM_PPID,
	ITEM_PGRP,
	ITEM_SID,
	ITEM_STATE,
	ITEM_FLAGS,
	ITEM_BEGAN,
	ITEM_THREADS,
	ITEM_COMM,
	ITEM_RSS,
	ITEM_STACK,
	ITEM_EUID,
	ITEM_COUNT,
};

static const enum pids_item items[] = {
	[ITEM_PID] = PIDS_ID_PID,
	[ITEM_PPID] = PIDS_ID_PPID,
	[ITEM_PGRP] = PIDS_ID_PGRP,
	[ITEM_SID] = PIDS_ID_SESSION,
	[ITEM_STATE] = PIDS_STATE,
	[ITEM_FLAGS] = PIDS_FLAGS,
	[ITEM_BEGAN] = PIDS_TICS_BEGAN,
	[ITEM_THREADS] = PIDS_NLWP,
	[ITEM_COMM] = PIDS_CMD,
	[ITEM_RSS] = PIDS_RSS,
	[ITEM_STACK] = PIDS_ADDR_STACK_START,
	[ITEM_EUID] = PIDS_ID_EUID,
};
static_assert(ARRAY_SIZE(items) == ITEM_COUNT, "every item is asked for");

/* Where this fails, libproc2 would end the whole program by _exit(47). */
static int processes_probe(void)
{
	char bytes[PROCESSES_STAT_MAX];
	ssize_t len = fs_read_at(AT_FDCWD, "/proc/self/stat", bytes, sizeof(bytes));

	if (len == -ENOTDIR || len == 0)
		return -ENOENT;
	return len < 0 ? (int)len : 0;
}

int processes_open(struct processes **ret_source)
{
	struct processes *source;
	int r = processes_probe();

	if (r < 0)
		return r;
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	source->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_source = source;
	return 0;
}

/*
 * libproc2 puts '.' and '?' in the place of bytes that it takes for no text, by the locale: a name
 * with one of these may be another, so it is read as it is.
 */
static void processes_raw_comm(struct proc *p)
{
	char path[sizeof("/proc//comm") + 11], bytes[PROC_COMM_MAX + 1];
	ssize_t len;

	if (!strpbrk(p->comm, ".?"))
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", p->id.pid);
	len = fs_read_at(AT_FDCWD, path, bytes, sizeof(bytes));
	if (len < 1 || bytes[len - 1] != '\n')
		return;
	memset(p->comm, 0, sizeof(p->comm));
	memcpy(p->comm, bytes, (size_t)len - 1);
}

static void processes_fill(const struct processes *source, const struct pids_result *from,
			   struct proc *p)
{
	p->id.pid = from[ITEM_PID].result.s_int;
	p->id.start = from[ITEM_BEGAN].result.ull_int;
	p->ppid = from[ITEM_PPID].result.s_int;
	p->pgrp = from[ITEM_PGRP].result.s_int;
	p->sid = from[ITEM_SID].result.s_int;
	p->uid = from[ITEM_EUID].result.u_int;
	p->flags = (uint32_t)from[ITEM_FLAGS].result.ul_int;
	p->threads = (uint32_t)from[ITEM_THREADS].result.s_int;
	p->state = (char)from[ITEM_STATE].result.s_ch;
	p->rss_bytes = from[ITEM_RSS].result.ul_int * source->page_bytes;
	p->stack_start = from[ITEM_STACK].result.ul_int;
	if (from[ITEM_COMM].result.str)
		strncpy(p->comm, from[ITEM_COMM].result.str, sizeof(p->comm) - 1);
	processes_raw_comm(p);
}

/*
 * The library's handle lives for one census only: it never shrinks what it holds, and its one-shot
 * calls cannot be begun anew on an old handle.
 */
int processes_census(struct processes *source, struct snapshot *ret_snapshot)
{
	enum pids_item asked[ITEM_COUNT];
	struct snapshot snapshot = { 0 };
	struct pids_info *info = NULL;
	struct pids_fetch *fetch;
	int r = processes_probe();

	if (r < 0)
		return -EIO;
	memcpy(asked, items, sizeof(asked));
	r = procps_pids_new(&info, asked, ITEM_COUNT);
	if (r < 0)
		return r == -ENOMEM ? r : -EIO;
	errno = 0;
	fetch = procps_pids_reap(info, PIDS_FETCH_TASKS_ONLY);
	if (!fetch)
		r = errno == ENOMEM ? -ENOMEM : -EIO;
	for (int i = 0; fetch && i < fetch->counts->total; i++) {
		struct proc *p = snapshot_add(&snapshot);

		if (!p) {
			r = -ENOMEM;
			break;
		}
		processes_fill(source, fetch->stacks[i]->head, p);
	}
	(void)procps_pids_unref(&info);
	if (r < 0) {
		snapshot_done(&snapshot);
		return r;
	}
	snapshot_sort(&snapshot);
	*ret_snapshot = snapshot;
	return 0;
}

static void set_argv(struct proc *p, struct mm_file *f)
{
	bool cut = !f->whole && f->len == f->max;

	free(p->argv);
	p->argv_len = cmdline_parse(f->bytes, f->len, cut);
	p->argv = TAKE_PTR(f->bytes);
	p->argv_cut = cut;
}

int processes_read_argvs(struct proc *const *procs, size_t count, int *errs)
{
	_cleanup_free_ struct mm_file *files = calloc(count + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		files[i].id = procs[i]->id;
		files[i].owner = procs[i]->uid;
		files[i].name = "cmdline";
		files[i].max = PROC_ARGV_MAX;
	}
	mm_files_read(files, count);
	for (size_t i = 0; i < count; i++) {
		errs[i] = files[i].err;
		if (!errs[i])
			set_argv(procs[i], &files[i]);
	}
	return 0;
}

int processes_read_argv(struct proc *p)
{
	int err = 0;
	int r = processes_read_argvs(&p, 1, &err);

	return r ? r : err;
}

int processes_read_whole_argv(struct proc *p)
{
	struct mm_file f = {
		.id = p->id,
		.name = "cmdline",
		.max = PROC_ARGV_WHOLE_MAX,
		.whole = true,
	};

	mm_files_read(&f, 1);
	if (!f.err)
		set_argv(p, &f);
	return f.err;
}

void processes_close(struct processes *source)
{
	free(source);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses a parser of /proc/<pid> files, the rest are its bytes. What a parser
 * accepts must keep its promises.
 */
#include <stdlib.h>
#include <string.h>

#include "observe/proc_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void try_stat(const char *bytes, size_t len)
{
	struct proc_stat stat;

	if (proc_parse_stat(bytes, len, &stat) == 0)
		must(stat.pid > 0 && stat.ppid >= 0 && stat.state && bytes[len - 1] == '\n');
}

static void try_status(const char *bytes, size_t len)
{
	struct proc_status status;

	if (proc_parse_status(bytes, len, &status) == 0)
		must(status.tgid >= 0 && status.tracer >= 0 && bytes[len - 1] == '\n');
}

static void try_waits(const char *bytes, size_t len)
{
	char wchan[EVIDENCE_WCHAN_MAX] = "";
	struct wait wait = { 0 };

	if (proc_parse_syscall(bytes, len, &wait) == 0)
		must(wait.nr >= -1 && !wait.wchan[0]);
	if (proc_parse_wchan(bytes, len, wchan) == 0)
		must(strlen(wchan) < EVIDENCE_WCHAN_MAX && !strchr(wchan, '.'));
}

static void try_clocks(const char *bytes, size_t len)
{
	uint64_t value;

	(void)!proc_parse_sched(bytes, len, &value);
	(void)!proc_parse_schedstat(bytes, len, &value);
	(void)!proc_parse_pss(bytes, len, &value);
}

static void try_links(const char *bytes, size_t len)
{
	uint64_t ino = 0, mnt_id = 0;

	if (proc_parse_fd_link(bytes, len, &ino) == 0)
		must(ino);
	if (proc_parse_ns_link(bytes, len, &ino) == 0)
		must(ino);
	(void)!proc_parse_fdinfo(bytes, len, &mnt_id, &ino);
}

static void try_cgroup(const char *bytes, size_t len)
{
	const char *path;
	size_t path_len;

	if (proc_parse_cgroup(bytes, len, &path, &path_len) == 0)
		must(path > bytes && path + path_len < bytes + len && path[0] == '/' &&
		     !memchr(path, '\n', path_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *, size_t) = {
		try_stat, try_status, try_waits, try_clocks, try_links, try_cgroup,
	};

	if (!size)
		return 0;
	parsers[data[0] % ARRAY_SIZE(parsers)]((const char *)data + 1, size - 1);
	return 0;
}

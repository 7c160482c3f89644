/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes many looks in one process while children come and go, as a resident watch does, and prints
 * what it holds after a tenth of them and at the end: `looks N`. The children are singles, so each is
 * held until it is killed, and its successor is a restart. Exit status 1 if memory or descriptors grew.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/look.h"
#include "app/watch_exits.h"
#include "app/watch_members.h"
#include "base/clock.h"
#include "base/parse.h"

enum {
	CHURN = 8, /* children born and ended around each look */
	LOOKS_MAX = 1000000,
	SLACK_KIB = 512, /* the allocator's own rounding */
};

#define CHILD "reaper-bench-child"

static const char *const sets[] = { "class bench.kind=single", "class bench.args=" CHILD };
static unsigned long ends, loops;

static void count_event(void *arg, struct event *e)
{
	(void)arg;
	ends += e->kind == EVENT_EXIT;
	loops += e->kind == EVENT_CRASH_LOOP;
}

static unsigned long rss_kib(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", &kib) == 1)
			break;
	if (f)
		(void)fclose(f);
	return kib;
}

/* Beside those by which others are held: whose processes come and go on this machine is not our affair. */
static unsigned open_fds(const struct watch_exits *exits)
{
	unsigned count = 0;
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d))
		count++;
	if (d)
		(void)closedir(d);
	return count - (unsigned)exits->pinned;
}

static void churn(pid_t children[CHURN])
{
	static char name[] = CHILD;
	char *const argv[] = { name, NULL };

	for (int i = 0; i < CHURN; i++) {
		if (children[i] > 0) {
			(void)kill(children[i], SIGALRM); /* counts as a crash, and dumps no core */
			(void)waitpid(children[i], NULL, 0);
		}
		if (posix_spawn(&children[i], "/proc/self/exe", NULL, NULL, argv, environ) != 0)
			children[i] = 0;
	}
}

static void end_all(const pid_t children[CHURN])
{
	for (int i = 0; i < CHURN; i++)
		if (children[i] > 0) {
			(void)kill(children[i], SIGKILL);
			(void)waitpid(children[i], NULL, 0);
		}
}

static int take_look(struct look *look, struct watch_exits *exits)
{
	struct audit a;
	int err = look_take(look, &a);

	if (err < 0)
		return err;
	err = watch_members_update(exits, &a, NULL);
	audit_done(&a);
	return err;
}

int main(int argc, char **argv)
{
	unsigned long early_kib = 0, late_kib;
	unsigned early_fds = 0, late_fds;
	pid_t children[CHURN] = { 0 };
	struct config *config;
	struct problem problem;
	struct look look;
	struct watch_exits exits = { .epoll = -1 };
	uint64_t looks = 1000;
	int err;

	if (strcmp(argv[0], CHILD) == 0)
		return pause();
	if (argc > 1 && parse_u64(argv[1], LOOKS_MAX, &looks) < 0)
		return 2;
	if (config_load(NULL, sets, ARRAY_SIZE(sets), &config, &problem) < 0) {
		(void)fprintf(stderr, "%s\n", problem.text);
		return 2;
	}
	err = look_open(config, NULL, 0, &look);
	if (err == 0)
		err = watch_exits_open(&look, count_event, NULL, false, &exits);
	for (uint64_t i = 0; err == 0 && i < looks; i++) {
		churn(children);
		err = take_look(&look, &exits);
		if (i == looks / 10) {
			early_kib = rss_kib();
			early_fds = open_fds(&exits);
		}
	}
	late_kib = rss_kib();
	late_fds = open_fds(&exits);
	end_all(children);
	if (err < 0)
		(void)fprintf(stderr, "looks: %s\n", strerror(-err));
	watch_exits_close(&exits);
	look_close(&look);
	config_free(config);
	(void)printf(
		"looks %llu: rss %lu KiB then %lu KiB, descriptors %u then %u; %lu ends, %lu loops\n",
		(unsigned long long)looks, early_kib, late_kib, early_fds, late_fds, ends, loops);
	return err < 0 || late_kib > early_kib + SLACK_KIB || late_fds != early_fds;
}

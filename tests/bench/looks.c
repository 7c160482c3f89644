/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes many looks in one process while children come and go, as a resident watch does, and prints
 * what it holds after a tenth of them and at the end: `looks N`. Exit status 1 if memory or
 * descriptors grew.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/look.h"
#include "base/clock.h"
#include "base/parse.h"

enum {
	CHURN = 8, /* children born and ended around each look */
	LOOKS_MAX = 1000000,
	SLACK_KIB = 512, /* the allocator's own rounding */
};

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

static unsigned open_fds(void)
{
	unsigned count = 0;
	DIR *d = opendir("/proc/self/fd");

	while (d && readdir(d))
		count++;
	if (d)
		(void)closedir(d);
	return count;
}

static void churn(pid_t children[CHURN])
{
	for (int i = 0; i < CHURN; i++) {
		if (children[i] > 0) {
			(void)kill(children[i], SIGKILL);
			(void)waitpid(children[i], NULL, 0);
		}
		children[i] = fork();
		if (children[i] == 0) {
			(void)pause();
			_exit(0);
		}
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

int main(int argc, char **argv)
{
	unsigned long early_kib = 0, late_kib;
	unsigned early_fds = 0, late_fds;
	pid_t children[CHURN] = { 0 };
	struct config *config;
	struct problem problem;
	struct look look;
	uint64_t looks = 1000;
	int err;

	if (argc > 1 && parse_u64(argv[1], LOOKS_MAX, &looks) < 0)
		return 2;
	if (config_load(NULL, NULL, 0, &config, &problem) < 0) {
		(void)fprintf(stderr, "%s\n", problem.text);
		return 2;
	}
	err = look_open(config, NULL, 0, &look);
	for (uint64_t i = 0; err == 0 && i < looks; i++) {
		struct audit a;

		churn(children);
		err = look_take(&look, &a);
		if (err == 0)
			audit_done(&a);
		if (i == looks / 10) {
			early_kib = rss_kib();
			early_fds = open_fds();
		}
	}
	end_all(children);
	late_kib = rss_kib();
	late_fds = open_fds();
	if (err < 0)
		(void)fprintf(stderr, "looks: %s\n", strerror(-err));
	look_close(&look);
	config_free(config);
	(void)printf("looks %llu: rss %lu KiB then %lu KiB, descriptors %u then %u\n",
		     (unsigned long long)looks, early_kib, late_kib, early_fds, late_fds);
	return err < 0 || late_kib > early_kib + SLACK_KIB || late_fds != early_fds;
}

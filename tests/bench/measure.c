/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs two commands in turns, `measure ROUNDS A... -- B...`, and prints one line per round: wall
 * microseconds and peak KiB of A, then of B. It is small itself, since a child's peak memory begins with
 * its parent's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

/* Prints one command's figures; its output is thrown away. */
static void run(char **command)
{
	long long start = now_us();
	struct rusage usage;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		(void)execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || !WIFEXITED(status) ||
	    WEXITSTATUS(status) > 1) {
		(void)fprintf(stderr, "measure: %s failed\n", command[0]);
		exit(1);
	}
	(void)printf("%lld %ld ", now_us() - start, usage.ru_maxrss);
}

int main(int argc, char **argv)
{
	int split = 2;

	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	if (split + 1 >= argc)
		return 2;
	argv[split] = NULL;
	for (long left = strtol(argv[1], NULL, 10); left > 0; left--) {
		run(argv + 2);
		run(argv + split + 1);
		(void)printf("\n");
		(void)fflush(stdout);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ending.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/macro.h"

static const char *const how_names[] = {
	[ENDING_UNKNOWN] = "unknown",
	[ENDING_CODE] = "code",
	[ENDING_SIGNAL] = "signal",
};
static_assert(ARRAY_SIZE(how_names) == ENDING_HOW_COUNT, "every way to end has a name");

/* The numbers differ from machine to machine, the names do not. */
static const char *const signal_names[] = {
	[SIGHUP] = "SIGHUP",       [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",
	[SIGILL] = "SIGILL",       [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
	[SIGBUS] = "SIGBUS",       [SIGFPE] = "SIGFPE",   [SIGKILL] = "SIGKILL",
	[SIGUSR1] = "SIGUSR1",     [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
	[SIGPIPE] = "SIGPIPE",     [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",
	[SIGXCPU] = "SIGXCPU",     [SIGXFSZ] = "SIGXFSZ", [SIGVTALRM] = "SIGVTALRM",
	[SIGPROF] = "SIGPROF",     [SIGIO] = "SIGIO",     [SIGSYS] = "SIGSYS",
#ifdef SIGSTKFLT
	[SIGSTKFLT] = "SIGSTKFLT",
#endif
#ifdef SIGPWR
	[SIGPWR] = "SIGPWR",
#endif
};

struct ending ending_of_status(int status)
{
	if (WIFSIGNALED(status))
		return (struct ending){
			.how = ENDING_SIGNAL,
			.number = WTERMSIG(status),
			.core = tri_of(WCOREDUMP(status)),
		};
	return (struct ending){ ENDING_CODE, WEXITSTATUS(status), TRI_NO };
}

const char *ending_how_name(enum ending_how how)
{
	return how_names[how];
}

const char *ending_signal_name(int signal)
{
	return signal > 0 && (size_t)signal < ARRAY_SIZE(signal_names) ? signal_names[signal]
								       : NULL;
}

static void count_signal(struct crash_signal *signals, size_t *count, int signal)
{
	size_t at = 0;

	while (at < *count && signals[at].signal != signal)
		at++;
	if (at == *count)
		signals[(*count)++] = (struct crash_signal){ .signal = signal };
	signals[at].count++;
}

static int compare_signals(const void *a, const void *b)
{
	const struct crash_signal *p = a, *q = b;

	if (p->count != q->count)
		return p->count > q->count ? -1 : 1;
	return p->signal < q->signal ? -1 : p->signal > q->signal;
}

size_t crashes_signals(const struct crashes *c, struct crash_signal ret[CRASHES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->crash[i].ending.how == ENDING_SIGNAL)
			count_signal(ret, &count, c->crash[i].ending.number);
	qsort(ret, count, sizeof(*ret), compare_signals);
	return count;
}

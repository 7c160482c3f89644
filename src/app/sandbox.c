/* SPDX-License-Identifier: Apache-2.0 */
#include "app/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

struct refused {
	int call;
	unsigned compares; /* of compare that count; 0: whatever its arguments */
	struct scmp_arg_cmp compare;
};

/* clang-format off */
#define ALWAYS(name)	{ .call = SCMP_SYS(name) }
#define WHEN(name, n, op, value) \
	{ .call = SCMP_SYS(name), .compares = 1, .compare = { n, SCMP_CMP_##op, value, 0 } }
/* Where the kernel looks at the lower half of the argument alone. */
#define WHEN_LOW(name, n, value) \
	{ .call = SCMP_SYS(name), .compares = 1, \
	  .compare = { n, SCMP_CMP_MASKED_EQ, UINT32_MAX, value } }
/* clang-format on */

/*
 * Calls that signal, that reach into another process, or that start a program. Everything else is
 * left as it is: what a C library or a sanitizer calls to do its work changes from release to release.
 */
static const struct refused refused[] = {
	ALWAYS(kill),
	ALWAYS(tkill),
	ALWAYS(tgkill),
	ALWAYS(rt_sigqueueinfo),
	ALWAYS(rt_tgsigqueueinfo),
	ALWAYS(process_vm_readv),
	ALWAYS(process_vm_writev),
	ALWAYS(process_madvise),
	ALWAYS(pidfd_getfd),
	ALWAYS(kcmp),
	ALWAYS(bpf),
	ALWAYS(perf_event_open),
	ALWAYS(open_by_handle_at),
	ALWAYS(execve),
	ALWAYS(execveat),
#ifndef __SANITIZE_ADDRESS__ /* at exit LeakSanitizer stops the program's threads by it */
	ALWAYS(ptrace),
#endif
	/* Signals by the way of a descriptor (fcntl(2), F_SETOWN) and of a limit (RLIMIT_CPU). */
	WHEN_LOW(fcntl, 1, F_SETOWN),
	WHEN_LOW(fcntl, 1, F_SETOWN_EX),
	WHEN_LOW(fcntl, 1, F_SETSIG),
	WHEN_LOW(ioctl, 1, FIOSETOWN),
	WHEN_LOW(ioctl, 1, SIOCSPGRP),
	WHEN_LOW(ioctl, 1, TIOCSTI),
	WHEN(prlimit64, 0, NE, 0),
};

/*
 * What is left of pidfd_send_signal(pidfd, signal, info, flags): SIGKILL and SIGTERM, without a
 * forged sender, to a process (flags 4 would be its group). A rule holds one comparison of one
 * argument, so the other signals are refused range by range.
 */
/* clang-format off */
static const struct refused refused_signals[] = {
	WHEN(pidfd_send_signal, 1, LT, SIGKILL),
	WHEN(pidfd_send_signal, 1, EQ, 10),
	WHEN(pidfd_send_signal, 1, EQ, 11),
	WHEN(pidfd_send_signal, 1, EQ, 12),
	WHEN(pidfd_send_signal, 1, EQ, 13),
	WHEN(pidfd_send_signal, 1, EQ, 14),
	WHEN(pidfd_send_signal, 1, GT, SIGTERM),
	WHEN(pidfd_send_signal, 2, NE, 0),
	WHEN(pidfd_send_signal, 3, NE, 0),
};
/* clang-format on */
static_assert(SIGKILL == 9 && SIGTERM == 15, "the numbers between them are those above");

static const struct refused refused_all_signals[] = {
	ALWAYS(pidfd_send_signal),
};

static int add_rules(scmp_filter_ctx filter, const struct refused *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), rules[i].call,
					       rules[i].compares, &rules[i].compare);

		if (r)
			return r;
	}
	return 0;
}

static int build(scmp_filter_ctx filter, bool may_signal)
{
	int r;

	/* Numbers of another architecture would pass for other calls. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!r)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!r)
		r = add_rules(filter, refused, ARRAY_SIZE(refused));
	if (!r && may_signal)
		r = add_rules(filter, refused_signals, ARRAY_SIZE(refused_signals));
	if (!r && !may_signal)
		r = add_rules(filter, refused_all_signals, ARRAY_SIZE(refused_all_signals));
	return r;
}

/* Its memory holds the names and arguments of other users' programs, and it may have the power to read more. */
static int forbid_dumps(void)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	return 0;
}

int sandbox_enter(bool may_signal)
{
	scmp_filter_ctx filter;
	int r = forbid_dumps();

	if (r)
		return r;
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return -ENOMEM;
	r = build(filter, may_signal);
	if (!r)
		r = seccomp_load(filter); /* sets no_new_privs */
	seccomp_release(filter);
	return r;
}

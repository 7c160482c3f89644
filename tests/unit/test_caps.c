/* SPDX-License-Identifier: Apache-2.0 */
#include "app/caps.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(cap)  (UINT64_C(1) << (cap))
#define KEPT      (BIT(CAP_KILL) | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_NICE))
#define KEPT_DARK (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH))

/* What the kernel itself says of us. */
struct sets {
	uint64_t inheritable, permitted, effective, bounding, ambient;
	unsigned no_new_privs;
};

static struct sets read_sets(void)
{
	struct sets s = { .no_new_privs = 99 };
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "CapInh: %lx", &s.inheritable);
		(void)sscanf(line, "CapPrm: %lx", &s.permitted);
		(void)sscanf(line, "CapEff: %lx", &s.effective);
		(void)sscanf(line, "CapBnd: %lx", &s.bounding);
		(void)sscanf(line, "CapAmb: %lx", &s.ambient);
		(void)sscanf(line, "NoNewPrivs: %u", &s.no_new_privs);
	}
	if (f)
		(void)fclose(f);
	return s;
}

struct outcome {
	int result;
	struct sets before, after;
	struct caps caps;
};

static void set_own(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ (uint32_t)permitted, (uint32_t)permitted, (uint32_t)inheritable },
		{ (uint32_t)(permitted >> 32), (uint32_t)(permitted >> 32),
		  (uint32_t)(inheritable >> 32) },
	};

	(void)syscall(SYS_capset, &header, data);
}

/* As SystemCallFilter= of the shipped unit does. */
static int refuse_capset(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_SIZE(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

enum {
	RESULT_NONE = 1, /* it did not get so far */
};

/* Drops in a child of its own, which has at most these capabilities. */
static struct outcome drop_in(uint64_t at_most, bool ambient, bool may_signal, bool refused)
{
	struct outcome o = { .result = RESULT_NONE };
	int pipes[2];
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		(void)alarm(20);
		if (at_most)
			set_own(read_sets().permitted & at_most, ambient ? at_most : 0);
		if (ambient)
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0);
		o.before = read_sets();
		if (refused && refuse_capset())
			_exit(1);
		o.result = caps_drop(may_signal);
		o.after = read_sets();
		(void)!caps_read(&o.caps);
		_exit(write(pipes[1], &o, sizeof(o)) != sizeof(o));
	}
	cr_assert_gt(pid, 0);
	cr_expect_eq(read(pipes[0], &o, sizeof(o)), (ssize_t)sizeof(o));
	cr_expect_eq(waitpid(pid, NULL, 0), pid);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	return o;
}

static struct outcome drop(uint64_t at_most, bool ambient, bool may_signal)
{
	return drop_in(at_most, ambient, may_signal, false);
}

struct row {
	const char *why;
	uint64_t at_most; /* 0: as they are */
	bool ambient;
	bool may_signal;
	uint64_t kept;
};

static const struct row rows[] = {
	{ "as it was started, to sweep", 0, false, true, KEPT },
	{ "as it was started, to look", 0, false, false, KEPT_DARK },
	{ "what is not there does not come", BIT(CAP_KILL) | BIT(CAP_CHOWN), false, true,
	  BIT(CAP_KILL) },
	{ "signals are of no use to audit", BIT(CAP_KILL) | BIT(CAP_SYS_NICE), false, false, 0 },
	{ "the shipped unit's", KEPT, true, true, KEPT },
	{ "without CAP_SETPCAP", KEPT | BIT(CAP_DAC_OVERRIDE), false, true, KEPT },
};

Test(caps, only_four_are_left)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct outcome o = drop(row->at_most, row->ambient, row->may_signal);
		uint64_t kept = o.before.permitted & row->kept;

		cr_expect_eq(o.result, 0, "%s: %d", row->why, o.result);
		cr_expect_eq(o.after.permitted, kept, "%s: permitted %lx", row->why,
			     o.after.permitted);
		cr_expect_eq(o.after.effective, kept, "%s: effective %lx", row->why,
			     o.after.effective);
		cr_expect_eq(o.after.inheritable, 0, "%s: inheritable", row->why);
		cr_expect_eq(o.after.ambient, 0, "%s: ambient", row->why);
		cr_expect_eq(o.after.no_new_privs, 1, "%s: no_new_privs", row->why);
		cr_expect_eq(o.after.bounding,
			     o.before.effective & BIT(CAP_SETPCAP) ? 0 : o.before.bounding,
			     "%s: bounding %lx", row->why, o.after.bounding);
		cr_expect_eq(o.caps.kill, !!(kept & BIT(CAP_KILL)), "%s: says kill", row->why);
		cr_expect_eq(o.caps.ptrace, !!(kept & BIT(CAP_SYS_PTRACE)), "%s: says ptrace",
			     row->why);
		cr_expect_eq(o.caps.dac_read_search, !!(kept & BIT(CAP_DAC_READ_SEARCH)),
			     "%s: says dac_read_search", row->why);
		cr_expect_eq(o.caps.nice, !!(kept & BIT(CAP_SYS_NICE)), "%s: says nice", row->why);
	}
}

static const struct row refused_rows[] = {
	{ "the shipped unit's", KEPT, false, true, KEPT },
	{ "a trial of it", KEPT_DARK, false, false, KEPT_DARK },
	{ "a trial that could signal", KEPT, false, false, KEPT_DARK },
	{ "more than is kept", KEPT | BIT(CAP_CHOWN), false, true, KEPT },
	{ "more in the inheritable set", KEPT, true, true, KEPT },
	{ "none, as an ordinary user", BIT(63), false, true, 0 },
};

Test(caps, where_capset_is_refused_nothing_is_kept_too_many)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused_rows); i++) {
		const struct row *row = &refused_rows[i];
		struct outcome o = drop_in(row->at_most, row->ambient, row->may_signal, true);
		bool fits = !(o.before.permitted & ~row->kept) && !o.before.inheritable;

		cr_expect_eq(o.result, fits ? 0 : -EPERM, "%s: %d", row->why, o.result);
		cr_expect_eq(o.after.permitted, o.before.permitted, "%s: permitted %lx", row->why,
			     o.after.permitted);
	}
}

Test(caps, the_test_has_what_it_drops)
{
	struct sets now = read_sets();

	if (geteuid())
		cr_skip_test("only root has capabilities to drop");
	cr_expect_neq(now.permitted & ~KEPT, 0, "else the rows above prove nothing");
}

Test(caps, what_was_dropped_does_not_come_back)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		(void)alarm(20);
		if (caps_drop(true))
			_exit(1);
		set_own(~UINT64_C(0), 0);
		_exit(read_sets().permitted & ~KEPT ? 2 : 0);
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(WEXITSTATUS(status), 0);
}

Test(caps, an_ordinary_user_has_none)
{
	int status;
	pid_t pid;

	if (geteuid())
		cr_skip_test("only root can become somebody else");
	pid = fork();
	if (!pid) {
		struct caps caps = { true, true, true, true };

		(void)alarm(20);
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		if (caps_drop(true) || caps_read(&caps))
			_exit(2);
		_exit(caps.kill || caps.ptrace || caps.dac_read_search || caps.nice ? 3 : 0);
	}
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(WEXITSTATUS(status), 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "act/act.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"

enum {
	WCHAN_MAX = 64,
	PRIORITY_HIGHEST = -20,
};

int act_pin(struct ident id, enum role role, struct victim *ret)
{
	_cleanup_close_ int dirfd = pin_open(id.pid);
	int pidfd;

	if (dirfd < 0)
		return dirfd == -ENOENT ? -ESRCH : dirfd;
	pidfd = pin_pidfd(dirfd, id.pid);
	if (pidfd < 0)
		return pidfd;
	*ret = (struct victim){
		.id = id,
		.role = role,
		.dirfd = TAKE_FD(dirfd),
		.pidfd = pidfd,
		.anon_bytes = UNKNOWN_U64,
		.record = { .id = id, .role = role, .freed_bytes = UNKNOWN_U64 },
	};
	return 0;
}

/* The one signal call of this program; the seccomp filter lets no other through. */
static int send_signal(const struct victim *v, int sig)
{
	return syscall(SYS_pidfd_send_signal, v->pidfd, sig, NULL, 0) < 0 ? -errno : 0;
}

static void say_wchan(struct victim *v)
{
	char wchan[WCHAN_MAX];

	if (fs_read_at(v->dirfd, "wchan", wchan, sizeof(wchan)) <= 0)
		(void)snprintf(wchan, sizeof(wchan), "an unknown place");
	(void)snprintf(v->record.why, sizeof(v->record.why), "still there after SIGKILL, in %s",
		       wchan);
}

static bool finish(struct victim *v, enum outcome outcome, uint64_t now_ms)
{
	v->stage = ACT_DONE;
	v->record.outcome = outcome;
	if (v->began_ms)
		v->record.took_ms = now_ms - v->began_ms;
	if (outcome == OUTCOME_EXITED || outcome == OUTCOME_KILLED)
		v->record.freed_bytes = v->anon_bytes;
	return true;
}

/* Whatever the call says, gone is what the pidfd shows: ESRCH may be the word of a container's filter. */
static bool refuse(struct victim *v, int sig, int err, uint64_t now_ms)
{
	if (act_see(v, now_ms))
		return true;
	(void)snprintf(v->record.why, sizeof(v->record.why), "the kernel refused signal %d: %s",
		       sig, strerror(-err));
	return finish(v, OUTCOME_REFUSED, now_ms);
}

/*
 * Raised only for a process that is about to end, and only where CAP_SYS_NICE allows it. There is no such
 * call for a pidfd: the number is its own only if the pin still answers afterwards. If not, whoever has it
 * now gets back what that number had before.
 */
static void hurry(const struct victim *v)
{
	id_t pid = (id_t)v->id.pid;
	int before;

	errno = 0;
	before = getpriority(PRIO_PROCESS, pid);
	if (errno || !pin_alive(v->dirfd))
		return;
	if (setpriority(PRIO_PROCESS, pid, PRIORITY_HIGHEST) == 0 && !pin_alive(v->dirfd))
		(void)setpriority(PRIO_PROCESS, pid, before);
}

static bool signal_now(struct victim *v, int sig, const struct act_graces *graces, uint64_t now_ms)
{
	int err;

	if (sig == SIGKILL)
		hurry(v);
	err = send_signal(v, sig);
	if (err < 0)
		return refuse(v, sig, err, now_ms);
	if (!v->began_ms)
		v->began_ms = now_ms;
	v->record.signal = sig;
	v->stage = sig == SIGTERM ? ACT_TERMED : ACT_KILLED;
	v->deadline_ms = now_ms + (sig == SIGTERM ? graces->term_ms : graces->kill_ms);
	return false;
}

/* SIGKILL stays pending: it needs no second one, and the next look says whether it is gone. */
static bool unkillable(struct victim *v, uint64_t now_ms)
{
	v->stage = ACT_UNKILLABLE;
	v->record.outcome = OUTCOME_UNKILLABLE;
	v->record.took_ms = now_ms - v->began_ms;
	say_wchan(v);
	return true;
}

bool act_see(struct victim *v, uint64_t now_ms)
{
	static const enum outcome how[] = {
		[ACT_PINNED] = OUTCOME_VANISHED,
		[ACT_TERMED] = OUTCOME_EXITED,
		[ACT_KILLED] = OUTCOME_KILLED,
	};
	static_assert(ARRAY_SIZE(how) == ACT_UNKILLABLE, "every stage before has its end");

	if (v->stage == ACT_DONE || v->stage == ACT_UNKILLABLE)
		return true;
	return pin_wait(v->pidfd, 0) == 1 && finish(v, how[v->stage], now_ms);
}

bool act_step(struct victim *v, const struct act_graces *graces, uint64_t now_ms)
{
	if (act_see(v, now_ms))
		return true;
	if (v->stage == ACT_PINNED)
		return signal_now(v, v->kill_at_once ? SIGKILL : SIGTERM, graces, now_ms);
	if (now_ms < v->deadline_ms)
		return false;
	if (v->stage == ACT_TERMED)
		return signal_now(v, SIGKILL, graces, now_ms);
	return unkillable(v, now_ms);
}

void act_close(struct victim *v, enum outcome outcome, const char *why)
{
	v->stage = ACT_DONE;
	v->record.outcome = outcome;
	(void)snprintf(v->record.why, sizeof(v->record.why), "%s", why);
}

void act_release(struct victim *v)
{
	fs_close(&v->pidfd);
	fs_close(&v->dirfd);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

enum {
	SECOND_MS = 1000,
	MS_NS = 1000000
};

int loop_open(struct loop *ret)
{
	struct loop l = { .signals = -1, .timer = -1, .exits = -1 };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	l.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	l.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l.signals < 0 || l.timer < 0) {
		int err = -errno;

		loop_close(&l);
		return err;
	}
	*ret = l;
	return 0;
}

int loop_set_interval(struct loop *l, uint64_t interval_ms)
{
	struct itimerspec spec = {
		.it_value = { .tv_nsec = 1 },
		.it_interval = {
			.tv_sec = (time_t)(interval_ms / SECOND_MS),
			.tv_nsec = (long)(interval_ms % SECOND_MS * MS_NS),
		},
	};

	return timerfd_settime(l->timer, 0, &spec, NULL) < 0 ? -errno : 0;
}

static void read_signals(int fd, struct loop_news *ret)
{
	struct signalfd_siginfo info;
	ssize_t n;

	while ((n = read(fd, &info, sizeof(info))) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			ret->reload = true;
		else
			ret->stop = true;
	}
	ret->deaf = n < 0 && errno != EAGAIN && errno != EINTR;
}

static void read_timer(int fd, struct loop_news *ret)
{
	uint64_t ticks;

	if (read(fd, &ticks, sizeof(ticks)) == (ssize_t)sizeof(ticks))
		ret->tick = true;
}

static int timeout_ms(const struct reap *reap, uint64_t most_ms)
{
	uint64_t now = clock_boot_ms(), wait = most_ms, deadline;

	deadline = reap ? reap_deadline_ms(reap) : UNKNOWN_U64;
	if (deadline != UNKNOWN_U64)
		wait = MIN(wait, deadline > now ? deadline - now : 0);
	return wait == UNKNOWN_U64 ? -1 : (int)MIN(wait, (uint64_t)INT_MAX);
}

/* @return 0; negative errno. */
static int wait_for(struct loop *l, const struct reap *reap, uint64_t most_ms,
		    struct loop_news *ret)
{
	size_t room = 3 + (reap ? reap->count : 0), count = 3;
	_cleanup_free_ struct pollfd *fds = calloc(room, sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	fds[0] = (struct pollfd){ .fd = l->signals, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = l->timer, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = l->exits, .events = POLLIN };
	for (size_t i = 0; reap && i < reap->count; i++)
		if (reap_waits_for(&reap->victims[i]))
			fds[count++] =
				(struct pollfd){ .fd = reap->victims[i].pidfd, .events = POLLIN };
	if (poll(fds, count, timeout_ms(reap, most_ms)) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		read_signals(l->signals, ret);
	if (fds[1].revents)
		read_timer(l->timer, ret);
	return 0;
}

int loop_wait(struct loop *l, const struct reap *reap, uint64_t most_ms, struct loop_news *ret)
{
	int err;

	*ret = (struct loop_news){ 0 };
	err = wait_for(l, reap, most_ms, ret);
	/* Who cannot wait must still hear that it is to stop: the signals themselves are blocked. */
	if (err < 0)
		read_signals(l->signals, ret);
	return err;
}

void loop_close(struct loop *l)
{
	fs_close(&l->signals);
	fs_close(&l->timer);
}

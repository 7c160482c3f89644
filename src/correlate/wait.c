/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/wait.h"

#include <string.h>
#include <sys/syscall.h>

#include "base/macro.h"

/* Where a call's timeout stands and what says that it has none. */
enum timeout {
	TIMEOUT_NONE,    /* the call has none: it waits for ever */
	TIMEOUT_ALWAYS,  /* a sleep ends by itself */
	TIMEOUT_MINUS_1, /* an int; -1: for ever */
	TIMEOUT_NULL,    /* a pointer; NULL: for ever */
	TIMEOUT_HIDDEN,  /* cannot be seen */
};

struct call {
	long nr;
	enum wait_kind kind;
	enum timeout timeout;
	unsigned arg;    /* of the timeout */
	bool on_channel; /* counts only on a socket or pipe, which wchan tells */
};

// clang-format off
static const struct call calls[] = {
#ifdef SYS_poll
	{ .nr = SYS_poll, .kind = WAIT_POLL, .timeout = TIMEOUT_MINUS_1, .arg = 2 },
#endif
#ifdef SYS_select
	{ .nr = SYS_select, .kind = WAIT_SELECT, .timeout = TIMEOUT_NULL, .arg = 4 },
#endif
#ifdef SYS_epoll_wait
	{ .nr = SYS_epoll_wait, .kind = WAIT_EPOLL, .timeout = TIMEOUT_MINUS_1, .arg = 3 },
#endif
	{ .nr = SYS_ppoll, .kind = WAIT_PPOLL, .timeout = TIMEOUT_NULL, .arg = 2 },
	{ .nr = SYS_pselect6, .kind = WAIT_SELECT, .timeout = TIMEOUT_NULL, .arg = 4 },
	{ .nr = SYS_epoll_pwait, .kind = WAIT_EPOLL, .timeout = TIMEOUT_MINUS_1, .arg = 3 },
#ifdef SYS_epoll_pwait2
	{ .nr = SYS_epoll_pwait2, .kind = WAIT_EPOLL, .timeout = TIMEOUT_NULL, .arg = 3 },
#endif
	{ .nr = SYS_futex, .kind = WAIT_FUTEX, .timeout = TIMEOUT_NULL, .arg = 3 },
	{ .nr = SYS_read, .kind = WAIT_READ, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_readv, .kind = WAIT_READ, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_write, .kind = WAIT_WRITE, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_writev, .kind = WAIT_WRITE, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_recvfrom, .kind = WAIT_RECV, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_recvmsg, .kind = WAIT_RECV, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_recvmmsg, .kind = WAIT_RECV, .timeout = TIMEOUT_NULL, .arg = 4, .on_channel = true },
	{ .nr = SYS_sendto, .kind = WAIT_SEND, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_sendmsg, .kind = WAIT_SEND, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_sendmmsg, .kind = WAIT_SEND, .timeout = TIMEOUT_NONE, .on_channel = true },
	{ .nr = SYS_accept, .kind = WAIT_ACCEPT, .timeout = TIMEOUT_NONE },
	{ .nr = SYS_accept4, .kind = WAIT_ACCEPT, .timeout = TIMEOUT_NONE },
	{ .nr = SYS_nanosleep, .kind = WAIT_SLEEP, .timeout = TIMEOUT_ALWAYS },
	{ .nr = SYS_clock_nanosleep, .kind = WAIT_SLEEP, .timeout = TIMEOUT_ALWAYS },
	{ .nr = SYS_wait4, .kind = WAIT_CHILD, .timeout = TIMEOUT_NONE },
	{ .nr = SYS_waitid, .kind = WAIT_CHILD, .timeout = TIMEOUT_NONE },
	{ .nr = SYS_flock, .kind = WAIT_FLOCK, .timeout = TIMEOUT_NONE },
	/* poll and timed futex waits after a stop or a tracer's visit */
	{ .nr = SYS_restart_syscall, .kind = WAIT_RESTART, .timeout = TIMEOUT_HIDDEN },
};

static const struct {
	const char *name;
	enum wait_kind kind;
	bool channel; /* a socket or a pipe */
} places[] = {
	{ "poll_schedule_timeout", WAIT_POLL, false },
	{ "do_sys_poll", WAIT_POLL, false },
	{ "do_select", WAIT_SELECT, false },
	{ "do_epoll_wait", WAIT_EPOLL, false },
	{ "ep_poll", WAIT_EPOLL, false },
	{ "futex_do_wait", WAIT_FUTEX, false },
	{ "futex_wait_queue", WAIT_FUTEX, false },
	{ "futex_wait_queue_me", WAIT_FUTEX, false },
	{ "wait_woken", WAIT_READ, true },		/* TCP, both directions */
	{ "sk_wait_data", WAIT_READ, true },
	{ "sk_stream_wait_memory", WAIT_WRITE, true },
	{ "unix_stream_read_generic", WAIT_RECV, true },
	{ "unix_stream_data_wait", WAIT_RECV, true },
	{ "sock_alloc_send_pskb", WAIT_SEND, true },
	{ "__skb_wait_for_more_packets", WAIT_RECV, true },
	{ "skb_wait_for_more_packets", WAIT_RECV, true },
	{ "anon_pipe_read", WAIT_READ, true },
	{ "anon_pipe_write", WAIT_WRITE, true },
	{ "pipe_read", WAIT_READ, true },
	{ "pipe_write", WAIT_WRITE, true },
	{ "pipe_wait", WAIT_READ, true },
	{ "fifo_pipe_read", WAIT_READ, true },
	{ "fifo_pipe_write", WAIT_WRITE, true },
	{ "inet_csk_accept", WAIT_ACCEPT, false },
	{ "unix_accept", WAIT_ACCEPT, false },
	{ "hrtimer_nanosleep", WAIT_SLEEP, false },
	{ "do_nanosleep", WAIT_SLEEP, false },
	{ "do_wait", WAIT_CHILD, false },
	{ "locks_lock_inode_wait", WAIT_FLOCK, false },
};
// clang-format on

static const struct call *find_call(int64_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

static enum wait_kind find_place(const char *wchan, bool *ret_channel)
{
	*ret_channel = false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strcmp(places[i].name, wchan) == 0) {
			*ret_channel = places[i].channel;
			return places[i].kind;
		}
	return WAIT_UNKNOWN;
}

static enum tri forever(const struct call *c, const uint64_t args[6])
{
	switch (c->timeout) {
	case TIMEOUT_NONE:
		return TRI_YES;
	case TIMEOUT_ALWAYS:
		return TRI_NO;
	case TIMEOUT_MINUS_1:
		return tri_of((int32_t)args[c->arg] < 0);
	case TIMEOUT_NULL:
		return tri_of(args[c->arg] == 0);
	case TIMEOUT_HIDDEN:
	default:
		return TRI_UNKNOWN;
	}
}

enum wait_kind wait_classify(const struct wait *w, enum tri *ret_forever)
{
	const struct call *c;
	enum wait_kind place;
	bool channel;

	*ret_forever = TRI_UNKNOWN;
	place = find_place(w->wchan, &channel);
	if (!w->known)
		return place;
	c = find_call(w->nr);
	if (!c || (c->on_channel && w->wchan[0] && !channel))
		return WAIT_UNKNOWN;
	*ret_forever = forever(c, w->args);
	return c->kind;
}

bool wait_same(const struct wait *a, bool known, int64_t nr, uint64_t sp, uint64_t pc,
	       const char *wchan)
{
	if (a->known && known)
		return a->nr == nr && a->sp == sp && a->pc == pc;
	if (a->known || known)
		return false;
	return a->wchan[0] && strcmp(a->wchan, wchan) == 0;
}

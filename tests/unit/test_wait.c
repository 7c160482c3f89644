/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/wait.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/macro.h"

enum {
	NOT_A_CALL = -1,
	POINTER = 0x1000, /* of a timeout */
	FOR_EVER = 0xffffffff,
};

static const struct {
	const char *why;
	int64_t nr;
	uint64_t args[6];
	const char *wchan;
	enum wait_kind want;
	enum tri forever;
} calls[] = {
#ifdef SYS_poll
	{ "poll(-1)", SYS_poll, { 0, 1, FOR_EVER }, "poll_schedule_timeout", WAIT_POLL, TRI_YES },
	{ "poll(1000)", SYS_poll, { 0, 1, 1000 }, "poll_schedule_timeout", WAIT_POLL, TRI_NO },
	{ "poll(0) may wait too", SYS_poll, { 0, 1, 0 }, "", WAIT_POLL, TRI_NO },
	{ "only the int counts", SYS_poll, { 0, 1, 0xffffffff00000001 }, "", WAIT_POLL, TRI_NO },
#endif
	{ "ppoll without a timeout", SYS_ppoll, { 0, 1, 0 }, "", WAIT_PPOLL, TRI_YES },
	{ "ppoll with one", SYS_ppoll, { 0, 1, POINTER }, "", WAIT_PPOLL, TRI_NO },
#ifdef SYS_select
	{ "select", SYS_select, { 1, 2, 3, 4, 0 }, "do_select", WAIT_SELECT, TRI_YES },
	{ "time.sleep() of Python 3.10",
	  SYS_select,
	  { 0, 0, 0, 0, POINTER },
	  "do_select",
	  WAIT_SELECT,
	  TRI_NO },
#endif
	{ "pselect6", SYS_pselect6, { 1, 2, 3, 4, 0 }, "", WAIT_SELECT, TRI_YES },
	{ "pselect6 with a timeout",
	  SYS_pselect6,
	  { 1, 2, 3, 4, POINTER },
	  "",
	  WAIT_SELECT,
	  TRI_NO },
#ifdef SYS_epoll_wait
	{ "epoll_wait",
	  SYS_epoll_wait,
	  { 1, 2, 3, FOR_EVER },
	  "do_epoll_wait",
	  WAIT_EPOLL,
	  TRI_YES },
#endif
	{ "epoll_pwait", SYS_epoll_pwait, { 1, 2, 3, 5 }, "", WAIT_EPOLL, TRI_NO },
#ifdef SYS_epoll_pwait2
	{ "epoll_pwait2", SYS_epoll_pwait2, { 1, 2, 3, 0 }, "", WAIT_EPOLL, TRI_YES },
#endif
	{ "a lock", SYS_futex, { 1, 2, 3, 0 }, "futex_do_wait", WAIT_FUTEX, TRI_YES },
	{ "queue.get(timeout=1)", SYS_futex, { 1, 2, 3, POINTER }, "", WAIT_FUTEX, TRI_NO },
	{ "read_int of the protocol", SYS_read, { 3 }, "wait_woken", WAIT_READ, TRI_YES },
	{ "a read whose place is hidden", SYS_read, { 3 }, "", WAIT_READ, TRI_YES },
	{ "a read from a disk is no wait",
	  SYS_read,
	  { 3 },
	  "folio_wait_bit_common",
	  WAIT_UNKNOWN,
	  TRI_UNKNOWN },
	{ "a read that sleeps on a timer is none of a socket or pipe",
	  SYS_read,
	  { 3 },
	  "hrtimer_nanosleep",
	  WAIT_UNKNOWN,
	  TRI_UNKNOWN },
	{ "readv", SYS_readv, { 3 }, "anon_pipe_read", WAIT_READ, TRI_YES },
	{ "a large result", SYS_write, { 5 }, "wait_woken", WAIT_WRITE, TRI_YES },
	{ "writev", SYS_writev, { 5 }, "sk_stream_wait_memory", WAIT_WRITE, TRI_YES },
	{ "the last loop of the protocol",
	  SYS_recvfrom,
	  { 4, 0, 1024 },
	  "wait_woken",
	  WAIT_RECV,
	  TRI_YES },
	{ "recvmsg", SYS_recvmsg, { 4 }, "unix_stream_read_generic", WAIT_RECV, TRI_YES },
	{ "recvmmsg", SYS_recvmmsg, { 4, 0, 1, 0, 0 }, "", WAIT_RECV, TRI_YES },
	{ "recvmmsg with a timeout", SYS_recvmmsg, { 4, 0, 1, 0, POINTER }, "", WAIT_RECV, TRI_NO },
	{ "sendto", SYS_sendto, { 4 }, "sk_stream_wait_memory", WAIT_SEND, TRI_YES },
	{ "sendmsg", SYS_sendmsg, { 4 }, "sock_alloc_send_pskb", WAIT_SEND, TRI_YES },
	{ "sendmmsg", SYS_sendmmsg, { 4 }, "", WAIT_SEND, TRI_YES },
	{ "accept", SYS_accept, { 4 }, "inet_csk_accept", WAIT_ACCEPT, TRI_YES },
	{ "accept4", SYS_accept4, { 4 }, "unix_accept", WAIT_ACCEPT, TRI_YES },
	{ "nanosleep", SYS_nanosleep, { POINTER }, "hrtimer_nanosleep", WAIT_SLEEP, TRI_NO },
	{ "clock_nanosleep", SYS_clock_nanosleep, { 0, 0, POINTER }, "", WAIT_SLEEP, TRI_NO },
	{ "wait4", SYS_wait4, { 0 }, "do_wait", WAIT_CHILD, TRI_YES },
	{ "waitid", SYS_waitid, { 0 }, "do_wait", WAIT_CHILD, TRI_YES },
	{ "flock", SYS_flock, { 3, 2 }, "locks_lock_inode_wait", WAIT_FLOCK, TRI_YES },
	{ "a call that was continued hides its timeout",
	  SYS_restart_syscall,
	  { 0 },
	  "",
	  WAIT_RESTART,
	  TRI_UNKNOWN },
	{ "a call that is no wait", SYS_fsync, { 3 }, "wait_woken", WAIT_UNKNOWN, TRI_UNKNOWN },
	{ "blocked outside a call: a page fault",
	  NOT_A_CALL,
	  { 0 },
	  "wait_woken",
	  WAIT_UNKNOWN,
	  TRI_UNKNOWN },
};

Test(wait, calls)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct wait w = { .known = true, .nr = calls[i].nr };
		enum tri forever = TRI_UNKNOWN;
		enum wait_kind got;

		memcpy(w.args, calls[i].args, sizeof(w.args));
		memcpy(w.wchan, calls[i].wchan, strlen(calls[i].wchan));
		got = wait_classify(&w, &forever);
		cr_expect_eq(got, calls[i].want, "%s: %d, not %d", calls[i].why, got,
			     calls[i].want);
		cr_expect_eq(forever, calls[i].forever, "%s: for ever %d", calls[i].why, forever);
	}
}

static const struct {
	const char *wchan;
	enum wait_kind want; /* where the call is not known */
	bool read_waits;     /* for ever: a socket or a pipe, or its place is hidden */
} places[] = {
	{ "poll_schedule_timeout", WAIT_POLL, false },
	{ "do_sys_poll", WAIT_POLL, false },
	{ "do_select", WAIT_SELECT, false },
	{ "do_epoll_wait", WAIT_EPOLL, false },
	{ "ep_poll", WAIT_EPOLL, false },
	{ "futex_do_wait", WAIT_FUTEX, false },
	{ "futex_wait_queue", WAIT_FUTEX, false },
	{ "futex_wait_queue_me", WAIT_FUTEX, false },
	{ "wait_woken", WAIT_READ, true },
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
	{ "folio_wait_bit_common", WAIT_UNKNOWN, false }, /* reading a file */
	{ "do_signal_stop", WAIT_UNKNOWN, false },
	{ "ptrace_stop", WAIT_UNKNOWN, false },
	{ "do_freezer_trap", WAIT_UNKNOWN, false },
	{ "wait_woken_by_another", WAIT_UNKNOWN, false },
	{ "0", WAIT_UNKNOWN, false }, /* what an unprivileged reader sees of others */
	{ "", WAIT_UNKNOWN, true },
};

Test(wait, places)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct wait w = { .known = false, .nr = SYS_ppoll, .args = { 0 } };
		enum tri forever = TRI_YES;

		memcpy(w.wchan, places[i].wchan, strlen(places[i].wchan));
		cr_expect_eq(wait_classify(&w, &forever), places[i].want, "%s", places[i].wchan);
		cr_expect_eq(forever, TRI_UNKNOWN, "%s: a place has no timeout", places[i].wchan);
	}
}

/* One that sleeps on a disk, a timer or a lock waits for nobody at the other end. */
Test(wait, where_a_read_waits)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct wait w = { .known = true, .nr = SYS_read };
		enum tri forever = TRI_NO;

		memcpy(w.wchan, places[i].wchan, strlen(places[i].wchan));
		cr_expect_eq(wait_classify(&w, &forever),
			     places[i].read_waits ? WAIT_READ : WAIT_UNKNOWN, "%s",
			     places[i].wchan);
		cr_expect_eq(forever, places[i].read_waits ? TRI_YES : TRI_UNKNOWN, "%s",
			     places[i].wchan);
	}
}

static const struct {
	const char *why;
	bool want;
	struct wait now;
	bool known; /* before */
	int64_t nr;
	uint64_t sp, pc;
	const char *wchan;
} pairs[] = {
	{ "the same call from the same place",
	  true,
	  { .known = true, .nr = 7, .sp = 1, .pc = 2 },
	  true,
	  7,
	  1,
	  2,
	  "" },
	{ "another call", false, { .known = true, .nr = 8, .sp = 1, .pc = 2 }, true, 7, 1, 2, "" },
	{ "another frame", false, { .known = true, .nr = 7, .sp = 9, .pc = 2 }, true, 7, 1, 2, "" },
	{ "another place", false, { .known = true, .nr = 7, .sp = 1, .pc = 9 }, true, 7, 1, 2, "" },
	{ "where the call is known its kernel function is not asked",
	  true,
	  { .known = true, .nr = 7, .sp = 1, .pc = 2, .wchan = "a" },
	  true,
	  7,
	  1,
	  2,
	  "b" },
	{ "known now, not before",
	  false,
	  { .known = true, .nr = 0, .wchan = "wait_woken" },
	  false,
	  0,
	  0,
	  0,
	  "wait_woken" },
	{ "known before, not now",
	  false,
	  { .known = false, .wchan = "wait_woken" },
	  true,
	  0,
	  0,
	  0,
	  "wait_woken" },
	{ "the same kernel function",
	  true,
	  { .known = false, .wchan = "wait_woken" },
	  false,
	  7,
	  1,
	  2,
	  "wait_woken" },
	{ "another one",
	  false,
	  { .known = false, .wchan = "wait_woken" },
	  false,
	  0,
	  0,
	  0,
	  "pipe_read" },
	{ "nothing is known: that is no sameness", false, { .known = false }, false, 0, 0, 0, "" },
};

Test(wait, same)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		cr_expect_eq(wait_same(&pairs[i].now, pairs[i].known, pairs[i].nr, pairs[i].sp,
				       pairs[i].pc, pairs[i].wchan),
			     pairs[i].want, "%s", pairs[i].why);
}

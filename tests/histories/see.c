/* SPDX-License-Identifier: Apache-2.0 */
#include "see.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	DAEMON_INO = 900,
	TASK_FD = 4,
	OWN_FD = 7,
	OWN_INO = 100000,         /* of a worker's own connection, which nobody has accepted */
	HANDSHAKE_MS = 60 * 1000, /* the kernel keeps an orphaned FIN_WAIT2 for so long */
	HOUR_MS = 3600 * 1000,
};

static uint64_t ino_of(const struct worker *p)
{
	return 1000 + 2 * (uint64_t)p->serial;
}

static uint64_t daemon_ino(const struct world *w)
{
	return DAEMON_INO + w->daemon_log;
}

static uint64_t host_ino_of(const struct worker *p)
{
	return ino_of(p) + 1;
}

/* ---- what a thread waits in ---- */

struct place {
	long nr;
	uint64_t args[6];
	const char *wchan;
	unsigned fds; /* descriptors of the task socket */
};

static const struct place places[PHASE_COUNT] = {
	[PHASE_NEWBORN] = { SYS_read, { TASK_FD }, "wait_woken", 1 },
	[PHASE_PROTOCOL] = { SYS_read, { TASK_FD }, "wait_woken", 3 },
	[PHASE_RUNNING] = { -1, { 0 }, "", 3 },
	[PHASE_POLL] = { SYS_poll, { 0, 0, UINT32_MAX }, "poll_schedule_timeout", 3 },
	[PHASE_FUTEX] = { SYS_futex, { 0 }, "futex_do_wait", 3 },
	[PHASE_SLEEP] = { SYS_clock_nanosleep, { 0 }, "hrtimer_nanosleep", 3 },
	[PHASE_LOOP] = { SYS_poll, { 0, 0, WORLD_LOOP_MS }, "poll_schedule_timeout", 3 },
	[PHASE_BURN] = { SYS_futex, { 0 }, "futex_do_wait", 3 },
	[PHASE_DUP_RECV] = { SYS_recvfrom, { TASK_FD, 0, 1024 }, "wait_woken", 4 },
	[PHASE_OWN_RECV] = { SYS_recvfrom, { OWN_FD, 0, 1024 }, "wait_woken", 3 },
	[PHASE_WRITE] = { SYS_write, { TASK_FD }, "wait_woken", 3 },
	[PHASE_SIGNED_OFF] = { SYS_recvfrom, { TASK_FD, 0, 1024 }, "wait_woken", 1 },
};

static void see_wait(const struct world *w, const struct worker *p, unsigned denied,
		     struct evidence *e)
{
	const struct place *place = &places[p->phase];
	uint64_t blocked_ms = w->now - p->ran_ms;

	e->asleep = denied & DENY_ASLEEP ? TRI_UNKNOWN : tri_of(p->phase != PHASE_RUNNING);
	e->state = p->phase == PHASE_RUNNING ? 'R' : 'S';
	e->main.known = !(denied & DENY_SYSCALL) && p->phase != PHASE_RUNNING;
	e->main.nr = place->nr;
	memcpy(e->main.args, place->args, sizeof(place->args));
	e->main.sp = e->main.pc = 4096 + p->phase;
	(void)snprintf(e->main.wchan, sizeof(e->main.wchan), "%s", place->wchan);
	if (p->phase == PHASE_LOOP)
		blocked_ms %= WORLD_LOOP_MS;
	if (w->lie == LIE_LONG_BLOCKED)
		blocked_ms += HOUR_MS;
	e->blocked_ms = denied & DENY_SCHED ? UNKNOWN_U64 : blocked_ms;
	e->others_blocked_ms = p->phase == PHASE_BURN ? 0 : e->blocked_ms;
	e->threads = p->phase == PHASE_BURN ? 4 : 1;
	e->main_cpu_ns = p->cpu_ns;
	e->main_switches = p->switches;
	e->cpu_ns = p->cpu_ns;
}

/* ---- processes ---- */

static void see_identity(struct ident id, uint64_t born_ms, const struct world *w,
			 struct evidence *e)
{
	*e = (struct evidence){
		.id = id,
		.seen = true,
		.threads = 1,
		.state = 'S',
		.ids_known = true,
		.uids = { SEE_UID, SEE_UID, SEE_UID, SEE_UID },
		.dumping = TRI_NO,
		.ns_pid = id.pid,
		.ns_depth = 1,
		.signals_known = true,
		.exe = { 2049, 131 },
		.pid_ns = SEE_PID_NS,
		.net_ns = SEE_NET_NS,
		.age_ms = w->now - born_ms,
		.taken_ms = w->now,
		.fds_known = TRI_YES,
		.vm_bytes = UNKNOWN_U64,
		.rss_bytes = UNKNOWN_U64,
		.anon_bytes = UNKNOWN_U64,
		.pss_bytes = UNKNOWN_U64,
	};
}

/* What stands in the census too. */
static uint32_t flags_of(unsigned shown)
{
	return shown & 1u << KEPT_EXECED ? 0 : PROC_FORKNOEXEC;
}

/* A set-user-ID program, or one that kept a way back: of its four users each may be the other. */
static unsigned other_uids(const struct worker *p)
{
	return p->serial & 1 ? 15 : 4;
}

static uid_t uid_of(const struct worker *p, unsigned shown, unsigned which)
{
	return shown & 1u << KEPT_OTHER_UID && other_uids(p) & 1u << which ? SEE_OTHER_UID
									   : SEE_UID;
}

static void see_change(const struct worker *p, unsigned shown, struct evidence *e)
{
	e->flags = flags_of(shown);
	for (unsigned i = 0; i < ARRAY_SIZE(e->uids); i++)
		e->uids[i] = uid_of(p, shown, i);
	if (shown & 1u << KEPT_EXECED)
		e->exe.ino += p->serial & 1; /* or Python again */
	if (shown & 1u << KEPT_OTHER_PID_NS) {
		e->pid_ns = SEE_OTHER_PID_NS;
		e->ns_pid = 2;
		e->ns_depth = 2;
	}
}

/* A thread that is stopped or in D is not asleep, and shows no call; one that is frozen is, and does. */
static void see_hold(const struct worker *p, unsigned shown, struct evidence *e)
{
	bool frozen = p->serial & 1;

	e->tracer = shown & 1u << KEPT_TRACED ? 1 : 0;
	e->dumping = tri_of(shown & 1u << KEPT_DUMPING);
	e->stopped = shown & 1u << KEPT_STOPPED;
	e->uninterruptible = shown & 1u << KEPT_UNINTERRUPTIBLE;
	if (!e->stopped && (!e->uninterruptible || frozen))
		return;
	e->state = e->stopped ? 'T' : 'D';
	e->asleep = TRI_NO;
	e->main.known = false;
}

static int see_sockets(const struct world *w, const struct worker *p, struct evidence *e)
{
	unsigned fds = places[p->phase].fds;

	e->sockets = calloc(2, sizeof(*e->sockets));
	if (!e->sockets)
		return -ENOMEM;
	e->sockets[e->socket_count++] = (struct held_socket){
		.ino = ino_of(p),
		.fd = TASK_FD,
		.fds = fds,
		.all_fds = fds,
		.tcp = tri_of(!w->habit.unix_sockets),
	};
	if (p->phase == PHASE_OWN_RECV)
		e->sockets[e->socket_count++] = (struct held_socket){
			.ino = OWN_INO + ino_of(p),
			.fd = OWN_FD,
			.fds = 1,
			.all_fds = 1,
			.tcp = TRI_YES,
		};
	return 0;
}

int see_worker(const struct world *w, const struct worker *p, unsigned denied, struct evidence *e)
{
	unsigned shown = world_shows(w, p);

	see_identity(p->id, p->born_ms, w, e);
	see_change(p, shown, e);
	see_wait(w, p, denied, e);
	see_hold(p, shown, e);
	if (denied & DENY_FDS)
		e->fds_known = TRI_UNKNOWN;
	return see_sockets(w, p, e);
}

int see_daemon(const struct world *w, struct evidence *e)
{
	see_identity(w->daemon, 0, w, e);
	e->sockets = calloc(1, sizeof(*e->sockets));
	if (!e->sockets)
		return -ENOMEM;
	e->sockets[e->socket_count++] =
		(struct held_socket){ .ino = daemon_ino(w), .fd = 3, .fds = 1 };
	return 0;
}

static struct proc *add_process(struct audit *a, struct ident id, pid_t ppid, pid_t pgrp,
				const char *comm)
{
	struct proc *p = snapshot_add(&a->snapshot);

	if (!p)
		return NULL;
	p->id = id;
	p->ppid = ppid;
	p->pgrp = pgrp;
	p->uid = SEE_UID;
	p->threads = 1;
	p->state = 'S';
	(void)snprintf(p->comm, sizeof(p->comm), "%s", comm);
	return p;
}

static int give_argv(struct proc *p)
{
	static const char argv[] = "python3\0-m\0pyspark.daemon";

	p->argv = malloc(sizeof(argv));
	if (!p->argv)
		return -ENOMEM;
	memcpy(p->argv, argv, sizeof(argv));
	p->argv_len = sizeof(argv);
	return 0;
}

static struct proc *add_worker(const struct world *w, const struct worker *p, struct audit *a)
{
	bool orphan = !w->daemon_up || !ident_equal(p->daemon, w->daemon);

	return add_process(a, p->id, orphan ? 1 : WORLD_DAEMON,
			   p->left_group ? p->id.pid : WORLD_DAEMON, "python3");
}

static void see_in_census(const struct worker *p, unsigned shown, struct proc *ret)
{
	ret->flags = flags_of(shown);
	ret->uid = uid_of(p, shown, 1);
}

/* One that has the name of whom it is taken for, or not. */
static bool add_stranger(const struct world *w, struct audit *a)
{
	bool alike = w->stranger.start & 1;
	const char *comm = w->stranger.pid == WORLD_HOST ? "java" : "python3";

	return add_process(a, w->stranger, 1, w->stranger.pid, alike ? comm : "sleep") != NULL;
}

int see_processes(const struct world *w, struct audit *a)
{
	bool ok = add_process(a, (struct ident){ 1, 1 }, 0, 1, "init") &&
		  add_process(a, (struct ident){ SEE_REAPER, 3000 }, 1, SEE_REAPER, "reaper");
	struct proc *p;

	if (w->host_up) {
		p = add_process(a, w->host, 1, WORLD_HOST, "java");
		ok &= p != NULL;
		if (p && w->stopped)
			p->state = 'T';
	}
	if (w->daemon_up) {
		p = add_process(a, w->daemon, w->host_up ? WORLD_HOST : 1, WORLD_DAEMON, "python3");
		ok &= p && give_argv(p) == 0;
	}
	if (w->stranger.pid)
		ok &= add_stranger(w, a);
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		if (!w->worker[i].alive)
			continue;
		p = add_worker(w, &w->worker[i], a);
		ok &= p && give_argv(p) == 0;
		if (p)
			see_in_census(&w->worker[i], world_shows(w, &w->worker[i]), p);
	}
	snapshot_sort(&a->snapshot);
	return ok ? 0 : -ENOMEM;
}

/* ---- sockets ---- */

static struct endpoint here(unsigned port)
{
	struct endpoint e = { .port = (uint16_t)port };

	e.addr.s6_addr[10] = e.addr.s6_addr[11] = 0xff;
	e.addr.s6_addr[12] = 127;
	e.addr.s6_addr[15] = 1;
	return e;
}

static struct inet_row worker_row(const struct world *w, const struct worker *p, unsigned denied)
{
	bool fin = p->end != END_OPEN;
	uint64_t acked_ms = MAX(p->fin_ms, p->byte_ms);

	return (struct inet_row){
		.ino = ino_of(p),
		.local = here(p->port),
		.remote = here(WORLD_PORT + p->serial + 1),
		.state = fin ? TCP_STATE_CLOSE_WAIT : TCP_STATE_ESTABLISHED,
		.ages_known = !(denied & DENY_AGES),
		.recv_queue = p->recv_queue + fin,
		.send_queue = p->send_queue,
		.last_sent_ms = (uint32_t)(w->now - p->byte_ms),
		.last_recv_ms = (uint32_t)(w->now - p->byte_ms),
		.last_ack_ms = (uint32_t)(w->now - acked_ms),
	};
}

/* @return false: it has none any more. */
static bool host_row(const struct world *w, const struct worker *p, struct inet_row *ret)
{
	static const uint8_t states[] = {
		[END_OPEN] = TCP_STATE_ESTABLISHED,
		[END_SHUT] = TCP_STATE_FIN_WAIT2,
		[END_CLOSED] = TCP_STATE_FIN_WAIT2,
	};

	if (p->end == END_RESET || (p->end == END_CLOSED && w->now > p->fin_ms + HANDSHAKE_MS))
		return false;
	*ret = (struct inet_row){
		.ino = world_holds(w, p) ? host_ino_of(p) : 0,
		.local = here(WORLD_PORT + p->serial + 1),
		.remote = here(p->port),
		.state = states[p->end],
		.recv_queue = p->host_recv_queue,
	};
	return true;
}

static void see_tcp(const struct world *w, const struct worker *p, unsigned denied,
		    struct socket_table *t)
{
	struct inet_row row;

	if (p->end != END_RESET)
		t->inet[t->inet_count++] = worker_row(w, p, denied);
	if (host_row(w, p, &row) && !(denied & DENY_ROWS))
		t->inet[t->inet_count++] = row;
	if (p->phase == PHASE_OWN_RECV)
		t->inet[t->inet_count++] = (struct inet_row){
			.ino = OWN_INO + ino_of(p),
			.local = here(100 + p->serial),
			.remote = here(99),
			.state = TCP_STATE_ESTABLISHED,
		};
}

static void see_unix(const struct world *w, const struct worker *p, struct socket_table *t)
{
	bool held = world_holds(w, p);
	struct unix_row *row = &t->unix_rows[t->unix_count++];

	*row = (struct unix_row){
		.ino = ino_of(p),
		.peer_ino = held ? host_ino_of(p) : 0,
		.peer_known = true,
		.recv_queue = p->recv_queue,
		.send_queue = p->send_queue,
		.path = WORLD_PATH,
	};
	if (held)
		t->unix_rows[t->unix_count++] = (struct unix_row){
			.ino = host_ino_of(p),
			.peer_ino = ino_of(p),
			.peer_known = true,
			.recv_queue = p->host_recv_queue,
		};
}

int see_table(const struct world *w, unsigned denied, struct socket_table *t)
{
	*t = (struct socket_table){
		.read_ms = w->now,
		.net_ns = SEE_NET_NS,
		.by_diag = true,
		.inet_known = true,
		.unix_known = true,
		.inet = calloc(3 * WORLD_WORKERS + 1, sizeof(*t->inet)),
		.unix_rows = calloc(2 * WORLD_WORKERS + 1, sizeof(*t->unix_rows)),
	};
	if (!t->inet || !t->unix_rows)
		return -ENOMEM;
	if (w->daemon_up && w->habit.unix_sockets)
		t->unix_rows[t->unix_count++] = (struct unix_row){ .ino = daemon_ino(w),
								   .listening = true,
								   .path = WORLD_PATH };
	else if (w->daemon_up)
		t->inet[t->inet_count++] = (struct inet_row){ .ino = daemon_ino(w),
							      .local = here(w->port),
							      .state = TCP_STATE_LISTEN };
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		if (!w->worker[i].alive)
			continue;
		if (w->habit.unix_sockets)
			see_unix(w, &w->worker[i], t);
		else
			see_tcp(w, &w->worker[i], denied, t);
	}
	socket_table_sort(t);
	return 0;
}

int see_writers(const struct world *w, unsigned denied, struct host *h)
{
	h->writers.known = !(denied & DENY_WRITERS);
	h->writers.began_ms = calloc(WORLD_WORKERS, sizeof(uint64_t));
	if (!h->writers.began_ms)
		return -ENOMEM;
	for (unsigned i = 0; i < WORLD_WORKERS; i++) {
		const struct worker *p = &w->worker[i];

		if (p->use == USE_LEASED && p->fed && p->more && w->lie != LIE_NO_WRITER)
			h->writers.began_ms[h->writers.count++] = p->fed_ms;
	}
	return 0;
}

struct task_socket_lookup see_lookup(const struct world *w, const struct worker *p, unsigned denied)
{
	struct task_socket_lookup lookup = { .found = TRI_UNKNOWN };

	if (w->habit.unix_sockets || denied & DENY_ROWS || p->end == END_RESET)
		return lookup;
	lookup.found = tri_of(host_row(w, p, &lookup.row) && w->lie != LIE_NO_SUCH_ROW);
	return lookup;
}

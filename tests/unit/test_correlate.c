/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/correlate.h"

#include <sys/syscall.h>

#include "scene.h"

enum {
	SIGNAL_15 = 1 << 14
};

/* What is known of the worker of the scene when nothing is odd. */
static struct facts usual(void)
{
	struct facts f = {
		.id = { SCENE_WORKER, 8812345 + SCENE_WORKER },
		.uid = 1000,
		.asleep = TRI_YES,
		.wait = WAIT_READ,
		.wait_forever = TRI_YES,
		.progress = TRI_NO,
		.age_ms = BUILD_HOUR,
		.blocked_ms = 20 * BUILD_SECOND,
		.silent_ms = 20 * BUILD_SECOND,
		.socket = SOCKET_ESTABLISHED,
		.transport = TRANSPORT_TCP,
		.host_held = TRI_YES,
		.hangup_ms = UNKNOWN_U64,
		.host_gone = TRI_NO,
		.retired_age_ms = UNKNOWN_U64,
		.ended_age_ms = UNKNOWN_U64,
		.last_end_age_ms = UNKNOWN_U64,
		.until_limit_ms = UNKNOWN_U64,
		.term_default = true,
	};

	for (size_t i = 0; i < FENCE_COUNT; i++)
		f.seen_ms[i] = UNKNOWN_U64;
	return f;
}

/* Each row changes evidence of the worker, of its daemon or of the look before, and says which facts
 * change with it; all others must not. */
static const struct {
	const char *why;
	bool orphan;
	bool first_look;
	struct change worker[6], daemon[3], before[3];
	struct change want[6];
} rows[] = {
	{ .why = "nothing is odd" },
	{ .why = "it went away while it was looked at",
	  .worker = { E(vanished, true) },
	  .want = { F(vanished, true) } },
	{ .why = "a debugger", .worker = { E(tracer, 77) }, .want = { F(traced, true) } },
	{ .why = "it dumps core", .worker = { E(dumping, TRI_YES) }, .want = { F(dumping, true) } },
	{ .why = "an old kernel does not say whether it dumps",
	  .worker = { E(dumping, TRI_UNKNOWN) } },
	{ .why = "stopped", .worker = { E(stopped, true) }, .want = { F(stopped, true) } },
	{ .why = "in D",
	  .worker = { E(uninterruptible, true) },
	  .want = { F(uninterruptible, true) } },

	{ .why = "another real uid",
	  .worker = { E(uids[0], 0) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "another effective uid, on a first look",
	  .first_look = true,
	  .worker = { E(uids[1], 0), E(blocked_ms, BUILD_HOUR), E(others_blocked_ms, BUILD_HOUR) },
	  .want = { F(foreign_uid, true), F(cpu_ppm, UINT32_MAX), F(blocked_ms, BUILD_HOUR) } },
	{ .why = "another saved uid",
	  .worker = { E(uids[2], 0) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "another file system uid",
	  .worker = { E(uids[3], 0) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "its daemon runs as somebody else",
	  .daemon = { E(uids[1], 0) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "its daemon changed its effective uid",
	  .daemon = { E(uids[0], 0) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "a set-user-ID program is its owner's, not who started it",
	  .worker = { E(exe_setuid, true) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "an orphan of one",
	  .orphan = true,
	  .worker = { E(exe_setuid, true) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "an orphan with two uids",
	  .orphan = true,
	  .worker = { E(uids[0], 0) },
	  .want = { F(foreign_uid, true) } },
	{ .why = "an orphan with one", .orphan = true },
	{ .why = "its uids could not be read: not foreign, but unreadable",
	  .worker = { E(ids_known, false), E(uids[0], 0) },
	  .want = { F(unreadable, true) } },
	{ .why = "its daemon's could not",
	  .daemon = { E(ids_known, false), E(uids[0], 0) },
	  .want = { F(unreadable, true) } },

	{ .why = "pid 1 of a pid namespace",
	  .worker = { E(ns_pid, 1) },
	  .want = { F(other_pidns, true) } },
	{ .why = "it moved to another pid namespace",
	  .worker = { E(pid_ns, 9) },
	  .before = { B(pid_ns, 9) },
	  .want = { F(other_pidns, true) } },
	{ .why = "its pid namespace is not known",
	  .worker = { E(pid_ns, 0) },
	  .want = { F(unreadable, true) } },
	{ .why = "its daemon's is not",
	  .daemon = { E(pid_ns, 0) },
	  .want = { F(unreadable, true) } },
	{ .why = "an orphan in another pid namespace has nothing to differ from",
	  .orphan = true,
	  .worker = { E(pid_ns, 9) },
	  .before = { B(pid_ns, 9) } },

	{ .why = "it exec'ed", .worker = { E(flags, 0) }, .want = { F(changed, true) } },
	{ .why = "it exec'ed, first look",
	  .first_look = true,
	  .worker = { E(flags, 0), E(blocked_ms, BUILD_HOUR), E(others_blocked_ms, BUILD_HOUR) },
	  .want = { F(changed, true), F(cpu_ppm, UINT32_MAX), F(blocked_ms, BUILD_HOUR) } },
	{ .why = "it runs something else than its daemon",
	  .daemon = { E(exe.ino, 9) },
	  .want = { F(changed, true) } },
	{ .why = "the same inode on another device",
	  .daemon = { E(exe.dev, 9) },
	  .want = { F(changed, true) } },
	{ .why = "another network namespace than its daemon's",
	  .daemon = { E(net_ns, 9) },
	  .want = { F(changed, true) } },
	{ .why = "it ran something else before",
	  .before = { B(exe.ino, 9) },
	  .want = { F(changed, true) } },
	{ .why = "it was somebody else before",
	  .before = { B(uid, 0) },
	  .want = { F(changed, true) } },
	{ .why = "it was in another pid namespace",
	  .before = { B(pid_ns, 9) },
	  .want = { F(changed, true) } },
	{ .why = "it was in another network namespace",
	  .before = { B(net_ns, 9) },
	  .want = { F(changed, true) } },
	{ .why = "an orphan that ran something else before",
	  .orphan = true,
	  .before = { B(exe.ino, 9) },
	  .want = { F(changed, true) } },
	{ .why = "what is on disk says nothing of who it was",
	  .worker = { E(blocked_ms, BUILD_HOUR), E(others_blocked_ms, BUILD_HOUR) },
	  .before = { B(before_known, false), B(exe.ino, 9) },
	  .want = { F(cpu_ppm, UINT32_MAX), F(blocked_ms, BUILD_HOUR) } },
	{ .why = "an executable that could not be read is no other one",
	  .worker = { E(exe.ino, 0), E(flags, 0) },
	  .want = { F(unreadable, true) } },
	{ .why = "nor is its daemon's",
	  .daemon = { E(exe.ino, 0) },
	  .want = { F(unreadable, true) } },

	{ .why = "it was never looked at",
	  .worker = { E(seen, false) },
	  .want = { F(unreadable, true) } },
	{ .why = "nor was its daemon",
	  .daemon = { E(seen, false) },
	  .want = { F(unreadable, true) } },
	{ .why = "its network namespace is not known",
	  .worker = { E(net_ns, 0) },
	  .want = { F(unreadable, true) } },
	{ .why = "nor its daemon's", .daemon = { E(net_ns, 0) }, .want = { F(unreadable, true) } },
	{ .why = "its number in its own namespace is not known",
	  .worker = { E(ns_pid, 0) },
	  .want = { F(unreadable, true) } },
	{ .why = "nor its daemon's", .daemon = { E(ns_pid, 0) }, .want = { F(unreadable, true) } },
	{ .why = "an orphan that was not looked at",
	  .orphan = true,
	  .worker = { E(seen, false) },
	  .want = { F(unreadable, true) } },
	{ .why = "more descriptors than are looked at",
	  .worker = { E(fds_known, TRI_NO) },
	  .want = { F(unreadable, true) } },
	{ .why = "its descriptors may not be listed",
	  .worker = { E(fds_known, TRI_UNKNOWN) },
	  .want = { F(unreadable, true) } },
	{ .why = "its signals are not known",
	  .worker = { E(signals_known, false) },
	  .want = { F(unreadable, true), F(term_default, false) } },
	{ .why = "whether its threads sleep is not known",
	  .worker = { E(asleep, TRI_UNKNOWN) },
	  .want = { F(unreadable, true), F(asleep, TRI_UNKNOWN) } },
	{ .why = "asleep in nobody knows what",
	  .worker = { E(main.known, false), E(main.wchan[0], 0) },
	  .want = { F(unreadable, true), F(wait, WAIT_UNKNOWN), F(wait_forever, TRI_UNKNOWN) } },
	{ .why = "the call may not be read, but the kernel's function may",
	  .worker = { E(main.known, false) },
	  .want = { F(wait_forever, TRI_UNKNOWN) } },
	{ .why = "the call may be read, but the kernel's function may not",
	  .worker = { E(main.wchan[0], 0) } },
	{ .why = "who runs is in no wait, and nothing is missing",
	  .worker = { E(asleep, TRI_NO), E(main.known, false), E(main.wchan[0], 0) },
	  .want = { F(asleep, TRI_NO), F(wait, WAIT_UNKNOWN), F(wait_forever, TRI_UNKNOWN) } },

	{ .why = "it catches SIGTERM",
	  .worker = { E(sig_caught, SIGNAL_15) },
	  .want = { F(term_default, false) } },
	{ .why = "it ignores SIGTERM",
	  .worker = { E(sig_ignored, SIGNAL_15) },
	  .want = { F(term_default, false) } },
	{ .why = "it blocks SIGTERM",
	  .worker = { E(sig_blocked, SIGNAL_15) },
	  .want = { F(term_default, false) } },
	{ .why = "every other signal matters not",
	  .worker = { E(sig_caught, ~(uint64_t)SIGNAL_15), E(sig_ignored, ~(uint64_t)SIGNAL_15),
		      E(sig_blocked, ~(uint64_t)SIGNAL_15) } },

	{ .why = "since when each fence was seen",
	  .before = { B(fence_ms[FENCE_HOST_GONE], SCENE_NOW - 7000),
		      B(fence_ms[FENCE_ASSUMED], SCENE_NOW) },
	  .want = { F(seen_ms[FENCE_HOST_GONE], 7000), F(seen_ms[FENCE_ASSUMED], 0) } },
};

Test(correlate, guards)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct facts *got;
		struct facts want = usual();
		const char *differs;
		struct scene s;

		scene_make(&s);
		if (rows[i].orphan)
			scene_orphan(&s);
		change_list(&s.worker->ev, rows[i].worker, ARRAY_SIZE(rows[i].worker));
		change_list(&s.audit.daemons[0].ev, rows[i].daemon, ARRAY_SIZE(rows[i].daemon));
		change_list(&s.before, rows[i].before, ARRAY_SIZE(rows[i].before));
		change_list(&want, rows[i].want, ARRAY_SIZE(rows[i].want));
		got = scene_facts(&s, rows[i].first_look);
		differs = facts_differ(got, &want);
		cr_expect_null(differs, "%s: %s is not as it should be", rows[i].why,
			       differs ? differs : "");
		scene_done(&s);
	}
}

Test(correlate, rules_and_self)
{
	struct scene s;
	struct correlate_input in;

	scene_make(&s);
	in =
		(struct correlate_input){ &s.policy, &s.audit,     &s.tree,
					  &s.before, SCENE_WORKER, true };
	correlate_facts(&in, s.worker);
	cr_expect(s.worker->facts.is_self, "reaper does not end itself");
	cr_expect(s.worker->facts.is_protected);
	in.self = SCENE_REAPER;
	in.is_protected = false;
	correlate_facts(&in, s.worker);
	cr_expect_not(s.worker->facts.is_self);
	cr_expect_not(s.worker->facts.is_protected);
	scene_done(&s);
}

static const struct {
	const char *why;
	bool want;
	pid_t pid;
	uint32_t flags;
	bool above;
	bool listed;
} ancestors[] = {
	{ "a worker", false, SCENE_WORKER, PROC_FORKNOEXEC, false, false },
	{ "pid 1", true, 1, 0, false, false },
	{ "a worker lives below it", true, SCENE_WORKER, PROC_FORKNOEXEC, true, false },
	{ "a kernel thread", true, SCENE_WORKER, PROC_KTHREAD, false, false },
	{ "a host or a daemon, whoever's", true, SCENE_WORKER, PROC_FORKNOEXEC, false, true },
	{ "one that the census missed", false, 5000, 0, false, false },
};

Test(correlate, ancestors_hosts_and_daemons)
{
	for (size_t i = 0; i < ARRAY_SIZE(ancestors); i++) {
		struct scene s;
		struct proc *p;

		scene_make(&s);
		s.worker->id.pid = ancestors[i].pid;
		p = snapshot_find(&s.audit.snapshot, ancestors[i].pid);
		if (p) {
			p->flags = ancestors[i].flags;
			p->above = ancestors[i].above;
			p->listed = ancestors[i].listed;
		}
		cr_expect_eq(scene_facts(&s, false)->is_ancestor, ancestors[i].want, "%s",
			     ancestors[i].why);
		scene_done(&s);
	}
}

static const struct {
	const char *why;
	bool first_look;
	uint64_t hangup_ms, held_ago_ms, want; /* held 0: never seen */
} hangups[] = {
	{ "it says when the FIN came", false, 60000, 0, 60000 },
	{ "at the first look there is no other word", true, 60000, 10000, 60000 },
	{ "the FIN was half a shutdown's: held 10 s ago", false, 60000, 10000, 10000 },
	{ "held a minute ago, the FIN came later", false, 5000, 60000, 5000 },
	{ "no FIN", false, UNKNOWN_U64, 10000, UNKNOWN_U64 },
};

Test(correlate, a_hangup_is_no_older_than_the_last_look_that_saw_the_end_held)
{
	for (size_t i = 0; i < ARRAY_SIZE(hangups); i++) {
		struct scene s;

		scene_make(&s);
		s.worker->socket.hangup_ms = hangups[i].hangup_ms;
		if (hangups[i].held_ago_ms)
			s.before.held_ms = SCENE_NOW - hangups[i].held_ago_ms;
		cr_expect_eq(scene_facts(&s, hangups[i].first_look)->hangup_ms, hangups[i].want,
			     "%s", hangups[i].why);
		scene_done(&s);
	}
}

/* It was never forked from what it is compared with, and only its class may allow its end. */
Test(correlate, a_program_that_stands_alone)
{
	struct scene s;

	scene_make(&s);
	s.worker->role = ROLE_SINGLE;
	s.worker->daemon = -1;
	s.worker->ev.flags = 0;
	cr_expect_not(scene_facts(&s, false)->changed, "it exec'ed, as programs do");
	cr_expect(s.worker->facts.single);
	cr_expect_not(s.worker->facts.may_kill);
	s.audit.classes.class[0].may_kill = true;
	cr_expect(scene_facts(&s, false)->may_kill);
	s.before.exe.ino++;
	cr_expect(scene_facts(&s, false)->changed, "another program since the last look");
	s.worker->class_index = -1;
	cr_expect_not(scene_facts(&s, false)->may_kill, "no class, no leave");
	scene_done(&s);
}

Test(correlate, the_socket_is_told_as_it_is)
{
	struct facts want = usual();
	struct scene s;

	scene_make(&s);
	s.worker->socket = (struct task_socket){
		.state = SOCKET_SIGNED_OFF,
		.transport = TRANSPORT_UNIX,
		.ino = 5000,
		.fd = 4,
		.fds = 1,
		.host_held = TRI_NO,
		.closing = true,
		.recv_queue = 1,
		.send_queue = 2,
		.host_recv_queue = 3,
		.silent_ms = 5000,
		.hangup_ms = 6000,
	};
	s.worker->ev.main.nr = s.before.nr = SYS_recvfrom;
	s.worker->ev.main.args[2] = 1024;
	want.wait = WAIT_RECV;
	want.socket = SOCKET_SIGNED_OFF;
	want.transport = TRANSPORT_UNIX;
	want.host_held = TRI_NO;
	want.closing = true;
	want.in_signoff_call = true;
	want.recv_queue = 1;
	want.send_queue = 2;
	want.host_recv_queue = 3;
	want.silent_ms = 5000;
	s.worker->host = 0;
	s.audit.hosts[0].writers.known = true;
	want.host_writes = TRI_NO;
	want.hangup_ms = 6000;
	want.progress = TRI_YES; /* a byte of 5 s ago, and what is queued is not what was */
	cr_expect_null(facts_differ(scene_facts(&s, false), &want), "%s",
		       facts_differ(&s.worker->facts, &want));
	scene_done(&s);
}

Test(correlate, what_is_known_of_its_memory)
{
	struct memory m = { .trend.growing = TRI_YES, .until_limit_ms = 7000 };
	const struct facts *f;
	struct scene s;

	scene_make(&s);
	f = scene_facts(&s, false);
	cr_expect_eq(f->growing, TRI_UNKNOWN, "it is not followed");
	cr_expect_eq(f->until_limit_ms, UNKNOWN_U64);
	s.worker->memory = &m;
	f = scene_facts(&s, false);
	cr_expect_eq(f->growing, TRI_YES);
	cr_expect_eq(f->until_limit_ms, 7000);
	s.worker->memory = NULL;
	scene_done(&s);
}

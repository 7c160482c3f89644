/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

enum {
	BUILD_START = 8812345, /* ticks; the pid is added, so that no two are equal */
	BUILD_READ = 0,        /* read(2) on x86-64 */
	BUILD_FD = 4,
	BUILD_UID = 1000,
	BUILD_SAMPLES = 40,
};

struct policy build_policy(void)
{
	return (struct policy){
		.timeout_ms = 5 * BUILD_MINUTE,
		.silent_after_ms = 15 * BUILD_MINUTE,
		.assume_leaked_after_ms = UNKNOWN_U64,
		.growing_within_ms = BUILD_HOUR,
		.min_age_ms = 60 * BUILD_SECOND,
		.idle_cpu_ppm = 10000,
		.fences = 1u << FENCE_SIGNED_OFF | 1u << FENCE_PEER_CLOSED | 1u << FENCE_HOST_GONE |
			  1u << FENCE_RETIRED | 1u << FENCE_TASK_ENDED,
		.helpers = true,
	};
}

struct facts build_facts(struct ident id)
{
	struct facts f = {
		.id = id,
		.uid = BUILD_UID,
		.asleep = TRI_YES,
		.wait = WAIT_READ,
		.wait_forever = TRI_YES,
		.progress = TRI_NO,
		.age_ms = BUILD_HOUR,
		.blocked_ms = 20 * BUILD_SECOND,
		.silent_ms = 20 * BUILD_SECOND,
		.cpu_ppm = 0,
		.socket = SOCKET_ESTABLISHED,
		.transport = TRANSPORT_TCP,
		.host_held = TRI_YES,
		.host_writes = TRI_NO,
		.hangup_ms = UNKNOWN_U64,
		.host_gone = TRI_NO,
		.logs_whole = true,
		.retired_age_ms = UNKNOWN_U64,
		.late_byte = TRI_UNKNOWN,
		.ended_age_ms = UNKNOWN_U64,
		.last_end_age_ms = UNKNOWN_U64,
		.until_limit_ms = UNKNOWN_U64,
		.term_default = true,
	};

	for (size_t i = 0; i < FENCE_COUNT; i++)
		f.seen_ms[i] = UNKNOWN_U64;
	return f;
}

struct evidence build_evidence(struct ident id)
{
	return (struct evidence){
		.id = id,
		.seen = true,
		.flags = PROC_FORKNOEXEC,
		.threads = 1,
		.state = 'S',
		.ids_known = true,
		.uids = { BUILD_UID, BUILD_UID, BUILD_UID, BUILD_UID },
		.dumping = TRI_NO,
		.ns_pid = id.pid,
		.ns_depth = 1,
		.signals_known = true,
		.exe = { 2049, 131 },
		.pid_ns = 4026531836,
		.net_ns = 4026531840,
		.age_ms = BUILD_HOUR,
		.main = { .known = true,
			  .nr = BUILD_READ,
			  .args = { BUILD_FD, 0x7ffd00001000, 4 },
			  .sp = 0x7ffd00000f00,
			  .pc = 0x7f0000001234,
			  .wchan = "wait_woken" },
		.asleep = TRI_YES,
		.blocked_ms = 20 * BUILD_SECOND,
		.others_blocked_ms = UNKNOWN_U64,
		.main_cpu_ns = 1234567890,
		.main_switches = 4711,
		.cpu_ns = 1234567890,
		.taken_ms = BUILD_TAKEN_MS,
		.fds_known = TRI_YES,
		.rss_bytes = 88 * BUILD_MIB,
		.anon_bytes = 60 * BUILD_MIB,
		.pss_bytes = UNKNOWN_U64,
	};
}

static void build_class(struct classes *classes, const char *name, const char *module,
			uint64_t pool_timeout_ms)
{
	struct worker_class *c = &classes->class[classes->count++];

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->pool_timeout_ms = pool_timeout_ms;
	c->host_comm.count = 1;
	c->host_comm.choice[0].count = 1;
	snprintf(c->host_comm.choice[0].word[0], CLASS_WORD_MAX, "java");
	c->daemon_args.count = 1;
	c->daemon_args.choice[0].count = 2;
	snprintf(c->daemon_args.choice[0].word[0], CLASS_WORD_MAX, "-m");
	snprintf(c->daemon_args.choice[0].word[1], CLASS_WORD_MAX, "%s", module);
}

struct audit build_audit(void)
{
	struct audit a = {
		.wall_ms = BUILD_WALL_MS,
		.boot_ms = 9000000,
		.boot_id = BUILD_BOOT_ID,
		.sampled_ms = 2000,
	};

	build_class(&a.classes, "pyspark", "pyspark.daemon", 60 * BUILD_SECOND);
	build_class(&a.classes, "pyjava", "pyjava.daemon", UNKNOWN_U64);
	return a;
}

/* Ends the test when there is no memory: nothing in it can be trusted then. */
static void *build_grow(void *list, size_t count, size_t size)
{
	char *grown = realloc(list, (count + 1) * size);

	if (!grown)
		abort();
	memset(grown + count * size, 0, size);
	return grown;
}

static struct ident build_ident(pid_t pid)
{
	return (struct ident){ .pid = pid, .start = BUILD_START + (uint64_t)pid };
}

struct host *build_host(struct audit *a, pid_t pid)
{
	struct host *h;

	a->hosts = build_grow(a->hosts, a->host_count, sizeof(*a->hosts));
	h = &a->hosts[a->host_count++];
	h->id = build_ident(pid);
	h->uid = BUILD_UID;
	snprintf(h->comm, sizeof(h->comm), "java");
	snprintf(h->label, sizeof(h->label), "SparkSubmit");
	h->alive = true;
	h->up_ms = 192 * BUILD_MINUTE;
	h->log_age_ms = UNKNOWN_U64;
	h->beat_age_ms = UNKNOWN_U64;
	return h;
}

struct daemon *build_daemon(struct audit *a, int host, pid_t pid)
{
	struct daemon *d;

	a->daemons = build_grow(a->daemons, a->daemon_count, sizeof(*a->daemons));
	d = &a->daemons[a->daemon_count++];
	d->id = build_ident(pid);
	d->uid = BUILD_UID;
	d->host = host;
	d->ev = build_evidence(d->id);
	d->port = 39917;
	d->idle_ms = UNKNOWN_U64;
	d->verdict = (struct verdict){ .reason = REASON_DAEMON,
				       .fence_age_ms = UNKNOWN_U64,
				       .due_in_ms = UNKNOWN_U64 };
	return d;
}

static struct subject *build_subject(struct audit *a, enum role role, int daemon, pid_t pid)
{
	struct subject *s;
	struct ident id = build_ident(pid);

	a->subjects = build_grow(a->subjects, a->subject_count, sizeof(*a->subjects));
	s = &a->subjects[a->subject_count++];
	s->id = id;
	s->role = role;
	s->uid = BUILD_UID;
	s->threads = 1;
	s->rss_bytes = 88 * BUILD_MIB;
	snprintf(s->comm, sizeof(s->comm), "python3");
	s->orphan = daemon < 0;
	s->class_index = 0;
	s->daemon = daemon;
	s->host = -1;
	s->worker = -1;
	s->ev = build_evidence(id);
	s->verdict = (struct verdict){ .reason = REASON_IDLE,
				       .fence_age_ms = UNKNOWN_U64,
				       .due_in_ms = UNKNOWN_U64 };
	if (daemon < 0)
		return s;
	s->host = a->daemons[daemon].host;
	s->daemon_id = a->daemons[daemon].id;
	if (s->host >= 0)
		s->host_id = a->hosts[s->host].id;
	return s;
}

struct subject *build_worker(struct audit *a, int daemon, pid_t pid)
{
	struct subject *s = build_subject(a, ROLE_WORKER, daemon, pid);

	s->facts = build_facts(s->id);
	s->socket = (struct task_socket){
		.state = SOCKET_ESTABLISHED,
		.transport = TRANSPORT_TCP,
		.ino = 100000 + (uint64_t)pid,
		.fd = BUILD_FD,
		.fds = 3,
		.by_name = true,
		.local = { IN6ADDR_LOOPBACK_INIT, 39917 },
		.remote = { IN6ADDR_LOOPBACK_INIT, 45873 },
		.host_held = TRI_YES,
		.silent_ms = 20 * BUILD_SECOND,
		.read_ms = BUILD_TAKEN_MS,
		.hangup_ms = UNKNOWN_U64,
	};
	if (daemon >= 0) {
		a->daemons[daemon].workers++;
		a->daemons[daemon].rss_bytes += s->rss_bytes;
	}
	return s;
}

int build_lone_class(struct audit *a)
{
	struct worker_class *c = &a->classes.class[a->classes.count];

	snprintf(c->name, sizeof(c->name), "nightly");
	c->kind = CLASS_OF_SINGLES;
	c->args.count = 1;
	c->args.choice[0].count = 1;
	snprintf(c->args.choice[0].word[0], CLASS_WORD_MAX, "nightly.py");
	return (int)a->classes.count++;
}

struct subject *build_single(struct audit *a, int class_index, pid_t pid)
{
	struct subject *s = build_subject(a, ROLE_SINGLE, -1, pid);

	s->orphan = false;
	s->class_index = class_index;
	s->host_id = s->id;
	s->facts = build_facts(s->id);
	s->facts.single = true;
	s->facts.wait = WAIT_POLL;
	s->facts.wait_forever = TRI_YES;
	s->facts.blocked_ms = 20 * BUILD_MINUTE;
	s->facts.silent_ms = 20 * BUILD_MINUTE;
	s->socket.state = SOCKET_NONE;
	s->verdict.action = ACTION_SUSPECT;
	s->verdict.reason = REASON_STUCK_WAIT;
	s->verdict.missing = MISSING_OWN_LOG;
	return s;
}

void build_growing(const struct audit *a, struct subject *s)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->series.id = s->id;
	for (uint64_t i = 0; i < BUILD_SAMPLES; i++) {
		uint64_t anon = (20 + 5 * i) * BUILD_MIB;

		m->series.sample[i] =
			(struct memory_sample){ a->boot_ms -
							(BUILD_SAMPLES - 1 - i) * 10 * BUILD_SECOND,
						anon + 100 * BUILD_MIB, anon, anon, anon };
	}
	m->series.count = BUILD_SAMPLES;
	m->trend = (struct memory_trend){ TRI_YES, 300 * BUILD_SECOND, 512 * BUILD_KIB,
					  512 * BUILD_KIB };
	m->limit = (struct memory_limit){ MEMORY_LIMIT_CGROUP, 600 * BUILD_MIB, 60 * BUILD_MIB,
					  "/job" };
	m->until_limit_ms = 2 * BUILD_MINUTE;
	m->victim = (struct oom_candidate){
		{ 5000, BUILD_START }, "python3", 671, 400 * BUILD_MIB, "/job"
	};
	s->memory = m;
	s->facts.growing = TRI_YES;
	s->facts.until_limit_ms = m->until_limit_ms;
	s->verdict.action = ACTION_SUSPECT;
	s->verdict.reason = REASON_GROWING;
	s->verdict.missing = MISSING_NOTHING;
}

struct subject *build_helper(struct audit *a, pid_t pid)
{
	size_t worker = a->subject_count - 1;
	struct subject *s;

	while (!role_is_judged(a->subjects[worker].role))
		worker--;
	s = build_subject(a, ROLE_HELPER, a->subjects[worker].daemon, pid);
	s->worker = (int)worker;
	s->host = a->subjects[worker].host;
	s->verdict = (struct verdict){ .fence_age_ms = UNKNOWN_U64, .due_in_ms = UNKNOWN_U64 };
	return s;
}

struct subject *build_lost_helper(struct audit *a, int daemon, pid_t pid)
{
	struct subject *s = build_subject(a, ROLE_LOST_HELPER, daemon, pid);

	s->verdict.action = ACTION_SUSPECT;
	s->verdict.reason = REASON_LOST_HELPER;
	return s;
}

void build_reap(struct subject *s, enum fence fence, uint64_t fence_age_ms)
{
	s->verdict = (struct verdict){ .action = ACTION_REAP,
				       .reason = fence_reason(fence),
				       .fence = fence,
				       .fence_age_ms = fence_age_ms,
				       .due_in_ms = UNKNOWN_U64 };
	s->facts.silent_ms = fence_age_ms;
	s->facts.blocked_ms = fence_age_ms;
	s->ev.pss_bytes = 50 * BUILD_MIB;
}

void build_suspect(struct subject *s, enum missing missing, uint64_t silent_ms)
{
	s->verdict = (struct verdict){ .action = ACTION_SUSPECT,
				       .reason = REASON_SILENT,
				       .missing = missing,
				       .fence_age_ms = UNKNOWN_U64,
				       .due_in_ms = UNKNOWN_U64 };
	s->facts.silent_ms = silent_ms;
	s->facts.blocked_ms = silent_ms;
}

void build_serving(const struct audit *a, struct subject *s)
{
	s->verdict.reason = REASON_SERVING;
	s->marks.host_log = true;
	s->marks.logs_whole = true;
	s->marks.state = MARKS_OPEN;
	s->marks.bound = 1;
	s->marks.open = 1;
	s->marks.open_since_ms = a->wall_ms - 4 * BUILD_MINUTE;
	s->marks.task_count = 1;
	snprintf(s->marks.tasks[0], MARKER_ID_MAX, "17");
	snprintf(s->marks.job, MARKER_ID_MAX, "3");
	s->facts.cpu_ppm = 980000;
	s->ev.rss_bytes = 212 * BUILD_MIB;
}

struct audit build_population(void)
{
	struct audit a = build_audit();
	struct host *h = build_host(&a, 4711);
	struct subject *s;

	snprintf(h->log, sizeof(h->log), "spark-4711.log");
	h->log_age_ms = 1200;
	build_daemon(&a, 0, 4790);
	build_daemon(&a, 0, 4791)->class_index = 1;
	build_serving(&a, build_worker(&a, 0, 4801));
	s = build_worker(&a, 0, 4802);
	s->verdict.reason = REASON_POOLED;
	s = build_worker(&a, 0, 4803);
	build_reap(s, FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	s->facts.wait = WAIT_POLL;
	s->ev.rss_bytes = 1434 * BUILD_MIB;
	s->ev.pss_bytes = 1127 * BUILD_MIB;
	s = build_helper(&a, 4810);
	build_reap(s, FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	s->holds_task_socket = true;
	build_reap(build_helper(&a, 4811), FENCE_PEER_CLOSED, 12 * BUILD_MINUTE);
	build_suspect(build_worker(&a, 0, 4804), MISSING_MARKERS, 22 * BUILD_MINUTE);
	s = build_worker(&a, 1, 4806);
	build_suspect(s, MISSING_POOL_WORD, 22 * BUILD_MINUTE);
	s->socket.recv_queue = 120 * BUILD_KIB;
	build_helper(&a, 4899);
	build_lost_helper(&a, 0, 4820);
	return a;
}

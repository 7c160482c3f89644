/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan to the first signals: what the second look and the disk must say before one is sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/fs.h"
#include "grow_fail.h"
#include "reap_scene.h"
#include "report/json.h"
#include "tmpdir.h"

TestSuite(reap_begin, .timeout = 120);

enum {
	PAUSE_LEAST_MS = 50,
	PAUSE_MOST_MS = 250,
	PINS_SPARED = 32, /* descriptors that pins leave for what comes after them */
};

#define SIGTERM_BIT (UINT64_C(1) << (SIGTERM - 1))

/* A worker and its helper that live, as both looks see them. Too large for a stack. */
struct sweep {
	struct scene scene;
	struct tmpdir dir;
	struct audit_log log;
	char log_path[PATH_MAX];
	struct audit first, second;
	size_t item;
	struct plan plan;
	pid_t worker, helper;
	/* What the second look does. */
	void (*meanwhile)(struct sweep *s);
	int look_error;
	unsigned looks;
	uint64_t paused_ms;
	bool told_to_stop;
};

static struct sweep *swept; /* NULL: looks are what they are */

int __real_look_take(struct look *l, struct audit *ret);
int __wrap_look_take(struct look *l, struct audit *ret);
int __wrap_look_take(struct look *l, struct audit *ret)
{
	if (!swept)
		return __real_look_take(l, ret);
	swept->looks++;
	if (swept->look_error)
		return swept->look_error;
	if (swept->meanwhile)
		swept->meanwhile(swept);
	*ret = swept->second;
	swept->second = build_audit();
	return 0;
}

static unsigned intents_refused; /* so many, from the next on: there is no memory for them */

int __real_json_intent(const struct json_intent *intent, struct buf *ret);
int __wrap_json_intent(const struct json_intent *intent, struct buf *ret);
int __wrap_json_intent(const struct json_intent *intent, struct buf *ret)
{
	if (!intents_refused)
		return __real_json_intent(intent, ret);
	intents_refused--;
	return -ENOMEM;
}

static bool no_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}

bool __real_look_pause(const struct look *l, uint64_t ms);
bool __wrap_look_pause(const struct look *l, uint64_t ms);
bool __wrap_look_pause(const struct look *l, uint64_t ms)
{
	if (!swept)
		return __real_look_pause(l, ms);
	swept->paused_ms = ms;
	return !swept->told_to_stop;
}

static void see(struct subject *s, pid_t pid)
{
	_cleanup_close_ int dirfd = pin_open(pid);

	evidence_done(&s->ev);
	cr_assert_eq(evidence_look(dirfd, pid, 0, NULL, &s->ev), 0);
	s->id = s->ev.id;
	s->ev.pss_bytes = UNKNOWN_U64;
	s->ev.anon_bytes = BUILD_MIB;
}

static struct audit look_at(const struct sweep *s)
{
	struct audit a = build_audit();
	struct proc *p;

	build_reap(build_worker(&a, -1, s->worker), FENCE_PEER_CLOSED, BUILD_HOUR);
	see(&a.subjects[0], s->worker);
	see(build_helper(&a, s->helper), s->helper);
	for (size_t i = 0; i < a.subject_count; i++) {
		p = snapshot_add(&a.snapshot);
		cr_assert_not_null(p);
		*p = (struct proc){ .id = a.subjects[i].id, .ppid = i ? s->worker : 1 };
	}
	snapshot_sort(&a.snapshot);
	return a;
}

static void sweep_make(struct sweep *s)
{
	memset(s, 0, sizeof(*s));
	s->dir = tmpdir_make();
	s->worker = live_start(live_pause, NULL);
	s->helper = live_start(live_pause, NULL);
	scene_make(&s->scene);
	audit_done(&s->scene.reap.second);
	s->scene.reap.second_taken = false;
	s->scene.reap.rounds = REAP_ROUNDS_MAX; /* no list of the tree after the signals */
	s->scene.config.policy = build_policy();
	(void)snprintf(s->scene.config.state_dir, sizeof(s->scene.config.state_dir), "%s",
		       s->dir.path);
	s->scene.look.config = &s->scene.config;
	cr_assert_eq(audit_log_open(tmpdir_path(&s->dir, "log", s->log_path), &s->log), 0);
	s->scene.reap.log = &s->log;
	s->first = look_at(s);
	s->second = look_at(s);
	s->plan = (struct plan){ .items = &s->item, .count = 1 };
	swept = s;
}

static void sweep_done(struct sweep *s)
{
	swept = NULL;
	scene_done(&s->scene);
	audit_log_close(&s->log);
	audit_done(&s->first);
	audit_done(&s->second);
	live_end(s->worker);
	live_end(s->helper);
	tmpdir_remove(&s->dir);
}

static int begin(struct sweep *s)
{
	int r = reap_begin(&s->scene.reap, &s->first, &s->plan);

	/* What was told to leave has left before anybody asks. */
	for (size_t i = 0; i < s->scene.reap.count; i++)
		if (s->scene.reap.victims[i].record.signal &&
		    s->scene.reap.victims[i].stage != ACT_DONE)
			await_end(&s->scene.reap.victims[i]);
	return r;
}

/* @return the intents in the log. */
static size_t intents(const struct sweep *s)
{
	char bytes[64 * 1024];
	size_t lines = 0;
	ssize_t len = fs_read_at(AT_FDCWD, s->log_path, bytes, sizeof(bytes));

	cr_assert_geq(len, 0);
	for (ssize_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	return lines;
}

/* ---- what the second look sees ---- */

static void nothing(struct sweep *s)
{
	(void)s;
}

static void it_ends(struct sweep *s)
{
	kill(s->worker, SIGKILL);
	live_await_state(s->worker, 'Z');
}

static void it_is_not_seen(struct sweep *s)
{
	s->second.subjects[0].id.pid++;
}

static void it_vanishes(struct sweep *s)
{
	s->second.subjects[0].ev.vanished = true;
}

static void it_is_kept(struct sweep *s)
{
	s->second.subjects[0].verdict =
		(struct verdict){ .action = ACTION_KEEP, .reason = REASON_PROGRESS };
}

static void its_threads_change(struct sweep *s)
{
	s->second.subjects[0].ev.threads++;
}

Test(reap_begin, two_looks_must_agree)
{
	static const struct {
		void (*meanwhile)(struct sweep *s);
		int outcome; /* -1: it is signalled */
		const char *want;
		const char *why;
	} rows[] = {
		{ nothing, -1, "", "both say the same" },
		{ it_ends, OUTCOME_VANISHED, "", "it ended by itself" },
		{ it_is_not_seen, OUTCOME_SPARED, "it is no worker any more", "not there" },
		{ it_vanishes, OUTCOME_SPARED, "it is no worker any more", "half there" },
		{ it_is_kept, OUTCOME_SPARED, "the second look says keep progress", "it works" },
		{ its_threads_change, OUTCOME_SPARED, "its threads changed", "it does something" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct action_record *told;
		static struct sweep s;

		sweep_make(&s);
		s.meanwhile = rows[i].meanwhile;
		cr_expect_eq(begin(&s), 0, "%s", rows[i].why);
		cr_expect_eq(s.looks, 1);
		cr_expect(s.scene.reap.second_taken, "%s: it is freed at the end", rows[i].why);
		cr_expect_geq(s.paused_ms, PAUSE_LEAST_MS);
		cr_expect_leq(s.paused_ms, PAUSE_MOST_MS);
		told = told_of(&s.scene, s.worker);
		cr_expect_eq(told ? (int)told->outcome : -1, rows[i].outcome, "%s", rows[i].why);
		cr_expect_str_eq(told ? told->why : "", rows[i].want, "%s", rows[i].why);
		cr_expect_eq(s.scene.reap.victims[0].record.signal,
			     rows[i].outcome < 0 ? SIGTERM : 0, "%s", rows[i].why);
		cr_expect_eq(intents(&s), rows[i].outcome < 0 ? 2 : 0, "%s", rows[i].why);
		cr_expect_eq(s.scene.look.history.kill_count, rows[i].outcome < 0 ? 1 : 0,
			     "a helper does not count: %s", rows[i].why);
		cr_expect_eq(s.scene.reap.victims[1].stage,
			     rows[i].outcome < 0 ? ACT_PINNED : ACT_DONE, "its helper: %s",
			     rows[i].why);
		sweep_done(&s);
	}
}

/* Where nobody is left nothing is written, so a log that cannot be written holds nothing up. */
Test(reap_begin, what_is_spared_needs_no_log)
{
	static struct sweep s;

	sweep_make(&s);
	s.meanwhile = it_is_kept;
	audit_log_close(&s.log);
	cr_expect_eq(begin(&s), 0);
	cr_expect_eq(outcome_of(&s.scene, s.worker), (int)OUTCOME_SPARED);
	sweep_done(&s);
}

Test(reap_begin, an_empty_plan_looks_at_nobody)
{
	static struct sweep s;

	sweep_make(&s);
	s.plan.count = 0;
	cr_expect_eq(begin(&s), 0);
	cr_expect_eq(s.looks, 0);
	cr_expect(s.scene.reap.settled);
	sweep_done(&s);
}

/* ---- how it is ended ---- */

static void it_catches_sigterm(struct sweep *s)
{
	s->second.subjects[0].facts.term_default = false;
}

static void a_single_catches_sigterm(struct sweep *s)
{
	s->first.subjects[0].role = s->second.subjects[0].role = ROLE_SINGLE;
	s->scene.reap.victims[0].role = ROLE_SINGLE;
	s->second.subjects[0].facts.term_default = false;
}

static void its_helper_catches_sigterm(struct sweep *s)
{
	s->second.subjects[1].ev.sig_caught |= SIGTERM_BIT;
}

static void its_share_is_known(struct sweep *s)
{
	s->second.subjects[0].ev.pss_bytes = BUILD_KIB;
}

Test(reap_begin, how_it_is_ended)
{
	static const struct {
		void (*meanwhile)(struct sweep *s);
		int signal;
		bool helper_at_once;
		uint64_t freed;
		const char *why;
	} rows[] = {
		{ nothing, SIGTERM, false, BUILD_MIB, "SIGTERM ends it" },
		{ it_catches_sigterm, SIGKILL, false, BUILD_MIB, "it has its daemon's handler" },
		{ a_single_catches_sigterm, SIGTERM, false, BUILD_MIB, "its handler is its own" },
		{ its_helper_catches_sigterm, SIGTERM, true, BUILD_MIB, "in the pool's group" },
		{ its_share_is_known, SIGTERM, false, BUILD_KIB, "what is shared is not freed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static struct sweep s;

		sweep_make(&s);
		s.meanwhile = rows[i].meanwhile;
		cr_expect_eq(begin(&s), 0, "%s", rows[i].why);
		cr_expect_eq(s.scene.reap.victims[0].record.signal, rows[i].signal, "%s",
			     rows[i].why);
		cr_expect_eq(s.scene.reap.victims[0].anon_bytes, rows[i].freed, "%s", rows[i].why);
		cr_expect_eq(s.scene.reap.victims[1].kill_at_once, rows[i].helper_at_once, "%s",
			     rows[i].why);
		sweep_done(&s);
	}
}

/* ---- what must go well before the first signal ---- */

static void expect_held(const struct sweep *s, int err, int want, enum reap_need need)
{
	cr_expect_eq(err, want);
	cr_expect_eq((int)s->scene.reap.need, (int)need);
	cr_expect_eq(outcome_of(&s->scene, s->worker), (int)OUTCOME_HELD);
	cr_expect_eq(outcome_of(&s->scene, s->helper), (int)OUTCOME_HELD);
	cr_expect_eq(s->scene.reap.victims[0].record.signal, 0);
	cr_expect(s->scene.reap.settled);
}

Test(reap_begin, without_a_second_look_nobody_is_ended)
{
	static struct sweep s;

	sweep_make(&s);
	s.look_error = -EIO;
	expect_held(&s, begin(&s), -EIO, REAP_LOOK);
	cr_expect_not(s.scene.reap.second_taken);
	sweep_done(&s);
}

Test(reap_begin, without_memory_for_a_second_look_nobody_is_ended)
{
	static struct sweep s;
	int err;

	sweep_make(&s);
	no_memory = true;
	err = begin(&s);
	no_memory = false;
	expect_held(&s, err, -ENOMEM, REAP_LOOK);
	cr_expect_eq(s.looks, 0);
	cr_expect_not(s.scene.reap.second_taken);
	sweep_done(&s);
}

Test(reap_begin, without_intents_on_the_disk_nobody_is_ended)
{
	static struct sweep s;

	sweep_make(&s);
	audit_log_close(&s.log);
	expect_held(&s, begin(&s), -EBADF, REAP_INTENTS);
	cr_expect_eq(s.scene.look.history.kill_count, 0);
	sweep_done(&s);
}

Test(reap_begin, without_an_intent_of_each_nobody_is_ended)
{
	for (unsigned i = 1; i <= 2; i++) {
		static struct sweep s;

		sweep_make(&s);
		intents_refused = i;
		expect_held(&s, begin(&s), -ENOMEM, REAP_INTENTS);
		intents_refused = 0;
		sweep_done(&s);
	}
}

/* A helper that a guard kept is told of once, and its worker is held. */
Test(reap_begin, what_is_over_is_not_held)
{
	static struct sweep s;

	sweep_make(&s);
	s.second.subjects[1].ev.tracer = 1;
	audit_log_close(&s.log);
	cr_expect_eq(begin(&s), -EBADF);
	cr_expect_eq(s.scene.told_count, 2, "each once; %zu are told", s.scene.told_count);
	cr_expect_eq(outcome_of(&s.scene, s.worker), (int)OUTCOME_HELD);
	cr_expect_eq(outcome_of(&s.scene, s.scene.reap.victims[1].id.pid), (int)OUTCOME_SPARED);
	sweep_done(&s);
}

Test(reap_begin, who_is_told_to_stop_looks_no_more)
{
	static struct sweep s;

	sweep_make(&s);
	s.told_to_stop = true;
	cr_expect_eq(begin(&s), 0);
	cr_expect_eq(s.looks, 0);
	cr_expect_eq(outcome_of(&s.scene, s.worker), (int)OUTCOME_HELD);
	cr_expect_eq(outcome_of(&s.scene, s.helper), (int)OUTCOME_HELD);
	cr_expect(s.scene.reap.settled);
	sweep_done(&s);
}

static void memory_runs_out(struct sweep *s)
{
	(void)s;
	grow_fail_at(1); /* the next: the kill that is to be counted */
}

Test(reap_begin, what_cannot_be_counted_is_held)
{
	static struct sweep s;

	sweep_make(&s);
	s.meanwhile = memory_runs_out;
	cr_expect_eq(begin(&s), 0);
	cr_assert(grow_has_failed());
	cr_expect_eq(s.scene.reap.error, -ENOMEM);
	cr_expect_eq(outcome_of(&s.scene, s.worker), (int)OUTCOME_HELD);
	cr_expect_eq(s.scene.reap.victims[0].record.signal, 0);
	sweep_done(&s);
}

/* A worker and its helpers, or none of them. */
Test(reap_begin, what_cannot_be_pinned_whole_is_refused)
{
	struct rlimit before;
	static struct sweep s;
	int r;

	sweep_make(&s);
	grow_fail_at(2); /* its helper */
	cr_expect_eq(begin(&s), 0);
	cr_assert(grow_has_failed());
	cr_expect_eq(s.scene.reap.count, 0);
	cr_expect_eq(outcome_of(&s.scene, s.worker), (int)OUTCOME_REFUSED);
	cr_expect_eq(s.looks, 0);
	sweep_done(&s);

	sweep_make(&s);
	before = allow_descriptors(PINS_SPARED + 2); /* the worker's own */
	r = begin(&s);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(r, 0);
	cr_expect_eq(s.scene.reap.count, 0);
	cr_expect_eq(outcome_of(&s.scene, s.worker), (int)OUTCOME_REFUSED);
	sweep_done(&s);
}

/* ---- after the first signal ---- */

/*
 * Only who is about to be signalled is asked for once more. The second look did not see it here, so the one
 * that is asked is spared.
 */
Test(reap_begin, who_is_asked_once_more)
{
	static const struct {
		enum act_stage stage;
		int64_t left_ms; /* until its deadline */
		enum act_stage want;
		const char *why;
	} rows[] = {
		{ ACT_PINNED, 0, ACT_DONE, "before SIGTERM" },
		{ ACT_TERMED, LONG_MS, ACT_TERMED, "it has time to leave" },
		{ ACT_TERMED, 0, ACT_DONE, "before SIGKILL, at the very moment" },
		{ ACT_TERMED, -1, ACT_DONE, "before SIGKILL" },
		{ ACT_KILLED, LONG_MS, ACT_KILLED, "there is no third signal" },
		{ ACT_KILLED, 0, ACT_UNKILLABLE, "nor when it is not gone" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid = live_start(live_pause, NULL);
		const uint64_t now = clock_boot_ms();
		struct scene s;
		struct victim *v;

		scene_make(&s);
		v = add(&s, pid, ROLE_WORKER);
		s.reap.second.subjects[0].id.pid++;
		v->stage = rows[i].stage;
		v->began_ms = 1;
		v->deadline_ms = now + (uint64_t)rows[i].left_ms;
		(void)reap_step(&s.reap, now);
		cr_expect_eq(v->stage, rows[i].want, "%s", rows[i].why);
		cr_expect_eq(v->record.signal, 0, "%s", rows[i].why);
		scene_done(&s);
		live_end(pid);
	}
}

Test(reap_begin, who_outlives_sigkill_is_remembered)
{
	static const struct {
		bool known, still_there, noted;
		const char *why;
	} rows[] = {
		{ true, true, true, "it is looked at less often from now on" },
		{ true, false, false, "it is gone" },
		{ false, true, false, "a helper is in no history" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t pid = live_start(live_pause, NULL);
		struct history_entry *e = NULL;
		struct scene s;
		struct victim *v;

		scene_make(&s);
		v = add(&s, pid, ROLE_WORKER);
		v->stage = ACT_KILLED;
		v->began_ms = v->deadline_ms = 1;
		if (rows[i].known)
			e = history_touch(&s.look.history, v->id, 1);
		if (!rows[i].still_there)
			live_end(pid);
		cr_expect_not(reap_step(&s.reap, clock_boot_ms()), "%s", rows[i].why);
		cr_expect_eq(e && e->unkillable, rows[i].noted, "%s", rows[i].why);
		cr_expect_eq(outcome_of(&s, pid),
			     rows[i].still_there ? (int)OUTCOME_UNKILLABLE : (int)OUTCOME_KILLED);
		scene_done(&s);
		if (rows[i].still_there)
			live_end(pid);
	}
}

Test(reap_begin, whom_and_when_to_wait_for)
{
	static const struct {
		enum act_stage stage;
		uint64_t deadline_ms;
	} stages[] = {
		{ ACT_PINNED, 1 },     { ACT_TERMED, 9 }, { ACT_KILLED, 5 },
		{ ACT_UNKILLABLE, 2 }, { ACT_DONE, 3 },
	};
	struct victim victims[ARRAY_SIZE(stages)] = { 0 };
	struct reap r = { .victims = victims };

	cr_expect_eq(reap_deadline_ms(&r), UNKNOWN_U64, "nobody");
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		victims[i].stage = stages[i].stage;
		victims[i].deadline_ms = stages[i].deadline_ms;
		cr_expect_eq(reap_waits_for(&victims[i]), i < 3);
	}
	r.count = 1;
	cr_expect_eq(reap_deadline_ms(&r), UNKNOWN_U64, "it has no deadline yet");
	r.count = ARRAY_SIZE(stages);
	cr_expect_eq(reap_deadline_ms(&r), 5, "the first of those that are signalled");
}

Test(reap_begin, who_stops_tells_of_each_once)
{
	pid_t alive = live_start(live_pause, NULL), ended = live_start(live_pause, NULL),
	      over = live_start(live_pause, NULL);
	struct scene s;

	scene_make(&s);
	add(&s, alive, ROLE_WORKER)->stage = ACT_TERMED;
	add(&s, ended, ROLE_WORKER)->stage = ACT_TERMED;
	add(&s, over, ROLE_WORKER)->stage = ACT_DONE;
	live_end(ended);
	reap_stop(&s.reap, "enough");
	cr_expect_eq(s.told_count, 2);
	cr_expect_eq(outcome_of(&s, alive), (int)OUTCOME_HELD);
	cr_expect_eq(outcome_of(&s, ended), (int)OUTCOME_EXITED);
	cr_expect_null(told_of(&s, over));
	scene_done(&s);
	live_end(alive);
	live_end(over);
}

Test(reap_begin, a_second_look_is_freed_where_it_was_taken)
{
	static struct reap r;

	r.second = build_audit();
	(void)build_worker(&r.second, -1, 1);
	reap_done(&r);
	cr_expect_eq(r.second.subject_count, 1, "it is not its own");
	r.second_taken = true;
	reap_done(&r);
	cr_expect_eq(r.second.subject_count, 0);
	cr_expect_not(r.second_taken);
}

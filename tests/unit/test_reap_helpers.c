/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which helpers go with their worker: each guard alone, and what is found below a victim later.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "app/reap_helpers.h"
#include "base/fs.h"
#include "reap_scene.h"
#include "tmpdir.h"

TestSuite(reap_helpers, .timeout = 60);

enum {
	WORKER_PID = 100,
	BETWEEN_PID = 150,
	HELPER_PID = 200,
	NOBODY_PID = 4194304, /* above every pid */
	ANOTHER_UID = 1,
	ANOTHER_NS = 1,
	ROOM = 80,
};

#define SIGTERM_BIT (UINT64_C(1) << (SIGTERM - 1))

/* ---- the guards of the second look; nobody lives ---- */

/* A worker, its child, and the child's child: a helper that is to go with it. */
struct family {
	struct victim victims[2];
	struct reap reap;
	struct subject *worker, *helper;
	struct proc *between, *proc;
	size_t told;
};

static struct config config; /* half a megabyte */

static void count_told(void *arg, const struct action_record *record)
{
	size_t *told = arg;

	(void)record;
	(*told)++;
}

static void family_make(struct family *f)
{
	struct snapshot *s = &f->reap.second.snapshot;

	config = (struct config){ .policy = build_policy() };
	*f = (struct family){
		.victims = { { .id.pid = WORKER_PID,
			       .role = ROLE_WORKER,
			       .dirfd = -1,
			       .pidfd = -1 },
			     { .role = ROLE_HELPER, .dirfd = -1, .pidfd = -1 } },
		.reap = { .config = &config,
			  .count = 2,
			  .second = build_audit(),
			  .sink = count_told,
			  .arg = &f->told },
	};
	f->reap.victims = f->victims;
	(void)build_worker(&f->reap.second, -1, WORKER_PID);
	f->helper = build_helper(&f->reap.second, HELPER_PID);
	f->worker = &f->reap.second.subjects[0];
	f->victims[1].id = f->helper->id;
	s->procs = calloc(3, sizeof(*s->procs));
	cr_assert_not_null(s->procs);
	s->count = 3;
	s->procs[0] = (struct proc){ .id = f->worker->id, .ppid = 1 };
	s->procs[1] = (struct proc){ .id.pid = BETWEEN_PID, .ppid = WORKER_PID };
	s->procs[2] = (struct proc){ .id = f->helper->id, .ppid = BETWEEN_PID, .comm = "precious" };
	f->between = &s->procs[1];
	f->proc = &s->procs[2];
}

static void unseen(struct family *f)
{
	f->reap.second.snapshot.count--;
}

static void vanished(struct family *f)
{
	f->helper->ev.vanished = true;
}

static void of_another_user(struct family *f)
{
	f->helper->ev.uids[1] = ANOTHER_UID;
}

static void of_unknown_users(struct family *f)
{
	f->helper->ev.ids_known = false;
}

static void setuid_program(struct family *f)
{
	f->helper->ev.exe_setuid = true;
}

static void of_unknown_namespaces(struct family *f)
{
	f->helper->ev.pid_ns = f->worker->ev.pid_ns = 0;
}

static void in_another_namespace(struct family *f)
{
	f->helper->ev.pid_ns = ANOTHER_NS;
}

static void first_of_its_namespace(struct family *f)
{
	f->helper->ev.ns_pid = 1;
}

static void traced(struct family *f)
{
	f->helper->ev.tracer = 1;
}

static void dumping(struct family *f)
{
	f->helper->ev.dumping = TRI_YES;
}

static void above_a_worker(struct family *f)
{
	f->proc->above = true;
}

static void a_host(struct family *f)
{
	f->proc->listed = true;
}

static void protected_by_name(struct family *f)
{
	(void)f;
	config.protect.count = 1;
	config.protect.rule[0] = (struct protect_rule){ .kind = PROTECT_COMM, .value = "precious" };
}

static void below_a_daemon(struct family *f)
{
	f->between->listed = true;
}

static void below_what_may_be_a_daemon(struct family *f)
{
	f->between->argv_unread = true;
}

static void what_may_be_a_daemon(struct family *f)
{
	f->proc->argv_unread = true;
}

static void gone(struct family *f)
{
	f->helper->id.pid++;
}

static void without_its_worker(struct family *f)
{
	f->worker->id.pid++;
}

static void a_worker_by_now(struct family *f)
{
	f->helper->role = ROLE_WORKER;
}

static void another_process(struct family *f)
{
	f->helper->id.start++;
}

static void its_worker_is_spared(struct family *f)
{
	f->victims[0].stage = ACT_DONE;
}

static void nothing(struct family *f)
{
	(void)f;
}

#define ANOTHERS "it may be of another host or daemon than its worker"

Test(reap_helpers, each_guard_spares_alone)
{
	static const struct {
		void (*happens)(struct family *f);
		const char *want; /* NULL: it goes with its worker */
		const char *why;
		bool told; /* it is there, and kept for what it is */
	} rows[] = {
		{ nothing, NULL, "nothing objects" },
		{ unseen, "it was gone before a signal", "it is in no list of the second look" },
		{ vanished, "it was gone before a signal", "it ended while it was looked at" },
		{ of_another_user, "it is another user's", "its effective user", true },
		{ of_unknown_users, "it is another user's", "nobody knows whose it is", true },
		{ setuid_program, "it is another user's", "a set-user-ID program", true },
		{ of_unknown_namespaces, "it lives in another pid namespace", "nobody knows",
		  true },
		{ in_another_namespace, "it lives in another pid namespace", "a container's",
		  true },
		{ first_of_its_namespace, "it lives in another pid namespace", "its pid 1", true },
		{ traced, "it is traced", "somebody looks at it", true },
		{ dumping, "it is traced", "its core is wanted", true },
		{ above_a_worker, "a worker lives below it", "a JVM below a worker", true },
		{ a_host, "it is a host or a daemon", "itself", true },
		{ protected_by_name, "a [protect] rule names it", "the operator's word", true },
		{ below_a_daemon, ANOTHERS, "between it and its worker is a daemon", true },
		{ below_what_may_be_a_daemon, ANOTHERS, "... or may be one", true },
		{ what_may_be_a_daemon, ANOTHERS, "it may be one itself", true },
		{ gone, "it is no helper any more", "it was not looked at" },
		{ without_its_worker, "it is no helper any more", "nor was its worker" },
		{ a_worker_by_now, "it is no helper any more", "its parent is a daemon" },
		{ another_process, "it is no helper any more", "its number was given away" },
		{ its_worker_is_spared, "its worker is not ended", "a pool would fork anew" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct family f;

		family_make(&f);
		rows[i].happens(&f);
		reap_spare_helpers(&f.reap, 0);
		cr_expect_str_eq(f.victims[1].record.why, rows[i].want ? rows[i].want : "", "%s",
				 rows[i].why);
		cr_expect_eq(f.victims[1].stage, rows[i].want ? ACT_DONE : ACT_PINNED, "%s",
			     rows[i].why);
		if (rows[i].want)
			cr_expect_eq((int)f.victims[1].record.outcome, (int)OUTCOME_SPARED);
		cr_expect_eq(f.told, (size_t)rows[i].told, "%s", rows[i].why);
		audit_done(&f.reap.second);
	}
}

Test(reap_helpers, what_is_over_is_not_told_again)
{
	struct family f;

	family_make(&f);
	f.victims[1].stage = ACT_DONE;
	f.victims[1].record.outcome = OUTCOME_VANISHED;
	traced(&f);
	reap_spare_helpers(&f.reap, 0);
	cr_expect_eq((int)f.victims[1].record.outcome, (int)OUTCOME_VANISHED);
	audit_done(&f.reap.second);
}

Test(reap_helpers, who_gets_sigkill_at_once)
{
	static const struct {
		enum role worker;
		bool other_group, caught, unknown, unseen;
		bool at_once;
		const char *why;
	} rows[] = {
		{ .worker = ROLE_WORKER, .why = "SIGTERM ends it" },
		{ .worker = ROLE_WORKER,
		  .caught = true,
		  .at_once = true,
		  .why = "trap 'kill 0' TERM would end the pool" },
		{ .worker = ROLE_WORKER,
		  .unknown = true,
		  .at_once = true,
		  .why = "nobody knows whether it catches it" },
		{ .worker = ROLE_WORKER,
		  .caught = true,
		  .other_group = true,
		  .why = "a group of its own" },
		{ .worker = ROLE_SINGLE, .caught = true, .why = "a program has no pool" },
		{ .worker = ROLE_WORKER,
		  .caught = true,
		  .unseen = true,
		  .why = "it is spared anyway" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct family f;

		family_make(&f);
		f.worker->role = rows[i].worker;
		f.helper->ev.pgrp = f.worker->ev.pgrp + rows[i].other_group;
		f.helper->ev.sig_caught = rows[i].caught ? SIGTERM_BIT : 0;
		f.helper->ev.signals_known = !rows[i].unknown;
		f.worker->id.pid += rows[i].unseen;
		reap_prepare_helper(&f.reap, &f.victims[1], &f.helper->ev);
		cr_expect_eq(f.victims[1].kill_at_once, rows[i].at_once, "%s", rows[i].why);
		audit_done(&f.reap.second);
	}
}

Test(reap_helpers, only_those_that_wait_for_their_signal_are_looked_at_again)
{
	static const struct {
		enum act_stage stage;
		bool shown, listed, spared;
		const char *why;
	} rows[] = {
		{ ACT_PINNED, true, true, true, "it became a host" },
		{ ACT_PINNED, true, false, false, "it is what it was" },
		{ ACT_TERMED, true, true, false, "it has its signal" },
		{ ACT_PINNED, false, true, false, "it is gone" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct family f;
		size_t told = 0;

		family_make(&f);
		f.reap.sink = count_told;
		f.reap.arg = &told;
		f.victims[0].id = f.worker->id;
		f.victims[1].stage = rows[i].stage;
		f.proc->listed = rows[i].listed;
		f.reap.second.snapshot.procs[0].listed = true; /* the worker */
		if (!rows[i].shown)
			f.reap.second.snapshot.count--;
		reap_spare_pending(&f.reap, &f.reap.second.snapshot);
		cr_expect_eq(f.victims[1].stage, rows[i].spared ? ACT_DONE : rows[i].stage, "%s",
			     rows[i].why);
		cr_expect_eq(told, (size_t)rows[i].spared, "%s", rows[i].why);
		cr_expect_eq(f.victims[0].stage, ACT_PINNED, "a worker is judged by a look");
		audit_done(&f.reap.second);
	}
}

/* ---- what is pinned with a worker ---- */

/* All of them are this very process: it can be pinned as often as one likes. */
static struct subject *add_helper(struct audit *a, pid_t pid, bool holds_task_socket)
{
	struct subject *s = build_helper(a, pid);

	s->holds_task_socket = holds_task_socket;
	return s;
}

static size_t pinned(bool helpers, const struct audit *first, int *ret_err)
{
	struct reap r = { .config = &config };
	size_t count;

	config = (struct config){ .policy = build_policy() };
	config.policy.helpers = helpers;
	cr_assert_eq(reap_add(&r, first->subjects[0].id, ROLE_WORKER, 0), 0);
	*ret_err = reap_pin_helpers(&r, first, 0, 0);
	count = r.count - 1;
	for (size_t i = 1; i < r.count; i++) {
		cr_expect_eq(r.victims[i].role, ROLE_HELPER);
		cr_expect_eq(r.victims[i].worker, 0);
	}
	reap_done(&r);
	return count;
}

Test(reap_helpers, those_of_its_own_are_pinned)
{
	struct audit first = build_audit();
	int err;

	(void)build_worker(&first, -1, getpid());
	(void)add_helper(&first, getpid(), false);
	(void)add_helper(&first, NOBODY_PID, true);
	(void)add_helper(&first, getpid(), true);
	(void)build_worker(&first, -1, getpid());
	(void)add_helper(&first, getpid(), true);
	cr_expect_eq(pinned(true, &first, &err), 2, "neither the one that is gone nor another's");
	cr_expect_eq(err, 0);
	cr_expect_eq(pinned(false, &first, &err), 1, "it holds the task socket");
	cr_expect_eq(err, 0);
	audit_done(&first);
}

Test(reap_helpers, no_more_than_the_limit_are_pinned)
{
	struct audit first = build_audit();
	int err;

	(void)build_worker(&first, -1, getpid());
	for (int i = 0; i <= REAP_HELPERS_MAX; i++)
		(void)add_helper(&first, getpid(), false);
	cr_expect_eq(pinned(true, &first, &err), REAP_HELPERS_MAX);
	cr_expect_eq(err, 0);
	audit_done(&first);
}

Test(reap_helpers, one_that_cannot_be_pinned_keeps_all)
{
	struct audit first = build_audit();
	struct rlimit before;
	int err;

	(void)build_worker(&first, -1, getpid());
	(void)add_helper(&first, getpid(), false);
	before = allow_descriptors(2); /* the worker's own */
	(void)pinned(true, &first, &err);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(err, -EMFILE);
	audit_done(&first);
}

/* ---- what appears below a victim: the worker is this program, its children live ---- */

static bool is_shown;         /* else the processes that there are */
static struct snapshot shown; /* by the next list */
static int look_error;
static pid_t births[REAP_ROUNDS_MAX + 1]; /* one more child in each list; 0: none */

int __real_look_who(struct look *l, struct audit *ret);
int __wrap_look_who(struct look *l, struct audit *ret);

struct below {
	struct scene scene;
	struct tmpdir dir;
	struct audit_log log;
	char log_path[PATH_MAX];
	pid_t one, other; /* children */
};

static struct proc *show(pid_t pid, pid_t ppid)
{
	_cleanup_(evidence_done) struct evidence e = { 0 };
	_cleanup_close_ int dirfd = pin_open(pid);
	struct proc *p = snapshot_add(&shown);

	cr_assert_not_null(p);
	*p = (struct proc){ .id.pid = pid, .ppid = ppid, .state = 'S', .flags = PROC_FORKNOEXEC };
	if (dirfd >= 0 && evidence_look(dirfd, pid, EVIDENCE_IDENTITY, NULL, &e) == 0)
		p->id.start = e.id.start;
	return p;
}

int __wrap_look_who(struct look *l, struct audit *ret)
{
	static size_t lists;

	if (!is_shown)
		return __real_look_who(l, ret);
	if (look_error)
		return look_error;
	if (births[0] && lists < ARRAY_SIZE(births))
		(void)show(births[lists++], getpid());
	*ret = build_audit();
	ret->snapshot = shown;
	shown = (struct snapshot){ 0 };
	snapshot_sort(&ret->snapshot);
	return 0;
}

static void below_make(struct below *b)
{
	*b = (struct below){ .dir = tmpdir_make() };
	scene_make(&b->scene);
	b->scene.config.policy = build_policy();
	b->scene.reap.room = ROOM;
	b->scene.reap.victims = calloc(ROOM, sizeof(struct victim));
	cr_assert_not_null(b->scene.reap.victims);
	cr_assert_eq(audit_log_open(tmpdir_path(&b->dir, "log", b->log_path), &b->log), 0);
	b->scene.reap.log = &b->log;
	b->one = live_start(live_pause, NULL);
	b->other = live_start(live_pause, NULL);
	add(&b->scene, getpid(), ROLE_WORKER)->stage = ACT_TERMED;
	b->scene.reap.victims[0].deadline_ms = clock_boot_ms() + LONG_MS;
	is_shown = true;
}

static void below_done(struct below *b)
{
	scene_done(&b->scene);
	audit_log_close(&b->log);
	snapshot_done(&shown);
	is_shown = false;
	look_error = 0;
	live_end(b->one);
	live_end(b->other);
	tmpdir_remove(&b->dir);
}

/* @return the intents in the log. */
static size_t intents(const struct below *b)
{
	char bytes[64 * 1024];
	size_t lines = 0;
	ssize_t len = fs_read_at(AT_FDCWD, b->log_path, bytes, sizeof(bytes));

	cr_assert_geq(len, 0);
	for (ssize_t i = 0; i < len; i++)
		lines += bytes[i] == '\n';
	return lines;
}

static void a_child(struct below *b)
{
	(void)show(b->one, getpid());
}

static void two_children(struct below *b)
{
	(void)show(b->one, getpid());
	(void)show(b->other, getpid());
}

static void one_that_is_another_by_now(struct below *b)
{
	show(b->one, getpid())->id.start++;
	(void)show(b->other, getpid());
}

static void one_that_has_another_parent_by_now(struct below *b)
{
	show(b->one, getpid())->state = 'Z';
	(void)show(b->other, b->one);
}

static void one_to_which_a_guard_objects(struct below *b)
{
	show(b->one, getpid())->above = true;
}

static void one_that_has_ended(struct below *b)
{
	show(b->one, getpid())->state = 'Z';
}

static void one_that_is_gone(struct below *b)
{
	(void)show(NOBODY_PID, getpid());
	(void)show(b->other, getpid());
}

static void one_that_is_known(struct below *b)
{
	add(&b->scene, b->one, ROLE_HELPER)->id = show(b->one, getpid())->id;
}

static void a_child_of_one_that_is_over(struct below *b)
{
	b->scene.reap.victims[0].stage = ACT_DONE;
	(void)show(b->one, getpid());
}

static void a_child_of_one_that_has_ended(struct below *b)
{
	pid_t ended = live_start(live_pause, NULL);

	fs_close(&b->scene.reap.victims[0].dirfd);
	b->scene.reap.victims[0].dirfd = pin_open(ended);
	live_end(ended);
	(void)show(b->one, getpid());
}

static void of_one_that_was_not_seen(struct below *b)
{
	b->scene.reap.second.subjects[0].id.pid++;
	(void)show(b->one, getpid());
}

static void helpers_stay(struct below *b)
{
	b->scene.config.policy.helpers = false;
	(void)show(b->one, getpid());
}

static void a_program_of_a_worker(struct below *b)
{
	show(b->one, getpid())->flags = 0;
}

static void a_program_of_a_program(struct below *b)
{
	b->scene.reap.victims[0].role = ROLE_SINGLE;
	show(b->one, getpid())->flags = 0;
}

static void what_a_program_forked(struct below *b)
{
	b->scene.reap.victims[0].role = ROLE_SINGLE;
	(void)show(b->one, getpid());
}

static void fill(struct below *b, size_t count, size_t worker)
{
	struct reap *r = &b->scene.reap;

	for (size_t i = 0; i < count; i++)
		r->victims[r->count++] = (struct victim){ .role = ROLE_HELPER,
							  .worker = worker,
							  .stage = ACT_DONE,
							  .dirfd = -1,
							  .pidfd = -1 };
	(void)show(b->one, getpid());
}

static void one_less_than_may_be(struct below *b)
{
	fill(b, REAP_HELPERS_MAX - 1, 0);
}

static void as_many_as_may_be(struct below *b)
{
	fill(b, REAP_HELPERS_MAX, 0);
}

static void as_many_of_another(struct below *b)
{
	fill(b, REAP_HELPERS_MAX, 1);
}

static void a_rule_that_asks_for_the_cgroup(struct below *b)
{
	b->scene.config.protect = (struct protect){
		.count = 1,
		.wants_cgroup = true,
		.rule[0] = { .kind = PROTECT_CGROUP, .value = "/nobody's" },
	};
	(void)show(b->one, getpid());
}

Test(reap_helpers, what_appears_below_a_victim)
{
	static const struct {
		void (*happens)(struct below *b);
		int added;
		size_t spared; /* pinned, and let go */
		const char *why;
	} rows[] = {
		{ a_child, 1, 0, "it goes too" },
		{ two_children, 2, 0, "both go" },
		{ one_that_is_another_by_now, 1, 1, "its number was given away" },
		{ one_that_has_another_parent_by_now, 0, 1, "it is below nobody who ends" },
		{ one_to_which_a_guard_objects, 0, 1, "a worker lives below it" },
		{ one_that_has_ended, 0, 0, "it only waits for its parent" },
		{ one_that_is_gone, 1, 0, "the next one is found all the same" },
		{ one_that_is_known, 0, 0, "it is ended once" },
		{ a_child_of_one_that_is_over, 0, 0, "what it left behind is nobody's" },
		{ a_child_of_one_that_has_ended, 0, 0, "whoever has its number is another" },
		{ of_one_that_was_not_seen, 0, 0, "nothing to compare it with" },
		{ helpers_stay, 0, 0, "helpers = no" },
		{ a_program_of_a_worker, 1, 0, "a worker's programs go with it" },
		{ a_program_of_a_program, 0, 0, "a program that it started is its own" },
		{ what_a_program_forked, 1, 0, "its processes go with it" },
		{ one_less_than_may_be, 1, 0, "there is room for one" },
		{ as_many_as_may_be, 0, 0, "there is no room" },
		{ as_many_of_another, 1, 0, "they take no room here" },
		{ a_rule_that_asks_for_the_cgroup, 1, 0, "it is asked, and names another" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct victim *v;
		size_t before, spared = 0;
		struct below b;

		below_make(&b);
		rows[i].happens(&b);
		before = b.scene.reap.count;
		cr_expect_eq(reap_find_new_helpers(&b.scene.reap), rows[i].added, "%s",
			     rows[i].why);
		cr_expect_eq(intents(&b), (size_t)rows[i].added, "%s", rows[i].why);
		for (size_t n = before; n < b.scene.reap.count; n++) {
			v = &b.scene.reap.victims[n];
			cr_expect_eq(v->worker, 0, "%s", rows[i].why);
			spared += v->stage == ACT_DONE && v->record.outcome == OUTCOME_SPARED;
		}
		cr_expect_eq(spared, rows[i].spared, "%s", rows[i].why);
		cr_expect_eq(b.scene.reap.count - before - spared, (size_t)rows[i].added, "%s",
			     rows[i].why);
		cr_expect_eq(b.scene.reap.victims[0].stage == ACT_DONE,
			     rows[i].happens == a_child_of_one_that_is_over, "%s", rows[i].why);
		below_done(&b);
	}
}

Test(reap_helpers, without_an_intent_on_the_disk_none_is_added)
{
	struct below b;

	below_make(&b);
	audit_log_close(&b.log);
	(void)show(b.one, getpid());
	cr_expect_lt(reap_find_new_helpers(&b.scene.reap), 0);
	cr_assert_eq(b.scene.reap.count, 2);
	cr_expect_eq(b.scene.reap.victims[1].stage, ACT_DONE);
	cr_expect_eq((int)b.scene.reap.victims[1].record.outcome, (int)OUTCOME_HELD);
	show(b.one, getpid())->state = 'Z';
	cr_expect_eq(reap_find_new_helpers(&b.scene.reap), 0, "nothing is to be written");
	below_done(&b);
}

Test(reap_helpers, a_list_that_fails_adds_none)
{
	struct below b;

	below_make(&b);
	audit_log_close(&b.log);
	look_error = -EIO;
	cr_expect_eq(reap_find_new_helpers(&b.scene.reap), -EIO);
	cr_expect_eq(b.scene.reap.count, 1);
	below_done(&b);
}

Test(reap_helpers, what_cannot_be_pinned_is_said)
{
	struct rlimit before;
	struct below b;
	int err;

	below_make(&b);
	two_children(&b);
	before = allow_descriptors(1);
	err = reap_find_new_helpers(&b.scene.reap);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(err, -EMFILE);
	cr_expect_eq(b.scene.reap.count, 1);
	below_done(&b);
}

Test(reap_helpers, what_is_not_ended_was_not_intended)
{
	struct rlimit before;
	struct below b;
	int err;

	below_make(&b);
	two_children(&b);
	before = allow_descriptors(3); /* the first of them, and a look at it */
	err = reap_find_new_helpers(&b.scene.reap);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	cr_expect_eq(err, -EMFILE);
	cr_assert_eq(b.scene.reap.count, 2);
	cr_expect_eq((int)b.scene.reap.victims[1].record.outcome, (int)OUTCOME_HELD);
	cr_expect_eq(intents(&b), 0);
	below_done(&b);
}

/* ---- when they are looked for ---- */

Test(reap_helpers, lists_are_taken_until_nothing_is_new)
{
	struct below b;

	below_make(&b);
	b.scene.reap.settled = false;
	a_child(&b);
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.count, 2);
	cr_expect_eq(b.scene.reap.rounds, 2, "the second showed nothing new");
	cr_expect(b.scene.reap.settled);
	a_child(&b);
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.rounds, 2, "no more are taken");
	cr_expect_eq(b.scene.reap.error, 0);
	below_done(&b);
}

Test(reap_helpers, a_list_that_fails_is_the_last)
{
	struct below b;

	below_make(&b);
	b.scene.reap.settled = false;
	look_error = -EIO;
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.error, -EIO);
	cr_expect_eq(b.scene.reap.rounds, 1);
	b.scene.reap.settled = false;
	b.scene.reap.error = -ENOMEM;
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.error, -ENOMEM, "the first error is told");
	b.scene.reap.settled = false;
	look_error = 0;
	a_child(&b);
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.error, -ENOMEM, "and stays");
	below_done(&b);
}

Test(reap_helpers, where_all_is_over_no_list_is_taken)
{
	struct below b;

	below_make(&b);
	b.scene.reap.settled = false;
	a_child(&b);
	b.scene.reap.victims[0].stage = ACT_DONE;
	cr_expect_not(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.rounds, 0);
	below_done(&b);
}

Test(reap_helpers, who_forks_for_ever_is_not_followed_for_ever)
{
	struct below b;

	below_make(&b);
	b.scene.reap.settled = false;
	for (size_t i = 0; i < ARRAY_SIZE(births); i++)
		births[i] = live_start(live_pause, NULL);
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.count, 1 + REAP_ROUNDS_MAX);
	cr_expect(reap_step(&b.scene.reap, clock_boot_ms()));
	cr_expect_eq(b.scene.reap.count, 1 + REAP_ROUNDS_MAX, "nor at the next step");
	for (size_t i = 0; i < ARRAY_SIZE(births); i++)
		live_end(births[i]);
	below_done(&b);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of the kill path on living processes: who is signalled when, and what is told of it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/reap.h"
#include "app/reap_helpers.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/pin.h"
#include "build.h"
#include "live.h"
#include "model/grow.h"
#include "observe/evidence.h"
#include "tmpdir.h"

TestSuite(reap, .timeout = 120);

enum {
	TOLD_MAX = 64,
	MANY = 40,
	SOON_MS = 200,
	LONG_MS = 60 * 1000,
};

struct scene {
	struct look look;
	struct config config;
	struct reap reap;
	struct action_record told[TOLD_MAX];
	size_t told_count;
};

static void tell(void *arg, const struct action_record *record)
{
	struct scene *s = arg;

	cr_assert_lt(s->told_count, TOLD_MAX);
	s->told[s->told_count++] = *record;
}

static void scene_make(struct scene *s)
{
	*s = (struct scene){
		.config = { .term_grace_ms = LONG_MS, .kill_grace_ms = LONG_MS },
		.reap = { .look = &s->look, .config = &s->config, .sink = tell, .arg = s },
	};
	s->reap.settled = true; /* no list of the tree: all are here */
}

static void scene_done(struct scene *s)
{
	reap_done(&s->reap);
	history_done(&s->look.history);
}

/* Adds a process; a helper belongs to the first, a worker. */
static struct victim *add(struct scene *s, pid_t pid, enum role role)
{
	struct reap *r = &s->reap;
	struct victim *more = grow(r->victims, r->count, &r->room, sizeof(*more), TOLD_MAX);

	cr_assert_not_null(more);
	r->victims = more;
	cr_assert_eq(act_pin((struct ident){ .pid = pid }, role, &more[r->count]), 0);
	more[r->count].worker = 0;
	return &more[r->count++];
}

static const struct action_record *told_of(const struct scene *s, pid_t pid)
{
	const struct action_record *found = NULL;

	for (size_t i = 0; i < s->told_count; i++)
		if (s->told[i].id.pid == pid) {
			cr_expect_null(found, "%d is told of twice", pid);
			found = &s->told[i];
		}
	return found;
}

static void await_end(const struct victim *v)
{
	cr_assert_eq(pin_wait(v->pidfd, LIVE_WAIT_MS), 1);
}

Test(reap, a_helper_that_ends_before_its_worker_is_not_waited_for)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER)->stage = ACT_KILLED; /* as if it took its time */
	s.reap.victims[0].began_ms = clock_boot_ms();
	s.reap.victims[0].deadline_ms = clock_boot_ms() + LONG_MS;
	live_end(add(&s, helper, ROLE_HELPER)->id.pid);
	cr_expect(reap_step(&s.reap, clock_boot_ms()), "the worker is still there");
	cr_expect_not(reap_waits_for(&s.reap.victims[1]), "poll(2) would return at once, for ever");
	cr_assert_not_null(told_of(&s, helper));
	cr_expect_eq(told_of(&s, helper)->outcome, OUTCOME_VANISHED);
	cr_expect_null(told_of(&s, worker));
	scene_done(&s);
	live_end(worker);
}

Test(reap, who_is_told_to_stop_signals_nobody_more)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	const struct action_record *told;
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER);
	add(&s, helper, ROLE_HELPER);
	cr_expect(reap_step(&s.reap, clock_boot_ms()));
	await_end(&s.reap.victims[0]);
	reap_stop(&s.reap, "told to stop");
	told = told_of(&s, worker);
	cr_assert_not_null(told);
	cr_expect_eq(told->outcome, OUTCOME_EXITED);
	cr_expect_lt(told->took_ms, LIVE_WAIT_MS, "it took %lu ms", told->took_ms);
	told = told_of(&s, helper);
	cr_assert_not_null(told);
	cr_expect_eq(told->outcome, OUTCOME_HELD);
	cr_expect_eq(told->signal, 0);
	cr_expect_eq(pin_wait(s.reap.victims[1].pidfd, SOON_MS), 0, "the helper was signalled");
	scene_done(&s);
	live_end(worker);
	live_end(helper);
}

Test(reap, a_helper_is_ended_after_its_worker)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);
	struct scene s;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER)->kill_at_once = true;
	add(&s, helper, ROLE_HELPER);
	cr_expect(reap_step(&s.reap, clock_boot_ms()));
	cr_expect_eq(s.reap.victims[1].stage, ACT_PINNED);
	await_end(&s.reap.victims[0]);
	cr_expect(reap_step(&s.reap, clock_boot_ms()));
	await_end(&s.reap.victims[1]);
	cr_expect_not(reap_step(&s.reap, clock_boot_ms()));
	cr_assert_eq(s.told_count, 2);
	cr_expect_eq(s.told[0].outcome, OUTCOME_KILLED);
	cr_expect_eq(s.told[0].signal, SIGKILL);
	cr_expect_eq(s.told[1].outcome, OUTCOME_EXITED);
	cr_expect_eq(s.told[1].signal, SIGTERM);
	scene_done(&s);
	live_end(worker);
	live_end(helper);
}

/* ---- with a second look ---- */

struct whole {
	struct scene scene;
	struct config *config;
	struct tmpdir dir;
	struct audit_log log;
	char log_path[128];
	struct audit first;
	size_t items[MANY];
};

/* A first look that took these processes for workers that are due. */
static void whole_make(struct whole *w, const pid_t *pids, size_t count)
{
	struct problem problem;

	scene_make(&w->scene);
	w->dir = tmpdir_make();
	(void)snprintf(w->log_path, sizeof(w->log_path), "%s/audit.jsonl", w->dir.path);
	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &w->config, &problem), 0);
	cr_assert_eq(look_open(w->config, pids, 1, &w->scene.look), 0);
	cr_assert_eq(audit_log_open(w->log_path, &w->log), 0);
	w->scene.reap.config = w->config;
	w->scene.reap.log = &w->log;
	w->scene.reap.settled = false;
	w->first = build_audit();
	for (size_t i = 0; i < count; i++) {
		struct subject *s = build_worker(&w->first, -1, pids[i]);
		_cleanup_(evidence_done) struct evidence e = { 0 };
		_cleanup_close_ int dirfd = pin_open(pids[i]);

		cr_assert_eq(evidence_look(dirfd, pids[i], 0, NULL, &e), 0);
		s->id = e.id;
		w->items[i] = i;
	}
}

static void whole_done(struct whole *w)
{
	reap_done(&w->scene.reap);
	look_close(&w->scene.look);
	audit_log_close(&w->log);
	audit_done(&w->first);
	config_free(w->config);
	tmpdir_remove(&w->dir);
}

static size_t count_told(const struct scene *s, enum outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < s->told_count; i++)
		count += s->told[i].outcome == outcome;
	return count;
}

Test(reap, what_is_no_worker_any_more_did_not_vanish)
{
	pid_t pids[] = { live_start(live_pause, NULL), live_start(live_pause, NULL) };
	struct whole w = { 0 };
	const struct plan plan = { .items = w.items, .count = ARRAY_SIZE(pids) };

	whole_make(&w, pids, ARRAY_SIZE(pids));
	live_end(pids[1]);
	cr_assert_eq(reap_begin(&w.scene.reap, &w.first, &plan), 0);
	cr_assert_eq(w.scene.told_count, 2);
	cr_expect_eq(told_of(&w.scene, pids[0])->outcome, OUTCOME_SPARED);
	cr_expect_eq(told_of(&w.scene, pids[1])->outcome, OUTCOME_VANISHED);
	cr_expect_eq(pin_wait(w.scene.reap.victims[0].pidfd, 0), 0);
	whole_done(&w);
	live_end(pids[0]);
}

static rlim_t descriptors(void)
{
	_cleanup_close_ int next = dup(0);

	return (rlim_t)next;
}

Test(reap, descriptors_for_a_few_end_a_few)
{
	struct rlimit limit;
	struct whole w = { 0 };
	const struct plan plan = { .items = w.items, .count = MANY };
	pid_t pids[MANY];

	for (size_t i = 0; i < MANY; i++)
		pids[i] = live_start(live_pause, NULL);
	whole_make(&w, pids, MANY);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = descriptors() + MANY; /* half of them are pinned by so many */
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(reap_begin(&w.scene.reap, &w.first, &plan), 0, "the second look fails");
	cr_expect_eq(w.scene.told_count, MANY);
	cr_expect_gt(count_told(&w.scene, OUTCOME_REFUSED), 0);
	cr_expect_gt(count_told(&w.scene, OUTCOME_SPARED), 0, "they are no workers");
	whole_done(&w);
	for (size_t i = 0; i < MANY; i++)
		live_end(pids[i]);
}

/* ---- what appears below a victim after the second look ---- */

struct family {
	char dir[64];
	pid_t plain, daemon; /* children of the worker */
};

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* A daemon, by its argv: a shell whose script starts a child. */
static void be_daemon(const struct family *f)
{
	int fd;

	if (chdir(f->dir) < 0)
		_exit(1);
	fd = open("pyspark.daemon", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || dprintf(fd, "sleep 60 &\n: > ready\nwait\n") < 0 || setpgid(0, 0) < 0)
		_exit(1);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO); /* it says that it has no terminal */
	execl("/bin/sh", "python", "-m", "pyspark.daemon", NULL);
	_exit(1);
}

static void be_worker(void *arg)
{
	struct family *f = arg;
	char ready[80];
	pid_t plain = fork_child(), daemon;

	if (!plain)
		for (;;)
			pause();
	daemon = fork_child();
	if (!daemon)
		be_daemon(f);
	f->plain = plain;
	f->daemon = daemon;
	(void)snprintf(ready, sizeof(ready), "%s/ready", f->dir);
	while (access(ready, F_OK) < 0)
		live_sleep_ms(5);
	live_pause(NULL);
}

static pid_t child_of(const struct look *l, pid_t parent)
{
	struct snapshot s = { 0 };
	pid_t child = 0;

	cr_assert_eq(processes_census(l->processes, &s), 0);
	for (size_t i = 0; i < s.count; i++)
		if (s.procs[i].ppid == parent)
			child = s.procs[i].id.pid;
	snapshot_done(&s);
	return child;
}

static void end_pid(pid_t pid)
{
	_cleanup_close_ int dirfd = pin_open(pid), pidfd = pin_pidfd(dirfd, pid);

	if (pidfd >= 0)
		cr_expect_eq(pidfd_send_signal(pidfd, SIGKILL, NULL, 0), 0);
}

Test(reap, a_daemon_that_appears_below_a_victim_is_not_its_helper)
{
	struct family *f =
		mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tmpdir dir = tmpdir_make();
	struct whole w = { 0 };
	pid_t worker, below;

	cr_assert_neq(f, MAP_FAILED);
	(void)snprintf(f->dir, sizeof(f->dir), "%s", dir.path);
	worker = live_start(be_worker, f);
	whole_make(&w, &worker, 1);
	below = child_of(&w.scene.look, f->daemon);
	add(&w.scene, worker, ROLE_WORKER)->stage = ACT_TERMED;
	w.scene.reap.second = build_audit();
	w.scene.reap.second_taken = true;
	build_worker(&w.scene.reap.second, -1, worker);
	evidence_done(&w.scene.reap.second.subjects[0].ev);
	cr_assert_eq(evidence_look(w.scene.reap.victims[0].dirfd, worker, 0, NULL,
				   &w.scene.reap.second.subjects[0].ev),
		     0);
	cr_expect_eq(reap_find_new_helpers(&w.scene.reap), 1);
	for (size_t i = 1; i < w.scene.reap.count; i++)
		cr_expect_eq(w.scene.reap.victims[i].id.pid, f->plain,
			     "%d is taken; the daemon is %d, its child %d",
			     w.scene.reap.victims[i].id.pid, f->daemon, below);
	end_pid(below);
	whole_done(&w);
	live_end(worker);
	tmpdir_remove(&dir);
}

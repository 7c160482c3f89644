/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to be ended, looked at again: pins, the second look, and lists of the tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/reap_helpers.h"
#include "base/fs.h"
#include "reap_scene.h"
#include "tmpdir.h"

TestSuite(reap_looks, .timeout = 120);

static pid_t silent; /* does not let its command line be read */
static int silence;  /* and that is why */

int __real_processes_read_argvs(struct proc *const *procs, size_t count, int *errs);
int __wrap_processes_read_argvs(struct proc *const *procs, size_t count, int *errs);
int __wrap_processes_read_argvs(struct proc *const *procs, size_t count, int *errs)
{
	int err = __real_processes_read_argvs(procs, count, errs);

	for (size_t i = 0; i < count; i++)
		if (silent && procs[i]->id.pid == silent) {
			free(procs[i]->argv);
			procs[i]->argv = NULL;
			errs[i] = silence;
		}
	return err;
}

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
	(void)snprintf(w->config->state_dir, sizeof(w->config->state_dir), "%s", w->dir.path);
	cr_assert_eq(look_open(w->config, pids, 1, &w->scene.look), 0);
	cr_assert_eq(audit_log_open(w->log_path, &w->log), 0);
	w->scene.reap.config = w->config;
	w->scene.reap.log = &w->log;
	w->scene.reap.settled = false;
	audit_done(&w->scene.reap.second);
	w->scene.reap.second_taken = false;
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

Test(reap_looks, what_is_no_worker_any_more_did_not_vanish)
{
	pid_t pids[] = { live_start(live_pause, NULL), live_start(live_pause, NULL) };
	struct whole w = { 0 };
	const struct plan plan = { .items = w.items, .count = ARRAY_SIZE(pids) };

	whole_make(&w, pids, ARRAY_SIZE(pids));
	live_end(pids[1]);
	cr_assert_eq(reap_begin(&w.scene.reap, &w.first, &plan), 0);
	cr_assert_eq(w.scene.told_count, 2);
	cr_expect_eq(outcome_of(&w.scene, pids[0]), (int)OUTCOME_SPARED);
	cr_expect_eq(outcome_of(&w.scene, pids[1]), (int)OUTCOME_VANISHED);
	cr_expect_eq(pin_wait(w.scene.reap.victims[0].pidfd, 0), 0);
	whole_done(&w);
	live_end(pids[0]);
}

/* After a crash max_kills_per_hour must know of them. */
Test(reap_looks, what_cannot_be_counted_on_disk_is_not_ended)
{
	pid_t pid = live_start(live_pause, NULL);
	struct whole w = { 0 };
	const struct plan plan = { .items = w.items, .count = 1 };

	whole_make(&w, &pid, 1);
	(void)snprintf(w.config->state_dir, sizeof(w.config->state_dir), "%s/not-there",
		       w.dir.path);
	cr_expect_eq(reap_begin(&w.scene.reap, &w.first, &plan), -ENOENT);
	cr_expect_eq((int)w.scene.reap.need, (int)REAP_COUNT);
	whole_done(&w);
	live_end(pid);
}

static rlim_t descriptors(void)
{
	_cleanup_close_ int next = dup(0);

	return (rlim_t)next;
}

Test(reap_looks, descriptors_for_a_few_end_a_few)
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
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* ended before that */
			_exit(0);
	}
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

static void find_helpers(int err, int want)
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
	w.scene.reap.second = build_audit();
	w.scene.reap.second_taken = true;
	add(&w.scene, worker, ROLE_WORKER)->stage = ACT_TERMED;
	silent = err ? f->daemon : 0;
	silence = err;
	cr_expect_eq(reap_find_new_helpers(&w.scene.reap), want);
	silent = 0;
	for (size_t i = 1; want == 1 && i < w.scene.reap.count; i++)
		cr_expect_eq(w.scene.reap.victims[i].id.pid, f->plain,
			     "%d is taken; the daemon is %d, its child %d",
			     w.scene.reap.victims[i].id.pid, f->daemon, below);
	end_pid(below);
	whole_done(&w);
	live_end(worker);
	tmpdir_remove(&dir);
}

Test(reap_looks, a_daemon_that_appears_below_a_victim_is_not_its_helper)
{
	find_helpers(0, 1);
}

/* Neither it nor its child is taken: what is not known keeps. */
Test(reap_looks, what_may_be_a_daemon_is_no_helper)
{
	find_helpers(-ETIMEDOUT, 1);
	find_helpers(-EBUSY, 1);
}

/* What is gone was no daemon: it hides nobody. That it lives on here is the test's own. */
Test(reap_looks, what_is_gone_hides_no_helper)
{
	find_helpers(-ESRCH, 3);
	find_helpers(-ENOENT, 3);
}

/* ---- helpers of the second look ---- */

enum {
	BETWEEN = 10000000, /* greater than any pid */
	ABOVE = 10000001,
	WORKER = -1, /* stand for pids */
	HELPER = -2,
};

enum since {
	NOTHING,
	HELPER_GONE,
	WORKER_SPARED,
};

/* A helper of a worker's child; one of the two, or none, is not known for what it is, or is a host. */
static bool is_spared_since(enum since since, pid_t unread, pid_t listed, pid_t worker,
			    pid_t helper)
{
	struct scene s;
	struct subject *seen;
	struct proc *procs = calloc(2, sizeof(*procs));
	bool spared;

	cr_assert_not_null(procs);
	scene_make(&s);
	add(&s, worker, ROLE_WORKER);
	seen = build_worker(&s.reap.second, -1, helper);
	evidence_done(&seen->ev);
	add(&s, helper, ROLE_HELPER);
	cr_assert_eq(evidence_look(s.reap.victims[1].dirfd, helper, 0, NULL, &seen->ev), 0);
	seen->id = s.reap.victims[1].id;
	seen->role = ROLE_HELPER;
	procs[0] = (struct proc){ .id.pid = helper,
				  .ppid = BETWEEN,
				  .argv_unread = unread == helper,
				  .listed = listed == helper };
	procs[1] = (struct proc){ .id.pid = BETWEEN,
				  .ppid = worker,
				  .argv_unread = unread == BETWEEN,
				  .listed = listed == BETWEEN };
	snapshot_done(&s.reap.second.snapshot);
	s.reap.second.snapshot = (struct snapshot){ .procs = procs, .count = 2 };
	seen->ev.vanished = since == HELPER_GONE;
	if (since == WORKER_SPARED)
		s.reap.victims[0].stage = ACT_DONE;
	reap_spare_helpers(&s.reap, 0);
	spared = s.reap.victims[1].stage == ACT_DONE;
	cr_expect_eq(s.told_count, (size_t)(spared && since == NOTHING),
		     "told is what a guard kept, and no more");
	scene_done(&s);
	return spared;
}

static bool is_spared(pid_t unread, pid_t listed, pid_t worker, pid_t helper)
{
	return is_spared_since(NOTHING, unread, listed, worker, helper);
}

/* Of a helper that waits for its signal, as it is now: its parent, and who is a host. */
static const struct {
	const char *why;
	bool spared;
	pid_t ppid; /* WORKER: its worker's number */
	pid_t listed;
	bool other; /* another process has its number */
	bool torn;  /* the second look did not see the worker's parent */
} pending[] = {
	{ .why = "below its worker", .ppid = WORKER },
	{ .why = "it is a host by now", .spared = true, .ppid = WORKER, .listed = HELPER },
	{ .why = "below a host that was started",
	  .spared = true,
	  .ppid = BETWEEN,
	  .listed = BETWEEN },
	{ .why = "... or another process is", .ppid = BETWEEN, .listed = BETWEEN, .other = true },
	{ .why = "its worker has ended, and pid 1 is the JVM", .ppid = 1, .listed = 1 },
	{ .why = "a subreaper above the worker is the JVM", .ppid = ABOVE, .listed = ABOVE },
	{ .why = "pid 1 is the JVM, and who is above the worker was not seen",
	  .ppid = 1,
	  .listed = 1,
	  .torn = true },
	{ .why = "its parent is gone", .ppid = ABOVE + 1 },
};

static struct proc *census(size_t count)
{
	struct proc *procs = calloc(count, sizeof(*procs));

	cr_assert_not_null(procs);
	return procs;
}

static bool is_spared_later(size_t row, pid_t worker, pid_t helper)
{
	pid_t ppid = pending[row].ppid == WORKER ? worker : pending[row].ppid;
	pid_t listed = pending[row].listed == HELPER ? helper : pending[row].listed;
	struct snapshot now = { .procs = census(4), .count = 4 };
	struct scene s;
	bool spared;

	scene_make(&s);
	add(&s, worker, ROLE_WORKER);
	add(&s, helper, ROLE_HELPER);
	snapshot_done(&s.reap.second.snapshot);
	s.reap.second.snapshot = (struct snapshot){ .procs = census(2), .count = 2 };
	s.reap.second.snapshot.procs[0] =
		(struct proc){ .id.pid = worker, .ppid = pending[row].torn ? ABOVE + 1 : ABOVE };
	s.reap.second.snapshot.procs[1] = (struct proc){ .id.pid = ABOVE, .ppid = 1 };
	now.procs[0] = (struct proc){ .id.pid = 1, .listed = listed == 1 };
	now.procs[1] = (struct proc){ .id = s.reap.victims[1].id,
				      .ppid = ppid,
				      .listed = listed == helper };
	now.procs[1].id.start += pending[row].other;
	now.procs[2] =
		(struct proc){ .id.pid = BETWEEN, .ppid = worker, .listed = listed == BETWEEN };
	now.procs[3] = (struct proc){ .id.pid = ABOVE, .ppid = 1, .listed = listed == ABOVE };
	reap_spare_pending(&s.reap, &now);
	spared = s.reap.victims[1].stage == ACT_DONE;
	cr_expect_eq(s.told_count, (size_t)spared, "%s: it is told", pending[row].why);
	cr_expect_eq(s.reap.victims[0].stage, ACT_PINNED);
	snapshot_done(&now);
	scene_done(&s);
	return spared;
}

Test(reap_looks, what_became_anothers_since_is_spared)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(pending); i++)
		cr_expect_eq(is_spared_later(i, worker, helper), pending[i].spared, "%s",
			     pending[i].why);
	live_end(worker);
	live_end(helper);
}

Test(reap_looks, a_helper_that_may_be_a_daemons_is_spared)
{
	pid_t worker = live_start(live_pause, NULL), helper = live_start(live_pause, NULL);

	cr_expect_not(is_spared(0, 0, worker, helper), "all is known");
	cr_expect(is_spared(helper, 0, worker, helper));
	cr_expect(is_spared(BETWEEN, 0, worker, helper));
	cr_expect(is_spared(0, helper, worker, helper), "it is a host");
	cr_expect(is_spared(0, BETWEEN, worker, helper), "it is of another host");
	cr_expect(is_spared_since(HELPER_GONE, 0, 0, worker, helper));
	cr_expect(is_spared_since(WORKER_SPARED, 0, 0, worker, helper));
	live_end(worker);
	live_end(helper);
}

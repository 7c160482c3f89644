/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan to the first signal: a second look that agrees, a record on the disk, a kill that is counted.
 * The looks are the test's own; the processes, the signals and the files are real.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/history_file.h"
#include "base/fs.h"
#include "reap_scene.h"
#include "tmpdir.h"

TestSuite(before_signal, .timeout = 120);

enum {
	WORKER = 0, /* its place among the subjects of a look, and among the victims */
	HELPER = 1,
	PROOF_MS = 12 * BUILD_MINUTE,
	SIGTERM_BIT = 1 << (SIGTERM - 1),
};

typedef void change(struct audit *look);

static pid_t alive[2];  /* the worker; its helper, or 0 */
static change *changes; /* what is different at the second look; NULL: nothing */
static int look_error;  /* of the second look */
static int sync_error;  /* of the disk */
static unsigned syncs, syncs_that_work;
static pid_t newborn; /* below the worker, after the second look; 0: nobody */

static void see(struct subject *s)
{
	_cleanup_close_ int dirfd = pin_open(s->id.pid);

	evidence_done(&s->ev);
	cr_assert_eq(evidence_look(dirfd, s->id.pid, EVIDENCE_IDENTITY, NULL, &s->ev), 0);
	s->id = s->ev.id;
	s->ppid = s->ev.ppid;
	build_reap(s, FENCE_PEER_CLOSED, PROOF_MS);
}

/* A worker that is due, maybe with a helper. */
static struct audit look_of_both(void)
{
	struct audit a = build_audit();
	size_t count = alive[HELPER] ? 2 : 1;

	see(build_worker(&a, -1, alive[WORKER]));
	if (alive[HELPER])
		see(build_helper(&a, alive[HELPER]));
	snapshot_done(&a.snapshot);
	a.snapshot.procs = calloc(count, sizeof(*a.snapshot.procs));
	cr_assert_not_null(a.snapshot.procs);
	a.snapshot.count = count;
	for (size_t i = 0; i < count; i++)
		a.snapshot.procs[i] = (struct proc){ .id = a.subjects[i].id,
						     .ppid = i ? alive[WORKER] : getpid() };
	return a;
}

int __wrap_look_take(struct look *l, struct audit *ret);
int __wrap_look_take(struct look *l, struct audit *ret)
{
	(void)l;
	if (look_error)
		return look_error;
	*ret = look_of_both();
	if (changes)
		changes(ret);
	return 0;
}

static struct ident ident_of(pid_t pid)
{
	_cleanup_(evidence_done) struct evidence e = { 0 };
	_cleanup_close_ int dirfd = pin_open(pid);

	if (pid)
		cr_assert_eq(evidence_look(dirfd, pid, 0, NULL, &e), 0);
	return e.id;
}

/* What was forked below the worker in the meantime. */
int __wrap_look_who(struct look *l, struct audit *ret);
int __wrap_look_who(struct look *l, struct audit *ret)
{
	struct proc *procs = calloc(2, sizeof(*procs));

	(void)l;
	cr_assert_not_null(procs);
	*ret = build_audit();
	ret->snapshot.procs = procs;
	ret->snapshot.count = newborn ? 2 : 1;
	procs[WORKER] = (struct proc){ .id.pid = alive[WORKER], .ppid = getpid() };
	procs[HELPER] = (struct proc){ .id = ident_of(newborn), .ppid = alive[WORKER] };
	return 0;
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	(void)fd;
	syncs++;
	errno = sync_error;
	return sync_error && syncs > syncs_that_work ? -1 : 0;
}

struct stage {
	struct scene scene;
	struct tmpdir dir;
	char log_path[PATH_MAX];
	struct audit_log log;
	int began; /* what reap_begin() returned */
};

static void stage_make(struct stage *s, const char *log)
{
	struct config *c = &s->scene.config;

	scene_make(&s->scene);
	audit_done(&s->scene.reap.second);
	s->scene.reap.second_taken = false;
	s->scene.reap.settled = false;
	s->dir = tmpdir_make();
	s->scene.look.config = c;
	c->policy = build_policy();
	(void)snprintf(c->state_dir, sizeof(c->state_dir), "%s", s->dir.path);
	(void)snprintf(s->scene.look.self.boot_id, sizeof(s->scene.look.self.boot_id), "%s",
		       BUILD_BOOT_ID);
	s->scene.look.stop_fd = -1;
	if (!log)
		log = tmpdir_path(&s->dir, "audit.jsonl", s->log_path);
	s->log.path = log;
	s->log.fd = open(log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	cr_assert_geq(s->log.fd, 0);
	s->scene.reap.log = &s->log;
}

static void begin(struct stage *s)
{
	size_t item = WORKER;
	const struct plan plan = { .items = &item, .count = 1 };
	struct audit first = look_of_both();

	s->began = reap_begin(&s->scene.reap, &first, &plan);
	audit_done(&first);
}

static void stage_done(struct stage *s)
{
	scene_done(&s->scene);
	fs_close(&s->log.fd);
	tmpdir_remove(&s->dir);
}

/* No signal was sent to it. A little later, too. */
static bool is_untouched(pid_t pid)
{
	live_sleep_ms(SOON_MS);
	return waitpid(pid, NULL, WNOHANG) == 0;
}

Test(before_signal, who_is_due_at_both_looks_ends)
{
	char line[64];
	struct stage s;

	alive[WORKER] = live_start(live_pause, NULL);
	stage_make(&s, NULL);
	begin(&s);
	cr_expect_eq(s.began, 0);
	await_end(&s.scene.reap.victims[WORKER]);
	cr_expect_geq(syncs, 1, "the record is on the disk");
	cr_expect_gt(fs_read_at(AT_FDCWD, s.log_path, line, sizeof(line)), 0);
	stage_done(&s);
	live_end(alive[WORKER]);
}

/* ---- the second look ---- */

static void is_no_worker(struct audit *look)
{
	look->subjects[WORKER].id.pid = getpid();
}

static void has_vanished(struct audit *look)
{
	look->subjects[WORKER].ev.vanished = true;
}

static void is_kept(struct audit *look)
{
	look->subjects[WORKER].verdict.action = ACTION_KEEP;
	look->subjects[WORKER].verdict.reason = REASON_PROGRESS;
}

static void has_another_thread(struct audit *look)
{
	look->subjects[WORKER].ev.threads++;
}

static void has_another_proof(struct audit *look)
{
	look->subjects[WORKER].verdict.fence = FENCE_HOST_GONE;
}

static const struct {
	change *what;
	const char *why;
} differences[] = {
	{ is_no_worker, "it is no worker any more" },
	{ has_vanished, "it is no worker any more" },
	{ is_kept, "the second look says keep progress" },
	{ has_another_thread, "its threads changed" },
	{ has_another_proof, "its proof changed" },
};

Test(before_signal, who_is_not_quite_the_same_at_the_second_look_is_spared)
{
	alive[WORKER] = live_start(live_pause, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(differences); i++) {
		struct stage s;

		stage_make(&s, NULL);
		changes = differences[i].what;
		begin(&s);
		cr_assert_eq(outcome_of(&s.scene, alive[WORKER]), (int)OUTCOME_SPARED, "%s",
			     differences[i].why);
		cr_expect_str_eq(told_of(&s.scene, alive[WORKER])->why, differences[i].why);
		cr_assert(is_untouched(alive[WORKER]), "%s", differences[i].why);
		stage_done(&s);
	}
	live_end(alive[WORKER]);
}

/* ---- nothing without a record, and none that is not counted ---- */

static void expect_held(const struct stage *s, int err, enum reap_need need, const char *why)
{
	cr_expect_eq(s->began, err, "%s: %d", why, s->began);
	cr_expect_eq((int)s->scene.reap.need, (int)need, "%s", why);
	cr_expect_eq(outcome_of(&s->scene, alive[WORKER]), (int)OUTCOME_HELD, "%s", why);
	cr_assert(is_untouched(alive[WORKER]), "%s", why);
}

Test(before_signal, without_a_second_look_nobody_is_signalled)
{
	struct stage s;

	alive[WORKER] = live_start(live_pause, NULL);
	stage_make(&s, NULL);
	look_error = -EMFILE;
	begin(&s);
	expect_held(&s, -EMFILE, REAP_LOOK, "no descriptors");
	stage_done(&s);
	live_end(alive[WORKER]);
}

Test(before_signal, a_record_that_has_no_room_holds_the_signal)
{
	struct stage s;

	alive[WORKER] = live_start(live_pause, NULL);
	stage_make(&s, "/dev/full");
	begin(&s);
	expect_held(&s, -ENOSPC, REAP_INTENTS, "no room");
	stage_done(&s);
	live_end(alive[WORKER]);
}

Test(before_signal, a_record_that_does_not_reach_the_disk_holds_the_signal)
{
	struct stage s;

	alive[WORKER] = live_start(live_pause, NULL);
	stage_make(&s, NULL);
	sync_error = EIO;
	begin(&s);
	expect_held(&s, -EIO, REAP_INTENTS, "the disk fails");
	stage_done(&s);
	live_end(alive[WORKER]);
}

/* It outlives SIGTERM, and has a child, whose number it tells. */
static void be_parent(void *arg)
{
	pid_t parent = getpid(), child = fork();

	(void)signal(SIGTERM, SIG_IGN);
	if (!child) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	*(pid_t *)arg = child;
	live_pause(NULL);
}

/* One that was forked while the signals were on their way. */
static void begin_with_newborn(struct stage *s, int error)
{
	pid_t *child = mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(child, MAP_FAILED);
	alive[WORKER] = live_start(be_parent, child);
	newborn = *child;
	stage_make(s, NULL);
	s->scene.config.policy.helpers = true;
	syncs = 0;
	syncs_that_work = 1; /* the worker's own */
	sync_error = error;
	begin(s);
	cr_assert_eq(s->began, 0);
	cr_assert_eq(s->scene.reap.count, 2);
	cr_expect_eq(s->scene.reap.victims[HELPER].id.pid, newborn);
}

Test(before_signal, a_helper_without_its_record_is_not_signalled)
{
	struct stage s;

	begin_with_newborn(&s, 0);
	cr_expect_eq(s.scene.reap.victims[HELPER].stage, ACT_PINNED, "it waits for its worker");
	stage_done(&s);
	live_end(alive[WORKER]);
	begin_with_newborn(&s, EIO);
	cr_expect_eq(s.scene.reap.victims[HELPER].stage, ACT_DONE);
	cr_expect_eq(s.scene.reap.victims[HELPER].record.outcome, OUTCOME_HELD);
	cr_expect_eq(s.scene.reap.error, -EIO);
	stage_done(&s);
	live_end(alive[WORKER]);
}

Test(before_signal, a_kill_is_counted_before_it_happens)
{
	_cleanup_(history_done) struct history after = { 0 };
	struct stage s;

	alive[WORKER] = live_start(live_pause, NULL);
	stage_make(&s, NULL);
	begin(&s);
	cr_expect_eq(history_kills(&s.scene.look.history, clock_boot_ms()), 1);
	cr_assert_eq(history_file_load(s.dir.path, BUILD_BOOT_ID, clock_boot_ms(), &after), 0);
	cr_expect_eq(history_kills(&after, clock_boot_ms()), 1, "whoever is killed now knows");
	stage_done(&s);
	live_end(alive[WORKER]);
}

/* ---- who gets which signal ---- */

static void worker_catches_term(struct audit *look)
{
	look->subjects[WORKER].facts.term_default = false;
}

static void helper_catches_term(struct audit *look)
{
	look->subjects[HELPER].ev.sig_caught |= SIGTERM_BIT;
}

static void helper_apart_catches_term(struct audit *look)
{
	helper_catches_term(look);
	look->subjects[HELPER].ev.pgrp++;
}

static const struct {
	const char *why;
	change *what;
	bool at_once[2];
} handlers[] = {
	{ "nobody catches SIGTERM", NULL, { false, false } },
	{ "the worker does: its handler may be its daemon's",
	  worker_catches_term,
	  { true, false } },
	{ "a helper in its process group does, and may end that",
	  helper_catches_term,
	  { false, true } },
	{ "a helper in a group of its own cleans up", helper_apart_catches_term, { false, false } },
};

Test(before_signal, who_catches_sigterm_is_not_sent_it)
{
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		struct stage s;

		alive[WORKER] = live_start(live_pause, NULL);
		alive[HELPER] = live_start(live_pause, NULL);
		stage_make(&s, NULL);
		s.scene.config.policy.helpers = true;
		changes = handlers[i].what;
		begin(&s);
		cr_assert_eq(s.began, 0);
		cr_assert_eq(s.scene.reap.count, 2);
		for (size_t v = WORKER; v <= HELPER; v++)
			cr_expect_eq(s.scene.reap.victims[v].kill_at_once, handlers[i].at_once[v],
				     "%s: %zu", handlers[i].why, v);
		cr_expect_eq(s.scene.reap.victims[WORKER].record.signal,
			     handlers[i].at_once[WORKER] ? SIGKILL : SIGTERM, "%s",
			     handlers[i].why);
		stage_done(&s);
		live_end(alive[WORKER]);
		live_end(alive[HELPER]);
	}
}

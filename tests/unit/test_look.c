/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "app/look_argv.h"
#include "app/look_judge.h"
#include "base/clock.h"
#include "correlate/ledger_state.h"
#include "live.h"
#include "tmpdir.h"

enum {
	LATER_MS = 3600 * 1000, /* then what was begun just now has settled */
	CENSUS_MS = 5000,
	TOGETHER_MS = 1000,
};

Test(look, a_census_that_takes_long_is_no_step_of_the_clock)
{
	struct config *config;
	struct problem problem;
	struct look l;
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	a.wall_ms -= CENSUS_MS;
	a.boot_ms -= CENSUS_MS;
	cr_assert_eq(look_markers(&l, &a), 0);
	cr_expect_not(l.history.suspended_known);
	cr_expect_lt(llabs((int64_t)(l.history.wall_minus_boot_ms - l.self.wall_minus_boot_ms)),
		     TOGETHER_MS);
	look_close(&l);
	config_free(config);
}

Test(look, each_look_asks_whether_the_machine_was_suspended)
{
	struct config *config;
	struct problem problem;
	struct look l;
	struct audit a;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	cr_assert_eq(look_who(&l, &a), 0);
	cr_expect(l.history.suspended_known);
	audit_done(&a);
	look_close(&l);
	config_free(config);
}

static unsigned steps;       /* that the ledger was told of */
static uint64_t read_before; /* changes of the ledger when it was told */
static unsigned doubts;
static uint64_t doubted_ms;

void __wrap_ledger_clock_stepped(struct ledger *l, uint64_t now_ms);
void __wrap_ledger_clock_stepped(struct ledger *l, uint64_t now_ms)
{
	(void)now_ms;
	steps++;
	read_before = l->changes;
}

void __wrap_ledger_doubt_silent(struct ledger *l, uint64_t since_ms);
void __wrap_ledger_doubt_silent(struct ledger *l, uint64_t since_ms)
{
	(void)l;
	doubted_ms = since_ms;
	doubts++;
}

Test(look, a_step_of_the_clock_is_told)
{
	struct config *config;
	struct problem problem;
	struct audit a;
	struct look l;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	for (int hours = -1; hours <= 1; hours++) {
		steps = 0;
		a = (struct audit){ .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };
		a.wall_ms += (uint64_t)(hours * LATER_MS);
		l.history.wall_minus_boot_ms = clock_wall_ms() - clock_boot_ms();
		cr_assert_eq(look_markers(&l, &a), 0);
		cr_expect_eq(steps, hours ? 1 : 0, "%d h", hours);
	}
	look_close(&l);
	config_free(config);
}

/* A record may be older than a step that is noticed as it is read. */
Test(look, a_step_is_told_when_all_that_may_be_older_was_read)
{
	_cleanup_tmpdir_ struct tmpdir dir = tmpdir_make();
	struct config *config;
	struct problem problem;
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };
	char text[512];
	struct look l;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	(void)snprintf(config->marker_dir, sizeof(config->marker_dir), "%s", dir.path);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	(void)snprintf(text, sizeof(text), "reaper/1 1 host host=4711:50 boot=%s pidns=%llu\n",
		       l.self.boot_id, (unsigned long long)l.self.pid_ns);
	tmpdir_write(&dir, "a.log", text, strlen(text), 0600);
	steps = 0;
	l.history.wall_minus_boot_ms = 1;
	cr_assert_eq(look_markers(&l, &a), 0);
	cr_expect_eq(steps, 1, "of another run");
	cr_expect_gt(read_before, 0, "the log was not read yet");
	cr_expect_eq(l.ledger->trusted_ms, a.wall_ms);
	look_close(&l);
	config_free(config);
}

Test(look, a_reader_that_begins_doubts_the_silent_once)
{
	struct config *config;
	struct problem problem;
	struct look l;
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	doubts = 0;
	cr_assert_eq(look_markers(&l, &a), 0);
	cr_assert_eq(look_markers(&l, &a), 0);
	cr_expect_eq(doubts, 1);
	cr_expect_eq(doubted_ms, a.wall_ms - 60 * 1000);
	cr_assert_eq(look_reconfigure(&l, config), 0);
	cr_assert_eq(look_markers(&l, &a), 0);
	cr_expect_eq(doubts, 2, "after a reload all is read anew");
	look_close(&l);
	config_free(config);
}

/* What another timeout or another class would make of what was waited so far is not asked. */
Test(look, a_reload_begins_with_fresh_windows)
{
	const struct ident id = { .pid = 4803, .start = 1 };
	struct config *config;
	struct problem problem;
	struct history_entry *e;
	struct look l;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	e = history_touch(&l.history, id, 1000);
	cr_assert_not_null(e);
	e->daemon = (struct ident){ .pid = 4790, .start = 1 };
	e->class_index = 1;
	e->looks = 2;
	e->wait_known = true;
	e->fence_ms[FENCE_PEER_CLOSED] = 1000;
	l.daemons = calloc(1, sizeof(*l.daemons));
	cr_assert_not_null(l.daemons);
	l.daemon_count = 1;
	l.daemons[0].id.pid = 4790;
	l.helpers = calloc(1, sizeof(*l.helpers));
	cr_assert_not_null(l.helpers);
	l.helper_count = 1;
	cr_assert_eq(history_kill(&l.history, clock_boot_ms()), 0);
	cr_assert_eq(look_reconfigure(&l, config), 0);
	e = history_find(&l.history, id);
	cr_assert_not_null(e);
	cr_expect_eq(e->fence_ms[FENCE_PEER_CLOSED], UNKNOWN_U64, "since when it is proven");
	cr_expect_not(e->wait_known, "since when it waits");
	cr_expect_eq(e->looks, 0);
	cr_expect_eq(e->daemon.pid, 0, "whose it was");
	cr_expect_eq(e->class_index, -1);
	cr_expect_eq(l.helper_count, 1, "what was no worker is none");
	cr_expect_eq(l.daemon_count, 1, "nor what comes when its daemon has gone");
	cr_expect_eq(l.daemons[0].class_index, -1, "its class may be another now");
	cr_expect_eq(history_kills(&l.history, clock_boot_ms()), 1, "what limits kills stays");
	look_close(&l);
	config_free(config);
}

/* Becomes another program of the same name, each time it is told to go on. */
static void exec_twice(void *arg)
{
	(void)arg;
	live_ready();
	execl("/bin/sh", "sh", "-c", "kill -STOP $$; exec sh -c 'kill -STOP $$' second", NULL);
	_exit(1);
}

static const char *last_word(const struct proc *p)
{
	const char *last = "";

	for (const char *at = proc_argv_next(p, NULL); at; at = proc_argv_next(p, at))
		last = at;
	return last;
}

/* Reads its argv as a look does an hour from now. */
static bool is_second(struct look *l, pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct snapshot s;
	struct proc *p;
	bool second;

	cr_assert_eq(processes_census(l->processes, &s), 0);
	p = snapshot_find(&s, pid);
	cr_assert_not_null(p);
	do { /* the thread that reads it may be held up */
		cr_assert_eq(look_argv_read(l, p, clock_boot_ms() + LATER_MS), 0);
		if (!p->argv)
			live_sleep_ms(5);
	} while (!p->argv && live_now_ms() < until);
	l->argv_sorted = l->argv_count;
	second = strcmp(last_word(p), "second") == 0;
	snapshot_done(&s);
	return second;
}

Test(look, an_exec_that_keeps_the_name_is_seen)
{
	struct config *config;
	struct problem problem;
	struct look l;
	pid_t pid = live_start(exec_twice, NULL);
	bool second = false;
	uint64_t until;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &l), 0);
	live_await_state(pid, 'T');
	cr_expect_not(is_second(&l, pid));
	cr_assert_eq(l.argv_count, 1);
	cr_assert_eq(kill(pid, SIGCONT), 0);
	until = live_now_ms() + LIVE_WAIT_MS;
	while (!second && live_now_ms() < until) {
		live_sleep_ms(10);
		second = is_second(&l, pid);
	}
	cr_expect(second);
	live_end(pid);
	look_close(&l);
	config_free(config);
}

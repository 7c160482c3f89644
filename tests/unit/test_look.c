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

static struct config *config;
static struct look look;

static void begin(void)
{
	struct problem problem;

	cr_assert_eq(config_load_text("none", NULL, 0, NULL, 0, &config, &problem), 0);
	cr_assert_eq(look_open(config, NULL, 0, &look), 0);
}

static void end(void)
{
	look_close(&look);
	config_free(config);
}

TestSuite(look, .init = begin, .fini = end);

Test(look, a_census_that_takes_long_is_no_step_of_the_clock)
{
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };

	a.wall_ms -= CENSUS_MS;
	a.boot_ms -= CENSUS_MS;
	cr_assert_eq(look_markers(&look, &a), 0);
	cr_expect_not(look.history.suspended_known);
	cr_expect_lt(
		llabs((int64_t)(look.history.wall_minus_boot_ms - look.self.wall_minus_boot_ms)),
		TOGETHER_MS);
}

Test(look, each_look_asks_whether_the_machine_was_suspended)
{
	struct audit a;

	cr_assert_eq(look_who(&look, &a), 0);
	cr_expect(look.history.suspended_known);
	audit_done(&a);
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
	struct audit a;

	for (int hours = -1; hours <= 1; hours++) {
		steps = 0;
		a = (struct audit){ .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };
		a.wall_ms += (uint64_t)(hours * LATER_MS);
		look.history.wall_minus_boot_ms = clock_wall_ms() - clock_boot_ms();
		cr_assert_eq(look_markers(&look, &a), 0);
		cr_expect_eq(steps, hours ? 1 : 0, "%d h", hours);
	}
}

/* A record may be older than a step that is noticed as it is read. */
Test(look, a_step_is_told_when_all_that_may_be_older_was_read)
{
	_cleanup_tmpdir_ struct tmpdir dir = tmpdir_make();
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };
	char text[512];

	look_close(&look);
	(void)snprintf(config->marker_dir, sizeof(config->marker_dir), "%s", dir.path);
	cr_assert_eq(look_open(config, NULL, 0, &look), 0);
	(void)snprintf(text, sizeof(text), "reaper/1 1 host host=4711:50 boot=%s pidns=%llu\n",
		       look.self.boot_id, (unsigned long long)look.self.pid_ns);
	tmpdir_write(&dir, "a.log", text, strlen(text), 0600);
	steps = 0;
	look.history.wall_minus_boot_ms = 1;
	cr_assert_eq(look_markers(&look, &a), 0);
	cr_expect_eq(steps, 1, "of another run");
	cr_expect_gt(read_before, 0, "the log was not read yet");
	cr_expect_eq(look.ledger->trusted_ms, a.wall_ms);
}

Test(look, a_reader_that_begins_doubts_the_silent_once)
{
	struct audit a = { .wall_ms = clock_wall_ms(), .boot_ms = clock_boot_ms() };

	doubts = 0;
	cr_assert_eq(look_markers(&look, &a), 0);
	cr_assert_eq(look_markers(&look, &a), 0);
	cr_expect_eq(doubts, 1);
	cr_expect_eq(doubted_ms, a.wall_ms - 60 * 1000);
	cr_assert_eq(look_reconfigure(&look, config), 0);
	cr_assert_eq(look_markers(&look, &a), 0);
	cr_expect_eq(doubts, 2, "after a reload all is read anew");
}

/* What another timeout or another class would make of what was waited so far is not asked. */
Test(look, a_reload_begins_with_fresh_windows)
{
	const struct ident id = { .pid = 4803, .start = 1 };
	struct history_entry *e;

	e = history_touch(&look.history, id, 1000);
	cr_assert_not_null(e);
	e->daemon = (struct ident){ .pid = 4790, .start = 1 };
	e->class_index = 1;
	e->looks = 2;
	e->wait_known = true;
	e->fence_ms[FENCE_PEER_CLOSED] = 1000;
	look.daemons = calloc(1, sizeof(*look.daemons));
	cr_assert_not_null(look.daemons);
	look.daemon_count = 1;
	look.daemons[0].id.pid = 4790;
	look.helpers = calloc(1, sizeof(*look.helpers));
	cr_assert_not_null(look.helpers);
	look.helper_count = 1;
	cr_assert_eq(history_kill(&look.history, clock_boot_ms()), 0);
	cr_assert_eq(look_reconfigure(&look, config), 0);
	e = history_find(&look.history, id);
	cr_assert_not_null(e);
	cr_expect_eq(e->fence_ms[FENCE_PEER_CLOSED], UNKNOWN_U64, "since when it is proven");
	cr_expect_not(e->wait_known, "since when it waits");
	cr_expect_eq(e->looks, 0);
	cr_expect_eq(e->daemon.pid, 0, "whose it was");
	cr_expect_eq(e->class_index, -1);
	cr_expect_eq(look.helper_count, 1, "what was no worker is none");
	cr_expect_eq(look.daemon_count, 1, "nor what comes when its daemon has gone");
	cr_expect_eq(look.daemons[0].class_index, -1, "its class may be another now");
	cr_expect_eq(history_kills(&look.history, clock_boot_ms()), 1, "what limits kills stays");
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
static bool is_second(pid_t pid)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct snapshot s;
	struct proc *p;
	bool second;

	cr_assert_eq(processes_census(look.processes, &s), 0);
	p = snapshot_find(&s, pid);
	cr_assert_not_null(p);
	do { /* the thread that reads it may be held up */
		cr_assert_eq(look_argv_read(&look, p, clock_boot_ms() + LATER_MS), 0);
		if (!p->argv)
			live_sleep_ms(5);
	} while (!p->argv && live_now_ms() < until);
	look.argv_sorted = look.argv_count;
	second = strcmp(last_word(p), "second") == 0;
	snapshot_done(&s);
	return second;
}

Test(look, an_exec_that_keeps_the_name_is_seen)
{
	pid_t pid = live_start(exec_twice, NULL);
	bool second = false;
	uint64_t until;

	live_await_state(pid, 'T');
	cr_expect_not(is_second(pid));
	cr_assert_eq(look.argv_count, 1);
	cr_assert_eq(kill(pid, SIGCONT), 0);
	until = live_now_ms() + LIVE_WAIT_MS;
	while (!second && live_now_ms() < until) {
		live_sleep_ms(10);
		second = is_second(pid);
	}
	cr_expect(second);
	live_end(pid);
}

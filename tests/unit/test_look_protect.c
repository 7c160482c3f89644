/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_protect.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/pin.h"
#include "live.h"
#include "observe/evidence.h"

static struct config *load(const char *rules)
{
	struct config *c;
	struct problem problem;

	cr_assert_eq(config_load_text("rules", rules, strlen(rules), NULL, 0, &c, &problem), 0,
		     "%s", problem.text);
	return c;
}

static bool names(const char *rules, struct proc *p, const char *cgroup)
{
	struct config *c = load(rules);
	bool named = look_protect_names(c, p, cgroup);

	config_free(c);
	return named;
}

/* What is not read in time keeps, and is asked again. */
static bool names_at_last(const char *rules, struct proc *p)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	bool named = names(rules, p, NULL);

	while (named && live_now_ms() < until) {
		live_sleep_ms(5);
		named = names(rules, p, NULL);
	}
	return named;
}

Test(look_protect, what_is_asked_and_not_known_keeps)
{
	struct proc p = { .comm = "python3" }; /* its argv cannot be read: there is no pid 0 */

	cr_expect_not(names("", &p, NULL), "no rule asks");
	cr_expect_not(names("[protect]\ncomm = java\n", &p, NULL));
	cr_expect(names("[protect]\ncgroup = /gold\n", &p, NULL));
	cr_expect_not(names("[protect]\ncgroup = /gold\n", &p, "/tin"));
	cr_expect(names("[protect]\ncgroup = /gold\n", &p, "/gold/1"));
	cr_expect(names("[protect]\nargs = --keep\n", &p, NULL));
}

Test(look_protect, its_argv_is_read_when_a_rule_asks)
{
	struct proc p = { .id.pid = getpid() };
	struct evidence e;
	int dirfd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_eq(evidence_look(dirfd, p.id.pid, 0, NULL, &e), 0);
	p.id.start = e.id.start;
	cr_expect_not(names("[protect]\ncomm = java\n", &p, NULL));
	cr_expect_null(p.argv);
	p.argv_unread = true;
	cr_expect(names("[protect]\nargs = no-such-argument\n", &p, NULL), "it was asked in vain");
	cr_expect_null(p.argv, "and is not asked again");
	p.argv_unread = false;
	cr_expect_not(names_at_last("[protect]\nargs = no-such-argument\n", &p));
	cr_expect_not_null(p.argv);
	free(p.argv);
	evidence_done(&e);
	close(dirfd);
}

/* As a JVM does: a class path that is longer than what is read of an argv, the rest behind it. */
static void exec_with_long_argv(void *arg)
{
	static char path[2 * PROC_ARGV_MAX];

	(void)arg;
	memset(path, 'x', sizeof(path) - 1);
	live_ready();
	execl("/bin/sh", "sh", "-c", "kill -STOP $$", "sh", path, "--keep-alive", NULL);
	_exit(1);
}

Test(look_protect, an_argument_counts_wherever_it_stands)
{
	pid_t pid = live_start(exec_with_long_argv, NULL);
	struct proc p = { .id.pid = pid };
	int dirfd = pin_open(pid);
	struct evidence e;

	cr_assert_eq(evidence_look(dirfd, pid, 0, NULL, &e), 0);
	p.id.start = e.id.start;
	for (int i = 0; i < 1000 && !p.argv_cut; i++) { /* until it has exec'ed */
		live_sleep_ms(10);
		cr_assert_eq(live_read_argv(&p), 0);
	}
	cr_expect(names("[protect]\nargs = --keep-alive\n", &p, NULL));
	cr_expect_not(names_at_last("[protect]\nargs = no-such-argument\n", &p));
	cr_expect(p.argv_cut, "what was read stays what it was");
	free(p.argv);
	evidence_done(&e);
	close(dirfd);
	live_end(pid);
}

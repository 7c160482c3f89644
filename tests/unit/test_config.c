/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/config_defaults.h"
#include "app/config_keys.h"
#include "app/config_parse.h"
#include "tmpdir.h"

#define MINUTE UINT64_C(60000)

static void free_config(struct config **c)
{
	config_free(*c);
}
#define _cleanup_config_ _cleanup_(free_config)

static int load(const char *text, size_t len, struct config **ret, struct problem *ret_problem)
{
	return config_load_text("F", text, len, NULL, 0, ret, ret_problem);
}

/* The value that check-config shows; NULL: there is no such line. */
static const struct setting *shown(const struct config *c, const char *section, const char *key)
{
	for (size_t i = 0; i < c->setting_count; i++)
		if (!strcmp(c->settings[i].section, section) && !strcmp(c->settings[i].key, key))
			return &c->settings[i];
	return NULL;
}

struct row {
	const char *why;
	const char *text;
	const char *section, *key, *value, *origin; /* of one setting */
};

static const struct row good[] = {
	{ "an empty file gives the defaults", "", "policy", "timeout", "5m", "default" },
	{ "a value and its line", "[policy]\ntimeout = 7s\n", "policy", "timeout", "7s", "F:2" },
	{ "no newline at the end", "[policy]\ntimeout=7s", "policy", "timeout", "7s", "F:2" },
	{ "blanks around the sign", "[policy]\ntimeout \t =\t 7s \t\n", "policy", "timeout", "7s",
	  "F:2" },
	{ "comments and empty lines count as lines",
	  "# a\n\n; b\n  # c\n \t\n[policy]\n\ntimeout=7s\n", "policy", "timeout", "7s", "F:8" },
	{ "a comment behind a value", "[policy]\ntimeout = 7s ; not 8s\n", "policy", "timeout",
	  "7s", "F:2" },
	{ "a comment behind a section", "[policy] ; of decisions\ntimeout = 7s\n", "policy",
	  "timeout", "7s", "F:2" },
	{ "the longest unit without a rest", "[policy]\ntimeout = 7200s\n", "policy", "timeout",
	  "2h", "F:2" },
	{ "the least that is allowed", "[policy]\ntimeout = 1s\n", "policy", "timeout", "1s",
	  "F:2" },
	{ "the most that is allowed", "[policy]\ntimeout = 30d\n", "policy", "timeout", "30d",
	  "F:2" },
	{ "a sample of none", "[policy]\nsample = 0s\n", "policy", "sample", "0s", "F:2" },
	{ "the shortest sample", "[policy]\nsample = 100ms\n", "policy", "sample", "100ms", "F:2" },
	{ "no grace", "[policy]\nterm_grace = 0s\n", "policy", "term_grace", "0s", "F:2" },
	{ "never", "[policy]\nassume_leaked_after = never\n", "policy", "assume_leaked_after",
	  "never", "F:2" },
	{ "a tenth of a percent", "[policy]\nidle_cpu = 0.1%\n", "policy", "idle_cpu", "0.1%",
	  "F:2" },
	{ "decimals stay", "[policy]\nidle_cpu = 12.25%\n", "policy", "idle_cpu", "12.25%", "F:2" },
	{ "zeros between the decimals stay", "[policy]\nidle_cpu = 1.005%\n", "policy", "idle_cpu",
	  "1.005%", "F:2" },
	{ "a whole core", "[policy]\nidle_cpu = 100%\n", "policy", "idle_cpu", "100%", "F:2" },
	{ "the longest crash window", "[policy]\ncrash_window = 24h\n", "policy", "crash_window",
	  "1d", "F:2" },
	{ "a truth value", "[policy]\nhelpers = no\n", "policy", "helpers", "no", "F:2" },
	{ "the most kills", "[policy]\nmax_kills_per_hour = 100000\n", "policy",
	  "max_kills_per_hour", "100000", "F:2" },
	{ "fences in the manual's order", "[policy]\nfences = retired  peer-closed\n", "policy",
	  "fences", "peer-closed retired", "F:2" },
	{ "no fence at all", "[policy]\nfences =\n", "policy", "fences", "", "F:2" },
	{ "a path", "[reaper]\naudit_log = /x/y z.jsonl\n", "reaper", "audit_log", "/x/y z.jsonl",
	  "F:2" },
	{ "no metrics", "[reaper]\nmetrics_file = ; none\n", "reaper", "metrics_file", "", "F:2" },
	{ "a shipped class, one key", "[class pyjava]\npool_timeout = 90s\n", "class pyjava",
	  "pool_timeout", "90s", "F:2" },
	{ "its other keys stay", "[class pyjava]\npool_timeout = 90s\n", "class pyjava",
	  "daemon_args", "-m pyjava.daemon | -m reaper_pyjava", "default" },
	{ "words are set apart evenly", "[class x]\ndaemon_args = -m  a|b\tc\n", "class x",
	  "daemon_args", "-m a | b c", "F:2" },
	{ "a class of the user's has defaults", "[class x]\ndaemon_args = a\n", "class x",
	  "host_comm", "java", "default" },
	{ "a class' dots and signs", "[class a.b-c+d_9]\ndaemon_args = a\n", "class a.b-c+d_9",
	  "daemon_args", "a", "F:2" },
	{ "a rule by user number", "[protect]\nuser = 4294967294\n", "protect", "user",
	  "4294967294", "F:2" },
	{ "a rule by user name", "[protect]\nuser = root\n", "protect", "user", "root", "F:2" },
	{ "a rule by command name, as long as they get", "[protect]\ncomm = 123456789012345\n",
	  "protect", "comm", "123456789012345", "F:2" },
	{ "a rule by argument, with a blank in it", "[protect]\nargs = --keep alive\n", "protect",
	  "args", "--keep alive", "F:2" },
	{ "a value may hold a sign and brackets", "[protect]\nargs = [a=b:c]#d\n", "protect",
	  "args", "[a=b:c]#d", "F:2" },
	{ "a ';' inside a word is one", "[protect]\nargs = a;b\n", "protect", "args", "a;b",
	  "F:2" },
	{ "a rule by cgroup", "[protect]\ncgroup = /user.slice\n", "protect", "cgroup",
	  "/user.slice", "F:2" },
	{ "a section may be opened again", "[policy]\ntimeout=7s\n[protect]\n[policy]\nsample=1s\n",
	  "policy", "sample", "1s", "F:5" },
};

Test(config, values_and_origins)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const struct row *row = &good[i];
		_cleanup_config_ struct config *c = NULL;
		const struct setting *s;
		struct problem p;
		int r = load(row->text, strlen(row->text), &c, &p);

		cr_expect_eq(r, 0, "%s: %s", row->why, p.text);
		if (r)
			continue;
		s = shown(c, row->section, row->key);
		cr_expect_not_null(s, "%s: is shown", row->why);
		if (!s)
			continue;
		cr_expect_str_eq(s->value, row->value, "%s: %s", row->why, s->value);
		cr_expect_str_eq(s->origin, row->origin, "%s: %s", row->why, s->origin);
	}
}

struct bad_row {
	const char *why;
	const char *text;
	const char *says; /* where, and a word of it */
	size_t len;       /* 0: strlen(text) */
};

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X150 X50 X50 X50

static const struct bad_row bad[] = {
	{ "an unknown section", "[polizy]\n", "F:1: unknown section [polizy]; expected [reaper]",
	  0 },
	{ "an unknown section without a key is one too", "[policy]\n[x]\n", "F:2: unknown section",
	  0 },
	{ "sections are told by case", "[Policy]\n", "F:1: unknown section", 0 },
	{ "blanks inside the brackets", "[ policy ]\n", "F:1: unknown section", 0 },
	{ "a section without its end", "[policy\n", "F:1: [policy; expected a ']'", 0 },
	{ "text behind a section", "[policy] timeout=1s\n", "F:1: 'timeout=1s' behind a section",
	  0 },
	{ "a comment must stand apart", "[policy];x\n", "F:1: ';x' behind a section", 0 },
	{ "an unknown key", "[policy]\ntimeuot = 1s\n",
	  "F:2: unknown key 'timeuot' in [policy]; expected one of timeout, silent_after", 0 },
	{ "a key of another section", "[reaper]\ntimeout = 1s\n", "F:2: unknown key 'timeout'", 0 },
	{ "keys are told by case", "[policy]\nTimeout = 1s\n", "F:2: unknown key", 0 },
	{ "a colon is no sign", "[policy]\ntimeout: 1s\n", "F:2: timeout: 1s; expected KEY = VALUE",
	  0 },
	{ "a colon before the sign", "[reaper]\nstate_dir: /a=b\n", "F:2: unknown key", 0 },
	{ "a comment before the sign", "[policy]\ntimeout ; = 1s\n", "F:2: unknown key", 0 },
	{ "a line that is nothing", "[policy]\ntimeout\n", "F:2: timeout; expected KEY", 0 },
	{ "a sign alone", "[policy]\n= 1s\n", "F:2: unknown key ''", 0 },
	{ "a key before any section", "timeout = 1s\n[policy]\n", "F:1: a key before any section",
	  0 },
	{ "a repeated key", "[policy]\ntimeout = 1s\n\ntimeout = 2s\n",
	  "F:4: timeout is repeated; expected it once, and it stands in line 2", 0 },
	{ "a repeated key, the same value", "[policy]\ntimeout = 1s\ntimeout = 1s\n",
	  "F:3: timeout is", 0 },
	{ "a repeated key in a section opened again",
	  "[policy]\ntimeout = 1s\n[reaper]\n[policy]\ntimeout = 2s\n", "F:5: timeout is repeated",
	  0 },
	{ "a repeated key of a class", "[class x]\ndaemon_args=a\ndaemon_args=b\n",
	  "F:3: daemon_args", 0 },
	{ "an indented key would be a second value", "[policy]\ntimeout = 300s\n  1s\n",
	  "F:3: an indented line", 0 },
	{ "an indented section", " [policy]\n", "F:1: an indented line", 0 },
	{ "a tab indents too", "[policy]\n\ttimeout = 1s\n", "F:2: an indented line", 0 },
	{ "a line over 190 bytes", "[protect]\nargs = " X150 X10 X10 X10 "1234\n[policy]\n",
	  "F:2: a line of 191 bytes; expected at most 190", 0 },
	{ "a long comment would end as a key", "#" X150 X50 "\n", "F:1: a line of 201 bytes", 0 },
	{ "a NUL would end the value", "[policy]\nmax_kills_per_hour = 30\0000\n",
	  "F:2: a byte \\x00", sizeof("[policy]\nmax_kills_per_hour = 30\0000\n") - 1 },
	{ "a NUL behind the last line", "[policy]\n\0", "F:2: a byte \\x00",
	  sizeof("[policy]\n\0") - 1 },
	{ "lines that end as in DOS", "[policy]\r\ntimeout = 1s\r\n", "F:1: a carriage return", 0 },
	{ "a control character", "[protect]\nargs = a\033[2Jb\n", "F:2: a byte \\x1b", 0 },
	{ "a byte order mark", "\xef\xbb\xbf[policy]\n", "F:1: ", 0 },
	{ "a duration without its unit", "[policy]\ntimeout = 5\n",
	  "F:2: timeout = 5; expected a duration from 1s to 30d", 0 },
	{ "a negative duration", "[policy]\ntimeout = -5s\n", "F:2: timeout = -5s; expected", 0 },
	{ "a duration below its range", "[policy]\ntimeout = 999ms\n", "F:2: timeout", 0 },
	{ "a duration above its range", "[reaper]\ninterval = 61m\n",
	  "F:2: interval = 61m; expected a duration from 1s to 1h", 0 },
	{ "a crash window too short", "[policy]\ncrash_window = 9s\n",
	  "F:2: crash_window = 9s; expected a duration from 10s to 1d", 0 },
	{ "a duration that overflows", "[policy]\ntimeout = 99999999999999999999d\n",
	  "F:2: timeout", 0 },
	{ "no zero where none is allowed", "[policy]\nmin_age = 0s\n", "F:2: min_age", 0 },
	{ "a zero without its unit", "[policy]\nsample = 0\n", "F:2: sample = 0; expected 0s or a",
	  0 },
	{ "between none and the shortest sample", "[policy]\nsample = 50ms\n", "F:2: sample", 0 },
	{ "never, where it cannot be", "[policy]\ntimeout = never\n", "F:2: timeout = never", 0 },
	{ "a comment behind # is part of the value", "[policy]\ntimeout = 7s # x\n",
	  "F:2: timeout = 7s # x; expected", 0 },
	{ "assumed too soon", "[policy]\nassume_leaked_after = 59s\n",
	  "F:2: assume_leaked_after = 59s; expected never or a duration from 1m to 30d", 0 },
	{ "a percentage without its sign", "[policy]\nidle_cpu = 1\n",
	  "F:2: idle_cpu = 1; expected a percentage from 0.1% to 100%", 0 },
	{ "a percentage too small", "[policy]\nidle_cpu = 0.09%\n", "F:2: idle_cpu", 0 },
	{ "a percentage too large", "[policy]\nidle_cpu = 100.0001%\n", "F:2: idle_cpu", 0 },
	{ "a truth value in other words", "[policy]\nhelpers = true\n",
	  "F:2: helpers = true; expected yes or no", 0 },
	{ "no kill at all is what --dry-run is for", "[policy]\nmax_kills_per_sweep = 0\n",
	  "F:2: max_kills_per_sweep = 0; expected a number from 1 to 100000", 0 },
	{ "too many kills", "[policy]\nmax_kills_per_sweep = 100001\n", "F:2: max_kills", 0 },
	{ "an unknown fence", "[policy]\nfences = peer-closed idle\n",
	  "F:2: fences = peer-closed idle; expected some of: signed-off", 0 },
	{ "a fence twice", "[policy]\nfences = retired retired\n", "F:2: fences", 0 },
	{ "assumed is no fence to name", "[policy]\nfences = assumed\n", "F:2: fences", 0 },
	{ "none is no fence", "[policy]\nfences = none\n", "F:2: fences", 0 },
	{ "a word that would be printed as a comment", "[class x]\ndaemon_args = a|;b\n",
	  "F:2: daemon_args", 0 },
	{ "a value that would be printed as a comment", "[protect]\nargs =;b\n",
	  "F:2: args = ;b; exp", 0 },
	{ "a relative path", "[reaper]\nstate_dir = run\n",
	  "F:2: state_dir = run; expected an absolute path", 0 },
	{ "an empty path", "[reaper]\naudit_log =\n", "F:2: audit_log = ; expected", 0 },
	{ "a class without a name", "[class]\n", "F:1: unknown section", 0 },
	{ "a class with an empty name", "[class ]\n", "F:1: unknown section", 0 },
	{ "a class with a blank in its name", "[class a b]\n", "F:1: unknown section", 0 },
	{ "a class with a long name", "[class 12345678901234567890123456789012]\n",
	  "F:1: unknown section", 0 },
	{ "a class that would match nothing", "[policy]\n[class x]\nhost_comm = java\n",
	  "F:2: [class x] has no daemon_args; expected", 0 },
	{ "no words", "[class x]\ndaemon_args =\n", "F:2: daemon_args", 0 },
	{ "an empty alternative", "[class x]\ndaemon_args = a || b\n", "F:2: daemon_args", 0 },
	{ "an alternative missing behind", "[class x]\ndaemon_args = a |\n", "F:2: daemon_args",
	  0 },
	{ "an alternative missing before", "[class x]\ndaemon_args = | a\n", "F:2: daemon_args",
	  0 },
	{ "too many alternatives", "[class x]\ndaemon_args = 1|2|3|4|5|6|7|8|9\n",
	  "F:2: daemon_args", 0 },
	{ "too many words", "[class x]\ndaemon_args = 1 2 3 4 5 6 7 8 9\n", "F:2: daemon_args", 0 },
	{ "a word too long", "[class x]\ndaemon_args = " X50 X10 X10 X10 X10 "123456\n",
	  "F:2: daemon_args", 0 },
	{ "a host of two words", "[class pyspark]\nhost_comm = java x\n", "F:2: host_comm", 0 },
	{ "a host that could never match", "[class pyspark]\nhost_comm = 1234567890123456\n",
	  "F:2: host_comm = 1234567890123456; expected at most 8 words of at most 15 bytes", 0 },
	{ "a pool that is never purged", "[class pyspark]\npool_timeout = never\n",
	  "F:2: pool_timeout", 0 },
	{ "a rule for nobody", "[protect]\nuser = no such user\n",
	  "F:2: user = no such user; expected the name of a user", 0 },
	{ "a user number that means nobody said", "[protect]\nuser = 4294967295\n", "F:2: user",
	  0 },
	{ "a rule that could never match", "[protect]\ncomm = 1234567890123456\n", "F:2: comm", 0 },
	{ "a rule that would match all", "[protect]\nargs =\n", "F:2: args = ; expected", 0 },
	{ "a relative cgroup", "[protect]\ncgroup = user.slice\n", "F:2: cgroup", 0 },
};

Test(config, what_is_refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct bad_row *row = &bad[i];
		_cleanup_config_ struct config *c = NULL;
		struct problem p = { "" };

		cr_expect_eq(load(row->text, row->len ? row->len : strlen(row->text), &c, &p),
			     -EINVAL, "%s", row->why);
		cr_expect_null(c, "%s: nothing is given", row->why);
		cr_expect_eq(strncmp(p.text, row->says, strlen(row->says)), 0, "%s: says %s",
			     row->why, p.text);
	}
}

Test(config, every_problem_says_what_was_expected)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_config_ struct config *c = NULL;
		struct problem p = { "" };

		cr_expect_eq(load(bad[i].text, bad[i].len ? bad[i].len : strlen(bad[i].text), &c,
				  &p),
			     -EINVAL);
		cr_expect_not_null(strstr(p.text, "; expected "), "%s: says %s", bad[i].why,
				   p.text);
		for (const char *s = p.text; *s; s++)
			cr_expect((unsigned char)*s >= ' ' && *s != 0x7f, "%s: is escaped",
				  bad[i].why);
	}
}

/* The longest line that is allowed reaches inih whole. */
Test(config, the_longest_line)
{
	static const char text[] = "[protect]\nargs = " X150 X10 X10 X10 "123\nuser = 5\n";
	_cleanup_config_ struct config *c = NULL;
	struct problem p;

	cr_assert_eq(load(text, sizeof(text) - 1, &c, &p), 0, "%s", p.text);
	cr_assert_eq(c->protect.count, 2);
	cr_expect_eq(strlen(c->protect.rule[0].value), 183);
	cr_expect_eq(c->protect.rule[1].uid, 5);
}

Test(config, the_defaults)
{
	_cleanup_config_ struct config *c = NULL;
	struct problem p;

	cr_assert_eq(config_load_text("F", NULL, 0, NULL, 0, &c, &p), 0, "%s", p.text);
	cr_expect_eq(c->interval_ms, 10000);
	cr_expect_eq(c->marker_keep_ms, 24 * 60 * MINUTE);
	cr_expect_str_empty(c->metrics_file);
	cr_expect_eq(c->policy.timeout_ms, 5 * MINUTE);
	cr_expect_eq(c->policy.silent_after_ms, 15 * MINUTE);
	cr_expect_eq(c->policy.assume_leaked_after_ms, UNKNOWN_U64);
	cr_expect_eq(c->growing_after_ms, 5 * MINUTE);
	cr_expect_eq(c->policy.growing_within_ms, 60 * MINUTE);
	cr_expect_eq(c->policy.min_age_ms, MINUTE);
	cr_expect_eq(c->policy.idle_cpu_ppm, 10000);
	cr_expect_eq(c->sample_ms, 2000);
	cr_expect_eq(c->term_grace_ms, 10000);
	cr_expect_eq(c->kill_grace_ms, 10000);
	cr_expect_eq(c->crash_window_ms, 10 * MINUTE);
	cr_expect(c->policy.helpers);
	cr_expect_eq(c->limits.per_sweep, 32);
	cr_expect_eq(c->limits.per_hour, 256);
	cr_expect_eq(c->policy.fences, 1u << FENCE_SIGNED_OFF | 1u << FENCE_PEER_CLOSED |
					       1u << FENCE_HOST_GONE | 1u << FENCE_RETIRED |
					       1u << FENCE_TASK_ENDED);
	cr_expect_eq(c->protect.count, 0);
	cr_assert_eq(c->classes.count, 2);
	cr_expect_str_eq(c->classes.class[0].name, "pyspark");
	cr_expect_eq(c->classes.class[0].pool_timeout_ms, MINUTE);
	cr_assert_eq(c->classes.class[0].daemon_args.count, 2);
	cr_assert_eq(c->classes.class[0].daemon_args.choice[0].count, 2);
	cr_expect_str_eq(c->classes.class[0].daemon_args.choice[0].word[1], "pyspark.daemon");
	cr_expect_str_eq(c->classes.class[0].daemon_args.choice[1].word[1], "reaper_pyspark");
	cr_expect_str_eq(c->classes.class[0].host_comm.choice[0].word[0], "java");
	cr_expect_str_eq(c->classes.class[0].exclude_args.choice[0].word[0], "pyspark.sql.worker");
	cr_expect_str_eq(c->classes.class[1].name, "pyjava");
	cr_expect_eq(c->classes.class[1].pool_timeout_ms, UNKNOWN_U64);
	cr_expect_eq(c->classes.class[1].exclude_args.count, 0);
}

struct place_row {
	const char *why;
	uid_t euid;
	struct config_places places;
	const char *state_dir, *marker_dir, *audit_log;
};

static const struct place_row places[] = {
	{ "root's are the system's, whatever the environment says",
	  0,
	  { "/root", "/r", "/s" },
	  "/run/reaper",
	  "/run/reaper/markers",
	  "/var/log/reaper/audit.jsonl" },
	{ "a user at a terminal",
	  7,
	  { "/home/u", "/run/user/7", NULL },
	  "/run/user/7/reaper",
	  "/run/user/7/reaper/markers",
	  "/home/u/.local/state/reaper/audit.jsonl" },
	{ "a user without a session",
	  7,
	  { "/home/u", NULL, NULL },
	  "/home/u/.local/state/reaper/run",
	  "/home/u/.local/state/reaper/run/markers",
	  "/home/u/.local/state/reaper/audit.jsonl" },
	{ "a state of its own place",
	  7,
	  { "/home/u", NULL, "/s" },
	  "/home/u/.local/state/reaper/run",
	  "/home/u/.local/state/reaper/run/markers",
	  "/s/reaper/audit.jsonl" },
	{ "places that are no absolute path do not count",
	  7,
	  { "home", "run", "" },
	  "/.local/state/reaper/run",
	  "/.local/state/reaper/run/markers",
	  "/.local/state/reaper/audit.jsonl" },
	{ "the home of those who have none",
	  7,
	  { "/", NULL, NULL },
	  "/.local/state/reaper/run",
	  "/.local/state/reaper/run/markers",
	  "/.local/state/reaper/audit.jsonl" },
};

Test(config, paths_by_user)
{
	struct config *c = calloc(1, sizeof(*c));
	char longest[PATH_MAX] = "/";

	cr_assert_not_null(c);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		cr_expect_eq(config_defaults(c, places[i].euid, &places[i].places), 0);
		cr_expect_str_eq(c->state_dir, places[i].state_dir, "%s", places[i].why);
		cr_expect_str_eq(c->marker_dir, places[i].marker_dir, "%s", places[i].why);
		cr_expect_str_eq(c->audit_log, places[i].audit_log, "%s", places[i].why);
	}
	memset(longest + 1, 'x', sizeof(longest) - 2);
	cr_expect_eq(config_defaults(c, 7, &(struct config_places){ .runtime_dir = longest }),
		     -ENAMETOOLONG);
	free(c);
}

struct set_row {
	const char *why;
	const char *set;
	const char *section, *key, *value; /* NULL: refused, and key is what the problem says */
};

static const struct set_row sets[] = {
	{ "a value", "policy.timeout=1s", "policy", "timeout", "1s" },
	{ "split at the first sign", "protect.args=--a=b", "protect", "args", "--a=b" },
	{ "then at the last dot before it", "class a.b.daemon_args=c.d", "class a.b", "daemon_args",
	  "c.d" },
	{ "a class' key", "class pyspark.host_comm=java | javaw", "class pyspark", "host_comm",
	  "java | javaw" },
	{ "a new class", "class x.daemon_args=-m y", "class x", "daemon_args", "-m y" },
	{ "blanks around a value", "policy.timeout= 1s ", "policy", "timeout", "1s" },
	{ "an empty value", "reaper.metrics_file=", "reaper", "metrics_file", "" },
	{ "# is no comment", "protect.args=#a #b", "protect", "args", "#a #b" },
	{ "no sign", "policy.timeout", NULL, "--set policy.timeout; expected SECTION.KEY=VALUE",
	  NULL },
	{ "no dot", "timeout=1s", NULL, "--set timeout=1s; expected SECTION.KEY=VALUE", NULL },
	{ "a dot in the value alone", "timeout=1.5", NULL, "--set timeout=1.5; expected SECTION",
	  NULL },
	{ "an unknown section", "polizy.timeout=1s", NULL, "--set: unknown section 'polizy'; exp",
	  NULL },
	{ "an unknown key", "policy.timeuot=1s", NULL, "--set: unknown key 'timeuot' in [policy]",
	  NULL },
	{ "no key", "policy.=1s", NULL, "--set: unknown key ''", NULL },
	{ "blanks in a key", "policy.timeout =1s", NULL, "--set: unknown key 'timeout '", NULL },
	{ "a bad value", "policy.timeout=1", NULL, "--set policy.timeout = 1; expected a duration",
	  NULL },
	{ "nothing", "", NULL, "--set ; expected", NULL },
	{ "a class that would match nothing", "class x.host_comm=java", NULL,
	  "--set: [class x] has no daemon_args; expected", NULL },
	{ "what a file would take for a comment", "protect.args=a ;b", NULL,
	  "--set protect.args: it holds ' ;'; expected", NULL },
	{ "a comment from the start", "protect.args=;b", NULL, "--set protect.args: it holds ' ;'",
	  NULL },
	{ "two lines", "protect.args=a\nuser = 5", NULL, "--set protect.args: it holds a control",
	  NULL },
	{ "what no line could hold", "protect.args=" X150 X10 X10 X10 "1234", NULL,
	  "--set protect.args: too long; expected", NULL },
	{ "what no buffer could hold", "protect.args=" X150 X150 X150 X150, NULL,
	  "--set protect.args: too long; expected", NULL },
	{ "a long section", X150 ".timeout=1s", NULL, "--set: unknown section", NULL },
	{ "a long key", "policy." X150 "=1s", NULL, "--set: unknown key", NULL },
};

Test(config, set)
{
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const struct set_row *row = &sets[i];
		_cleanup_config_ struct config *c = NULL;
		const struct setting *s;
		struct problem p = { "" };
		int r = config_load_text("F", NULL, 0, &row->set, 1, &c, &p);

		if (!row->section) {
			cr_expect_eq(r, -EINVAL, "%s", row->why);
			cr_expect_eq(strncmp(p.text, row->key, strlen(row->key)), 0, "%s: says %s",
				     row->why, p.text);
			continue;
		}
		cr_expect_eq(r, 0, "%s: %s", row->why, p.text);
		s = r ? NULL : shown(c, row->section, row->key);
		cr_expect(s && !strcmp(s->value, row->value), "%s: %s", row->why,
			  s ? s->value : "");
		cr_expect(s && !strcmp(s->origin, "command line"), "%s: origin", row->why);
	}
}

Test(config, the_last_set_wins_over_the_file)
{
	static const char text[] = "[policy]\ntimeout = 1m\n[protect]\nuser = 5\n";
	static const char *const given[] = { "policy.timeout=2m", "policy.timeout=3m",
					     "protect.user=6" };
	_cleanup_config_ struct config *c = NULL;
	struct problem p;

	cr_assert_eq(config_load_text("F", text, sizeof(text) - 1, given, ARRAY_SIZE(given), &c,
				      &p),
		     0, "%s", p.text);
	cr_expect_eq(c->policy.timeout_ms, 3 * MINUTE);
	cr_assert_eq(c->protect.count, 2, "rules add up");
	cr_expect_eq(c->protect.rule[0].uid, 5);
	cr_expect_eq(c->protect.rule[1].uid, 6);
}

Test(config, classes_stand_in_file_order)
{
	static const char text[] = "[class x]\ndaemon_args = x\n[class pyspark]\nhost_comm = j\n"
				   "[class y]\ndaemon_args = y\n";
	static const char *const given[] = { "class z.daemon_args=z" };
	static const char *const order[] = { "pyjava", "x", "pyspark", "y", "z" };
	_cleanup_config_ struct config *c = NULL;
	struct problem p;

	cr_assert_eq(config_load_text("F", text, sizeof(text) - 1, given, 1, &c, &p), 0, "%s",
		     p.text);
	cr_assert_eq(c->classes.count, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		cr_expect_str_eq(c->classes.class[i].name, order[i],
				 "shipped ones that are not named first, --set last");
	cr_expect_eq(c->classes.class[2].daemon_args.count, 2, "key by key");
}

Test(config, rules_tell_what_they_need)
{
	static const char text[] = "[protect]\nuser = 0\nargs = a\nargs = b\ncomm = c\n";
	_cleanup_config_ struct config *c = NULL;
	struct problem p;

	cr_assert_eq(load(text, sizeof(text) - 1, &c, &p), 0, "%s", p.text);
	cr_expect_eq(c->protect.count, 4, "[protect] repeats its keys");
	cr_expect(c->protect.wants_args);
	cr_expect_not(c->protect.wants_cgroup);
	cr_expect_eq(c->protect.rule[2].kind, PROTECT_ARGS);
	cr_expect_str_eq(c->protect.rule[2].value, "b");
}

Test(config, limits_of_classes_and_rules)
{
	char text[16384];
	struct problem p;
	size_t len;

	for (int n = 14; n <= 17; n++) { /* beside the two shipped ones */
		_cleanup_config_ struct config *c = NULL;

		len = 0;
		for (int i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"[class c%d]\ndaemon_args = a\n", i);
		cr_expect_eq(load(text, len, &c, &p), n == 14 ? 0 : -EINVAL, "%d classes", n);
		if (n == 15 || n == 16)
			cr_expect_str_eq(p.text,
					 "F:29: one class more; expected at most 16 with the "
					 "shipped ones");
		if (n == 17)
			cr_expect_str_eq(p.text, "F:33: one class more; expected at most 16");
	}
	for (int n = PROTECT_RULES_MAX; n <= PROTECT_RULES_MAX + 1; n++) {
		static const char *const given[] = { "protect.user=1" };
		_cleanup_config_ struct config *c = NULL, *more = NULL;

		len = (size_t)snprintf(text, sizeof(text), "[protect]\n");
		for (int i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "user = 1\n");
		cr_expect_eq(load(text, len, &c, &p), n == PROTECT_RULES_MAX ? 0 : -EINVAL);
		if (n > PROTECT_RULES_MAX)
			cr_expect_str_eq(p.text, "F:66: one rule more; expected at most 64");
		cr_expect_eq(config_load_text("F", text, len, given, 1, &more, &p), -EINVAL,
			     "--set counts too");
	}
}

/* What check-config prints is a file that says the same. */
Test(config, settings_read_back)
{
	static const char text[] =
		"[reaper]\ninterval=90s\nmetrics_file=/a b\n[policy]\nidle_cpu=0.3%\n"
		"fences=retired\nassume_leaked_after=1d\nsample=0s\n"
		"[class x]\ndaemon_args=a b|c\n[protect]\nargs=x=y\nuser=root\n";
	_cleanup_config_ struct config *c = NULL, *again = NULL;
	char printed[16384];
	size_t len = 0;
	struct problem p;

	cr_assert_eq(load(text, sizeof(text) - 1, &c, &p), 0, "%s", p.text);
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct setting *s = &c->settings[i];

		if (!i || strcmp(s->section, c->settings[i - 1].section))
			len += (size_t)snprintf(printed + len, sizeof(printed) - len, "[%s]\n",
						s->section);
		len += (size_t)snprintf(printed + len, sizeof(printed) - len, "%s = %s\n", s->key,
					s->value);
	}
	cr_assert_eq(load(printed, len, &again, &p), 0, "%s", p.text);
	cr_assert_eq(again->setting_count, c->setting_count);
	for (size_t i = 0; i < c->setting_count; i++)
		cr_expect_str_eq(again->settings[i].value, c->settings[i].value, "%s",
				 c->settings[i].key);
	cr_expect_eq(memcmp(&again->policy, &c->policy, sizeof(c->policy)), 0);
	cr_expect_eq(memcmp(&again->classes, &c->classes, sizeof(c->classes)), 0);
	cr_expect_eq(memcmp(&again->protect, &c->protect, sizeof(c->protect)), 0);
}

Test(config, settings_stand_in_the_order_of_the_file)
{
	_cleanup_config_ struct config *c = NULL;
	struct problem p;

	cr_assert_eq(config_load_text("F", NULL, 0, NULL, 0, &c, &p), 0);
	cr_assert_eq(c->setting_count, 31);
	for (size_t i = 0; i < KEY_CLASS_FIRST; i++)
		cr_expect_str_eq(c->settings[i].key, config_keys[i].name);
	cr_expect_str_eq(c->settings[0].section, "reaper");
	cr_expect_str_eq(c->settings[KEY_CLASS_FIRST].section, "class pyspark");
}

/* ---- the shipped file ---- */

/* Takes the `#` off every line that is a key: "#key = value", not "# prose". */
static size_t uncomment(const char *text, char *ret)
{
	size_t len = 0;
	bool begins = true;

	for (; *text; text++) {
		bool key = begins && *text == '#' && text[1] >= 'a' && text[1] <= 'z';

		begins = *text == '\n';
		if (!key)
			ret[len++] = *text;
	}
	ret[len] = '\0';
	return len;
}

static size_t read_shipped(char *ret, size_t size)
{
	const char *srcdir = getenv("srcdir");
	char path[PATH_MAX];
	FILE *f;
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/etc/reaper.conf", srcdir ? srcdir : "..");
	f = fopen(path, "re");
	cr_assert_not_null(f, "%s", path);
	len = fread(ret, 1, size - 1, f);
	(void)fclose(f);
	ret[len] = '\0';
	return len;
}

Test(config, the_shipped_file_changes_nothing)
{
	_cleanup_config_ struct config *c = NULL;
	char text[16384];
	size_t len = read_shipped(text, sizeof(text));
	struct problem p;

	cr_assert_eq(load(text, len, &c, &p), 0, "%s", p.text);
	cr_expect_eq(c->protect.count, 0);
	for (size_t i = 0; i < c->setting_count; i++)
		cr_expect_str_eq(c->settings[i].origin, "default", "%s", c->settings[i].key);
}

Test(config, the_shipped_file_shows_every_key_with_its_default)
{
	static const char nobody[] = "user = jupyter"; /* not on every system */
	_cleanup_config_ struct config *c = NULL, *defaults = NULL;
	char text[16384], keys[16384], *rule;
	struct config *root = calloc(1, sizeof(*root));
	struct problem p;

	cr_assert_not_null(root);
	(void)read_shipped(text, sizeof(text));
	(void)uncomment(text, keys);
	rule = strstr(keys, nobody);
	cr_assert_not_null(rule);
	memcpy(rule, "user = root   ", sizeof(nobody) - 1);
	cr_assert_eq(load(keys, strlen(keys), &c, &p), 0, "%s", p.text);
	cr_assert_eq(config_load_text("F", NULL, 0, NULL, 0, &defaults, &p), 0, "%s", p.text);
	cr_assert_eq(config_defaults(root, 0, &(struct config_places){ 0 }), 0);
	for (size_t i = 0; i < defaults->setting_count; i++) {
		cr_expect_str_eq(c->settings[i].key, defaults->settings[i].key);
		cr_expect_neq(strcmp(c->settings[i].origin, "default"), 0, "%s is there",
			      c->settings[i].key);
		if (i != KEY_MARKER_DIR && i != KEY_STATE_DIR && i != KEY_AUDIT_LOG)
			cr_expect_str_eq(c->settings[i].value, defaults->settings[i].value, "%s",
					 c->settings[i].key);
	}
	cr_expect_str_eq(c->marker_dir, root->marker_dir);
	cr_expect_str_eq(c->state_dir, root->state_dir);
	cr_expect_str_eq(c->audit_log, root->audit_log);
	cr_expect_eq(c->protect.count, 4, "and every kind of rule");
	free(root);
}

/* ---- the file ---- */

static int load_file(const char *path, struct problem *ret_problem)
{
	_cleanup_config_ struct config *c = NULL;

	return config_load(path, NULL, 0, &c, ret_problem);
}

#define TEXT "[policy]\ntimeout = 7s\n"

Test(config, a_file_that_is_believed)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_config_ struct config *c = NULL;
	char path[PATH_MAX], origin[PATH_MAX + 8];
	struct problem p;

	tmpdir_write(&d, "f", TEXT, strlen(TEXT), 0644);
	cr_assert_eq(config_load(tmpdir_path(&d, "f", path), NULL, 0, &c, &p), 0, "%s", p.text);
	cr_expect_eq(c->policy.timeout_ms, 7000);
	(void)snprintf(origin, sizeof(origin), "%s:2", path);
	cr_expect_str_eq(shown(c, "policy", "timeout")->origin, origin);
}

Test(config, files_that_are_not)
{
	static const mode_t modes[] = { 0664, 0646, 0666 };
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX], other[PATH_MAX];
	struct problem p;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		tmpdir_write(&d, "f", TEXT, strlen(TEXT), modes[i]);
		cr_expect_eq(load_file(tmpdir_path(&d, "f", path), &p), -EINVAL, "mode %o",
			     (unsigned)modes[i]);
		cr_expect_not_null(strstr(p.text, "; expected a regular file"), "%s", p.text);
	}
	cr_expect_eq(load_file(tmpdir_path(&d, "missing", path), &p), -EINVAL,
		     "-c FILE must be there");
	cr_expect_not_null(strstr(p.text, "No such file"), "%s", p.text);
	tmpdir_write(&d, "g", TEXT, strlen(TEXT), 0644);
	cr_assert_eq(symlink(tmpdir_path(&d, "g", path), tmpdir_path(&d, "l", other)), 0);
	cr_expect_eq(load_file(other, &p), -EINVAL, "no symbolic link is followed");
	cr_expect_not_null(strstr(p.text, "is a symbolic link"), "%s", p.text);
	cr_assert_eq(link(path, tmpdir_path(&d, "h", other)), 0);
	cr_expect_eq(load_file(path, &p), -EINVAL, "a file with two names is somebody's trick");
	cr_expect_eq(load_file(d.path, &p), -EINVAL, "a directory");
	cr_assert_eq(mkfifo(tmpdir_path(&d, "p", path), 0600), 0);
	cr_expect_eq(load_file(path, &p), -EINVAL, "a FIFO is refused, and nobody waits for it");
	cr_expect_eq(load_file("/dev/null", &p), -EINVAL, "a device");
}

Test(config, a_file_of_somebody_else)
{
	if (geteuid())
		cr_skip_test("only root can give a file away");
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX];
	struct problem p;

	tmpdir_write(&d, "f", TEXT, strlen(TEXT), 0644);
	cr_assert_eq(chown(tmpdir_path(&d, "f", path), 65534, 65534), 0);
	cr_expect_eq(load_file(path, &p), -EINVAL);
	cr_expect_not_null(strstr(p.text, "; expected a regular file of root's or your own"), "%s",
			   p.text);
}

Test(config, a_file_that_is_too_long)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char *text = malloc(CONFIG_FILE_MAX + 1), path[PATH_MAX];
	struct problem p;

	cr_assert_not_null(text);
	memset(text, '\n', CONFIG_FILE_MAX + 1);
	tmpdir_write(&d, "f", text, CONFIG_FILE_MAX, 0644);
	cr_expect_eq(load_file(tmpdir_path(&d, "f", path), &p), 0, "%s", p.text);
	tmpdir_write(&d, "f", text, CONFIG_FILE_MAX + 1, 0644);
	cr_expect_eq(load_file(path, &p), -EINVAL);
	cr_expect_not_null(strstr(p.text, "too long; expected at most"), "%s", p.text);
	free(text);
}

/* The default of every key lies in its own range. */
Test(config, every_key_takes_its_default)
{
	struct config *c = calloc(1, sizeof(*c));
	struct worker_class class;
	char value[SETTING_VALUE_MAX];

	cr_assert_not_null(c);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct config_key *key = &config_keys[i];
		void *base = key->section == SECTION_CLASS ? (void *)&class : (void *)c;

		cr_expect_eq(config_key_find(key->section, key->name), key, "%s is found",
			     key->name);
		if (!key->fallback)
			continue;
		cr_expect_eq(config_key_parse(key, key->fallback, base), 0, "%s", key->name);
		(void)config_key_format(key, base, value);
		cr_expect_eq(config_key_parse(key, value, base), 0, "%s reads back", key->name);
	}
	free(c);
}

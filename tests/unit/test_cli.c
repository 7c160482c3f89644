/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cli.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "app/config.h"

enum {
	ARGS_MAX = 8,
	ARGV_MAX = 2 * CLI_SETS_MAX + 8,
};

/* main() gets its words writable, and nobody writes them. */
union given_words {
	const char *given[ARGV_MAX];
	char *argv[ARGV_MAX];
};

struct row {
	const char *why;
	const char *args[ARGS_MAX];
	int status; /* -1: run */
	struct options o;
};

static int parse(const char *const *args, struct options *ret)
{
	union given_words words = { .given = { "reaper" } };
	int argc = 1;

	while (args[argc - 1]) {
		words.given[argc] = args[argc - 1];
		argc++;
	}
	return cli_parse(argc, words.argv, ret);
}

static const struct row rows[] = {
	{ "a command by itself", { "audit" }, -1, { .command = COMMAND_AUDIT } },
	{ "sweep", { "sweep" }, -1, { .command = COMMAND_SWEEP } },
	{ "watch", { "watch" }, -1, { .command = COMMAND_WATCH } },
	{ "doctor", { "doctor" }, -1, { .command = COMMAND_DOCTOR } },
	{ "check-config", { "check-config" }, -1, { .command = COMMAND_CHECK_CONFIG } },
	{ "explain takes a pid", { "explain", "7" }, -1, { .command = COMMAND_EXPLAIN, .pid = 7 } },
	{ "retire takes a pid",
	  { "retire", "4194304" },
	  -1,
	  { .command = COMMAND_RETIRE, .pid = 4194304 } },
	{ "--dry-run alone is audit",
	  { "--dry-run" },
	  -1,
	  { .command = COMMAND_AUDIT, .dry_run = true } },
	{ "-n alone is audit, with other options too",
	  { "-n", "--json" },
	  -1,
	  { .command = COMMAND_AUDIT, .dry_run = true, .json = true } },
	{ "--dry-run with a command leaves the command",
	  { "sweep", "-n" },
	  -1,
	  { .command = COMMAND_SWEEP, .dry_run = true } },
	{ "options before the command",
	  { "-q", "--json", "sweep" },
	  -1,
	  { .command = COMMAND_SWEEP, .quiet = true, .json = true } },
	{ "options behind the command",
	  { "sweep", "-v", "--json" },
	  -1,
	  { .command = COMMAND_SWEEP, .verbose = true, .json = true } },
	{ "options between the command and its pid",
	  { "explain", "--json", "7" },
	  -1,
	  { .command = COMMAND_EXPLAIN, .pid = 7, .json = true } },
	{ "the last of -q and -v holds",
	  { "-q", "-v", "audit" },
	  -1,
	  { .command = COMMAND_AUDIT, .verbose = true } },
	{ "letters together",
	  { "-nq", "audit" },
	  -1,
	  { .command = COMMAND_AUDIT, .dry_run = true, .quiet = true } },
	{ "-c with its file in one word",
	  { "-cx", "audit" },
	  -1,
	  { .command = COMMAND_AUDIT, .config_path = "x" } },
	{ "--config=",
	  { "--config=x", "audit" },
	  -1,
	  { .command = COMMAND_AUDIT, .config_path = "x" } },
	{ "hosts are collected",
	  { "--host", "5", "audit", "--host=6" },
	  -1,
	  { .command = COMMAND_AUDIT, .hosts = { 5, 6 }, .host_count = 2 } },
	{ "a host twice is one",
	  { "--host", "5", "--host", "5", "audit" },
	  -1,
	  { .command = COMMAND_AUDIT, .hosts = { 5 }, .host_count = 1 } },
	{ "--set keeps its order",
	  { "audit", "--set", "a.b=1", "--set", "c.d=2" },
	  -1,
	  { .command = COMMAND_AUDIT, .sets = { "a.b=1", "c.d=2" }, .set_count = 2 } },
	{ "a command behind --",
	  { "-n", "--", "sweep" },
	  -1,
	  { .command = COMMAND_SWEEP, .dry_run = true } },
	{ "--help leaves with 0", { "--help" }, EXIT_CLEAN, { 0 } },
	{ "--help counts before what is wrong behind it", { "-h", "--bogus" }, EXIT_CLEAN, { 0 } },
	{ "--version leaves with 0", { "--version" }, EXIT_CLEAN, { 0 } },

	{ "nothing at all is a usage error", { NULL }, EXIT_USAGE, { 0 } },
	{ "options but no command", { "--json" }, EXIT_USAGE, { 0 } },
	{ "an unknown command", { "kill" }, EXIT_USAGE, { 0 } },
	{ "a command is not guessed", { "swep" }, EXIT_USAGE, { 0 } },
	{ "a command is not completed", { "aud" }, EXIT_USAGE, { 0 } },
	{ "an empty command", { "" }, EXIT_USAGE, { 0 } },
	{ "two commands", { "audit", "sweep" }, EXIT_USAGE, { 0 } },
	{ "a pid where none is taken", { "sweep", "7" }, EXIT_USAGE, { 0 } },
	{ "a pid too many behind --", { "explain", "7", "--", "8" }, EXIT_USAGE, { 0 } },
	{ "explain without a pid", { "explain" }, EXIT_USAGE, { 0 } },
	{ "retire without a pid", { "retire", "-n" }, EXIT_USAGE, { 0 } },
	{ "explain with two", { "explain", "7", "8" }, EXIT_USAGE, { 0 } },
	{ "pid 0 is nobody", { "explain", "0" }, EXIT_USAGE, { 0 } },
	{ "a negative pid would be a group", { "retire", "--", "-7" }, EXIT_USAGE, { 0 } },
	{ "a sign is no digit", { "retire", "+7" }, EXIT_USAGE, { 0 } },
	{ "above the kernel's limit", { "retire", "4194305" }, EXIT_USAGE, { 0 } },
	{ "a number that would wrap to 1", { "retire", "4294967297" }, EXIT_USAGE, { 0 } },
	{ "a huge number", { "retire", "99999999999999999999999" }, EXIT_USAGE, { 0 } },
	{ "digits and more", { "retire", "7x" }, EXIT_USAGE, { 0 } },
	{ "a blank before it", { "retire", " 7" }, EXIT_USAGE, { 0 } },
	{ "an empty pid", { "retire", "" }, EXIT_USAGE, { 0 } },
	{ "--host 0", { "--host", "0", "audit" }, EXIT_USAGE, { 0 } },
	{ "--host with a name", { "--host", "java", "audit" }, EXIT_USAGE, { 0 } },
	{ "--host without its pid", { "audit", "--host" }, EXIT_USAGE, { 0 } },
	{ "-c without its file", { "audit", "-c" }, EXIT_USAGE, { 0 } },
	{ "--json takes no value", { "--json=1", "audit" }, EXIT_USAGE, { 0 } },
	{ "an unknown option", { "--force", "sweep" }, EXIT_USAGE, { 0 } },
	{ "an unknown letter", { "-x", "sweep" }, EXIT_USAGE, { 0 } },
	{ "an ambiguous beginning", { "--ver", "audit" }, EXIT_USAGE, { 0 } },
};

static bool same_options(const struct options *a, const struct options *b)
{
	if (a->command != b->command || a->dry_run != b->dry_run || a->json != b->json ||
	    a->quiet != b->quiet || a->verbose != b->verbose || a->pid != b->pid ||
	    a->host_count != b->host_count || a->set_count != b->set_count)
		return false;
	if (!a->config_path != !b->config_path ||
	    (a->config_path && strcmp(a->config_path, b->config_path)))
		return false;
	for (size_t i = 0; i < a->set_count; i++)
		if (strcmp(a->sets[i], b->sets[i]))
			return false;
	return !memcmp(a->hosts, b->hosts, sizeof(a->hosts));
}

static void silence(void)
{
	cr_redirect_stdout();
	cr_redirect_stderr();
}

Test(cli, rows, .init = silence)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct options o = { .host_count = 99 };
		int status = parse(rows[i].args, &o);

		cr_expect_eq(status, rows[i].status, "%s: status %d", rows[i].why, status);
		if (status < 0)
			cr_expect(same_options(&o, &rows[i].o), "%s: other options", rows[i].why);
		else
			cr_expect_eq(o.host_count, 99, "%s: touched on failure", rows[i].why);
	}
}

Test(cli, posixly_correct_changes_nothing, .init = silence)
{
	const char *const args[] = { "audit", "--json", NULL };
	struct options o;

	cr_assert_eq(setenv("POSIXLY_CORRECT", "1", 1), 0);
	cr_assert_eq(parse(args, &o), -1);
	cr_expect(o.json, "an option behind the command counts");
}

Test(cli, more_hosts_and_sets_than_fit, .init = silence)
{
	union given_words words = { .given = { "reaper", "audit" } };
	static char number[CLI_HOSTS_MAX + 1][8];
	struct options o;
	int argc = 2;

	for (int i = 0; i <= CLI_HOSTS_MAX; i++) {
		(void)snprintf(number[i], sizeof(number[i]), "%d", i + 1);
		words.given[argc++] = "--host";
		words.given[argc++] = number[i];
	}
	cr_expect_eq(cli_parse(argc, words.argv, &o), EXIT_USAGE, "one host too many");
	cr_expect_eq(cli_parse(argc - 2, words.argv, &o), -1, "as many as fit");
	cr_expect_eq(o.host_count, CLI_HOSTS_MAX);

	argc = 2;
	for (int i = 0; i <= CLI_SETS_MAX; i++) {
		words.given[argc++] = "--set";
		words.given[argc++] = "policy.timeout=1s";
	}
	cr_expect_eq(cli_parse(argc, words.argv, &o), EXIT_USAGE, "one setting too many");
	cr_expect_eq(cli_parse(argc - 2, words.argv, &o), -1, "as many as fit");
}

/* Reads what a redirected stream was given. */
static size_t read_back(FILE *stream, char *ret, size_t size)
{
	size_t len = fread(ret, 1, size - 1, stream);

	ret[len] = '\0';
	return len;
}

Test(cli, usage_fits_80_columns_and_names_everything, .init = silence)
{
	const char *const args[] = { "--help", NULL };
	static const char *const words[] = {
		"audit",        "sweep",     "watch",     "explain PID", "retire PID", "doctor",
		"check-config", "--config",  "--dry-run", "--host",      "--set",      "--json",
		"--quiet",      "--verbose", "--version", "--help"
	};
	char text[8192];
	struct options o;
	FILE *out = cr_get_redirected_stdout();

	cr_assert_eq(parse(args, &o), EXIT_CLEAN);
	cr_assert_gt(read_back(out, text, sizeof(text)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		cr_expect_not_null(strstr(text, words[i]), "the usage names %s", words[i]);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		cr_expect(strlen(line) <= 79 || strstr(line, config_default_path()),
			  "too long, and not by what --sysconfdir says: %s", line);
}

struct message_row {
	const char *why;
	const char *args[ARGS_MAX];
	const char *says;
};

static const struct message_row messages[] = {
	{ "a slip of the finger gets a hint", { "swep" }, "did you mean 'sweep'" },
	{ "two letters swapped", { "aduit" }, "did you mean 'audit'" },
	{ "what is far from every command gets none", { "murder" }, "see 'reaper --help'" },
	{ "the option is named", { "--json", "-qx" }, "'-x'" },
	{ "the long option is named whole", { "-q", "--forse" }, "'--forse'" },
	{ "the option that lacks its value is named", { "audit", "--host" }, "'--host'" },
	{ "a bad pid is shown", { "explain", "0" }, "'0' is no process number" },
	{ "control characters are not passed on", { "a\x1b]0;x" }, "\\x1b]0;x" },
	{ "without a command the usage is shown", { NULL }, "Usage: reaper" },
};

Test(cli, messages, .init = silence)
{
	FILE *err = cr_get_redirected_stderr();
	char text[8192];
	struct options o;

	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		cr_expect_eq(parse(messages[i].args, &o), EXIT_USAGE, "%s", messages[i].why);
		(void)fflush(stderr);
		cr_expect_gt(read_back(err, text, sizeof(text)), 0, "%s", messages[i].why);
		cr_expect_not_null(strstr(text, messages[i].says), "%s: says %s", messages[i].why,
				   text);
		clearerr(err);
	}
}

Test(cli, the_worse_status_counts)
{
	static const int order[] = { EXIT_USAGE, EXIT_LOCKED, EXIT_BLIND, EXIT_LEAK, EXIT_CLEAN };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		for (size_t j = i; j < ARRAY_SIZE(order); j++) {
			cr_expect_eq(cli_worse(order[i], order[j]), order[i]);
			cr_expect_eq(cli_worse(order[j], order[i]), order[i]);
		}
}

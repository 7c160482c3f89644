/* SPDX-License-Identifier: Apache-2.0 */
#include "model/class.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

/* An argv as the kernel shows it: elements behind each other, each with its NUL. */
#define ARGV(text) text, sizeof(text)

static void choice(struct choices *c, const char *words)
{
	struct words *w = &c->choice[c->count++];
	char copy[256], *rest = copy;
	const char *word;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((word = strsep(&rest, " ")))
		snprintf(w->word[w->count++], CLASS_WORD_MAX, "%s", word);
}

static struct worker_class pyspark(void)
{
	struct worker_class c = { .name = "pyspark" };

	choice(&c.daemon_args, "-m pyspark.daemon");
	choice(&c.daemon_args, "-m reaper_pyspark");
	choice(&c.host_comm, "java");
	choice(&c.host_comm, "byzer");
	choice(&c.exclude_args, "pyspark.sql.worker");
	return c;
}

static const struct {
	const char *why;
	bool want;
	const char *argv;
	size_t len;
} argvs[] = {
	{ "Spark 3.5", true, ARGV("python\0-m\0pyspark.daemon") },
	{ "Spark 4 names its worker's module", true,
	  ARGV("python\0-m\0pyspark.daemon\0pyspark.worker") },
	{ "the second alternative", true, ARGV("python3\0-m\0reaper_pyspark") },
	{ "whatever the interpreter is called", true,
	  ARGV("/opt/conda/bin/python3.11\0-m\0pyspark.daemon") },
	{ "options of the interpreter", true, ARGV("python\0-u\0-B\0-m\0pyspark.daemon") },
	{ "an option with a value", true, ARGV("python\0-X\0utf8\0-m\0pyspark.daemon") },
	{ "another one", true, ARGV("python\0-W\0ignore\0-u\0-m\0pyspark.daemon") },
	{ "a value that looks like the match is none", false,
	  ARGV("python\0-X\0-m\0pyspark.daemon") },
	{ "an option that has lost its value", false, ARGV("python\0-X") },
	{ "another module", false, ARGV("python\0-m\0http.server") },
	{ "a module that only begins so", false, ARGV("python\0-m\0pyspark.daemon2") },
	{ "a module that begins so too early", false, ARGV("python\0-m\0pyspark") },
	{ "the match is cut off", false, ARGV("python\0-m") },
	{ "the match in reverse", false, ARGV("python\0pyspark.daemon\0-m") },
	{ "a script that has it among its own words", false,
	  ARGV("python\0app.py\0-m\0pyspark.daemon") },
	{ "a wrapper: timeout", false,
	  ARGV("timeout\0"
	       "5\0python\0-m\0pyspark.daemon") },
	{ "a wrapper: sudo", false, ARGV("sudo\0-E\0python\0-m\0pyspark.daemon") },
	{ "a shell that is going to exec it", false,
	  ARGV("bash\0-c\0: && python -m pyspark.daemon") },
	{ "one word", false, ARGV("python -m pyspark.daemon") },
	{ "it begins with the match", false, ARGV("-m\0pyspark.daemon") },
	{ "no other element", false, ARGV("python") },
	{ "a planner worker's daemon is left alone", false,
	  ARGV("python\0-m\0pyspark.daemon\0pyspark.sql.worker.plan_udtf") },
	{ "so is one that is called so in front", false,
	  ARGV("pyspark.sql.worker\0-m\0pyspark.daemon") },
	{ "an argument that only contains it", true,
	  ARGV("python\0-m\0pyspark.daemon\0my.pyspark.sql.worker") },
	{ "nothing", false, "", 0 },
	{ "an argv that was not read", false, NULL, 0 },
};

Test(class, daemons)
{
	struct worker_class c = pyspark();

	for (size_t i = 0; i < ARRAY_SIZE(argvs); i++) {
		char bytes[128] = { 0 };
		struct proc p = { .argv_len = argvs[i].len };

		if (argvs[i].argv) {
			memcpy(bytes, argvs[i].argv, argvs[i].len);
			p.argv = bytes;
		}
		cr_expect_eq(class_matches_argv(&c, &p), argvs[i].want, "%s", argvs[i].why);
	}
}

Test(class, without_words_nothing_matches)
{
	char bytes[] = "python\0-m\0pyspark.daemon";
	struct proc p = { .argv = bytes, .argv_len = sizeof(bytes) };
	struct worker_class c = { .name = "empty" };

	cr_expect_not(class_matches_argv(&c, &p), "no alternative");
	c.daemon_args.count = 1;
	cr_expect_not(class_matches_argv(&c, &p), "an alternative of no words is met nowhere");
	cr_expect_not(class_matches_host(&c, ""), "no name");
}

static const struct {
	const char *why;
	bool want;
	const char *comm;
} hosts[] = {
	{ "the first name", true, "java" }, { "the second name", true, "byzer" },
	{ "a longer one", false, "java2" }, { "a shorter one", false, "jav" },
	{ "in capitals", false, "Java" },   { "none", false, "" },
};

Test(class, hosts)
{
	struct worker_class c = pyspark();

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		cr_expect_eq(class_matches_host(&c, hosts[i].comm), hosts[i].want, "%s",
			     hosts[i].why);
}

/* ---- programs that stand alone ---- */

static struct worker_class nightly(void)
{
	struct worker_class c = { .name = "nightly", .kind = CLASS_OF_SINGLES };

	choice(&c.args, "nightly.py");
	choice(&c.args, "-m nightly");
	choice(&c.args, "server --port");
	choice(&c.args, "/opt/exact.py");
	choice(&c.exclude_args, "--dry");
	choice(&c.role_args, "--job_name");
	choice(&c.role_args, "--task=");
	return c;
}

static const struct {
	const char *why;
	bool want;
	const char *argv;
	size_t len;
} singles[] = {
	{ "a script", true, ARGV("python3\0nightly.py") },
	{ "a script by its path", true, ARGV("python3\0-u\0/srv/jobs/nightly.py\0--x") },
	{ "a script that is started itself", true, ARGV("/srv/jobs/nightly.py\0--x") },
	{ "a module", true, ARGV("python3\0-X\0utf8\0-m\0nightly") },
	{ "a program and its first argument", true, ARGV("/usr/bin/server\0--port\08500") },
	{ "a program with another first argument", false, ARGV("/usr/bin/server\0--host") },
	{ "a path that is named whole", true, ARGV("python3\0/opt/exact.py") },
	{ "another path to that name", false, ARGV("python3\0/srv/exact.py") },
	{ "a path that only ends so", false, ARGV("python3\0/srv/my_nightly.py") },
	{ "a directory that is called so", false, ARGV("python3\0nightly.py/") },
	{ "an editor of the script, whose own words come first", false,
	  ARGV("vim\0notes\0nightly.py") },
	{ "a wrapper", false, ARGV("timeout\0005\0python3\0nightly.py") },
	{ "a shell that is going to exec it", false, ARGV("sh\0-c\0python3 nightly.py") },
	{ "an argument forbids it", false, ARGV("python3\0nightly.py\0--dry-run") },
	{ "nothing", false, "", 0 },
	{ "an argv that was not read", false, NULL, 0 },
};

Test(class, singles)
{
	struct worker_class c = nightly(), daemons = pyspark();

	for (size_t i = 0; i < ARRAY_SIZE(singles); i++) {
		char bytes[128] = { 0 };
		struct proc p = { .argv_len = singles[i].len };

		if (singles[i].argv) {
			memcpy(bytes, singles[i].argv, singles[i].len);
			p.argv = bytes;
		}
		cr_expect_eq(class_matches_single(&c, &p), singles[i].want, "%s", singles[i].why);
		cr_expect_not(class_matches_argv(&c, &p), "it has no daemons: %s", singles[i].why);
		cr_expect_not(class_matches_single(&daemons, &p), "and those no singles: %s",
			      singles[i].why);
	}
	choice(&c.daemon_args, "-m pyspark.daemon");
	choice(&c.host_comm, "java");
	cr_expect_not(class_matches_host(&c, "java"), "nor hosts");
}

/* What could not be read keeps. */
Test(class, what_may_be_excluded_is)
{
	struct worker_class c = nightly(), daemons = pyspark();
	char script[] = "python3\0nightly.py", module[] = "python\0-m\0pyspark.daemon";
	struct proc p = { .argv = script, .argv_len = sizeof(script) };

	for (unsigned cut = 0; cut < 2; cut++) {
		p.argv_cut = cut;
		cr_expect_eq(class_matches_single(&c, &p), !cut);
	}
	c.exclude_args.count = 0;
	cr_expect(class_matches_single(&c, &p), "nothing excludes");
	p.argv = module;
	p.argv_len = sizeof(module);
	cr_expect_not(class_matches_argv(&daemons, &p));
	p.argv_cut = false;
	cr_expect(class_matches_argv(&daemons, &p));
}

static const struct {
	const char *why, *want;
	const char *argv;
	size_t len;
} roles[] = {
	{ "behind an equals sign", "ps", ARGV("python3\0nightly.py\0--job_name=ps") },
	{ "in the next argument", "worker", ARGV("python3\0nightly.py\0--job_name\0worker") },
	{ "a word that ends in an equals sign", "7", ARGV("python3\0nightly.py\0--task=7") },
	{ "nothing behind it", "", ARGV("python3\0nightly.py\0--task=\0x") },
	{ "the last argument", NULL, ARGV("python3\0nightly.py\0--job_name") },
	{ "a longer word", NULL, ARGV("python3\0nightly.py\0--job_names=ps") },
	{ "the first one counts", "ps", ARGV("python3\0--job_name=ps\0--task=7") },
	{ "none", NULL, ARGV("python3\0nightly.py") },
};

Test(class, roles)
{
	struct worker_class c = nightly();

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		char bytes[128] = { 0 };
		struct proc p = { .argv = bytes, .argv_len = roles[i].len };
		const char *role;

		memcpy(bytes, roles[i].argv, roles[i].len);
		role = class_role_of(&c, &p);
		cr_expect_eq(role != NULL, roles[i].want != NULL, "%s", roles[i].why);
		if (role && roles[i].want)
			cr_expect_str_eq(role, roles[i].want, "%s", roles[i].why);
	}
}

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

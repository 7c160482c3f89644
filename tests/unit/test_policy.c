/* SPDX-License-Identifier: Apache-2.0 */
#include "model/policy.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/macro.h"

static const struct {
	const char *why;
	bool want;
	struct protect_rule rule;
	const char *cgroup;
} rules[] = {
	{ "its user", true, { .kind = PROTECT_USER, .uid = 1000 }, NULL },
	{ "another user", false, { .kind = PROTECT_USER, .uid = 0 }, NULL },
	{ "its name", true, { PROTECT_COMM, 0, "python3" }, NULL },
	{ "a name that only begins so", false, { PROTECT_COMM, 0, "python" }, NULL },
	{ "a longer name", false, { PROTECT_COMM, 0, "python3.11" }, NULL },
	{ "an argument", true, { PROTECT_ARGS, 0, "--keep-alive" }, NULL },
	{ "an argument that begins so", true, { PROTECT_ARGS, 0, "--keep" }, NULL },
	{ "the first element", true, { PROTECT_ARGS, 0, "/usr/bin/" }, NULL },
	{ "an argument that only ends so", false, { PROTECT_ARGS, 0, "keep-alive" }, NULL },
	{ "a longer argument", false, { PROTECT_ARGS, 0, "--keep-alive=1" }, NULL },
	{ "its cgroup", true, { PROTECT_CGROUP, 0, "/kubepods/gold" }, "/kubepods/gold/pod1" },
	{ "another cgroup", false, { PROTECT_CGROUP, 0, "/kubepods/gold" }, "/kubepods/tin" },
	{ "its cgroup is not known", false, { PROTECT_CGROUP, 0, "/kubepods/gold" }, NULL },
	{ "what is not understood keeps", true, { .kind = (enum protect_kind)77 }, NULL },
};

static struct proc process(char *argv, size_t len)
{
	struct proc p = { .uid = 1000, .argv = argv, .argv_len = len };

	memcpy(p.comm, "python3", sizeof("python3"));
	return p;
}

Test(policy, protect_rules)
{
	char argv[] = "/usr/bin/python3\0app.py\0--keep-alive";
	struct proc p = process(argv, sizeof(argv));

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct protect list = { .count = 1, .rule = { rules[i].rule } };

		cr_expect_eq(protect_match(&list, &p, rules[i].cgroup) != NULL, rules[i].want, "%s",
			     rules[i].why);
	}
}

Test(policy, an_argv_that_was_not_read_matches_no_rule_on_it)
{
	struct protect list = { .count = 1, .rule = { { PROTECT_ARGS, 0, "" } } };
	struct proc p = process(NULL, 0);

	cr_expect_null(protect_match(&list, &p, NULL));
}

Test(policy, the_first_rule_that_matches_is_told)
{
	struct protect list = { .count = 3,
				.rule = { { PROTECT_COMM, 0, "java" },
					  { PROTECT_COMM, 0, "python3" },
					  { .kind = PROTECT_USER, .uid = 1000 } } };
	struct proc p = process(NULL, 0);

	cr_expect_eq(protect_match(&list, &p, NULL), &list.rule[1]);
	list.count = 1;
	cr_expect_null(protect_match(&list, &p, NULL));
	list.count = 0;
	cr_expect_null(protect_match(&list, &p, NULL), "no rule protects nobody");
}

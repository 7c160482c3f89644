/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [class NAME] sections of kind single: which keys go together, and what is said where they do not.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "app/config.h"
#include "base/macro.h"

static const struct {
	const char *why, *text, *set, *problem; /* NULL problem: it is good */
} rows[] = {
	{ "a program", "[class x]\nkind = single\nargs = x.py\n", NULL, NULL },
	{ "the kind may stand last", "[class x]\nargs = x.py\nkind = single\n", NULL, NULL },
	{ "all keys",
	  "[class x]\nkind = single\nargs = x.py | -m x\nrole_args = --job\n"
	  "may_kill = yes\nexclude_args = --dry\n",
	  NULL, NULL },
	{ "the kind that it has anyway", "[class x]\nkind = daemon\ndaemon_args = -m x\n", NULL,
	  NULL },
	{ "another kind", "[class x]\nkind = service\n", NULL,
	  "F:2: kind = service; expected daemon or single" },
	{ "no kind", "[class x]\nkind =\n", NULL, "F:2: kind" },
	{ "nothing that makes one", "[policy]\n[class x]\nkind = single\n", NULL,
	  "F:2: [class x] has no args; expected" },
	{ "a key of daemons", "[class x]\nkind = single\nargs = x.py\nhost_comm = java\n", NULL,
	  "F:1: [class x] is of kind single and has host_comm; expected only keys of that kind" },
	{ "a key of singles", "[class x]\ndaemon_args = -m x\nmay_kill = yes\n", NULL,
	  "F:1: [class x] is of kind daemon and has may_kill; expected only keys of that kind" },
	{ "a shipped class that is turned into one", "[class pyspark]\nkind = single\n", NULL,
	  "F:1: [class pyspark] has no args; expected" },
	{ "by the command line", "", "class x.args=x.py",
	  "--set: [class x] is of kind daemon and has args; expected" },
	{ "a value out of range", "[class x]\nkind = single\nargs = x.py\nmay_kill = maybe\n", NULL,
	  "F:4: may_kill = maybe; expected yes or no" },
};

Test(config_class, singles)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config *c = NULL;
		struct problem p = { 0 };
		int r = config_load_text("F", rows[i].text, strlen(rows[i].text),
					 rows[i].set ? &rows[i].set : NULL, rows[i].set != NULL, &c,
					 &p);

		cr_expect_eq(r != 0, rows[i].problem != NULL, "%s: %s", rows[i].why, p.text);
		if (r && rows[i].problem)
			cr_expect_eq(strncmp(p.text, rows[i].problem, strlen(rows[i].problem)), 0,
				     "%s: %s", rows[i].why, p.text);
		if (!r)
			config_free(c);
	}
}

/* check-config shows the keys of its kind, and no other. */
Test(config_class, only_its_own_keys_are_shown)
{
	static const char text[] = "[class x]\nkind = single\nargs = x.py\n";
	static const char *const wanted[][2] = {
		{ "kind", "single" }, { "exclude_args", "" }, { "args", "x.py" },
		{ "role_args", "" },  { "may_kill", "no" },
	};
	struct config *c = NULL;
	struct problem p = { 0 };
	size_t n = 0;

	cr_assert_eq(config_load_text("F", text, strlen(text), NULL, 0, &c, &p), 0, "%s", p.text);
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct setting *s = &c->settings[i];

		if (strcmp(s->section, "class x") != 0)
			continue;
		cr_assert_lt(n, ARRAY_SIZE(wanted), "%s", s->key);
		cr_expect_str_eq(s->key, wanted[n][0]);
		cr_expect_str_eq(s->value, wanted[n][1], "%s", s->key);
		n++;
	}
	cr_expect_eq(n, ARRAY_SIZE(wanted));
	cr_expect_eq(c->classes.class[c->classes.count - 1].kind, CLASS_OF_SINGLES);
	config_free(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/config_defaults.h"
#include "app/config_file.h"
#include "app/config_keys.h"
#include "app/config_parse.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc"
#endif
#define DEFAULT_PATH SYSCONFDIR "/reaper/reaper.conf"

enum {
	PASSWD_BYTES = 16 * 1024
};

/* Where a value comes from: a line of the file, or one of these. */
#define ORIGIN_DEFAULT 0u
#define ORIGIN_SET     UINT_MAX

/* One reading of the configuration. */
struct loader {
	struct config *config;
	struct problem *problem;
	const char *file;
	struct config_scan scan;
	size_t given; /* lines that inih gave so far */
	int error;
	unsigned origins[KEY_COUNT];
	unsigned class_origins[CLASS_COUNT_MAX][KEY_COUNT];
	unsigned rule_origins[PROTECT_RULES_MAX];
};

const char *config_default_path(void)
{
	return DEFAULT_PATH;
}

static struct worker_class *find_class(struct classes *classes, const char *name)
{
	for (size_t i = 0; i < classes->count; i++)
		if (!strcmp(classes->class[i].name, name))
			return &classes->class[i];
	return NULL;
}

/* Finds a class or adds it behind the others; NULL: there are too many. */
static struct worker_class *need_class(struct classes *classes, const char *name)
{
	struct worker_class *class = find_class(classes, name);

	if (class || classes->count == CLASS_COUNT_MAX)
		return class;
	config_default_class(name, &classes->class[classes->count]);
	return &classes->class[classes->count++];
}

/* Shipped classes that the file does not name come first, then those of the file, in its order. */
static int order_classes(struct loader *l)
{
	struct classes *classes = &l->config->classes;

	for (size_t i = 0; i < SHIPPED_CLASSES; i++) {
		const char *name = config_shipped_class(i);
		bool named = false;

		for (size_t j = 0; j < l->scan.class_count; j++)
			named = named || !strcmp(l->scan.classes[j].name, name);
		if (!named)
			config_default_class(name, &classes->class[classes->count++]);
	}
	for (size_t i = 0; i < l->scan.class_count; i++) {
		if (need_class(classes, l->scan.classes[i].name))
			continue;
		config_problem(l->problem,
			       "%s:%u: one class more; expected at most %d with the shipped ones",
			       l->file, l->scan.classes[i].line, CLASS_COUNT_MAX);
		return -EINVAL;
	}
	return 0;
}

static int add_rule(struct loader *l, const struct config_key *key, const char *value,
		    unsigned origin)
{
	struct protect *protect = &l->config->protect;

	if (protect->count == PROTECT_RULES_MAX)
		return -E2BIG;
	if (config_key_parse(key, value, &protect->rule[protect->count]))
		return -EINVAL;
	protect->wants_args |= key->rule == PROTECT_ARGS;
	protect->wants_cgroup |= key->rule == PROTECT_CGROUP;
	l->rule_origins[protect->count++] = origin;
	return 0;
}

/* Takes one value. Returns 0; -EINVAL: not such a value; -E2BIG: one class or rule too many. */
static int take(struct loader *l, const struct config_key *key, const char *class_name,
		const char *value, unsigned origin)
{
	size_t id = (size_t)(key - config_keys);
	struct worker_class *class;

	if (key->section == SECTION_PROTECT)
		return add_rule(l, key, value, origin);
	if (key->section != SECTION_CLASS) {
		l->origins[id] = origin;
		return config_key_parse(key, value, l->config);
	}
	class = need_class(&l->config->classes, class_name);
	if (!class)
		return -E2BIG;
	l->class_origins[class - l->config->classes.class][id] = origin;
	return config_key_parse(key, value, class);
}

/* inih's handler. It is called on after an error, and then does nothing. */
static int take_line(void *arg, const char *section, const char *name, const char *value)
{
	struct loader *l = arg;
	const struct config_line *line;
	char class_name[CLASS_NAME_MAX], where[CONFIG_PROBLEM_MAX];
	enum config_section found;

	if (l->error)
		return 0;
	l->error = -EINVAL;
	line = &l->scan.lines[l->given];
	/* Two readers of one text must read the same, or one of them is wrong. */
	if (l->given++ >= l->scan.line_count || config_parse_section(section, &found, class_name) ||
	    found != line->key->section || strcmp(class_name, line->class_name) ||
	    strcmp(name, line->key->name)) {
		config_problem(l->problem, "%s: unclear near [%s] %s; expected KEY = VALUE lines",
			       l->file, section, name);
		return 0;
	}
	if (take(l, line->key, line->class_name, value, line->line)) {
		(void)snprintf(where, sizeof(where), "%s:%u: ", l->file, line->line);
		config_problem_value(l->problem, where, line->key, value);
		return 0;
	}
	l->error = 0;
	return 1;
}

static int take_text(struct loader *l, const char *bytes, size_t len)
{
	int bad_line;
	int r;

	r = config_scan(l->file, bytes, len, &l->scan, l->problem);
	if (!r)
		r = order_classes(l);
	if (r)
		return r;
	bad_line = ini_parse_string(bytes, take_line, l);
	if (l->error)
		return l->error;
	if (bad_line || l->given != l->scan.line_count) {
		config_problem(l->problem, "%s:%d: unclear; expected KEY = VALUE lines", l->file,
			       bad_line);
		return -EINVAL;
	}
	return 0;
}

static int load_sets(struct loader *l, const char *const *sets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char where[sizeof("--set .") + CONFIG_SECTION_MAX];
		struct config_set set;
		int r;

		r = config_parse_set(sets[i], &set, l->problem);
		if (r)
			return r;
		(void)snprintf(where, sizeof(where), "--set %s%s%s.",
			       config_section_name(set.key->section), *set.class_name ? " " : "",
			       set.class_name);
		r = take(l, set.key, set.class_name, set.value, ORIGIN_SET);
		if (r == -E2BIG)
			config_problem(l->problem,
				       "--set %s; expected at most %d classes and %d rules",
				       sets[i], CLASS_COUNT_MAX, PROTECT_RULES_MAX);
		else if (r)
			config_problem_value(l->problem, where, set.key, set.value);
		if (r)
			return -EINVAL;
	}
	return 0;
}

/* Says what is wrong with a class, and where it is begun. */
static int _printf_(3, 4)
	refuse_class(struct loader *l, const struct worker_class *class, const char *format, ...)
{
	char where[CONFIG_PROBLEM_MAX] = "--set", what[CONFIG_PROBLEM_MAX];
	va_list args;

	for (size_t i = 0; i < l->scan.class_count; i++)
		if (!strcmp(l->scan.classes[i].name, class->name))
			(void)snprintf(where, sizeof(where), "%s:%u", l->file,
				       l->scan.classes[i].line);
	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	config_problem(l->problem, "%s: [class %s] %s", where, class->name, what);
	return -EINVAL;
}

static bool is_key_of(const struct config_key *key, const struct worker_class *class)
{
	return key->class_kinds & 1u << class->kind;
}

static int check_class(struct loader *l, const struct worker_class *class, const unsigned *origins)
{
	for (size_t k = KEY_CLASS_FIRST; k <= KEY_CLASS_LAST; k++)
		if (origins[k] != ORIGIN_DEFAULT && !is_key_of(&config_keys[k], class))
			return refuse_class(l, class,
					    "is of kind %s and has %s; expected only keys of that "
					    "kind",
					    class_kind_name(class->kind), config_keys[k].name);
	if (class->kind == CLASS_OF_DAEMONS && !class->daemon_args.count)
		return refuse_class(l, class,
				    "has no daemon_args; expected what makes a process its daemon");
	if (class->kind == CLASS_OF_SINGLES && !class->args.count)
		return refuse_class(l, class,
				    "has no args; expected what makes a process one of it");
	return 0;
}

/* What no single value shows: a class that would match nothing, or keys that it does not ask. */
static int check_classes(struct loader *l)
{
	const struct classes *classes = &l->config->classes;
	int r = 0;

	for (size_t i = 0; i < classes->count && !r; i++)
		r = check_class(l, &classes->class[i], l -> class_origins[i]);
	return r;
}

static void add_setting(struct loader *l, const char *section, const struct config_key *key,
			const void *base, unsigned origin)
{
	struct setting *s = &l->config->settings[l->config->setting_count++];

	s->section = section;
	s->key = key->name;
	(void)config_key_format(key, base, s->value);
	if (origin == ORIGIN_DEFAULT)
		(void)snprintf(s->origin, sizeof(s->origin), "default");
	else if (origin == ORIGIN_SET)
		(void)snprintf(s->origin, sizeof(s->origin), "command line");
	else
		(void)snprintf(s->origin, sizeof(s->origin), "%s:%u", l->file, origin);
}

static void list_class(struct loader *l, size_t i)
{
	struct config *c = l->config;

	for (size_t k = KEY_CLASS_FIRST; k <= KEY_CLASS_LAST; k++)
		if (is_key_of(&config_keys[k], &c->classes.class[i]))
			add_setting(l, c->class_sections[i], &config_keys[k], &c->classes.class[i],
				    l -> class_origins[i][k]);
}

/* Writes down every value with its origin. */
static int list_settings(struct loader *l)
{
	struct config *c = l->config;

	static_assert(KEY_COUNT + CLASS_COUNT_MAX * (KEY_CLASS_LAST - KEY_CLASS_FIRST + 1) +
				      PROTECT_RULES_MAX <=
			      CONFIG_SETTINGS_MAX,
		      "room for every setting");
	c->settings = calloc(CONFIG_SETTINGS_MAX, sizeof(*c->settings));
	if (!c->settings)
		return -ENOMEM;
	for (size_t i = 0; i < KEY_CLASS_FIRST; i++)
		add_setting(l, config_section_name(config_keys[i].section), &config_keys[i], c,
			    l->origins[i]);
	for (size_t i = 0; i < c->classes.count; i++) {
		(void)snprintf(c->class_sections[i], sizeof(c->class_sections[i]), "class %s",
			       c->classes.class[i].name);
		list_class(l, i);
	}
	for (size_t i = 0; i < c->protect.count; i++)
		add_setting(l, config_section_name(SECTION_PROTECT),
			    &config_keys[KEY_USER + (size_t)c->protect.rule[i].kind],
			    &c->protect.rule[i], l->rule_origins[i]);
	return 0;
}
static_assert(KEY_COMM == KEY_USER + (int)PROTECT_COMM &&
		      KEY_ARGS == KEY_USER + (int)PROTECT_ARGS &&
		      KEY_CGROUP == KEY_USER + (int)PROTECT_CGROUP,
	      "rules and their keys in one order");

static int load_defaults(struct loader *l)
{
	char bytes[PASSWD_BYTES];
	struct passwd entry, *found = NULL;
	struct config_places places = {
		.home = secure_getenv("HOME"),
		.runtime_dir = secure_getenv("XDG_RUNTIME_DIR"),
		.state_home = secure_getenv("XDG_STATE_HOME"),
	};
	uid_t euid = geteuid();

	if (euid && (!places.home || places.home[0] != '/') &&
	    !getpwuid_r(euid, &entry, bytes, sizeof(bytes), &found) && found)
		places.home = entry.pw_dir;
	if (config_defaults(l->config, euid, &places)) {
		config_problem(l->problem, "HOME, XDG_RUNTIME_DIR or XDG_STATE_HOME is too long; "
					   "expected a path");
		return -EINVAL;
	}
	return 0;
}

/* Takes the defaults, the file's text (NULL: there is no file), then --set. */
static int load(struct loader *l, const char *bytes, size_t len, const char *const *sets,
		size_t set_count)
{
	int r;

	r = load_defaults(l);
	if (!r)
		r = bytes ? take_text(l, bytes, len) : order_classes(l);
	if (!r)
		r = load_sets(l, sets, set_count);
	if (!r)
		r = check_classes(l);
	if (!r)
		r = list_settings(l);
	return r;
}

int config_load_text(const char *name, const char *bytes, size_t len, const char *const *sets,
		     size_t set_count, struct config **ret, struct problem *ret_problem)
{
	_cleanup_free_ struct loader *l = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	config_problem(ret_problem, "%s", strerror(ENOMEM));
	if (!l)
		return r;
	l->problem = ret_problem;
	l->file = name;
	l->config = calloc(1, sizeof(*l->config));
	if (!l->config)
		return r;
	if (bytes)
		(void)snprintf(l->config->file, sizeof(l->config->file), "%s", name);
	r = load(l, bytes, len, sets, set_count);
	if (r) {
		config_free(l->config);
		return r;
	}
	*ret = l->config;
	return 0;
}

int config_load(const char *path, const char *const *sets, size_t set_count, struct config **ret,
		struct problem *ret_problem)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len = 0;
	int r;

	r = config_read(path ? path : DEFAULT_PATH, path != NULL, &bytes, &len, ret_problem);
	if (r)
		return r;
	return config_load_text(path ? path : DEFAULT_PATH, bytes, len, sets, set_count, ret,
				ret_problem);
}

void config_free(struct config *c)
{
	if (!c)
		return;
	free(c->settings);
	free(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config_defaults.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROOT_STATE_DIR  "/run/reaper"
#define ROOT_MARKER_DIR "/run/reaper/markers"
#define ROOT_AUDIT_LOG  "/var/log/reaper/audit.jsonl"

/* The class keys, in their order in the table. */
enum {
	CLASS_KEYS = KEY_CLASS_LAST - KEY_CLASS_FIRST + 1
};

struct shipped {
	const char *name;
	const char *value[CLASS_KEYS]; /* NULL: the key's own default */
};

/* Spark fixes its pool's timeout in its source; pyjava's can be set, and cannot be seen from outside. */
static const struct shipped shipped[] = {
	{
		.name = "pyspark",
		.value = {
			[KEY_DAEMON_ARGS - KEY_CLASS_FIRST] =
				"-m pyspark.daemon | -m reaper_pyspark",
			[KEY_HOST_COMM - KEY_CLASS_FIRST] = "java",
			[KEY_POOL_TIMEOUT - KEY_CLASS_FIRST] = "60s",
			[KEY_EXCLUDE_ARGS - KEY_CLASS_FIRST] = "pyspark.sql.worker",
		},
	},
	{
		.name = "pyjava",
		.value = {
			[KEY_DAEMON_ARGS - KEY_CLASS_FIRST] = "-m pyjava.daemon | -m reaper_pyjava",
			[KEY_HOST_COMM - KEY_CLASS_FIRST] = "java",
			[KEY_POOL_TIMEOUT - KEY_CLASS_FIRST] = "unknown",
		},
	},
};
static_assert(ARRAY_SIZE(shipped) == SHIPPED_CLASSES, "as the header says");

/* Writes a path of several parts. */
static int _printf_(2, 3) path_of(char ret[PATH_MAX], const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(ret, PATH_MAX, format, args);
	va_end(args);
	/* What check-config could not show whole does not count as a path either. */
	return len < 0 || len >= SETTING_VALUE_MAX ? -ENAMETOOLONG : 0;
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

static int user_paths(struct config *c, const struct config_places *places)
{
	const char *home = is_absolute(places->home) ? places->home : "";
	int r;

	if (!strcmp(home, "/")) /* a user without a home: containers give any uid this one */
		home = "";
	if (is_absolute(places->runtime_dir))
		r = path_of(c->state_dir, "%s/reaper", places->runtime_dir);
	else
		r = path_of(c->state_dir, "%s/.local/state/reaper/run", home);
	if (!r)
		r = path_of(c->marker_dir, "%s/markers", c->state_dir);
	if (r)
		return r;
	if (is_absolute(places->state_home))
		return path_of(c->audit_log, "%s/reaper/audit.jsonl", places->state_home);
	return path_of(c->audit_log, "%s/.local/state/reaper/audit.jsonl", home);
}

static int root_paths(struct config *c)
{
	int r;

	r = path_of(c->state_dir, "%s", ROOT_STATE_DIR);
	if (!r)
		r = path_of(c->marker_dir, "%s", ROOT_MARKER_DIR);
	if (!r)
		r = path_of(c->audit_log, "%s", ROOT_AUDIT_LOG);
	return r;
}

int config_defaults(struct config *c, uid_t euid, const struct config_places *places)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct config_key *key = &config_keys[i];
		int r = 0;

		if (key->section != SECTION_CLASS && key->fallback)
			r = config_key_parse(key, key->fallback, c);
		assert(!r);
	}
	return euid == 0 ? root_paths(c) : user_paths(c, places);
}

const char *config_shipped_class(size_t i)
{
	return shipped[i].name;
}

void config_default_class(const char *name, struct worker_class *ret)
{
	const struct shipped *from = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(shipped); i++)
		if (!strcmp(shipped[i].name, name))
			from = &shipped[i];
	memset(ret, 0, sizeof(*ret));
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	for (size_t i = 0; i < CLASS_KEYS; i++) {
		const struct config_key *key = &config_keys[KEY_CLASS_FIRST + i];
		const char *value = from && from->value[i] ? from->value[i] : key->fallback;
		int r = 0;

		if (value)
			r = config_key_parse(key, value, ret);
		assert(!r);
	}
}

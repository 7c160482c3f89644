/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config_keys.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "app/config_value.h"
#include "base/parse.h"

#define MS     UINT64_C(1)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

enum {
	PPM_PER_PERCENT = 10000,
	KILLS_MAX = 100000,
};

/* An offset that does not compile where the member is of another type than its kind needs. */
#define FIELD(type, owner, member)                                                             \
	(offsetof(struct owner, member) +                                                      \
	 0 * sizeof(char[__builtin_types_compatible_p(type,                                    \
						      __typeof__(((struct owner *)0)->member)) \
				 ? 1                                                           \
				 : -1]))

/* clang-format off */
#define DURATION(field)	.kind = KIND_DURATION, .offset = FIELD(uint64_t, config, field)
#define NUMBER(field)	.kind = KIND_NUMBER, .offset = FIELD(uint32_t, config, field)
#define PATH(field)	.kind = KIND_PATH, .offset = FIELD(char[PATH_MAX], config, field)
#define CHOICES(field)	.offset = FIELD(struct choices, worker_class, field)
#define DAEMONS		.class_kinds = 1u << CLASS_OF_DAEMONS
#define SINGLES		.class_kinds = 1u << CLASS_OF_SINGLES
#define BOTH		.class_kinds = 1u << CLASS_OF_DAEMONS | 1u << CLASS_OF_SINGLES

const struct config_key config_keys[KEY_COUNT] = {
	[KEY_INTERVAL] = { SECTION_REAPER, "interval", DURATION(interval_ms),
		.fallback = "10s", .min = 1 * SECOND, .max = 1 * HOUR },
	[KEY_MARKER_KEEP] = { SECTION_REAPER, "marker_keep", DURATION(marker_keep_ms),
		.fallback = "1d", .min = 1 * HOUR, .max = 365 * DAY },
	[KEY_MARKER_DIR] = { SECTION_REAPER, "marker_dir", PATH(marker_dir) },
	[KEY_STATE_DIR] = { SECTION_REAPER, "state_dir", PATH(state_dir) },
	[KEY_METRICS_FILE] = { SECTION_REAPER, "metrics_file", PATH(metrics_file),
		.fallback = "", .empty = true },
	[KEY_AUDIT_LOG] = { SECTION_REAPER, "audit_log", PATH(audit_log) },

	[KEY_TIMEOUT] = { SECTION_POLICY, "timeout", DURATION(policy.timeout_ms),
		.fallback = "5m", .min = 1 * SECOND, .max = 30 * DAY },
	[KEY_SILENT_AFTER] = { SECTION_POLICY, "silent_after", DURATION(policy.silent_after_ms),
		.fallback = "15m", .min = 1 * SECOND, .max = 30 * DAY },
	[KEY_ASSUME_LEAKED_AFTER] = { SECTION_POLICY, "assume_leaked_after",
		DURATION(policy.assume_leaked_after_ms),
		.fallback = "never", .min = 1 * MINUTE, .max = 30 * DAY, .unknown = "never" },
	[KEY_GROWING_AFTER] = { SECTION_POLICY, "growing_after", DURATION(growing_after_ms),
		.fallback = "5m", .min = 1 * SECOND, .max = 30 * DAY },
	[KEY_GROWING_WITHIN] = { SECTION_POLICY, "growing_within",
		DURATION(policy.growing_within_ms),
		.fallback = "1h", .min = 1 * SECOND, .max = 365 * DAY },
	[KEY_MIN_AGE] = { SECTION_POLICY, "min_age", DURATION(policy.min_age_ms),
		.fallback = "60s", .min = 1 * SECOND, .max = 1 * DAY },
	[KEY_IDLE_CPU] = { SECTION_POLICY, "idle_cpu", KIND_PERCENT,
		FIELD(uint32_t, config, policy.idle_cpu_ppm),
		.fallback = "1%", .min = PPM_PER_PERCENT / 10, .max = 100 * PPM_PER_PERCENT },
	[KEY_SAMPLE] = { SECTION_POLICY, "sample", DURATION(sample_ms),
		.fallback = "2s", .min = 100 * MS, .max = 60 * SECOND, .zero = true },
	[KEY_TERM_GRACE] = { SECTION_POLICY, "term_grace", DURATION(term_grace_ms),
		.fallback = "10s", .min = 0, .max = 10 * MINUTE },
	[KEY_KILL_GRACE] = { SECTION_POLICY, "kill_grace", DURATION(kill_grace_ms),
		.fallback = "10s", .min = 0, .max = 10 * MINUTE },
	[KEY_HELPERS] = { SECTION_POLICY, "helpers", KIND_YES_NO,
		FIELD(bool, config, policy.helpers), .fallback = "yes" },
	[KEY_MAX_KILLS_PER_SWEEP] = { SECTION_POLICY, "max_kills_per_sweep",
		NUMBER(limits.per_sweep), .fallback = "32", .min = 1, .max = KILLS_MAX },
	[KEY_MAX_KILLS_PER_HOUR] = { SECTION_POLICY, "max_kills_per_hour",
		NUMBER(limits.per_hour), .fallback = "256", .min = 1, .max = KILLS_MAX },
	[KEY_FENCES] = { SECTION_POLICY, "fences", KIND_FENCES,
		FIELD(uint32_t, config, policy.fences), .empty = true,
		.fallback = "signed-off peer-closed host-gone retired task-ended" },
	[KEY_CRASH_WINDOW] = { SECTION_POLICY, "crash_window", DURATION(crash_window_ms),
		.fallback = "10m", .min = 10 * SECOND, .max = 1 * DAY },

	/* The defaults of a class that the user adds; config_defaults.c has the shipped ones. */
	[KEY_CLASS_KIND] = { SECTION_CLASS, "kind", KIND_CLASS,
		FIELD(enum class_kind, worker_class, kind), .fallback = "daemon", BOTH },
	[KEY_DAEMON_ARGS] = { SECTION_CLASS, "daemon_args", KIND_CHOICES, CHOICES(daemon_args),
		DAEMONS },
	[KEY_HOST_COMM] = { SECTION_CLASS, "host_comm", KIND_COMMS, CHOICES(host_comm),
		.fallback = "java", DAEMONS },
	[KEY_POOL_TIMEOUT] = { SECTION_CLASS, "pool_timeout", KIND_DURATION,
		FIELD(uint64_t, worker_class, pool_timeout_ms), .fallback = "unknown",
		.min = 1 * SECOND, .max = 1 * DAY, .unknown = "unknown", DAEMONS },
	[KEY_EXCLUDE_ARGS] = { SECTION_CLASS, "exclude_args", KIND_WORDS, CHOICES(exclude_args),
		.fallback = "", .empty = true, BOTH },
	[KEY_SINGLE_ARGS] = { SECTION_CLASS, "args", KIND_CHOICES, CHOICES(args), SINGLES },
	[KEY_ROLE_ARGS] = { SECTION_CLASS, "role_args", KIND_WORDS, CHOICES(role_args),
		.fallback = "", .empty = true, SINGLES },
	[KEY_MAY_KILL] = { SECTION_CLASS, "may_kill", KIND_YES_NO,
		FIELD(bool, worker_class, may_kill), .fallback = "no", SINGLES },

	[KEY_USER] = { SECTION_PROTECT, "user", KIND_PROTECT, .rule = PROTECT_USER },
	[KEY_COMM] = { SECTION_PROTECT, "comm", KIND_PROTECT, .rule = PROTECT_COMM },
	[KEY_ARGS] = { SECTION_PROTECT, "args", KIND_PROTECT, .rule = PROTECT_ARGS },
	[KEY_CGROUP] = { SECTION_PROTECT, "cgroup", KIND_PROTECT, .rule = PROTECT_CGROUP },
};
/* clang-format on */

static_assert(ARRAY_SIZE(config_keys) == KEY_COUNT, "a key for each of enum config_key_id");

static const char *const section_names[] = {
	[SECTION_REAPER] = "reaper",
	[SECTION_POLICY] = "policy",
	[SECTION_CLASS] = "class",
	[SECTION_PROTECT] = "protect",
};
static_assert(ARRAY_SIZE(section_names) == SECTION_COUNT, "a name for each section");

const char *config_section_name(enum config_section section)
{
	return section_names[section];
}

const struct config_key *config_key_find(enum config_section section, const char *name)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (config_keys[i].section == section && !strcmp(config_keys[i].name, name))
			return &config_keys[i];
	return NULL;
}

static int parse_duration_key(const struct config_key *key, const char *text, uint64_t *ret)
{
	uint64_t ms;

	if (key->unknown && !strcmp(text, key->unknown)) {
		*ret = UNKNOWN_U64;
		return 0;
	}
	if (parse_duration(text, &ms))
		return -EINVAL;
	if ((ms < key->min || ms > key->max) && !(key->zero && !ms))
		return -EINVAL;
	*ret = ms;
	return 0;
}

static int parse_number_key(const struct config_key *key, const char *text, uint32_t *ret)
{
	uint64_t count = 0;
	uint32_t ppm = 0;
	int r;

	if (key->kind == KIND_PERCENT) {
		r = parse_percent(text, &ppm);
		count = ppm;
	} else {
		r = parse_u64(text, key->max, &count);
	}
	if (r || count < key->min || count > key->max)
		return -EINVAL;
	*ret = (uint32_t)count;
	return 0;
}

static int parse_yes_no(const char *text, bool *ret)
{
	if (strcmp(text, "yes") && strcmp(text, "no"))
		return -EINVAL;
	*ret = !strcmp(text, "yes");
	return 0;
}

static int parse_class_kind(const char *text, enum class_kind *ret)
{
	for (enum class_kind kind = 0; kind < CLASS_KIND_COUNT; kind++)
		if (!strcmp(text, class_kind_name(kind))) {
			*ret = kind;
			return 0;
		}
	return -EINVAL;
}

/* Behind a blank a ';' is a comment's, and check-config writes blanks around what it prints. */
static bool begins_comment(const char *text)
{
	for (const char *at = strchr(text, ';'); at; at = strchr(at + 1, ';'))
		if (at == text || strchr(" \t|", at[-1]))
			return true;
	return false;
}

int config_key_parse(const struct config_key *key, const char *text, void *base)
{
	void *field = (char *)base + key->offset;

	if ((!*text && !key->empty) || begins_comment(text))
		return -EINVAL;
	switch (key->kind) {
	case KIND_DURATION:
		return parse_duration_key(key, text, field);
	case KIND_PERCENT:
	case KIND_NUMBER:
		return parse_number_key(key, text, field);
	case KIND_YES_NO:
		return parse_yes_no(text, field);
	case KIND_PATH:
		return config_parse_path(text, field);
	case KIND_CLASS:
		return parse_class_kind(text, field);
	case KIND_FENCES:
		return config_parse_fences(text, field);
	case KIND_CHOICES:
		return config_parse_choices(text, CLASS_WORDS_MAX, CLASS_WORD_MAX - 1, field);
	case KIND_WORDS:
		return config_parse_choices(text, 1, CLASS_WORD_MAX - 1, field);
	case KIND_COMMS:
		return config_parse_choices(text, 1, CONFIG_COMM_MAX, field);
	case KIND_PROTECT:
		return config_parse_protect(text, (enum protect_kind)key->rule, field);
	case KIND_COUNT:
		break;
	}
	return -EINVAL;
}

const char *config_key_format(const struct config_key *key, const void *base,
			      char ret[SETTING_VALUE_MAX])
{
	const void *field = (const char *)base + key->offset;

	ret[0] = '\0';
	switch (key->kind) {
	case KIND_DURATION:
		if (key->unknown && *(const uint64_t *)field == UNKNOWN_U64)
			(void)snprintf(ret, SETTING_VALUE_MAX, "%s", key->unknown);
		else
			(void)format_duration(*(const uint64_t *)field, ret, SETTING_VALUE_MAX);
		break;
	case KIND_PERCENT:
		config_format_percent(*(const uint32_t *)field, ret);
		break;
	case KIND_NUMBER:
		(void)snprintf(ret, SETTING_VALUE_MAX, "%u", *(const uint32_t *)field);
		break;
	case KIND_YES_NO:
		(void)snprintf(ret, SETTING_VALUE_MAX, "%s", *(const bool *)field ? "yes" : "no");
		break;
	case KIND_PATH:
		(void)snprintf(ret, SETTING_VALUE_MAX, "%s", (const char *)field);
		break;
	case KIND_CLASS:
		(void)snprintf(ret, SETTING_VALUE_MAX, "%s",
			       class_kind_name(*(const enum class_kind *)field));
		break;
	case KIND_FENCES:
		config_format_fences(*(const uint32_t *)field, ret);
		break;
	case KIND_CHOICES:
	case KIND_WORDS:
	case KIND_COMMS:
		config_format_choices(field, ret);
		break;
	case KIND_PROTECT:
		(void)snprintf(ret, SETTING_VALUE_MAX, "%s",
			       ((const struct protect_rule *)field)->value);
		break;
	case KIND_COUNT:
		break;
	}
	return ret;
}

static void expected_duration(const struct config_key *key, char *ret, size_t size)
{
	char min[32], max[32];

	(void)snprintf(ret, size, "%s%sa duration from %s to %s (digits and ms, s, m, h or d)",
		       key->unknown ? key->unknown
		       : key->zero  ? "0s"
				    : "",
		       key->unknown || key->zero ? " or " : "",
		       format_duration(key->min, min, sizeof(min)),
		       format_duration(key->max, max, sizeof(max)));
}

static const char *const expected_rules[] = {
	[PROTECT_USER] = "the name of a user of this system, or a user number",
	[PROTECT_COMM] = "a command name of at most 15 bytes",
	[PROTECT_ARGS] = "the beginning of an argument",
	[PROTECT_CGROUP] = "the beginning of a cgroup path, from its '/' on",
};
static_assert(ARRAY_SIZE(expected_rules) == PROTECT_CGROUP + 1, "a phrase for each kind of rule");

const char *config_key_expected(const struct config_key *key, char *ret, size_t size)
{
	char min[SETTING_VALUE_MAX];

	switch (key->kind) {
	case KIND_DURATION:
		expected_duration(key, ret, size);
		break;
	case KIND_PERCENT:
		config_format_percent((uint32_t)key->min, min);
		(void)snprintf(ret, size, "a percentage from %s to %u%%", min,
			       (unsigned)key->max / PPM_PER_PERCENT);
		break;
	case KIND_NUMBER:
		(void)snprintf(ret, size, "a number from %llu to %llu",
			       (unsigned long long)key->min, (unsigned long long)key->max);
		break;
	case KIND_YES_NO:
		(void)snprintf(ret, size, "yes or no");
		break;
	case KIND_PATH:
		(void)snprintf(ret, size, "an absolute path%s", key->empty ? ", or nothing" : "");
		break;
	case KIND_CLASS:
		(void)snprintf(ret, size, "%s or %s", class_kind_name(CLASS_OF_DAEMONS),
			       class_kind_name(CLASS_OF_SINGLES));
		break;
	case KIND_FENCES:
		(void)snprintf(ret, size, "some of: %s", key->fallback);
		break;
	case KIND_CHOICES:
		(void)snprintf(ret, size,
			       "at most %d alternatives separated by '|', each of at most %d words "
			       "of at most %d bytes",
			       CLASS_CHOICES_MAX, CLASS_WORDS_MAX, CLASS_WORD_MAX - 1);
		break;
	case KIND_WORDS:
	case KIND_COMMS:
		(void)snprintf(ret, size, "at most %d words of at most %d bytes, separated by '|'",
			       CLASS_CHOICES_MAX,
			       key->kind == KIND_COMMS ? CONFIG_COMM_MAX : CLASS_WORD_MAX - 1);
		break;
	case KIND_PROTECT:
		(void)snprintf(ret, size, "%s", expected_rules[key->rule]);
		break;
	case KIND_COUNT:
		break;
	}
	return ret;
}

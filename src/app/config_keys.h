/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys: what each one is called, what it may hold, what it is without a word from the
 * user, and where it goes. A new key is one row.
 */
#ifndef REAPER_APP_CONFIG_KEYS_H
#define REAPER_APP_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "model/class.h"
#include "model/explanation.h"

enum config_section {
	SECTION_REAPER,
	SECTION_POLICY,
	SECTION_CLASS,   /* [class NAME], one for each class */
	SECTION_PROTECT, /* each line is a rule */
	SECTION_COUNT,
};

/* In the order in which check-config prints them. */
enum config_key_id {
	KEY_INTERVAL,
	KEY_MARKER_KEEP,
	KEY_MARKER_DIR,
	KEY_STATE_DIR,
	KEY_METRICS_FILE,
	KEY_AUDIT_LOG,
	KEY_TIMEOUT,
	KEY_SILENT_AFTER,
	KEY_ASSUME_LEAKED_AFTER,
	KEY_GROWING_AFTER,
	KEY_GROWING_WITHIN,
	KEY_MIN_AGE,
	KEY_IDLE_CPU,
	KEY_SAMPLE,
	KEY_TERM_GRACE,
	KEY_KILL_GRACE,
	KEY_HELPERS,
	KEY_MAX_KILLS_PER_SWEEP,
	KEY_MAX_KILLS_PER_HOUR,
	KEY_FENCES,
	KEY_CRASH_WINDOW,
	KEY_CLASS_KIND,
	KEY_DAEMON_ARGS,
	KEY_HOST_COMM,
	KEY_POOL_TIMEOUT,
	KEY_EXCLUDE_ARGS,
	KEY_SINGLE_ARGS,
	KEY_ROLE_ARGS,
	KEY_MAY_KILL,
	KEY_USER,
	KEY_COMM,
	KEY_ARGS,
	KEY_CGROUP,
	KEY_COUNT,
	KEY_CLASS_FIRST = KEY_CLASS_KIND,
	KEY_CLASS_LAST = KEY_MAY_KILL,
};

enum config_kind {
	KIND_DURATION, /* uint64_t milliseconds; min to max, and 0s where zero is set */
	KIND_PERCENT,  /* uint32_t parts per million */
	KIND_NUMBER,   /* uint32_t */
	KIND_YES_NO,   /* bool */
	KIND_PATH,     /* char[PATH_MAX], absolute */
	KIND_CLASS,    /* enum class_kind */
	KIND_FENCES,   /* uint32_t, bit n: enum fence n */
	KIND_CHOICES,  /* struct choices, words of several elements */
	KIND_WORDS,    /* struct choices, one element each */
	KIND_COMMS,    /* the same, command names */
	KIND_PROTECT,  /* struct protect_rule */
	KIND_COUNT,
};

struct config_key {
	enum config_section section;
	const char *name;
	enum config_kind kind;
	size_t offset;        /* in struct config; of a class key in struct worker_class */
	const char *fallback; /* its default as it would be written; NULL: it depends on the user */
	uint64_t min, max;
	bool zero;            /* durations: 0s is allowed besides min to max */
	bool empty;           /* an empty value is allowed */
	const char *unknown;  /* durations: the word that stands for UNKNOWN_U64, or NULL */
	int rule;             /* protect keys: enum protect_kind */
	unsigned class_kinds; /* class keys: bit n: for classes of enum class_kind n */
};

extern const struct config_key config_keys[KEY_COUNT];

/** @return "reaper", "policy", "class" or "protect". */
const char *config_section_name(enum config_section section);

/**
 * Finds a key by its section and name.
 *
 * @return the row, or NULL.
 */
const struct config_key *config_key_find(enum config_section section, const char *name);

/**
 * Reads a value.
 *
 * @param text	without blanks around it.
 * @param base	what key->offset counts from: a struct config, a struct worker_class or, for
 *		[protect], a struct protect_rule. Touched only on success.
 * @return 0; -EINVAL: config_key_expected() says what it should have been.
 */
int config_key_parse(const struct config_key *key, const char *text, void *base) _must_check_;

/** Writes a value so that config_key_parse() reads the same from it. @return ret. */
const char *config_key_format(const struct config_key *key, const void *base,
			      char ret[SETTING_VALUE_MAX]);

/** Says what a value of this key looks like: "a duration from 1s to 1h". @return ret. */
const char *config_key_expected(const struct config_key *key, char *ret, size_t size);

#endif

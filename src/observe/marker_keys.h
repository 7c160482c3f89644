/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events and keys of marker records (reaper-markers(5)), as tables that reading and writing share.
 */
#ifndef REAPER_OBSERVE_MARKER_KEYS_H
#define REAPER_OBSERVE_MARKER_KEYS_H

#include "base/macro.h"
#include "model/marker.h"

#define MARKER_MAGIC "reaper/1 "

/* In the order in which a record is written. */
enum marker_key {
	KEY_HOST,
	KEY_DAEMON,
	KEY_UID,
	KEY_BOOT,
	KEY_PIDNS,
	KEY_CLASS,
	KEY_POOL,
	KEY_TASKS,
	KEY_POOL_TIMEOUT,
	KEY_APP,
	KEY_TASK,
	KEY_JOB,
	KEY_WORKER,
	KEY_LPORT,
	KEY_DPORT,
	KEY_CODE,
	KEY_OUTCOME,
	KEY_N,
	KEY_COUNT,
};

/* A set of keys. */
#define MARKER_HAS(k) (1u << KEY_##k)

enum marker_form {
	FORM_IDENT, /* PID:START */
	FORM_TEXT,  /* percent-encoded */
	FORM_BOOT,  /* 36 bytes as in /proc/sys/kernel/random/boot_id */
	FORM_U64,
	FORM_NS, /* not 0 */
	FORM_U32,
	FORM_PORT,
	FORM_TIMEOUT, /* milliseconds */
	FORM_POOL,
	FORM_TASKS,
	FORM_CODE, /* an exit code; kept nowhere: it is for people */
};

struct marker_key_rule {
	const char *name;
	size_t name_len;
	enum marker_form form;
	size_t offset; /* of its member in struct marker */
	size_t size;   /* of a text, with its NUL */
};

struct marker_event_rule {
	const char *name;
	size_t name_len;
	uint32_t needed;  /* keys */
	uint32_t allowed; /* further ones */
	uint32_t one_of;  /* 0, or keys of which one must be there */
};

extern const struct marker_key_rule marker_keys[];
extern const struct marker_event_rule marker_events[];

/** @return the key of that name; KEY_COUNT: there is none. */
enum marker_key marker_keys_find(const char *name, size_t len);

/** @return the event of that name; MARKER_UNKNOWN: there is none. */
enum marker_event marker_keys_find_event(const char *name, size_t len);

/** @return every key that an event may have. */
uint32_t marker_keys_of(enum marker_event event);

#endif

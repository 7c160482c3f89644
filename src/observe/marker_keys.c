/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/marker_keys.h"

#include <assert.h>
#include <string.h>

#define NAME(s)     (s), sizeof(s) - 1
#define IN(form, m) FORM_##form, offsetof(struct marker, m)
#define TEXT_IN(m)  IN(TEXT, m), sizeof(((struct marker *)0)->m)

const struct marker_key_rule marker_keys[] = {
	[KEY_HOST] = { NAME("host"), IN(IDENT, host), 0 },
	[KEY_DAEMON] = { NAME("daemon"), IN(IDENT, daemon), 0 },
	[KEY_UID] = { NAME("uid"), IN(U32, uid), 0 },
	[KEY_BOOT] = { NAME("boot"), IN(BOOT, boot), MARKER_BOOT_MAX },
	[KEY_PIDNS] = { NAME("pidns"), IN(NS, pid_ns), 0 },
	[KEY_CLASS] = { NAME("class"), TEXT_IN(class_name) },
	[KEY_POOL] = { NAME("pool"), IN(POOL, pool), 0 },
	[KEY_TASKS] = { NAME("tasks"), IN(TASKS, tasks_all), 0 },
	[KEY_POOL_TIMEOUT] = { NAME("pool_timeout"), IN(TIMEOUT, pool_timeout_ms), 0 },
	[KEY_APP] = { NAME("app"), TEXT_IN(app) },
	[KEY_TASK] = { NAME("task"), TEXT_IN(task) },
	[KEY_JOB] = { NAME("job"), TEXT_IN(job) },
	[KEY_WORKER] = { NAME("worker"), IN(IDENT, worker), 0 },
	[KEY_LPORT] = { NAME("lport"), IN(PORT, lport), 0 },
	[KEY_DPORT] = { NAME("dport"), IN(PORT, dport), 0 },
	[KEY_CODE] = { NAME("code"), FORM_CODE, 0, 0 },
	[KEY_OUTCOME] = { NAME("outcome"), TEXT_IN(outcome) },
	[KEY_N] = { NAME("n"), IN(U64, n), 0 },
};
static_assert(ARRAY_SIZE(marker_keys) == KEY_COUNT, "every key has its rule");

#define HAS MARKER_HAS

const struct marker_event_rule marker_events[] = {
	[MARKER_UNKNOWN] = { NAME(""), 0, 0, 0 },
	[MARKER_HOST] = { NAME("host"), HAS(HOST) | HAS(BOOT) | HAS(PIDNS) | HAS(CLASS),
			  HAS(POOL) | HAS(TASKS) | HAS(POOL_TIMEOUT) | HAS(APP), 0 },
	[MARKER_DAEMON] = { NAME("daemon"), HAS(DAEMON) | HAS(BOOT) | HAS(PIDNS),
			    HAS(CLASS) | HAS(APP), 0 },
	[MARKER_OPERATOR] = { NAME("operator"), HAS(UID) | HAS(BOOT) | HAS(PIDNS), 0, 0 },
	[MARKER_BEGIN] = { NAME("begin"), 0, HAS(WORKER) | HAS(LPORT) | HAS(DPORT),
			   HAS(TASK) | HAS(JOB) },
	[MARKER_DONE] = { NAME("done"), HAS(WORKER),
			  HAS(TASK) | HAS(JOB) | HAS(CODE) | HAS(OUTCOME), 0 },
	[MARKER_END] = { NAME("end"), 0, HAS(OUTCOME), HAS(TASK) | HAS(JOB) },
	[MARKER_POOLED] = { NAME("pooled"), HAS(WORKER), 0, 0 },
	[MARKER_LEASED] = { NAME("leased"), HAS(WORKER), HAS(TASK) | HAS(JOB), 0 },
	[MARKER_RETIRED] = { NAME("retired"), HAS(WORKER), HAS(TASK) | HAS(JOB), 0 },
	[MARKER_BEAT] = { NAME("beat"), HAS(N), 0, 0 },
};
static_assert(ARRAY_SIZE(marker_events) == MARKER_EVENT_COUNT, "every event has its rule");

static bool is_named(const char *want, size_t want_len, const char *name, size_t len)
{
	return want_len == len && *want == *name && memcmp(want, name, len) == 0;
}

/* Begins with the keys that nearly every record has. */
enum marker_key marker_keys_find(const char *name, size_t len)
{
	for (unsigned i = 0, k = KEY_TASK; i < KEY_COUNT; i++, k = (k + 1) % KEY_COUNT)
		if (is_named(marker_keys[k].name, marker_keys[k].name_len, name, len))
			return (enum marker_key)k;
	return KEY_COUNT;
}

enum marker_event marker_keys_find_event(const char *name, size_t len)
{
	for (unsigned e = MARKER_UNKNOWN + 1; e < MARKER_EVENT_COUNT; e++)
		if (is_named(marker_events[e].name, marker_events[e].name_len, name, len))
			return (enum marker_event)e;
	return MARKER_UNKNOWN;
}

uint32_t marker_keys_of(enum marker_event event)
{
	const struct marker_event_rule *rule = &marker_events[event];

	return rule->needed | rule->allowed | rule->one_of;
}

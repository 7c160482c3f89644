/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/json_rows.h"
#include "report/words.h"

enum {
	INTENT_LINE_MAX = 64 * 1024, /* bytes; one of ours is about 2,500 */
};

static void add_pid(struct jsonw *line, const char *key, pid_t pid)
{
	if (pid)
		jsonw_int(line, key, pid);
	else
		jsonw_null(line, key);
}

int json_intent(const struct json_intent *intent, struct buf *ret)
{
	const struct subject *s = intent->subject;
	const struct subject *worker = intent->worker ? intent->worker : s;
	struct jsonw line = jsonw_document(), facts = jsonw_object(), policy = jsonw_object();
	char why[WORDS_MAX];

	jsonw_u64(&line, "time", intent->wall_ms);
	jsonw_str(&line, "record", "intent");
	jsonw_str(&line, "boot_id", intent->boot_id);
	jsonw_int(&line, "pid", s->id.pid);
	jsonw_u64(&line, "start", s->id.start);
	jsonw_str(&line, "role", role_name(s->role));
	add_pid(&line, "helper_of", worker == s ? 0 : worker->id.pid);
	add_pid(&line, "daemon", worker->daemon_id.pid);
	add_pid(&line, "host", worker->host_id.pid);
	jsonw_int(&line, "uid", worker->uid);
	jsonw_int(&line, "signal", intent->kill_at_once ? SIGKILL : SIGTERM);
	jsonw_str(&line, "verdict", action_name(worker->verdict.action));
	jsonw_str(&line, "reason", reason_name(worker->verdict.reason));
	jsonw_str(&line, "fence", fence_name(worker->verdict.fence));
	jsonw_u64(&line, "fence_age_ms", worker->verdict.fence_age_ms);
	jsonw_str(&line, "why", words_why(NULL, worker, why));
	jsonw_fields(&facts, facts_fields, facts_field_count, &worker->facts);
	jsonw_fields(&policy, policy_fields, policy_field_count, intent->policy);
	jsonw_add(&line, "facts", &facts);
	jsonw_add(&line, "policy", &policy);
	return jsonw_finish(&line, JSONW_LINE, ret);
}

static bool read_word(const json_t *value, uint32_t *ret)
{
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

static bool read_wide(const json_t *value, uint64_t *ret)
{
	if (json_is_null(value)) {
		*ret = UNKNOWN_U64;
		return true;
	}
	*ret = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* Writes one element; false: the value is not of that type. */
static bool read_value(enum facts_type type, const json_t *value, char *at)
{
	uint32_t word;
	uint64_t wide;
	bool truth;

	switch (type) {
	case FACTS_BOOL:
		truth = json_is_true(value);
		memcpy(at, &truth, sizeof(truth));
		return json_is_boolean(value);
	case FACTS_U64:
		if (!read_wide(value, &wide))
			return false;
		memcpy(at, &wide, sizeof(wide));
		return true;
	case FACTS_TRI:
		word = json_is_null(value) ? TRI_UNKNOWN : tri_of(json_is_true(value));
		memcpy(at, &word, sizeof(word));
		return json_is_null(value) || json_is_boolean(value);
	case FACTS_U32:
	case FACTS_PID:
	case FACTS_ENUM:
		break;
	}
	if (!read_word(value, &word) || (type != FACTS_U32 && word > INT32_MAX))
		return false;
	memcpy(at, &word, sizeof(word));
	return true;
}

static bool read_field(const struct facts_field *f, const json_t *value, char *at)
{
	if (f->count == 1)
		return read_value(f->type, value, at);
	if (!json_is_array(value) || json_array_size(value) != f->count)
		return false;
	for (size_t i = 0; i < f->count; i++)
		if (!read_value(f->type, json_array_get(value, i), at + i * jsonw_size(f->type)))
			return false;
	return true;
}

/* Members that no table names are those of a later version: they decide nothing here. */
static bool read_fields(const json_t *object, const struct facts_field *fields, size_t count,
			void *base)
{
	if (!json_is_object(object))
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_object_get(object, fields[i].name);

		if (!value || !read_field(&fields[i], value, (char *)base + fields[i].offset))
			return false;
	}
	return true;
}

static bool is_string(const json_t *object, const char *key, const char *expected)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && strcmp(text, expected) == 0;
}

/* Numbers that an array is indexed by somewhere. */
static bool in_range(const struct facts *f)
{
	return f->wait < WAIT_KIND_COUNT && f->socket < SOCKET_STATE_COUNT &&
	       f->transport <= TRANSPORT_UNIX;
}

/* Where an allocation fails in the middle of a value the parser leaves the error unset. */
static int read_error(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);

	return code == json_error_out_of_memory || code == json_error_unknown ? -ENOMEM : -EINVAL;
}

int json_intent_read(const char *line, size_t len, struct facts *ret_facts,
		     struct policy *ret_policy)
{
	json_error_t error;
	json_t *root;
	struct facts facts = { 0 };
	struct policy policy = { 0 };
	bool good;

	if (len > INTENT_LINE_MAX)
		return -EINVAL;
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return read_error(&error);
	good = is_string(root, "schema", JSONW_SCHEMA) && is_string(root, "record", "intent") &&
	       read_fields(json_object_get(root, "facts"), facts_fields, facts_field_count,
			   &facts) &&
	       read_fields(json_object_get(root, "policy"), policy_fields, policy_field_count,
			   &policy) &&
	       in_range(&facts);
	json_decref(root);
	if (!good)
		return -EINVAL;
	*ret_facts = facts;
	*ret_policy = policy;
	return 0;
}

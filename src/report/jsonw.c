/* SPDX-License-Identifier: Apache-2.0 */
#include "report/jsonw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

enum {
	JSONW_HEX_MAX = 19,       /* 0x, 16 digits, NUL */
	JSONW_ESCAPED_FACTOR = 4, /* one byte becomes \xNN at most */
	JSONW_REAL_DIGITS = 10,
	JSONW_INDENT = 2,
};

static struct jsonw jsonw_of(json_t *node)
{
	return (struct jsonw){ .node = node, .failed = !node };
}

struct jsonw jsonw_object(void)
{
	return jsonw_of(json_object());
}

struct jsonw jsonw_list(void)
{
	return jsonw_of(json_array());
}

struct jsonw jsonw_document(void)
{
	struct jsonw doc = jsonw_object();

	jsonw_str(&doc, "schema", JSONW_SCHEMA);
	return doc;
}

/* Takes the value; a NULL one is an allocation that failed. */
static void jsonw_set(struct jsonw *w, const char *key, json_t *value)
{
	if (json_object_set_new(w->node, key, value) < 0)
		w->failed = true;
}

static void jsonw_append(struct jsonw *list, json_t *value)
{
	if (json_array_append_new(list->node, value) < 0)
		list->failed = true;
}

/* NULL: no memory. */
static json_t *escaped(const char *raw, size_t len)
{
	size_t size = len * JSONW_ESCAPED_FACTOR + 1;
	_cleanup_free_ char *text = malloc(size);

	return text ? json_string(log_escape(raw, len, text, size)) : NULL;
}

static json_t *u64(uint64_t value)
{
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *tri(enum tri value)
{
	return value == TRI_UNKNOWN ? json_null() : json_boolean(value == TRI_YES);
}

static json_t *hex(uint64_t value)
{
	char text[JSONW_HEX_MAX];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

void jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
	jsonw_set(w, key, json_integer(value));
}

void jsonw_u64(struct jsonw *w, const char *key, uint64_t value)
{
	jsonw_set(w, key, u64(value));
}

void jsonw_hundredths(struct jsonw *w, const char *key, double value)
{
	jsonw_set(w, key, json_real((double)(int64_t)(value * 100 + 0.5) / 100));
}

void jsonw_hex(struct jsonw *w, const char *key, uint64_t value)
{
	jsonw_set(w, key, hex(value));
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	jsonw_set(w, key, json_boolean(value));
}

void jsonw_tri(struct jsonw *w, const char *key, enum tri value)
{
	jsonw_set(w, key, tri(value));
}

void jsonw_str(struct jsonw *w, const char *key, const char *value)
{
	jsonw_set(w, key, value ? escaped(value, strlen(value)) : json_null());
}

void jsonw_lines(struct jsonw *w, const char *key, const char *value)
{
	size_t size = strlen(value) * JSONW_ESCAPED_FACTOR + 1, at = 0;
	_cleanup_free_ char *text = malloc(size);

	if (!text) {
		w->failed = true;
		return;
	}
	for (;;) {
		size_t len = strcspn(value, "\n");

		log_escape(value, len, text + at, size - at);
		at += strlen(text + at);
		if (!value[len])
			break;
		text[at++] = '\n';
		value += len + 1;
	}
	jsonw_set(w, key, json_string(text));
}

void jsonw_null(struct jsonw *w, const char *key)
{
	jsonw_set(w, key, json_null());
}

static json_t *field(enum facts_type type, const char *at)
{
	uint32_t word;
	uint64_t wide;
	bool truth;

	switch (type) {
	case FACTS_BOOL:
		memcpy(&truth, at, sizeof(truth));
		return json_boolean(truth);
	case FACTS_U64:
		memcpy(&wide, at, sizeof(wide));
		return u64(wide);
	case FACTS_TRI:
		memcpy(&word, at, sizeof(word));
		return tri((enum tri)word);
	case FACTS_U32:
	case FACTS_PID:
	case FACTS_ENUM:
		break;
	}
	memcpy(&word, at, sizeof(word));
	return json_integer(word);
}

size_t jsonw_size(enum facts_type type)
{
	switch (type) {
	case FACTS_BOOL:
		return sizeof(bool);
	case FACTS_U64:
		return sizeof(uint64_t);
	case FACTS_TRI:
	case FACTS_U32:
	case FACTS_PID:
	case FACTS_ENUM:
		break;
	}
	return sizeof(uint32_t);
}

void jsonw_fields(struct jsonw *w, const struct facts_field *fields, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		const struct facts_field *f = &fields[i];
		const char *at = (const char *)base + f->offset;
		struct jsonw list;

		if (f->count == 1) {
			jsonw_set(w, f->name, field(f->type, at));
			continue;
		}
		list = jsonw_list();
		for (size_t k = 0; k < f->count; k++)
			jsonw_append(&list, field(f->type, at + k * jsonw_size(f->type)));
		jsonw_add(w, f->name, &list);
	}
}

void jsonw_add(struct jsonw *w, const char *key, struct jsonw *child)
{
	w->failed |= child->failed;
	jsonw_set(w, key, TAKE_PTR(child->node));
}

void jsonw_push(struct jsonw *list, struct jsonw *child)
{
	list->failed |= child->failed;
	jsonw_append(list, TAKE_PTR(child->node));
}

void jsonw_push_str(struct jsonw *list, const char *value)
{
	jsonw_append(list, escaped(value, strlen(value)));
}

void jsonw_push_hex(struct jsonw *list, uint64_t value)
{
	jsonw_append(list, hex(value));
}

void jsonw_push_int(struct jsonw *list, int64_t value)
{
	jsonw_append(list, json_integer(value));
}

static int jsonw_sink(const char *bytes, size_t len, void *data)
{
	struct buf *text = data;

	buf_add(text, bytes, len);
	return text->failed ? -1 : 0;
}

int jsonw_finish(struct jsonw *w, enum jsonw_shape shape, struct buf *ret)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	size_t flags = JSON_ENSURE_ASCII | JSON_REAL_PRECISION(JSONW_REAL_DIGITS);
	bool whole = !w->failed;

	flags |= shape == JSONW_LINE ? JSON_COMPACT : JSON_INDENT(JSONW_INDENT);
	whole = whole && json_dump_callback(w->node, jsonw_sink, &text, flags) == 0;
	json_decref(TAKE_PTR(w->node));
	if (!whole)
		return -ENOMEM;
	buf_str(&text, "\n");
	buf_add(ret, text.bytes, text.len);
	return text.failed || ret->failed ? -ENOMEM : 0;
}

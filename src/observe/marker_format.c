/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "observe/marker_keys.h"
#include "observe/marker_parse.h"
#include "observe/marker_value.h"

/* Bytes that are being written; that something did not fit is remembered. */
struct writer {
	char *at;
	size_t left;
	bool full;
};

static void put(struct writer *w, const char *bytes, size_t len)
{
	if (len > w->left) {
		w->full = true;
		return;
	}
	memcpy(w->at, bytes, len);
	w->at += len;
	w->left -= len;
}

static void put_number(struct writer *w, uint64_t value)
{
	char digits[sizeof("18446744073709551615")];

	put(w, digits, (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value));
}

static void put_key(struct writer *w, const struct marker_key_rule *rule)
{
	put(w, " ", 1);
	put(w, rule->name, rule->name_len);
	put(w, "=", 1);
}

static void put_text(struct writer *w, const struct marker_key_rule *rule, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";

	if (!*text)
		return;
	put_key(w, rule);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		char code[] = { '%', hex[byte >> 4], hex[byte & 0xf] };

		if (marker_value_plain(*text))
			put(w, text, 1);
		else
			put(w, code, sizeof(code));
	}
}

/* Writes a number unless it is the one that stands for none. */
static void put_u64(struct writer *w, const struct marker_key_rule *rule, uint64_t value,
		    uint64_t none)
{
	if (value == none)
		return;
	put_key(w, rule);
	put_number(w, value);
}

static void put_ident(struct writer *w, const struct marker_key_rule *rule, const struct ident *id)
{
	if (!id->pid)
		return;
	put_key(w, rule);
	put_number(w, (uint64_t)id->pid);
	put(w, ":", 1);
	put_number(w, id->start);
}

static const char *pool_word(enum pool_promise pool)
{
	if (pool == POOL_UNKNOWN)
		return "";
	return pool == POOL_NONE ? "none" : "reported";
}

/* Writes a key that the record has. */
static void put_member(struct writer *w, enum marker_key key, const struct marker *m)
{
	const struct marker_key_rule *rule = &marker_keys[key];
	const void *member = (const char *)m + rule->offset;

	switch (rule->form) {
	case FORM_IDENT:
		put_ident(w, rule, member);
		break;
	case FORM_TEXT:
	case FORM_BOOT:
		put_text(w, rule, member);
		break;
	case FORM_NS:
	case FORM_U64:
		put_u64(w, rule, *(const uint64_t *)member, key == KEY_N ? UNKNOWN_U64 : 0);
		break;
	case FORM_U32:
		put_u64(w, rule, m->has_uid ? m->uid : UNKNOWN_U64, UNKNOWN_U64);
		break;
	case FORM_PORT:
		put_u64(w, rule, *(const uint16_t *)member, 0);
		break;
	case FORM_TIMEOUT:
		put_u64(w, rule, m->pool_timeout_ms, UNKNOWN_U64);
		break;
	case FORM_POOL:
		put_text(w, rule, pool_word(m->pool));
		break;
	case FORM_TASKS:
		put_text(w, rule, m->tasks_all ? "all" : "");
		break;
	case FORM_CODE: /* a record in memory has none */
		break;
	}
}

int marker_format(const struct marker *m, char ret_buf[MARKER_LINE_MAX + 1])
{
	const struct marker_event_rule *event = &marker_events[m->event];
	char line[MARKER_LINE_MAX];
	struct writer w = { line, sizeof(line), false };
	struct marker again;
	unsigned unknown_keys;
	size_t len;

	put(&w, MARKER_MAGIC, sizeof(MARKER_MAGIC) - 1);
	put_number(&w, m->unix_ms);
	put(&w, " ", 1);
	put(&w, event->name, event->name_len);
	for (unsigned k = 0; k < KEY_COUNT; k++)
		if (marker_keys_of(m->event) & 1u << k)
			put_member(&w, (enum marker_key)k, m);
	put(&w, "\n", 1);
	if (w.full)
		return -ENOSPC;
	len = sizeof(line) - w.left;
	/* What the reader refuses (a needed key that is missing, a number out of range) is not written. */
	if (marker_parse(line, len - 1, &again, &unknown_keys))
		return -EINVAL;
	memcpy(ret_buf, line, len);
	ret_buf[len] = '\0';
	return (int)len;
}

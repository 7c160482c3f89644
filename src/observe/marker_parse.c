/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/marker_parse.h"

#include <string.h>

#include "observe/marker_keys.h"
#include "observe/marker_value.h"

/* So far from the end of the range that sums of a time and a few durations cannot overflow. */
static const uint64_t parse_time_max_ms = UINT64_C(9999999999999); /* in the year 2286 */

/* Bytes that are being read. */
struct cursor {
	const char *at;
	const char *end;
};

/* Takes what stands before the next blank, and the blank. False: nothing stands there. */
static bool take_token(struct cursor *c, struct marker_token *ret)
{
	const char *blank = memchr(c->at, ' ', (size_t)(c->end - c->at));

	ret->at = c->at;
	ret->len = (size_t)((blank ? blank : c->end) - c->at);
	/* A blank at the end announces a word that is not there. */
	if (!ret->len || (blank && blank + 1 == c->end))
		return false;
	c->at = blank ? blank + 1 : c->end;
	return true;
}

static bool is_name(struct marker_token t)
{
	for (size_t i = 0; i < t.len; i++) {
		char c = t.at[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
			return false;
	}
	return t.len > 0;
}

/* Tells whether the line has had the same key. Only asked about strangers, of which there are few. */
static bool came_before(const char *line, struct marker_token name)
{
	struct cursor c = { line, name.at - 1 }; /* the blank before it */
	struct marker_token t;

	while (take_token(&c, &t))
		if (t.len > name.len && t.at[name.len] == '=' &&
		    memcmp(t.at, name.at, name.len) == 0)
			return true;
	return false;
}

static const char *skip_stranger(const char *line, struct marker_token name,
				 struct marker_token value)
{
	if (came_before(line, name))
		return "expected each key once";
	return marker_value_encoded(value) ? NULL : "expected percent-encoding";
}

static const char *read_pair(const char *line, struct marker_token pair, uint32_t *seen,
			     unsigned *unknown_keys, struct marker *m)
{
	const char *equals = memchr(pair.at, '=', pair.len);
	struct marker_token name = pair, value;
	enum marker_key key;

	if (!equals)
		return "expected KEY=VALUE";
	name.len = (size_t)(equals - pair.at);
	value = (struct marker_token){ equals + 1, pair.len - name.len - 1 };
	key = marker_keys_find(name.at, name.len);
	if (key == KEY_COUNT && !is_name(name))
		return "expected a key of a-z, 0-9 and _";
	if (key == KEY_COUNT || !(marker_keys_of(m->event) & 1u << key)) {
		*unknown_keys += m->event != MARKER_UNKNOWN;
		return skip_stranger(line, name, value);
	}
	if (*seen & 1u << key)
		return "expected each key once";
	*seen |= 1u << key;
	return marker_value_read(&marker_keys[key], value, m);
}

/* What a record must have as a whole. */
static const char *check_keys(enum marker_event event, uint32_t seen)
{
	const struct marker_event_rule *rule = &marker_events[event];
	uint32_t one_of = seen & rule->one_of;

	if ((seen & rule->needed) != rule->needed)
		return "expected every key that this event needs";
	if (rule->one_of && !one_of)
		return "expected task or job";
	/* Whether it ends the job or one task of it, nobody could tell. */
	if (event == MARKER_END && one_of == rule->one_of)
		return "expected task or job, not both";
	if (!(seen & MARKER_HAS(LPORT)) != !(seen & MARKER_HAS(DPORT)))
		return "expected lport and dport together";
	return NULL;
}

static bool is_printable(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] < ' ' || line[i] > '~')
			return false;
	return true;
}

/* Empties the record. A string is empty when it begins so: to zero all of the half kilobyte would take
 * longer than to read the line. */
static void clear(struct marker *m)
{
	m->unix_ms = m->pid_ns = m->n = 0;
	m->event = MARKER_UNKNOWN;
	m->host = m->daemon = m->worker = (struct ident){ 0 };
	m->pool = POOL_UNKNOWN;
	m->pool_timeout_ms = UNKNOWN_U64;
	m->bad = m->tasks_all = m->has_uid = false;
	m->uid = 0;
	m->lport = m->dport = 0;
	m->boot[0] = m->class_name[0] = m->app[0] = '\0';
	m->task[0] = m->job[0] = m->outcome[0] = '\0';
}

static const char *read_words(const char *line, struct cursor *c, struct marker *ret,
			      unsigned *ret_unknown_keys)
{
	struct marker_token t;
	uint32_t seen = 0;

	clear(ret);
	*ret_unknown_keys = 0;
	if (!take_token(c, &t) || !marker_value_number(t, parse_time_max_ms, &ret->unix_ms))
		return "expected milliseconds since 1970";
	if (!take_token(c, &t))
		return "expected an event";
	ret->event = marker_keys_find_event(t.at, t.len);
	if (ret->event == MARKER_UNKNOWN && !is_name(t))
		return "expected an event";
	while (c->at < c->end) {
		const char *bad = "expected one blank between words";

		if (take_token(c, &t))
			bad = read_pair(line, t, &seen, ret_unknown_keys, ret);
		if (bad)
			return bad;
	}
	ret->has_uid = seen & MARKER_HAS(UID);
	return check_keys(ret->event, seen);
}

const char *marker_parse(const char *line, size_t len, struct marker *ret,
			 unsigned *ret_unknown_keys)
{
	size_t magic = sizeof(MARKER_MAGIC) - 1;
	const char *bad;
	struct cursor c;

	if (len >= MARKER_LINE_MAX)
		return "expected at most 512 bytes";
	if (len < magic || memcmp(line, MARKER_MAGIC, magic) != 0)
		return "expected reaper/1";
	c = (struct cursor){ line + magic, line + len };
	bad = read_words(line, &c, ret, ret_unknown_keys);
	/* No word may hold such a byte, so it is looked for only to name the fault. */
	return bad && !is_printable(line, len) ? "expected printable ASCII" : bad;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/history_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/state_file.h"
#include "base/parse.h"

#define FILE_NAME "history"
#define HEADER    "reaper-history/1 boot="
#define NO_WAIT   "-"
#define CPU_MARK  ','

enum {
	SYMBOL_MAX = EVIDENCE_WCHAN_MAX - 1,
};

/* What a `seen` line is about: a fence, by its number, or one of these. */
enum {
	SEEN_WAIT = FENCE_COUNT,
	SEEN_IDLE,
	SEEN_COUNT,
};

static const char *seen_name(unsigned kind)
{
	if (kind == SEEN_WAIT)
		return "wait";
	return kind == SEEN_IDLE ? "idle" : fence_name((enum fence)kind);
}

/* When that was first seen; UNKNOWN_U64: it is not there. */
static uint64_t seen_ms(const struct history_entry *e, unsigned kind)
{
	if (kind == SEEN_WAIT)
		return e->wait_known ? e->wait_ms : UNKNOWN_U64;
	return kind == SEEN_IDLE ? e->idle_ms : e->fence_ms[kind];
}

/* ---- bytes to history ---- */

static int parse_hex(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value = 0;

	if (!len || len > 16)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return -EINVAL;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*ret = value;
	return 0;
}

/* Behind the place: how much CPU time it had used, and when; without it that is not known. */
static int parse_cpu(char *text, struct history_entry *e)
{
	char *cpu = strchr(text, CPU_MARK), *ms = cpu ? strchr(cpu + 1, CPU_MARK) : NULL;

	if (!cpu)
		return 0;
	if (!ms)
		return -EINVAL;
	*cpu++ = '\0';
	*ms++ = '\0';
	return state_file_u64(cpu, &e->cpu_ns) || state_file_u64(ms, &e->before_ms) ? -EINVAL : 0;
}

/* nr:sp:pc, or @wchan. */
static int parse_place(char *text, struct history_entry *e)
{
	char *sp = strchr(text, ':'), *pc = sp ? strchr(sp + 1, ':') : NULL;
	uint64_t nr;

	if (text[0] == '@') {
		if (!text[1] || strlen(text + 1) > SYMBOL_MAX)
			return -EINVAL;
		(void)snprintf(e->wchan, sizeof(e->wchan), "%s", text + 1);
		e->wait_known = true;
		return 0;
	}
	if (!pc)
		return -EINVAL;
	*sp++ = '\0';
	if (strcmp(text, "-1") && parse_u64(text, INT64_MAX, &nr))
		return -EINVAL;
	e->nr = strcmp(text, "-1") ? (int64_t)nr : -1;
	if (parse_hex(sp, (size_t)(pc - sp), &e->sp) || parse_hex(pc + 1, strlen(pc + 1), &e->pc))
		return -EINVAL;
	e->wait_known = true;
	return 0;
}

static int parse_kind(const char *name, unsigned *ret)
{
	for (unsigned kind = FENCE_NONE + 1; kind < SEEN_COUNT; kind++)
		if (!strcmp(name, seen_name(kind))) {
			*ret = kind;
			return 0;
		}
	return -EINVAL;
}

/* Finds the entry of a line, which must belong to the last one or to a new one behind it. */
static int entry_of(struct history *h, struct ident id, uint64_t ms, struct history_entry **ret)
{
	struct history_entry *last = h->count ? history_at(h, h->count - 1) : NULL;
	int order = last ? ident_compare(last->id, id) : -1;

	if (order > 0)
		return -EINVAL;
	*ret = order == 0 ? last : history_touch(h, id, ms);
	return *ret ? 0 : -ENOMEM;
}

/* seen <pid>:<start> <kind> <boottime_ms> <wait> */
static int parse_seen(struct history *h, const struct state_fields *f)
{
	struct history_entry *e;
	struct ident id;
	uint64_t ms;
	unsigned kind;
	int r;

	if (f->count != 5 || state_file_ident(f->field[1], &id) || parse_kind(f->field[2], &kind) ||
	    state_file_u64(f->field[3], &ms))
		return -EINVAL;
	r = entry_of(h, id, ms, &e);
	if (r)
		return r;
	if (seen_ms(e, kind) != UNKNOWN_U64)
		return -EINVAL;
	e->touched_ms = MAX(e->touched_ms, ms);
	if (kind == SEEN_WAIT) {
		e->wait_ms = ms;
		e->looks = 1;
		return parse_cpu(f->field[4], e) ? -EINVAL : parse_place(f->field[4], e);
	}
	if (strcmp(f->field[4], NO_WAIT))
		return -EINVAL;
	if (kind == SEEN_IDLE)
		e->idle_ms = ms;
	else
		e->fence_ms[kind] = ms;
	return 0;
}

/* clock <ms> <boottime_ms>: what the wall clock is ahead of the boot clock, and since when; 0: not known */
static int parse_clock(struct history *h, const struct state_fields *f)
{
	if (f->count != 3 || h->wall_minus_boot_ms ||
	    state_file_u64(f->field[1], &h->wall_minus_boot_ms) || !h->wall_minus_boot_ms ||
	    state_file_u64(f->field[2], &h->stepped_ms))
		return -EINVAL;
	return 0;
}

/* kill <boottime_ms> */
static int parse_kill(struct history *h, const struct state_fields *f)
{
	uint64_t ms;

	if (f->count != 2 || state_file_u64(f->field[1], &ms))
		return -EINVAL;
	if (h->kill_count && h->kills[h->kill_count - 1] > ms)
		return -EINVAL;
	return history_kill(h, ms);
}

static int parse_line(void *arg, const struct state_fields *f)
{
	if (!strcmp(f->field[0], "seen"))
		return parse_seen(arg, f);
	if (!strcmp(f->field[0], "clock"))
		return parse_clock(arg, f);
	return strcmp(f->field[0], "kill") ? -EINVAL : parse_kill(arg, f);
}

int history_file_parse(const char *bytes, size_t len, const char *boot_id, struct history *h)
{
	int r = state_file_parse(bytes, len, HEADER, boot_id, HISTORY_FILE_LINES_MAX, parse_line,
				 h);

	if (r < 0)
		history_done(h);
	return r;
}

/* ---- history to bytes ---- */

static void format_wait(const struct history_entry *e, struct buf *ret)
{
	if (e->wchan[0])
		buf_printf(ret, "@%s", e->wchan);
	else
		buf_printf(ret, "%" PRId64 ":%" PRIx64 ":%" PRIx64, e->nr, e->sp, e->pc);
	if (e->cpu_ns != UNKNOWN_U64)
		buf_printf(ret, "%c%" PRIu64 "%c%" PRIu64, CPU_MARK, e->cpu_ns, CPU_MARK,
			   e->before_ms);
	buf_str(ret, "\n");
}

static void format_seen(const struct history_entry *e, unsigned kind, struct buf *ret)
{
	buf_printf(ret, "seen %d:%" PRIu64 " %s %" PRIu64 " ", (int)e->id.pid, e->id.start,
		   seen_name(kind), seen_ms(e, kind));
	if (kind == SEEN_WAIT)
		format_wait(e, ret);
	else
		buf_str(ret, NO_WAIT "\n");
}

/* What an entry has to be written for, where not all fit. */
struct claim {
	uint64_t proof_ms; /* its oldest fence; UNKNOWN_U64: none */
	uint64_t rest_ms;  /* the older of its other lines; UNKNOWN_U64: none */
	size_t lines;
	size_t at; /* in the order of identities */
};

static struct claim claim_of(const struct history *h, size_t at)
{
	struct claim c = { .proof_ms = UNKNOWN_U64, .rest_ms = UNKNOWN_U64, .at = at };

	for (unsigned kind = FENCE_NONE + 1; kind < SEEN_COUNT; kind++) {
		uint64_t ms = seen_ms(history_at(h, at), kind);

		if (kind < FENCE_COUNT)
			c.proof_ms = MIN(c.proof_ms, ms);
		else
			c.rest_ms = MIN(c.rest_ms, ms);
		c.lines += ms != UNKNOWN_U64;
	}
	return c;
}

static int compare_claims(const void *a, const void *b)
{
	const struct claim *p = a, *q = b;

	if (p->proof_ms != q->proof_ms)
		return p->proof_ms < q->proof_ms ? -1 : 1;
	if (p->rest_ms != q->rest_ms)
		return p->rest_ms < q->rest_ms ? -1 : 1;
	return p->at < q->at ? -1 : 1;
}

/* The oldest come first: were the youngest kept, each sweep would lose what the one before had begun to
 * wait for, and nobody would ever be due. Returns 0; -ENOMEM. */
static int choose(const struct history *h, size_t room, bool *chosen)
{
	_cleanup_free_ struct claim *claims = calloc(h->count + 1, sizeof(*claims));

	if (!claims)
		return -ENOMEM;
	for (size_t i = 0; i < h->count; i++)
		claims[i] = claim_of(h, i);
	qsort(claims, h->count, sizeof(*claims), compare_claims);
	for (size_t i = 0; i < h->count && claims[i].lines <= room; i++) {
		room -= claims[i].lines;
		chosen[claims[i].at] = true;
	}
	return 0;
}

static void format_entry(const struct history_entry *e, struct buf *ret)
{
	for (unsigned kind = FENCE_NONE + 1; kind < SEEN_COUNT; kind++)
		if (seen_ms(e, kind) != UNKNOWN_U64)
			format_seen(e, kind, ret);
}

void history_file_format(const struct history *h, const char *boot_id, struct buf *ret)
{
	size_t lines = HISTORY_FILE_LINES_MAX - 1 - (h->wall_minus_boot_ms != 0);
	size_t kills = MIN(h->kill_count, lines);
	_cleanup_free_ bool *chosen = calloc(h->count + 1, sizeof(*chosen));

	if (!chosen || choose(h, lines - kills, chosen) < 0) {
		ret->failed = true;
		return;
	}
	buf_printf(ret, HEADER "%s\n", boot_id);
	if (h->wall_minus_boot_ms)
		buf_printf(ret, "clock %" PRIu64 " %" PRIu64 "\n", h->wall_minus_boot_ms,
			   h->stepped_ms);
	for (size_t i = 0; i < h->count; i++)
		if (chosen[i])
			format_entry(history_at(h, i), ret);
	for (size_t i = h->kill_count - kills; i < h->kill_count; i++)
		buf_printf(ret, "kill %" PRIu64 "\n", h->kills[i]);
}

/* ---- the file ---- */

static bool speaks_of_the_future(const struct history *h, uint64_t now_ms)
{
	for (size_t i = 0; i < h->count; i++)
		for (unsigned kind = FENCE_NONE + 1; kind < SEEN_COUNT; kind++) {
			uint64_t ms = seen_ms(&h->entries[i], kind);

			if (ms != UNKNOWN_U64 && (ms > now_ms || h->entries[i].before_ms > now_ms))
				return true;
		}
	return h->stepped_ms > now_ms || (h->kill_count && h->kills[h->kill_count - 1] > now_ms);
}

int history_file_load(const char *state_dir, const char *boot_id, uint64_t now_ms,
		      struct history *h)
{
	_cleanup_free_ char *bytes = NULL;
	size_t len = 0;
	int r = state_file_read(state_dir, FILE_NAME,
				(size_t)HISTORY_FILE_LINES_MAX * STATE_LINE_MAX, &bytes, &len);

	if (!r)
		r = history_file_parse(bytes, len, boot_id, h);
	if (!r && speaks_of_the_future(h, now_ms))
		history_done(h);
	return state_file_is_none(r) ? 0 : r;
}

int history_file_save(const char *state_dir, const char *boot_id, const struct history *h)
{
	_cleanup_(buf_done) struct buf text = { 0 };

	history_file_format(h, boot_id, &text);
	return state_file_write(state_dir, FILE_NAME, &text);
}

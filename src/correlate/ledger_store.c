/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_store.h"

#include <string.h>

enum {
	STORE_RECORD_ITEMS = 4, /* a job, a task, a worker and a binding */
	STORE_HAND_STEPS = 64,
};

struct ledger_entry *ledger_store_entry(const struct ledger_store *s, uint32_t entry)
{
	return (struct ledger_entry *)(void *)s->entries.items + entry;
}

struct ledger_worker *ledger_store_worker(const struct ledger_store *s, uint32_t worker)
{
	return (struct ledger_worker *)(void *)s->workers.items + worker;
}

struct ledger_binding *ledger_store_binding(const struct ledger_store *s, uint32_t binding)
{
	return (struct ledger_binding *)(void *)s->bindings.items + binding;
}

const char *ledger_store_name(const struct ledger_entry *e)
{
	return e->name_len > LEDGER_NAME_HERE ? e->name.away : e->name.here;
}

static uint32_t hash_name(bool is_job, const char *name, size_t len)
{
	return ledger_index_hash(name, len) + is_job;
}

static uint32_t hash_ident(struct ident id)
{
	return ledger_index_hash_pair((uint64_t)id.pid, id.start);
}

static bool is_entry(const struct ledger_entry *e, bool is_job, const char *name, size_t len)
{
	return e->is_job == is_job && e->name_len == len &&
	       memcmp(ledger_store_name(e), name, len) == 0;
}

static uint32_t find_hashed(const struct ledger_store *s, bool is_job, const char *name, size_t len,
			    uint32_t hash)
{
	uint32_t at = 0, entry;

	do
		entry = ledger_index_next(&s->by_name, hash, &at);
	while (entry != LEDGER_NONE && !is_entry(ledger_store_entry(s, entry), is_job, name, len));
	return entry;
}

uint32_t ledger_store_find(const struct ledger_store *s, bool is_job, const char *name, size_t len)
{
	return find_hashed(s, is_job, name, len, hash_name(is_job, name, len));
}

uint32_t ledger_store_find_worker(const struct ledger_store *s, struct ident id)
{
	uint32_t at = 0, worker;

	do
		worker = ledger_index_next(&s->by_ident, hash_ident(id), &at);
	while (worker != LEDGER_NONE && !ident_equal(ledger_store_worker(s, worker)->id, id));
	return worker;
}

static uint32_t find_binding(const struct ledger_store *s, uint32_t entry, uint32_t worker)
{
	uint32_t at = ledger_store_entry(s, entry)->bindings;

	for (unsigned i = 0; at && i < LEDGER_TWINS_MAX; i++) {
		const struct ledger_binding *b = ledger_store_binding(s, at - 1);

		if (b->worker == worker)
			return at - 1;
		at = b->next_of_entry;
	}
	return LEDGER_NONE;
}

bool ledger_store_is_bound(const struct ledger_store *s, uint32_t entry, uint32_t worker)
{
	return find_binding(s, entry, worker) != LEDGER_NONE;
}

void ledger_store_move(struct ledger_store *s, uint32_t entry, enum ledger_list list)
{
	struct ledger_entry *e = ledger_store_entry(s, entry);

	if (e->list != LIST_NONE) {
		*(e->prev ? &ledger_store_entry(s, e->prev - 1)->next : &s->first[e->list]) =
			e->next;
		*(e->next ? &ledger_store_entry(s, e->next - 1)->prev : &s->last[e->list]) =
			e->prev;
	}
	e->list = (uint8_t)list;
	e->next = 0;
	e->prev = 0;
	if (list == LIST_NONE)
		return;
	e->prev = s->last[list];
	*(e->prev ? &ledger_store_entry(s, e->prev - 1)->next : &s->first[list]) = entry + 1;
	s->last[list] = entry + 1;
}

static int set_name(struct ledger_entry *e, const char *name, size_t len)
{
	char *at = e->name.here;

	if (len > LEDGER_NAME_HERE) {
		at = malloc(len);
		if (!at)
			return -LEDGER_ENOMEM;
		e->name.away = at;
	}
	memcpy(at, name, len);
	e->name_len = (uint8_t)len;
	return 0;
}

static void drop_name(struct ledger_entry *e)
{
	if (e->name_len > LEDGER_NAME_HERE)
		free(e->name.away);
	e->name_len = 0;
}

int ledger_store_need(struct ledger_store *s, bool is_job, const char *name, uint32_t *ret_entry)
{
	size_t len = strlen(name);
	uint32_t hash = hash_name(is_job, name, len);
	uint32_t entry = find_hashed(s, is_job, name, len, hash);
	struct ledger_entry *e;
	int err;

	if (entry != LEDGER_NONE) {
		*ret_entry = entry;
		return 0;
	}
	entry = ledger_pool_take(&s->entries, sizeof(*e));
	if (entry == LEDGER_NONE)
		return -LEDGER_ENOMEM;
	e = ledger_store_entry(s, entry);
	err = set_name(e, name, len);
	if (err == 0)
		err = ledger_index_put(&s->by_name, hash, entry);
	if (err < 0) {
		drop_name(e);
		ledger_pool_give(&s->entries, sizeof(*e), entry);
		return err;
	}
	e->hash = hash;
	e->is_job = is_job;
	e->begin_ms = UNKNOWN_U64;
	e->end_ms = UNKNOWN_U64;
	++*s->used;
	if (is_job)
		ledger_store_move(s, entry, LIST_SPARE);
	*ret_entry = entry;
	return 0;
}

int ledger_store_need_worker(struct ledger_store *s, struct ident id, uint32_t *ret_worker)
{
	uint32_t worker = ledger_store_find_worker(s, id);
	struct ledger_worker *w;
	int err;

	if (worker == LEDGER_NONE) {
		worker = ledger_pool_take(&s->workers, sizeof(*w));
		if (worker == LEDGER_NONE)
			return -LEDGER_ENOMEM;
		err = ledger_index_put(&s->by_ident, hash_ident(id), worker);
		if (err < 0) {
			ledger_pool_give(&s->workers, sizeof(*w), worker);
			return err;
		}
		w = ledger_store_worker(s, worker);
		w->id = id;
		w->hash = hash_ident(id);
		w->taken = true;
		++*s->used;
	}
	*ret_worker = worker;
	return 0;
}

static uint32_t make_binding(struct ledger_store *s, uint32_t entry, uint32_t worker)
{
	struct ledger_entry *e = ledger_store_entry(s, entry);
	struct ledger_worker *w = ledger_store_worker(s, worker);
	uint32_t binding = ledger_pool_take(&s->bindings, sizeof(struct ledger_binding));

	if (binding == LEDGER_NONE)
		return LEDGER_NONE;
	*ledger_store_binding(s, binding) = (struct ledger_binding){
		.next_of_worker = w->bindings,
		.next_of_entry = e->bindings,
		.entry = entry,
		.worker = worker,
	};
	if (w->bindings)
		ledger_store_binding(s, w->bindings - 1)->prev_of_worker = binding + 1;
	if (e->bindings)
		ledger_store_binding(s, e->bindings - 1)->prev_of_entry = binding + 1;
	w->bindings = binding + 1;
	e->bindings = binding + 1;
	++*s->used;
	return binding;
}

int ledger_store_bind(struct ledger_store *s, uint32_t entry, uint32_t worker, uint64_t ms,
		      uint32_t epoch)
{
	uint32_t binding = find_binding(s, entry, worker);
	struct ledger_binding *b;

	if (binding == LEDGER_NONE)
		binding = make_binding(s, entry, worker);
	if (binding == LEDGER_NONE)
		return -LEDGER_ENOMEM;
	b = ledger_store_binding(s, binding);
	b->ms = b->epoch == epoch ? MAX(b->ms, ms) : ms;
	b->epoch = epoch;
	return 0;
}

void ledger_store_unbind(struct ledger_store *s, uint32_t binding)
{
	struct ledger_binding *b = ledger_store_binding(s, binding);

	*(b->prev_of_worker ? &ledger_store_binding(s, b->prev_of_worker - 1)->next_of_worker
			    : &ledger_store_worker(s, b->worker)->bindings) = b->next_of_worker;
	if (b->next_of_worker)
		ledger_store_binding(s, b->next_of_worker - 1)->prev_of_worker = b->prev_of_worker;
	*(b->prev_of_entry ? &ledger_store_binding(s, b->prev_of_entry - 1)->next_of_entry
			   : &ledger_store_entry(s, b->entry)->bindings) = b->next_of_entry;
	if (b->next_of_entry)
		ledger_store_binding(s, b->next_of_entry - 1)->prev_of_entry = b->prev_of_entry;
	ledger_pool_give(&s->bindings, sizeof(*b), binding);
	--*s->used;
}

/* Forgets an ended entry; its workers remember that it was, and when it ended. */
static void forget_entry(struct ledger_store *s, uint32_t entry)
{
	struct ledger_entry *e = ledger_store_entry(s, entry);

	while (e->bindings) {
		uint32_t binding = e->bindings - 1;
		struct ledger_worker *w =
			ledger_store_worker(s, ledger_store_binding(s, binding)->worker);

		w->forgotten++;
		if (e->end_epoch > w->forgotten_epoch)
			w->forgotten_end_ms = 0;
		w->forgotten_epoch = MAX(e->end_epoch, w->forgotten_epoch);
		if (e->end_epoch == w->forgotten_epoch)
			w->forgotten_end_ms = MAX(w->forgotten_end_ms, e->end_ms);
		ledger_store_unbind(s, binding);
	}
	ledger_store_move(s, entry, LIST_NONE);
	ledger_index_remove(&s->by_name, e->hash, entry);
	drop_name(e);
	ledger_pool_give(&s->entries, sizeof(*e), entry);
	--*s->used;
}

/* Forgets a worker without a binding, roughly in the order in which they came. */
static bool forget_worker(struct ledger_store *s)
{
	for (uint32_t i = 0; s->workers.count && i < STORE_HAND_STEPS; i++) {
		uint32_t worker = s->hand++ % (uint32_t)s->workers.count;
		struct ledger_worker *w = ledger_store_worker(s, worker);

		if (!w->taken || w->bindings)
			continue;
		s->gone_ms = MAX(s->gone_ms, w->forgotten_end_ms);
		s->gone_ms = MAX(s->gone_ms, w->where_said.ms);
		s->gone_ms = MAX(s->gone_ms, w->retired.ms);
		ledger_index_remove(&s->by_ident, w->hash, worker);
		w->taken = false;
		ledger_pool_give(&s->workers, sizeof(*w), worker);
		--*s->used;
		return true;
	}
	return false;
}

static bool forget_one(struct ledger_store *s)
{
	if (s->workers.used > LEDGER_STORE_WORKERS && forget_worker(s))
		return true;
	if (!s->first[LIST_SPARE])
		return forget_worker(s);
	forget_entry(s, s->first[LIST_SPARE] - 1);
	return true;
}

static bool has_room(const struct ledger_store *s)
{
	uint32_t items = s->entries.used + s->workers.used + s->bindings.used + STORE_RECORD_ITEMS;

	if (items <= LEDGER_STORE_SHARE)
		return true;
	return items <= LEDGER_STORE_ITEMS && *s->used + STORE_RECORD_ITEMS <= LEDGER_ITEMS_MAX;
}

bool ledger_store_make_room(struct ledger_store *s)
{
	while (!has_room(s))
		if (!forget_one(s))
			return false;
	return true;
}

void ledger_store_done(struct ledger_store *s)
{
	for (uint32_t i = 0; i < s->entries.count; i++)
		drop_name(ledger_store_entry(s, i));
	*s->used -= s->entries.used + s->workers.used + s->bindings.used;
	free(s->entries.items);
	free(s->workers.items);
	free(s->bindings.items);
	free(s->by_name.slots);
	free(s->by_ident.slots);
}

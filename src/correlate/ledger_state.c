/* SPDX-License-Identifier: Apache-2.0 */
#include "correlate/ledger_state.h"

#include "model/grow.h"

size_t ledger_state_log_place(const struct ledger *l, uint32_t number)
{
	size_t low = 0, high = l->log_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->logs[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct ledger_log *ledger_state_log(const struct ledger *l, uint32_t number)
{
	size_t at = ledger_state_log_place(l, number);

	return at < l->log_count && l->logs[at]->number == number ? l->logs[at] : NULL;
}

bool ledger_state_same_writer(const struct ledger_writer *a, const struct ledger_writer *b)
{
	return a->kind == b->kind && ident_equal(a->id, b->id) && a->pid_ns == b->pid_ns &&
	       a->owner == b->owner;
}

static uint32_t hash_writer(const struct ledger_writer *w)
{
	return ledger_index_hash_pair((uint64_t)w->id.pid << 32 | w->owner,
				      w->id.start ^ w->pid_ns << 16) +
	       w->kind;
}

struct ledger_scope *ledger_state_scope(const struct ledger *l, const struct ledger_writer *writer)
{
	uint32_t at = 0, item;

	do
		item = ledger_index_next(&l->by_writer, hash_writer(writer), &at);
	while (item != LEDGER_NONE && !ledger_state_same_writer(&l->scopes[item]->writer, writer));
	return item == LEDGER_NONE ? NULL : l->scopes[item];
}

/* Finds a free place in the array of scopes, or makes one. */
static int need_place(struct ledger *l, size_t *ret)
{
	struct ledger_scope **more;
	size_t at = 0;

	while (at < l->scope_count && l->scopes[at])
		at++;
	if (at == l->scope_count) {
		more = grow(l->scopes, l->scope_count, &l->scope_room, sizeof(*more),
			    LEDGER_LOGS_MAX + LEDGER_LEFT_MAX + 1);
		if (!more)
			return -LEDGER_ENOMEM;
		l->scopes = more;
		l->scope_count++;
	}
	*ret = at;
	return 0;
}

static int make_scope(struct ledger *l, const struct ledger_writer *writer,
		      struct ledger_scope **ret)
{
	struct ledger_scope *s;
	size_t at;
	int err = need_place(l, &at);

	if (err < 0)
		return err;
	s = ledger_scope_new(writer, &l->used);
	if (!s)
		return -LEDGER_ENOMEM;
	s->hash = hash_writer(writer);
	err = ledger_index_put(&l->by_writer, s->hash, (uint32_t)at);
	if (err < 0) {
		ledger_scope_free(s);
		return err;
	}
	l->scopes[at] = s;
	*ret = s;
	return 0;
}

int ledger_state_need_scope(struct ledger *l, const struct ledger_writer *writer,
			    struct ledger_scope **ret)
{
	struct ledger_scope *s = ledger_state_scope(l, writer);

	if (!s)
		return make_scope(l, writer, ret);
	*ret = s;
	return 0;
}

void ledger_state_drop_left(struct ledger *l)
{
	size_t left = 0, oldest = 0;

	for (size_t i = 0; i < l->scope_count; i++) {
		const struct ledger_scope *s = l->scopes[i];

		if (!s || s->logs)
			continue;
		if (!left++ || s->left < l->scopes[oldest]->left)
			oldest = i;
	}
	if (left <= LEDGER_LEFT_MAX)
		return;
	ledger_index_remove(&l->by_writer, l->scopes[oldest]->hash, (uint32_t)oldest);
	ledger_scope_free(l->scopes[oldest]);
	l->scopes[oldest] = NULL;
}

struct ident ledger_state_local(const struct ledger_name *name, uint64_t pid_ns)
{
	if (pid_ns && pid_ns == name->our_pid_ns)
		return name->id;
	if (pid_ns && pid_ns == name->pid_ns && name->ns_pid)
		return (struct ident){ name->ns_pid, name->id.start };
	return (struct ident){ 0 };
}

size_t ledger_state_named(const struct ledger *l, enum marker_event kind,
			  const struct ledger_name *name, uint32_t uid,
			  struct ledger_scope *ret[LEDGER_NAMED_MAX])
{
	const uint64_t spaces[] = { name->our_pid_ns, name->pid_ns };
	const uint32_t owners[] = { 0, uid };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(spaces) * ARRAY_SIZE(owners); i++) {
		size_t space = i / ARRAY_SIZE(owners), owner = i % ARRAY_SIZE(owners);
		struct ledger_writer w = { .kind = kind,
					   .pid_ns = spaces[space],
					   .owner = owners[owner] };

		w.id = ledger_state_local(name, w.pid_ns);
		/* Both namespaces may be one, and both owners root. */
		if (!w.id.pid || (space && spaces[1] == spaces[0]) || (owner && !uid))
			continue;
		if (kind == MARKER_OPERATOR)
			w.id = (struct ident){ 0 };
		ret[n] = ledger_state_scope(l, &w);
		n += ret[n] != NULL;
	}
	return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "model/socket.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

static const char *const state_names[] = {
	[SOCKET_UNKNOWN] = "unknown",
	[SOCKET_NONE] = "none",
	[SOCKET_ESTABLISHED] = "established",
	[SOCKET_PEER_CLOSED] = "peer-closed",
	[SOCKET_HALF_CLOSED] = "half-closed",
	[SOCKET_SIGNED_OFF] = "signed-off",
	[SOCKET_GONE] = "gone",
};
static_assert(ARRAY_SIZE(state_names) == SOCKET_STATE_COUNT, "every socket state has a name");

const char *socket_state_name(enum socket_state state)
{
	return state_names[state];
}

const char *transport_name(enum transport transport)
{
	if (transport == TRANSPORT_TCP)
		return "tcp";
	return transport == TRANSPORT_UNIX ? "unix" : NULL;
}

static int compare_ino(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_inet(const void *a, const void *b)
{
	return compare_ino(((const struct inet_row *)a)->ino, ((const struct inet_row *)b)->ino);
}

static int compare_unix(const void *a, const void *b)
{
	return compare_ino(((const struct unix_row *)a)->ino, ((const struct unix_row *)b)->ino);
}

static int find_inet(const void *key, const void *row)
{
	return compare_ino(*(const uint64_t *)key, ((const struct inet_row *)row)->ino);
}

static int find_unix(const void *key, const void *row)
{
	return compare_ino(*(const uint64_t *)key, ((const struct unix_row *)row)->ino);
}

const struct inet_row *socket_table_inet(const struct socket_table *t, uint64_t ino)
{
	if (!ino || !t->inet_count)
		return NULL;
	return bsearch(&ino, t->inet, t->inet_count, sizeof(*t->inet), find_inet);
}

const struct unix_row *socket_table_unix(const struct socket_table *t, uint64_t ino)
{
	if (!ino || !t->unix_count)
		return NULL;
	return bsearch(&ino, t->unix_rows, t->unix_count, sizeof(*t->unix_rows), find_unix);
}

void socket_table_sort(struct socket_table *t)
{
	if (t->inet_count)
		qsort(t->inet, t->inet_count, sizeof(*t->inet), compare_inet);
	if (t->unix_count)
		qsort(t->unix_rows, t->unix_count, sizeof(*t->unix_rows), compare_unix);
}

void socket_table_done(struct socket_table *t)
{
	free(t->inet);
	free(t->unix_rows);
	memset(t, 0, sizeof(*t));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses a parser of socket rows, the rest are its bytes. What a parser accepts must
 * keep its promises.
 */
#include <stdlib.h>
#include <string.h>

#include "observe/diag_parse.h"
#include "observe/net_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void try_tcp(const char *bytes, size_t len)
{
	struct inet_row row;

	if (net_parse_tcp_line(bytes, len, false, &row) == 0)
		must(!row.ages_known && IN6_IS_ADDR_V4MAPPED(&row.local.addr) &&
		     IN6_IS_ADDR_V4MAPPED(&row.remote.addr));
}

static void try_tcp6(const char *bytes, size_t len)
{
	struct inet_row row;

	if (net_parse_tcp_line(bytes, len, true, &row) == 0)
		must(!row.ages_known);
}

static void try_unix(const char *bytes, size_t len)
{
	struct unix_row row;

	if (net_parse_unix_line(bytes, len, &row) == 0)
		must(!row.peer_known && !row.path[SOCKET_PATH_MAX]);
}

static void try_diag_inet(const char *bytes, size_t len)
{
	struct inet_row row;

	(void)!diag_parse_inet(bytes, len, &row);
}

static void try_diag_unix(const char *bytes, size_t len)
{
	struct unix_row row;

	if (diag_parse_unix(bytes, len, &row) == 0)
		must(!row.path[SOCKET_PATH_MAX]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *, size_t) = {
		try_tcp, try_tcp6, try_unix, try_diag_inet, try_diag_unix,
	};

	if (!size)
		return 0;
	parsers[data[0] % ARRAY_SIZE(parsers)]((const char *)data + 1, size - 1);
	return 0;
}

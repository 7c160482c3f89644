/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses a parser of what the kernel says about limits of memory, the rest are its
 * bytes. What a parser accepts must keep its promises.
 */
#include <stdlib.h>
#include <string.h>

#include "observe/room_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

static void try_mountinfo(const char *bytes, size_t len)
{
	struct room_mounts got;

	room_parse_mountinfo(bytes, len, &got);
	must(memchr(got.v1.root, '\0', sizeof(got.v1.root)) &&
	     memchr(got.v1.point, '\0', sizeof(got.v1.point)) &&
	     memchr(got.v2.root, '\0', sizeof(got.v2.root)) &&
	     memchr(got.v2.point, '\0', sizeof(got.v2.point)));
}

static void try_cgroup(const char *bytes, size_t len)
{
	char path[MEMORY_CGROUP_MAX];
	bool v2;

	if (room_parse_cgroup(bytes, len, path, &v2) == 0)
		must(path[0] == '/' && memchr(path, '\0', sizeof(path)) && !strchr(path, '\n'));
}

static void try_numbers(const char *bytes, size_t len)
{
	uint64_t one, two;

	if (room_parse_number(bytes, len, &one) == 0)
		must(bytes[len - 1] == '\n');
	if (room_parse_stat(bytes, len, "inactive_file", &one) == 0)
		must(one != UNKNOWN_U64);
	if (room_parse_meminfo(bytes, len, &one, &two) == 0)
		must(one != UNKNOWN_U64 && two != UNKNOWN_U64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *, size_t) = {
		try_mountinfo,
		try_cgroup,
		try_numbers,
	};

	if (!size)
		return 0;
	parsers[data[0] % ARRAY_SIZE(parsers)]((const char *)data + 1, size - 1);
	return 0;
}

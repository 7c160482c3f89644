/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/room_parse.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define V1 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V2 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"

static const struct {
	const char *why;
	const char *text;
	const char *v1_root, *v1_point, *v2_root, *v2_point;
} mounts[] = {
	{ "both", V1 V2, "/", "/sys/fs/cgroup/memory", "/", "/sys/fs/cgroup/unified" },
	{ "the second of a kind is passed over",
	  V2 "42 31 0:38 / /mnt rw - cgroup2 none rw\n" V1
	     "43 31 0:32 / /mnt rw - cgroup x memory\n",
	  "/", "/sys/fs/cgroup/memory", "/", "/sys/fs/cgroup/unified" },
	{ "a part of it, with several optional fields",
	  "41 31 0:38 /docker/abc /sys/fs/cgroup ro shared:1 master:2 - cgroup2 cgroup2 rw,nsdelegate\n",
	  "", "", "/docker/abc", "/sys/fs/cgroup" },
	{ "another controller of v1", "35 31 0:32 / /c rw - cgroup cgroup rw,cpu,cpuacct\n", "", "",
	  "", "" },
	{ "one whose name begins so", "35 31 0:32 / /c rw - cgroup cgroup rw,memory2\n", "", "", "",
	  "" },
	{ "several controllers in one", "35 31 0:32 / /c rw - cgroup cgroup rw,cpu,memory,pids\n",
	  "/", "/c", "", "" },
	{ "another file system", "23 28 0:21 / /proc rw - proc proc rw,memory\n", "", "", "", "" },
	{ "a point with a blank and a backslash",
	  "41 31 0:38 /a\\040b /x\\134y\\040z rw - cgroup2 cgroup2 rw\n", "", "", "/a b",
	  "/x\\y z" },
	{ "what is no octal number stays", "41 31 0:38 /\\09x /p\\4 rw - cgroup2 cgroup2 rw\n", "",
	  "", "/\\09x", "/p\\4" },
	{ "a NUL is none", "41 31 0:38 / /p\\000q rw - cgroup2 cgroup2 rw\n", "", "", "/",
	  "/p\\000q" },
	{ "a torn line", "41 31 0:38 / /p rw - cgroup2 cgroup2 rw", "", "", "", "" },
	{ "no source", "41 31 0:38 / /p rw - cgroup2\n", "", "", "", "" },
	{ "no options", "41 31 0:38 / /p rw - cgroup2 cgroup2\n", "", "", "", "" },
	{ "no dash", "41 31 0:38 / /p rw cgroup2 cgroup2 rw\n", "", "", "", "" },
	{ "no point", "41 31 0:38 /\n", "", "", "", "" },
	{ "two fields", "41 31\n", "", "", "", "" },
	{ "an empty line, then a good one", "\n" V2, "", "", "/", "/sys/fs/cgroup/unified" },
	{ "nothing", "", "", "", "", "" },
};

Test(room_parse, mountinfo)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		struct room_mounts got;

		room_parse_mountinfo(mounts[i].text, strlen(mounts[i].text), &got);
		cr_expect_str_eq(got.v1.root, mounts[i].v1_root, "%s: %s", mounts[i].why,
				 got.v1.root);
		cr_expect_str_eq(got.v1.point, mounts[i].v1_point, "%s: %s", mounts[i].why,
				 got.v1.point);
		cr_expect_str_eq(got.v2.root, mounts[i].v2_root, "%s: %s", mounts[i].why,
				 got.v2.root);
		cr_expect_str_eq(got.v2.point, mounts[i].v2_point, "%s: %s", mounts[i].why,
				 got.v2.point);
	}
}

Test(room_parse, a_mount_point_that_is_too_long)
{
	char text[2 * ROOM_POINT_MAX], point[ROOM_POINT_MAX + 1];
	struct room_mounts got;

	memset(point, 'p', sizeof(point));
	point[0] = '/';
	for (int longer = 0; longer < 2; longer++) {
		point[ROOM_POINT_MAX - 1 + longer] = '\0';
		(void)snprintf(text, sizeof(text), "41 31 0:38 / %s rw - cgroup2 cgroup2 rw\n",
			       point);
		room_parse_mountinfo(text, strlen(text), &got);
		cr_expect_str_eq(got.v2.point, longer ? "" : point);
		cr_expect_str_eq(got.v2.root, longer ? "" : "/", "both or none");
		point[ROOM_POINT_MAX - 1] = 'p';
	}
}

static const struct {
	const char *why;
	const char *text;
	int r;
	const char *path;
	bool v2;
} cgroups[] = {
	{ "v2", "0::/user.slice\n", 0, "/user.slice", true },
	{ "hybrid: v1 counts", "4:memory:/job\n3:cpuset:/\n0::/user.slice\n", 0, "/job", false },
	{ "the same in the other order", "0::/user.slice\n4:memory:/job\n", 0, "/job", false },
	{ "v1 without its memory controller", "5:devices:/a\n0::/b\n", 0, "/b", true },
	{ "a list of controllers", "4:cpu,memory:/job\n", 0, "/job", false },
	{ "a named hierarchy", "9:name=memory:/x\n0::/b\n", 0, "/b", true },
	{ "a colon in the path", "0::/a:b\n", 0, "/a:b", true },
	{ "outside our namespace", "0::/../other\n", 0, "/../other", true },
	{ "only others", "5:devices:/a\n", -EINVAL, NULL, false },
	{ "nothing", "", -EINVAL, NULL, false },
	{ "torn", "0::/a", -EINVAL, NULL, false },
	{ "torn behind a whole line", "0::/a\n1:cpu:/", -EINVAL, NULL, false },
	{ "no number", "x::/a\n", -EINVAL, NULL, false },
	{ "no colon", "0\n", -EINVAL, NULL, false },
	{ "one colon", "0:/a\n", -EINVAL, NULL, false },
	{ "no path", "0::\n", -EINVAL, NULL, false },
	{ "a path from nowhere", "0::a\n", -EINVAL, NULL, false },
};

Test(room_parse, cgroup)
{
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		char path[MEMORY_CGROUP_MAX] = "old";
		bool v2 = false;

		cr_expect_eq(room_parse_cgroup(cgroups[i].text, strlen(cgroups[i].text), path, &v2),
			     cgroups[i].r, "%s", cgroups[i].why);
		cr_expect_str_eq(path, cgroups[i].path ? cgroups[i].path : "old", "%s: %s",
				 cgroups[i].why, path);
		cr_expect_eq(v2, cgroups[i].v2, "%s", cgroups[i].why);
	}
}

Test(room_parse, a_path_that_is_too_long)
{
	char text[2 * MEMORY_CGROUP_MAX] = "0::/", path[MEMORY_CGROUP_MAX];
	bool v2;

	memset(text + 4, 'c', MEMORY_CGROUP_MAX - 2);
	text[4 + MEMORY_CGROUP_MAX - 2] = '\n';
	cr_expect_eq(room_parse_cgroup(text, strlen(text), path, &v2), 0, "511 bytes");
	cr_expect_eq(strlen(path), MEMORY_CGROUP_MAX - 1);
	text[4 + MEMORY_CGROUP_MAX - 2] = 'c';
	text[4 + MEMORY_CGROUP_MAX - 1] = '\n';
	cr_expect_eq(room_parse_cgroup(text, strlen(text), path, &v2), -ERANGE, "512 bytes");
}

Test(room_parse, number)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} rows[] = {
		{ "314572800\n", 0, 314572800 },
		{ "0\n", 0, 0 },
		{ "max\n", 0, UNKNOWN_U64 },
		{ "9223372036854771712\n", 0, UINT64_C(9223372036854771712) },
		{ "18446744073709551615\n", -EINVAL, 7 },
		{ "18446744073709551616\n", -EINVAL, 7 },
		{ "12", -EINVAL, 7 },
		{ "max", -EINVAL, 7 },
		{ "maximum\n", -EINVAL, 7 },
		{ "-1\n", -EINVAL, 7 },
		{ "12 \n", -EINVAL, 7 },
		{ "12\n13\n", -EINVAL, 7 },
		{ "\n", -EINVAL, 7 },
		{ "", -EINVAL, 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 7;

		cr_expect_eq(room_parse_number(rows[i].text, strlen(rows[i].text), &value),
			     rows[i].r, "%s", rows[i].text);
		cr_expect_eq(value, rows[i].value, "%s: %lu", rows[i].text, value);
	}
}

Test(room_parse, stat)
{
	static const char text[] = "total_inactive_file 9\ninactive_file 4096\n"
				   "active_file x\nslab 7 8\nlast 5";
	static const struct {
		const char *word;
		int r;
		uint64_t value;
	} rows[] = {
		{ "inactive_file", 0, 4096 }, { "total_inactive_file", 0, 9 },
		{ "inactive", -EINVAL, 7 },   { "active_file", -EINVAL, 7 },
		{ "slab", -EINVAL, 7 },       { "last", -EINVAL, 7 },
		{ "anon", -EINVAL, 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = 7;

		cr_expect_eq(room_parse_stat(text, sizeof(text) - 1, rows[i].word, &value),
			     rows[i].r, "%s", rows[i].word);
		if (rows[i].r == 0)
			cr_expect_eq(value, rows[i].value, "%s", rows[i].word);
	}
}

Test(room_parse, meminfo)
{
	static const struct {
		const char *why;
		const char *text;
		int r;
	} rows[] = {
		{ "as it is",
		  "MemTotal:       24730032 kB\nMemFree: 5 kB\nMemAvailable:   23679888 kB\n", 0 },
		{ "before Linux 3.14", "MemTotal:       24730032 kB\nMemFree: 5 kB\n", -EINVAL },
		{ "no total", "MemAvailable:   23679888 kB\n", -EINVAL },
		{ "another unit", "MemTotal: 24730032 MB\nMemAvailable: 23679888 kB\n", -EINVAL },
		{ "something behind", "MemTotal: 24730032 kB \nMemAvailable: 23679888 kB\n",
		  -EINVAL },
		{ "no number", "MemTotal: x kB\nMemAvailable: 23679888 kB\n", -EINVAL },
		{ "torn", "MemTotal: 24730032 kB\nMemAvailable: 23679888 kB", -EINVAL },
		{ "nothing", "", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t total = 0, available = 0;

		cr_expect_eq(room_parse_meminfo(rows[i].text, strlen(rows[i].text), &total,
						&available),
			     rows[i].r, "%s", rows[i].why);
		if (rows[i].r)
			continue;
		cr_expect_eq(total, UINT64_C(24730032) * 1024);
		cr_expect_eq(available, UINT64_C(23679888) * 1024);
	}
}

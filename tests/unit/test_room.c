/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/room.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/pin.h"
#include "build.h"
#include "tmpdir.h"

/* A tree of files as a kernel would show it. */
struct tree {
	struct tmpdir dir;
	struct room_mounts mounts;
};

static void tree_done(struct tree *t)
{
	tmpdir_remove(&t->dir);
}
#define _cleanup_tree_ _cleanup_(tree_done)

static void put(const struct tree *t, const char *name, const char *text)
{
	char path[PATH_MAX], *slash;

	(void)tmpdir_path(&t->dir, name, path);
	slash = strrchr(path, '/');
	*slash = '\0';
	cr_assert_eq(fs_make_dirs(path, 0755), 0);
	tmpdir_write(&t->dir, name, text, strlen(text), 0644);
}

static struct tree tree_make(const char *v1_root, const char *v2_root)
{
	struct tree t = { .dir = tmpdir_make() };

	(void)snprintf(t.mounts.v1.root, sizeof(t.mounts.v1.root), "%s", v1_root);
	(void)snprintf(t.mounts.v1.point, sizeof(t.mounts.v1.point), "%s/v1", t.dir.path);
	(void)snprintf(t.mounts.v2.root, sizeof(t.mounts.v2.root), "%s", v2_root);
	(void)snprintf(t.mounts.v2.point, sizeof(t.mounts.v2.point), "%s/v2", t.dir.path);
	put(&t, "v1/x", "");
	put(&t, "v2/x", "");
	return t;
}

static int open_dir(const struct tree *t, const char *name)
{
	char path[PATH_MAX];
	int fd = open(tmpdir_path(&t->dir, name, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

/* The limit of a process whose cgroup file says so. */
static int limit_of(const struct tree *t, const char *cgroup, struct memory_limit *ret)
{
	_cleanup_close_ int fd = -1;

	put(t, "process/cgroup", cgroup);
	fd = open_dir(t, "process");
	return room_of_cgroup(&t->mounts, fd, ret);
}

Test(room, the_tightest_of_all_above)
{
	_cleanup_tree_ struct tree t = tree_make("/", "/");
	struct memory_limit got;

	put(&t, "v2/a/memory.max", "1000\n");
	put(&t, "v2/a/memory.current", "900\n");
	put(&t, "v2/a/memory.stat", "inactive_file 100\nactive_file 50\n");
	put(&t, "v2/a/b/memory.max", "2000\n");
	put(&t, "v2/a/b/memory.current", "500\n");
	put(&t, "v2/a/b/c/memory.max", "max\n");
	put(&t, "v2/a/b/c/memory.current", "400\n");
	cr_assert_eq(limit_of(&t, "0::/a/b/c\n", &got), 0);
	cr_expect_eq(got.of, MEMORY_LIMIT_CGROUP);
	cr_expect_str_eq(got.cgroup, "/a");
	cr_expect_eq(got.limit_bytes, 1000);
	cr_expect_eq(got.room_bytes, 250, "files are dropped first: %lu", got.room_bytes);
	put(&t, "v2/a/b/memory.max", "600\n");
	cr_assert_eq(limit_of(&t, "0::/a/b/c\n", &got), 0);
	cr_expect_str_eq(got.cgroup, "/a/b");
	cr_expect_eq(got.limit_bytes, 600);
	cr_expect_eq(got.room_bytes, 100);
	put(&t, "v2/a/b/memory.max", "300\n");
	cr_assert_eq(limit_of(&t, "0::/a/b/c\n", &got), 0);
	cr_expect_eq(got.room_bytes, 0, "past it");
}

Test(room, the_first_version)
{
	_cleanup_tree_ struct tree t = tree_make("/", "/");
	struct memory_limit got;

	put(&t, "v1/job/memory.limit_in_bytes", "1000\n");
	put(&t, "v1/job/memory.usage_in_bytes", "700\n");
	put(&t, "v1/job/memory.stat",
	    "inactive_file 1\nactive_file 1\ntotal_inactive_file 60\ntotal_active_file 40\n");
	put(&t, "v1/memory.limit_in_bytes", "9223372036854771712\n");
	put(&t, "v1/memory.usage_in_bytes", "700\n");
	put(&t, "v2/memory.max", "10\n");
	put(&t, "v2/memory.current", "10\n");
	cr_assert_eq(limit_of(&t, "4:memory:/job\n0::/\n", &got), 0);
	cr_expect_str_eq(got.cgroup, "/job");
	cr_expect_eq(got.limit_bytes, 1000);
	cr_expect_eq(got.room_bytes, 400);
}

/* In a container its own cgroup is the top of what is mounted, or of what it may see. */
Test(room, in_a_container)
{
	_cleanup_tree_ struct tree t = tree_make("/docker/abc", "/");
	struct memory_limit got;

	put(&t, "v1/memory.limit_in_bytes", "1000\n");
	put(&t, "v1/memory.usage_in_bytes", "700\n");
	put(&t, "v2/memory.max", "500\n");
	put(&t, "v2/memory.current", "100\n");
	cr_assert_eq(limit_of(&t, "4:memory:/docker/abc\n", &got), 0);
	cr_expect_str_eq(got.cgroup, "/docker/abc");
	cr_expect_eq(got.room_bytes, 300);
	cr_assert_eq(limit_of(&t, "4:memory:/docker/abc/inner\n", &got), 0);
	cr_expect_str_eq(got.cgroup, "/docker/abc", "one that is not there limits nothing");
	cr_assert_eq(limit_of(&t, "0::/\n", &got), 0);
	cr_expect_str_eq(got.cgroup, "/");
	cr_expect_eq(got.room_bytes, 400);
}

Test(room, no_limit_that_is_known)
{
	_cleanup_tree_ struct tree t = tree_make("/docker/abc", "/");
	static const struct {
		const char *why;
		const char *cgroup;
		int r;
	} rows[] = {
		{ "no limit is set", "0::/free\n", -ENOENT },
		{ "its use cannot be read", "0::/odd\n", -ENOENT },
		{ "use without end", "0::/odder\n", -ENOENT },
		{ "its limit is no number", "0::/oddest\n", -ENOENT },
		{ "outside what is mounted", "4:memory:/docker/other\n", -EINVAL },
		{ "beside what is mounted", "4:memory:/docker/abcd\n", -EINVAL },
		{ "above what is mounted", "4:memory:/docker\n", -EINVAL },
		{ "outside our namespace", "0::/../free\n", -EINVAL },
		{ "a file that cannot be read", "torn", -EINVAL },
	};
	struct memory_limit got;

	put(&t, "v2/free/memory.max", "max\n");
	put(&t, "v2/free/memory.current", "5\n");
	put(&t, "v2/odd/memory.max", "100\n");
	put(&t, "v2/odder/memory.max", "100\n");
	put(&t, "v2/odder/memory.current", "max\n");
	put(&t, "v2/oddest/memory.max", "much\n");
	put(&t, "v2/oddest/memory.current", "5\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(limit_of(&t, rows[i].cgroup, &got), rows[i].r, "%s", rows[i].why);
}

Test(room, nothing_is_mounted)
{
	_cleanup_tree_ struct tree t = tree_make("/", "/");
	struct memory_limit got;

	memset(&t.mounts, 0, sizeof(t.mounts));
	cr_expect_eq(limit_of(&t, "0::/a\n", &got), -EINVAL);
	(void)snprintf(t.mounts.v2.root, sizeof(t.mounts.v2.root), "/");
	(void)snprintf(t.mounts.v2.point, sizeof(t.mounts.v2.point), "%s/gone", t.dir.path);
	cr_expect_eq(limit_of(&t, "0::/a\n", &got), -ENOENT);
}

Test(room, a_process_that_is_gone)
{
	_cleanup_tree_ struct tree t = tree_make("/", "/");
	_cleanup_close_ int fd = open_dir(&t, "v1");
	struct oom_candidate c = { 0 };
	struct memory_limit got;

	cr_expect_eq(room_of_cgroup(&t.mounts, fd, &got), -ENOENT);
	cr_expect_eq(room_oom(fd, &c), -ENOENT);
}

Test(room, how_the_kernel_rates_it)
{
	_cleanup_tree_ struct tree t = tree_make("/", "/");
	_cleanup_close_ int fd = -1;
	struct oom_candidate c = { .cgroup = "/old" };

	put(&t, "process/oom_score", "671\n");
	fd = open_dir(&t, "process");
	cr_assert_eq(room_oom(fd, &c), 0);
	cr_expect_eq(c.oom_score, 671);
	cr_expect_str_empty(c.cgroup);
	put(&t, "process/cgroup", "4:memory:/job\n0::/\n");
	cr_assert_eq(room_oom(fd, &c), 0);
	cr_expect_str_eq(c.cgroup, "/job");
	put(&t, "process/oom_score", "-1\n");
	cr_expect_eq(room_oom(fd, &c), -EINVAL);
}

Test(room, the_machine)
{
	_cleanup_tree_ struct tree t = tree_make("/", "/");
	char path[PATH_MAX];
	struct memory_limit got;

	put(&t, "meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
	cr_assert_eq(room_of_machine(tmpdir_path(&t.dir, "meminfo", path), &got), 0);
	cr_expect_eq(got.of, MEMORY_LIMIT_MACHINE);
	cr_expect_eq(got.limit_bytes, 1000 * BUILD_KIB);
	cr_expect_eq(got.room_bytes, 400 * BUILD_KIB);
	cr_expect_str_empty(got.cgroup);
	put(&t, "meminfo", "MemTotal: 1000 kB\n");
	cr_expect_eq(room_of_machine(path, &got), -EINVAL);
	cr_expect_eq(room_of_machine(tmpdir_path(&t.dir, "none", path), &got), -ENOENT);
}

/* Ourselves, on whatever machine this is. */
Test(room, of_a_living_process)
{
	_cleanup_close_ int fd = pin_open(getpid());
	struct room_mounts mounts;
	struct memory_limit machine, got;
	struct oom_candidate c = { 0 };

	cr_assert_geq(fd, 0);
	cr_assert_eq(room_of_machine("/proc/meminfo", &machine), 0);
	cr_expect_gt(machine.limit_bytes, machine.room_bytes);
	cr_expect_gt(machine.room_bytes, BUILD_MIB);
	cr_assert_eq(room_find_mounts(&mounts), 0);
	if (room_of_cgroup(&mounts, fd, &got) == 0)
		cr_expect_str_neq(got.cgroup, "");
	cr_assert_eq(room_oom(fd, &c), 0);
	cr_expect_lt(c.oom_score, 2001);
}

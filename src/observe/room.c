/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

enum {
	ROOM_MOUNTINFO_MAX = 4 * 1024 * 1024,
	ROOM_CGROUP_FILE_MAX = 8192,
	ROOM_STAT_MAX = 16384, /* memory.stat has 40 to 80 lines */
	ROOM_MEMINFO_MAX = 8192,
	ROOM_NUMBER_MAX = 32,
	ROOM_NAME_MAX = MEMORY_CGROUP_MAX + 32, /* a cgroup's path and the name of a file in it */
};

/* The same in both versions of cgroups; in v1 the numbers of a cgroup alone lack those below it. */
static const struct files {
	const char *limit, *usage, *inactive, *active;
} v1 = { "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
	 "total_active_file" },
  v2 = { "memory.max", "memory.current", "inactive_file", "active_file" };

int room_find_mounts(struct room_mounts *ret)
{
	_cleanup_free_ char *bytes = NULL;
	_cleanup_close_ int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	int err;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0)
		return 0;
	err = fs_read_all(fd, ROOM_MOUNTINFO_MAX, &bytes, &len);
	if (err == 0)
		room_parse_mountinfo(bytes, len, ret);
	return err == -ENOMEM ? err : 0;
}

int room_of_machine(const char *path, struct memory_limit *ret)
{
	char bytes[ROOM_MEMINFO_MAX];
	ssize_t len = fs_read_at(AT_FDCWD, path, bytes, sizeof(bytes));
	uint64_t total, available;

	if (len < 0)
		return (int)len;
	if (room_parse_meminfo(bytes, (size_t)len, &total, &available) < 0)
		return -EINVAL;
	*ret = (struct memory_limit){ .of = MEMORY_LIMIT_MACHINE,
				      .limit_bytes = total,
				      .room_bytes = available };
	return 0;
}

static int read_cgroup(int dirfd, char ret_path[MEMORY_CGROUP_MAX], bool *ret_v2)
{
	char bytes[ROOM_CGROUP_FILE_MAX];
	ssize_t len = fs_read_at(dirfd, "cgroup", bytes, sizeof(bytes));

	return len < 0 ? (int)len : room_parse_cgroup(bytes, (size_t)len, ret_path, ret_v2);
}

static int read_number(int dirfd, const char *name, uint64_t *ret)
{
	char bytes[ROOM_NUMBER_MAX];
	ssize_t len = fs_read_at(dirfd, name, bytes, sizeof(bytes));

	return len < 0 ? (int)len : room_parse_number(bytes, (size_t)len, ret);
}

/* Reads a number of one cgroup. */
static int read_value(int top, const char *below, const char *file, uint64_t *ret)
{
	char name[ROOM_NAME_MAX];

	(void)snprintf(name, sizeof(name), ".%s/%s", below, file);
	return read_number(top, name, ret);
}

/* Pages of files, which make room when it is needed; 0 where that is not known. */
static uint64_t read_droppable(int top, const char *below, const struct files *files)
{
	char bytes[ROOM_STAT_MAX], name[ROOM_NAME_MAX];
	uint64_t inactive, active;
	ssize_t len;

	(void)snprintf(name, sizeof(name), ".%s/memory.stat", below);
	len = fs_read_at(top, name, bytes, sizeof(bytes));
	if (len < 0 || room_parse_stat(bytes, (size_t)len, files->inactive, &inactive) < 0 ||
	    room_parse_stat(bytes, (size_t)len, files->active, &active) < 0)
		return 0;
	return inactive + active;
}

/* Takes the limit of one cgroup if it leaves less room than what was found before. */
static void take_limit(int top, const char *below, const char *path, const struct files *files,
		       struct memory_limit *found)
{
	uint64_t limit, used, room;

	if (read_value(top, below, files->limit, &limit) < 0 || limit == UNKNOWN_U64 ||
	    read_value(top, below, files->usage, &used) < 0 || used == UNKNOWN_U64)
		return;
	used -= MIN(used, read_droppable(top, below, files));
	room = limit - MIN(limit, used);
	if (found->of == MEMORY_LIMIT_CGROUP && found->room_bytes <= room)
		return;
	*found = (struct memory_limit){ .of = MEMORY_LIMIT_CGROUP,
					.limit_bytes = limit,
					.room_bytes = room };
	(void)snprintf(found->cgroup, sizeof(found->cgroup), "%s", path[0] ? path : "/");
}

/* Where in its path the part begins that lies below the mount; NULL: it is not below it. One that lies
 * outside our cgroup namespace is written with "..". */
static char *below_mount(const struct room_mount *mount, char *path)
{
	size_t len = strcmp(mount->root, "/") ? strlen(mount->root) : 0;

	if (!mount->point[0] || strstr(path, "/..") || strncmp(path, mount->root, len) != 0 ||
	    (path[len] && path[len] != '/'))
		return NULL;
	if (strcmp(path + len, "/") == 0)
		path[len] = '\0';
	return path + len;
}

int room_of_cgroup(const struct room_mounts *mounts, int dirfd, struct memory_limit *ret)
{
	struct memory_limit found = { 0 };
	char path[MEMORY_CGROUP_MAX], *below, *slash;
	_cleanup_close_ int top = -1;
	bool is_v2;
	int err = read_cgroup(dirfd, path, &is_v2);

	if (err < 0)
		return err;
	below = below_mount(is_v2 ? &mounts->v2 : &mounts->v1, path);
	if (!below)
		return -EINVAL;
	top = open(is_v2 ? mounts->v2.point : mounts->v1.point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	for (;;) {
		take_limit(top, below, path, is_v2 ? &v2 : &v1, &found);
		slash = strrchr(below, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	if (found.of == MEMORY_LIMIT_UNKNOWN)
		return -ENOENT;
	*ret = found;
	return 0;
}

int room_oom(int dirfd, struct oom_candidate *ret)
{
	uint64_t score;
	bool is_v2;
	int err = read_number(dirfd, "oom_score", &score);

	if (err < 0)
		return err;
	ret->oom_score = (uint32_t)MIN(score, (uint64_t)UINT32_MAX);
	if (read_cgroup(dirfd, ret->cgroup, &is_v2) < 0)
		ret->cgroup[0] = '\0';
	return 0;
}

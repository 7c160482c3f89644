/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every test has a directory of its own below TMPDIR, which is removed when it ends; those that need to
 * give a file to somebody else skip without root.
 */
#include "observe/markers.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"
#define WHO  "reaper/1 1 host host=4711:8812345 boot=" BOOT " pidns=4026531836 class=pyspark\n"

enum {
	TAKEN_MAX = 64,
	OTHER_UID = 64321,
	HANG_S =
		60, /* what takes so long hangs; criterion 2.4 leaks where it looks after the time itself */
};

/* What the sink was given. */
struct taken {
	unsigned count;
	uint32_t log[TAKEN_MAX];
	uid_t owner[TAKEN_MAX];
	uint64_t ms[TAKEN_MAX];
	enum marker_event event[TAKEN_MAX];
	char name[TAKEN_MAX][64];
	unsigned forgotten;
	uint32_t forgot[TAKEN_MAX];
	int refuse; /* what the sink is to return; 0: takes it */
};

static char top[64];
static struct markers *reader;
static struct taken taken;
static struct markers_counts counts;

static void make_top(void)
{
	const char *tmp = getenv("TMPDIR");

	alarm(HANG_S);
	(void)snprintf(top, sizeof(top), "%s/reaper-markers-XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(top));
	cr_assert_eq(chmod(top, 0755), 0);
	cr_assert_eq(markers_new(top, &reader), 0);
	memset(&taken, 0, sizeof(taken));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void remove_top(void)
{
	markers_free(reader);
	(void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(markers, .init = make_top, .fini = remove_top);

static const char *in_top(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *p = path[turn++ % 4];

	(void)snprintf(p, sizeof(path[0]), "%s/%s", top, name);
	return p;
}

static void write_bytes(const char *name, const char *bytes, size_t len, int flags)
{
	int fd = open(in_top(name), O_WRONLY | O_CREAT | flags, 0644);

	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	cr_assert_eq(fchmod(fd, 0644), 0);
	close(fd);
}

static void write_log(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text), O_TRUNC);
}

static void append(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text), O_APPEND);
}

static int sink(void *arg, const struct marker_source *source, const struct marker *m)
{
	struct taken *t = arg;
	unsigned i = t->count % TAKEN_MAX;

	if (t->refuse)
		return t->refuse;
	t->log[i] = source->log;
	t->owner[i] = source->owner;
	t->ms[i] = m->unix_ms;
	t->event[i] = m->event;
	(void)snprintf(t->name[i], sizeof(t->name[i]), "%s", source->name);
	t->count++;
	return 0;
}

static void forget(void *arg, uint32_t log)
{
	struct taken *t = arg;

	t->forgot[t->forgotten++ % TAKEN_MAX] = log;
}

/* Reads, with what was taken before forgotten by the test, and checks that no descriptor stays open. */
static int read_logs(void)
{
	int before = dup(0), after, err;

	close(before);
	taken.count = taken.forgotten = 0;
	err = markers_read(reader, sink, forget, &taken, &counts);
	after = dup(0);
	close(after);
	cr_assert_eq(before, after, "a descriptor stays open");
	return err;
}

static void mkdir_in(const char *name, mode_t mode)
{
	cr_assert_eq(mkdir(in_top(name), 0700), 0);
	cr_assert_eq(chmod(in_top(name), mode), 0);
}

/* Skips; what the suite's .fini does is not done then. */
static void skip(const char *why)
{
	remove_top();
	cr_skip_test("%s", why);
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip("needs root");
}

Test(markers, no_directory_is_no_error)
{
	cr_assert_eq(rmdir(top), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.logs, 0);
	cr_assert(counts.whole);
	cr_assert_eq(mkdir(top, 0755), 0);
	write_log("a.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 1);
}

Test(markers, a_file_for_a_directory_is_said)
{
	cr_assert_eq(rmdir(top), 0);
	cr_assert_eq(close(open(top, O_CREAT | O_WRONLY, 0644)), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_not(counts.whole);
	cr_assert(counts.behind_anybody);
	cr_assert(strstr(counts.first_distrusted, "cannot be read"), "%s", counts.first_distrusted);
	cr_assert_eq(unlink(top), 0);
	cr_assert_eq(mkdir(top, 0755), 0);
}

Test(markers, finds_logs_here_and_one_below_in_order)
{
	mkdir_in("app", 0755);
	mkdir_in("app/deeper", 0755);
	mkdir_in("zoo.log", 0755);
	write_log("b.log", "reaper/1 2 beat n=0\n");
	write_log("a.log", "reaper/1 1 beat n=0\n");
	write_log("a.txt", "reaper/1 9 beat n=0\n");
	write_log("log", "reaper/1 9 beat n=0\n");
	write_log("app/.log", "reaper/1 3 beat n=0\n");
	write_log("app/x.log", "reaper/1 4 beat n=0\n");
	write_log("app/x.log.1", "reaper/1 9 beat n=0\n");
	write_log("app/deeper/y.log", "reaper/1 9 beat n=0\n");
	write_log("zoo.log/z.log", "reaper/1 5 sealed\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 5);
	for (unsigned i = 0; i < taken.count; i++) {
		cr_assert_eq(taken.ms[i], i + 1, "%s", taken.name[i]);
		cr_assert_eq(taken.owner[i], geteuid());
	}
	cr_assert_str_eq(taken.name[3], "app/x.log");
	cr_assert_eq(taken.event[4], MARKER_UNKNOWN, "an unknown event counts in a beat");
	cr_assert_eq(counts.logs, 5);
	cr_assert_eq(counts.unknown, 1);
	cr_assert_eq(counts.bad, 0);
	cr_assert_eq(counts.distrusted, 0, "%s", counts.first_distrusted);
	cr_assert(counts.whole);
}

Test(markers, follows_what_is_appended)
{
	write_log("a.log", WHO "reaper/1 2 beat n=1\nreaper/1 3 be");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 2, "half a line waits");
	cr_assert(counts.whole);
	cr_assert_eq(counts.bad, 0);
	append("a.log", "at n=0\nreaper/1 4 beat n=0\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 2);
	cr_assert_eq(taken.ms[0], 3);
	cr_assert_eq(taken.log[0], 1);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 0);
	cr_assert_eq(taken.forgotten, 0);
	cr_assert_eq(counts.logs, 1);
}

Test(markers, truncation_begins_a_new_log)
{
	write_log("a.log", WHO "reaper/1 2 beat n=1\n");
	cr_assert_eq(read_logs(), 0);
	write_log("a.log", "reaper/1 3 beat n=0\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(taken.forgot[0], 1);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 2);
}

Test(markers, truncation_and_growth_beyond_begins_a_new_log)
{
	write_log("a.log", "reaper/1 2 beat n=1\n");
	cr_assert_eq(read_logs(), 0);
	write_log("a.log", WHO "reaper/1 3 beat n=1\nreaper/1 4 beat n=0\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(taken.count, 3);
	cr_assert_eq(taken.log[2], 2);
}

Test(markers, a_missing_moment_forgets_and_a_new_file_begins)
{
	write_log("a.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(unlink(in_top("a.log")), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(counts.logs, 0);
	write_log("a.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 2);
}

Test(markers, replacement_begins_a_new_log_and_a_new_name_does_not)
{
	write_log("a.log", WHO "reaper/1 2 beat n=1\n");
	cr_assert_eq(read_logs(), 0);
	write_log("new", WHO "reaper/1 2 beat n=1\nreaper/1 3 beat n=0\n");
	cr_assert_eq(rename(in_top("a.log"), in_top("b.log")), 0);
	cr_assert_eq(rename(in_top("new"), in_top("a.log")), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 0, "b.log is the log that was a.log");
	cr_assert_eq(taken.count, 3);
	cr_assert_eq(taken.log[0], 2);
	append("b.log", "reaper/1 9 beat n=0\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 1);
	cr_assert_str_eq(taken.name[0], "b.log");
	cr_assert_eq(unlink(in_top("a.log")), 0);
	cr_assert_eq(rename(in_top("b.log"), in_top("a.log.1")), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 2);
}

/* Each row is the second half of a log whose first line is good; the line that follows is read. */
static const struct {
	const char *why;
	const char *bytes;
	size_t len;
	unsigned bad;
	const char *first; /* what the first fault is called */
} noise[] = {
	{ "an empty line", "\n", 1, 1, "a.log:2: expected reaper/1" },
	{ "zeros", "\0\0\0\0\n", 5, 1, "a.log:2: expected reaper/1" },
	{ "a zero in a record", "reaper/1 1 beat n=0\0 x=1\n", 25, 1,
	  "a.log:2: expected printable ASCII" },
	{ "a terminal's escape", "reaper/1 1 beat n=0\033[2J\n", 24, 1,
	  "a.log:2: expected printable ASCII" },
	{ "two bad lines", "x\ny\n", 4, 2, "a.log:2: expected reaper/1" },
	{ "another process's record", "reaper/1 1 host host=4712:1 boot=" BOOT " pidns=1 class=x\n",
	  86, 1, "a.log:2: a second process writes this log" },
	{ "the same process's record again", WHO, sizeof(WHO) - 1, 0, "" },
};

Test(markers, noise_is_counted_and_skipped)
{
	for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
		unsigned good = noise[i].len > 50; /* an identity record is given on */

		write_log("a.log", WHO);
		write_bytes("a.log", noise[i].bytes, noise[i].len, O_APPEND);
		append("a.log", "reaper/1 7 beat n=0\n");
		cr_assert_eq(read_logs(), 0);
		cr_assert_eq(taken.count, 2 + good, "%s: %u", noise[i].why, taken.count);
		cr_assert_eq(taken.ms[taken.count - 1], 7, "%s", noise[i].why);
		cr_assert_eq(counts.bad, noise[i].bad, "%s: %u", noise[i].why, counts.bad);
		cr_assert_str_eq(counts.first_bad, noise[i].first, "%s", noise[i].why);
		cr_assert(counts.whole);
	}
}

Test(markers, bad_lines_stay_counted_while_the_log_is_there)
{
	write_log("b.log", "x\n");
	write_log("a.log", WHO "\ny\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.bad, 3);
	cr_assert_str_eq(counts.first_bad, "a.log:2: expected reaper/1");
	cr_assert_eq(unlink(in_top("a.log")), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.bad, 1);
	cr_assert_str_eq(counts.first_bad, "b.log:1: expected reaper/1");
}

/* Lines whose length with the newline lies around the limit and around the size of a block. */
Test(markers, long_lines_are_skipped_wherever_a_block_ends)
{
	static const size_t lengths[] = { 511, 512, 513, 1024, 65535, 65536, 65537, 200000 };
	static char line[200001];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t len = lengths[i],
		       head = (size_t)snprintf(line, sizeof(line), "reaper/1 5 beat n=0 x=");

		memset(line + head, 'y', len - head);
		line[len - 1] = '\n';
		write_log("a.log", WHO);
		write_bytes("a.log", line, len, O_APPEND);
		append("a.log", "reaper/1 7 beat n=0\nx\n");
		cr_assert_eq(read_logs(), 0);
		cr_assert_eq(taken.count, len <= MARKER_LINE_MAX ? 3 : 2, "%zu", len);
		cr_assert_eq(taken.ms[taken.count - 1], 7, "%zu", len);
		cr_assert_eq(counts.bad, len <= MARKER_LINE_MAX ? 1 : 2, "%zu", len);
		cr_assert(strstr(counts.first_bad, len <= MARKER_LINE_MAX
							   ? ":4: expected reaper/1"
							   : ":2: expected at most 512"),
			  "%zu: %s", len, counts.first_bad);
	}
}

Test(markers, a_line_that_never_ends_is_counted_once)
{
	static char half[700];

	memset(half, 'y', sizeof(half));
	write_bytes("a.log", half, sizeof(half), O_TRUNC);
	cr_assert_eq(read_logs(), 0);
	write_bytes("a.log", half, sizeof(half), O_APPEND);
	cr_assert_eq(read_logs(), 0);
	append("a.log", "\nreaper/1 7 beat n=0\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.bad, 1);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.log[0], 1);
}

Test(markers, a_sparse_giant_is_read_piece_by_piece)
{
	write_log("a.log", WHO);
	cr_assert_eq(truncate(in_top("a.log"), (off_t)10 * 1024 * 1024 * 1024), 0);
	write_log("b.log", "reaper/1 7 beat n=0\n");
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(read_logs(), 0);
		cr_assert_not(counts.whole);
		cr_assert_not(counts.behind_anybody);
		cr_assert_eq(counts.behind_count, 1);
		cr_assert_eq(counts.behind[0], geteuid());
		cr_assert_eq(counts.bad, 1);
		cr_assert_eq(taken.count, i ? 0 : 2);
	}
}

Test(markers, takes_16_mib_of_one_log_in_one_call)
{
	static char block[37 * 4096];
	size_t written = 0;

	for (size_t i = 0; i < sizeof(block); i += 37)
		memcpy(block + i, "reaper/1 1763640001001 end task=1234\n", 37);
	write_log("a.log", "");
	for (; written <= MARKER_UNREAD_MAX + sizeof(block); written += sizeof(block))
		write_bytes("a.log", block, sizeof(block), O_APPEND);
	cr_assert_eq(read_logs(), 0);
	cr_assert_not(counts.whole);
	cr_assert_leq(taken.count, MARKER_UNREAD_MAX / 37);
	cr_assert_geq(taken.count, MARKER_UNREAD_MAX / 37 - 1);
	written -= 37 * (size_t)taken.count;
	cr_assert_eq(read_logs(), 0);
	cr_assert(counts.whole);
	cr_assert_eq(taken.count, written / 37);
	cr_assert_eq(counts.bad, 0);
}

Test(markers, what_the_sink_refuses_comes_again)
{
	write_log("a.log", WHO "reaper/1 2 beat n=1\n");
	taken.refuse = -ENOMEM;
	cr_assert_eq(read_logs(), -ENOMEM);
	taken.refuse = 0;
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 2);
	cr_assert_eq(taken.forgotten, 0);
}

static void make_fifo(void)
{
	cr_assert_eq(mkfifo(in_top("a.log"), 0644), 0);
}

static void make_link(void)
{
	write_log("target", WHO);
	cr_assert_eq(symlink("target", in_top("a.log")), 0);
}

static void make_dangling(void)
{
	cr_assert_eq(symlink("/nowhere", in_top("a.log")), 0);
}

static void make_hard_link(void)
{
	write_log("target", WHO);
	cr_assert_eq(link(in_top("target"), in_top("a.log")), 0);
}

static void make_socket(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%.40s/a.log", top);
	cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
}

static void make_group_writable(void)
{
	write_log("a.log", WHO);
	cr_assert_eq(chmod(in_top("a.log"), 0664), 0);
}

static void make_writable(void)
{
	write_log("a.log", WHO);
	cr_assert_eq(chmod(in_top("a.log"), 0646), 0);
}

static void make_in_open_top(void)
{
	write_log("a.log", WHO);
	cr_assert_eq(chmod(top, 01777), 0);
}

static void make_in_open_place(void)
{
	mkdir_in("sub", 0775);
	write_log("sub/a.log", WHO);
}

static void make_directory_below(void)
{
	mkdir_in("sub", 0755);
	mkdir_in("sub/a.log", 0755);
}

static const struct {
	const char *why;
	void (*make)(void);
	const char *said;
} strangers[] = {
	{ "a FIFO without a writer", make_fifo, "a.log: is not a regular file" },
	{ "a symbolic link", make_link, "a.log: is not a regular file" },
	{ "a link to nothing", make_dangling, "a.log: is not a regular file" },
	{ "a hard link", make_hard_link, "a.log: does not have exactly one link" },
	{ "a socket", make_socket, "a.log: is not a regular file" },
	{ "a file that its group may write", make_group_writable,
	  "a.log: is writable by its group" },
	{ "a file that all may write", make_writable, "a.log: is writable by others" },
	{ "a file right in an open marker_dir", make_in_open_top,
	  "a.log: lies in a directory that others may write to" },
	{ "a subdirectory that its group may write", make_in_open_place,
	  "sub: is writable by its group" },
	{ "a directory for a log", make_directory_below, "sub/a.log: is not a regular file" },
};

Test(markers, strangers_are_not_read)
{
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		strangers[i].make();
		cr_assert_eq(read_logs(), 0);
		cr_assert_eq(taken.count, 0, "%s", strangers[i].why);
		cr_assert_eq(counts.distrusted, 1, "%s: %u", strangers[i].why, counts.distrusted);
		cr_assert_str_eq(counts.first_distrusted, strangers[i].said, "%s: %s",
				 strangers[i].why, counts.first_distrusted);
		cr_assert(counts.whole, "%s", strangers[i].why);
		remove_top();
		make_top();
	}
}

Test(markers, a_log_that_others_may_write_to_later_is_forgotten)
{
	write_log("a.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(chmod(in_top("a.log"), 0666), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(counts.logs, 0);
}

Test(markers, a_device_is_never_opened)
{
	need_root();
	if (mknod(in_top("a.log"), S_IFCHR | 0644, 10 << 8 | 130) < 0)
		skip("may not make devices here");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.distrusted, 1);
	cr_assert_eq(taken.count, 0);
}

Test(markers, an_open_directory_holds_closed_ones)
{
	cr_assert_eq(chmod(top, 01777), 0);
	mkdir_in("sub", 0755);
	write_log("sub/a.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(counts.distrusted, 0);
}

Test(markers, the_owner_of_a_log_is_told)
{
	need_root();
	mkdir_in("theirs", 0755);
	write_log("theirs/a.log", WHO);
	cr_assert_eq(chown(in_top("theirs/a.log"), OTHER_UID, OTHER_UID), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 1, "root's directory may hold anybody's log");
	cr_assert_eq(taken.owner[0], OTHER_UID);
	cr_assert_eq(chown(in_top("theirs"), OTHER_UID, OTHER_UID), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.logs, 1);
	cr_assert_eq(chown(in_top("theirs/a.log"), 0, 0), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.logs, 0, "root's file in somebody's directory was put there by them");
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_str_eq(counts.first_distrusted,
			 "theirs/a.log: lies in a directory that others may write to");
	cr_assert_eq(chown(in_top("theirs"), OTHER_UID + 1, OTHER_UID), 0);
	cr_assert_eq(chown(in_top("theirs/a.log"), OTHER_UID, 0), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.logs, 0);
}

Test(markers, another_owner_makes_another_log)
{
	need_root();
	write_log("a.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(chown(in_top("a.log"), OTHER_UID, 0), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 1);
	cr_assert_eq(taken.count, 1);
	cr_assert_eq(taken.owner[0], OTHER_UID);
}

Test(markers, those_who_flood_wait_for_those_who_do_not)
{
	char name[32];

	need_root();
	mkdir_in("a", 0755);
	for (unsigned i = 0; i < MARKER_LOGS_MAX + 10; i++) {
		(void)snprintf(name, sizeof(name), "a/%u.log", i);
		write_log(name, "");
		cr_assert_eq(chown(in_top(name), OTHER_UID, 0), 0);
	}
	cr_assert_eq(chown(in_top("a"), OTHER_UID, 0), 0);
	mkdir_in("b", 0755);
	write_log("b/b.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(counts.logs, MARKER_LOGS_MAX);
	cr_assert_eq(taken.count, 1, "the one log of another owner is read first");
	cr_assert_not(counts.whole);
	cr_assert_eq(counts.behind_count, 1);
	cr_assert_eq(counts.behind[0], OTHER_UID);
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "a/%u.log", i);
		cr_assert_eq(unlink(in_top(name)), 0);
	}
	cr_assert_eq(read_logs(), 0);
	cr_assert(counts.whole);
	cr_assert_eq(counts.logs, MARKER_LOGS_MAX - 9);
}

Test(markers, without_descriptors_nothing_is_forgotten)
{
	struct rlimit old, none;
	int lowest = dup(0);

	close(lowest);
	mkdir_in("sub", 0755);
	write_log("sub/a.log", WHO);
	write_log("b.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (int spare = 0; spare < 4; spare++) {
		none = (struct rlimit){ (rlim_t)(lowest + spare), old.rlim_max };
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
		taken.forgotten = 0;
		cr_assert_eq(markers_read(reader, sink, forget, &taken, &counts), 0);
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
		cr_assert_eq(taken.forgotten, 0, "%d", spare);
		cr_assert(spare > 2 || !counts.whole, "%d", spare);
	}
	append("sub/a.log", "reaper/1 2 beat n=1\n");
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 1);
}

/* Writes a log as badly as it can be done, for a bounded number of rounds, and ends. */
static void write_badly(void)
{
	for (unsigned i = 0; i < 4000; i++) {
		int fd = open(in_top("a.log"), O_WRONLY | O_CREAT | (i % 3 ? O_APPEND : O_TRUNC),
			      0644);

		(void)!write(fd, WHO, sizeof(WHO) - 1);
		(void)!write(fd, "reaper/1 2 be", 13);
		(void)!write(fd, "at n=1\nx\n", 9);
		if (i % 7 == 0)
			(void)!ftruncate(fd, 40);
		close(fd);
		if (i % 5 == 0)
			unlink(in_top("a.log"));
		if (i % 11 == 0)
			rename(in_top("a.log"), in_top("b.log"));
	}
	_exit(0);
}

Test(markers, nothing_that_a_writer_does_meanwhile_is_an_error)
{
	unsigned rounds = 0, records = 0;
	pid_t child = fork();

	cr_assert_geq(child, 0);
	if (!child)
		write_badly();
	do {
		cr_assert_eq(read_logs(), 0);
		for (unsigned i = 0; i < MIN(taken.count, (unsigned)TAKEN_MAX); i++)
			cr_assert(taken.event[i] == MARKER_HOST
					  ? taken.ms[i] == 1
					  : taken.event[i] == MARKER_BEAT && taken.ms[i] == 2);
		records += taken.count;
		rounds++;
	} while (waitpid(child, NULL, WNOHANG) == 0);
	cr_assert_gt(rounds, 10);
	cr_assert_gt(records, 10);
}

Test(markers, removes_the_very_file)
{
	mkdir_in("sub", 0755);
	write_log("a.log", WHO);
	write_log("sub/b.log", WHO);
	write_log("sub/c.log", WHO);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(markers_remove(reader, 1), 0);
	cr_assert_neq(access(in_top("a.log"), F_OK), 0);
	cr_assert_eq(markers_remove(reader, 1), -ENOENT);
	cr_assert_eq(markers_remove(reader, 2), 0);
	cr_assert_neq(access(in_top("sub/b.log"), F_OK), 0);
	write_log("new", "x\n" WHO);
	cr_assert_eq(rename(in_top("new"), in_top("sub/c.log")), 0);
	cr_assert_eq(markers_remove(reader, 3), -ESTALE, "it was replaced");
	cr_assert_eq(access(in_top("sub/c.log"), F_OK), 0);
	cr_assert_eq(markers_remove(reader, 99), -ENOENT);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.forgotten, 3);
	cr_assert_eq(markers_remove(reader, 4), 0);
	cr_assert_eq(rename(in_top("sub"), in_top("bus")), 0);
	cr_assert_eq(markers_remove(reader, 4), -ENOENT);
}

static void read_text(const char *name, char *ret, size_t size)
{
	int fd = open(in_top(name), O_RDONLY);
	ssize_t n = read(fd, ret, size - 1);

	cr_assert_geq(n, 0, "%s", name);
	ret[n] = '\0';
	close(fd);
}

static int retire(pid_t pid)
{
	return markers_retire(top, geteuid(), BOOT, 4026531836, 1763640009003,
			      (struct ident){ pid, 8812401 });
}

static const char *place(const char *name)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "operator-%u%s", (unsigned)geteuid(), name);
	return path;
}

#define OPERATOR                                                                  \
	"reaper/1 1763640009003 operator uid=%u boot=" BOOT " pidns=4026531836\n" \
	"reaper/1 1763640009003 "

Test(markers, an_operator_retires)
{
	char text[2048], want[2048];
	mode_t mask = umask(0077);
	struct stat st;

	cr_assert_eq(retire(4802), 0);
	cr_assert_eq(retire(4803), 0);
	umask(mask);
	read_text(place("/retire.log"), text, sizeof(text));
	(void)snprintf(want, sizeof(want),
		       OPERATOR "retired worker=4802:8812401\n" OPERATOR
				"retired worker=4803:8812401\n",
		       (unsigned)geteuid(), (unsigned)geteuid());
	cr_assert_str_eq(text, want);
	cr_assert_eq(stat(in_top(place("")), &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0755);
	cr_assert_eq(stat(in_top(place("/retire.log")), &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0644);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 4);
	cr_assert_eq(taken.event[2], MARKER_OPERATOR);
	cr_assert_eq(counts.bad, 0, "%s", counts.first_bad);
}

Test(markers, a_record_that_was_cut_does_not_swallow_the_next)
{
	cr_assert_eq(retire(4802), 0);
	append(place("/retire.log"), "reaper/1 17636");
	cr_assert_eq(retire(4803), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 4);
	cr_assert_eq(counts.bad, 1);
}

Test(markers, retire_makes_marker_dir)
{
	cr_assert_eq(rmdir(top), 0);
	cr_assert_eq(retire(4802), 0);
	cr_assert_eq(read_logs(), 0);
	cr_assert_eq(taken.count, 2);
}

Test(markers, retire_writes_nothing_through_links)
{
	struct stat st;

	write_log("precious", "x");
	mkdir_in("real", 0755);
	cr_assert_eq(symlink("real", in_top(place(""))), 0);
	cr_assert_lt(retire(4802), 0);
	cr_assert_eq(unlink(in_top(place(""))), 0);
	mkdir_in(place(""), 0755);
	cr_assert_eq(symlink("../precious", in_top(place("/retire.log"))), 0);
	cr_assert_eq(retire(4802), -ELOOP);
	cr_assert_eq(unlink(in_top(place("/retire.log"))), 0);
	cr_assert_eq(link(in_top("precious"), in_top(place("/retire.log"))), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(unlink(in_top(place("/retire.log"))), 0);
	cr_assert_eq(mkfifo(in_top(place("/retire.log")), 0644), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(stat(in_top("precious"), &st), 0);
	cr_assert_eq(st.st_size, 1);
}

Test(markers, retire_refuses_what_is_open_to_others)
{
	mkdir_in(place(""), 0777);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(chmod(in_top(place("")), 0755), 0);
	write_log(place("/retire.log"), "");
	cr_assert_eq(chmod(in_top(place("/retire.log")), 0666), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(chmod(in_top(place("/retire.log")), 0644), 0);
	cr_assert_eq(retire(4802), 0);
}

Test(markers, retire_refuses_what_is_somebody_elses)
{
	need_root();
	mkdir_in(place(""), 0755);
	cr_assert_eq(chown(in_top(place("")), OTHER_UID, 0), 0);
	cr_assert_eq(retire(4802), -EPERM);
	cr_assert_eq(chown(in_top(place("")), 0, 0), 0);
	write_log(place("/retire.log"), "");
	cr_assert_eq(chown(in_top(place("/retire.log")), OTHER_UID, 0), 0);
	cr_assert_eq(retire(4802), -EPERM);
}

Test(markers, retire_refuses_what_no_reader_would_take)
{
	cr_assert_eq(retire(0), -EINVAL);
	cr_assert_eq(markers_retire(top, 0, "no boot", 1, 1, (struct ident){ 1, 1 }), -EINVAL);
	cr_assert_neq(access(in_top(place("")), F_OK), 0, "nothing was made");
}

Test(markers, nobody_may_be_freed)
{
	markers_free(NULL);
}

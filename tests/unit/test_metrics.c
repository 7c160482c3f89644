/* SPDX-License-Identifier: Apache-2.0 */
#include "report/metrics.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "build.h"
#include "golden.h"
#include "tmpdir.h"

static const struct metrics counted = {
	.sweeps = 7,
	.outcomes = { 1, 2, 3, 4, 5, 6, 8 },
	.freed_bytes = 1127 * BUILD_MIB,
	.breaker_opened = 9,
	.errors = 10,
};

Test(metrics, what_the_collector_reads)
{
	_cleanup_(audit_done) struct audit a = build_population();
	_cleanup_(buf_done) struct buf out = { 0 };

	a.hidden_trees = 2;
	a.bad_records = 3;
	metrics_format(&counted, &a, &out);
	golden_expect("metrics.prom", &out);
}

static size_t lines_of(const struct metrics *m, const struct audit *a)
{
	_cleanup_(buf_done) struct buf out = { 0 };
	size_t lines = 0;

	metrics_format(m, a, &out);
	for (size_t i = 0; i < out.len; i++)
		lines += out.bytes[i] == '\n';
	return lines;
}

/* A series that comes and goes cannot be alerted on: the same lines, whatever there is to count. */
Test(metrics, every_series_is_always_there)
{
	_cleanup_(audit_done) struct audit full = build_population(), empty = build_audit();

	cr_expect_eq(lines_of(&counted, &full), lines_of(&(struct metrics){ 0 }, &empty));
}

/* HELP and TYPE once, before the first sample; counters end in _total, and nothing else does. */
Test(metrics, follows_the_text_format)
{
	_cleanup_(audit_done) struct audit a = build_population();
	_cleanup_(buf_done) struct buf out = { 0 };
	char name[64] = "", type[16] = "", *rest;

	metrics_format(&counted, &a, &out);
	rest = out.bytes;
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		if (!strncmp(line, "# HELP ", 7)) {
			cr_assert_eq(sscanf(line, "# HELP %63s", name), 1);
			continue;
		}
		if (!strncmp(line, "# TYPE ", 7)) {
			char typed[64];

			cr_assert_eq(sscanf(line, "# TYPE %63s %15s", typed, type), 2);
			cr_expect_str_eq(typed, name);
			cr_expect_eq(!strcmp(type, "counter"),
				     !strcmp(name + strlen(name) - 6, "_total"), "%s", name);
			continue;
		}
		cr_expect_eq(strncmp(line, name, strlen(name)), 0, "%s", line);
		cr_expect_eq(strspn(line + strlen(name), " {"), 1, "%s", line);
	}
}

Test(metrics, the_gauges_need_an_audit)
{
	_cleanup_(buf_done) struct buf out = { 0 };

	metrics_format(&counted, NULL, &out);
	cr_expect_not_null(strstr(out.bytes, "reaper_sweeps_total 7\n"));
	cr_expect_null(strstr(out.bytes, "gauge"));
}

Test(metrics, counts_actions)
{
	struct metrics m = { 0 };
	struct action_record action = { .outcome = OUTCOME_KILLED, .freed_bytes = 100 };

	metrics_count(&m, &action);
	action.freed_bytes = UNKNOWN_U64;
	metrics_count(&m, &action);
	action.outcome = OUTCOME_HELD;
	metrics_count(&m, &action);
	cr_expect_eq(m.outcomes[OUTCOME_KILLED], 2);
	cr_expect_eq(m.outcomes[OUTCOME_HELD], 1);
	cr_expect_eq(m.outcomes[OUTCOME_EXITED], 0);
	cr_expect_eq(m.freed_bytes, 100, "what is unknown adds nothing");
}

static size_t files_in(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	cr_assert_not_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

Test(metrics, writes_the_file_in_one_piece)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX];
	struct stat before, after;

	tmpdir_write(&d, "reaper.prom", "old", 3, 0600);
	tmpdir_path(&d, "reaper.prom", path);
	cr_assert_eq(stat(path, &before), 0);
	cr_assert_eq(metrics_write(path, &counted, NULL), 0);
	cr_assert_eq(stat(path, &after), 0);
	cr_expect_neq(before.st_ino, after.st_ino, "another file was renamed over it");
	cr_expect_eq(after.st_mode & 07777, 0640);
	cr_expect_gt(after.st_size, 3);
	cr_expect_eq(files_in(d.path), 1, "nothing else is left");
}

Test(metrics, says_why_it_cannot_write)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	char path[PATH_MAX];

	cr_expect_eq(metrics_write(tmpdir_path(&d, "gone/reaper.prom", path), &counted, NULL),
		     -ENOENT);
	cr_assert_eq(mkdir(tmpdir_path(&d, "reaper.prom", path), 0700), 0);
	cr_expect_eq(metrics_write(path, &counted, NULL), -EISDIR);
	cr_expect_eq(files_in(d.path), 1, "nothing else is left");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What markers add to the facts of a worker, and who is above it.
 */
#include "scene.h"

#define AGO(ms) (BUILD_WALL_MS - (uint64_t)(ms))
#define TRUSTED M(ages_trusted, true)

static const struct {
	const char *why;
	struct change marks[8];
	struct change want[6];
} rows[] = {
	{ "no markers", {}, {} },
	{ "a log is there", { M(host_log, true) }, { F(host_log, true) } },
	{ "it was read to its end", { M(logs_whole, true) }, { F(logs_whole, true) } },
	{ "tasks", { M(bound, 3), M(open, 2) }, { F(tasks_bound, 3), F(tasks_open, 2) } },
	{ "pooled", { M(pooled, true) }, { F(pooled, true) } },
	{ "leased", { M(leased, true) }, { F(leased, true) } },
	{ "a late byte", { M(late_byte, TRI_NO) }, { F(late_byte, TRI_NO) } },
	{ "given up by its host",
	  { TRUSTED, M(retired, true), M(retired_ms, AGO(7000)) },
	  { F(retired, true), F(retired_age_ms, 7000) } },
	{ "given up by the operator",
	  { TRUSTED, M(retired_by_operator, true), M(operator_ms, AGO(8000)) },
	  { F(retired_by_operator, true), F(retired_age_ms, 8000) } },
	{ "given up by both: the host's time counts",
	  { TRUSTED, M(retired, true), M(retired_ms, AGO(7000)), M(retired_by_operator, true),
	    M(operator_ms, AGO(8000)) },
	  { F(retired, true), F(retired_by_operator, true), F(retired_age_ms, 7000) } },
	{ "the clock was stepped: no age counts",
	  { M(retired, true), M(retired_ms, AGO(7000)), M(last_end_ms, AGO(7000)) },
	  { F(retired, true) } },
	{ "a record from the future has no age",
	  { TRUSTED, M(retired, true), M(retired_ms, BUILD_WALL_MS + 5000) },
	  { F(retired, true) } },
	{ "a record of this very moment",
	  { TRUSTED, M(retired, true), M(retired_ms, BUILD_WALL_MS) },
	  { F(retired, true), F(retired_age_ms, 0) } },
	{ "no time was written", { TRUSTED, M(retired, true) }, { F(retired, true) } },
	{ "the last end",
	  { TRUSTED, M(bound, 1), M(last_end_ms, AGO(5000)) },
	  { F(tasks_bound, 1), F(last_end_age_ms, 5000), F(ended_age_ms, 5000) } },
	{ "the word on the pool came after the last end",
	  { TRUSTED, M(bound, 1), M(last_end_ms, AGO(5000)),
	    M(unpooled[UNPOOLED_REPORTED], TRI_YES), M(unpooled_ms[UNPOOLED_REPORTED], AGO(3000)) },
	  { F(tasks_bound, 1), F(last_end_age_ms, 5000), F(ended_age_ms, 3000),
	    F(unpooled[UNPOOLED_REPORTED], TRI_YES) } },
	{ "it came before: no later than the last end",
	  { TRUSTED, M(bound, 1), M(last_end_ms, AGO(5000)),
	    M(unpooled[UNPOOLED_DECLARED], TRI_YES), M(unpooled_ms[UNPOOLED_DECLARED], AGO(9000)) },
	  { F(tasks_bound, 1), F(last_end_age_ms, 5000), F(ended_age_ms, 5000),
	    F(unpooled[UNPOOLED_DECLARED], TRI_YES) } },
	{ "a word without an end: nobody knows when the task ended",
	  { TRUSTED, M(bound, 1), M(unpooled[UNPOOLED_DECLARED], TRI_YES),
	    M(unpooled_ms[UNPOOLED_DECLARED], AGO(9000)) },
	  { F(tasks_bound, 1), F(ended_age_ms, 9000), F(unpooled[UNPOOLED_DECLARED], TRI_YES) } },
	{ "of two words the earlier one",
	  { TRUSTED, M(unpooled[UNPOOLED_REPORTED], TRI_YES),
	    M(unpooled_ms[UNPOOLED_REPORTED], AGO(3000)), M(unpooled[UNPOOLED_HOST_IDLE], TRI_YES),
	    M(unpooled_ms[UNPOOLED_HOST_IDLE], AGO(4000)) },
	  { F(ended_age_ms, 4000), F(unpooled[UNPOOLED_REPORTED], TRI_YES),
	    F(unpooled[UNPOOLED_HOST_IDLE], TRI_YES) } },
	{ "the earlier one first",
	  { TRUSTED, M(unpooled[UNPOOLED_REPORTED], TRI_YES),
	    M(unpooled_ms[UNPOOLED_REPORTED], AGO(4000)), M(unpooled[UNPOOLED_HOST_IDLE], TRI_YES),
	    M(unpooled_ms[UNPOOLED_HOST_IDLE], AGO(3000)) },
	  { F(ended_age_ms, 4000), F(unpooled[UNPOOLED_REPORTED], TRI_YES),
	    F(unpooled[UNPOOLED_HOST_IDLE], TRI_YES) } },
	{ "a word that does not hold has no time",
	  { TRUSTED, M(unpooled[UNPOOLED_REPORTED], TRI_YES),
	    M(unpooled_ms[UNPOOLED_REPORTED], AGO(3000)), M(unpooled[UNPOOLED_HOST_IDLE], TRI_NO),
	    M(unpooled_ms[UNPOOLED_HOST_IDLE], AGO(4000)) },
	  { F(ended_age_ms, 3000), F(unpooled[UNPOOLED_REPORTED], TRI_YES),
	    F(unpooled[UNPOOLED_HOST_IDLE], TRI_NO) } },
	{ "a promise to reuse nobody dates nothing where no task was bound",
	  { TRUSTED, M(unpooled[UNPOOLED_DECLARED], TRI_YES),
	    M(unpooled_ms[UNPOOLED_DECLARED], AGO(9000)), M(unpooled[UNPOOLED_HOST_IDLE], TRI_YES),
	    M(unpooled_ms[UNPOOLED_HOST_IDLE], AGO(4000)) },
	  { F(ended_age_ms, 4000), F(unpooled[UNPOOLED_DECLARED], TRI_YES),
	    F(unpooled[UNPOOLED_HOST_IDLE], TRI_YES) } },
};

Test(correlate_marks, markers)
{
	struct scene s;
	struct facts plain;

	scene_make(&s);
	plain = *scene_facts(&s, false);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct facts want = plain;
		const char *differs;

		s.worker->marks = (struct marker_facts){ 0 };
		change_list(&s.worker->marks, rows[i].marks, ARRAY_SIZE(rows[i].marks));
		change_list(&want, rows[i].want, ARRAY_SIZE(rows[i].want));
		differs = facts_differ(scene_facts(&s, false), &want);
		cr_expect_null(differs, "%s: %s is not as it should be", rows[i].why,
			       differs ? differs : "");
	}
	scene_done(&s);
}

enum {
	PARENTS_MAX = 6,
	NO_PARENT = -1,
};

/* Parents from the worker up; the census saw them, and their names. */
static const struct {
	const char *why;
	enum tri want;
	struct {
		pid_t pid;
		const char *comm;
	} up[PARENTS_MAX];
	pid_t last_ppid; /* of the last one */
	pid_t named;     /* by --host */
	int class_index;
} ways[] = {
	{ "its JVM is there",
	  TRI_NO,
	  { { 4790, "python3" }, { 4711, "java" }, { 1, "init" } },
	  0,
	  0,
	  0 },
	{ "its JVM is pid 1 of a container",
	  TRI_NO,
	  { { 4790, "python3" }, { 1, "java" } },
	  0,
	  0,
	  0 },
	{ "an orphan below init", TRI_YES, { { 1, "systemd" } }, 0, 0, 0 },
	{ "an orphan below a subreaper",
	  TRI_YES,
	  { { 900, "systemd" }, { 1, "systemd" } },
	  0,
	  0,
	  0 },
	{ "a daemon without a JVM", TRI_YES, { { 4790, "python3" }, { 1, "init" } }, 0, 0, 0 },
	{ "a JVM above, but of a class that has other hosts",
	  TRI_YES,
	  { { 4790, "python3" }, { 4711, "java" }, { 1, "init" } },
	  0,
	  0,
	  1 },
	{ "a process that --host names, whatever it is called",
	  TRI_NO,
	  { { 4790, "python3" }, { 4711, "mvn" }, { 1, "init" } },
	  0,
	  4711,
	  0 },
	{ "of no class any host counts",
	  TRI_NO,
	  { { 4790, "python3" }, { 4711, "java" }, { 1, "init" } },
	  0,
	  0,
	  -1 },
	{ "a parent that was not seen", TRI_UNKNOWN, { { 4790, "python3" } }, 4711, 0, 0 },
	{ "its own parent was not seen", TRI_UNKNOWN, { { 0, NULL } }, 4790, 0, 0 },
	{ "the way up ends at another pid namespace's edge",
	  TRI_UNKNOWN,
	  { { 4790, "python3" } },
	  0,
	  0,
	  0 },
	{ "a loop in a torn census",
	  TRI_UNKNOWN,
	  { { 4790, "python3" }, { 4788, "bash" } },
	  4790,
	  0,
	  0 },
};

Test(correlate_marks, host_gone)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct tree_input in = { .named_hosts = &ways[i].named,
					 .named_count = ways[i].named != 0 };
		struct audit a = build_audit();
		struct subject *s = build_worker(&a, -1, SCENE_WORKER);
		struct proc *last = scene_proc(&a, SCENE_WORKER, 0, "java");

		strcpy(a.classes.class[1].host_comm.choice[0].word[0], "other");
		s->class_index = ways[i].class_index;
		for (size_t k = 0; k < PARENTS_MAX && ways[i].up[k].pid; k++) {
			last->ppid = ways[i].up[k].pid;
			last = scene_proc(&a, ways[i].up[k].pid, 0, ways[i].up[k].comm);
		}
		last->ppid = ways[i].last_ppid;
		snapshot_sort(&a.snapshot);
		cr_expect_eq(correlate_host_gone(&a, &in, s), ways[i].want,
			     "%s (a worker called java is no host of itself): %d", ways[i].why,
			     correlate_host_gone(&a, &in, s));
		audit_done(&a);
	}
}

Test(correlate_marks, host_gone_of_whom_the_census_missed)
{
	struct tree_input in = { 0 };
	struct audit a = build_audit();
	struct subject *s = build_worker(&a, -1, SCENE_WORKER);

	cr_expect_eq(correlate_host_gone(&a, &in, s), TRI_UNKNOWN);
	audit_done(&a);
}

static bool is_above(const struct audit *a, pid_t pid)
{
	return snapshot_find(&a->snapshot, pid)->above;
}

Test(correlate_marks, ancestors_are_marked)
{
	struct scene s;
	struct subject *helper;

	scene_make(&s);
	scene_proc(&s.audit, 9100, SCENE_REAPER, "child");
	scene_proc(&s.audit, 9200, 9201, "loop");
	scene_proc(&s.audit, 9201, 9200, "loop");
	scene_proc(&s.audit, 9300, 9301, "other");
	scene_proc(&s.audit, 9301, 1, "other");
	scene_proc(&s.audit, 9302, 9301, "other");
	scene_proc(&s.audit, 9400, 9401, "python3")->argv_unread = true;
	scene_proc(&s.audit, 9401, 9402, "bash");
	scene_proc(&s.audit, 9402, 1, "python3");
	scene_proc(&s.audit, 9403, 9402, "bash");
	helper = build_helper(&s.audit, 9302);
	cr_assert_eq(helper->role, ROLE_HELPER);
	build_worker(&s.audit, 0, 9200);
	build_worker(&s.audit, 0, 9999);
	snapshot_sort(&s.audit.snapshot);
	correlate_mark_ancestors(&s.audit, 9100);
	cr_expect(is_above(&s.audit, 1), "of reaper and of the worker");
	cr_expect(is_above(&s.audit, SCENE_REAPER), "of the reaper of this test");
	cr_expect(is_above(&s.audit, SCENE_HOST));
	cr_expect(is_above(&s.audit, SCENE_DAEMON));
	cr_expect_not(is_above(&s.audit, SCENE_WORKER), "a worker is not above itself");
	cr_expect_not(is_above(&s.audit, 9100), "nor is reaper");
	cr_expect_not(is_above(&s.audit, 9301), "of nobody but a helper");
	cr_expect(is_above(&s.audit, 9401), "of what may be a daemon");
	cr_expect(is_above(&s.audit, 9402), "of what may be a daemon");
	cr_expect_not(is_above(&s.audit, 9400), "it is not above itself");
	cr_expect_not(is_above(&s.audit, 9403));
	cr_expect(is_above(&s.audit, 9200), "a loop ends");
	cr_expect(is_above(&s.audit, 9201), "a loop ends");
	scene_done(&s);
}

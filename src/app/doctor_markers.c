/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "app/doctor_check.h"
#include "report/words.h"

enum {
	PIDS_SHOWN = 8,
	PIDS_TEXT_MAX = 128,
	HOSTS_SHOWN = 16,
	NAME_SHOWN_MAX = 256,     /* of a log: what is wrong with it stands behind */
	BEAT_LATE_MS = 30 * 1000, /* beats come every 2 to 10 seconds (reaper-markers(5)) */
};

/* What hosts load, below the directory where make install puts it. */
enum host_file {
	SPARK_JAR,
	PYJAVA_JAR,
	MARKERS_JAR,
	MARKERS_MODULE,
	PYSPARK_MODULE,
	PYJAVA_MODULE,
	HOST_FILE_COUNT,
};

static const char *const host_files[] = {
	[SPARK_JAR] = "java/reaper-spark.jar",
	[PYJAVA_JAR] = "java/reaper-pyjava.jar",
	[MARKERS_JAR] = "java/reaper-markers.jar",
	[MARKERS_MODULE] = "python/reaper_markers.py",
	[PYSPARK_MODULE] = "python/reaper_pyspark.py",
	[PYJAVA_MODULE] = "python/reaper_pyjava.py",
};
static_assert(ARRAY_SIZE(host_files) == HOST_FILE_COUNT, "every file has a place");

/* Why what a log says counts for nobody, whatever it says. */
enum unheard {
	UNHEARD_NO_WRITER,
	UNHEARD_OTHER_NAMESPACE,
	UNHEARD_OTHER_USER,
	UNHEARD_OTHER_BOOT,
	UNHEARD_GONE,
	UNHEARD_COUNT,
	HEARD = UNHEARD_COUNT,
};

static const struct {
	const char *name;
	enum check_status status;
	const char *found;
	const char *fix;
} unheard[] = {
	[UNHEARD_NO_WRITER] = { "marker-writers", CHECK_ADVICE, "does not say first who writes it",
				"let its writer keep to reaper-markers(5)" },
	[UNHEARD_OTHER_NAMESPACE] = { "marker-writers", CHECK_ADVICE,
				      "speaks of a pid namespace in which no daemon is seen",
				      "see pid-namespace above; from outside, a container's "
				      "processes are seen by a reaper of the host's" },
	[UNHEARD_OTHER_USER] = { "marker-writers", CHECK_ADVICE,
				 "is not of the user whose process it says writes it",
				 "let each process write a log of its own user's" },
	[UNHEARD_OTHER_BOOT] = { "marker-past", CHECK_OK, "was written in another boot", NULL },
	[UNHEARD_GONE] = { "marker-past", CHECK_OK, "is of a process that is gone", NULL },
};
static_assert(ARRAY_SIZE(unheard) == UNHEARD_COUNT,
	      "every kind of log that is not heard has words");

/* What --host leaves out is not in the audit, nor are trees that may not be read. */
static bool sees_all(const struct audit *a)
{
	for (size_t i = 0; i < a->host_count; i++)
		if (a->hosts[i].named)
			return false;
	return !a->hidden_trees;
}

static bool may_be_seen_namespace(const struct doctor_input *in, uint64_t pid_ns)
{
	const struct audit *a = in->audit;

	for (size_t i = 0; i < a->daemon_count; i++)
		if (!a->daemons[i].ev.pid_ns || a->daemons[i].ev.pid_ns == pid_ns)
			return true;
	return pid_ns == in->self->pid_ns || !sees_all(a);
}

static enum unheard why_unheard(const struct doctor_input *in, const struct ledger_log_info *log)
{
	const struct proc *p = snapshot_find(&in->audit->snapshot, log->id.pid);

	if (log->kind == MARKER_UNKNOWN)
		return UNHEARD_NO_WRITER;
	if (log->other_boot)
		return UNHEARD_OTHER_BOOT;
	if (!may_be_seen_namespace(in, log->pid_ns))
		return UNHEARD_OTHER_NAMESPACE;
	if (log->kind == MARKER_OPERATOR || log->pid_ns != in->self->pid_ns)
		return HEARD;
	if (!p || !ident_equal(p->id, log->id))
		return UNHEARD_GONE;
	return log->owner && log->owner != p->uid ? UNHEARD_OTHER_USER : HEARD;
}

/* Each kind with its first log. */
static void check_writers(const struct doctor_input *in, struct checks *ret)
{
	struct ledger_log_info log, first[UNHEARD_COUNT];
	unsigned count[UNHEARD_COUNT] = { 0 };

	for (size_t i = 0; in->ledger && ledger_log_at(in->ledger, i, &log); i++) {
		enum unheard why = why_unheard(in, &log);

		if (why != HEARD && !count[why]++)
			first[why] = log;
	}
	for (size_t i = 0; i < UNHEARD_COUNT; i++) {
		struct check *c;

		if (!count[i])
			continue;
		c = doctor_add(ret, unheard[i].name, unheard[i].status,
			       "%u logs count for nobody here; the first: %.*s: %s", count[i],
			       NAME_SHOWN_MAX, first[i].name, unheard[i].found);
		if (unheard[i].fix)
			doctor_fix(c, "%s", unheard[i].fix);
	}
}

static void check_logs(const struct doctor_input *in, struct checks *ret)
{
	const struct markers_counts *m = in->markers;
	struct check *c;

	doctor_add(ret, "marker-logs", CHECK_OK, "%u are believed", m->logs);
	if (m->distrusted) {
		c = doctor_add(ret, "marker-trust", CHECK_ADVICE,
			       "%u logs are not believed; the first: %s", m->distrusted,
			       m->first_distrusted);
		doctor_fix(c, "a log counts when it is a regular file with one link, of root's or "
			      "the workers' own user, and neither it nor its directory may be "
			      "written by group or others");
	}
	if (m->deep)
		doctor_add(
			ret, "marker-depth", CHECK_OK,
			"%u directories lie below marker_dir's own, where no logs are looked for; "
			"the first: %s",
			m->deep, m->first_deep);
	if (m->bad) {
		c = doctor_add(ret, "marker-records", CHECK_ADVICE,
			       "%u records were skipped; the first: %s", m->bad, m->first_bad);
		doctor_fix(c, "let its writer keep to reaper-markers(5)");
	}
	if (m->unknown)
		doctor_add(ret, "marker-words", CHECK_OK,
			   "%u events or keys are unknown and were skipped: a newer writer",
			   m->unknown);
	if (m->torn)
		doctor_add(ret, "marker-tails", CHECK_OK,
			   "%u logs end in the middle of a record, which waits for its rest; the "
			   "first: %s",
			   m->torn, m->first_torn);
	if (m->logs && !m->whole) {
		c = doctor_add(ret, "marker-backlog", CHECK_ADVICE,
			       "some logs are longer than one sweep reads: until all is read, "
			       "markers prove nothing of their owners' workers");
		doctor_fix(c, "sweep more often, or let each host write a log of its own");
	}
}

/* Adds a number to a list for people; behind the last that is shown, dots. */
static void list_pid(char list[PIDS_TEXT_MAX], size_t nth, pid_t pid)
{
	size_t len = strlen(list);

	if (nth < PIDS_SHOWN)
		(void)snprintf(list + len, PIDS_TEXT_MAX - len, "%s%d", nth ? ", " : "", (int)pid);
	else if (nth == PIDS_SHOWN)
		(void)snprintf(list + len, PIDS_TEXT_MAX - len, ", ...");
}

static const char *class_of(const struct audit *a, int host)
{
	for (size_t i = 0; i < a->daemon_count; i++)
		if (a->daemons[i].host == host)
			return a->classes.class[a->daemons[i].class_index].name;
	return "";
}

/* An executor's environment is among its application's options. */
static bool is_executor(const struct host *h)
{
	return strstr(h->label, "ExecutorBackend");
}

/*
 * spark.jars and not extraClassPath: a driver and its executors load these jars before their plugins,
 * from where the driver is, and an engine that is one of them is found by a plugin that is one too.
 */
static unsigned fix_spark(const struct host *h, const char *share, struct check *c)
{
	doctor_fix(
		c,
		"start %s these options%s; add to a list that it has already, and to --jars, which "
		"hides spark.jars, where it has that (clusters: HOSTS.md):",
		is_executor(h) ? "its application with" : "it with",
		is_executor(h) ? "" : " and, in its environment, these variables");
	doctor_fix_line(c, "--conf spark.plugins=reaper.spark.ReaperPlugin");
	doctor_fix_line(c, "--conf spark.jars=%s/%s", share, host_files[SPARK_JAR]);
	doctor_fix_line(c, "--conf spark.python.daemon.module=reaper_pyspark");
	return 1U << SPARK_JAR | 1U << MARKERS_MODULE | 1U << PYSPARK_MODULE;
}

static unsigned fix_byzer(const char *share, struct check *c)
{
	doctor_fix(
		c,
		"Byzer: start it with these options, adding to lists that it has already (its own "
		"scripts have --jars, which hides spark.jars: copy the jars into its libs "
		"instead), put the third line into its Python configuration and the last two "
		"into its environment; another engine has reaper-pyjava.jar on its class path "
		"and calls reaper.pyjava.Observer (HOSTS.md):");
	doctor_fix_line(c,
			"--conf spark.plugins=reaper.spark.ReaperPlugin,reaper.pyjava.ByzerPlugin");
	doctor_fix_line(c, "--conf spark.jars=%s/%s,%s/%s", share, host_files[SPARK_JAR], share,
			host_files[PYJAVA_JAR]);
	doctor_fix_line(c, "python.daemon.module=reaper_pyjava");
	return 1U << SPARK_JAR | 1U << PYJAVA_JAR | 1U << MARKERS_MODULE | 1U << PYJAVA_MODULE;
}

static unsigned fix_other(bool python, const char *share, struct check *c)
{
	doctor_fix(c, "let it write a log, as this jar does for any JVM (reaper-markers(5)), with "
		      "this in its environment:");
	doctor_fix_line(c, "%s/%s", share, host_files[MARKERS_JAR]);
	return 1U << MARKERS_JAR | (python ? 1U << MARKERS_MODULE : 0U);
}

/*
 * What makes a host of this class speak, as its user would write it (docs/HOSTS.md). Returns the
 * files that this needs.
 */
static unsigned fix_silent(const struct doctor_input *in, const struct host *h,
			   const char *class_name, struct check *c)
{
	const char *by = "";
	unsigned needed;

	if (!strcmp(class_name, "pyspark")) {
		needed = fix_spark(h, in->share, c);
		by = is_executor(h) ? "--conf spark.executorEnv." : "";
	} else if (!strcmp(class_name, "pyjava")) {
		needed = fix_byzer(in->share, c);
	} else {
		needed = fix_other(class_name[0], in->share, c);
	}
	if (class_name[0])
		doctor_fix_line(c, "%sPYTHONPATH=%s/python", by, in->share);
	doctor_fix_line(c, "%sREAPER_MARKER_DIR=%s", by, in->config->marker_dir);
	return needed;
}

/* A JVM that is told of a plugin whose jar is missing does not start. */
static void check_files(const struct doctor_input *in, unsigned needed, struct checks *ret)
{
	char first[PATH_MAX] = "";
	unsigned missing = 0;
	int why = 0;
	struct check *c;

	for (size_t i = 0; i < HOST_FILE_COUNT; i++) {
		char path[PATH_MAX];
		struct stat st;

		(void)snprintf(path, sizeof(path), "%s/%s", in->share, host_files[i]);
		if (!(needed & 1U << i) || !stat(path, &st) || missing++)
			continue;
		why = errno;
		memcpy(first, path, sizeof(first));
	}
	if (!missing)
		return;
	c = doctor_add(ret, "host-files", CHECK_ADVICE,
		       "missing: %u of the files that these lines need; the first: %s: %s", missing,
		       first, strerror(why));
	doctor_fix(c,
		   "`make install` puts them there, the jars where configure found Maven and a "
		   "JDK; in a clone `tools/build-jvm` puts the jars into build/jvm/jars, and the "
		   "modules are in hosts/python: name those instead, by their whole paths");
}

static void check_speaking(const struct host *h, const char *label, struct checks *ret)
{
	char record[WORDS_SHORT_MAX], beat[WORDS_SHORT_MAX];
	bool beats = h->beat_age_ms != UNKNOWN_U64;
	bool stopped = beats && h->beat_age_ms > BEAT_LATE_MS;
	struct check *c;

	c = doctor_add(ret, "host-markers", stopped ? CHECK_ADVICE : CHECK_OK,
		       "host %d%s writes %s: last record %s ago, %s%s%s", (int)h->id.pid, label,
		       h->log, words_age(h->log_age_ms, record, sizeof(record)),
		       beats ? "last beat " : "no beats",
		       beats ? words_age(h->beat_age_ms, beat, sizeof(beat)) : "",
		       beats ? " ago" : "");
	if (stopped)
		doctor_fix(c, "beats come every 2 to 10 seconds: the JVM is stopped, its pool is "
			      "locked by a fork that hangs, or its log cannot be written");
}

/* Returns the files that its advice needs. */
static unsigned check_host(const struct doctor_input *in, size_t i, struct checks *ret)
{
	const struct host *h = &in->audit->hosts[i];
	char label[AUDIT_LABEL_MAX + 4] = "";
	struct check *c;

	if (h->label[0])
		(void)snprintf(label, sizeof(label), " (%s)", h->label);
	if (h->log[0]) {
		check_speaking(h, label, ret);
		return 0;
	}
	c = doctor_add(ret, "host-markers", CHECK_ADVICE,
		       "host %d%s writes no marker log that is believed: of its workers only those "
		       "are proven leaked whose socket or host says so",
		       (int)h->id.pid, label);
	return fix_silent(in, h, class_of(in->audit, (int)i), c);
}

static void check_hosts(const struct doctor_input *in, struct checks *ret)
{
	size_t shown = 0, more = 0;
	unsigned needed = 0;

	for (size_t i = 0; i < in->audit->host_count; i++) {
		const struct host *h = &in->audit->hosts[i];

		if (!h->alive || h->unreadable)
			continue;
		if (shown++ < HOSTS_SHOWN)
			needed |= check_host(in, i, ret);
		else
			more++;
	}
	check_files(in, needed, ret);
	if (more)
		doctor_add(ret, "host-markers", CHECK_OK, "%zu more hosts; --host PID shows one",
			   more);
}

/* One check for each proof that some suspect lacks. */
static void check_suspects(const struct doctor_input *in, struct checks *ret)
{
	for (enum missing missing = MISSING_NOTHING + 1; missing < MISSING_COUNT; missing++) {
		char pids[PIDS_TEXT_MAX] = "";
		size_t count = 0;
		struct check *c;

		for (size_t i = 0; i < in->audit->subject_count; i++) {
			const struct subject *s = &in->audit->subjects[i];

			if (s->verdict.action == ACTION_SUSPECT && s->verdict.missing == missing)
				list_pid(pids, count++, s->id.pid);
		}
		if (!count)
			continue;
		c = doctor_add(ret, "suspects", CHECK_ADVICE, "%zu (%s): %s", count, pids,
			       words_missing(missing));
		doctor_fix(c, "%s", words_how_to_get(missing));
	}
}

void doctor_markers(const struct doctor_input *in, struct checks *ret)
{
	check_logs(in, ret);
	check_writers(in, ret);
	check_hosts(in, ret);
	check_suspects(in, ret);
}

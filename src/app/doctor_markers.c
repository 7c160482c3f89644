/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_check.h"
#include "report/words.h"

#ifndef PKGDATADIR
#define PKGDATADIR "/usr/share/reaper"
#endif

enum {
	PIDS_SHOWN = 8,
	PIDS_TEXT_MAX = 128,
	HOSTS_SHOWN = 16,
	NAME_SHOWN_MAX = 256,     /* of a log: what is wrong with it stands behind */
	BEAT_LATE_MS = 30 * 1000, /* beats come every 2 to 10 seconds (reaper-markers(5)) */
};

/* Where make install puts what hosts need. */
#define JARS    PKGDATADIR "/java"
#define MODULES PKGDATADIR "/python"

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

/* What makes a host of this class speak, as its user would write it (docs/HOSTS.md). */
static void fix_silent(const char *class_name, const char *marker_dir, struct check *c)
{
	if (!strcmp(class_name, "pyspark")) {
		doctor_fix(c, "start it with these options and, in its environment, these "
			      "variables (clusters: HOSTS.md):");
		doctor_fix_line(c, "--conf spark.plugins=reaper.spark.ReaperPlugin");
		doctor_fix_line(c, "--conf spark.driver.extraClassPath=" JARS "/reaper-spark.jar");
		doctor_fix_line(c,
				"--conf spark.executor.extraClassPath=" JARS "/reaper-spark.jar");
		doctor_fix_line(c, "--conf spark.python.daemon.module=reaper_pyspark");
	} else if (!strcmp(class_name, "pyjava")) {
		doctor_fix(c, "Byzer: start it with these options, put the third line into its "
			      "Python configuration and the last two into its environment; "
			      "another engine has reaper-pyjava.jar on its class path and calls "
			      "reaper.pyjava.Observer (HOSTS.md):");
		doctor_fix_line(c, "--conf spark.plugins=reaper.spark.ReaperPlugin,"
				   "reaper.pyjava.ByzerPlugin");
		doctor_fix_line(c, "--conf spark.driver.extraClassPath=" JARS
				   "/reaper-spark.jar:" JARS "/reaper-pyjava.jar");
		doctor_fix_line(c, "python.daemon.module=reaper_pyjava");
	} else {
		doctor_fix(c, "let it write a log, as this jar does for any JVM "
			      "(reaper-markers(5)), with this in its environment:");
		doctor_fix_line(c, JARS "/reaper-markers.jar");
	}
	if (class_name[0])
		doctor_fix_line(c, "PYTHONPATH=" MODULES);
	doctor_fix_line(c, "REAPER_MARKER_DIR=%s", marker_dir);
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

static void check_host(const struct doctor_input *in, size_t i, struct checks *ret)
{
	const struct host *h = &in->audit->hosts[i];
	char label[AUDIT_LABEL_MAX + 4] = "";
	struct check *c;

	if (h->label[0])
		(void)snprintf(label, sizeof(label), " (%s)", h->label);
	if (h->log[0]) {
		check_speaking(h, label, ret);
		return;
	}
	c = doctor_add(ret, "host-markers", CHECK_ADVICE,
		       "host %d%s writes no marker log that is believed: of its workers only those "
		       "are proven leaked whose socket or host says so",
		       (int)h->id.pid, label);
	fix_silent(class_of(in->audit, (int)i), in->config->marker_dir, c);
}

static void check_hosts(const struct doctor_input *in, struct checks *ret)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < in->audit->host_count; i++) {
		const struct host *h = &in->audit->hosts[i];

		if (!h->alive || h->unreadable)
			continue;
		if (shown++ < HOSTS_SHOWN)
			check_host(in, i, ret);
		else
			more++;
	}
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

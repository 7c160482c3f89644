/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "app/doctor_check.h"
#include "base/fs.h"
#include "build.h"
#include "live.h"
#include "observe/processes.h"
#include "tmpdir.h"

enum {
	EVERY_CAP = true
};

/* Everything that doctor looks at, all of it in order. */
struct world {
	struct self self;
	struct caps caps;
	struct config *config;
	struct audit audit;
	struct markers_counts markers;
	struct doctor_input in;
	struct checks checks;
	struct tmpdir dir;
};

static void build_world(struct world *w)
{
	char set[4][PATH_MAX + 32];
	const char *sets[4];
	struct problem p;

	memset(w, 0, sizeof(*w));
	w->dir = tmpdir_make();
	(void)snprintf(set[0], sizeof(set[0]), "reaper.state_dir=%s", w->dir.path);
	(void)snprintf(set[1], sizeof(set[1]), "reaper.marker_dir=%s", w->dir.path);
	(void)snprintf(set[2], sizeof(set[2]), "reaper.audit_log=%s/a", w->dir.path);
	(void)snprintf(set[3], sizeof(set[3]), "reaper.metrics_file=%s/m", w->dir.path);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		sets[i] = set[i];
	cr_assert_eq(config_load_text("F", NULL, 0, sets, ARRAY_SIZE(sets), &w->config, &p), 0,
		     "%s", p.text);
	cr_assert_eq(chmod(w->dir.path, 0755), 0);
	cr_assert_eq(self_read(&w->self), 0);
	w->caps = (struct caps){ EVERY_CAP, EVERY_CAP, EVERY_CAP, EVERY_CAP };
	w->audit = build_audit();
	w->markers = (struct markers_counts){ .logs = 1, .whole = true };
	w->in = (struct doctor_input){ .self = &w->self,
				       .caps = &w->caps,
				       .config = w->config,
				       .audit = &w->audit,
				       .markers = &w->markers,
				       .share = w->dir.path };
}

static void free_world(struct world *w)
{
	config_free(w->config);
	audit_done(&w->audit);
	tmpdir_remove(&w->dir);
}

static const struct check *find(const struct checks *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->check[i].name, name))
			return &c->check[i];
	return NULL;
}

static void expect(const struct world *w, const char *name, enum check_status status,
		   const char *says, const char *why)
{
	const struct check *c = find(&w->checks, name);

	cr_expect_not_null(c, "%s: there is no check %s", why, name);
	if (!c)
		return;
	cr_expect_eq(c->status, status, "%s: %s %s", why, check_status_name(c->status), c->found);
	cr_expect_not_null(strstr(c->found, says), "%s: found %s", why, c->found);
	cr_expect_eq(c->fix[0] != '\0', status != CHECK_OK,
		     "%s: a fix where there is one to make: %s", why, c->fix);
}

/* ---- parts that need nobody ---- */

Test(doctor, foreign_bytes_are_escaped)
{
	struct checks c = { 0 };

	doctor_fix(doctor_add(&c, "x", CHECK_BAD, "%s", "a\x1b]0;b\n"), "%s", "c\r");
	cr_expect_str_eq(c.check[0].found, "a\\x1b]0;b\\x0a");
	cr_expect_str_eq(c.check[0].fix, "c\\x0d");
}

Test(doctor, lines_to_copy)
{
	char path[CHECK_FIX_MAX];
	struct checks c = { 0 };
	struct check *check = doctor_add(&c, "x", CHECK_BAD, "x");

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	doctor_fix(check, "add this:");
	doctor_fix_line(check, "A=%s", "a\nb");
	doctor_fix_line(check, "NOT_HALF_OF_IT=%s", path);
	doctor_fix_line(check, "B=b");
	cr_expect_str_eq(check->fix, "add this:\n  A=a\\x0ab\n  B=b");
}

Test(doctor, more_checks_than_fit)
{
	struct checks c = { 0 };

	for (int i = 0; i < CHECKS_MAX; i++)
		cr_expect_not_null(doctor_add(&c, "x", CHECK_OK, "%d", i));
	cr_expect_null(doctor_add(&c, "x", CHECK_OK, "one more"));
	doctor_fix(NULL, "nothing to fix");
	doctor_fix_line(NULL, "nothing to copy");
	cr_expect_eq(c.count, CHECKS_MAX);
}

struct mount_row {
	const char *why;
	const char *text;
	struct doctor_proc_mount found;
};

static const struct mount_row mounts[] = {
	{ "no /proc", "1 0 8:1 / / rw - ext4 /dev/x rw\n", { .found = false } },
	{ "as it is mounted everywhere",
	  "22 27 0:21 / /proc rw,relatime - proc proc rw\n",
	  { .found = true } },
	{ "tags before the dash",
	  "22 27 0:21 / /proc rw shared:13 master:1 - proc proc rw\n",
	  { .found = true } },
	{ "hidden",
	  "22 27 0:21 / /proc rw - proc proc rw,gid=4,hidepid=2\n",
	  { .found = true, .hides = true, .hidepid = "2" } },
	{ "hidden, by its newer name",
	  "22 27 0:21 / /proc rw - proc proc rw,hidepid=invisible\n",
	  { .found = true, .hides = true, .hidepid = "invisible" } },
	{ "not hidden, said so",
	  "22 27 0:21 / /proc rw - proc proc rw,hidepid=off\n",
	  { .found = true, .hidepid = "off" } },
	{ "not hidden, by number",
	  "22 27 0:21 / /proc rw - proc proc rw,hidepid=0\n",
	  { .found = true, .hidepid = "0" } },
	{ "a subset",
	  "22 27 0:21 / /proc rw - proc proc rw,subset=pid\n",
	  { .found = true, .subset = true } },
	{ "another directory",
	  "22 27 0:21 / /mnt/proc rw - proc proc rw,hidepid=2\n",
	  { .found = false } },
	{ "the last mount lies on top",
	  "22 27 0:21 / /proc rw - proc proc rw,hidepid=2\n30 27 0:22 / /proc rw - proc proc rw",
	  { .found = true } },
	{ "a name that only begins so",
	  "22 27 0:21 / /proc rw - proc proc rw,hidepidx=2\n",
	  { .found = true } },
	{ "a value in an option of the mount point is not the file system's",
	  "22 27 0:21 / /proc hidepid=2 - proc proc rw\n",
	  { .found = true } },
};

Test(doctor, how_proc_is_mounted)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		struct doctor_proc_mount m = doctor_parse_mountinfo(mounts[i].text);

		cr_expect_eq(m.found, mounts[i].found.found, "%s", mounts[i].why);
		cr_expect_eq(m.hides, mounts[i].found.hides, "%s", mounts[i].why);
		cr_expect_eq(m.subset, mounts[i].found.subset, "%s", mounts[i].why);
		cr_expect_str_eq(m.hidepid, mounts[i].found.hidepid, "%s", mounts[i].why);
	}
}

/* ---- against an audit ---- */

Test(doctor, nothing_runs)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	cr_assert_eq(doctor_examine(&w.in, &w.checks), 0);
	expect(&w, "kernel", CHECK_OK, "pidfds work", "this kernel has them");
	expect(&w, "pid-namespace", CHECK_ADVICE, "no JVM with a Python daemon", "none is there");
	expect(&w, "state-dir", CHECK_OK, w.dir.path, "a directory of ours");
	expect(&w, "audit-log", CHECK_OK, "can be written", "not yet there");
	expect(&w, "metrics", CHECK_OK, "can be written", "not yet there");
	expect(&w, "marker-dir", CHECK_OK, w.dir.path, "a directory");
	expect(&w, "marker-logs", CHECK_OK, "1 are believed", "one log");
	expect(&w, "unmatched", CHECK_OK, "no child of a JVM", "no JVM");
	expect(&w, "configuration", CHECK_OK, "no file; 4 of 31", "by --set alone");
	cr_expect_null(find(&w.checks, "suspects"));
	cr_expect_null(find(&w.checks, "host-markers"));
}

Test(doctor, privileges)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	build_host(&w.audit, 100)->uid = w.self.euid;
	w.caps = (struct caps){ false, false, false, false };
	w.checks.count = 0;
	doctor_reach(&w.in, &w.checks);
	expect(&w, "privileges", CHECK_OK, "your own (1) need no capability",
	       "one's own need none");
	expect(&w, "pid-namespace", CHECK_OK, "hosts show", "one is there");

	build_host(&w.audit, 101)->uid = w.self.euid + 1;
	w.caps.ptrace = true;
	w.checks.count = 0;
	doctor_reach(&w.in, &w.checks);
	expect(&w, "privileges", CHECK_ADVICE,
	       "trees of other users: 1; to read and sweep them, missing: CAP_KILL CAP_DAC_READ_SEARCH",
	       "another user's tree, and what is lacking for it");

	w.caps = (struct caps){ true, true, true, false };
	w.checks.count = 0;
	doctor_reach(&w.in, &w.checks);
	expect(&w, "privileges", CHECK_OK, "every user's tree", "CAP_SYS_NICE is not needed");
}

Test(doctor, network_namespaces)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	build_host(&w.audit, 100);
	build_daemon(&w.audit, 0, 200)->ev.net_ns = w.self.net_ns;
	build_daemon(&w.audit, 0, 201)->ev.net_ns = 0;
	doctor_reach(&w.in, &w.checks);
	expect(&w, "net-namespace", CHECK_OK, "no daemon", "ours, and one that is not known");

	build_daemon(&w.audit, 0, 202)->ev.net_ns = w.self.net_ns + 1;
	build_daemon(&w.audit, 0, 203)->ev.net_ns = w.self.net_ns + 1;
	build_daemon(&w.audit, 0, 204)->ev.net_ns = w.self.net_ns + 2;
	w.checks.count = 0;
	doctor_reach(&w.in, &w.checks);
	expect(&w, "net-namespace", CHECK_ADVICE, "3 daemons live in 2 other", "counted");
}

Test(doctor, markers)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	w.markers =
		(struct markers_counts){ .logs = 2,
					 .distrusted = 3,
					 .bad = 4,
					 .unknown = 5,
					 .first_bad = "a.log:7: no time",
					 .first_distrusted = "b.log: is writable by its group" };
	doctor_markers(&w.in, &w.checks);
	expect(&w, "marker-trust", CHECK_ADVICE, "3 logs are not believed; the first: b.log: is",
	       "who may write");
	expect(&w, "marker-records", CHECK_ADVICE, "4 records were skipped; the first: a.log:7",
	       "file and line");
	expect(&w, "marker-words", CHECK_OK, "5 events", "no fault of anybody");
	expect(&w, "marker-backlog", CHECK_ADVICE, "longer than one sweep reads", "not whole");
	cr_expect_null(find(&w.checks, "marker-tails"));

	cr_expect_null(find(&w.checks, "marker-depth"));

	w.markers = (struct markers_counts){
		.whole = true, .torn = 2, .first_torn = "c.log", .deep = 3, .first_deep = "d/e"
	};
	w.checks.count = 0;
	doctor_markers(&w.in, &w.checks);
	expect(&w, "marker-tails", CHECK_OK, "2 logs end in the middle", "it may be being written");
	expect(&w, "marker-tails", CHECK_OK, "the first: c.log", "by name");
	expect(&w, "marker-depth", CHECK_OK, "3 directories", "somebody may look for logs there");
	expect(&w, "marker-depth", CHECK_OK, "the first: d/e", "by name");
}

enum {
	OUR_NS = 5,
	SEEN_NS,
	UNSEEN_NS,
};

static const struct writer_row {
	const char *why;
	struct marker record;
	uint32_t owner;
	const char *check; /* NULL: it is heard */
	enum check_status status;
	const char *says;
} writer_rows[] = {
	{ "its host is there",
	  { .event = MARKER_HOST, .host = { 100, 1100 }, .pid_ns = OUR_NS },
	  1000,
	  NULL,
	  CHECK_OK,
	  "" },
	{ "root may speak of everybody's",
	  { .event = MARKER_HOST, .host = { 100, 1100 }, .pid_ns = OUR_NS },
	  0,
	  NULL,
	  CHECK_OK,
	  "" },
	{ "of a daemon in another namespace",
	  { .event = MARKER_DAEMON, .daemon = { 7, 77 }, .pid_ns = SEEN_NS },
	  1000,
	  NULL,
	  CHECK_OK,
	  "" },
	{ "an operator's",
	  { .event = MARKER_OPERATOR, .pid_ns = OUR_NS },
	  1000,
	  NULL,
	  CHECK_OK,
	  "" },
	{ "no header",
	  { .event = MARKER_BEAT, .n = 1 },
	  1000,
	  "marker-writers",
	  CHECK_ADVICE,
	  "1 logs count for nobody here; the first: x.log: does not say first who writes it" },
	{ "an unknown namespace",
	  { .event = MARKER_HOST, .host = { 100, 1100 }, .pid_ns = UNSEEN_NS },
	  1000,
	  "marker-writers",
	  CHECK_ADVICE,
	  "x.log: speaks of a pid namespace in which no daemon is seen" },
	{ "a stranger's",
	  { .event = MARKER_HOST, .host = { 100, 1100 }, .pid_ns = OUR_NS },
	  1001,
	  "marker-writers",
	  CHECK_ADVICE,
	  "x.log: is not of the user whose process it says writes it" },
	{ "a stranger's of a daemon",
	  { .event = MARKER_DAEMON, .daemon = { 100, 1100 }, .pid_ns = OUR_NS },
	  1001,
	  "marker-writers",
	  CHECK_ADVICE,
	  "x.log: is not of the user whose process it says writes it" },
	{ "another boot",
	  { .event = MARKER_HOST, .host = { 100, 1100 }, .pid_ns = OUR_NS, .boot = "other" },
	  1000,
	  "marker-past",
	  CHECK_OK,
	  "x.log: was written in another boot" },
	{ "its number is another's",
	  { .event = MARKER_HOST, .host = { 100, 1101 }, .pid_ns = OUR_NS },
	  1000,
	  "marker-past",
	  CHECK_OK,
	  "x.log: is of a process that is gone" },
	{ "its number is nobody's",
	  { .event = MARKER_HOST, .host = { 99, 1100 }, .pid_ns = OUR_NS },
	  1000,
	  "marker-past",
	  CHECK_OK,
	  "x.log: is of a process that is gone" },
};

static void hear(struct world *w, const struct writer_row *row)
{
	const struct ledger_source from = { 1, row->owner, "x.log" };
	struct ledger *l = ledger_new("this");
	struct marker m = row->record;

	if (!m.boot[0])
		(void)snprintf(m.boot, sizeof(m.boot), "this");
	cr_assert_not_null(l);
	cr_assert_eq(ledger_add(l, &from, &m), 0);
	w->in.ledger = l;
	w->checks.count = 0;
	doctor_markers(&w->in, &w->checks);
	w->in.ledger = NULL;
	ledger_free(l);
}

Test(doctor, logs_that_count_for_nobody)
{
	_cleanup_(free_world) struct world w;
	struct proc *p;

	build_world(&w);
	w.self.pid_ns = OUR_NS;
	build_host(&w.audit, 100);
	build_daemon(&w.audit, 0, 200)->ev.pid_ns = SEEN_NS;
	p = snapshot_add(&w.audit.snapshot);
	cr_assert_not_null(p);
	p->id = (struct ident){ 100, 1100 };
	p->uid = 1000;
	for (size_t i = 0; i < ARRAY_SIZE(writer_rows); i++) {
		const struct writer_row *row = &writer_rows[i];

		hear(&w, row);
		if (row->check)
			expect(&w, row->check, row->status, row->says, row->why);
		for (size_t c = 0; c < w.checks.count; c++)
			if (!row->check || strcmp(w.checks.check[c].name, row->check) != 0) {
				cr_expect_str_neq(w.checks.check[c].name, "marker-writers", "%s",
						  row->why);
				cr_expect_str_neq(w.checks.check[c].name, "marker-past", "%s",
						  row->why);
			}
	}
}

static size_t count_unheard(struct world *w, const struct writer_row *row)
{
	size_t count = 0;

	hear(w, row);
	for (size_t i = 0; i < w->checks.count; i++)
		count += !strcmp(w->checks.check[i].name, "marker-writers");
	return count;
}

/* Where not all is looked at, one that is not seen may well be there. */
Test(doctor, a_namespace_that_is_not_looked_at)
{
	static const struct writer_row row = {
		.record = { .event = MARKER_HOST, .host = { 100, 1100 }, .pid_ns = UNSEEN_NS },
		.owner = 1000,
	};
	_cleanup_(free_world) struct world w;

	build_world(&w);
	w.self.pid_ns = OUR_NS;
	build_host(&w.audit, 100);
	build_daemon(&w.audit, 0, 200)->ev.pid_ns = SEEN_NS;
	cr_expect_eq(count_unheard(&w, &row), 1);
	w.audit.hosts[0].named = true;
	cr_expect_eq(count_unheard(&w, &row), 0, "--host leaves others out");
	w.audit.hosts[0].named = false;
	w.audit.hidden_trees = 1;
	cr_expect_eq(count_unheard(&w, &row), 0, "another user's tree");
	w.audit.hidden_trees = 0;
	w.audit.daemons[0].ev.pid_ns = 0;
	cr_expect_eq(count_unheard(&w, &row), 0, "it may be this daemon's");
}

Test(doctor, a_long_name_hides_no_reason)
{
	static const struct marker beat = { .event = MARKER_BEAT, .n = 1, .boot = "this" };
	_cleanup_(free_world) struct world w;
	struct ledger *l = ledger_new("this");
	char name[500];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	build_world(&w);
	cr_assert_not_null(l);
	cr_assert_eq(ledger_add(l, &(struct ledger_source){ 1, 1000, name }, &beat), 0);
	w.in.ledger = l;
	doctor_markers(&w.in, &w.checks);
	expect(&w, "marker-writers", CHECK_ADVICE, "does not say first who writes it",
	       "a long name");
	ledger_free(l);
}

/* The check of one host, by its number. */
static const struct check *of_host(const struct checks *c, pid_t pid)
{
	char says[32];

	snprintf(says, sizeof(says), "host %d (", (int)pid);
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->check[i].name, "host-markers") &&
		    strncmp(c->check[i].found, says, strlen(says)) == 0)
			return &c->check[i];
	return NULL;
}

enum {
	NO_CLASS = -1,
	PYSPARK,
	PYJAVA,
	OTHER_CLASS,
};

static const struct host_row {
	const char *why;
	int class_index;
	const char *log;
	uint64_t beat_age_ms;
	enum check_status status;
	const char *found, *fix;
} host_rows[] = {
	{ "Spark that says nothing", PYSPARK, "", UNKNOWN_U64, CHECK_ADVICE,
	  "writes no marker log that is believed",
	  "\n  --conf spark.plugins=reaper.spark.ReaperPlugin\n  --conf spark.jars=/" },
	{ "its Python side too", PYSPARK, "", UNKNOWN_U64, CHECK_ADVICE, "writes no marker log",
	  "\n  --conf spark.python.daemon.module=reaper_pyspark\n  PYTHONPATH=/" },
	{ "and where", PYSPARK, "", UNKNOWN_U64, CHECK_ADVICE, "writes no marker log",
	  "\n  REAPER_MARKER_DIR=" },
	{ "pyjava", PYJAVA, "", UNKNOWN_U64, CHECK_ADVICE, "writes no marker log",
	  "\n  --conf spark.plugins=reaper.spark.ReaperPlugin,reaper.pyjava.ByzerPlugin\n" },
	{ "pyjava's Python side too", PYJAVA, "", UNKNOWN_U64, CHECK_ADVICE, "writes no marker log",
	  "java/reaper-pyjava.jar\n  python.daemon.module=reaper_pyjava\n  PYTHONPATH=/" },
	{ "its two jars are a list of Spark's", PYJAVA, "", UNKNOWN_U64, CHECK_ADVICE,
	  "writes no marker log", "/java/reaper-spark.jar,/" },
	{ "another JVM", OTHER_CLASS, "", UNKNOWN_U64, CHECK_ADVICE, "writes no marker log",
	  "/java/reaper-markers.jar\n" },
	{ "a JVM without a daemon", NO_CLASS, "", UNKNOWN_U64, CHECK_ADVICE, "writes no marker log",
	  "reaper-markers.jar" },
	{ "records arrive, and beats", PYSPARK, "x.log", 900, CHECK_OK,
	  "writes x.log: last record 1.2s ago, last beat 0.9s ago", "" },
	{ "records arrive, a beat never came", PYSPARK, "x.log", UNKNOWN_U64, CHECK_OK,
	  "writes x.log: last record 1.2s ago, no beats", "" },
	{ "beats have stopped", PYSPARK, "x.log", 31000, CHECK_ADVICE, "last beat 31s ago",
	  "beats come every 2 to 10 seconds" },
};

Test(doctor, what_each_host_writes)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_rows); i++) {
		const struct host_row *r = &host_rows[i];
		_cleanup_(free_world) struct world w;
		const struct check *c;
		struct host *host;

		build_world(&w);
		host = build_host(&w.audit, 100);
		snprintf(host->log, sizeof(host->log), "%s", r->log);
		host->log_age_ms = 1200;
		host->beat_age_ms = r->beat_age_ms;
		if (r->class_index == OTHER_CLASS)
			snprintf(w.audit.classes.class[w.audit.classes.count++].name,
				 CLASS_NAME_MAX, "other");
		if (r->class_index >= 0)
			build_daemon(&w.audit, 0, 200)->class_index = r->class_index;
		doctor_markers(&w.in, &w.checks);
		c = of_host(&w.checks, 100);
		cr_assert_not_null(c, "%s", r->why);
		cr_expect_eq(c->status, r->status, "%s", r->why);
		cr_expect_not_null(strstr(c->found, r->found), "%s: %s", r->why, c->found);
		cr_expect_not_null(strstr(c->fix, r->fix), "%s: %s", r->why, c->fix);
		cr_expect_eq(c->fix[0] != '\0', r->status != CHECK_OK, "%s", r->why);
	}
}

/* An executor's environment comes from its application's configuration. */
Test(doctor, what_an_executor_is_told)
{
	static const char *const labels[] = { "CoarseGrainedExecutorBackend",
					      "YarnCoarseGrainedExecutorBackend",
					      "KubernetesExecutorBackend" };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		_cleanup_(free_world) struct world w;
		const struct check *c;
		struct host *host;

		build_world(&w);
		host = build_host(&w.audit, 100);
		snprintf(host->label, sizeof(host->label), "%s", labels[i]);
		build_daemon(&w.audit, 0, 200);
		doctor_markers(&w.in, &w.checks);
		c = of_host(&w.checks, 100);
		cr_assert_not_null(c, "%s", labels[i]);
		cr_expect_not_null(strstr(c->fix, "\n  --conf spark.executorEnv.PYTHONPATH=/"),
				   "%s", c->fix);
		cr_expect_not_null(strstr(c->fix,
					  "\n  --conf spark.executorEnv.REAPER_MARKER_DIR=/"),
				   "%s", c->fix);
		cr_expect_null(strstr(c->fix, "\n  PYTHONPATH="), "%s", c->fix);
	}
}

static const struct files_row {
	const char *why;
	int class_index;
	const char *log;
	const char *there[4];
	const char *says; /* NULL: nothing is missing */
} files_rows[] = {
	{ "nothing is installed",
	  PYSPARK,
	  "",
	  { NULL },
	  "missing: 3 of the files that these lines need; the first: " },
	{ "it is named with the reason",
	  PYSPARK,
	  "",
	  { NULL },
	  "/java/reaper-spark.jar: No such file or directory" },
	{ "built without jars",
	  PYSPARK,
	  "",
	  { "python/reaper_markers.py", "python/reaper_pyspark.py" },
	  "missing: 1 of the files that these lines need; the first: " },
	{ "all that Spark needs",
	  PYSPARK,
	  "",
	  { "java/reaper-spark.jar", "python/reaper_markers.py", "python/reaper_pyspark.py" },
	  NULL },
	{ "Byzer needs other files",
	  PYJAVA,
	  "",
	  { "java/reaper-spark.jar", "python/reaper_markers.py", "python/reaper_pyspark.py" },
	  "missing: 2 of the files that these lines need; the first: " },
	{ "all that Byzer needs",
	  PYJAVA,
	  "",
	  { "java/reaper-spark.jar", "java/reaper-pyjava.jar", "python/reaper_markers.py",
	    "python/reaper_pyjava.py" },
	  NULL },
	{ "a JVM without a daemon", NO_CLASS, "", { NULL }, "/java/reaper-markers.jar: No such" },
	{ "a host that speaks needs none of it", PYSPARK, "x.log", { NULL }, NULL },
};

Test(doctor, what_the_lines_need_is_looked_for)
{
	for (size_t i = 0; i < ARRAY_SIZE(files_rows); i++) {
		const struct files_row *r = &files_rows[i];
		_cleanup_(free_world) struct world w;
		char path[PATH_MAX + 16];
		struct host *host;

		build_world(&w);
		(void)snprintf(path, sizeof(path), "%s/java", w.dir.path);
		cr_assert_eq(mkdir(path, 0755), 0);
		(void)snprintf(path, sizeof(path), "%s/python", w.dir.path);
		cr_assert_eq(mkdir(path, 0755), 0);
		for (size_t k = 0; k < ARRAY_SIZE(r->there) && r->there[k]; k++)
			tmpdir_write(&w.dir, r->there[k], "", 0, 0644);
		host = build_host(&w.audit, 100);
		snprintf(host->log, sizeof(host->log), "%s", r->log);
		if (r->class_index >= 0)
			build_daemon(&w.audit, 0, 200)->class_index = r->class_index;
		doctor_markers(&w.in, &w.checks);
		if (r->says)
			expect(&w, "host-files", CHECK_ADVICE, r->says, r->why);
		else
			cr_expect_null(find(&w.checks, "host-files"), "%s", r->why);
	}
}

Test(doctor, hosts_that_are_not_asked)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	build_host(&w.audit, 100)->alive = false;
	build_host(&w.audit, 101)->unreadable = true;
	for (pid_t pid = 200; pid < 217; pid++)
		build_host(&w.audit, pid);
	doctor_markers(&w.in, &w.checks);
	cr_expect_null(of_host(&w.checks, 100), "a dead one");
	cr_expect_null(of_host(&w.checks, 101), "one that cannot be read");
	cr_expect_not_null(of_host(&w.checks, 215));
	cr_expect_null(of_host(&w.checks, 216), "one more than is of use");
	cr_expect_not_null(strstr(w.checks.check[w.checks.count - 1].found, "1 more hosts"));
}

Test(doctor, what_suspects_lack)
{
	_cleanup_(free_world) struct world w;
	struct subject *s;

	build_world(&w);
	build_host(&w.audit, 100);
	build_daemon(&w.audit, 0, 200);
	for (pid_t pid = 300; pid < 312; pid++) {
		s = build_worker(&w.audit, 0, pid);
		s->verdict.action = pid == 300 ? ACTION_KEEP : ACTION_SUSPECT;
		s->verdict.missing = pid == 311 ? MISSING_EVIDENCE : MISSING_MARKERS;
	}
	doctor_markers(&w.in, &w.checks);
	expect(&w, "suspects", CHECK_ADVICE,
	       "10 (301, 302, 303, 304, 305, 306, 307, 308, ...): ", "as many as are of use");
	cr_expect_not_null(strstr(w.checks.check[w.checks.count - 1].found, "1 (311): "),
			   "one check for each proof");
}

struct path_row {
	const char *why;
	const char *make; /* a file below the directory, or NULL */
	mode_t make_mode;
	const char *set; /* key, then what is below the directory */
	const char *below;
	const char *name;
	enum check_status status;
	const char *says;
};

static const struct path_row paths[] = {
	{ "a state_dir below one that is there", NULL, 0, "state_dir", "a/b", "state-dir", CHECK_OK,
	  "can be written" },
	{ "a state_dir that is a file", "f", 0644, "state_dir", "f", "state-dir", CHECK_BAD,
	  "directory" },
	{ "an audit log that is there", "f", 0644, "audit_log", "f", "audit-log", CHECK_OK,
	  "can be" },
	{ "an audit log that is a directory", NULL, 0, "audit_log", "", "audit-log", CHECK_BAD,
	  "is no regular file: without it nothing is ended" },
	{ "metrics without their directory", NULL, 0, "metrics_file", "a/m", "metrics",
	  CHECK_ADVICE, "cannot be written" },
	{ "a marker_dir that is not there", NULL, 0, "marker_dir", "a", "marker-dir", CHECK_ADVICE,
	  "No such file" },
	{ "a marker_dir that is a file", "f", 0644, "marker_dir", "f", "marker-dir", CHECK_BAD,
	  "is no directory" },
};

Test(doctor, paths)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct path_row *row = &paths[i];
		_cleanup_(free_world) struct world w;
		char set[PATH_MAX + 64];
		const char *sets = set;
		struct config *c;
		struct problem p;

		build_world(&w);
		if (row->make)
			tmpdir_write(&w.dir, row->make, "", 0, row->make_mode);
		(void)snprintf(set, sizeof(set), "reaper.%s=%s/%s", row->set, w.dir.path,
			       row->below);
		cr_assert_eq(config_load_text("F", NULL, 0, &sets, 1, &c, &p), 0, "%s", p.text);
		w.in.config = c;
		doctor_paths(&w.in, &w.checks);
		expect(&w, row->name, row->status, row->says, row->why);
		config_free(c);
	}
}

Test(doctor, a_state_dir_that_others_may_write)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	cr_assert_eq(chmod(w.dir.path, 01777), 0);
	doctor_paths(&w.in, &w.checks);
	expect(&w, "state-dir", CHECK_BAD, "sweep and watch refuse it", "as lock_take() does");
}

Test(doctor, a_marker_dir_that_others_cannot_reach)
{
	_cleanup_(free_world) struct world w;

	build_world(&w);
	w.self.euid = 0;
	cr_assert_eq(chmod(w.dir.path, 0750), 0);
	doctor_paths(&w.in, &w.checks);
	expect(&w, "marker-dir", CHECK_ADVICE, "other users cannot pass",
	       "their JVMs could not write");
}

Test(doctor, settings_that_deserve_a_word)
{
	static const char *const sets[] = { "policy.assume_leaked_after=1h", "policy.fences=" };
	_cleanup_(free_world) struct world w;
	struct problem p;

	build_world(&w);
	config_free(w.config);
	cr_assert_eq(config_load_text("F", "", 0, sets, 2, &w.config, &p), 0, "%s", p.text);
	w.in.config = w.config;
	doctor_paths(&w.in, &w.checks);
	expect(&w, "assumed", CHECK_ADVICE, "without a proof", "a risk that the operator took");
	expect(&w, "fences", CHECK_ADVICE, "no proof may end", "nothing will ever be ended");
	expect(&w, "configuration", CHECK_OK, "F; 2 of 31", "the file that was read");
}

/* ---- a daemon that no class describes ---- */

static void end_with_parent(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(30);
}

/* "java" - a process that listens on loopback - its forked child. Tells the listener's port. */
static pid_t start_tree(const char *comm, uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int pipes[2];
	pid_t pid;

	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		end_with_parent();
		(void)prctl(PR_SET_NAME, comm);
		if (!fork()) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);

			end_with_parent();
			(void)prctl(PR_SET_NAME, "pool\033[2J");
			if (bind(fd, (struct sockaddr *)&at, len) || listen(fd, 1) ||
			    getsockname(fd, (struct sockaddr *)&at, &len))
				_exit(1);
			if (!fork()) {
				end_with_parent();
				(void)!write(pipes[1], &at.sin_port, sizeof(at.sin_port));
				for (;;)
					(void)pause();
			}
			for (;;)
				(void)pause();
		}
		for (;;)
			(void)pause();
	}
	cr_assert_gt(pid, 0);
	(void)close(pipes[1]); /* when all are gone, the read ends */
	cr_assert_eq(read(pipes[0], ret_port, sizeof(*ret_port)), (ssize_t)sizeof(*ret_port));
	*ret_port = ntohs(*ret_port);
	(void)close(pipes[0]);
	return pid;
}

static void end_tree(pid_t pid)
{
	int pidfd = pidfd_open(pid, 0);

	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	(void)close(pidfd);
	(void)waitpid(pid, NULL, 0);
}

/* Finds the check about a port; other programs of this machine may have one too. */
static const struct check *about_port(const struct checks *c, uint16_t port)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "loopback port %u ", port);
	for (size_t i = 0; i < c->count; i++)
		if (strstr(c->check[i].found, text))
			return &c->check[i];
	return NULL;
}

/* What is to be found is looked for again while the thread that reads argvs is held up. */
static void examine_tree(struct world *w, const char *comm, bool found, uint16_t *ret_port)
{
	uint64_t until = live_now_ms() + LIVE_WAIT_MS;
	struct processes *source;
	pid_t pid = start_tree(comm, ret_port);

	cr_expect_eq(processes_open(&source), 0);
	snapshot_done(&w->audit.snapshot);
	cr_expect_eq(processes_census(source, &w->audit.snapshot), 0);
	do {
		w->checks.count = 0;
		cr_expect_eq(doctor_unmatched(&w->in, &w->checks), 0);
	} while (found && !about_port(&w->checks, *ret_port) && live_now_ms() < until);
	processes_close(source);
	end_tree(pid);
}

Test(doctor, a_daemon_of_no_class)
{
	_cleanup_(free_world) struct world w;
	const struct check *c;
	uint16_t port;

	build_world(&w);
	examine_tree(&w, "java", true, &port);
	c = about_port(&w.checks, port);
	cr_assert_not_null(c);
	cr_expect_eq(c->status, CHECK_ADVICE);
	cr_expect_not_null(strstr(c->found, "(pool"), "%s", c->found);
	cr_expect_not_null(strstr(c->found, "child of "), "%s", c->found);
	cr_expect_null(strchr(c->found, '\033'), "foreign names are escaped");
	cr_expect_not_null(strstr(c->found, "has 1 forked children"), "%s", c->found);
	cr_expect_not_null(strstr(c->fix, "[class NAME]"), "%s", c->fix);
}

Test(doctor, a_listener_that_is_no_child_of_a_jvm)
{
	_cleanup_(free_world) struct world w;
	uint16_t port;

	build_world(&w);
	examine_tree(&w, "javac", false, &port);
	cr_expect_null(about_port(&w.checks, port));
}

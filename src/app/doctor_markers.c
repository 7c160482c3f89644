/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "app/doctor_check.h"
#include "report/words.h"

enum {
	PIDS_SHOWN = 8,
	PIDS_TEXT_MAX = 128,
};

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
	if (m->bad) {
		c = doctor_add(ret, "marker-records", CHECK_ADVICE,
			       "%u records were skipped; the first: %s", m->bad, m->first_bad);
		doctor_fix(c, "let its writer keep to reaper-markers(5)");
	}
	if (m->unknown)
		doctor_add(ret, "marker-words", CHECK_OK,
			   "%u events or keys are unknown and were skipped: a newer writer",
			   m->unknown);
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

static void check_hosts(const struct doctor_input *in, struct checks *ret)
{
	char pids[PIDS_TEXT_MAX] = "";
	size_t silent = 0, alive = 0;
	struct check *c;

	for (size_t i = 0; i < in->audit->host_count; i++) {
		const struct host *host = &in->audit->hosts[i];

		if (!host->alive || host->unreadable)
			continue;
		alive++;
		if (!host->log[0])
			list_pid(pids, silent++, host->id.pid);
	}
	if (!alive)
		return;
	if (!silent) {
		doctor_add(ret, "host-markers", CHECK_OK, "every host writes a marker log");
		return;
	}
	c = doctor_add(
		ret, "host-markers", CHECK_ADVICE,
		"%zu of %zu hosts write no marker log that is believed (%s): of their workers "
		"only those are proven leaked whose socket or host says so",
		silent, alive, pids);
	doctor_fix(c, "let each write a log below %s (reaper-markers(5))", in->config->marker_dir);
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
	check_hosts(in, ret);
	check_suspects(in, ret);
}

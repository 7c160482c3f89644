/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/doctor_check.h"
#include "base/fs.h"

/* Cuts the last part off a path; "/" stays. */
static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash && slash > path)
		*slash = '\0';
	else if (slash)
		slash[1] = '\0';
}

/* Tells whether a directory is there, or can be made below the nearest one that is. */
static bool can_make(const char *dir, char ret_nearest[PATH_MAX])
{
	struct stat st;

	(void)snprintf(ret_nearest, PATH_MAX, "%s", dir);
	while (stat(ret_nearest, &st) && strcmp(ret_nearest, "/"))
		cut_last(ret_nearest);
	return !faccessat(AT_FDCWD, ret_nearest, W_OK | X_OK, AT_EACCESS);
}

static void check_config_file(const struct doctor_input *in, struct checks *ret)
{
	const struct config *config = in->config;
	struct check *c;
	size_t set = 0;

	for (size_t i = 0; i < config->setting_count; i++)
		set += strcmp(config->settings[i].origin, "default") != 0;
	doctor_add(ret, "configuration", CHECK_OK, "%s; %zu of %zu settings are not the default",
		   *config->file ? config->file : "no file", set, config->setting_count);
	if (config->policy.assume_leaked_after_ms != UNKNOWN_U64) {
		c = doctor_add(ret, "assumed", CHECK_ADVICE,
			       "assume_leaked_after is set: workers are ended without a proof");
		doctor_fix(c,
			   "let hosts write marker logs and set it back to never; until then one "
			   "later task attempt may fail on Spark up to 3.5 and on pyjava");
	}
	if (!config->policy.fences) {
		c = doctor_add(ret, "fences", CHECK_ADVICE,
			       "`fences` is empty: no proof may end a worker");
		doctor_fix(c, "name those that may; the default names all five");
	}
}

static void check_state_dir(const struct doctor_input *in, struct checks *ret)
{
	const char *dir = in->config->state_dir, *why = NULL;
	char nearest[PATH_MAX];
	struct check *c = NULL;
	struct stat st;

	if (!lstat(dir, &st))
		why = fs_distrust_dir(&st, in->self->euid);
	if (why) {
		c = doctor_add(ret, "state-dir", CHECK_BAD, "%s: %s; sweep and watch refuse it",
			       dir, why);
		doctor_fix(c, "make it yours alone (mode 0755 or 0750), or set state_dir");
	} else if (!can_make(dir, nearest)) {
		c = doctor_add(
			ret, "state-dir", CHECK_BAD,
			"%s: %s may not be written, so sweep and watch cannot take their lock", dir,
			nearest);
		doctor_fix(c, "set state_dir to a directory of your own");
	} else {
		doctor_add(ret, "state-dir", CHECK_OK, "%s can be written", dir);
	}
}

static void check_audit_log(const struct doctor_input *in, struct checks *ret)
{
	const char *path = in->config->audit_log, *why = NULL;
	char dir[PATH_MAX], nearest[PATH_MAX];
	struct check *c;
	struct stat st;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	cut_last(dir);
	if (!lstat(path, &st)) {
		if (!S_ISREG(st.st_mode))
			why = "is no regular file";
		else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
			why = "may not be written";
	} else if (!can_make(dir, nearest)) {
		why = "cannot be made";
	}
	if (!why) {
		doctor_add(ret, "audit-log", CHECK_OK, "%s can be written", path);
		return;
	}
	c = doctor_add(ret, "audit-log", CHECK_BAD, "%s %s: without it nothing is ended", path,
		       why);
	doctor_fix(c, "set audit_log to a file that reaper can write");
}

static void check_metrics(const struct doctor_input *in, struct checks *ret)
{
	char dir[PATH_MAX];
	struct check *c;

	if (!in->config->metrics_file[0])
		return;
	(void)snprintf(dir, sizeof(dir), "%s", in->config->metrics_file);
	cut_last(dir);
	if (!faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS)) {
		doctor_add(ret, "metrics", CHECK_OK, "%s can be written", in->config->metrics_file);
		return;
	}
	c = doctor_add(ret, "metrics", CHECK_ADVICE, "%s cannot be written: %s", dir,
		       strerror(errno));
	doctor_fix(c, "make the directory, or set metrics_file to one that is there");
}

/* Finds a part of the path that other users cannot pass; "" if there is none. */
static const char *closed_part(const char *path, char ret[PATH_MAX])
{
	struct stat st;

	(void)snprintf(ret, PATH_MAX, "%s", path);
	for (;;) {
		if (!stat(ret, &st) && !(st.st_mode & S_IXOTH))
			return ret;
		if (!strcmp(ret, "/"))
			break;
		cut_last(ret);
	}
	ret[0] = '\0';
	return ret;
}

static void check_marker_dir(const struct doctor_input *in, struct checks *ret)
{
	const char *dir = in->config->marker_dir;
	char closed[PATH_MAX];
	struct check *c;
	struct stat st;

	if (stat(dir, &st)) {
		c = doctor_add(ret, "marker-dir", CHECK_ADVICE,
			       "%s: %s; no host can write a log there", dir, strerror(errno));
		doctor_fix(c, "make it: mode 0755 where all run as one user, else 1777, so that "
			      "each JVM's user can make a directory of its own in it");
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		c = doctor_add(ret, "marker-dir", CHECK_BAD, "%s is no directory", dir);
		doctor_fix(c, "set marker_dir to a directory");
		return;
	}
	if (in->self->euid == 0 && closed_part(dir, closed)[0]) {
		c = doctor_add(ret, "marker-dir", CHECK_ADVICE,
			       "%s: other users cannot pass %s, so their hosts cannot write a log",
			       dir, closed);
		doctor_fix(c, "chmod 0755 %s", closed);
		return;
	}
	doctor_add(ret, "marker-dir", CHECK_OK, "%s is there", dir);
}

void doctor_paths(const struct doctor_input *in, struct checks *ret)
{
	check_config_file(in, ret);
	check_state_dir(in, ret);
	check_audit_log(in, ret);
	check_metrics(in, ret);
	check_marker_dir(in, ret);
}

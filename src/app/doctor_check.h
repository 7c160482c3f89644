/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of doctor: each adds its checks.
 */
#ifndef REAPER_APP_DOCTOR_CHECK_H
#define REAPER_APP_DOCTOR_CHECK_H

#include <stddef.h>

#include "app/doctor.h"
#include "base/macro.h"

/* How /proc is mounted, as the last fitting line of mountinfo says (proc(5)). */
struct doctor_proc_mount {
	bool found;
	bool hides;  /* hidepid= other than 0 or off: other users' processes are not to be seen */
	bool subset; /* subset=pid: /proc/uptime and /proc/sys are not there */
	char hidepid[24]; /* its value, or "" */
};

/**
 * Adds a check; one more than CHECKS_MAX is left out.
 *
 * @param found	what was found, formatted; escaped here.
 * @return the check, for doctor_fix().
 */
struct check *doctor_add(struct checks *c, const char *name, enum check_status status,
			 const char *found, ...) _printf_(4, 5);

/** Says what to do about a check (NULL: it was left out). */
void doctor_fix(struct check *check, const char *fix, ...) _printf_(2, 3);

/**
 * Adds a line to be copied to what doctor_fix() said: it is shown on a line of its own, never wrapped. Of
 * one for which there is no room nothing is shown.
 */
void doctor_fix_line(struct check *check, const char *line, ...) _printf_(2, 3);

/** Reads how /proc is mounted from the text of /proc/self/mountinfo. */
struct doctor_proc_mount doctor_parse_mountinfo(const char *text);

/** Kernel, /proc and sock_diag. */
void doctor_kernel(const struct doctor_input *in, struct checks *ret);

/** Paths: configuration, state_dir, audit_log, metrics_file, marker_dir. */
void doctor_paths(const struct doctor_input *in, struct checks *ret);

/** Privileges and namespaces, against the trees that are there. */
void doctor_reach(const struct doctor_input *in, struct checks *ret);

/** Marker logs, and the proofs that suspects lack. */
void doctor_markers(const struct doctor_input *in, struct checks *ret);

/** JVM children that look like daemons but match no class. @return 0; -ENOMEM. */
int doctor_unmatched(const struct doctor_input *in, struct checks *ret) _must_check_;

#endif

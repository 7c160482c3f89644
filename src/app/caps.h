/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Privileges: keep the few capabilities that help, drop the rest, say which are there. The only door
 * to libcap.
 */
#ifndef REAPER_APP_CAPS_H
#define REAPER_APP_CAPS_H

#include <stdbool.h>

#include "base/macro.h"

struct caps {
	bool kill;            /* CAP_KILL: signal other users' workers */
	bool ptrace;          /* CAP_SYS_PTRACE: read their exe, ns, wchan */
	bool dac_read_search; /* CAP_DAC_READ_SEARCH: read their syscall and fd */
	bool nice;            /* CAP_SYS_NICE: raise a victim's priority before SIGKILL */
};

/** Reads which of them are effective. @return 0; negative errno. */
int caps_read(struct caps *ret) _must_check_;

/**
 * Drops every capability but those four, CAP_DAC_OVERRIDE, CAP_CHOWN and CAP_FOWNER of root among them
 * (root's own files stay its own), empties the inheritable and ambient sets and, where allowed, the
 * bounding set, and sets no_new_privs. Where it has no more than it keeps it does without capset(2).
 *
 * @param may_signal	false: CAP_KILL and CAP_SYS_NICE are dropped as well.
 * @return 0; negative errno.
 */
int caps_drop(bool may_signal) _must_check_;

#endif

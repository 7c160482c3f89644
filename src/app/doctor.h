/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: what can be seen and done from here, and what to change.
 */
#ifndef REAPER_APP_DOCTOR_H
#define REAPER_APP_DOCTOR_H

#include "app/caps.h"
#include "app/config.h"
#include "correlate/ledger.h"
#include "model/audit.h"
#include "model/explanation.h"
#include "observe/markers.h"
#include "observe/self.h"

/* What doctor looks at; all borrowed. */
struct doctor_input {
	const struct self *self;
	const struct caps *caps; /* as they were before caps_drop() */
	const struct config *config;
	const struct audit *audit; /* one look */
	const struct markers_counts *markers;
	const struct ledger *ledger; /* what these logs said */
	const char *share;           /* where make install puts what hosts load */
};

/**
 * Examines: kernel (pidfd_open, /proc/<pid>/sched, /proc/<pid>/syscall, sock_diag), privileges (which
 * capability is missing for other users' trees), pid and network namespaces, hidepid, Yama,
 * configuration, state_dir and audit_log (writable?), markers (believed, distrusted, bad records with
 * file and line, logs that count for nobody, hosts without logs, how to get them and which files that
 * needs are missing), suspects and the proofs that they lack, and JVM children that listen on loopback
 * and have never-exec'ed children but match no class, with the [class] section to add. Writes nothing.
 *
 * @param ret	filled; foreign bytes are escaped.
 * @return 0; -ENOMEM.
 */
int doctor_examine(const struct doctor_input *in, struct checks *ret) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands: each takes the command line and the configuration and returns an exit status
 * (app/cli.h). What went wrong is said on stderr.
 */
#ifndef REAPER_APP_COMMANDS_H
#define REAPER_APP_COMMANDS_H

#include "app/caps.h"
#include "app/cli.h"
#include "app/config.h"
#include "app/look.h"

/** Shows every host, daemon and worker with its verdict; also the dry run of a sweep. */
int command_audit(const struct options *o, const struct config *c);

/** One pass: ends what is due and sees it gone. */
int command_sweep(const struct options *o, const struct config *c);

/** Stays and sweeps every interval; takes the configuration over, since it can be loaded again. */
int command_watch(const struct options *o, struct config *c);

/** Shows every proof, guard and piece of evidence for one process. */
int command_explain(const struct options *o, const struct config *c);

/** Writes the operator's word that a worker is given up. */
int command_retire(const struct options *o, const struct config *c);

/**
 * Shows what can be seen and done from here.
 *
 * @param caps	what was there before privileges were dropped.
 */
int command_doctor(const struct options *o, const struct config *c, const struct caps *caps);

/** Shows every setting with its origin. */
int command_check_config(const struct options *o, const struct config *c);

/**
 * Opens what looks need and says on stderr what failed.
 *
 * @return 0; else the exit status with which to leave.
 */
int command_open_look(const struct options *o, const struct config *c, struct look *ret);

/**
 * Makes state_dir and takes its lock, and says on stderr what failed.
 *
 * @param ret_status	the exit status with which to leave, where there is no lock.
 * @return the descriptor to keep open; -1.
 */
int command_take_lock(const struct config *c, int *ret_status) _must_check_;

/** Says on stderr why a look failed. @return the exit status with which to leave. */
int command_look_failed(const struct look *l, int err);

/**
 * Gives a look what earlier runs knew: state_dir's history, and how memory went. A history that cannot be
 * read just now may hold kills of the last hour: it keeps from ending anybody, but not from looking.
 *
 * @param ends	somebody may be ended.
 * @return 0; else the exit status with which to leave: what failed has been said on stderr.
 */
int command_remember(const struct config *c, bool ends, struct look *l) _must_check_;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds without a word from the user: paths by who runs the program, and the shipped classes.
 */
#ifndef REAPER_APP_CONFIG_DEFAULTS_H
#define REAPER_APP_CONFIG_DEFAULTS_H

#include <stddef.h>
#include <sys/types.h>

#include "app/config.h"
#include "app/config_keys.h"
#include "base/macro.h"

enum {
	SHIPPED_CLASSES = 2
};

/* Where an ordinary user's files lie; each NULL if not known. */
struct config_places {
	const char *home;        /* $HOME, else from passwd(5) */
	const char *runtime_dir; /* $XDG_RUNTIME_DIR */
	const char *state_home;  /* $XDG_STATE_HOME */
};

/**
 * Fills every value outside classes and protect rules with its default.
 *
 * @param euid	root's files lie below /run and /var/log; anybody else's in his own places. A place
 *		that is no absolute path does not count (XDG Base Directory Specification).
 * @return 0; -ENAMETOOLONG: a place is longer than a path may be.
 */
int config_defaults(struct config *c, uid_t euid, const struct config_places *places) _must_check_;

/** Gives the shipped class of that name, or one that the user adds, its defaults. */
void config_default_class(const char *name, struct worker_class *ret);

/** @return the name of a shipped class, in their order. */
const char *config_shipped_class(size_t i);

#endif

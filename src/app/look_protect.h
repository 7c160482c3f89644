/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a look that applies [protect].
 */
#ifndef REAPER_APP_LOOK_PROTECT_H
#define REAPER_APP_LOOK_PROTECT_H

#include "app/look.h"

/**
 * Tells whether a rule names a process.
 *
 * @param p		its argv is read if a rule asks for it.
 * @param cgroup	its cgroup path; NULL: not known.
 * @return true also where a rule asks what cannot be known.
 */
bool look_protect_names(const struct config *c, struct proc *p, const char *cgroup);

/**
 * Tells whether a rule keeps a worker: it names the worker, its daemon, its host, or a helper that
 * holds the task socket.
 */
bool look_protect_keeps(const struct look *l, const struct audit *a, const struct subject *s);

#endif

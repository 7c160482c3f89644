/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last word before a signal: between the second look and the signal lie the intents, which a slow
 * disk can hold up, and before SIGKILL all of term_grace. The inside of app/reap.c.
 */
#ifndef REAPER_APP_REAP_CHECK_H
#define REAPER_APP_REAP_CHECK_H

#include "app/reap.h"

/**
 * Asks once more, through its pin, whether a victim is still who and what the second look saw: its
 * users, and that nobody traces it; of a worker and a single its program too, and that it is not stopped;
 * of a helper whether its worker is ended, or about to be.
 *
 * @return NULL; else a phrase that says why it must not be signalled. One that has ended is no objection.
 */
const char *reap_check(const struct reap *r, const struct victim *v);

/** @return true if both are known to run as the same users, real, effective, saved and of files. */
bool reap_same_uids(const struct evidence *a, const struct evidence *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a look that reads argv: of candidates only, and once per exec.
 */
#ifndef REAPER_APP_LOOK_ARGV_H
#define REAPER_APP_LOOK_ARGV_H

#include "app/look.h"
#include "correlate/tree.h"

/**
 * Reads the argv of every process that tree_build() asks it of, and forgets those that no look asks
 * for any more.
 *
 * @param a	its snapshot is filled.
 * @return 0, also where some may not be read or are gone; -ENOMEM.
 */
int look_argv_read_all(struct look *l, const struct tree_input *in, struct audit *a) _must_check_;

/** The same for one process, which has none yet. */
int look_argv_read(struct look *l, struct proc *p, uint64_t boot_ms) _must_check_;

/**
 * Labels a host by the last word of its main class or jar: org.apache.spark.deploy.SparkSubmit is
 * SparkSubmit.
 *
 * @param p	its argv is read; without one the label stays empty.
 */
void look_argv_label(const struct proc *p, struct host *h);

/** Forgets all. */
void look_argv_forget(struct look *l);

#endif

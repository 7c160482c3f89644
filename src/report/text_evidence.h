/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was seen of one process, in a few lines.
 */
#ifndef REAPER_REPORT_TEXT_EVIDENCE_H
#define REAPER_REPORT_TEXT_EVIDENCE_H

#include "report/line.h"

/** Writes the evidence of an explained worker, helper, lost helper or daemon. */
void text_evidence(struct lines *l, const struct explanation *e);

#endif

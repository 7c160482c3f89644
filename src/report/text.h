/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: the tree of an audit, explanations, checks, settings, and one line per event.
 * Everything foreign is escaped; with a width of 0 or of 80 and more no line is longer than 80 columns.
 */
#ifndef REAPER_REPORT_TEXT_H
#define REAPER_REPORT_TEXT_H

#include "base/buf.h"
#include "model/event.h"
#include "model/explanation.h"

struct text_style {
	bool color;     /* a terminal, and NO_COLOR is not set */
	bool verbose;   /* also what is counted and skipped */
	bool utf8;      /* draw the tree with lines; else with ASCII */
	unsigned width; /* columns of the terminal; 0: unknown */
};

/** Draws hosts, daemons and workers with their verdicts, and below them what text_summary() says. */
void text_audit(const struct audit *a, const struct text_style *style, struct buf *ret);

/** Counts workers and those due, says what to do next, and what could not be read. */
void text_summary(const struct audit *a, const struct text_style *style, struct buf *ret);

/** Shows every proof, guard and piece of evidence for one process, and what is missing. */
void text_explanation(const struct explanation *e, const struct text_style *style, struct buf *ret);

/** Shows what doctor found. */
void text_checks(const struct checks *c, const struct text_style *style, struct buf *ret);

/** Shows settings as an INI file that reads back to the same, each with its origin as a comment. */
void text_settings(const struct setting *settings, size_t count, struct buf *ret);

/** Writes one event as one line with its newline. */
void text_event(const struct event *e, struct buf *ret);

#endif

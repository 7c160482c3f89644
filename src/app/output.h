/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes to stdout: whole texts, and events as lines.
 */
#ifndef REAPER_APP_OUTPUT_H
#define REAPER_APP_OUTPUT_H

#include "app/cli.h"
#include "base/buf.h"
#include "model/event.h"
#include "report/text.h"

/** @return how text is drawn here: colour and width of a terminal, NO_COLOR, the locale's charset. */
struct text_style output_style(const struct options *o);

/**
 * Writes a text to stdout.
 *
 * @return 0, also if the reader has gone (EPIPE: `reaper audit | head -1` is no error); negative errno.
 */
int output_text(const struct buf *text) _must_check_;

/**
 * Writes one event as text or JSON. One that there is no memory for is told of on stderr; that it cannot be
 * written is ignored: what is done does not hang on who reads.
 */
void output_event(const struct options *o, const struct event *e);

#endif

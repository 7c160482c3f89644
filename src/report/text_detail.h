/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands beside a reason in the tree: a few words where words_why() takes a sentence.
 */
#ifndef REAPER_REPORT_TEXT_DETAIL_H
#define REAPER_REPORT_TEXT_DETAIL_H

#include "report/words.h"

/** Says the one number or name that belongs to a worker's reason, or nothing. @return ret. */
const char *text_detail(const struct audit *a, const struct subject *s, char ret[WORDS_MAX]);

/** Says what becomes of a helper. @return a constant string. */
const char *text_detail_helper(const struct audit *a, const struct subject *s);

/** Says what a suspect lacks, and what waits in its socket; "" where there is nothing. @return ret. */
const char *text_detail_missing(const struct subject *s, char ret[WORDS_MAX]);

/** Says where one socket of a program that stands alone leads, and what waits in it. @return ret. */
const char *text_detail_held(const struct held_socket *h, char ret[WORDS_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and lists of JSON that remember a failed allocation, so a writer checks once, at the end.
 * Strings are printable ASCII: what is no UTF-8 and what would drive a terminal is escaped as \xNN,
 * the rest of Unicode as \uNNNN.
 */
#ifndef REAPER_REPORT_JSONW_H
#define REAPER_REPORT_JSONW_H

#include <jansson.h>

#include "base/buf.h"
#include "model/facts.h"
#include "model/tri.h"

#define JSONW_SCHEMA "reaper/1"

/* An object or a list that grows. */
struct jsonw {
	json_t *node; /* owned; NULL: no memory */
	bool failed;
};

enum jsonw_shape {
	JSONW_PRETTY, /* a document for people and programs */
	JSONW_LINE,   /* one line */
};

/** @return an empty object. */
struct jsonw jsonw_object(void);

/** @return an empty list. */
struct jsonw jsonw_list(void);

/** Starts a document: an object whose first member is the schema. @return it. */
struct jsonw jsonw_document(void);

/** Adds a number. */
void jsonw_int(struct jsonw *w, const char *key, int64_t value);

/** Adds a number; UNKNOWN_U64, and what no signed 64 bits can hold, as null. */
void jsonw_u64(struct jsonw *w, const char *key, uint64_t value);

/** Adds a number with a fraction, rounded to a hundredth. */
void jsonw_hundredths(struct jsonw *w, const char *key, double value);

/** Adds a 64-bit word as a string of hexadecimal digits behind "0x". */
void jsonw_hex(struct jsonw *w, const char *key, uint64_t value);

/** Adds true or false. */
void jsonw_bool(struct jsonw *w, const char *key, bool value);

/** Adds true, false or null. */
void jsonw_tri(struct jsonw *w, const char *key, enum tri value);

/** Adds a string, escaped; NULL as null. */
void jsonw_str(struct jsonw *w, const char *key, const char *value);

/** Adds a text of ours whose newlines are meant: its lines are escaped one by one. */
void jsonw_lines(struct jsonw *w, const char *key, const char *value);

/** Adds null. */
void jsonw_null(struct jsonw *w, const char *key);

/** Adds the members that a table names (struct facts, struct policy) of the struct at base. */
void jsonw_fields(struct jsonw *w, const struct facts_field *fields, size_t count,
		  const void *base);

/** @return the size of one element of that type, in bytes. */
size_t jsonw_size(enum facts_type type);

/** Adds an object or a list; the child is taken. */
void jsonw_add(struct jsonw *w, const char *key, struct jsonw *child);

/** Adds an object to a list; the child is taken. */
void jsonw_push(struct jsonw *list, struct jsonw *child);

/** Adds a string to a list, escaped. */
void jsonw_push_str(struct jsonw *list, const char *value);

/** Adds a 64-bit word to a list, as jsonw_hex(). */
void jsonw_push_hex(struct jsonw *list, uint64_t value);

/** Adds a number to a list. */
void jsonw_push_int(struct jsonw *list, int64_t value);

/**
 * Appends the text and its newline, and frees the value.
 *
 * @return 0; -ENOMEM: nothing was appended.
 */
int jsonw_finish(struct jsonw *w, enum jsonw_shape shape, struct buf *ret) _must_check_;

#endif

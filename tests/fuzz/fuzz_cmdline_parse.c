/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte says whether there was more than could be read, the rest are the bytes of
 * /proc/<pid>/cmdline: what becomes argv is all of it, or all but the element that was cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/proc.h"
#include "observe/cmdline_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool kept)
{
	if (!kept)
		abort();
}

/* Said again: the elements that have an end, and the last one if nothing of it can be missing. */
static size_t length_of(const uint8_t *bytes, size_t len, bool cut)
{
	size_t whole = 0;

	for (size_t i = 0; i < len; i++)
		if (!bytes[i])
			whole = i + 1;
	return whole < len && !cut ? len + 1 : whole;
}

/* Its elements are its bytes, one after the other. */
static void walk(const struct proc *p, const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	for (const char *e = proc_argv_next(p, NULL); e; e = proc_argv_next(p, e)) {
		must(e == p->argv + at);
		at += strlen(e) + 1;
		must(at <= p->argv_len);
	}
	must(at == p->argv_len);
	must(memcmp(p->argv, bytes, at < len ? at : len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc p = { 0 };
	size_t len;
	bool cut;

	if (!size)
		return 0;
	cut = data[0] & 1;
	data++;
	len = size - 1;
	p.argv = malloc(size);
	must(p.argv != NULL);
	memcpy(p.argv, data, len);
	p.argv[len] = '\0';
	p.argv_len = cmdline_parse(p.argv, len, cut);
	must(p.argv_len == length_of(data, len, cut));
	must(!p.argv_len || !p.argv[p.argv_len - 1]);
	walk(&p, data, len);
	free(p.argv);
	return 0;
}

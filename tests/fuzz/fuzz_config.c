/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a configuration file, and as one --set. What is taken must be printed so that it is
 * taken again and means the same; what is refused must say why in one clean line.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the settings as a file. Returns false if a line would be too long for one. */
static bool print(const struct config *c, struct buf *ret)
{
	for (size_t i = 0; i < c->setting_count; i++) {
		const struct setting *s = &c->settings[i];

		if (strlen(s->key) + strlen(s->value) + 3 > CONFIG_LINE_MAX)
			return false;
		if (!i || strcmp(s->section, c->settings[i - 1].section) != 0)
			buf_printf(ret, "[%s]\n", s->section);
		buf_printf(ret, "%s = %s\n", s->key, s->value);
	}
	return !ret->failed;
}

static void read_back(const struct config *c)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct config *again = NULL;
	struct problem p;

	if (!print(c, &text))
		return;
	if (config_load_text("again", text.bytes, text.len, NULL, 0, &again, &p)) {
		(void)fprintf(stderr, "%s\n%s", p.text, text.bytes);
		abort();
	}
	assert(again->setting_count == c->setting_count);
	for (size_t i = 0; i < c->setting_count; i++)
		assert(!strcmp(again->settings[i].value, c->settings[i].value));
	assert(!memcmp(&again->policy, &c->policy, sizeof(c->policy)));
	assert(!memcmp(&again->limits, &c->limits, sizeof(c->limits)));
	assert(!memcmp(&again->classes, &c->classes, sizeof(c->classes)));
	assert(!memcmp(&again->protect, &c->protect, sizeof(c->protect)));
	config_free(again);
}

static void check(int result, struct config *c, const struct problem *p)
{
	if (!result) {
		read_back(c);
		config_free(c);
		return;
	}
	assert(p->text[0] && strlen(p->text) < sizeof(p->text));
	for (const char *s = p->text; *s; s++)
		assert((unsigned char)*s >= ' ' && *s != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *set = text;
	struct config *c = NULL;
	struct problem p;
	int r;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	r = config_load_text("file", text, size, NULL, 0, &c, &p);
	check(r, c, &p);
	c = NULL;
	r = config_load_text("file", NULL, 0, &set, 1, &c, &p);
	check(r, c, &p);
	free(text);
	return 0;
}

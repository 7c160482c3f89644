/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config_parse.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define CLASS_PREFIX   "class "
#define CLASS_CHARS    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-"
#define BLANKS         " \t"
#define SECTIONS_WORDS "[reaper], [policy], [class NAME] or [protect]"

enum {
	NAMES_MAX = 320, /* all keys of one section in a message */
	SHOWN_MAX = 64,  /* bytes of foreign text that a message quotes */
};

/* Where the scan is. */
struct cursor {
	const char *file;
	unsigned line;
	bool in_section;
	enum config_section section;
	char class_name[CLASS_NAME_MAX];
	struct config_scan *scan;
	struct problem *problem;
};

void config_problem(struct problem *p, const char *format, ...)
{
	char raw[CONFIG_PROBLEM_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	(void)log_escape(raw, strlen(raw), p->text, sizeof(p->text));
}

#define refuse(c, format, ...)                                                       \
	({                                                                           \
		config_problem((c)->problem, "%s:%u: " format, (c)->file, (c)->line, \
			       ##__VA_ARGS__);                                       \
		-EINVAL;                                                             \
	})

void config_problem_value(struct problem *p, const char *where, const struct config_key *key,
			  const char *value)
{
	char expected[NAMES_MAX];

	config_problem(p, "%s%s = %.*s; expected %s", where, key->name, SHOWN_MAX, value,
		       config_key_expected(key, expected, sizeof(expected)));
}

static const char *key_names(enum config_section section, char ret[NAMES_MAX])
{
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < KEY_COUNT && len < NAMES_MAX; i++)
		if (config_keys[i].section == section)
			len += (size_t)snprintf(ret + len, NAMES_MAX - len, "%s%s", len ? ", " : "",
						config_keys[i].name);
	return ret;
}

int config_parse_section(const char *name, enum config_section *ret_section,
			 char ret_class[CLASS_NAME_MAX])
{
	size_t len;

	for (enum config_section s = 0; s < SECTION_COUNT; s++) {
		if (s == SECTION_CLASS || strcmp(name, config_section_name(s)))
			continue;
		*ret_section = s;
		ret_class[0] = '\0';
		return 0;
	}
	if (strncmp(name, CLASS_PREFIX, strlen(CLASS_PREFIX)))
		return -EINVAL;
	name += strlen(CLASS_PREFIX);
	len = strlen(name);
	if (!len || len >= CLASS_NAME_MAX || name[strspn(name, CLASS_CHARS)])
		return -EINVAL;
	*ret_section = SECTION_CLASS;
	memcpy(ret_class, name, len + 1);
	return 0;
}

/* Remembers a class where it is first opened. */
static int note_class(struct cursor *c)
{
	struct config_scan *scan = c->scan;

	for (size_t i = 0; i < scan->class_count; i++)
		if (!strcmp(scan->classes[i].name, c->class_name))
			return 0;
	if (scan->class_count == CLASS_COUNT_MAX)
		return refuse(c, "one class more; expected at most %d", CLASS_COUNT_MAX);
	memcpy(scan->classes[scan->class_count].name, c->class_name, CLASS_NAME_MAX);
	scan->classes[scan->class_count++].line = c->line;
	return 0;
}

static int scan_section(struct cursor *c, char *line)
{
	char *end = strchr(line, ']');
	const char *rest;

	if (!end)
		return refuse(c, "%.*s; expected a ']' at its end", SHOWN_MAX, line);
	*end = '\0';
	rest = end + 1 + strspn(end + 1, BLANKS);
	if (*rest && !(*rest == ';' && rest > end + 1))
		return refuse(c,
			      "'%.*s' behind a section; expected a line of its own, or ' ;' "
			      "before a comment",
			      SHOWN_MAX, rest);
	if (config_parse_section(line + 1, &c->section, c->class_name))
		return refuse(c, "unknown section [%.*s]; expected " SECTIONS_WORDS, SHOWN_MAX,
			      line + 1);
	c->in_section = true;
	return c->section == SECTION_CLASS ? note_class(c) : 0;
}

/* Finds the line that already gave this key a value. */
static const struct config_line *find_line(const struct cursor *c, const struct config_key *key)
{
	for (size_t i = 0; i < c->scan->line_count; i++) {
		const struct config_line *l = &c->scan->lines[i];

		if (l->key == key && !strcmp(l->class_name, c->class_name))
			return l;
	}
	return NULL;
}

static size_t count_rules(const struct config_scan *scan)
{
	size_t n = 0;

	for (size_t i = 0; i < scan->line_count; i++)
		n += scan->lines[i].key->section == SECTION_PROTECT;
	return n;
}

static int note_key(struct cursor *c, const struct config_key *key)
{
	struct config_scan *scan = c->scan;
	struct config_line *l;

	if (key->section == SECTION_PROTECT) {
		if (count_rules(scan) == PROTECT_RULES_MAX)
			return refuse(c, "one rule more; expected at most %d", PROTECT_RULES_MAX);
	} else if (find_line(c, key)) {
		return refuse(c, "%s is repeated; expected it once, and it stands in line %u",
			      key->name, find_line(c, key)->line);
	}
	l = &scan->lines[scan->line_count++];
	l->key = key;
	l->line = c->line;
	memcpy(l->class_name, c->class_name, CLASS_NAME_MAX);
	return 0;
}
/* No key but a rule repeats, so what is limited above fits. */
static_assert(KEY_DAEMON_ARGS + CLASS_COUNT_MAX * (KEY_USER - KEY_DAEMON_ARGS) +
			      PROTECT_RULES_MAX <=
		      CONFIG_SETTINGS_MAX,
	      "room for every line");

static int scan_key(struct cursor *c, char *line)
{
	const struct config_key *key;
	char names[NAMES_MAX];
	char *end = strchr(line, '=');

	if (!end)
		return refuse(c,
			      "%.*s; expected KEY = VALUE, [SECTION], or a comment that begins "
			      "with '#' or ';'",
			      SHOWN_MAX, line);
	if (!c->in_section)
		return refuse(c, "a key before any section; expected " SECTIONS_WORDS " above it");
	while (end > line && strchr(BLANKS, end[-1]))
		end--;
	*end = '\0';
	key = config_key_find(c->section, line);
	if (!key)
		return refuse(c, "unknown key '%.*s' in [%s]; expected one of %s", SHOWN_MAX, line,
			      config_section_name(c->section), key_names(c->section, names));
	return note_key(c, key);
}

/* Refuses what inih would misread; the line ends in a NUL. */
static int check_bytes(struct cursor *c, const char *line, size_t len)
{
	if (len > CONFIG_LINE_MAX)
		return refuse(c, "a line of %zu bytes; expected at most %d", len, CONFIG_LINE_MAX);
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)line[i];

		if (byte == '\r')
			return refuse(c, "a carriage return; expected lines that end in a newline "
					 "alone");
		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return refuse(c, "a byte \\x%02x; expected text", byte);
	}
	return 0;
}

static int scan_line(struct cursor *c, const char *bytes, size_t len)
{
	char line[CONFIG_LINE_MAX + 1];
	size_t blanks;
	int r;

	r = check_bytes(c, bytes, len);
	if (r)
		return r;
	memcpy(line, bytes, len);
	line[len] = '\0';
	blanks = strspn(line, BLANKS);
	if (strchr("#;", line[blanks])) /* the NUL of an empty line too */
		return 0;
	if (blanks)
		return refuse(c, "an indented line; expected comments alone to be indented");
	return line[0] == '[' ? scan_section(c, line) : scan_key(c, line);
}

int config_scan(const char *name, const char *bytes, size_t len, struct config_scan *ret,
		struct problem *ret_problem)
{
	struct cursor c = { .file = name, .scan = ret, .problem = ret_problem };
	const char *end = bytes + len;

	memset(ret, 0, sizeof(*ret));
	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t line_len = (size_t)((newline ? newline : end) - bytes);
		int r;

		c.line++;
		r = scan_line(&c, bytes, line_len);
		if (r)
			return r;
		bytes += line_len + (newline ? 1 : 0);
	}
	return 0;
}

/* Copies text without the blanks around it. */
static int trim(const char *text, char *ret, size_t size)
{
	size_t len;

	text += strspn(text, BLANKS);
	len = strlen(text);
	while (len && strchr(BLANKS, text[len - 1]))
		len--;
	if (len >= size)
		return -EINVAL;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return 0;
}

/* A value that a file could not hold is refused, so that what check-config prints can be one. */
static const char *why_no_line(const struct config_set *set)
{
	if (strlen(set->key->name) + strlen(" = ") + strlen(set->value) > CONFIG_LINE_MAX)
		return "too long; expected what fits a line of 190 bytes";
	if (set->value[0] == ';' || strstr(set->value, " ;") || strstr(set->value, "\t;"))
		return "it holds ' ;'; expected none, because that begins a comment";
	for (const char *s = set->value; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 0x7f)
			return "it holds a control character; expected text";
	return NULL;
}
static_assert(CONFIG_LINE_MAX == 190, "as why_no_line() says");

int config_parse_set(const char *arg, struct config_set *ret, struct problem *ret_problem)
{
	const char *equals = strchr(arg, '=');
	const char *dot = equals ? memrchr(arg, '.', (size_t)(equals - arg)) : NULL;
	enum config_section section;
	struct config_set set = { 0 };
	char name[SHOWN_MAX], key[SHOWN_MAX], names[NAMES_MAX];

	if (!dot) {
		config_problem(ret_problem, "--set %.*s; expected SECTION.KEY=VALUE", SHOWN_MAX,
			       arg);
		return -EINVAL;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)(dot - arg), arg);
	(void)snprintf(key, sizeof(key), "%.*s", (int)(equals - dot - 1), dot + 1);
	if ((size_t)(dot - arg) >= sizeof(name) ||
	    config_parse_section(name, &section, set.class_name)) {
		config_problem(ret_problem,
			       "--set: unknown section '%s'; expected reaper, policy, "
			       "'class NAME' or protect",
			       name);
		return -EINVAL;
	}
	set.key = (size_t)(equals - dot) > sizeof(key) ? NULL : config_key_find(section, key);
	if (!set.key) {
		config_problem(ret_problem, "--set: unknown key '%s' in [%s]; expected one of %s",
			       key, name, key_names(section, names));
		return -EINVAL;
	}
	if (trim(equals + 1, set.value, sizeof(set.value)) || why_no_line(&set)) {
		config_problem(ret_problem, "--set %s.%s: %s", name, key,
			       set.value[0] ? why_no_line(&set) : "too long; expected 190 bytes");
		return -EINVAL;
	}
	*ret = set;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cli.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "base/log.h"
#include "base/parse.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif
#define SEE_HELP "; see 'reaper --help'"

struct command_row {
	const char *name;
	bool takes_pid;
	const char *help; /* at most 60 columns */
};

static const struct command_row commands[] = {
	[COMMAND_NONE] = { .name = "" },
	[COMMAND_AUDIT] = { .name = "audit",
			    .help = "show every host, daemon and worker, its verdict and why;\n"
				    "touch nothing" },
	[COMMAND_SWEEP] = { .name = "sweep",
			    .help = "one pass: end what is due, see it gone, exit" },
	[COMMAND_WATCH] = { .name = "watch", .help = "stay; sweep every interval until SIGTERM" },
	[COMMAND_EXPLAIN] = { .name = "explain",
			      .takes_pid = true,
			      .help = "every proof, guard and piece of evidence for one process,\n"
				      "and what is missing" },
	[COMMAND_RETIRE] = { .name = "retire",
			     .takes_pid = true,
			     .help = "your word that a worker is given up: shows what it is,\n"
				     "then writes a marker" },
	[COMMAND_DOCTOR] = { .name = "doctor",
			     .help = "what can be seen and done from here, and what to change" },
	[COMMAND_CHECK_CONFIG] = { .name = "check-config",
				   .help = "read the configuration, print every setting and its "
					   "origin" },
};
static_assert(ARRAY_SIZE(commands) == COMMAND_COUNT, "a row for each command");

/* Long options without a letter. */
enum {
	OPTION_HOST = 256,
	OPTION_SET,
	OPTION_JSON,
};

static const struct option long_options[] = {
	{ .name = "config", .has_arg = required_argument, .val = 'c' },
	{ .name = "dry-run", .has_arg = no_argument, .val = 'n' },
	{ .name = "host", .has_arg = required_argument, .val = OPTION_HOST },
	{ .name = "set", .has_arg = required_argument, .val = OPTION_SET },
	{ .name = "json", .has_arg = no_argument, .val = OPTION_JSON },
	{ .name = "quiet", .has_arg = no_argument, .val = 'q' },
	{ .name = "verbose", .has_arg = no_argument, .val = 'v' },
	{ .name = "version", .has_arg = no_argument, .val = 'V' },
	{ .name = "help", .has_arg = no_argument, .val = 'h' },
	{ .name = NULL },
};

/*
 * '-': operands come in their order, as the option 1, so options may follow them whatever
 * POSIXLY_CORRECT says. ':': a missing argument is told from an unknown option.
 */
static const char short_options[] = "-:c:nqvVh";

static const char options_help[] =
	"  -n, --dry-run       decide as usual, signal nothing; alone it means audit\n"
	"      --host PID      only this JVM's tree (may be repeated)\n"
	"      --set SECTION.KEY=VALUE\n"
	"                      override the file (may be repeated)\n"
	"      --json          one JSON document; watch: one line per event\n"
	"  -q, --quiet         errors only\n"
	"  -v, --verbose       say more\n"
	"  -V, --version       print the version\n"
	"  -h, --help          print this text\n";

static const char statuses_help[] =
	"Exit status: 0 nothing is left leaking; 1 a leak remains; 2 usage or\n"
	"configuration error; 3 could not see or act as asked; 4 another reaper acts.\n";

/* Writes a help text, its further lines below its first. */
static void print_help_text(FILE *out, const char *help)
{
	for (; *help; help++) {
		(void)fputc(*help, out);
		if (*help == '\n')
			(void)fprintf(out, "%17s", "");
	}
	(void)fputc('\n', out);
}

static void print_usage(FILE *out)
{
	(void)fputs("Usage: reaper [OPTIONS] COMMAND\n\n"
		    "Find Python workers that a JVM left behind, prove that nobody will use them\n"
		    "again, and end them.\n\nCommands:\n",
		    out);
	for (size_t i = COMMAND_NONE + 1; i < COMMAND_COUNT; i++) {
		const struct command_row *row = &commands[i];
		int width = row->takes_pid ? (int)strlen(row->name) : 13;

		(void)fprintf(out, "  %-*s%-*s  ", width, row->name, 13 - width,
			      row->takes_pid ? " PID" : "");
		print_help_text(out, row->help);
	}
	(void)fputs("\nOptions, before or after the command:\n", out);
	(void)fprintf(out, "  -c, --config FILE   default: %s, if it is there\n",
		      config_default_path());
	(void)fputs(options_help, out);
	(void)fputc('\n', out);
	(void)fputs(statuses_help, out);
}

/* What was printed must have reached its reader. */
static int finish_stdout(void)
{
	return fflush(stdout) || ferror(stdout) ? EXIT_BLIND : EXIT_CLEAN;
}

/* Tells whether one letter was left out, added or changed, or two were swapped: a slip of the finger. */
static bool is_slip(const char *typed, const char *meant)
{
	size_t a = strlen(typed), b = strlen(meant), head = 0, tail = 0, left_a, left_b;

	while (head < a && head < b && typed[head] == meant[head])
		head++;
	while (tail < a - head && tail < b - head && typed[a - 1 - tail] == meant[b - 1 - tail])
		tail++;
	left_a = a - head - tail;
	left_b = b - head - tail;
	if (left_a == 2 && left_b == 2)
		return typed[head] == meant[head + 1] && typed[head + 1] == meant[head];
	return left_a <= 1 && left_b <= 1;
}

static int unknown_command(const char *typed)
{
	for (size_t i = COMMAND_NONE + 1; i < COMMAND_COUNT; i++)
		if (is_slip(typed, commands[i].name)) {
			log_error("unknown command '%s'; did you mean '%s'?", typed,
				  commands[i].name);
			return EXIT_USAGE;
		}
	log_error("unknown command '%s'" SEE_HELP, typed);
	return EXIT_USAGE;
}

static int take_pid(const char *what, const char *text, pid_t *ret)
{
	if (!parse_pid(text, ret))
		return -1;
	log_error("%s: '%s' is no process number; expected 1 to 4194304", what, text);
	return EXIT_USAGE;
}

static int take_operand(struct options *o, const char *text)
{
	if (o->command == COMMAND_NONE) {
		for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
			if (!strcmp(text, commands[c].name)) {
				o->command = c;
				return -1;
			}
		return unknown_command(text);
	}
	if (commands[o->command].takes_pid && !o->pid)
		return take_pid(commands[o->command].name, text, &o->pid);
	log_error("%s: one argument too many, '%s'" SEE_HELP, commands[o->command].name, text);
	return EXIT_USAGE;
}

static int take_host(struct options *o, const char *text)
{
	pid_t pid;
	int r;

	r = take_pid("--host", text, &pid);
	if (r >= 0)
		return r;
	for (size_t i = 0; i < o->host_count; i++)
		if (o->hosts[i] == pid)
			return -1;
	if (o->host_count == CLI_HOSTS_MAX) {
		log_error("--host: expected at most %d of them", CLI_HOSTS_MAX);
		return EXIT_USAGE;
	}
	o->hosts[o->host_count++] = pid;
	return -1;
}

static int take_set(struct options *o, const char *text)
{
	if (o->set_count == CLI_SETS_MAX) {
		log_error("--set: expected at most %d of them", CLI_SETS_MAX);
		return EXIT_USAGE;
	}
	o->sets[o->set_count++] = text;
	return -1;
}

/* getopt names a long option not at all, and a short one by its letter. */
static int bad_option(const char *text, const char *why)
{
	if (strncmp(text, "--", 2))
		log_error("%s '-%c'" SEE_HELP, why, optopt);
	else
		log_error("%s '%s'" SEE_HELP, why, text);
	return EXIT_USAGE;
}

/* One option with its optarg; text is the argument in which it stands. */
static int take_option(struct options *o, int option, const char *text)
{
	switch (option) {
	case 1:
		return take_operand(o, optarg);
	case 'c':
		o->config_path = optarg;
		return -1;
	case 'n':
		o->dry_run = true;
		return -1;
	case OPTION_HOST:
		return take_host(o, optarg);
	case OPTION_SET:
		return take_set(o, optarg);
	case OPTION_JSON:
		o->json = true;
		return -1;
	case 'q':
	case 'v': /* the last of the two holds */
		o->quiet = option == 'q';
		o->verbose = option == 'v';
		return -1;
	case 'V':
		(void)puts("reaper " PACKAGE_VERSION);
		return finish_stdout();
	case 'h':
		print_usage(stdout);
		return finish_stdout();
	case ':':
		return bad_option(text, "nothing behind option");
	default:
		return bad_option(text, "unknown option");
	}
}

/* What is known only behind the last argument. */
static int finish(struct options *o)
{
	if (o->command == COMMAND_NONE && o->dry_run)
		o->command = COMMAND_AUDIT;
	if (o->command == COMMAND_NONE) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (commands[o->command].takes_pid && !o->pid) {
		log_error("%s: no PID" SEE_HELP, commands[o->command].name);
		return EXIT_USAGE;
	}
	return -1;
}

int cli_parse(int argc, char **argv, struct options *ret)
{
	struct options o = { 0 };
	int r = -1;

	opterr = 0;
	optind = 0; /* glibc: begin anew, also after an earlier call */
	while (r < 0) {
		const char *text = argv[MIN(MAX(optind, 1), argc)];
		int option = getopt_long(argc, argv, short_options, long_options, NULL);

		if (option == -1)
			break;
		r = take_option(&o, option, text);
	}
	while (r < 0 && optind < argc) /* behind "--" */
		r = take_operand(&o, argv[optind++]);
	if (r < 0)
		r = finish(&o);
	if (r < 0)
		*ret = o;
	return r;
}

/* The order in which an exit status counts, least first. */
static int rank_of(int status)
{
	static const int order[] = { EXIT_CLEAN, EXIT_LEAK, EXIT_BLIND, EXIT_LOCKED, EXIT_USAGE };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i] == status)
			return (int)i;
	return (int)ARRAY_SIZE(order);
}

int cli_worse(int a, int b)
{
	return rank_of(a) >= rank_of(b) ? a : b;
}

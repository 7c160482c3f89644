/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reaper: ends the Python workers that a JVM left behind, and nothing else.
 *
 * The map of all files. Floors are folders; an arrow never points up (docs/ARCHITECTURE.md).
 *
 * - main(): reads the command line and the configuration, drops privileges, runs one command
 *     - app/cli		argv
 *     - app/config		the INI file and --set; config_keys: the table of keys
 *     - app/caps		which capabilities are there; drops the rest
 *     - app/sandbox		the seccomp filter: which signal calls the kernel lets us make
 *     - app/output		stdout
 *     - app/commands.h	what it calls
 * - commands
 *     - app/audit		audit
 *     - app/checkup		doctor (app/doctor: its checks), check-config
 *     - app/sweep		sweep
 *     - app/watch		watch: decides what each sweep of it does; app/loop waits for it;
 *				watch_members: whom it follows; watch_exits: how they end
 *     - app/explain		explain, retire
 *     - app/round		one acting round, of sweep and of watch
 *     - app/lock, history_file, memory_file, notify	state_dir (state_file), and the service manager
 * - one look, from /proc to verdicts
 *     - app/look		the conductor; look_argv: argv, once per exec; look_sockets: task sockets;
 *				look_runs: when hosts ran; look_writers: who still writes to workers;
 *				look_protect: [protect]; look_memory: how memory goes;
 *				look_crashes: crash loops; look_judge: verdicts
 *     - observe/processes	the census, by libproc2; cmdline_parse: argv
 *     - observe/evidence	one process through its pinned directory; proc_parse, status_parse, cpu_clock
 *     - observe/exit_info	how a process ended that is no child of ours
 *     - observe/host_threads	the threads by which a host feeds its workers
 *     - observe/sockets	sock_diag and /proc/<pid>/net; net_parse, diag_parse, diag_reply;
 *				given: by sockets that a service manager made
 *     - observe/markers	marker logs; marker_parse
 *     - observe/mm_file	files of /proc that a process can keep from being read; for argv and its share
 *     - observe/room		how much memory is left; room_parse
 *     - observe/self		what we are ourselves
 *     - correlate/tree		who is who; members: workers, helpers, those that lost their daemon
 *     - correlate/task_socket	which socket, and who holds its other end
 *     - correlate/writers	whether a host may still write to a worker
 *     - correlate/wait		what a thread waits in
 *     - correlate/ledger	what the marker logs say
 *     - correlate/history	what earlier looks saw
 *     - correlate/growth, oom	whose memory grows, and whom the kernel would kill for it
 *     - correlate/exits		which ends are crashes, how many, and who came after
 *     - correlate/activity	what it does: progress, and since when it is in one wait
 *     - correlate/correlate	all of it put together: struct facts
 *     - decide/fence		the proofs
 *     - decide/guard		what objects to them
 *     - decide/decide		one worker, one verdict
 * - one kill, from verdicts to an exit that was seen
 *     - decide/plan		order and limits
 *     - app/reap		pin, look again, intents, signals; reap_helpers: what lies below;
 *				reap_check: the last word before a signal
 *     - act/act		the only place that signals
 * - what people and programs read
 *     - report/text, words	text for people; line: columns and colours; endpoint: addresses
 *     - report/json		JSON
 *     - report/audit_log, metrics	files
 * - model/			what flows between the stages
 * - base/			bytes, numbers, files, clocks, messages, pins
 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "app/caps.h"
#include "app/commands.h"
#include "app/sandbox.h"
#include "base/log.h"

static bool may_signal(const struct options *o)
{
	return !o->dry_run && (o->command == COMMAND_SWEEP || o->command == COMMAND_WATCH);
}

/* A promise that cannot be kept is not made: without the filter nothing is signalled. */
static int confine(const struct options *o)
{
	int err = caps_drop(may_signal(o));

	if (err < 0) {
		log_error("cannot drop privileges: %s%s", strerror(-err),
			  err == -EPERM
				  ? "; where capset(2) is refused, CapabilityBoundingSet= must "
				    "give no more than is kept"
				  : "");
		return EXIT_BLIND;
	}
	err = sandbox_enter(may_signal(o));
	if (err < 0) {
		log_error("cannot install the seccomp filter: %s", strerror(-err));
		return EXIT_BLIND;
	}
	return 0;
}

static int run(const struct options *o, struct config *c, const struct caps *caps)
{
	switch (o->command) {
	case COMMAND_AUDIT:
		return command_audit(o, c);
	case COMMAND_SWEEP:
		return o->dry_run ? command_audit(o, c) : command_sweep(o, c);
	case COMMAND_WATCH:
		return command_watch(o, c);
	case COMMAND_EXPLAIN:
		return command_explain(o, c);
	case COMMAND_RETIRE:
		return command_retire(o, c);
	case COMMAND_DOCTOR:
		return command_doctor(o, c, caps);
	case COMMAND_CHECK_CONFIG:
		return command_check_config(o, c);
	case COMMAND_NONE:
	case COMMAND_COUNT:
		break;
	}
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct options options;
	struct config *config;
	struct problem problem;
	struct caps caps;
	int status;

	(void)setlocale(LC_CTYPE, "");
	/* A reader that went away, or a full file, is no reason to stop half-way. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	status = cli_parse(argc, argv, &options);
	if (status >= 0)
		return status;
	log_set_level(options.quiet ? LOG_QUIET : options.verbose ? LOG_VERBOSE : LOG_NORMAL);
	if (config_load(options.config_path, options.sets, options.set_count, &config, &problem) <
	    0) {
		log_error("%s", problem.text);
		return EXIT_USAGE;
	}
	if (caps_read(&caps) < 0)
		caps = (struct caps){ 0 };
	status = confine(&options);
	if (status) {
		config_free(config);
		return status;
	}
	status = run(&options, config, &caps);
	if (options.command != COMMAND_WATCH)
		config_free(config);
	return status;
}

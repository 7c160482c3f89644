/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "app/commands.h"
#include "app/history_file.h"
#include "app/memory_file.h"
#include "app/output.h"
#include "app/round.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "report/json.h"

enum {
	SAMPLE_LEAST_MS = 100, /* a sweep always looks twice */
	POLL_MOST_MS = 1000,
};

/* SIGTERM and SIGINT end a sweep between two steps, never within one. */
static int open_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int wait_ms(const struct round *r)
{
	uint64_t now = clock_boot_ms(), deadline = reap_deadline_ms(&r->reap);

	if (deadline <= now)
		return 0;
	return (int)MIN(deadline - now, (uint64_t)POLL_MOST_MS);
}

static size_t list_pidfds(const struct round *r, struct pollfd *fds)
{
	size_t count = 0;

	for (size_t i = 0; i < r->reap.count; i++)
		if (reap_waits_for(&r->reap.victims[i]))
			fds[count++] =
				(struct pollfd){ .fd = r->reap.victims[i].pidfd, .events = POLLIN };
	return count;
}

/* @return true: go on; false: we are told to stop. */
static bool wait_for_something(const struct round *r, int signals)
{
	_cleanup_free_ struct pollfd *fds = calloc(r->reap.count + 1, sizeof(*fds));
	size_t count;

	if (!fds) {
		clock_sleep_ms(SAMPLE_LEAST_MS);
		return true;
	}
	count = list_pidfds(r, fds);
	fds[count] = (struct pollfd){ .fd = signals, .events = POLLIN };
	if (poll(fds, count + 1, wait_ms(r)) < 0 && errno != EINTR)
		return false;
	return !(fds[count].revents & POLLIN);
}

/* -v: one line per event; else one document, or silence. */
static int print_sweep(const struct options *o, const struct round *r)
{
	static const struct action_record none;
	_cleanup_(buf_done) struct buf text = { 0 };
	struct event e = { .kind = EVENT_SWEEP, .wall_ms = clock_wall_ms(), .audit = &r->audit };
	int err = 0;

	if (o->verbose)
		output_event(o, &e);
	else if (o->json)
		err = json_audit(&r->audit, r->records ? r->records : &none, r->record_count,
				 &text);
	return err < 0 ? err : output_text(&text);
}

static int finish(const struct options *o, struct round *r)
{
	int err = print_sweep(o, r);
	int status = round_left(r) ? EXIT_LEAK : EXIT_CLEAN;

	if (err < 0)
		log_error("cannot write what was done: %s", strerror(-err));
	if (r->config->metrics_file[0]) {
		r->metrics.sweeps++;
		err = metrics_write(r->config->metrics_file, &r->metrics, &r->audit);
		if (err < 0)
			log_error("metrics %s: %s", r->config->metrics_file, strerror(-err));
	}
	return cli_worse(status, err < 0 || r->error ? EXIT_BLIND : EXIT_CLEAN);
}

static int act(const struct options *o, struct round *r, int signals)
{
	int err = round_look(r, MAX(r->config->sample_ms, (uint64_t)SAMPLE_LEAST_MS));
	int status;

	if (err == 0)
		err = round_begin(r);
	if (err == -ECANCELED) {
		log_error("told to stop: nothing was ended");
		return EXIT_BLIND;
	}
	if (err < 0 && !r->audit_taken)
		return command_look_failed(r->look, err);
	if (err < 0)
		round_say_failed(r, err);
	while (round_step(r))
		if (!wait_for_something(r, signals)) {
			round_stop(r, "reaper was told to stop before it was gone");
			break;
		}
	round_clean_markers(r);
	status = finish(o, r);
	return cli_worse(status, err < 0 ? EXIT_BLIND : EXIT_CLEAN);
}

/* Nothing that is ended depends on it. */
static void save_memory(const struct config *c, const struct look *l)
{
	int err = 0;

	if (l->growth.count)
		err = memory_file_save(c->state_dir, l->self.boot_id, &l->growth);
	if (err < 0)
		log_error("memory in %s: %s, going on without", c->state_dir, strerror(-err));
}

static int locked_sweep(const struct options *o, const struct config *c, struct look *l)
{
	_cleanup_close_ int signals = open_signals();
	_cleanup_(round_close) struct round r = { .log = { .fd = -1 } };
	int err, status;

	if (signals < 0) {
		log_error("cannot wait for signals: %s", strerror(-signals));
		return EXIT_BLIND;
	}
	err = round_open(o, c, l, &r);
	if (err < 0) {
		log_error("audit log %s: %s; without it nothing is ended", c->audit_log,
			  strerror(-err));
		return EXIT_BLIND;
	}
	l->stop_fd = signals;
	r.announce = o->verbose || (!o->json && !o->quiet);
	status = command_remember(c, true, l);
	if (status)
		return status;
	status = act(o, &r, signals);
	save_memory(c, l);
	err = history_file_save(c->state_dir, l->self.boot_id, &l->history);
	if (err < 0) {
		log_error("history in %s: %s", c->state_dir, strerror(-err));
		status = cli_worse(status, EXIT_BLIND);
	}
	return status;
}

int command_sweep(const struct options *o, const struct config *c)
{
	_cleanup_(look_close) struct look l = { 0 };
	_cleanup_close_ int lock = -1;
	int status;

	lock = command_take_lock(c, &status);
	if (lock < 0)
		return status;
	status = command_open_look(o, c, &l);
	return status ? status : locked_sweep(o, c, &l);
}

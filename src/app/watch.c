/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/commands.h"
#include "app/history_file.h"
#include "app/loop.h"
#include "app/memory_file.h"
#include "app/notify.h"
#include "app/output.h"
#include "app/round.h"
#include "app/watch_exits.h"
#include "app/watch_members.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "correlate/tree.h"

enum {
	STATUS_EVERY_MS = 60 * 1000, /* of the status line, and of saving the history */
	MEMORY_EVERY_MS = 10 * 1000, /* of saving how memory went, which audit and explain show */
	RETRY_MS = 1000,             /* where it cannot wait: a signal is heard within this time */
	HOSTS_KNOWN_MAX = 1024,
};

struct watch {
	const struct options *options;
	struct config *config; /* owned */
	struct look look;
	struct round round;
	struct loop loop;
	struct watch_exits exits;
	struct notify notify;
	int lock;
	bool stopping;
	int status;                          /* of the program, once it watches */
	uint64_t status_ms;                  /* boot clock of the last status line; 0: none */
	uint64_t memory_ms;                  /* of the last saving of memory; 0: none */
	struct ident known[HOSTS_KNOWN_MAX]; /* hosts of the last sweep */
	size_t known_count;
};

static void say(const struct watch *w, struct event *e)
{
	e->wall_ms = clock_wall_ms();
	if (!w->options->quiet)
		output_event(w->options, e);
}

static void say_exit(void *arg, struct event *e)
{
	say(arg, e);
}

static void say_text(const struct watch *w, enum event_kind kind, const char *text)
{
	struct event e = { .kind = kind };

	(void)snprintf(e.text, sizeof(e.text), "%s", text);
	say(w, &e);
}

/* What a person calls a decision: the action, and with a proof or past silent_after also the reason.
 * Going to and from the pool is daily life. */
static enum reason shown_reason(const struct verdict *v)
{
	bool calm = v->action == ACTION_KEEP && v->fence == FENCE_NONE;

	return calm ? REASON_IDLE : v->reason;
}

static bool is_news(struct history_entry *e, const struct verdict *v)
{
	enum reason reason = shown_reason(v);
	bool first = !e->shown;
	bool same = e->action == v->action && e->reason == reason;

	e->shown = true;
	e->action = v->action;
	e->reason = reason;
	if (first)
		return v->action != ACTION_KEEP || v->fence != FENCE_NONE;
	return !same;
}

static void say_changes(struct watch *w)
{
	const struct audit *a = &w->round.audit;

	for (size_t i = 0; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];
		struct history_entry *e = history_find(&w->look.history, s->id);
		struct event event = { .kind = EVENT_VERDICT, .audit = a, .subject = s };

		if (e && is_news(e, &s->verdict))
			say(w, &event);
	}
	for (size_t i = 0; i < a->daemon_count; i++) {
		const struct daemon *d = &a->daemons[i];
		struct history_entry *e = history_find(&w->look.history, d->id);
		struct event event = { .kind = EVENT_VERDICT, .audit = a, .daemon = d };

		if (e && is_news(e, &d->verdict))
			say(w, &event);
	}
}

static void say_host_gone(struct watch *w, struct ident id)
{
	const struct proc *p = snapshot_find(&w->round.audit.snapshot, id.pid);
	struct event e = { .kind = EVENT_HOST_GONE, .host = id };

	(void)snprintf(e.text, sizeof(e.text), "host %d has exited%s", id.pid,
		       p && !ident_equal(p->id, id) ? "; another process has its number now" : "");
	say(w, &e);
}

static bool is_there(const struct audit *a, struct ident id)
{
	const struct proc *p = snapshot_find(&a->snapshot, id.pid);

	return p && !tree_is_nothing(p) && ident_equal(p->id, id);
}

static void notice_hosts(struct watch *w)
{
	const struct audit *a = &w->round.audit;

	for (size_t i = 0; i < w->known_count; i++)
		if (!is_there(a, w->known[i]))
			say_host_gone(w, w->known[i]);
	w->known_count = MIN(a->host_count, (size_t)HOSTS_KNOWN_MAX);
	for (size_t i = 0; i < w->known_count; i++)
		w->known[i] = a->hosts[i].id;
}

/* Every --host and its tree is gone: there is nothing left to watch. */
static bool is_finished(const struct watch *w)
{
	const struct audit *a = &w->round.audit;

	if (!w->look.named_count || a->subject_count || a->daemon_count)
		return false;
	for (size_t i = 0; i < w->look.named_count; i++)
		if (is_there(a, w->look.named[i]))
			return false;
	return true;
}

static void save_history(struct watch *w)
{
	int err;

	if (w->options->dry_run)
		return;
	err = history_file_save(w->config->state_dir, w->look.self.boot_id, &w->look.history);
	if (err < 0)
		log_error("history in %s: %s, going on without", w->config->state_dir,
			  strerror(-err));
}

static void save_memory(struct watch *w)
{
	const struct growth *g = &w->look.growth;
	int err;

	if (w->options->dry_run || (!g->count && !w->memory_ms))
		return;
	w->memory_ms = clock_boot_ms();
	err = memory_file_save(w->config->state_dir, w->look.self.boot_id, g);
	if (err < 0)
		log_error("memory in %s: %s, going on without", w->config->state_dir,
			  strerror(-err));
}

static void say_status(struct watch *w)
{
	const struct audit *a = &w->round.audit;
	struct audit_summary sum = audit_summarise(a);
	struct event e = { .kind = EVENT_SWEEP, .audit = a };
	uint64_t now = clock_boot_ms();

	notify_send(&w->notify, "STATUS=%u workers, %u suspect, %u due", sum.workers, sum.suspect,
		    sum.reap);
	if (w->status_ms && now < w->status_ms + STATUS_EVERY_MS)
		return;
	w->status_ms = now;
	say(w, &e);
	save_history(w);
	round_clean_markers(&w->round);
}

static void write_metrics(struct watch *w)
{
	int err;

	w->round.metrics.sweeps++;
	if (!w->config->metrics_file[0] || w->options->dry_run)
		return;
	err = metrics_write(w->config->metrics_file, &w->round.metrics, &w->round.audit);
	if (err < 0)
		log_error("metrics %s: %s, going on without", w->config->metrics_file,
			  strerror(-err));
}

static void rotate_log(struct watch *w)
{
	if (w->options->dry_run)
		return;
	w->round.log_error = audit_log_reopen(&w->round.log);
	if (w->round.log_error)
		log_error("audit log %s: %s; nothing is ended without it", w->config->audit_log,
			  strerror(-w->round.log_error));
}

static void watch_for_ends(struct watch *w)
{
	if (watch_members_update(&w->exits, &w->round.audit, &w->round.reap) < 0)
		log_error("some processes are not watched for their end: no memory");
}

static bool look(struct watch *w)
{
	int err = round_look(&w->round, 0);

	if (err == 0)
		return true;
	w->round.metrics.errors++;
	log_error("cannot look at processes: %s", strerror(-err));
	return false;
}

static void begin_to_end(struct watch *w)
{
	int err = round_begin(&w->round);

	if (err == 0)
		return;
	w->round.metrics.errors++;
	round_say_failed(&w->round, err);
}

static void sweep_once(struct watch *w)
{
	watch_exits_read(&w->exits, &w->round.reap); /* while it is known whom we ended */
	round_end(&w->round);
	rotate_log(w);
	if (!look(w))
		return;
	notice_hosts(w);
	say_changes(w); /* why, before who is gone at once is told as gone */
	begin_to_end(w);
	watch_for_ends(w);
	if (clock_boot_ms() >= w->memory_ms + MEMORY_EVERY_MS)
		save_memory(w);
	say_status(w);
	write_metrics(w);
	if (!w->round.reaping && is_finished(w)) {
		say_text(w, EVENT_STOP, "every --host and its tree is gone");
		w->stopping = true;
	}
}

/* All of it or nothing. */
static int adopt(struct watch *w, struct config *fresh)
{
	bool moved = !w->options->dry_run && strcmp(fresh->audit_log, w->config->audit_log) != 0;
	struct audit_log log;
	int err = moved ? audit_log_open(fresh->audit_log, &log) : 0;

	if (err < 0)
		return err;
	err = look_reconfigure(&w->look, fresh);
	if (err == 0)
		err = loop_set_interval(&w->loop, fresh->interval_ms);
	if (moved && err == 0) {
		audit_log_close(&w->round.log);
		w->round.log = log;
	} else if (moved) {
		audit_log_close(&log);
	}
	if (err == 0)
		w->round.log.path = fresh->audit_log;
	return err;
}

static void keep_old(struct watch *w, const char *why)
{
	log_error("the old settings are kept: %s", why);
	say_text(w, EVENT_RELOAD, "the new settings are bad: the old ones are kept");
}

static void reload(struct watch *w)
{
	const struct options *o = w->options;
	struct config *fresh, *old = w->config;
	struct problem problem;

	notify_reloading(&w->notify);
	if (config_load(o->config_path, o->sets, o->set_count, &fresh, &problem) < 0) {
		keep_old(w, problem.text);
	} else if (strcmp(fresh->state_dir, old->state_dir) != 0) {
		keep_old(w, "reaper.state_dir holds the lock: another one needs a restart");
		config_free(fresh);
	} else if (adopt(w, fresh) < 0) {
		keep_old(w, "they could not be taken into use");
		w->look.config = old;
		config_free(fresh);
	} else {
		w->config = fresh;
		w->round.config = fresh;
		config_free(old);
		say_text(w, EVENT_RELOAD, "new settings are in use");
	}
	notify_send(&w->notify, "READY=1");
}

/* Not while somebody is being ended: the look that justifies it comes first. */
static void take_census(struct watch *w)
{
	int err;

	if (w->round.reaping || clock_boot_ms() < watch_members_census_ms(&w->exits))
		return;
	err = watch_members_census(&w->exits, &w->round.reap);
	if (err < 0)
		log_verbose("no census between two sweeps: %s, ignoring", strerror(-err));
}

static void stop(struct watch *w, bool deaf)
{
	round_stop(&w->round, "reaper was told to stop before it was gone");
	if (deaf) {
		log_error("cannot read signals, which could stop it: stopping now");
		w->status = EXIT_BLIND;
	}
	say_text(w, EVENT_STOP, deaf ? "signals cannot be read" : "told to stop");
	w->stopping = true;
}

static void handle(struct watch *w, struct loop_news *news)
{
	watch_exits_read(&w->exits, &w->round.reap);
	if (w->round.reaping && !round_step(&w->round))
		w->status_ms = 0; /* tell how it went */
	if (news->stop || news->deaf) {
		stop(w, !news->stop);
		return;
	}
	/* A round that still ends somebody is finished with the settings it began with. */
	if (news->reload && !w->round.reaping) {
		reload(w);
		news->reload = false;
	}
	if (news->tick && !w->round.reaping)
		sweep_once(w);
	take_census(w);
	notify_send(&w->notify, "WATCHDOG=1");
}

/* The service manager's watchdog, and the next census. */
static uint64_t longest_wait(const struct watch *w)
{
	uint64_t most = w->notify.watchdog_ms ? w->notify.watchdog_ms / 2 : UNKNOWN_U64;
	uint64_t census_ms = watch_members_census_ms(&w->exits), now = clock_boot_ms();

	if (census_ms == UNKNOWN_U64 || w->round.reaping)
		return most;
	return MIN(most, census_ms > now ? census_ms - now : 0);
}

/* From here on nothing but a signal, or the end of what is watched, ends the program. */
static void run(struct watch *w)
{
	bool reload_later = false;

	while (!w->stopping) {
		const struct reap *reap = w->round.reaping ? &w->round.reap : NULL;
		struct loop_news news;
		int err = loop_wait(&w->loop, reap, longest_wait(w), &news);

		news.reload |= reload_later;
		if (err < 0 && !news.stop && !news.deaf) {
			log_error("cannot wait: %s, trying again", strerror(-err));
			clock_sleep_ms(RETRY_MS);
			reload_later = news.reload;
			continue;
		}
		handle(w, &news);
		reload_later = news.reload;
	}
}

static int start(struct watch *w)
{
	int err = 0, status;

	if (!w->options->dry_run)
		err = round_open(w->options, w->config, &w->look, &w->round);
	else
		w->round = (struct round){ .options = w->options,
					   .config = w->config,
					   .look = &w->look,
					   .log = { .fd = -1 } };
	if (err < 0) {
		log_error("audit log %s: %s; without it nothing is ended", w->config->audit_log,
			  strerror(-err));
		return EXIT_BLIND;
	}
	w->round.announce = !w->options->quiet;
	status = command_remember(w->config, !w->options->dry_run, &w->look);
	if (status)
		return status;
	err = loop_open(&w->loop);
	if (err == 0)
		err = watch_exits_open(&w->look, say_exit, w, w->options->verbose, &w->exits);
	w->loop.exits = w->exits.epoll;
	if (err == 0)
		err = loop_set_interval(&w->loop, w->config->interval_ms);
	if (err < 0)
		log_error("cannot watch: %s", strerror(-err));
	return err < 0 ? EXIT_BLIND : 0;
}

/* A --host that is not there, or may not be read, is said at once. */
static int first_look(struct watch *w)
{
	_cleanup_(audit_done) struct audit a = { 0 };
	int err = w->look.named_count ? look_take(&w->look, &a) : 0;

	return err < 0 ? command_look_failed(&w->look, err) : 0;
}

static int watch_locked(struct watch *w)
{
	int status = command_open_look(w->options, w->config, &w->look);

	if (!status)
		status = start(w);
	if (!status)
		status = first_look(w);
	if (status)
		return status;
	notify_open(&w->notify);
	say_text(w, EVENT_START,
		 w->options->dry_run ? "watching; a dry run signals nobody" : "watching");
	notify_send(&w->notify, "READY=1");
	run(w);
	notify_send(&w->notify, "STOPPING=1");
	save_history(w);
	save_memory(w);
	return w->status;
}

int command_watch(const struct options *o, struct config *c)
{
	struct watch w = {
		.options = o,
		.config = c,
		.lock = -1,
		.loop = { .signals = -1, .timer = -1, .exits = -1 },
		.exits = { .epoll = -1 },
		.notify = { .fd = -1 },
		.round = { .log = { .fd = -1 } },
	};
	int status = 0;

	if (!o->dry_run)
		w.lock = command_take_lock(c, &status);
	if (!status)
		status = watch_locked(&w);
	watch_exits_close(&w.exits);
	round_close(&w.round);
	look_close(&w.look);
	loop_close(&w.loop);
	notify_close(&w.notify);
	fs_close(&w.lock);
	config_free(w.config);
	return status;
}

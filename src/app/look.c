/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "app/look_argv.h"
#include "app/look_judge.h"
#include "app/look_memory.h"
#include "app/look_runs.h"
#include "app/look_sockets.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/pin.h"
#include "correlate/correlate.h"
#include "correlate/tree.h"
#include "model/grow.h"
#include "observe/evidence.h"

int look_open(const struct config *config, const pid_t *hosts, size_t host_count, struct look *ret)
{
	struct look l = { .config = config, .named_count = host_count, .stop_fd = -1 };
	int err = self_read(&l.self);

	for (size_t i = 0; i < host_count; i++)
		l.named[i].pid = hosts[i];

	if (err == 0)
		err = processes_open(&l.processes);
	if (err == 0)
		err = cpu_clock_new(&l.clock);
	if (err == 0)
		err = markers_new(config->marker_dir, &l.markers);
	if (err == 0 && sockets_open(&l.sockets) < 0)
		l.sockets = NULL; /* /proc/<pid>/net shows less, and doctor says so */
	if (err == 0) {
		l.ledger = ledger_new(l.self.boot_id);
		err = l.ledger ? 0 : -ENOMEM;
	}
	if (err < 0) {
		look_close(&l);
		return err;
	}
	*ret = l;
	return 0;
}

int look_reconfigure(struct look *l, const struct config *config)
{
	struct markers *markers;
	struct ledger *ledger;
	int err = markers_new(config->marker_dir, &markers);

	if (err < 0)
		return err;
	ledger = ledger_new(l->self.boot_id);
	if (!ledger) {
		markers_free(markers);
		return -ENOMEM;
	}
	markers_free(l->markers);
	ledger_free(l->ledger);
	l->markers = markers;
	l->ledger = ledger;
	l->logs_read = false;
	l->config = config;
	/* Changed classes give other members; changed thresholds begin with fresh windows. */
	for (size_t i = 0; i < l->daemon_count; i++)
		l->daemons[i].class_index = -1;
	for (size_t i = 0; i < l->history.count; i++) {
		l->history.entries[i].class_index = -1;
		l->history.entries[i].daemon.pid = 0;
		l->history.entries[i].looks = 0;
		l->history.entries[i].wait_known = false;
		for (size_t f = 0; f < FENCE_COUNT; f++)
			l->history.entries[i].fence_ms[f] = UNKNOWN_U64;
	}
	return 0;
}

void look_close(struct look *l)
{
	look_argv_forget(l);
	look_runs_free(l);
	free(l->daemons);
	free(l->helpers);
	history_done(&l->history);
	growth_done(&l->growth);
	exits_done(&l->exits);
	ledger_free(l->ledger);
	markers_free(l->markers);
	cpu_clock_free(l->clock);
	sockets_close(l->sockets);
	processes_close(l->processes);
	memset(l, 0, sizeof(*l));
}

static int compare_pins(const void *key, const void *member)
{
	return ident_compare(*(const struct ident *)key, ((const struct look_pin *)member)->id);
}

int look_pinned(const struct look *l, struct ident id)
{
	const struct look_pin *pin = NULL;

	if (l->pin_count)
		pin = bsearch(&id, l->pins, l->pin_count, sizeof(*l->pins), compare_pins);
	return pin ? pin->dirfd : -1;
}

/* What earlier looks of this run saw as a living daemon's children. */
static int remember(const struct history *h, struct tree_memory **ret, size_t *ret_count)
{
	_cleanup_free_ struct tree_memory *memory = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < h->count; i++) {
		const struct history_entry *e = history_at(h, i);
		struct tree_memory *more;

		if (!e->daemon.pid || e->class_index < 0)
			continue;
		more = grow(memory, count, &room, sizeof(*memory), HISTORY_ENTRIES_MAX);
		if (!more)
			return -ENOMEM;
		memory = more;
		memory[count++] = (struct tree_memory){ e->id, e->daemon, e->host, e->class_index };
	}
	*ret = TAKE_PTR(memory);
	*ret_count = count;
	return 0;
}

/* What the next look has to know of those who may have died by then. */
static int remember_who(struct look *l, const struct audit *a)
{
	_cleanup_free_ struct tree_daemon *daemons =
		calloc(a->daemon_count + l->daemon_count + 1, sizeof(*daemons));
	_cleanup_free_ struct ident *helpers =
		calloc(a->subject_count + l->helper_count + 1, sizeof(*helpers));

	if (!daemons || !helpers)
		return -ENOMEM;
	l->daemon_count = tree_daemons(a, l->daemons, l->daemon_count, daemons);
	l->helper_count = tree_helpers(a, l->helpers, l->helper_count, helpers);
	free(l->daemons);
	free(l->helpers);
	l->daemons = TAKE_PTR(daemons);
	l->helpers = TAKE_PTR(helpers);
	return 0;
}

static unsigned wants(const struct look *l, enum role role)
{
	unsigned want = EVIDENCE_IDENTITY | EVIDENCE_SOCKETS;

	if (role_is_judged(role))
		want |= EVIDENCE_WAITS;
	if (l->config->protect.wants_cgroup)
		want |= EVIDENCE_CGROUP;
	return want;
}

static int look_at(struct look *l, struct ident id, unsigned want, struct evidence *ret)
{
	_cleanup_close_ int opened = -1;
	int dirfd = look_pinned(l, id);

	if (dirfd < 0) {
		opened = pin_open(id.pid);
		dirfd = opened;
	}
	if (dirfd < 0) {
		*ret = (struct evidence){ .id = id };
		ret->vanished = dirfd == -ESRCH || dirfd == -ENOENT;
		return 0;
	}
	if (evidence_look(dirfd, id.pid, want, l->clock, ret) < 0)
		return -ENOMEM;
	/* The number was given to another process since the census. */
	if (ret->seen && !ident_equal(ret->id, id))
		ret->vanished = true;
	return 0;
}

static int look_at_all(struct look *l, struct audit *a)
{
	cpu_clock_reset(l->clock);
	for (size_t i = 0; i < a->daemon_count; i++)
		if (look_at(l, a->daemons[i].id, wants(l, ROLE_DAEMON), &a->daemons[i].ev) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < a->subject_count; i++) {
		struct subject *s = &a->subjects[i];

		if (look_at(l, s->id, wants(l, s->role), &s->ev) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A --host must be there at the first look; what goes later is gone, whoever has its number then, and
 * also while its parent does not ask for its end. */
static int find_named(struct look *l, const struct audit *a)
{
	l->living_count = 0;
	for (size_t i = 0; i < l->named_count; i++) {
		const struct proc *p = snapshot_find(&a->snapshot, l->named[i].pid);

		if (p && tree_is_nothing(p))
			p = NULL;
		if (!l->named[i].start && !p) {
			l->missing = l->named[i].pid;
			return -ESRCH;
		}
		if (!l->named[i].start)
			l->named[i] = p->id;
		if (p && ident_equal(p->id, l->named[i]))
			l->living[l->living_count++] = p->id.pid;
	}
	return 0;
}

static int describe_hosts(struct look *l, struct audit *a)
{
	for (size_t i = 0; i < a->host_count; i++) {
		struct host *h = &a->hosts[i];
		struct proc *p = snapshot_find(&a->snapshot, h->id.pid);
		uint64_t began_ms = clock_ticks_to_ms(h->id.start);

		h->up_ms = a->boot_ms > began_ms ? a->boot_ms - began_ms : 0;
		if (!p->argv && !p->argv_unread && look_argv_read(l, p, a->boot_ms) < 0)
			return -ENOMEM;
		look_argv_label(p, h);
	}
	return 0;
}

static bool is_readable(const struct evidence *e)
{
	return e->seen && e->exe.ino && e->fds_known == TRI_YES;
}

/* Another user's tree of which nothing can be read is counted, not judged. */
static void hide_unreadable(struct look *l, struct audit *a)
{
	_cleanup_free_ struct ident *keep = calloc(a->host_count + 1, sizeof(*keep));
	size_t kept = 0;

	for (size_t i = 0; keep && i < a->host_count; i++) {
		struct host *h = &a->hosts[i];
		bool daemons = false;

		for (size_t d = 0; d < a->daemon_count; d++)
			if (a->daemons[d].host == (int)i) {
				daemons = true;
				h->unreadable |= !a->daemons[d].ev.vanished &&
						 !is_readable(&a->daemons[d].ev);
			}
		h->unreadable &= daemons && h->uid != l->self.euid;
		a->hidden_trees += h->unreadable;
		if (!h->unreadable)
			keep[kept++] = h->id;
	}
	if (keep && kept < a->host_count)
		tree_keep_hosts(a, keep, kept, true);
}

static bool is_listed(const struct audit *a, pid_t pid)
{
	for (size_t i = 0; i < a->host_count; i++)
		if (a->hosts[i].id.pid == pid)
			return true;
	return false;
}

static int cut_to_named(struct look *l, struct audit *a)
{
	for (size_t i = 0; i < l->living_count; i++)
		if (!is_listed(a, l->living[i]) && !audit_find(a, l->living[i])) {
			l->missing = l->living[i];
			return -EACCES;
		}
	a->hidden_trees = 0;
	tree_keep_hosts(a, l->named, l->named_count, false);
	return 0;
}

static int build(struct look *l, struct tree_input *in, struct audit *a)
{
	int err = look_argv_read_all(l, in, a);

	if (err == 0)
		err = tree_build(a, in);
	if (err == 0)
		err = look_at_all(l, a);
	if (err == 0)
		err = look_sockets(l, a);
	if (err < 0)
		return err;
	correlate_mark_ancestors(a, l->self.pid);
	hide_unreadable(l, a);
	err = l->named_count ? cut_to_named(l, a) : look_logged_hosts(l, a);
	return err < 0 ? err : describe_hosts(l, a);
}

/* Takes the census, and says what tree_build() needs beside it. */
static int begin(struct look *l, struct audit *a, struct tree_memory **ret_memory,
		 struct tree_input *ret)
{
	struct tree_input in = { .named_hosts = l->living };
	int err;

	*a = (struct audit){
		.wall_ms = clock_wall_ms(),
		.boot_ms = clock_boot_ms(),
		.classes = l->config->classes,
	};
	(void)snprintf(a->boot_id, sizeof(a->boot_id), "%s", l->self.boot_id);
	history_suspended(&l->history, clock_suspended_ms(), a->boot_ms);
	err = processes_census(l->processes, &a->snapshot);
	if (err == 0)
		err = find_named(l, a);
	if (err == 0)
		err = remember(&l->history, ret_memory, &in.memory_count);
	in.memory = *ret_memory;
	in.daemons = l->daemons;
	in.daemon_count = l->daemon_count;
	in.helpers = l->helpers;
	in.helper_count = l->helper_count;
	in.named_count = l->living_count;
	*ret = in;
	return err;
}

int look_take(struct look *l, struct audit *ret)
{
	_cleanup_free_ struct tree_memory *memory = NULL;
	struct tree_input in;
	struct audit a;
	int err = begin(l, &a, &memory, &in);

	if (err == 0)
		err = look_markers(l, &a);
	if (err == 0)
		err = build(l, &in, &a);
	if (err == 0)
		err = look_memory(l, &a);
	if (err == 0)
		err = look_judge(l, &in, &a);
	if (err == 0)
		err = remember_who(l, &a);
	if (err < 0)
		audit_done(&a);
	else
		*ret = a;
	return err;
}

int look_who(struct look *l, struct audit *ret)
{
	_cleanup_free_ struct tree_memory *memory = NULL;
	struct tree_input in;
	struct audit a;
	int err = begin(l, &a, &memory, &in);

	if (err == 0)
		err = look_argv_read_all(l, &in, &a);
	if (err == 0)
		err = tree_build(&a, &in);
	if (err < 0) {
		audit_done(&a);
		return err;
	}
	correlate_mark_ancestors(&a, l->self.pid);
	*ret = a;
	return 0;
}

static bool has_judged(const struct audit *a)
{
	for (size_t i = 0; i < a->subject_count; i++)
		if (role_is_judged(a->subjects[i].role))
			return true;
	return false;
}

bool look_pause(const struct look *l, uint64_t ms)
{
	struct pollfd stop = { .fd = l->stop_fd, .events = POLLIN };

	return poll(&stop, 1, (int)MIN(ms, (uint64_t)INT_MAX)) <= 0;
}

int look_twice(struct look *l, uint64_t sample_ms, struct audit *ret)
{
	uint64_t began_ms;
	int err = look_take(l, ret);

	if (err < 0 || !sample_ms || !has_judged(ret))
		return err;
	began_ms = ret->boot_ms;
	audit_done(ret);
	if (!look_pause(l, sample_ms))
		return -ECANCELED;
	err = look_take(l, ret);
	if (err == 0)
		ret->sampled_ms = ret->boot_ms - began_ms;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch_exits.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/pin.h"
#include "correlate/tree.h"
#include "model/grow.h"
#include "observe/evidence.h"
#include "observe/exit_info.h"

enum {
	READY_MAX = 64,
	ROOM_UNKNOWN = 1024,      /* descriptors, where nobody says how many */
	REAP_WAIT_MS = 10 * 1000, /* for the parent of one that died to ask how */
	CENSUS_FIRST_MS = 300,    /* after an end */
	CENSUS_NEXT_MS = 1000,    /* after the census before, and then twice as long each time */
	PARENT_OUTSIDE = -1, /* ppid 0: above our pid namespace, as that of a container's pid 1 */
};

struct watched {
	struct ident id;
	struct exits_key key;
	struct exits_origin origin; /* of singles */
	struct ident daemon, host;
	int pidfd;         /* -1: it is not held */
	uint64_t alive_ms; /* boot clock; it lived then: when it was held, or else last seen */
	uint64_t died_ms;  /* 0: it lives */
	bool ours;         /* this program ended it */
	bool placed;       /* a single: whom it came after is noted */
	bool seen;         /* by the last look */
	bool over; /* to be forgotten; kept so long, for a look that began before it ended */
};

int watch_exits_open(struct look *look, watch_exits_sink sink, void *arg, bool verbose,
		     struct watch_exits *ret)
{
	size_t room = pin_make_room(), most = WATCH_EXITS_MAX;

	most = MIN(most, (room ? room : ROOM_UNKNOWN) / 2);
	*ret = (struct watch_exits){
		.look = look,
		.sink = sink,
		.arg = arg,
		.verbose = verbose,
		.most = most,
		.read_ms = clock_boot_ms(),
		.census_ms = UNKNOWN_U64,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
	};
	return ret->epoll < 0 ? -errno : 0;
}

static int compare_members(const void *a, const void *b)
{
	return ident_compare(((const struct watched *)a)->id, ((const struct watched *)b)->id);
}

static struct watched *find(const struct watch_exits *w, size_t count, struct ident id)
{
	const struct watched key = { .id = id };

	return count ? bsearch(&key, w->members, count, sizeof(key), compare_members) : NULL;
}

/* ---- what has ended ---- */

static void release(struct watch_exits *w, struct watched *m)
{
	w->pinned -= m->pidfd >= 0;
	fs_close(&m->pidfd); /* and with it its place in the set */
	m->over = true;
}

static struct exit_record group_of(const struct watched *m)
{
	struct exit_record x = { .role = m->key.role, .daemon = m->daemon, .host = m->host };

	memcpy(x.class_name, m->key.class_name, sizeof(x.class_name));
	memcpy(x.label, m->key.label, sizeof(x.label));
	return x;
}

/* What counts is told, and every end of a single that was not as it should be; of the others only to
 * who wants to hear it: workers come and go. */
static bool is_told(const struct watch_exits *w, const struct watched *m,
		    const struct exit_record *x)
{
	bool well = x->ending.how == ENDING_CODE && !x->ending.number;
	bool asked = x->ending.how == ENDING_SIGNAL && !x->counts;

	if (x->counts)
		return true;
	if (m->ours || well)
		return false;
	return w->verbose || (m->key.role == ROLE_SINGLE && !asked);
}

static void tell(struct watch_exits *w, const struct exit_record *x)
{
	struct event e = { .kind = EVENT_EXIT, .exit = x, .boot_ms = clock_boot_ms() };

	if (w->lines++ < WATCH_EXITS_LINES)
		w->sink(w->arg, &e);
	else
		w->untold++;
}

static void tell_loop(struct watch_exits *w, const struct watched *m)
{
	const uint64_t window_ms = w->look->config->crash_window_ms;
	struct exit_record group = group_of(m);
	struct event e = { .kind = EVENT_CRASH_LOOP, .exit = &group, .boot_ms = clock_boot_ms() };
	struct crashes c;

	if (!exits_tell(&w->look->exits, &m->key, e.boot_ms, window_ms))
		return;
	(void)exits_ask(&w->look->exits, &m->key, e.boot_ms, window_ms, &c);
	e.crashes = &c;
	w->sink(w->arg, &e);
}

/* Who dies again and again comes back at once: the next sweep may find only its successor's successor. */
static void want_census(struct watch_exits *w)
{
	w->census_in_ms = CENSUS_FIRST_MS;
	w->census_ms = MIN(w->census_ms, clock_boot_ms() + w->census_in_ms);
}

static int note(struct watch_exits *w, const struct watched *m, struct exit_record *x)
{
	struct exits *exits = &w->look->exits;
	struct exits_gone gone = {
		.id = m->id,
		.origin = m->origin,
		.alive_ms = m->alive_ms,
		.ending = x->ending,
	};
	int err = 0;

	if (m->key.role == ROLE_SINGLE)
		err = exits_gone(exits, &m->key, &gone, x->at_ms);
	if (err < 0 || !x->counts)
		return err;
	err = exits_note(exits, &m->key, x->ending, x->at_ms);
	x->counts = err == 1;
	return err;
}

static void conclude(struct watch_exits *w, struct watched *m, struct ending ending)
{
	struct exit_record x = group_of(m);
	uint64_t began_ms = clock_ticks_to_ms(m->id.start);

	x.id = m->id;
	x.ending = ending;
	x.at_ms = m->died_ms;
	x.lived_ms = m->died_ms > began_ms ? m->died_ms - began_ms : 0;
	x.counts = !m->ours && exits_is_crash(m->key.role, ending);
	if (note(w, m, &x) < 0)
		log_error("the end of process %d cannot be noted: no memory", m->id.pid);
	release(w, m);
	if (is_told(w, m, &x))
		tell(w, &x);
	if (x.counts)
		tell_loop(w, m);
	if (x.counts || m->key.role == ROLE_SINGLE)
		want_census(w);
}

/*
 * It is dead. How it ended is in its zombie's stat, for who may look into it, and in its pidfd once its
 * parent has asked. Until then the pidfd stays readable, so it is only waited for its hang-up, which
 * cannot be switched off and comes when it is reaped.
 */
static void take_end(struct watch_exits *w, struct watched *m)
{
	struct epoll_event hang_up = { .data.u64 = (uint64_t)m->id.pid };
	struct ending ending = { 0 };
	int err = exit_info_read(m->pidfd, &ending);

	if (!m->died_ms) {
		m->alive_ms = MAX(m->alive_ms, w->read_ms);
		m->died_ms = clock_boot_ms();
	}
	if (err < 0 && exit_info_read_zombie(m->id, &ending) == 0)
		err = 0;
	if (err == -EAGAIN && epoll_ctl(w->epoll, EPOLL_CTL_MOD, m->pidfd, &hang_up) == 0)
		return;
	conclude(w, m, ending);
}

/* The first member whose number is not less. */
static size_t place(const struct watch_exits *w, pid_t pid)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->members[middle].id.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One number may have been two processes': the set says which number, the pidfd which process. */
static void take_ends(struct watch_exits *w, pid_t pid)
{
	for (size_t i = place(w, pid); i < w->count && w->members[i].id.pid == pid; i++) {
		struct watched *m = &w->members[i];

		if (!m->over && m->pidfd >= 0 && pin_wait(m->pidfd, 0) == 1)
			take_end(w, m);
	}
}

static void mark_ours(struct watch_exits *w, const struct reap *reap)
{
	for (size_t i = 0; reap && i < reap->count; i++) {
		struct watched *m = find(w, w->count, reap->victims[i].id);

		if (m && reap->victims[i].record.signal)
			m->ours = true;
	}
}

void watch_exits_read(struct watch_exits *w, const struct reap *reap)
{
	struct epoll_event ready[READY_MAX];
	uint64_t began_ms;
	int count;

	mark_ours(w, reap);
	do {
		began_ms = clock_boot_ms();
		count = epoll_wait(w->epoll, ready, READY_MAX, 0);
		for (int i = 0; i < count; i++)
			take_ends(w, (pid_t)ready[i].data.u64);
	} while (count == READY_MAX);
	w->read_ms = began_ms;
}

/* ---- whom a look has seen ---- */

static void hold(struct watch_exits *w, struct watched *m)
{
	struct epoll_event readable = { .events = EPOLLIN, .data.u64 = (uint64_t)m->id.pid };
	int err = 0;

	m->pidfd = w->pinned < w->most ? exit_info_pin(m->id) : -EMFILE;
	if (m->pidfd >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, m->pidfd, &readable) < 0) {
		err = -errno;
		fs_close(&m->pidfd);
	} else if (m->pidfd < 0) {
		err = m->pidfd;
		m->pidfd = -1;
	}
	w->pinned += m->pidfd >= 0;
	if (!err || err == -ESRCH || err == -ENOENT)
		return;
	w->left_out++;
	w->left_out_why = err;
}

static struct ident parent_of(const struct audit *a, const struct proc *p)
{
	const struct proc *parent = snapshot_find(&a->snapshot, p->ppid);

	if (!p->ppid)
		return (struct ident){ .pid = PARENT_OUTSIDE };
	return parent ? parent->id : (struct ident){ 0 };
}

static uint64_t cgroup_of(struct ident id)
{
	_cleanup_(evidence_done) struct evidence e = { 0 };
	_cleanup_close_ int dirfd = pin_open(id.pid);

	if (dirfd < 0 || evidence_look(dirfd, id.pid, EVIDENCE_CGROUP, NULL, &e) < 0 ||
	    !ident_equal(e.id, id) || !e.cgroup || strcmp(e.cgroup, "/") == 0)
		return 0;
	return exits_hash(e.cgroup, strlen(e.cgroup));
}

static struct exits_origin origin_of(const struct audit *a, struct ident id)
{
	const struct proc *p = snapshot_find(&a->snapshot, id.pid);
	struct exits_origin origin = { .cgroup_hash = cgroup_of(id) };

	if (!p || !p->argv)
		return origin;
	origin.argv_hash = exits_hash(p->argv, p->argv_len);
	origin.parent = parent_of(a, p);
	return origin;
}

/* A reload can give a single another class; a worker stays that of the daemon it was seen below. */
static void see_again(struct watched *m, const struct watched *now)
{
	m->seen = true;
	if (m->pidfd < 0)
		m->alive_ms = now->alive_ms;
	if (m->key.role != ROLE_WORKER)
		m->key = now->key;
}

/* What is not held is forgotten, but a single: that another came in its place can be seen anyway. */
static int see(struct watch_exits *w, const struct audit *a, const struct watched *now,
	       size_t sorted)
{
	struct watched *m = find(w, sorted, now->id);

	if (m) {
		see_again(m, now);
		return 0;
	}
	m = grow(w->members, w->count, &w->room, sizeof(*m), AUDIT_SUBJECTS_MAX);
	if (!m)
		return -ENOMEM;
	w->members = m;
	m += w->count;
	*m = *now;
	m->seen = true;
	hold(w, m);
	if (m->key.role == ROLE_SINGLE)
		m->origin = origin_of(a, m->id);
	if (m->pidfd >= 0 || m->key.role == ROLE_SINGLE)
		w->count++;
	return 0;
}

static struct watched of_subject(const struct audit *a, const struct subject *s)
{
	bool worker = s->role == ROLE_WORKER;

	return (struct watched){
		.id = s->id,
		.key = exits_key_subject(a, s),
		.daemon = worker ? s->daemon_id : (struct ident){ 0 },
		.host = worker ? s->host_id : (struct ident){ 0 }, /* a single is that of itself */
		.pidfd = -1,
		.alive_ms = a->boot_ms,
	};
}

static struct watched of_daemon(const struct audit *a, const struct daemon *d)
{
	return (struct watched){
		.id = d->id,
		.key = exits_key_daemon(a, d),
		.host = d->host >= 0 ? a->hosts[d->host].id : (struct ident){ 0 },
		.pidfd = -1,
		.alive_ms = a->boot_ms,
	};
}

/* Of other users' trees only a look finds out whether they may be read. */
static bool is_ours_to_see(const struct watch_exits *w, uid_t uid, bool census)
{
	return !census || !w->look->self.euid || uid == w->look->self.euid;
}

static int see_role(struct watch_exits *w, const struct audit *a, enum role role, bool census,
		    size_t sorted)
{
	for (size_t i = 0; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];
		struct watched now;

		if (s->role != role || s->ev.vanished || !is_ours_to_see(w, s->uid, census))
			continue;
		now = of_subject(a, s);
		if (see(w, a, &now, sorted) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The few before the many: where there is no room for all, workers are left out. */
static int see_all(struct watch_exits *w, const struct audit *a, bool census)
{
	size_t sorted = w->count;

	for (size_t i = 0; i < w->count; i++)
		w->members[i].seen = false;
	for (size_t i = 0; i < a->daemon_count; i++) {
		struct watched now = of_daemon(a, &a->daemons[i]);

		if (is_ours_to_see(w, a->daemons[i].uid, census) && see(w, a, &now, sorted) < 0)
			return -ENOMEM;
	}
	if (see_role(w, a, ROLE_SINGLE, census, sorted) < 0 ||
	    see_role(w, a, ROLE_WORKER, census, sorted) < 0)
		return -ENOMEM;
	return 0;
}

/* Who died before the look was reported by its pidfd: who was not seen by it and lives is of no class
 * any more. Of one that is not held, that is its end. */
static void forget_unseen(struct watch_exits *w)
{
	uint64_t now_ms = clock_boot_ms();

	for (size_t i = 0; i < w->count; i++) {
		struct watched *m = &w->members[i];
		bool late = m->died_ms && m->died_ms + REAP_WAIT_MS <= now_ms;
		bool unheld = !m->seen && m->pidfd < 0;

		if (m->over)
			continue;
		if (unheld)
			m->died_ms = now_ms;
		if (late || unheld)
			conclude(w, m, (struct ending){ 0 });
		else if (!m->seen && !m->died_ms)
			release(w, m);
	}
}

static void note_births(struct watch_exits *w, uint64_t now_ms)
{
	for (size_t i = 0; i < w->count; i++) {
		struct watched *m = &w->members[i];

		if (m->key.role != ROLE_SINGLE || m->placed)
			continue;
		m->placed = exits_born(&w->look->exits, &m->key, &m->origin,
				       clock_ticks_to_ms(m->id.start), now_ms);
		if (!m->placed)
			continue;
		w->census_ms = UNKNOWN_U64; /* it was found */
		tell_loop(w, m);
	}
}

static void say_left_out(struct watch_exits *w)
{
	if (w->left_out && !w->said_left_out)
		log_notice("how %zu of the processes end is not watched: %s; %zu are", w->left_out,
			   strerror(-w->left_out_why), w->pinned);
	w->said_left_out = w->left_out;
	if (w->untold)
		log_notice("%zu more have ended", w->untold);
	w->untold = 0;
	w->lines = 0;
}

static void drop_over(struct watch_exits *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		if (!w->members[i].over)
			w->members[kept++] = w->members[i];
	w->count = kept;
}

static int update(struct watch_exits *w, const struct audit *a, bool census,
		  const struct reap *reap)
{
	int err;

	watch_exits_read(w, reap);
	err = see_all(w, a, census);
	if (err == 0 && !census)
		forget_unseen(w);
	drop_over(w);
	if (w->count)
		qsort(w->members, w->count, sizeof(*w->members), compare_members);
	note_births(w, a->boot_ms);
	return err;
}

int watch_exits_update(struct watch_exits *w, const struct audit *a, const struct reap *reap)
{
	int err;

	w->left_out = 0;
	err = update(w, a, false, reap);
	say_left_out(w);
	return err;
}

uint64_t watch_exits_census_ms(const struct watch_exits *w)
{
	return w->census_ms;
}

/* Each time twice as long, until the sweeps themselves come as often. */
static void put_off(struct watch_exits *w)
{
	w->census_in_ms = MAX(2 * w->census_in_ms, (uint64_t)CENSUS_NEXT_MS);
	w->census_ms = w->census_in_ms < w->look->config->interval_ms
			       ? clock_boot_ms() + w->census_in_ms
			       : UNKNOWN_U64;
}

int watch_exits_census(struct watch_exits *w, const struct reap *reap)
{
	_cleanup_(audit_done) struct audit a = { 0 };
	int err;

	put_off(w);
	err = look_who(w->look, &a);
	if (err < 0)
		return err;
	if (w->look->named_count)
		tree_keep_hosts(&a, w->look->named, w->look->named_count, false);
	return update(w, &a, true, reap);
}

void watch_exits_close(struct watch_exits *w)
{
	for (size_t i = 0; i < w->count; i++)
		fs_close(&w->members[i].pidfd);
	free(w->members);
	w->members = NULL;
	w->count = 0;
	fs_close(&w->epoll);
}

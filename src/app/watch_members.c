/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch_members.h"

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
	REAP_WAIT_MS = 10 * 1000, /* for the parent of one that died to ask how */
	CENSUS_NEXT_MS = 1000,    /* after the census before, and then twice as long each time */
	PARENT_OUTSIDE = -1, /* ppid 0: above our pid namespace, as that of a container's pid 1 */
};

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
	struct watched *m = watch_exits_find(w, sorted, now->id);

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
			watch_exits_conclude(w, m, (struct ending){ 0 });
		else if (!m->seen && !m->died_ms)
			watch_exits_release(w, m);
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
		watch_exits_tell_loop(w, m);
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
	watch_exits_sort(w);
	note_births(w, a->boot_ms);
	return err;
}

int watch_members_update(struct watch_exits *w, const struct audit *a, const struct reap *reap)
{
	int err;

	w->left_out = 0;
	err = update(w, a, false, reap);
	say_left_out(w);
	return err;
}

uint64_t watch_members_census_ms(const struct watch_exits *w)
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

int watch_members_census(struct watch_exits *w, const struct reap *reap)
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

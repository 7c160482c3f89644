/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watch_exits.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/pin.h"
#include "observe/exit_info.h"

enum {
	READY_MAX = 64,
	ROOM_UNKNOWN = 1024,   /* descriptors, where nobody says how many */
	CENSUS_FIRST_MS = 300, /* after an end */
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

struct watched *watch_exits_find(const struct watch_exits *w, size_t count, struct ident id)
{
	const struct watched key = { .id = id };

	return count ? bsearch(&key, w->members, count, sizeof(key), compare_members) : NULL;
}

void watch_exits_sort(struct watch_exits *w)
{
	if (w->count)
		qsort(w->members, w->count, sizeof(*w->members), compare_members);
}

void watch_exits_release(struct watch_exits *w, struct watched *m)
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

void watch_exits_tell_loop(struct watch_exits *w, const struct watched *m)
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

void watch_exits_conclude(struct watch_exits *w, struct watched *m, struct ending ending)
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
	watch_exits_release(w, m);
	if (is_told(w, m, &x))
		tell(w, &x);
	if (x.counts)
		watch_exits_tell_loop(w, m);
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
	watch_exits_conclude(w, m, ending);
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
		struct watched *m = watch_exits_find(w, w->count, reap->victims[i].id);

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

void watch_exits_close(struct watch_exits *w)
{
	for (size_t i = 0; i < w->count; i++)
		fs_close(&w->members[i].pidfd);
	free(w->members);
	w->members = NULL;
	w->count = 0;
	fs_close(&w->epoll);
}

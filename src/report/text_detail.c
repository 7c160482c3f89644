/* SPDX-License-Identifier: Apache-2.0 */
#include "report/text_detail.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "report/endpoint.h"

enum {
	PPM_PER_PERCENT = 10000,
	DETAIL_TASK_MAX = 16, /* columns of a task's name in the tree */
};

/* What a reason says where no number or name belongs to it. */
static const char *const fixed[] = {
	[REASON_VANISHED] = "while it was looked at",
	[REASON_SELF] = "",
	[REASON_ANCESTOR] = "",
	[REASON_PROTECTED] = "by a rule of [protect]",
	[REASON_FOREIGN_UID] = "not its daemon's user",
	[REASON_OTHER_PIDNS] = "",
	[REASON_CHANGED] = "since it was forked",
	[REASON_TRACED] = NULL,
	[REASON_DUMPING] = "core",
	[REASON_STOPPED] = "",
	[REASON_UNINTERRUPTIBLE] = NULL,
	[REASON_UNREADABLE] = "see `reaper doctor`",
	[REASON_RUNNING] = NULL,
	[REASON_UNKNOWN_WAIT] = NULL,
	[REASON_PROGRESS] = "between two looks",
	[REASON_TOO_YOUNG] = NULL,
	[REASON_OPEN_TASK] = NULL,
	[REASON_UNREAD_BYTES] = NULL,
	[REASON_FENCE_OFF] = NULL,
	[REASON_WAITING] = NULL,
	[REASON_LEASED] = NULL,
	[REASON_POOLED] = NULL,
	[REASON_SERVING] = NULL,
	[REASON_IDLE] = NULL,
	[REASON_DAEMON] = "",
	[REASON_SILENT] = NULL,
	[REASON_IDLE_DAEMON] = "",
	[REASON_LOST_HELPER] = NULL,
	[REASON_STUCK_WAIT] = NULL,
	[REASON_GROWING] = NULL,
	[REASON_CRASH_LOOP] = "its like die by a signal again and again",
	[REASON_UNKILLABLE] = NULL,
	[REASON_HOST_GONE] = NULL,
	[REASON_SIGNED_OFF] = NULL,
	[REASON_PEER_CLOSED] = NULL,
	[REASON_RETIRED] = NULL,
	[REASON_TASK_ENDED] = NULL,
	[REASON_ASSUMED] = NULL,
};
static_assert(ARRAY_SIZE(fixed) == REASON_COUNT, "every reason has a detail");

/* Before the age of a proof that is due, and behind it. */
static const struct {
	const char *before, *behind;
} due[] = {
	[FENCE_NONE] = { "for ", "" },
	[FENCE_HOST_GONE] = { "host gone for ", "" },
	[FENCE_SIGNED_OFF] = { "signed off ", " ago" },
	[FENCE_PEER_CLOSED] = { "host hung up ", " ago" },
	[FENCE_RETIRED] = { "given up ", " ago" },
	[FENCE_TASK_ENDED] = { "tasks ended ", " ago" },
	[FENCE_ASSUMED] = { "silent for ", "" },
};
static_assert(ARRAY_SIZE(due) == FENCE_COUNT, "every fence has words");

/* "task 17 for 4m"; "" where no task is open. */
static void say_task(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	char name[WORDS_NAME_MAX], age[WORDS_SHORT_MAX];
	uint64_t since = s->marks.open_since_ms;

	ret[0] = '\0';
	if (!s->marks.task_count || !s->marks.open)
		return;
	words_name(s->marks.tasks[0], name, DETAIL_TASK_MAX);
	if (since && a->wall_ms >= since)
		snprintf(ret, WORDS_MAX, "task %s for %s", name,
			 words_age(a->wall_ms - since, age, sizeof(age)));
	else
		snprintf(ret, WORDS_MAX, "task %s", name);
}

static void add_cpu(const struct subject *s, char ret[WORDS_MAX])
{
	uint32_t ppm = s->facts.cpu_ppm, percent = ppm / PPM_PER_PERCENT;
	size_t len = strlen(ret);
	const char *comma = len ? ", " : "";

	if (ppm == UINT32_MAX)
		return;
	if (percent)
		snprintf(ret + len, WORDS_MAX - len, "%scpu %" PRIu32 " %%", comma, percent);
	else
		snprintf(ret + len, WORDS_MAX - len, "%scpu 0.%" PRIu32 " %%", comma,
			 ppm / (PPM_PER_PERCENT / 10));
}

/* Tells whether the main thread waits for bytes of its task socket. */
static bool on_task_socket(const struct subject *s)
{
	const struct wait *main = &s->ev.main;
	enum wait_kind wait = s->facts.wait;
	bool moves =
		wait == WAIT_READ || wait == WAIT_RECV || wait == WAIT_WRITE || wait == WAIT_SEND;

	return moves && main->known && s->socket.ino && s->socket.fd >= 0 &&
	       main->args[0] == (uint64_t)s->socket.fd;
}

static void add_wait(const struct subject *s, const char *before, char ret[WORDS_MAX])
{
	char name[WORDS_NAME_MAX];
	const char *wait = words_wait(s, name);
	size_t len = strlen(ret);

	if (wait)
		snprintf(ret + len, WORDS_MAX - len, "%sin %s", len ? before : "", wait);
}

static void say_silent(const struct subject *s, char ret[WORDS_MAX])
{
	words_age(s->facts.silent_ms, ret, WORDS_MAX);
	add_wait(s, " ", ret);
	if (on_task_socket(s)) {
		size_t len = strlen(ret);

		snprintf(ret + len, WORDS_MAX - len, " on its task socket");
	}
}

static void say_stuck(const struct subject *s, char ret[WORDS_MAX])
{
	words_age(s->facts.blocked_ms, ret, WORDS_MAX);
	add_wait(s, " ", ret);
}

static void say_growing(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	const struct memory *m = s->memory;
	char rate[WORDS_SHORT_MAX + 4], age[WORDS_SHORT_MAX], victim[WORDS_MAX];

	if (!m)
		return;
	snprintf(ret, WORDS_MAX, "%s, at its limit in %s; the kernel would now kill %.120s",
		 words_rate(m->trend.anon_per_s, rate, sizeof(rate)),
		 words_age(m->until_limit_ms, age, sizeof(age)), words_victim(a, s, victim));
}

static void say_due(const struct subject *s, char ret[WORDS_MAX])
{
	char age[WORDS_SHORT_MAX];
	enum fence fence = s->verdict.fence;

	snprintf(ret, WORDS_MAX, "%s%s%s", due[fence].before,
		 words_age(s->verdict.fence_age_ms, age, sizeof(age)), due[fence].behind);
	add_wait(s, ", ", ret);
}

/* What keeps it is never left out, however small the rest is. */
static void say_unread(const struct facts *f, char ret[WORDS_MAX])
{
	char in[WORDS_SHORT_MAX], out[WORDS_SHORT_MAX];

	if (f->recv_queue || f->send_queue)
		snprintf(ret, WORDS_MAX, "%s to read, %s to send",
			 words_size(f->recv_queue, in, sizeof(in)),
			 words_size(f->send_queue, out, sizeof(out)));
	else if (f->host_recv_queue)
		snprintf(ret, WORDS_MAX, "%s at its host",
			 words_size(f->host_recv_queue, in, sizeof(in)));
	else
		snprintf(ret, WORDS_MAX, "its host may still write");
}

static void say_keep(const struct subject *s, char ret[WORDS_MAX])
{
	const struct facts *f = &s->facts;
	char age[WORDS_SHORT_MAX];

	switch (s->verdict.reason) {
	case REASON_TRACED:
		if (s->ev.tracer)
			snprintf(ret, WORDS_MAX, "by process %" PRId32, s->ev.tracer);
		break;
	case REASON_TOO_YOUNG:
		snprintf(ret, WORDS_MAX, "%s old", words_age(f->age_ms, age, sizeof(age)));
		break;
	case REASON_UNREAD_BYTES:
		say_unread(f, ret);
		break;
	case REASON_FENCE_OFF:
		snprintf(ret, WORDS_MAX, "%s is not in `fences`", fence_name(s->verdict.fence));
		break;
	case REASON_WAITING:
		snprintf(ret, WORDS_MAX, "%s, due in %s", fence_name(s->verdict.fence),
			 words_age(s->verdict.due_in_ms, age, sizeof(age)));
		break;
	default:
		snprintf(ret, WORDS_MAX, "silent %s", words_age(f->silent_ms, age, sizeof(age)));
		break;
	}
}

static void say_lost(const struct subject *s, char ret[WORDS_MAX])
{
	if (s->daemon_id.pid)
		snprintf(ret, WORDS_MAX, "of daemon %" PRId32 ", its worker left",
			 s->daemon_id.pid);
	else
		snprintf(ret, WORDS_MAX, "its worker left");
}

const char *text_detail(const struct audit *a, const struct subject *s, char ret[WORDS_MAX])
{
	enum reason reason = s->verdict.reason;

	ret[0] = '\0';
	if (fixed[reason])
		snprintf(ret, WORDS_MAX, "%s", fixed[reason]);
	else if (reason == REASON_SERVING || reason == REASON_RUNNING ||
		 reason == REASON_OPEN_TASK) {
		say_task(a, s, ret);
		add_cpu(s, ret);
	} else if (reason == REASON_SILENT)
		say_silent(s, ret);
	else if (reason == REASON_LOST_HELPER)
		say_lost(s, ret);
	else if (reason == REASON_STUCK_WAIT)
		say_stuck(s, ret);
	else if (reason == REASON_GROWING)
		say_growing(a, s, ret);
	else if (reason == REASON_UNKILLABLE || reason == REASON_UNINTERRUPTIBLE ||
		 reason == REASON_UNKNOWN_WAIT)
		add_wait(s, "", ret);
	else if (s->verdict.action == ACTION_REAP)
		say_due(s, ret);
	else
		say_keep(s, ret);
	return ret;
}

const char *text_detail_helper(const struct audit *a, const struct subject *s)
{
	if (s->holds_task_socket)
		return "holds its task socket";
	if (s->verdict.action == ACTION_REAP)
		return "ended with it";
	if (s->worker >= 0 && a->subjects[s->worker].verdict.action == ACTION_REAP)
		return "spared by `helpers`";
	return "";
}

const char *text_detail_held(const struct held_socket *h, char ret[WORDS_MAX])
{
	char local[ENDPOINT_MAX], remote[ENDPOINT_MAX];
	char in[WORDS_SHORT_MAX], out[WORDS_SHORT_MAX], ends[2 * ENDPOINT_MAX + 16] = "";

	if (h->transport == TRANSPORT_UNKNOWN) {
		snprintf(ret, WORDS_MAX, "fd %d: a socket in no table that was read", h->fd);
		return ret;
	}
	if (h->transport == TRANSPORT_TCP && !h->remote.port)
		snprintf(ends, sizeof(ends), " listens on %s", endpoint_name(&h->local, local));
	else if (h->transport == TRANSPORT_TCP)
		snprintf(ends, sizeof(ends), " %s to %s", endpoint_name(&h->local, local),
			 endpoint_name(&h->remote, remote));
	snprintf(ret, WORDS_MAX, "fd %d: %s%s, %s to read, %s to send", h->fd,
		 transport_name(h->transport), ends, words_size(h->recv_queue, in, sizeof(in)),
		 words_size(h->send_queue, out, sizeof(out)));
	return ret;
}

const char *text_detail_missing(const struct subject *s, char ret[WORDS_MAX])
{
	const char *missing = words_missing(s->verdict.missing);
	const struct task_socket *t = &s->socket;
	char in[WORDS_SHORT_MAX], out[WORDS_SHORT_MAX];

	ret[0] = '\0';
	if (s->verdict.action != ACTION_SUSPECT || !missing)
		return ret;
	if (s->role == ROLE_SINGLE || t->state == SOCKET_UNKNOWN || t->state == SOCKET_NONE)
		snprintf(ret, WORDS_MAX, "%s", missing);
	else if (!t->recv_queue && !t->send_queue)
		snprintf(ret, WORDS_MAX, "%s; queues empty", missing);
	else
		snprintf(ret, WORDS_MAX, "%s; %s to read, %s to send", missing,
			 words_size(t->recv_queue, in, sizeof(in)),
			 words_size(t->send_queue, out, sizeof(out)));
	return ret;
}

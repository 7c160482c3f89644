/* SPDX-License-Identifier: Apache-2.0 */
#include "app/look_writers.h"

#include <errno.h>

#include "base/fs.h"
#include "base/pin.h"
#include "correlate/task_socket.h"
#include "observe/evidence.h"
#include "observe/host_threads.h"

static bool has_signed_off(const struct audit *a, int host)
{
	for (size_t i = 0; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];

		if (s->role == ROLE_WORKER && s->host == host &&
		    task_socket_signed_off(&s->ev, &s->socket))
			return true;
	}
	return false;
}

/* The threads first, then whose they were: its number may be another's by now. */
static int ask(struct host *h)
{
	_cleanup_close_ int dirfd = pin_open(h->id.pid);
	_cleanup_(evidence_done) struct evidence e = { 0 };

	if (dirfd < 0)
		return 0;
	if (host_threads_writers(dirfd, &h->writers) == -ENOMEM ||
	    evidence_look(dirfd, h->id.pid, EVIDENCE_IDENTITY, NULL, &e) < 0)
		return -ENOMEM;
	if (!e.seen || e.vanished || !ident_equal(e.id, h->id))
		h->writers.known = false;
	return 0;
}

int look_writers(struct audit *a)
{
	for (size_t i = 0; i < a->host_count; i++)
		if (has_signed_off(a, (int)i) && ask(&a->hosts[i]) < 0)
			return -ENOMEM;
	return 0;
}

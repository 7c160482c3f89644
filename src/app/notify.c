/* SPDX-License-Identifier: Apache-2.0 */
#include "app/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/parse.h"

enum {
	MESSAGE_MAX = 1024, /* bytes of one message */
	SEND_TIMEOUT_S = 1,
	USEC_PER_MS = 1000,
};

/* Fills the address. Returns -EINVAL: it is none that can be reached by a unix socket. */
static int read_address(const char *name, struct notify *n)
{
	size_t len = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || !name[1] || len >= sizeof(n->to.sun_path))
		return -EINVAL;
	memset(&n->to, 0, sizeof(n->to));
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, name, len + 1);
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	if (name[0] == '@') { /* every byte of an abstract name counts, a last NUL too: unix(7) */
		n->to.sun_path[0] = '\0';
		n->to_len--;
	}
	return 0;
}

/* How often the manager wants to hear from this very process. */
static uint64_t read_watchdog(void)
{
	const char *usec = secure_getenv("WATCHDOG_USEC");
	const char *pid = secure_getenv("WATCHDOG_PID");
	uint64_t every, whom;

	if (!usec || parse_u64(usec, UINT64_MAX - 1, &every))
		return 0;
	if (pid && (parse_u64(pid, INT32_MAX, &whom) || (pid_t)whom != getpid()))
		return 0;
	if (!every)
		return 0;
	return MAX(every / 2 / USEC_PER_MS, UINT64_C(1));
}

void notify_open(struct notify *n)
{
	const char *name = secure_getenv("NOTIFY_SOCKET");
	const struct timeval timeout = { .tv_sec = SEND_TIMEOUT_S };

	*n = (struct notify){ .fd = -1 };
	if (!name || read_address(name, n))
		return;
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->fd < 0)
		return;
	(void)setsockopt(n->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	n->watchdog_ms = read_watchdog();
}

void notify_send(const struct notify *n, const char *format, ...)
{
	char message[MESSAGE_MAX];
	va_list args;
	int len;

	if (n->fd < 0)
		return;
	va_start(args, format);
	len = vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (len <= 0)
		return;
	/* By address each time: the manager may have made its socket anew. */
	while (sendto(n->fd, message, MIN((size_t)len, sizeof(message) - 1), MSG_NOSIGNAL,
		      (const struct sockaddr *)&n->to, n->to_len) < 0 &&
	       errno == EINTR)
		continue;
}

void notify_reloading(const struct notify *n)
{
	struct timespec now;

	/* systemd compares it with when it sent the signal (Type=notify-reload). */
	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return;
	notify_send(n, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		    (uint64_t)now.tv_sec * UINT64_C(1000000) + (uint64_t)now.tv_nsec / 1000);
}

void notify_close(struct notify *n)
{
	fs_close(&n->fd);
	n->watchdog_ms = 0;
}

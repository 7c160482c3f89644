/* SPDX-License-Identifier: Apache-2.0 */
#include "app/notify.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "tmpdir.h"

/* A manager's socket, bound to a path or, behind '@', to an abstract name. */
static int manager(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	const struct timeval timeout = { .tv_sec = 5 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_lt(strlen(name), sizeof(at.sun_path));
	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, len), 0);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	return fd;
}

static const char *received(int fd, char *ret, size_t size)
{
	ssize_t len = recv(fd, ret, size - 1, 0);

	ret[len < 0 ? 0 : len] = '\0';
	return ret;
}

static void forget(void)
{
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

Test(notify, nobody_asked, .init = forget)
{
	struct notify n;

	notify_open(&n);
	cr_expect_eq(n.fd, -1);
	cr_expect_eq(n.watchdog_ms, 0);
	notify_send(&n, "READY=1");
	notify_reloading(&n);
	notify_close(&n);
}

Test(notify, to_a_path, .init = forget)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], text[256];
	struct notify n;

	fd = manager(tmpdir_path(&d, "socket", path));
	cr_assert_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	notify_open(&n);
	cr_assert_geq(n.fd, 0);
	cr_expect(fcntl(n.fd, F_GETFD) & FD_CLOEXEC);
	notify_send(&n, "READY=1\nSTATUS=%d workers", 7);
	cr_expect_str_eq(received(fd, text, sizeof(text)), "READY=1\nSTATUS=7 workers");
	notify_close(&n);
	cr_expect_eq(n.fd, -1);
}

Test(notify, to_an_abstract_name, .init = forget)
{
	_cleanup_close_ int fd = -1;
	char name[64], text[256];
	struct notify n;

	(void)snprintf(name, sizeof(name), "@reaper-test-%d", (int)getpid());
	fd = manager(name);
	cr_assert_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	notify_open(&n);
	notify_send(&n, "READY=1");
	cr_expect_str_eq(received(fd, text, sizeof(text)), "READY=1");
	notify_close(&n);
}

Test(notify, a_manager_that_made_its_socket_anew, .init = forget)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], text[256];
	struct notify n;

	fd = manager(tmpdir_path(&d, "socket", path));
	cr_assert_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	notify_open(&n);
	fs_close(&fd);
	notify_send(&n, "STATUS=lost"); /* nobody listens: ignored, and no SIGPIPE */
	cr_assert_eq(unlink(path), 0);
	fd = manager(path);
	notify_send(&n, "STATUS=found");
	cr_expect_str_eq(received(fd, text, sizeof(text)), "STATUS=found");
	notify_close(&n);
}

Test(notify, reloading_says_when, .init = forget)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], text[256];
	uint64_t usec = 0, now;
	struct timespec ts;
	struct notify n;
	int end = 0;

	fd = manager(tmpdir_path(&d, "socket", path));
	cr_assert_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	notify_open(&n);
	notify_reloading(&n);
	(void)received(fd, text, sizeof(text));
	cr_expect_eq(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%" SCNu64 "%n", &usec, &end), 1,
		     "%s", text);
	cr_expect_eq(text[end], '\0');
	cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	now = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
	cr_expect(usec <= now && usec + 60000000 > now, "%" PRIu64 " and now %" PRIu64, usec, now);
	notify_close(&n);
}

Test(notify, a_long_message_is_cut, .init = forget)
{
	_cleanup_tmpdir_ struct tmpdir d = tmpdir_make();
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX], text[4096], status[3000];
	struct notify n;

	fd = manager(tmpdir_path(&d, "socket", path));
	cr_assert_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	memset(status, 'x', sizeof(status) - 1);
	status[sizeof(status) - 1] = '\0';
	notify_open(&n);
	notify_send(&n, "STATUS=%s", status);
	cr_expect_eq(strlen(received(fd, text, sizeof(text))), 1023);
	notify_close(&n);
}

struct address_row {
	const char *why;
	const char *name;
};

static const struct address_row addresses[] = {
	{ "an empty name", "" },
	{ "a relative path", "run/notify" },
	{ "a machine's socket", "vsock:2:1234" },
	{ "a name of nothing", "@" },
	{ "a path that fits no address",
	  "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	  "xxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
};

Test(notify, addresses_that_are_none, .init = forget)
{
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct notify n;

		cr_assert_eq(setenv("NOTIFY_SOCKET", addresses[i].name, 1), 0);
		cr_assert_eq(setenv("WATCHDOG_USEC", "1000000", 1), 0);
		notify_open(&n);
		cr_expect_eq(n.fd, -1, "%s", addresses[i].why);
		cr_expect_eq(n.watchdog_ms, 0, "%s", addresses[i].why);
		notify_send(&n, "READY=1");
		notify_close(&n);
	}
}

struct watchdog_row {
	const char *why;
	const char *usec, *pid; /* NULL: not set; pid "" stands for our own */
	uint64_t ms;
};

static const struct watchdog_row watchdogs[] = {
	{ "half of what is asked for", "60000000", NULL, 30000 },
	{ "for this process", "2000000", "", 1000 },
	{ "for another process", "2000000", "1", 0 },
	{ "never less than a millisecond, which would not end", "1", NULL, 1 },
	{ "not asked", NULL, NULL, 0 },
	{ "off", "0", NULL, 0 },
	{ "no number", "soon", NULL, 0 },
	{ "no number of a process", "2000000", "me", 0 },
};

Test(notify, the_watchdog, .init = forget)
{
	for (size_t i = 0; i < ARRAY_SIZE(watchdogs); i++) {
		const struct watchdog_row *row = &watchdogs[i];
		char own[16];
		struct notify n;

		forget();
		(void)snprintf(own, sizeof(own), "%d", (int)getpid());
		cr_assert_eq(setenv("NOTIFY_SOCKET", "@reaper-test-nobody", 1), 0);
		if (row->usec)
			cr_assert_eq(setenv("WATCHDOG_USEC", row->usec, 1), 0);
		if (row->pid)
			cr_assert_eq(setenv("WATCHDOG_PID", row->pid[0] ? row->pid : own, 1), 0);
		notify_open(&n);
		cr_expect_eq(n.watchdog_ms, row->ms, "%s: %" PRIu64, row->why, n.watchdog_ms);
		notify_close(&n);
	}
}

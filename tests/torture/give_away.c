/* SPDX-License-Identifier: Apache-2.0 */
#include "give_away.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <libproc2/pids.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "app/history_file.h"
#include "app/look.h"
#include "app/reap.h"
#include "app/reap_check.h"
#include "app/reap_helpers.h"
#include "base/macro.h"
#include "decide/plan.h"
#include "report/audit_log.h"

enum {
	FDS_MAX = 4096,
};

static const char *const names[] = {
	[POINT_FIRST_LOOK] = "in the first look",
	[POINT_PLAN] = "between the first look and the pin",
	[POINT_PIN] = "in the pin",
	[POINT_PINNED] = "between the pin and the second look",
	[POINT_SECOND_LOOK] = "in the second look",
	[POINT_LOOKED] = "between the second look and the intents",
	[POINT_INTENTS] = "while intents are written",
	[POINT_COUNT_OF_KILLS] = "while kills are counted on the disk",
	[POINT_QUESTION] = "in the last question before a signal",
	[POINT_TERM] = "before SIGTERM",
	[POINT_KILL] = "before SIGKILL, or while a priority is raised",
	[POINT_WAIT] = "after a signal",
	[POINT_LIST] = "in the list of helpers after the signals",
};
static_assert(ARRAY_SIZE(names) == POINTS, "every point has its name");

static struct {
	bool armed;
	bool by_number;
	pid_t also; /* who is signalled by number beside who is meant; 0: nobody */
	enum point at, acted_at;
	enum point wanted; /* where to act; POINTS: wherever it is */
	int left;          /* calls there until act() */
	unsigned calls[POINTS];
	void (*act)(void);
	unsigned long mixed;   /* pins, since the start */
	pid_t pid_of[FDS_MAX]; /* of pidfds that were opened by number */
} give;

static _Thread_local bool inside;                 /* libproc2 */
static _Thread_local bool is_other_thread = true; /* reaper reads command lines by one */

const char *point_name(enum point point)
{
	return names[point];
}

void give_at(enum point point)
{
	give.at = point;
}

void give_arm(enum point wanted, int before, void (*act)(void), bool by_number)
{
	is_other_thread = false;
	give.wanted = wanted;
	give.left = before;
	give.act = act;
	give.by_number = by_number;
	give.also = 0;
	memset(give.calls, 0, sizeof(give.calls));
	give.at = POINT_FIRST_LOOK;
	give.armed = true;
}

void give_signals_also_to(pid_t number)
{
	give.also = number;
}

enum point give_disarm(void)
{
	give.armed = false;
	return give.acted_at;
}

unsigned give_calls(enum point at)
{
	unsigned sum = 0;

	for (int p = 0; p < POINTS; p++)
		sum += at == POINTS || at == (enum point)p ? give.calls[p] : 0;
	return sum;
}

/* Before every system call of the path. */
static void before_call(void)
{
	if (is_other_thread || !give.armed)
		return;
	give.calls[give.at]++;
	if (give.left == GIVE_NEVER || (give.wanted != POINTS && give.wanted != give.at) ||
	    give.left-- > 0)
		return;
	give.armed = false;
	give.acted_at = give.at;
	give.act();
	give.left = GIVE_NEVER;
	give.armed = true;
}

/* A moment lies between any two of them. */
static enum point enter(enum point point)
{
	enum point before = give.at;

	if (is_other_thread)
		return before;
	before_call();
	give.at = point;
	return before;
}

unsigned long give_mixed_pins(void)
{
	return give.mixed;
}

/* ---- where it is ---- */

int __real_plan_make(const struct audit *a, const struct limits *limits, uint32_t kills,
		     struct plan *ret);
int __wrap_plan_make(const struct audit *a, const struct limits *limits, uint32_t kills,
		     struct plan *ret);
int __wrap_plan_make(const struct audit *a, const struct limits *limits, uint32_t kills,
		     struct plan *ret)
{
	(void)enter(POINT_PLAN);
	return __real_plan_make(a, limits, kills, ret);
}

int __real_fstatat(int dirfd, const char *path, struct stat *ret, int flags);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);

/* Its directory is of one that is gone, its pidfd of one that is not. */
static bool is_mixed(const struct victim *v)
{
	struct pollfd end = { .fd = v->pidfd, .events = POLLIN };
	struct stat st;

	return __real_fstatat(v->dirfd, "stat", &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	       __real_poll(&end, 1, 0) == 0;
}

int __real_act_pin(struct ident id, enum role role, struct victim *ret);
int __wrap_act_pin(struct ident id, enum role role, struct victim *ret);
int __wrap_act_pin(struct ident id, enum role role, struct victim *ret)
{
	enum point before = enter(POINT_PIN);
	int err = __real_act_pin(id, role, ret);

	give.mixed += err == 0 && is_mixed(ret);
	give.at = before == POINT_PLAN ? POINT_PINNED : before;
	return err;
}

/* As short as a pause can be in which a connection would tell of a byte. */
bool __wrap_look_pause(const struct look *l, uint64_t ms);
bool __wrap_look_pause(const struct look *l _unused_, uint64_t ms _unused_)
{
	(void)enter(POINT_PINNED);
	(void)usleep(GIVE_PAUSE_US);
	return true;
}

int __real_look_take(struct look *l, struct audit *ret);
int __wrap_look_take(struct look *l, struct audit *ret);
int __wrap_look_take(struct look *l, struct audit *ret)
{
	int err;

	(void)enter(POINT_SECOND_LOOK);
	err = __real_look_take(l, ret);
	(void)enter(POINT_LOOKED);
	return err;
}

int __real_audit_log_append(struct audit_log *log, const struct buf *lines, bool sync);
int __wrap_audit_log_append(struct audit_log *log, const struct buf *lines, bool sync);
int __wrap_audit_log_append(struct audit_log *log, const struct buf *lines, bool sync)
{
	enum point before = enter(sync ? POINT_INTENTS : give.at);
	int err = __real_audit_log_append(log, lines, sync);

	give.at = before;
	return err;
}

int __real_history_file_save(const char *dir, const char *boot_id, const struct history *h);
int __wrap_history_file_save(const char *dir, const char *boot_id, const struct history *h);
int __wrap_history_file_save(const char *dir, const char *boot_id, const struct history *h)
{
	(void)enter(POINT_COUNT_OF_KILLS);
	return __real_history_file_save(dir, boot_id, h);
}

const char *__real_reap_check(const struct reap *r, const struct victim *v);
const char *__wrap_reap_check(const struct reap *r, const struct victim *v);
const char *__wrap_reap_check(const struct reap *r, const struct victim *v)
{
	const char *why;

	(void)enter(POINT_QUESTION);
	why = __real_reap_check(r, v);
	(void)enter(POINT_WAIT);
	return why;
}

bool __real_act_step(struct victim *v, const struct act_graces *graces, uint64_t now_ms);
bool __wrap_act_step(struct victim *v, const struct act_graces *graces, uint64_t now_ms);
bool __wrap_act_step(struct victim *v, const struct act_graces *graces, uint64_t now_ms)
{
	bool over;

	(void)enter(v->stage == ACT_PINNED && !v->kill_at_once ? POINT_TERM : POINT_KILL);
	over = __real_act_step(v, graces, now_ms);
	(void)enter(POINT_WAIT);
	return over;
}

int __real_reap_find_new_helpers(struct reap *r);
int __wrap_reap_find_new_helpers(struct reap *r);
int __wrap_reap_find_new_helpers(struct reap *r)
{
	int found;

	(void)enter(POINT_LIST);
	found = __real_reap_find_new_helpers(r);
	(void)enter(POINT_WAIT);
	return found;
}

/* ---- its system calls ---- */

int __real___openat_2(int dirfd, const char *path, int flags);
int __wrap___openat_2(int dirfd, const char *path, int flags);
int __wrap___openat_2(int dirfd, const char *path, int flags)
{
	before_call();
	return __real___openat_2(dirfd, path, flags);
}

int __real_openat(int dirfd, const char *path, int flags, ...);
int __wrap_openat(int dirfd, const char *path, int flags, ...);
int __wrap_openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode;
	va_list more;

	va_start(more, flags);
	mode = va_arg(more, mode_t);
	va_end(more);
	before_call();
	return __real_openat(dirfd, path, flags, mode);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list more;

	va_start(more, flags);
	mode = va_arg(more, mode_t);
	va_end(more);
	before_call();
	return __real_open(path, flags, mode);
}

ssize_t __real_read(int fd, void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len)
{
	before_call();
	return __real_read(fd, bytes, len);
}

ssize_t __real___read_chk(int fd, void *bytes, size_t len, size_t room);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t len, size_t room);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t len, size_t room)
{
	before_call();
	return __real___read_chk(fd, bytes, len, room);
}

ssize_t __real_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
	before_call();
	return __real_write(fd, bytes, len);
}

ssize_t __real_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
	before_call();
	return __real_writev(fd, parts, count);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	before_call();
	return __real_fdatasync(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	before_call();
	return __real_rename(from, to);
}

ssize_t __real_pread(int fd, void *bytes, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t len, off_t at);
ssize_t __wrap_pread(int fd, void *bytes, size_t len, off_t at)
{
	before_call();
	return __real_pread(fd, bytes, len, at);
}

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
	before_call();
	return __real_readdir(dir);
}

ssize_t __real_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t size)
{
	before_call();
	return __real_getxattr(path, name, value, size);
}

ssize_t __real_mnl_socket_sendto(const struct mnl_socket *nl, const void *bytes, size_t len);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *nl, const void *bytes, size_t len);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *nl, const void *bytes, size_t len)
{
	before_call();
	return __real_mnl_socket_sendto(nl, bytes, len);
}

ssize_t __real_mnl_socket_recvfrom(const struct mnl_socket *nl, void *bytes, size_t len);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *bytes, size_t len);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *bytes, size_t len)
{
	before_call();
	return __real_mnl_socket_recvfrom(nl, bytes, len);
}

int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret)
{
	before_call();
	return __real_fstat(fd, ret);
}

int __wrap_fstatat(int dirfd, const char *path, struct stat *ret, int flags);
int __wrap_fstatat(int dirfd, const char *path, struct stat *ret, int flags)
{
	before_call();
	return __real_fstatat(dirfd, path, ret, flags);
}

int __real_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *ret)
{
	before_call();
	return __real_statx(dirfd, path, flags, mask, ret);
}

ssize_t __real_readlinkat(int dirfd, const char *path, char *bytes, size_t len);
ssize_t __wrap_readlinkat(int dirfd, const char *path, char *bytes, size_t len);
ssize_t __wrap_readlinkat(int dirfd, const char *path, char *bytes, size_t len)
{
	before_call();
	return __real_readlinkat(dirfd, path, bytes, len);
}

int __real_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags);
int __wrap_pidfd_open(pid_t pid, unsigned flags)
{
	int fd;

	before_call();
	fd = __real_pidfd_open(pid, flags);
	if (fd >= 0 && fd < FDS_MAX)
		give.pid_of[fd] = pid;
	return fd;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	before_call();
	return __real_poll(fds, count, timeout);
}

int give_poll(struct pollfd *fds, unsigned long count, int timeout_ms)
{
	return __real_poll(fds, count, timeout_ms);
}

int __real_clock_getcpuclockid(pid_t pid, clockid_t *ret);
int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *ret);
int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *ret)
{
	before_call();
	return __real_clock_getcpuclockid(pid, ret);
}

/* The clocks of processes, which have their numbers in them, are negative. */
int __real_clock_gettime(clockid_t which, struct timespec *ret);
int __wrap_clock_gettime(clockid_t which, struct timespec *ret);
int __wrap_clock_gettime(clockid_t which, struct timespec *ret)
{
	if (which < 0)
		before_call();
	return __real_clock_gettime(which, ret);
}

int __real_getpriority(enum __priority_which which, id_t who);
int __wrap_getpriority(enum __priority_which which, id_t who);
int __wrap_getpriority(enum __priority_which which, id_t who)
{
	before_call();
	return __real_getpriority(which, who);
}

int __real_setpriority(enum __priority_which which, id_t who, int priority);
int __wrap_setpriority(enum __priority_which which, id_t who, int priority);
int __wrap_setpriority(enum __priority_which which, id_t who, int priority)
{
	before_call();
	return __real_setpriority(which, who, priority);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list more;

	va_start(more, number);
	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = va_arg(more, long);
	va_end(more);
	before_call();
	if (give.by_number && give.armed && number == SYS_pidfd_send_signal && arg[0] >= 0 &&
	    arg[0] < FDS_MAX) {
		if (give.also)
			(void)kill(give.also, (int)arg[1]);
		return kill(give.pid_of[arg[0]], (int)arg[1]);
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* ---- those of libproc2, which no linker wraps: inside.c stands before libc's ---- */

struct pids_fetch *__real_procps_pids_reap(struct pids_info *info, enum pids_fetch_type which);
struct pids_fetch *__wrap_procps_pids_reap(struct pids_info *info, enum pids_fetch_type which);
struct pids_fetch *__wrap_procps_pids_reap(struct pids_info *info, enum pids_fetch_type which)
{
	struct pids_fetch *all;

	before_call();
	inside = true;
	all = __real_procps_pids_reap(info, which);
	inside = false;
	return all;
}

void give_inside(void)
{
	if (inside)
		before_call();
}

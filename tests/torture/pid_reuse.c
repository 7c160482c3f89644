/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the number of a process to a stranger in the middle of an end: `pid_reuse [--control]
 * NUMBERS [SEED]`.
 *
 * In a pid namespace of its own, where clone3(2) can be told which number to give. Each trial pins
 * a process, looks at it and ends it with reaper's own objects (act.c, pin.c, reap.c,
 * reap_check.c, evidence.c, correlate.c); before one of the system calls of that path, another one
 * in each trial, the process is killed and its number is given away. One in sixteen is a whole
 * sweep of that namespace, among a JVM, its daemon, a leaked and a pooled worker (sweeps.c), and
 * the number is the leak's, its helper's, the daemon's or the JVM's. Who gets it must get no
 * signal and keep its priority, and so must all who are not proven; what is proven must go all the
 * same. With --control the signals go by number, as kill(2) sends them, and where the number is a
 * daemon's or a JVM's, to that number too: then strangers of each kind must be seen to be hit, or
 * this test sees nothing.
 *
 * Exit status: 0; 1: a stranger was hit (--control: of a kind none was), a leak was missed, too few
 * numbers were given away, or none at a point of the path, if there were enough of them to expect
 * some at each; 77: not allowed to do this here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/reap.h"
#include "app/reap_check.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/macro.h"
#include "base/parse.h"
#include "base/pin.h"
#include "correlate/correlate.h"
#include "give_away.h"
#include "observe/evidence.h"
#include "people.h"
#include "sweeps.h"

enum {
	UNDISTURBED = 8,     /* ends of each kind, to count their calls */
	TRIALS_EACH_MAX = 4, /* for each number that is given away */
	NUMBERS_MAX = 100000000,
	GRACE_MS = 60 * 1000, /* a machine may be busy */
	WHY_MAX = 256,
	TICK_US = 11 * 1000,  /* longer than one, by which the start of a process is told */
	CALLS_BEFORE_PIN = 2, /* the one that opens the directory is among them */
	ONE_IN_SWEEPS = 16,   /* of the numbers */
	ONE_IN_SWEEPS_SEEN = 10,
	ALL_POINTS = 1000, /* so many numbers in plain ends are expected to reach every point */
	SKIPPED = 77,      /* of automake */
};

static bool control;
static bool is_pinned;  /* so that it is told from another of the same tick */
static int our_nice;    /* ours, and so that of whom we start */
static int victim = -1; /* pidfds of ours, beside those that reaper opens */
static int stranger = -1;
static unsigned long given_at[POINTS];

/* One that waits for ever. */
static int start(int *ret_pidfd)
{
	pid_t pid = born(NUMBER_VICTIM, ret_pidfd);

	if (pid == 0)
		for (;;)
			(void)pause();
	return pid < 0 ? -1 : 0;
}

static void give_number_away(void)
{
	(void)ended_by(&victim, SIGKILL);
	if (!is_pinned)
		(void)usleep(TICK_US); /* in the same tick, nothing tells one from the other */
	if (start(&stranger) < 0)
		give_up("clone3 with the number of a process that has ended");
}

static void ignore_record(void *arg, const struct action_record *record)
{
	(void)arg;
	(void)record;
}

/* What is seen of a process through a directory. */
static void see(int dirfd, struct subject *ret)
{
	*ret = (struct subject){ .role = ROLE_WORKER, .worker = -1 };
	if (evidence_look(dirfd, NUMBER_VICTIM, EVIDENCE_IDENTITY, NULL, &ret->ev) < 0)
		give_up("no memory");
	ret->id = ret->ev.id;
	ret->ppid = ret->ev.ppid;
}

/* From the pin to the end, as a sweep does it. @return how it went; *ret_why: and why so. */
static enum outcome end_by_reaper(const struct config *config, struct look *look,
				  const struct subject *first, char ret_why[static WHY_MAX])
{
	struct victim v = { 0 };
	struct subject then;
	struct reap r = {
		.look = look,
		.config = config,
		.sink = ignore_record,
		.victims = &v,
		.count = 1,
		.second = { .subjects = &then, .subject_count = 1 },
		.settled = true,
	};
	enum outcome outcome = OUTCOME_VANISHED;
	const char *why;

	(void)snprintf(ret_why, WHY_MAX, "it cannot be pinned");
	give_at(POINT_PLAN);
	if (act_pin(first->id, ROLE_WORKER, &v) < 0)
		return outcome;
	give_at(POINT_SECOND_LOOK);
	see(v.dirfd, &then);
	why = then.ev.vanished ? "it vanished" : correlate_difference(first, &then);
	(void)snprintf(ret_why, WHY_MAX, "%s", why ? why : "");
	if (!why) {
		while (reap_step(&r, clock_boot_ms())) {
			struct pollfd wait = { .fd = v.pidfd, .events = POLLIN };

			(void)give_poll(&wait, 1, 1);
		}
		outcome = v.record.outcome;
		(void)snprintf(ret_why, WHY_MAX, "%s %s", outcome_name(outcome), v.record.why);
	}
	evidence_done(&then.ev);
	act_release(&v);
	return outcome;
}

/* Then it has only the pin to go by. */
static void look_first(struct subject *ret)
{
	_cleanup_close_ int dirfd = pin_open(NUMBER_VICTIM);

	see(dirfd, ret);
}

struct sum {
	unsigned long given, ended;
	unsigned long signalled, hurried; /* strangers */
	unsigned long missed;             /* victims that were not ended */
};

static unsigned long wrong_of(const struct sum *sum)
{
	return sum->signalled + sum->hurried + sum->missed;
}

static void tell_wrong(unsigned long *count, const char *what, int before, const char *why)
{
	(*count)++;
	if (!control)
		(void)printf("%s, call %d: %s\n", what, before, why);
}

static void judge_stranger(struct sum *sum, int before, enum point point)
{
	int sig;

	sum->given++;
	given_at[point]++;
	if (getpriority(PRIO_PROCESS, NUMBER_VICTIM) != our_nice)
		tell_wrong(&sum->hurried, "a stranger has another priority", before,
			   point_name(point));
	sig = ended_by(&stranger, SIGUSR2);
	if (sig != SIGUSR2)
		tell_wrong(&sum->signalled,
			   sig == SIGKILL ? "a stranger got SIGKILL" : "a stranger was signalled",
			   before, point_name(point));
}

/* One victim, which ignores SIGTERM or does not; its number is given away before that call. */
static unsigned trial(int before, bool stubborn, struct sum *sum)
{
	static struct config config;
	static struct look look;
	const struct person newborn = { .pid = NUMBER_VICTIM };
	struct subject first;
	enum outcome outcome;
	enum point point;
	char why[WHY_MAX];

	config.term_grace_ms = stubborn ? 0 : GRACE_MS;
	config.kill_grace_ms = GRACE_MS;
	(void)signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
	if (start(&victim) < 0)
		give_up("clone3 with a number");
	(void)signal(SIGTERM, SIG_DFL);
	people_settle(&newborn); /* while it starts, its flags may change from look to look */
	look_first(&first);
	is_pinned = before >= CALLS_BEFORE_PIN;
	give_arm(POINTS, before, give_number_away, control);
	outcome = end_by_reaper(&config, &look, &first, why);
	point = give_disarm();
	evidence_done(&first.ev);
	if (victim >= 0) {
		int sig = ended_by(&victim, SIGUSR2);

		sum->ended += sig == SIGTERM || sig == SIGKILL;
		if (sig == SIGUSR2 || (outcome != OUTCOME_EXITED && outcome != OUTCOME_KILLED))
			tell_wrong(&sum->missed, "a victim was not ended", before, why);
	}
	if (stranger >= 0)
		judge_stranger(sum, before, point);
	return give_calls(POINTS);
}

/* One end takes more calls than another: a wait that is looked at twice. So many each takes. */
static void count_calls(unsigned least[2], struct sum *sum)
{
	for (int i = 0; i < 2 * UNDISTURBED; i++)
		least[i % 2] = MIN(least[i % 2], trial(GIVE_NEVER, i % 2, sum));
}

static void print_points(void)
{
	(void)printf("a victim's to a stranger:\n");
	for (int p = 0; p < POINTS; p++)
		if (given_at[p])
			(void)printf("\t%lu %s\n", given_at[p], point_name((enum point)p));
}

/* @return at how many points of a plain end no number was given away. */
static unsigned long never_given(void)
{
	static const enum point expected[] = {
		POINT_PLAN, POINT_PIN,  POINT_SECOND_LOOK, POINT_QUESTION,
		POINT_TERM, POINT_KILL, POINT_WAIT,
	};
	unsigned long never = 0;

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (given_at[expected[i]])
			continue;
		(void)printf("a victim's to a stranger: never %s\n", point_name(expected[i]));
		never++;
	}
	return never;
}

/* The end of one process, without the looks that find it. */
static void take_ends(unsigned long numbers, struct sum *sum)
{
	unsigned least[2] = { UINT_MAX, UINT_MAX };
	unsigned long trials = 0;

	our_nice = getpriority(PRIO_PROCESS, 0);
	count_calls(least, sum);
	if (sum->ended != 2 * UNDISTURBED || wrong_of(sum))
		give_up("a victim does not end");
	/* An end that takes fewer calls is over before its number is given away: it counts for nothing. */
	for (; sum->given < numbers && trials < TRIALS_EACH_MAX * (numbers + 100); trials++)
		(void)trial((int)((trials / 2) % least[trials % 2]), trials % 2, sum);
	print_points();
}

static int torture(unsigned long numbers, unsigned seed)
{
	unsigned long in_sweeps = numbers / (control ? ONE_IN_SWEEPS_SEEN : ONE_IN_SWEEPS);
	struct sum ends = { 0 };
	struct sweeps_sum sweeps = { 0 };
	unsigned long given, wrong, mixed, never;

	take_ends(numbers - in_sweeps, &ends);
	sweeps_take(in_sweeps, seed, control, &sweeps);
	never = sweeps.never + (ends.given >= ALL_POINTS ? never_given() : 0);
	given = ends.given + sweeps.given;
	mixed = give_mixed_pins();
	wrong = wrong_of(&ends) + sweeps.wrong + sweeps.hurried + sweeps.missed + mixed;
	(void)printf(
		"pid reuse%s: seed %u, %lu numbers given away, %lu of them in whole sweeps; wrong: "
		"%lu and %lu signalled, %lu and %lu with another priority, %lu pins of two "
		"processes, %lu and %lu leaks missed\n",
		control ? ", signals by number" : "", seed, given, sweeps.given, ends.signalled,
		sweeps.wrong, ends.hurried, sweeps.hurried, mixed, ends.missed, sweeps.missed);
	if (!control)
		(void)printf(
			"figure numbers given away in the middle of an end: %lu numbers, "
			"%lu wrong\n"
			"figure numbers given away that were a daemon's or a JVM's: %lu numbers, "
			"%lu wrong\n",
			given, wrong, sweeps.above.given, sweeps.above.wrong);
	if (given < numbers) {
		(void)printf("only %lu of %lu numbers could be given away\n", given, numbers);
		return 1;
	}
	if (never)
		return 1;
	return control ? !ends.signalled || sweeps.unseen : wrong != 0;
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		(void)printf("skipped: %s cannot be written: %s\n", path, strerror(errno));
		exit(SKIPPED);
	}
	(void)close(fd);
}

/* A user who may have a user namespace may do this too. */
static void enter_namespaces(void)
{
	char map[64];
	uid_t uid = geteuid();

	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | (uid ? CLONE_NEWUSER : 0)) < 0) {
		(void)printf("skipped: no pid namespace of its own: %s\n", strerror(errno));
		exit(SKIPPED);
	}
	if (uid)
		write_map("/proc/self/uid_map", map);
}

/* The first process of the namespace. */
static int inside(unsigned long numbers, unsigned seed)
{
	(void)setvbuf(stdout, NULL, _IOLBF,
		      0); /* what was wrong is told even of a run that is ended */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
		(void)printf("skipped: no /proc of its own: %s\n", strerror(errno));
		return SKIPPED;
	}
	if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
		give_up("a /tmp of its own");
	if (start(&victim) < 0) {
		(void)printf("skipped: clone3 does not take a number: %s\n", strerror(errno));
		return SKIPPED;
	}
	(void)ended_by(&victim, SIGKILL);
	return torture(numbers, seed);
}

int main(int argc, char **argv)
{
	uint64_t numbers, seed = 1;
	int status;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "-m") == 0)
		people_daemon();
	control = argc > 1 && strcmp(argv[1], "--control") == 0;
	if (argc < 2 + control || argc > 3 + control ||
	    parse_u64(argv[1 + control], NUMBERS_MAX, &numbers) < 0 ||
	    (argc == 3 + control && parse_u64(argv[2 + control], UINT32_MAX, &seed) < 0)) {
		(void)fprintf(stderr, "usage: pid_reuse [--control] NUMBERS [SEED]\n");
		return 2;
	}
	enter_namespaces();
	child = fork();
	if (child < 0)
		give_up("fork");
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* and with it all of the namespace */
		exit(inside((unsigned long)numbers, (unsigned)seed));
	}
	if (waitpid(child, &status, 0) < 0)
		give_up("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

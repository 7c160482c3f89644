/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/round.h"
#include "base/macro.h"
#include "give_away.h"
#include "people.h"

enum {
	LOOK_SERVES = 200,  /* sweeps: it remembers who had a number before, as watch does */
	TURNS_EACH_MAX = 4, /* for each number that is given away */
	STEPS_MAX = 5000,
	STRIDE = 8,         /* over the points: few trials see early and late ones too */
	ONE_IN_WORKERS = 6, /* turns: the plain trials are all of a victim's own number */
	TRIES = 200,        /* of a number at a point where it was never given away */
};

/* Whose number is given to whom. */
enum who {
	WHO_LEAK,
	WHO_HELPER,
	WHO_DAEMON,
	WHO_HOST,
};

enum {
	GIFTS_OF_WORKERS = 4, /* they are the first ones */
	GIFTS_ABOVE = 4,
	GIFTS = GIFTS_OF_WORKERS + GIFTS_ABOVE,
};

static const struct gift {
	const char *name;
	enum who who;
	bool is_worker; /* the same daemon forks the stranger */
	bool twin;
	enum person_kind kind; /* of another */
} gifts[GIFTS] = {
	{ "a worker's to a worker of the same daemon", WHO_LEAK, .is_worker = true },
	{ "a worker's to one with the same connection", WHO_LEAK, .is_worker = true, .twin = true },
	{ "a worker's to a stranger", WHO_LEAK, .kind = PERSON_SLEEPER },
	{ "a helper's to a stranger", WHO_HELPER, .kind = PERSON_SLEEPER },
	{ "a daemon's to a stranger", WHO_DAEMON, .kind = PERSON_SLEEPER },
	{ "a daemon's to a stranger with a child", WHO_DAEMON, .kind = PERSON_PARENT },
	{ "a JVM's to a stranger", WHO_HOST, .kind = PERSON_SLEEPER },
	{ "a JVM's to another JVM", WHO_HOST, .kind = PERSON_JAVA },
};

static struct {
	struct person host, daemon, leak, helper, pooled, stranger, child;
	int pooled_end;   /* the host's ends, which we hold */
	int stranger_end; /* -1: none */
	const struct gift *gift;
	bool given;
} town = { .pooled_end = -1, .stranger_end = -1 };

static struct {
	struct config *config;
	struct options options;
	struct look look;
	struct round round;
	unsigned served;
} reaper;

static unsigned long given_at[POINTS][GIFTS];
static unsigned long hits[GIFTS]; /* trials in which somebody was signalled */
static int our_nice;
static bool by_number; /* signals go, as kill(2) sends them */

/* ---- the town ---- */

static void forget_end(int *end)
{
	if (*end >= 0)
		(void)close(*end);
	*end = -1;
}

static void build_tree(void)
{
	if (town.host.pid && town.daemon.pid)
		return;
	people_kill(&town.pooled);
	people_kill(&town.daemon);
	people_kill(&town.host);
	forget_end(&town.pooled_end);
	people_start_tree(&town.host, &town.daemon);
}

static void people_the_tree(const struct gift *gift, bool stubborn)
{
	const struct order leak = {
		.number = NUMBER_LEAK,
		.helper = NUMBER_HELPER,
		.own_group = gift->who == WHO_DAEMON,
		.stubborn = stubborn,
	};
	struct order pooled = { .number = NUMBER_POOLED, .own_group = true };
	int end;

	build_tree();
	if (!town.pooled.pid)
		town.pooled_end = people_fork(pooled, &town.pooled, NULL);
	end = people_fork(leak, &town.leak, &town.helper);
	(void)close(end);
	people_settle(&town.pooled);
	people_settle(&town.leak);
	people_settle(&town.helper);
	(void)usleep(GIVE_PAUSE_US); /* no byte has come since the first look */
}

static void kill_who_had_it(enum who who)
{
	struct person *const had[] = {
		[WHO_LEAK] = &town.leak,
		[WHO_HELPER] = &town.helper,
		[WHO_DAEMON] = &town.daemon,
		[WHO_HOST] = &town.host,
	};

	people_kill(had[who]);
}

static bool is_above(const struct gift *gift)
{
	return gift->who == WHO_DAEMON || gift->who == WHO_HOST;
}

static void give_number_away(void)
{
	static const pid_t numbers[] = {
		[WHO_LEAK] = NUMBER_LEAK,
		[WHO_HELPER] = NUMBER_HELPER,
		[WHO_DAEMON] = NUMBER_DAEMON,
		[WHO_HOST] = NUMBER_HOST,
	};
	const struct gift *gift = town.gift;
	const struct order order = { .number = numbers[gift->who], .twin = gift->twin };

	kill_who_had_it(gift->who);
	if (gift->is_worker)
		town.stranger_end = people_fork(order, &town.stranger, NULL);
	else
		people_meet(gift->kind, numbers[gift->who], &town.stranger, &town.child);
	people_settle(&town.stranger);
	town.given = true;
	/* Nobody means to signal a daemon or a JVM; --control is of one who would. */
	if (is_above(gift))
		give_signals_also_to(numbers[gift->who]);
}

/* ---- the sweep ---- */

static void open_reaper(void)
{
	static const char *const sets[] = {
		"reaper.state_dir=/tmp/state",
		"reaper.marker_dir=/tmp/markers",
		"reaper.audit_log=/tmp/audit.jsonl",
	};
	struct problem problem;

	if (config_load_text("none", NULL, 0, sets, ARRAY_SIZE(sets), &reaper.config, &problem) < 0)
		give_up(problem.text);
	/* More aggressive than any configuration may be: whoever is proven is due. */
	reaper.config->policy.timeout_ms = 0;
	reaper.config->policy.min_age_ms = 0;
	reaper.config->limits = (struct limits){ .per_sweep = UINT32_MAX, .per_hour = UINT32_MAX };
	(void)mkdir("/tmp/state", 0750);
	(void)mkdir("/tmp/markers", 0755);
}

static void end_service(void)
{
	round_close(&reaper.round);
	look_close(&reaper.look);
	reaper.served = 0;
}

static void begin_service(void)
{
	if (reaper.served == LOOK_SERVES)
		end_service();
	if (reaper.served++)
		return;
	(void)unlink(reaper.config->audit_log);
	if (look_open(reaper.config, NULL, 0, &reaper.look) < 0 ||
	    round_open(&reaper.options, reaper.config, &reaper.look, &reaper.round) < 0)
		give_up("cannot begin a sweep");
}

static void sweep(void)
{
	struct round *r = &reaper.round;
	int steps = 0, err = round_look(r, 0);

	if (err == 0)
		err = round_begin(r);
	if (err < 0) {
		errno = -err;
		give_up("a sweep fails");
	}
	while (round_step(r) && steps++ < STEPS_MAX) {
		struct pollfd wait = { .fd = r->reap.victims[0].pidfd, .events = POLLIN };

		(void)give_poll(&wait, 1, 1);
	}
	round_end(r);
}

/* ---- the trial ---- */

static bool is_hurried(const struct person *p)
{
	return p->pid && getpriority(PRIO_PROCESS, (id_t)p->pid) != our_nice;
}

static void judge_innocent(struct person *p, struct sweeps_sum *sum)
{
	if (!p->pid)
		return;
	sum->hurried += is_hurried(p);
	sum->wrong += !people_dismiss(p);
}

static void judge_who_stays(struct person *p, struct sweeps_sum *sum)
{
	if (!p->pid)
		return;
	if (person_is_gone(p)) {
		sum->wrong++;
		people_kill(p);
	} else {
		sum->hurried += is_hurried(p);
	}
}

/* Whatever became of its JVM: the daemon lives, and what was proven is. */
static void judge_leak(struct sweeps_sum *sum)
{
	if (town.leak.pid && town.daemon.pid && !person_is_gone(&town.leak)) {
		(void)usleep(GIVE_PAUSE_US);
		sweep();
		sweep();
		sum->missed += !person_is_gone(&town.leak);
	}
	people_kill(&town.leak);
	people_kill(&town.helper);
}

/* @param wanted	after so many calls there the number is given away. */
static void trial(const struct gift *gift, enum point wanted, int before, bool stubborn,
		  struct sweeps_sum *sum)
{
	struct sweeps_sum was = *sum;
	unsigned long wrong;
	enum point point;

	people_the_tree(gift, stubborn);
	begin_service();
	town.gift = gift;
	town.given = false;
	give_arm(wanted, before, give_number_away, by_number);
	sweep();
	point = give_disarm();
	if (town.given) {
		sum->given++;
		given_at[point][gift - gifts]++;
	}
	judge_leak(sum);
	judge_innocent(&town.stranger, sum);
	judge_innocent(&town.child, sum);
	forget_end(&town.stranger_end);
	judge_who_stays(&town.pooled, sum);
	judge_who_stays(&town.daemon, sum);
	judge_who_stays(&town.host, sum);
	wrong = sum->wrong + sum->hurried + sum->missed - was.wrong - was.hurried - was.missed;
	hits[gift - gifts] += sum->wrong != was.wrong;
	if (is_above(gift)) {
		sum->above.given += town.given;
		sum->above.wrong += wrong;
	}
	if (wrong && !by_number)
		(void)printf("%s, call %d %s%s: %lu signalled, %lu with another priority, %lu "
			     "leaks missed\n",
			     gift->name, before, point_name(town.given ? point : wanted),
			     stubborn ? ", SIGTERM ignored" : "", sum->wrong - was.wrong,
			     sum->hurried - was.hurried, sum->missed - was.missed);
}

/* One with the connection of the leak is proven itself, if the first look sees it. */
static bool is_expected(size_t gift, enum point point)
{
	return !gifts[gift].twin || point != POINT_FIRST_LOOK;
}

/* A trial in which nothing happens ends the leak, and tells how many calls there are at each point. */
static void count_calls(const struct gift *gift, bool stubborn, unsigned calls[static POINTS])
{
	struct sweeps_sum sum = { 0 };

	trial(gift, POINTS, GIVE_NEVER, stubborn, &sum);
	for (int p = 0; p < POINTS; p++)
		calls[p] = give_calls((enum point)p);
	if (sum.wrong || sum.missed)
		give_up("a sweep does not end the leak alone");
}

/* Before any call there. Where fewer come than the last time, it counts for nothing. */
static void try_at(size_t gift, enum point point, bool stubborn, struct sweeps_sum *sum)
{
	static unsigned calls[GIFTS][2][POINTS];
	unsigned *here = calls[gift][stubborn];

	if (!here[POINT_SECOND_LOOK])
		count_calls(&gifts[gift], stubborn, here);
	if (here[point] && is_expected(gift, point))
		trial(&gifts[gift], point, (int)((unsigned long)random() % here[point]), stubborn,
		      sum);
}

/* Each gift has its turn, and in its turns each point. */
static void take_turn(unsigned long turn, struct sweeps_sum *sum)
{
	static unsigned long turns[GIFTS];
	bool of_workers = turn % ONE_IN_WORKERS == 0;
	size_t gift = of_workers ? turn / ONE_IN_WORKERS % GIFTS_OF_WORKERS
				 : GIFTS_OF_WORKERS + turn % GIFTS_ABOVE;
	unsigned long mine = turns[gift]++;

	try_at(gift, (enum point)(mine / 2 * STRIDE % POINTS), mine % 2, sum);
}

/* What chance has left out. What cannot be given away there any more is not tested: an error. */
static void take_rest(struct sweeps_sum *sum)
{
	for (size_t g = 0; g < GIFTS; g++) {
		for (int p = 0; p < POINTS; p++) {
			for (int i = 0; i < TRIES && !given_at[p][g]; i++)
				try_at(g, (enum point)p, i % 2, sum);
			if (given_at[p][g] || !is_expected(g, (enum point)p))
				continue;
			(void)printf("%s: never %s\n", gifts[g].name, point_name((enum point)p));
			sum->never++;
		}
	}
}

/* Before SIGTERM a signal by number hits whoever has it. */
static void take_unseen(struct sweeps_sum *sum)
{
	for (size_t g = 0; g < GIFTS; g++)
		for (int i = 0; i < TRIES && !hits[g]; i++)
			try_at(g, POINT_TERM, i % 2, sum);
}

static void print_points(struct sweeps_sum *sum)
{
	for (size_t g = 0; g < GIFTS; g++) {
		(void)printf("%s:\n", gifts[g].name);
		for (int p = 0; p < POINTS; p++)
			if (given_at[p][g])
				(void)printf("\t%lu %s\n", given_at[p][g],
					     point_name((enum point)p));
		if (by_number)
			(void)printf("\t%lu seen to be signalled\n", hits[g]);
		sum->unseen += !hits[g];
	}
}

void sweeps_take(unsigned long numbers, unsigned seed, bool control, struct sweeps_sum *sum)
{
	srandom(seed);
	by_number = control;
	our_nice = getpriority(PRIO_PROCESS, 0);
	people_open();
	open_reaper();
	for (unsigned long turn = 0;
	     sum->given < numbers && turn < TURNS_EACH_MAX * (numbers + 1000); turn++)
		take_turn(turn, sum);
	if (numbers >= SWEEPS_ALL_POINTS)
		take_rest(sum);
	if (control)
		take_unseen(sum);
	print_points(sum);
	end_service();
	config_free(reaper.config);
}

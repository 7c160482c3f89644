/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host, its daemon, its workers and its pool; sockets, markers and the clock; and reaper, which looks
 * twice and kills. tools/check-model builds this file once for each of its rows and lets Spin try every
 * run: whatever they do and in whatever order, no worker may be signalled that its host uses or will use.
 *
 * Worker 0 is the one that reaper looks at. With -DNW=2 another one competes with it for the pool and for
 * tasks: two of one task are a join or a zip, and who lies first in the pool is taken first.
 *
 * One tick is 20 s. The pool's timeout is one tick, the host's monitor purges before the third one since the
 * last release begins, and the stretch of `host idle` is two whole ticks: 60 s and 40 s more, rounded down.
 * `timeout` is one tick.
 *
 * What a row defines:
 *   a fence       F_SIGNED F_PEER F_GONE F_RETIRED, and the three of `task-ended`: F_DECL F_REP F_IDLE
 *   a world       what else may happen: a define below "Worlds"; reaper as it is must stand it, or the row
 *                 says that it does not
 *   a breach      one condition of reaper taken out: a define that begins SO_ PC_ HG_ TE_ ID_ RP_ G_ or D_;
 *                 Spin must find who comes to harm
 *   LIVE STEADY REACH   what is asked instead of "nobody comes to harm"; see the end of the file
 *
 * Not here, since no order of steps matters to it: how a reset, an exact lookup or a socket of the worker's own
 * is told from the task socket's end, which of two queues has what the host has not read, pid 1, kernel threads
 * and reaper itself, the operator's word. tools/mutate-guards breaks those where they are
 * decided, in correlate/task_socket.c, decide/fence.c and decide/guard.c.
 */
#ifndef NW
#define NW 1
#endif

/* What a fence does not read is left out of its states. */
#if defined(F_DECL) || defined(F_REP) || defined(F_IDLE)
#define BY_MARKERS(x) x
#else
#define BY_MARKERS(x)
#endif
#ifdef ID_OWN				/* only the worker's own tasks end a stretch */
#define BY_OWN(x) x
#define BY_ANY(x)
#else
#define BY_OWN(x)
#define BY_ANY(x) x
#endif
#ifdef F_IDLE
#define BY_STRETCH(x) x
#else
#define BY_STRETCH(x)
#endif
#if defined(F_REP) && !defined(LIAR)	/* a liar's beats list nobody */
#define BEATEN
#define BY_BEATS(x) x
#else
#define BY_BEATS(x)
#endif
#ifdef LATEREAD
#define BY_ROWS(x) x
#else
#define BY_ROWS(x)
#endif
#if !defined(F_IDLE) && !defined(NOSTOP)
#define NOSTOP		/* only a stretch asks whether the host ran */
#endif

/* ---- Worlds ----
 * POOLNONE	the host reuses nobody, as it says under `declared`
 * CRASH	the host may die, and a native child of it may hold its ends for a while
 * REUSE	the number of a dead worker is given to a new one; a host starts another daemon when it needs one
 * LOGBREAK	the host's log can be written no longer (deleted, disk full)
 * LATEBEGIN	`begin` is written after a worker was taken
 * PURGESTUCK	the host's purge may die; WEAKPURGE: it may be late
 * LAG		a beat is written later than it was made, by either of two threads, though in the same tick
 * TORN		a beat reads the pool first and the leases later
 * LOSTREC	a record of a beat may be lost, and nobody counts
 * TWOCLASS	what the host's log promises and lists may be of another class of the same JVM
 * DISAGREE	another log of the host may promise less, and that is true; LONGER: of `host idle`, a longer
 *		timeout of the pool
 * UNTIMED	nobody may know the timeout of the pool, and its purge is late then
 * LOSSY	a record may be lost, and the log shows that one was
 * STEP		the clock may be set back: beats of before that look later than they are
 * GRACE	whom his host gave up has a tick to leave by himself
 * LIAR		the host's word is false: it takes into use whom it gave up. Nothing can keep the worker
 *		of a liar from being ended while it lies still; asked is who of them is kept: see HARM
 * RESET	a host may write to a worker that has signed off: if it is dead, the task fails
 * LATEREAD	its host reads late, and has a writer that reaper does not see: a write to the dead loses what
 *		is not read
 * HELD		others trace the worker, stop it, freeze it in D or dump its core
 * DARK		the worker's evidence may be unreadable
 * DEVICE	user code may work in a call that reaper does not know: a device does something for it
 * TURNS	the worker may become another program, or another user's
 * SWITCHED	the operator may switch the proof off, and on again
 * PARTLY	some of the host's log may be still to be read, though not of the one with its beats
 * SOME		the host may say of its log that it has not every task in it (`tasks=some`)
 * LISTS	the beats of its log list whom it has, whatever else proves
 * KINDS	a process that looks like the worker may be somebody else
 * YOUNG	a newborn has its daemon's signal handlers, for less than a tick; `timeout` is shorter
 *		than that
 * NOSCHED	the kernel does not say when a thread last ran: reaper has its own looks only
 */

/* ---- What is true ---- */
#define UNBORN		0
#define RUNS		1
#define OVER		2
byte task[2];
#define BUSY(w)		(host && use[w] == LEASED && task[job[w]] == RUNS)

/* What a worker is to its host */
#define NEW		0
#define LEASED		1
#define POOLED		2
#define GIVEN_UP	3
#define CLOSED		4	/* as given up, and its host's end of the task socket is closed */
byte use[NW];
byte job[NW];		/* the task that it was leased for */
bit alive[NW];
bit begun[NW];		/* its host has written to it in this lease */
bit more[NW];		/* its host will write to it once more */
bit unread[NW];		/* bytes wait in its task socket */
bit done[NW];		/* it has sent its END */
bit rows = 0;		/* LATEREAD: the host has not read all that worker 0 sent */
bit off[NW];		/* it has said that it will not serve again */

/* Where its main thread is */
#define PROTOCOL	0	/* read(), the task socket is held by three descriptors */
#define WORKS		1	/* user code, running */
#define BLOCKED		2	/* user code: a slow database, or for ever */
#define WRITES		3	/* blocked in write(): its host does not read */
#define SIGNED_OFF	4	/* recvfrom(task socket, 1024), one descriptor */
#define NEWBORN		5	/* read(), the task socket is held by one descriptor */
#define RECV_OWN	6	/* user code: recv(1024) on a socket of its own */
#define RECV_DUP	7	/* user code: recv(1024) on a dup of the task socket, four descriptors */
#define AT_DEVICE	8	/* user code: asleep in a call that reaper does not know, and at work there */
byte at[NW];
#define USER_CODE	(at[0] == WORKS || at[0] == BLOCKED || at[0] == WRITES || \
			 at[0] == RECV_OWN || at[0] == RECV_DUP || at[0] == AT_DEVICE)

/* The host's end of its task socket */
#define OPEN		0
#define HALF		1	/* shut down for writing: the worker's is CLOSE_WAIT, the host still reads */
#define HUNG_UP		2	/* nobody holds it */
byte link[NW];

bit host = 1;
bit stopped = 0;
bit daemon = 1;
bit child = 0;		/* a native child of a dead host holds its ends */
bit purge_dead = 0;
byte first = 0;		/* the pool, a FIFO: worker + 1, or nobody */
byte second = 0;
byte released = 0;	/* ticks since the last release to it */
#define HOST_RUNS	(host && !stopped)

bit reborn = 0;		/* worker 0 is the second one of this number */
bit killed = 0;
byte held = 0;
#define TRACED		1
#define STOPPED		2
#define IN_D		3
#define DUMPING		4
byte kind = 0;		/* what looks like worker 0 is */
#define WORKER		0
#define ANCESTOR	1	/* an ancestor of reaper */
#define DAEMON		2	/* a daemon, or a host */
#define FOREIGN		3	/* another user's */
#define NAMESPACE	4	/* of another pid namespace */
#define PROTECTED	5	/* one that the operator protects */
#define PROGRAM		6	/* another program: the worker called execve(2) */
bit dark = 0;
bit switched_off = 0;	/* the proof, by the operator */
bit grown = 0;		/* YOUNG: a tick has passed since its birth */

/* ---- What the logs say ---- */
bit log_begin[2];
bit log_end[2];
bit bound[2];		/* worker 0 is bound to the task; this record may be lost */
bit log_retired = 0;
bit broken = 0;		/* nothing of the host's log arrives any more */
bit behind = 0;		/* PARTLY: what the host logs now is not read yet */
bit caught_up = 0;	/* PARTLY: and from now on all is read at once: some day reaper keeps up */
bit bound_unread[2];		/* PARTLY: and this record of it is not read yet */
bit meant = 1;		/* what the log promises is promised of worker 0: see PROMISED */
bit listed = 0;		/* LISTS: its last beat lists worker 0 */
bit stepped = 0;	/* STEP: and no beat since */
#define BINDS(t)	(bound[t] && !bound_unread[t])	/* a record that is read */
#define ANY_BOUND	(BINDS(0) || BINDS(1))
#define ALL_ENDED	((!BINDS(0) || log_end[0]) && (!BINDS(1) || log_end[1]))
#define ANY_OPEN	((log_begin[0] && !log_end[0]) || (log_begin[1] && !log_end[1]))

/* ---- What reaper knows of worker 0 ---- */
bit rested = 0;		/* a tick without progress */
bit changed = 0;	/* some evidence of it, since the first look */
bit ticked = 0;		/* NOSCHED: a tick since the first look */
bit settled = 0;	/* a tick since the last end of its tasks: a later byte is late */
bit late = 0;		/* a byte came after that: a binding was missed */
#ifdef ID_HALF
#define STRETCH		1
#elif defined(LONGER) && !defined(ID_SHORTER)
#define STRETCH		(3 - meant)	/* of two timeouts the longer one */
#else
#define STRETCH		2
#endif
byte stretch = 0;	/* whole ticks without a task of the host and without a byte of the worker */
bit any_stretch = 0;
bit dirty = 0;		/* a task was open at some moment of this tick */
bit was_stopped = 0;	/* the host was stopped at some moment of this tick */
byte unlisted = 0;	/* beats in a row that do not list it */
bit gap = 0;		/* a tick since the last of them */
bit aged = 0;		/* GRACE: its fence held when the last tick passed */
bit parted = 0;		/* GRACE: it was given up before that tick */
bit taken = 0;		/* LIAR: its host has written to it since the first look */
bit wrote = 0;		/* LIAR: and since its tasks had ended */

/* When the worker that is looked at is gone for good nothing can go wrong any more: the search ends there. */
#if defined(LIVE) || defined(STEADY) || defined(RESET) || defined(LATEREAD)
#define GOES_ON		1
#elif defined(REUSE)
#define GOES_ON		(alive[0] || use[0] == NEW || !reborn)
#else
#define GOES_ON		(alive[0] || use[0] == NEW)
#endif

/* ---- Steps that several take ---- */
inline progress(w)
{
	if
	:: w == 0 -> rested = 0; changed = 1
	:: else -> skip
	fi
}

inline moves_a_byte(w)
{
	progress(w);
	if
	:: w == 0 ->
#ifndef ID_NOBYTE
		BY_STRETCH(stretch = 0;)
#endif
		BY_MARKERS(if :: settled -> late = 1 :: else -> skip fi;)
		skip
	:: else -> skip
	fi
}

/* Of a dead one that nobody looks at it is all the same how it ended. */
inline bury(w)
{
	if
	:: w != 0 && !alive[w] && (use[w] == GIVEN_UP || use[w] == CLOSED) ->
		use[w] = CLOSED; at[w] = 0; link[w] = HUNG_UP; unread[w] = 0; done[w] = 0; job[w] = 0;
		begun[w] = 0; more[w] = 0; off[w] = 0
	:: else -> skip
	fi
}

inline exits(w)
{
	alive[w] = 0; unread[w] = 0;
	progress(w);
	bury(w)
}

/* Nobody asks that of one that is not leased. */
inline lease_over(w)
{
	begun[w] = 0; more[w] = 0; off[w] = 0;
	BY_OWN(if :: w == 0 -> dirty = 1 :: else -> skip fi;)
	bury(w)
}

inline hang_up(w)
{
	link[w] = HUNG_UP;
	if
	:: w == 0 -> changed = 1
	:: else -> skip
	fi
}

inline lease(w, t)
{
	use[w] = LEASED; job[w] = t; begun[w] = 0; done[w] = 0; off[w] = 0;
	if
	:: more[w] = 0
	:: w == 0 -> more[w] = 1
	fi
}

/* Nothing that was known of a number is said of its new bearer. */
inline fork(w)
{
	alive[w] = 1; at[w] = NEWBORN; link[w] = OPEN;
	if
	:: w == 0 ->
		late = 0; settled = 0; grown = 0; listed = 0; aged = 0; parted = 0;
#ifndef RP_BEFOREBIRTH
		unlisted = (stepped -> unlisted : 0); BY_BEATS(gap = 1;)
#endif
#ifndef ID_BEFOREBIRTH
		stretch = 0; any_stretch = 0;
#endif
#ifndef G_NOSTART		/* a record names the number only, and not the start of its bearer */
		log_retired = 0; bound[0] = 0; bound[1] = 0; bound_unread[0] = 0; bound_unread[1] = 0;
#endif
		skip
	:: else -> skip
	fi;
	progress(w)
}

/* ---- The host: its tasks, its pool, its daemon ---- */
#if defined(LIVE) || defined(STEADY)
#define CATCHES_UP	caught_up = 1
#else
#define CATCHES_UP	skip
#endif
#ifdef PARTLY
/* Records bear the time at which they were written: a task that is read late ends the stretch all the same. */
inline reads(t)
{
	if
	:: task[t] != UNBORN && !log_begin[t] -> log_begin[t] = 1; BY_STRETCH(dirty = 1; stretch = 0)
	:: else -> skip
	fi;
	if
	:: task[t] == OVER && !log_end[t] ->
		log_end[t] = 1; changed = 1; late = 0; settled = 0; BY_STRETCH(dirty = 1; stretch = 0)
	:: else -> skip
	fi
}
#endif

#if defined(F_IDLE) && (defined(SOME) || defined(TWOCLASS) || defined(DISAGREE))
#define UNLOGGED	!meant		/* a task that it does not bracket */
#elif defined(F_IDLE) && defined(LOSSY)
#define UNLOGGED	meant = 0	/* or whose begin is lost */
#endif
inline begins(t)
{
	task[t] = RUNS;
#if defined(PARTLY)
	if
	:: !behind -> reads(t)
	:: else -> skip
	fi
#elif defined(UNLOGGED)
	if
	:: log_begin[t] = 1; dirty = 1
	:: UNLOGGED -> skip
	fi
#else
	BY_STRETCH(BY_ANY(dirty = 1;))
#endif
#if !defined(LATEBEGIN) && !defined(PARTLY) && !defined(UNLOGGED)
	if
	:: !broken -> log_begin[t] = 1
	:: else -> skip
	fi
#endif
}

inline gives_up(w, t)
{
	if
	:: use[w] == LEASED && job[w] == t ->
		if
		:: use[w] = GIVEN_UP
		:: use[w] = CLOSED; hang_up(w)
		fi;
		lease_over(w)
	:: else -> skip
	fi
}

/* Whom its task has still leased is closed or forgotten. */
#ifdef UNLOGGED
#define LOGS_END(t)	log_begin[t]
#else
#define LOGS_END(t)	(!broken && !behind)
#endif
inline ends(t)
{
	task[t] = OVER;
	BY_STRETCH(BY_ANY(if :: LOGS_END(t) || broken -> dirty = 1 :: else -> skip fi;))
	if
	:: LOGS_END(t) ->
		log_end[t] = 1; changed = 1;
		if
		:: bound[t] ->
			late = 0; settled = 0;
#ifndef RP_BEFOREEND
			unlisted = (stepped -> unlisted : 0); BY_BEATS(gap = 1;)
#endif
			skip
		:: else -> skip
		fi
	:: else -> skip
	fi;
	gives_up(0, t);
#if NW == 2
	gives_up(1, t)
#endif
}

/* The head of the pool; a new one is forked only when the pool is empty. */
inline checks_out(t)
{
	if
	:: first != 0 -> lease((first - 1), t); first = second; second = 0
	:: first == 0 && daemon && use[0] == NEW -> fork(0); lease(0, t)
#if NW == 2
	:: first == 0 && daemon && use[1] == NEW -> fork(1); lease(1, t)
#endif
	:: else -> skip
	fi
}

inline ends_close()
{
	hang_up(0);
#if NW == 2
	hang_up(1)
#endif
}

proctype Host() provided (GOES_ON)
{
	do
	:: atomic { HOST_RUNS && task[0] == UNBORN -> begins(0) }
	:: atomic { HOST_RUNS && task[1] == UNBORN -> begins(1) }
	:: atomic { HOST_RUNS && task[0] == RUNS -> checks_out(0) }
	:: atomic { HOST_RUNS && task[1] == RUNS -> checks_out(1) }
	:: atomic { HOST_RUNS && task[0] == RUNS -> ends(0) }
	:: atomic { HOST_RUNS && task[1] == RUNS -> ends(1) }
	:: atomic { daemon -> daemon = 0 }
#if defined(REUSE) && defined(F_GONE)	/* else nobody is forked who could have the number of an orphan */
	:: atomic { HOST_RUNS && !daemon -> daemon = 1 }
#endif
#ifdef LATEBEGIN
	:: atomic { task[0] != UNBORN && !log_begin[0] && !broken -> log_begin[0] = 1; dirty = 1 }
	:: atomic { task[1] != UNBORN && !log_begin[1] && !broken -> log_begin[1] = 1; dirty = 1 }
#endif
#ifndef NOSTOP
	:: atomic { host && !stopped -> stopped = 1 }
	:: atomic { stopped -> stopped = 0 }
#endif
#ifdef PURGESTUCK
	:: atomic { HOST_RUNS && !purge_dead -> purge_dead = 1 }
#endif
#ifdef LOGBREAK
	:: atomic { HOST_RUNS && !broken -> broken = 1 }
#endif
#ifdef CRASH
	:: atomic { host -> host = 0; stopped = 0;
		if
		:: child = 1
		:: ends_close()
		fi }
	:: atomic { child -> child = 0; ends_close() }
#endif
	od
}

/* Its monitor, which closes the whole pool when nobody was released to it for so long. */
proctype Monitor() provided (GOES_ON)
{
	do
	:: atomic { HOST_RUNS && released >= 1 && !purge_dead && first != 0 ->
		use[first - 1] = CLOSED; hang_up(first - 1);
		if
		:: second != 0 -> use[second - 1] = CLOSED; hang_up(second - 1)
		:: else -> skip
		fi;
		first = 0; second = 0; released = 0 }
	od
}

/* ---- What its host does with one worker ---- */
#if defined(POOLNONE) && (defined(TWOCLASS) || defined(DISAGREE))
#define REUSES		(!meant)
#elif defined(POOLNONE)
#define REUSES		0
#else
#define REUSES		1
#endif
#if defined(RESET)
#define WRITES_TO(w)	assert(!(killed && BUSY(w)))
#elif defined(LATEREAD)
#define WRITES_TO(w)	assert(!(killed && BUSY(w) && rows))
#else
#define WRITES_TO(w)	skip
#endif
#if defined(LIAR) && defined(F_RETIRED)
#define MAY_RETIRE	(use[0] != NEW && use[0] != CLOSED)
#else
#define MAY_RETIRE	(use[0] == GIVEN_UP)
#endif
#ifdef LIAR
#define IF_LIAR(x)	x
#else
#define IF_LIAR(x)
#endif

proctype Lease(byte w) provided (GOES_ON)
{
	do
	/* The first bytes come any time after the lease: who is checked out may be silent for long. */
	:: atomic { HOST_RUNS && use[w] == LEASED && !begun[w] && link[w] == OPEN ->
		begun[w] = 1; unread[w] = alive[w];
		IF_LIAR(taken = 1; wrote = settled;)
		moves_a_byte(w) }
	:: atomic { HOST_RUNS && use[w] == LEASED && begun[w] && more[w] && link[w] == OPEN ->
		more[w] = 0; WRITES_TO(w);
		if
		:: alive[w] -> unread[w] = 1; moves_a_byte(w)
		:: else -> skip
		fi }
	:: atomic { w == 0 && HOST_RUNS && use[w] == LEASED && link[w] == OPEN ->
		link[w] = HALF; more[w] = 0; changed = 1 }
#ifdef LATEREAD
	:: atomic { w == 0 && HOST_RUNS && use[w] == LEASED && rows -> rows = 0 }
#endif
	/* END is read, any time after it was sent and without a byte: a late release. */
	:: atomic { HOST_RUNS && use[w] == LEASED && done[w] ->
		if
		:: !off[w] && REUSES && link[w] == OPEN && alive[w] ->
			use[w] = POOLED; released = 0;
			if
			:: first == 0 -> first = w + 1
			:: else -> second = w + 1
			fi
		:: else -> use[w] = CLOSED; hang_up(w)
		fi;
		BY_ROWS(rows = 0;)
		lease_over(w) }
#ifdef F_RETIRED
	:: atomic { w == 0 && HOST_RUNS && MAY_RETIRE && !broken && !log_retired -> log_retired = 1 }
#endif
	od
}

/* ---- A worker ---- */
#define MOVES		(alive[w] && (w != 0 || held == 0))

proctype Worker(byte w) provided (GOES_ON)
{
	do
	:: atomic { MOVES && at[w] == NEWBORN -> at[w] = PROTOCOL; progress(w) }
	/* It serves; its record that binds it to the task may be lost. */
	:: atomic { MOVES && at[w] == PROTOCOL && unread[w] && !done[w] ->
		at[w] = WORKS; progress(w);
		if
		:: unread[w] = 0
		:: skip
		fi;
		if
		:: w == 0 ->
			bound_unread[job[w]] = behind && (bound_unread[job[w]] || !bound[job[w]]);
			bound[job[w]] = 1
#if defined(F_DECL) && defined(LOSSY)
		:: w == 0 -> meant = 0
#endif
		:: skip
		fi }
	:: atomic { w == 0 && MOVES && at[w] == WORKS ->
		progress(w);
		if
		:: at[w] = BLOCKED
		:: at[w] = WRITES
		:: at[w] = RECV_OWN
		:: at[w] = RECV_DUP
#ifdef DEVICE
		:: at[w] = AT_DEVICE
#endif
		fi }
	:: atomic { MOVES && (at[w] == BLOCKED || at[w] == RECV_OWN || at[w] == RECV_DUP || at[w] == AT_DEVICE ||
			      (at[w] == WRITES && HOST_RUNS && use[w] == LEASED)) ->
		at[w] = WORKS; progress(w) }
	:: atomic { MOVES && at[w] == WORKS && use[w] == LEASED ->
		done[w] = 1; unread[w] = 0; BY_ROWS(rows = 1;) moves_a_byte(w);
		if
		:: at[w] = PROTOCOL; off[w] = 0
		:: w == 0 -> at[w] = SIGNED_OFF; off[w] = 1
		fi }
	:: atomic { MOVES && at[w] == SIGNED_OFF && unread[w] -> unread[w] = 0; progress(w) }
	/* End of file */
	:: atomic { MOVES && link[w] != OPEN &&
		    (at[w] == PROTOCOL || at[w] == SIGNED_OFF || at[w] == NEWBORN) -> exits(w) }
#ifdef REUSE
	:: atomic { w == 0 && !alive[w] && (use[w] == CLOSED || use[w] == GIVEN_UP) && !reborn ->
		use[w] = NEW; reborn = 1; killed = 0 }
#endif
	od
}

/* ---- Others ---- */
#if defined(HELD) || defined(DARK) || defined(TURNS) || defined(SWITCHED) || defined(PARTLY) || \
	defined(STEP)
#define OTHERS
proctype Others() provided (GOES_ON)
{
	do
#ifdef HELD
	:: atomic { alive[0] && held == 0 ->
		if
		:: held = TRACED
		:: held = STOPPED
		:: held = IN_D
		:: held = DUMPING
		fi }
	:: atomic { held != 0 -> held = 0 }
#endif
#ifdef DARK
	:: atomic { dark = !dark }
#endif
#ifdef TURNS
	:: atomic { alive[0] && kind == WORKER ->
		if
		:: kind = PROGRAM
		:: kind = FOREIGN
		fi }
#endif
#ifdef SWITCHED
	:: atomic { switched_off = !switched_off }
#endif
#ifdef STEP
#ifdef F_IDLE			/* a beat that follows makes up for it */
	:: atomic { !stepped && broken -> stepped = 1; stretch = 0 }
#else
	:: atomic { !stepped -> stepped = 1 }
#endif
#endif
#ifdef PARTLY
	:: atomic { !behind && !caught_up -> behind = 1 }
	:: atomic { behind -> CATCHES_UP; behind = 0; bound_unread[0] = 0; bound_unread[1] = 0; reads(0); reads(1) }
#endif
	od
}
#endif

/* ---- Time ---- */
#ifdef ID_NOSEEN
#define SEEN_RUNNING	1
#else
#define SEEN_RUNNING	(!stopped && !was_stopped)
#endif
/* No tick passes before what was promised for this one is done. */
#ifdef WEAKPURGE
#define PURGED		1
#elif defined(UNTIMED)
#define PURGED		(!meant || !HOST_RUNS || first == 0 || released < 2)
#elif defined(LONGER)
#define PURGED		(!HOST_RUNS || first == 0 || released < 3 - meant)
#else
#define PURGED		(!HOST_RUNS || first == 0 || released < 2 || purge_dead)
#endif
#ifdef LAG
#define WRITTEN		(in_flight == 0)
#else
#define WRITTEN		1
#endif
#ifdef YOUNG
#define GROWN_UP	(!alive[0] || at[0] != NEWBORN || !grown)
#else
#define GROWN_UP	1
#endif
#if defined(ID_NOOPEN)
#define TASKS_OPEN	0
#elif defined(ID_OWN)
#define TASKS_OPEN	(use[0] == LEASED || dirty)
#else
#define TASKS_OPEN	(ANY_OPEN || dirty)
#endif
byte in_flight = 0;	/* beats that are made and not yet written */
bit made[2];		/* what they list */

/* ---- Beats of the host's log ---- */
#ifdef RP_ONEBEAT
#define BEATS		1
#else
#define BEATS		2
#endif
#ifdef RP_NOGAP
#define APART		1
#else
#define APART		gap
#endif
/* A beat lists one moment: whom it does not list once it is born was given up for good. So no run needs
 * "after the last end" beside "after its birth"; it is kept for logs that TORN is about. */
#ifdef RP_BEFOREEND
#define AFTER_END	1
#else
#define AFTER_END	ALL_ENDED
#endif
#if defined(TWOCLASS) || defined(DISAGREE)
#define LISTED		(meant && (use[0] == POOLED || use[0] == LEASED))
#elif defined(RP_NOPOOL)
#define LISTED		(use[0] == LEASED)
#elif defined(RP_NOLEASES)
#define LISTED		(use[0] == POOLED)
#else
#define LISTED		(use[0] == POOLED || use[0] == LEASED)
#endif

inline not_listed()
{
	if
	:: unlisted < BEATS && APART && AFTER_END -> unlisted++; gap = 0
	:: else -> skip
	fi
}

/* Nor does a run need that two beats are the latest ones. */
#ifdef RP_NOTLATEST
#define FORGET_UNLISTED	skip
#else
#define FORGET_UNLISTED	unlisted = 0
#endif
/* Of the first one after a step of the clock nobody knows when its listing began. */
inline beat(has_it)
{
	if
	:: stepped -> stepped = 0; unlisted = 0; gap = 0
	:: !stepped && (has_it) ->
		if
		:: FORGET_UNLISTED
#ifdef LOSTREC
		:: not_listed()
#endif
		fi
	:: else -> not_listed()
	fi
}

#ifdef BEATEN
proctype Beat() provided (GOES_ON)
{
	do
#if defined(LAG)
	:: atomic { HOST_RUNS && !broken && in_flight < 2 -> made[in_flight] = LISTED; in_flight++ }
	:: atomic { HOST_RUNS && !broken && in_flight > 0 ->
		beat(made[0]);
		made[0] = made[1]; made[1] = 0; in_flight-- }
#elif defined(TORN)
	:: atomic { HOST_RUNS && !broken && !in_flight -> in_flight = 1; made[0] = (use[0] == POOLED) }
	:: atomic { HOST_RUNS && !broken && in_flight ->
		beat((made[0] || use[0] == LEASED));
		made[0] = 0; in_flight = 0 }
#else
	:: atomic { HOST_RUNS && !broken -> beat(LISTED) }
#endif
	od
}
#endif

/* ---- The proofs ---- */
#if defined(SO_NORECV)			/* it reads, and one descriptor holds its task socket */
#define SIGNS_OFF	(at[0] == SIGNED_OFF || at[0] == NEWBORN)
#elif defined(SO_NOTASK)		/* whatever socket it receives from */
#define SIGNS_OFF	(at[0] == SIGNED_OFF || at[0] == RECV_OWN)
#elif defined(SO_NOONE)			/* however many descriptors hold its task socket */
#define SIGNS_OFF	(at[0] == SIGNED_OFF || at[0] == RECV_DUP)
#else
#define SIGNS_OFF	(at[0] == SIGNED_OFF)
#endif

#if defined(PC_STATE)			/* its own end is CLOSE_WAIT */
#define PEER_CLOSED	(link[0] != OPEN)
#elif defined(PC_SKIP)			/* a dump, another namespace or NAT does not show the row */
#define PEER_CLOSED	(link[0] != HALF)
#else
#define PEER_CLOSED	(link[0] == HUNG_UP)
#endif

/* An orphan has no daemon that would lead to its host. Without its first half this is `peer-closed`, which
 * holds by itself (HG_NOGONE harms nobody); with neither half it is no proof. */
#if defined(HG_NOGONE) && defined(HG_ONLYEXIT)
#define HOST_GONE	1
#elif defined(HG_NOHOLDER)		/* nobody asks who holds the end */
#define HOST_GONE	(!host || !daemon)
#elif defined(HG_NOGONE)		/* nobody asks for the host */
#define HOST_GONE	(link[0] == HUNG_UP)
#elif defined(HG_VACUOUS)		/* the port of a dead daemon is unknown: "no task socket" */
#define HOST_GONE	((!host || !daemon) && (link[0] == HUNG_UP || !daemon))
#elif defined(HG_ONLYEXIT)		/* seen to exit, and nobody asks who holds the end */
#define HOST_GONE	(!host)
#else
#define HOST_GONE	((!host || !daemon) && link[0] == HUNG_UP)
#endif

#if defined(TE_NOBIND) || !defined(F_DECL)	/* `declared` alone needs a binding */
#define BOUND		1
#else
#define BOUND		ANY_BOUND
#endif
#ifdef TE_NOEND
#define ENDED		1
#else
#define ENDED		ALL_ENDED
#endif
#ifdef TE_NOLATE
#define NOT_LATE	1
#else
#define NOT_LATE	(!late)
#endif
#ifdef TE_NOLIST			/* whom its last beat lists */
#define NOT_LISTED	1
#else
#define NOT_LISTED	(!listed)
#endif
#ifdef G_NOWHOLE			/* what is still to be read is nothing */
#define LOG_WHOLE	1
#else
#define LOG_WHOLE	(!behind)
#endif
/* Each of these asks whether what the log promises is meant: whether it has every task in it, is of the
 * worker's class, is the weakest word of the host, has lost nothing, and names a timeout. */
#if (defined(SOME) && !defined(ID_NOEVERY)) || (defined(TWOCLASS) && !defined(TE_NOCLASS)) || \
	(defined(DISAGREE) && !defined(TE_NOWEAKER)) || (defined(LOSSY) && !defined(TE_NOLOSSY)) || \
	(defined(UNTIMED) && !defined(ID_NOTIMED))
#define PROMISED	meant
#else
#define PROMISED	1
#endif
#define TASKS_ENDED	(BOUND && ENDED && NOT_LATE && NOT_LISTED && LOG_WHOLE && PROMISED)
#ifdef TE_STEPPED			/* beats of before the clock was set back */
#define BEATS_HOLD	1
#else
#define BEATS_HOLD	(!stepped)
#endif

/* Whoever was pooled all through a stretch of its life is purged by the end of it, whatever ended since
 * (ID_ANY harms nobody); and the task that a worker is forked for ends a stretch of before its birth
 * (ID_BEFOREBIRTH harms nobody). Without either, a stretch says nothing. */
#if defined(ID_ANY)			/* some stretch, whenever it was */
#define IDLE		any_stretch
#elif defined(ID_NOW) || defined(LIAR)	/* none; a liar's says nothing */
#define IDLE		1
#else
#define IDLE		(stretch >= STRETCH)
#endif
#ifdef ID_NOBEAT
#define BEAT_FOLLOWS	1
#else
#define BEAT_FOLLOWS	(!broken || stepped)
#endif

#ifdef BEATEN
#define UNLISTED	(unlisted >= BEATS)
#else
#define UNLISTED	1
#endif

#if defined(F_SIGNED)
#define FENCE		SIGNS_OFF
#elif defined(F_PEER)
#define FENCE		PEER_CLOSED
#elif defined(F_GONE)
#define FENCE		HOST_GONE
#elif defined(F_RETIRED)
#define FENCE		(log_retired && LOG_WHOLE)
#elif defined(F_DECL)
#define FENCE		TASKS_ENDED
#elif defined(F_REP)
#define FENCE		(TASKS_ENDED && UNLISTED && BEATS_HOLD)
#elif defined(F_IDLE)
#define FENCE		(TASKS_ENDED && IDLE && BEAT_FOLLOWS && BEATS_HOLD)
#endif

/* ---- The guards ----
 * Those of src/decide/guard.c: vanished THERE; running ASLEEP; unread-bytes NO_BYTES and NO_WRITER; open-task
 * NO_OPEN_TASK; too-young OLD_ENOUGH; traced, stopped, uninterruptible, dumping LEFT_ALONE; self and ancestor,
 * foreign-uid, other-pidns, protected OURS (and hosts and daemons, which are no workers in the first place);
 * unreadable EVIDENCE; unknown-wait KNOWN_WAIT; fence-off SWITCHED_ON; progress SAME; changed STILL_OURS.
 */
/* A held one does not run, and would if it were let. */
#ifdef G_NORUNNING
#define ASLEEP		1
#else
#define ASLEEP		(at[0] != WORKS || held != 0)
#endif
/* Who has signed off is out of user code for good, and may be ended at once: D_NOTIMEOUT harms nobody there. */
#if defined(D_NOTIMEOUT) || defined(YOUNG) || defined(NOSCHED)
#define RESTED		1
#else
#define RESTED		rested
#endif
#if defined(GRACE) && !defined(D_NOAGE)	/* since the proof, too */
#define AGED		aged
#else
#define AGED		1
#endif
/* Bytes count only while somebody holds the host's end: to `peer-closed` and `host-gone` they never
 * object, and so no row takes this guard from them. */
#ifdef G_NOBYTES
#define NO_BYTES	1
#else
#define NO_BYTES	(!unread[0] || link[0] == HUNG_UP)
#endif
#if defined(RESET) && !defined(G_NOHOSTWRITES)
#define NO_WRITER	(!more[0] || use[0] != LEASED)
#else
#define NO_WRITER	1
#endif
/* What it sent stays readable, unless its host writes to it; and nobody wants it when nobody has the worker any
 * more. That its tasks have ended does not say so: no log may bind it to the one that it serves. */
#if !defined(LATEREAD) || defined(G_NOQUEUES)
#define ALL_READ	1
#elif defined(G_ENDISDONE)
#define ALL_READ	(!rows || (ANY_BOUND && ALL_ENDED))
#else
#define ALL_READ	(!rows || LEAKED)
#endif
/* The kernel knows better than a log that lost its end; for `task-ended` it is a part of the proof. */
#if defined(F_RETIRED) && !defined(G_NOOPEN)
#define NO_OPEN_TASK	ALL_ENDED
#else
#define NO_OPEN_TASK	1
#endif
#if defined(YOUNG) && !defined(G_NOYOUNG)
#define OLD_ENOUGH	(grown && at[0] != NEWBORN)
#else
#define OLD_ENOUGH	1
#endif
#ifndef G_NOHELD
#define G_NOHELD	0		/* the one state that is no objection */
#endif
#ifndef G_NOKIND
#define G_NOKIND	0		/* the one kind that is no objection */
#endif
#ifndef G_NOTURN
#define G_NOTURN	0		/* the one kind that the second look does not see */
#endif
#ifdef G_NOVANISHED
#define THERE		1
#else
#define THERE		alive[0]
#endif
#if defined(DEVICE) && !defined(G_NOWAIT)
#define KNOWN_WAIT	(at[0] != AT_DEVICE)
#else
#define KNOWN_WAIT	1
#endif
#ifdef G_NOSWITCH
#define SWITCHED_ON	1
#else
#define SWITCHED_ON	(!switched_off)
#endif
#define LEFT_ALONE	(held == 0 || held == G_NOHELD)
#define OURS		(kind == WORKER || kind == G_NOKIND)
#define STILL_OURS	(OURS || kind == G_NOTURN)
#define BY_EVIDENCE	(ASLEEP && KNOWN_WAIT && RESTED && AGED && NO_BYTES)
#ifdef G_NODARK				/* what cannot be read objects to nothing */
#define EVIDENCE	(dark || BY_EVIDENCE)
#else
#define EVIDENCE	(!dark && BY_EVIDENCE)
#endif
#define DUE_IF(ours)	(THERE && FENCE && SWITCHED_ON && EVIDENCE && NO_WRITER && ALL_READ && NO_OPEN_TASK && \
			 OLD_ENOUGH && LEFT_ALONE && (ours))
#define DUE		DUE_IF(OURS)

/* Whom its host neither uses nor will use. */
#define LEAKED		(use[0] == GIVEN_UP || use[0] == CLOSED || (!host && !child))

/* It stands here since proofs have an age. */
proctype Clock() provided (GOES_ON)
{
	do
	:: atomic { PURGED && WRITTEN && GROWN_UP ->
		if
		:: released < 3 -> released++
		:: else -> skip
		fi;
#ifdef F_IDLE
		if
		:: TASKS_OPEN || !SEEN_RUNNING || !host -> stretch = 0
		:: else ->
			if
			:: stretch < STRETCH -> stretch++
			:: else -> skip
			fi
		fi;
#ifdef ID_ANY
		any_stretch = any_stretch || stretch >= STRETCH;
#endif
#endif
		BY_BEATS(gap = 1;)
#ifdef GRACE
		aged = FENCE; parted = LEAKED;
#endif
#ifdef LISTS
		listed = (use[0] == POOLED || use[0] == LEASED);
#endif
		BY_MARKERS(settled = settled || (ANY_BOUND && ALL_ENDED);)
#ifdef YOUNG
		grown = alive[0];
#endif
#ifdef NOSCHED
		ticked = 1;
#endif
		rested = 1; dirty = 0; was_stopped = stopped }
#ifndef NOSTOP
	:: atomic { stopped && !was_stopped -> was_stopped = 1 }
#endif
	od
}

/* ---- Reaper ---- */
#ifdef G_NOPROGRESS
#define SAME		1
#else
#define SAME		(!changed)
#endif
#ifdef NOSCHED
#define LONG_ENOUGH	ticked
#else
#define LONG_ENOUGH	1
#endif
#if defined(D_NEVER)			/* a reaper that ends nobody: LIVE and STEADY must notice */
#define STILL_DUE	0
#elif defined(D_ONELOOK)
#define STILL_DUE	1
#else
#define STILL_DUE	(DUE_IF(STILL_OURS) && SAME && LONG_ENOUGH)
#endif
#ifdef D_NOPIN				/* kill(2) by number */
#define PINNED		1
#else
#define PINNED		(pin == reborn)
#endif
#define NOBODY		2		/* who is gone cannot be pinned */

#define UNUSED		(LEAKED || (!host && link[0] == HUNG_UP) || \
			 (use[0] == LEASED && done[0] && (off[0] || !REUSES)))

/* Who must not be signalled even so, as it is when reaper decides: */
#if defined(YOUNG)
#define ALIVE_AND_KICKING	(at[0] == WORKS)
#else				/* a doomed task that still works */
#define ALIVE_AND_KICKING	(USER_CODE && (at[0] == WORKS || at[0] == AT_DEVICE || !rested))
#endif
#define ASKED		(BUSY(0) && unread[0])			/* a running task waits for its answer */
#define IN_HANDS	(held != 0 && at[0] == WORKS)		/* it works, and others hold it */
#define TOO_YOUNG	(at[0] == NEWBORN)			/* SIGTERM to it empties its daemon's pool */
#define TAKEN		(BUSY(0) && taken)			/* since the first look */
#define SERVES		(BUSY(0) && bound[job[0]])		/* and a log says so */
#ifdef LOSSY
#define LOST		(BUSY(0) && !meant)			/* or would, if it had not lost it */
#else
#define LOST		0
#endif
#define ITS_OWN		(BUSY(0) && listed)			/* and its last beat says so */
#define USED_AGAIN	(BUSY(0) && wrote)			/* and its socket says so */

#if defined(LIAR) && defined(F_RETIRED)
#define HARM		(ASKED || TAKEN || SERVES)
#elif defined(LIAR)
#define HARM		(ASKED || TAKEN || SERVES || USED_AGAIN || LOST || ITS_OWN)
#elif defined(YOUNG)
#define HARM		(ALIVE_AND_KICKING || TOO_YOUNG)
#elif defined(GRACE)
#define HARM		(ALIVE_AND_KICKING || !parted)
#else
#define HARM		(ALIVE_AND_KICKING || ASKED || IN_HANDS || kind != WORKER || switched_off)
#endif

#if defined(LIVE) || defined(STEADY)
#define DECIDES		skip
#define KILLS		skip
#elif defined(REACH)
#define DECIDES		skip
#define KILLS		assert(!LEAKED)
#elif defined(LIAR)
#define DECIDES		assert(!(alive[0] && HARM))
#define KILLS		skip
#else
#define DECIDES		assert(!(alive[0] && HARM))
#define KILLS		assert(UNUSED)
#endif

proctype Reaper() provided (GOES_ON)
{
	byte pin;

	do
	:: atomic { DUE -> pin = (alive[0] -> reborn : NOBODY); changed = 0; ticked = 0; taken = 0 };
		if
		:: atomic { STILL_DUE -> DECIDES };
			/* Whatever happens here: the pin and the proof must outlast it. */
			atomic {
				if
				:: alive[0] && PINNED -> KILLS; killed = 1; exits(0)
				:: else -> skip
				fi;
				pin = 0 }
		:: atomic { !STILL_DUE -> pin = 0 }
		fi
	od
}

init
{
	atomic {
#ifdef KINDS
		if
		:: kind = WORKER
		:: kind = ANCESTOR
		:: kind = DAEMON
		:: kind = FOREIGN
		:: kind = NAMESPACE
		:: kind = PROTECTED
		fi;
#endif
#if defined(SOME) || defined(TWOCLASS) || defined(DISAGREE) || defined(LONGER) || defined(UNTIMED)
		if
		:: meant = 0
		:: meant = 1
		fi;
#endif
		run Host();
		run Monitor();
		run Lease(0);
		run Worker(0);
#if NW == 2
		run Lease(1);
		run Worker(1);
#endif
#ifdef OTHERS
		run Others();
#endif
		run Clock();
#ifdef BEATEN
		run Beat();
#endif
		run Reaper()
	}
}

/*
 * REACH: reaper never ends one that is leaked. Spin must refute it: else that nobody comes to harm says
 * nothing, for nobody is ended.
 * LIVE: nobody is for ever leaked, fenced and asleep, with no guard that objects.
 * STEADY: nobody is for ever leaked and asleep when its tasks have ended and its host runs, and, for `host
 * idle`, has no task, and, for `declared`, a record binds it: a leak is fenced some day. (Of the other fences
 * it is the host or the kernel who must tell, and nothing makes them.)
 * Both are asked of runs in which no process that could go on for ever stands still.
 */
#ifdef LIVE
ltl fenced_is_ended { [] <> !(LEAKED && alive[0] && FENCE &&
			      ASLEEP && NO_BYTES && NO_WRITER && NO_OPEN_TASK) }
#endif
#ifdef STEADY
ltl leak_is_ended { [] <> !(LEAKED && alive[0] && BOUND && ALL_ENDED && NOT_LATE &&
			    ASLEEP && NO_BYTES && !ANY_OPEN) }
#endif

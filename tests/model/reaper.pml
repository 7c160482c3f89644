/* SPDX-License-Identifier: Apache-2.0 */
/* reaper: host x daemon x workers x sockets x markers x reaper.   tools/check-model has the checks.
   One tick = 20 s.  pool_timeout = 1 tick; the host's monitor purges before tRel can become 3 while it runs; window of `host idle` = 2 whole ticks.
   FENCE: -DF_SIGNED -DF_PEER -DF_GONE -DF_RETIRED -DF_DECL -DF_REP -DF_IDLE.   Host: -DPOOLNONE (never reuses).   -DNT=  -DNW=             */
#ifndef NT
#define NT 3
#endif
#ifndef NW
#define NW 2
#endif
#ifndef WIN
#define WIN 2
#endif
#ifdef POOLNONE
#define PN 1
#else
#define PN 0
#endif
/* host's truth about a worker */
#if defined(F_DECL)||defined(F_REP)||defined(F_IDLE)
#define USE_TE
#define TEK(x) x
#else
#define TEK(x)
#define NOSTOP
#endif
#ifdef F_IDLE
#define IDLEK(x) x
#else
#define IDLEK(x)
#define NOSTOP
#endif
#ifdef FLICKER
#define FLICKERK(x) x
#else
#define FLICKERK(x)
#endif
#ifdef ID_ANY
#define ANYK(x) x
#else
#define ANYK(x)
#endif
#ifdef F_REP
#define REPK(x) x
#else
#define REPK(x)
#endif
#define NEW 0
#define LEASED 1
#define POOLED 2
#define ABAND 3
#define CLOSED 4
/* where the worker's main thread is */
#define PP 0   /* in the protocol, read(), 3 fds              */
#define UU 1   /* user code, running                          */
#define BB 2   /* user code, blocked (slow database or for ever) */
#define WW 3   /* blocked in write: the host does not read    */
#define RR 4   /* signed off: recvfrom(task, 1024), 1 fd      */
#define NB 5   /* newborn: task socket held by 1 fd, read()   */
#define FR 6   /* user code, recv(1024) on its OWN socket     */
#define TR 7   /* user code, recv(1024) on a dup of the task socket, 4 fds */

byte tk[NT];            /* 0 unborn 1 running 2 ended (truth) */
byte hs[NW]; byte lt[NW]; bit alive[NW]; bit inp[NW]; bit fin[NW]; bit ans2[NW]; byte ph[NW]; byte sk[NW]; bit rq[NW]; bit more[NW]; bit killed[NW]; bit reborn[NW];
bit hostUp = 1; bit stopped = 0; bit dmn = 1; bit ran = 0; bit purgeDead = 0; bit child = 0 /* a native child of the JVM holds its ends */;
byte q0 = 0; byte q1 = 0;   /* FIFO pool, worker+1 */
byte tRel = 0;
/* what the files say */
bit fB[NT]; bit fE[NT]; bit fb[6]; bit fR[NW]; bit lb = 0; /* lb: host's log no longer arrives */
/* what the reaper derives */
byte st[NW]; bit dirty = 0; byte nl[NW]; bit bt[NW]; bit late[NW]; bit sE[NW]; byte blk[NW]; bit chg[NW]; bit beatTick = 0; bit hadW[NW];
bit p1[NW];      /* torn snapshot: pooled seen in its first half */
bit torn = 0;

/* -DLITE: the second worker only competes with the first one for pool and tasks; nobody looks at it. */
#ifdef LITE
#define FULL(w) ((w)==0)
#define NLOOK 1
#else
#define FULL(w) 1
#define NLOOK NW
#endif
/* With the only one that is looked at gone for good nothing can go wrong any more: the search ends there. */
#if (NW==1 || defined(LITE)) && !defined(LIVE) && !defined(RSTX)
#ifdef REUSE
#define GOES_ON (alive[0] || hs[0] == NEW || !reborn[0])
#else
#define GOES_ON (alive[0] || hs[0] == NEW)
#endif
#else
#define GOES_ON 1
#endif
/**/
#define BI(w,t) fb[(w)*NT+(t)]
#if NT==3
#define ANYB(w) (BI(w,0)||BI(w,1)||BI(w,2))
#define ALLE(w) ((!BI(w,0)||fE[0])&&(!BI(w,1)||fE[1])&&(!BI(w,2)||fE[2]))
#define OPENLOG ((fB[0]&&!fE[0])||(fB[1]&&!fE[1])||(fB[2]&&!fE[2]))
#else
#define ANYB(w) (BI(w,0)||BI(w,1))
#define ALLE(w) ((!BI(w,0)||fE[0])&&(!BI(w,1)||fE[1]))
#define OPENLOG ((fB[0]&&!fE[0])||(fB[1]&&!fE[1]))
#endif
#ifdef FIX_BEATRUN
#define FRESHLOG (!lb)            /* the stretch is closed by a beat of the same log */
#else
#define FRESHLOG 1
#endif

inline prog(x) { blk[x] = 0; chg[x] = FULL(x) }
#ifdef USE_TE
inline byt(x)  { prog(x); st[x] = 0; if :: sE[x] -> late[x] = 1 :: else -> skip fi }
#else
inline byt(x)  { prog(x); st[x] = 0 }
#endif
inline wipe(x) { late[x] = 0; sE[x] = 0;
#ifndef PREBIRTH                /* literal wording: nothing says that beats and stretch are later than the worker's birth */
                 nl[x] = 0; REPK(bt[x] = 1;) st[x] = 0; hadW[x] = 0;
#endif
#ifndef NOGEN
                 fR[x] = 0; BI(x,0) = 0; BI(x,1) = 0;
#if NT==3
                 BI(x,2) = 0;
#endif
#endif
               }
/* Of a dead one that nobody looks at it is all the same how it ended. */
inline bury(x) { if :: !FULL(x) && !alive[x] && (hs[x] == ABAND || hs[x] == CLOSED) ->
                       hs[x] = CLOSED; ph[x] = 0; sk[x] = 2; rq[x] = 0; fin[x] = 0; lt[x] = 0; inp[x] = 0; more[x] = 0; ans2[x] = 0
                    :: else -> skip fi }
inline die(x)  { alive[x] = 0; prog(x); rq[x] = 0;
                 if :: q0 == x+1 && hs[x] != POOLED -> q0 = q1; q1 = 0 :: else -> skip fi; bury(x) }

/* ---- host + workers ---- */
#define HR (hostUp && !stopped)
/* Nobody asks that any more of one that is not leased. */
inline forget(x) { inp[x] = 0; more[x] = 0; ans2[x] = 0; bury(x) }
inline endt(t) {  /* every worker still leased by t is closed or forgotten */
   tk[t] = 2; IDLEK(dirty = 1;)   /* this tick was not wholly free of tasks */
   if :: !lb -> fE[t] = 1; chg[0] = 1;
#if NW==2
      chg[1] = FULL(1);
#endif
      if :: BI(0,t) -> late[0] = 0; sE[0] = 0; 
#ifndef NOAFTEREND
         nl[0] = 0; REPK(bt[0] = 1;)
#endif
         :: else -> skip fi;
#if NW==2
      if :: BI(1,t) -> late[1] = 0; sE[1] = 0;
#ifndef NOAFTEREND
         nl[1] = 0; bt[1] = 1;
#endif
         :: else -> skip fi
#endif
      :: else -> skip fi;
   if :: hs[0] == LEASED && lt[0] == t -> if :: hs[0] = ABAND :: hs[0] = CLOSED; sk[0] = 2; chg[0] = 1 fi; forget(0) :: else -> skip fi;
#if NW==2
   if :: hs[1] == LEASED && lt[1] == t -> if :: hs[1] = ABAND :: hs[1] = CLOSED; sk[1] = 2; chg[1] = FULL(1) fi; forget(1) :: else -> skip fi
#endif
}
inline lease(w,t) { hs[w] = LEASED; lt[w] = t; inp[w] = 0; fin[w] = 0; ans2[w] = 0;
   if :: more[w] = 0 :: FULL(w) -> more[w] = 1 fi }

#define HOSTT(t) \
  :: atomic { HR && tk[t] == 0 -> tk[t] = 1; IDLEK(dirty = 1;) if :: !lb LATEB -> fB[t] = 1 :: else -> skip fi } \
  :: atomic { HR && tk[t] == 1 -> endt(t) }
#ifdef LATEBEGIN
#define LATEB && 0
#define LATEBX(t) :: atomic { tk[t] != 0 && !fB[t] && !lb -> fB[t] = 1; dirty = 1 }
#else
#define LATEB
#define LATEBX(t)
#endif

active proctype World() provided (GOES_ON) {
  byte t;
  do
  HOSTT(0) HOSTT(1) LATEBX(0) LATEBX(1)
#if NT==3
  HOSTT(2) LATEBX(2)
#endif
  /* check a worker out: head of the pool, else fork (only when the pool is empty) */
  :: atomic { HR ->
       if :: tk[0] == 1 -> t = 0 :: tk[1] == 1 -> t = 1
#if NT==3
          :: tk[2] == 1 -> t = 2
#endif
       fi;
       if :: q0 != 0 -> lease((q0-1),t); q0 = q1; q1 = 0
          :: q0 == 0 && dmn && hs[0] == NEW -> alive[0] = 1; ph[0] = NB; sk[0] = 0; wipe(0); prog(0); lease(0,t)
#if NW==2
          :: q0 == 0 && dmn && hs[1] == NEW -> alive[1] = 1; ph[1] = NB; sk[1] = 0; wipe(1); prog(1); lease(1,t)
#endif
          :: else -> skip
       fi; t = 0 }
#define PERW(w) \
  :: atomic { HR && hs[w] == LEASED && !inp[w] && sk[w] == 0 -> inp[w] = 1; rq[w] = alive[w]; byt(w) }                      /* first bytes, any time after the lease */ \
  :: atomic { HR && hs[w] == LEASED && inp[w] && more[w] && sk[w] == 0 -> more[w] = 0; RSTCHECK(w) if :: alive[w] -> rq[w] = 1; byt(w) :: else -> skip fi } \
  :: atomic { FULL(w) && HR && hs[w] == LEASED && sk[w] == 0 -> sk[w] = 1; more[w] = 0; chg[w] = 1 }                                                   /* shutdownOutput, goes on reading */ \
  :: atomic { HR && hs[w] == LEASED && fin[w] ->                                                                               /* END read: no byte needed, any time later */ \
       if :: !ans2[w] && !PN && sk[w] == 0 && alive[w] -> hs[w] = POOLED; tRel = 0; if :: q0 == 0 -> q0 = w+1 :: else -> q1 = w+1 fi \
          :: else -> hs[w] = CLOSED; sk[w] = 2; chg[w] = FULL(w) fi; forget(w) } \
  :: atomic { FULL(w) && HR && hs[w] == ABAND && !lb && !fR[w] -> fR[w] = 1 }                                                             /* retired */ \
  /* worker */ \
  :: atomic { alive[w] && ph[w] == NB -> ph[w] = PP; prog(w) } \
  :: atomic { alive[w] && ph[w] == PP && rq[w] && !fin[w] -> ph[w] = UU; prog(w); \
       if :: rq[w] = 0 :: skip fi; if :: FULL(w) -> BI(w,lt[w]) = 1 :: skip fi }                                                          /* binding record of the python side, may be lost */ \
  :: atomic { FULL(w) && alive[w] && ph[w] == UU -> prog(w); if :: ph[w] = BB :: ph[w] = WW :: ph[w] = FR :: ph[w] = TR fi } \
  :: atomic { alive[w] && (ph[w] == BB || ph[w] == FR || ph[w] == TR || (ph[w] == WW && HR && hs[w] == LEASED)) -> ph[w] = UU; prog(w) } \
  :: atomic { alive[w] && ph[w] == UU && hs[w] == LEASED -> fin[w] = 1; byt(w); if :: ph[w] = PP; ans2[w] = 0; rq[w] = 0 :: FULL(w) -> ph[w] = RR; ans2[w] = 1; rq[w] = 0 fi } \
  :: atomic { alive[w] && ph[w] == RR && rq[w] -> rq[w] = 0; prog(w) } \
  :: atomic { alive[w] && (ph[w] == PP || ph[w] == RR || ph[w] == NB) && sk[w] >= 1 -> die(w) }                                 /* EOF */ \
  REBIRTH(w)
#ifdef RSTX
#define RSTCHECK(w) assert(!(killed[w] && tk[lt[w]] == 1));
#else
#define RSTCHECK(w)
#endif
#ifdef REUSE
#define REBIRTH(w) :: atomic { !alive[w] && (hs[w] == CLOSED || hs[w] == ABAND) && !reborn[w] -> hs[w] = NEW; reborn[w] = 1; killed[w] = 0 }  /* same pid number, new process */
#else
#define REBIRTH(w)
#endif
  PERW(0)
#if NW==2
  PERW(1)
#endif
  :: atomic { HR && tRel >= 1 && !purgeDead && q0 != 0 -> hs[q0-1] = CLOSED; sk[q0-1] = 2; chg[q0-1] = FULL(q0-1);
       if :: q1 != 0 -> hs[q1-1] = CLOSED; sk[q1-1] = 2; chg[q1-1] = FULL(q1-1) :: else -> skip fi; q0 = 0; q1 = 0; tRel = 0 }
  :: atomic { dmn -> dmn = 0 }
#ifndef NOSTOP
  :: atomic { hostUp && !stopped -> stopped = 1 }
  :: atomic { stopped -> stopped = 0 }
#endif
#ifdef PURGESTUCK
  :: atomic { HR && !purgeDead -> purgeDead = 1 }
#endif
#ifdef LOGBREAK
  :: atomic { HR && !lb -> lb = 1 }
#endif
#ifdef CRASH
  :: atomic { hostUp -> hostUp = 0; stopped = 0; if :: child = 1 :: child = 0; sk[0] = 2; chg[0] = 1;
#if NW==2
       sk[1] = 2; chg[1] = FULL(1);
#endif
     fi }
  :: atomic { child -> child = 0; sk[0] = 2; chg[0] = 1;
#if NW==2
       sk[1] = 2; chg[1] = FULL(1);
#endif
     }
#endif
  od
}

/* ---- time ---- */
#ifdef FLICKER
#define SEENRUN ran                 /* ran at some moment of these 20 s */
#else
#ifdef NOSEEN
#define SEENRUN 1
#else
#define SEENRUN (!stopped && !wasStopped)
#endif
#endif
bit wasStopped = 0;
#ifdef WEAKPURGE
#define MUSTPURGE (0)
#else
#define MUSTPURGE (hostUp && !stopped && q0 != 0 && tRel >= 2 && !purgeDead)
#endif
#define TW(w) \
   IDLEK(if :: OPENLOG || dirty || !SEENRUN || !hostUp -> st[w] = 0 :: else -> if :: st[w] < WIN -> st[w]++ :: else -> skip fi fi; \
   ANYK(if :: st[w] >= WIN -> hadW[w] = 1 :: else -> skip fi;)) \
   REPK(bt[w] = 1;) if :: blk[w] < 1 -> blk[w]++ :: else -> skip fi; \
   TEK(if :: ANYB(w) && ALLE(w) -> sE[w] = 1 :: else -> skip fi;)
active proctype Clock() provided (GOES_ON) {
  do
  :: atomic { !MUSTPURGE ->
       if :: tRel < 3 -> tRel++ :: else -> skip fi;
       TW(0)
#if NLOOK==2
       TW(1)
#endif
       dirty = 0; FLICKERK(ran = HR;) wasStopped = stopped }
#ifndef NOSTOP
  :: atomic { stopped && !wasStopped -> wasStopped = 1 }
#ifdef FLICKER
  :: atomic { HR && !ran -> ran = 1 }
#endif
#endif
  od
}

/* ---- beats of the host's log ---- */
#ifdef TWOCLASS
#define COVERED(w) 0              /* the log is of the other class (Spark) in the same JVM: this worker (pyjava) is never listed */
#else
#define COVERED(w) 1
#endif
#ifdef ONEBEAT
#define NBEAT 1
#else
#define NBEAT 2
#endif
#ifdef NOGAP
#define GAP(w) 1
#else
#define GAP(w) bt[w]
#endif
#ifdef NOAFTEREND
#define BW(w) 1
#else
#define BW(w) (ANYB(w) && ALLE(w))
#endif
#ifdef NOPOOLED
#define LISTED(w) (COVERED(w) && hs[w] == LEASED)
#else
#ifdef NOLEASED
#define LISTED(w) (COVERED(w) && hs[w] == POOLED)
#else
#define LISTED(w) (COVERED(w) && (hs[w] == POOLED || hs[w] == LEASED))
#endif
#endif
#ifdef LOSTREC
#define LOSE(w) :: skip -> if :: nl[w] < NBEAT && GAP(w) && BW(w) -> nl[w]++; bt[w] = 0 :: else -> skip fi
#else
#define LOSE(w)
#endif
#define BEATW(w,L) if :: L -> if :: nl[w] = 0 LOSE(w) fi :: else -> if :: nl[w] < NBEAT && GAP(w) && BW(w) -> nl[w]++; bt[w] = 0 :: else -> skip fi fi;
#ifdef F_REP
active proctype Beat() provided (GOES_ON) {
  do
#ifdef TORN     /* the pool is read first, the leases later: not one moment */
  :: atomic { HR && !lb && !torn -> torn = 1; p1[0] = (hs[0] == POOLED);
#if NLOOK==2
       p1[1] = (hs[1] == POOLED);
#endif
     }
  :: atomic { HR && !lb && torn -> torn = 0; BEATW(0,(p1[0] || hs[0] == LEASED)) p1[0] = 0;
#if NLOOK==2
       BEATW(1,(p1[1] || hs[1] == LEASED)) p1[1] = 0;
#endif
     }
#else
  :: atomic { HR && !lb -> BEATW(0,LISTED(0))
#if NLOOK==2
       BEATW(1,LISTED(1))
#endif
     }
#endif
  od
}
#endif

/* ---- fences ---- */
#ifdef SO_NORECV
#define SO(w) (ph[w]==RR || ph[w]==NB)
#else
#ifdef SO_NOTASK
#define SO(w) (ph[w]==RR || ph[w]==FR)
#else
#ifdef SO_NOONE
#define SO(w) (ph[w]==RR || ph[w]==TR)
#else
#define SO(w) (ph[w]==RR)
#endif
#endif
#endif
#ifdef PC_STATE
#define PC(w) (sk[w]>=1)             /* worker's end CLOSE_WAIT is enough */
#else
#ifdef PC_SKIP
#define PC(w) (sk[w]!=1)             /* the row is not seen: dump skipped it / other netns / NAT */
#else
#define PC(w) (sk[w]==2)
#endif
#endif
#define ORPHAN (!dmn)
#ifdef HG_NOHOLDER
#define HG(w) (!hostUp || ORPHAN)
#else
#ifdef HG_NOGONE
#define HG(w) (sk[w]==2)
#else
#ifdef HG_VACUOUS                     /* the port of a dead daemon is not known: "no task socket" */
#define HG(w) ((!hostUp || ORPHAN) && (sk[w]==2 || ORPHAN))
#else
#ifdef HG_ONLYEXIT                    /* JVM seen to exit, nothing said about the other end */
#define HG(w) (!hostUp)
#else
#define HG(w) ((!hostUp || ORPHAN) && sk[w]==2)
#endif
#endif
#endif
#endif
#ifdef TE_NOBIND
#define BOUND(w) 1
#else
#define BOUND(w) ANYB(w)
#endif
#ifdef TE_NOEND
#define ENDED(w) 1
#else
#define ENDED(w) ALLE(w)
#endif
#ifdef TE_NOLATE
#define LATE(w) 0
#else
#define LATE(w) late[w]
#endif
#define TE(w) (BOUND(w) && ENDED(w) && !LATE(w))
#ifdef ID_ANY                          /* literal: some stretch, whenever it was */
#define IDLE(w) (hadW[w])
#else
#ifdef ID_NOW0
#define IDLE(w) 1
#else
#define IDLE(w) (st[w] >= WIN)
#endif
#endif
#ifdef REP_ONLY
#define REPF(w) (nl[w] >= NBEAT)
#else
#define REPF(w) (TE(w) && nl[w] >= NBEAT)
#endif
#ifdef IDLE_ONLY
#define IDF(w) (IDLE(w) && FRESHLOG)
#else
#define IDF(w) (TE(w) && IDLE(w) && FRESHLOG)
#endif
#if defined(F_SIGNED)
#define FENCE(w) SO(w)
#elif defined(F_PEER)
#define FENCE(w) PC(w)
#elif defined(F_GONE)
#define FENCE(w) HG(w)
#elif defined(F_RETIRED)
#define FENCE(w) fR[w]
#elif defined(F_DECL)
#define FENCE(w) TE(w)
#elif defined(F_REP)
#define FENCE(w) REPF(w)
#elif defined(F_IDLE)
#define FENCE(w) IDF(w)
#else
#define FENCE(w) 0
#endif
#ifdef G_NOBYTES
#define BYTESOK(w) 1
#else
#define BYTESOK(w) (!(rq[w] && sk[w] != 2))
#endif
#ifdef G_NOOPEN
#define OPENOK(w) 1
#else
#define OPENOK(w) (!ANYB(w) || ALLE(w))
#endif
#ifdef D_NOTIMEOUT
#define BLK(w) 1
#else
#define BLK(w) (blk[w] >= 1)
#endif
#ifdef G_OPENSTRICT
#define OK(w) (alive[w] && ph[w] != UU && BLK(w) && BYTESOK(w) && OPENOK(w) && FENCE(w))
#else
#define OK(w) (alive[w] && ph[w] != UU && BLK(w) && BYTESOK(w) && FENCE(w))
#endif
#define SAFE(w) (!hostUp && !child || hs[w] == ABAND || hs[w] == CLOSED || !hostUp && sk[w] == 2 || (hs[w] == LEASED && fin[w] && (ans2[w] || PN)))
#ifdef D_ONELOOK
#define SAME(w) 1
#else
#define SAME(w) (!chg[w])
#endif

bit hit = 0;
active proctype Reaper() provided (GOES_ON) {
  byte w; bit g;
  do
  :: atomic { OK(0) -> w = 0; chg[0] = 0; g = reborn[0] }
     if :: atomic { OK(0) && SAME(0) -> skip };
           atomic { if :: alive[0] && g == reborn[0] -> 
#ifndef LIVE
                assert(SAFE(0));
#endif
                killed[0] = 1; hit = 1; die(0) :: else -> skip fi }
        :: atomic { !(OK(0) && SAME(0)) -> skip }
     fi
#if NLOOK==2
  :: atomic { OK(1) -> w = 1; chg[1] = 0; g = reborn[1] }
     if :: atomic { OK(1) && SAME(1) -> skip };
           atomic { if :: alive[1] && g == reborn[1] ->
#ifndef LIVE
                assert(SAFE(1));
#endif
                killed[1] = 1; hit = 1; die(1) :: else -> skip fi }
        :: atomic { !(OK(1) && SAME(1)) -> skip }
     fi
#endif
  od
}
#ifdef LIVE
#define leak0 (alive[0] && (hs[0] == ABAND || hs[0] == CLOSED))
ltl live { [] ( (leak0 && OK(0)) -> <> (!alive[0] || !OK(0)) ) }
#endif
#ifdef REACH
ltl reach { [] (hit == 0) }   /* must be violated: the fence is not vacuous */
#endif

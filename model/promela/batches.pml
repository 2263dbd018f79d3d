/* Three messages of an inbox, which may share a transaction. A claim counts one attempt for each of its messages and commits that, then one
   transaction holds a row for each. Their handlers run one after the other. A stop, or a transaction that has been open for long enough, ends
   the batch at its next handler: the COMMIT marks what was handled, removes the rows of what never began, and gives those attempts back. A
   handler that fails, or that the stop deadline interrupts, rolls everything back, and its attempt alone counts. What was tried before runs
   alone. What a worker claims is any choice of what it may claim, so what runs again together is among the choices. What else runs beside a
   last attempt is the subject of suspects.pml.

   Faults:      CRASHES (of a worker)  STOPS  DEADLINES (a stop interrupts a handler)  FAILS (of a handler)
                LOSSES (the answer to a COMMIT is lost, applied or not)  REFUSALS (a COMMIT is refused)
                LONG (the handler of message 0 is longer than any stop waits)
   Bent rules:  MARKUNBEGUN (what never began is marked too)  NOREFUND (it keeps its counted attempt)  LATEREFUND (refunded after the COMMIT)
                RUNSON (a stop runs the batch to its end)  FAILCOUNTSALL (a failure counts for the whole batch)
                FAILEDCOMMITS (a batch commits, with what the failed handler wrote)  HANDLEDSETTLED (settled, though rolled back)
                STOPREFUNDS (what the deadline interrupts is refunded)
                LOSTFAILS, LOSTMARKS (a lost answer is taken for a failure of the only message, for a mark)
                STRICT (no excuse for an attempt that is given back after a COMMIT that was refused or lost)

   `why` counts, for each message, what an attempt may count for: its handler failed or was interrupted, the process died while it was
   claimed, or the COMMIT was refused with it: alone, or in a batch that a stop ends, where nobody knows which one of them is at fault. Law
   BLAME: no attempt counts for anything else, and a message is given up only after MAXATTEMPTS of these. Law COUNTED: each of these counts,
   or a message could run for ever. Law PROMPT: no handler begins after a stop. */
#include "law.pml"
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef MAXATTEMPTS
#define MAXATTEMPTS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef STOPS
#define STOPS 1
#endif
#ifndef DEADLINES
#define DEADLINES 1
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef REFUSALS
#define REFUSALS 0
#endif
#ifndef LONG
#define LONG 0
#endif
#ifndef MARKUNBEGUN
#define MARKUNBEGUN 0
#endif
#ifndef NOREFUND
#define NOREFUND 0
#endif
#ifndef LATEREFUND
#define LATEREFUND 0
#endif
#ifndef RUNSON
#define RUNSON 0
#endif
#ifndef FAILCOUNTSALL
#define FAILCOUNTSALL 0
#endif
#ifndef FAILEDCOMMITS
#define FAILEDCOMMITS 0
#endif
#ifndef HANDLEDSETTLED
#define HANDLEDSETTLED 0
#endif
#ifndef STOPREFUNDS
#define STOPREFUNDS 0
#endif
#ifndef LOSTFAILS
#define LOSTFAILS 0
#endif
#ifndef LOSTMARKS
#define LOSTMARKS 0
#endif
#ifndef STRICT
#define STRICT 0
#endif
#ifndef ASK_COUNTED
#define ASK_COUNTED 1
#endif
#ifndef ASK_L1
#define ASK_L1 0
#endif
#define NOTHING 0
#define STOPPED 1
#define TIMED 2
#define NEVER_BEGAN 3
#define TOGETHER_AGAIN 4
#define INTERRUPTED 5
#define ENDED_IN_TIME 6
#define ALL_COUNTED 7
#define GIVEN_UP 8
#define LAST_DONE 9
#define DUPLICATE 10
#define LOST_APPLIED 11
#define LOST_UNDONE 12
#define REFUSED_ALONE 13
#define REFUSED_BATCH 14
#define REFUSED_STOPPING 15
#define REFUSED_SET_ASIDE 16
#define REFUND_MISSED 17
#ifndef REACH
#define REACH NOTHING
#endif

#define N 3
#define BIT(m) (1 << (m))
#define HELD(m) (holder[m] == me + 1)
#define FREE(m) (!over[m] && !row[m] && holder[m] == 0)
#define FRESH(m) (FREE(m) && att[m] == 0 && !(solo & BIT(m)))     /* may share a transaction */
#define TRIED(m) (FREE(m) && (att[m] > 0 || (solo & BIT(m))))     /* runs alone */
#define DONE(m) (!over[m] && row[m])
#define ANY(what) (what(0) || what(1) || what(2))
#define PICK(what) if :: what(0) -> k = 0 :: what(1) -> k = 1 :: what(2) -> k = 2 fi
#define SEVERAL(set) ((set) == 3 || (set) > 4)
#define SEEN(state) if :: REACH == state -> seen = true :: else fi

byte att[N], counter[N], holder[N], effects[N];       /* counter: the claim that counted last, holder: the transaction with its row */
bool row[N], over[N];                                 /* row: marked; over: settled, as handled or as given up */
byte why[N], owed[N];                                 /* for the laws: see above; owed: by whom, a refund in a transaction of its own */
byte crashes, stops, deadlines, fails, losses, refusals, beside, fin; bool seen;   /* beside: handled beside a failure */

#define CRASHPOINT if :: atomic { crashes < CRASHES -> crashes++; die() }; goto again :: skip fi
#define STOPPOINT if :: atomic { stops < STOPS && !stopping -> stops++; stopping = true; printf("> worker %d must stop\n", me) } :: skip fi

inline blame(m) { if :: why[m] <= MAXATTEMPTS -> why[m]++ :: else fi }
inline excuse(m) { if :: owed[m] != 0 -> owed[m] = 0; SEEN(REFUND_MISSED); if :: !STRICT -> blame(m) :: else fi :: else fi }
inline count(m) {
  excuse(m);
  LAW(BLAME, att[m] <= why[m]);
  LAW(COUNTED, !ASK_COUNTED || att[m] >= why[m]);
  att[m]++; counter[m] = me + 1; holder[m] = me + 1;
  printf("> worker %d claims message %d, attempt %d\n", me, m, att[m]) }
inline refund(m) { if :: counter[m] == me + 1 && !row[m] -> att[m]--; counter[m] = 0; owed[m] = 0 :: else fi }
inline giveUp(m) {
  LAW(BLAME, why[m] >= MAXATTEMPTS);
  LAW(A14, effects[m] == 0);
  over[m] = true; holder[m] = 0; SEEN(GIVEN_UP); printf("> message %d is given up\n", m) }
inline settle(m) {
  LAW(A3, row[m]);
  over[m] = true; printf("> worker %d settles message %d\n", me, m) }
inline settleHandled() { m = 0; do :: m < N -> if :: ran & BIT(m) -> settle(m) :: else fi; m++ :: else -> break od; m = 0 }
inline die() {
  printf("> worker %d dies\n", me);
  if :: HELD(0) && HELD(1) && HELD(2) -> SEEN(ALL_COUNTED) :: else fi;
  m = 0; do :: m < N -> if :: HELD(m) -> holder[m] = 0; if :: blamed & BIT(m) -> skip :: else -> blame(m) fi :: else fi;
                        if :: owed[m] == me + 1 -> excuse(m) :: else fi; m++
            :: else -> break od;
  m = 0; solo = 0; stopping = false }
inline markAndRefund() {                               /* the COMMIT */
  m = 0; do :: m < N && HELD(m) && (left & BIT(m)) ->
                 holder[m] = 0;
                 if :: MARKUNBEGUN -> row[m] = true :: NOREFUND -> skip :: LATEREFUND -> owe = owe | BIT(m)
                    :: !MARKUNBEGUN && !NOREFUND && !LATEREFUND -> refund(m) fi;
                 LAW(A1, effects[m] > 0 || !row[m]);
                 m++
            :: m < N && HELD(m) && !(left & BIT(m)) ->
                 if :: att[m] == MAXATTEMPTS -> SEEN(LAST_DONE) :: else fi;
                 holder[m] = 0; row[m] = true; effects[m]++; att[m] = 0; why[m] = 0; counter[m] = 0;
                 LAW(A2, effects[m] == 1);
                 m++
            :: m < N && !HELD(m) -> m++
            :: m == N -> break od;
  m = 0; if :: SEVERAL(ran & beside) -> SEEN(TOGETHER_AGAIN) :: else fi }
inline endUnmarked(refunded) {                         /* refunded later, in a transaction of its own */
  m = 0; do :: m < N -> if :: HELD(m) -> holder[m] = 0; if :: (refunded) & BIT(m) -> owed[m] = me + 1 :: else fi :: else fi; m++
            :: else -> break od;
  m = 0; owe = refunded }

proctype Worker(byte me) { byte k, m, ran, left, owe, blamed, solo; bool stopping, dead, applied;   /* ran: handled; left: never began */
again:
  atomic { k = 0; ran = 0; left = 0; owe = 0; blamed = 0; dead = false; applied = false;
    if :: stopping -> stopping = false; solo = 0; printf("> worker %d has stopped, and starts again\n", me) :: else fi };
  if
  :: over[0] && over[1] && over[2] -> goto stop
  :: atomic { ANY(DONE) -> PICK(DONE); printf("> worker %d finds it done\n", me); settle(k); SEEN(DUPLICATE) }; goto again
  :: atomic { ANY(TRIED) -> PICK(TRIED);
       if :: att[k] >= MAXATTEMPTS -> excuse(k); giveUp(k); goto again
          :: else -> count(k) fi; k = 0 }
  :: atomic { ANY(FRESH) -> m = 0;
       do :: m < N && FRESH(m) -> ran++; count(m); m++                          /* ran: how many, for the moment */
          :: m < N && (!FRESH(m) || ran > 0 || (m < 1 && FRESH(1)) || (m < 2 && FRESH(2))) -> m++
          :: m == N -> break od; m = 0; ran = 0 }
  fi;
  CRASHPOINT;
  STOPPOINT;
  if :: atomic { stopping -> m = 0; do :: m < N -> if :: HELD(m) -> holder[m] = 0; refund(m) :: else fi; m++ :: else -> break od; m = 0;
           SEEN(NEVER_BEGAN); printf("> worker %d rolls back before a handler began\n", me) }; goto again
     :: else fi;
next:
  atomic { do :: k < N && !HELD(k) -> k++ :: else -> break od };
  if :: k == N -> goto commit :: else fi;
  if :: ran != 0 -> STOPPOINT :: else fi;
  if
  :: ran != 0 && stopping && !RUNSON -> atomic { SEEN(STOPPED) }; goto leave
  :: ran != 0 && !(stopping && !RUNSON) -> atomic { SEEN(TIMED) }; goto leave   /* open for long enough */
  :: !(ran != 0 && stopping && !RUNSON) ->
     atomic { printf("> worker %d begins message %d\n", me, k);
       LAW(PROMPT, !stopping) }
  fi;
  STOPPOINT;
  CRASHPOINT;
  if
  :: atomic { !(LONG && k == 0) -> ran = ran | BIT(k); k++ }; goto next
  :: atomic { fails < FAILS -> fails++; printf("> the handler of message %d fails\n", k) }
  :: atomic { stopping && deadlines < DEADLINES -> deadlines++; dead = true };
     if :: atomic { ran = ran | BIT(k); k++; SEEN(ENDED_IN_TIME) }; goto next   /* it ends well in spite of it */
        :: atomic { if :: ran != 0 && k < N - 1 && HELD(N - 1) -> SEEN(INTERRUPTED) :: else fi;
             printf("> the stop deadline interrupts the handler of message %d\n", k) } fi
  :: atomic { LONG && k == 0 -> stopping = true; dead = true; printf("> the stop deadline interrupts the handler of message 0\n") }
  fi;
  atomic { blame(k); blamed = BIT(k) };
  CRASHPOINT;
  atomic { printf("> worker %d rolls back\n", me); m = 0;                       /* with the refunds, in one transaction */
    do :: m < N && HELD(m) && m != k ->
            holder[m] = 0;
            if :: FAILEDCOMMITS && (ran & BIT(m)) -> row[m] = true; effects[m]++
               :: FAILCOUNTSALL -> skip
               :: !FAILCOUNTSALL && !(FAILEDCOMMITS && (ran & BIT(m))) -> refund(m) fi; m++
       :: m < N && HELD(m) && m == k ->
            holder[m] = 0;
            if :: FAILEDCOMMITS && ran != 0 -> effects[m]++ :: else fi;
            LAW(A2, effects[m] == row[m]);
            if :: dead && STOPREFUNDS -> refund(m)
               :: !dead && att[m] >= MAXATTEMPTS -> giveUp(m)
               :: else fi; m++
       :: m < N && !HELD(m) -> m++
       :: m == N -> break od; m = 0;
    if :: REACH == TOGETHER_AGAIN -> beside = beside | ran :: else fi;
    if :: HANDLEDSETTLED -> settleHandled() :: else fi }; goto again;
leave:
  atomic { m = k; do :: m < N -> if :: HELD(m) -> left = left | BIT(m) :: else fi; m++ :: else -> break od; m = 0 };
commit:
  CRASHPOINT;
  if
  :: atomic { markAndRefund(); printf("> worker %d commits, without %d\n", me, left) };
     if :: LATEREFUND -> CRASHPOINT; atomic { m = 0; do :: m < N -> if :: owe & BIT(m) -> refund(m) :: else fi; m++ :: else -> break od; m = 0 }
        :: else fi
  :: atomic { losses < LOSSES -> losses++; applied = true; markAndRefund(); SEEN(LOST_APPLIED);
       printf("> worker %d commits, without %d, and the answer is lost\n", me, left) }; goto lost
  :: atomic { losses < LOSSES -> losses++; endUnmarked(ran | left); SEEN(LOST_UNDONE);
       printf("> the COMMIT of worker %d is lost\n", me) }; goto lost
  :: atomic { refusals < REFUSALS -> refusals++; printf("> the COMMIT of worker %d is refused\n", me);
       if :: SEVERAL(ran) && !stopping -> endUnmarked(ran | left); solo = solo | ran; ran = 0; SEEN(REFUSED_BATCH)
          :: else -> if :: SEVERAL(ran) -> SEEN(REFUSED_STOPPING) :: else -> SEEN(REFUSED_ALONE) fi;
             m = 0; do :: m < N -> if :: ran & BIT(m) -> blame(m) :: else fi; m++ :: else -> break od;
             endUnmarked(left) fi };
     goto failed
  fi;
  CRASHPOINT;
  atomic { settleHandled() }; goto again;
lost:
  CRASHPOINT;
  if
  :: atomic { (applied && !LOSTFAILS) || LOSTMARKS -> settleHandled() }; goto again   /* what was committed is asked of the store */
  :: atomic { LOSTFAILS && !SEVERAL(ran) -> owe = left; m = 0;
       do :: m < N -> if :: ran & BIT(m) -> owed[m] = 0 :: else fi; m++ :: else -> break od; m = 0 }
  :: !LOSTMARKS && !(applied && !LOSTFAILS) && !(LOSTFAILS && !SEVERAL(ran)) -> ran = 0
  fi;
failed:
  CRASHPOINT;
  atomic { m = 0; do :: m < N -> if :: owe & BIT(m) -> refund(m) :: else fi;
                       /* A last attempt that failed with its COMMIT: the record is refused if another owner was quicker. */
                       if :: ran == BIT(m) && !dead && counter[m] == me + 1 && att[m] >= MAXATTEMPTS && FREE(m) -> giveUp(m); SEEN(REFUSED_SET_ASIDE)
                          :: else fi; m++
                  :: else -> break od; m = 0; printf("> worker %d gives back %d\n", me, owe) }; goto again;
stop: fin++ }

init { byte i;
  atomic { do :: i < WORKERS -> run Worker(i); i++ :: else -> break od; i = 0 };
  fin == WORKERS;
  do :: i < N ->
          LAW(A1, effects[i] > 0 || (!row[i] && why[i] >= MAXATTEMPTS));
          LAW(A2, effects[i] == row[i]);
          i++
     :: else -> break od;
  LAW(REACH, !seen) }

#if ASK_L1
ltl L1 { <> (fin == WORKERS) }
#endif

/* A store of sequences: one source, N numbered messages, each delivered to any process while it is not settled, and now and then after it.
   A message that is under way, or among the newest TAIL that are done, has a record of its own; the source knows what is done by its
   high mark and its gaps, of which it keeps MAXGAPS. A claim asks the records, then the source. A mark writes the record, then moves the
   number into the source by compare-and-swap, and removes with it the records that left the tail.

   Shape:       N  WORKERS  TAIL  MAXGAPS  DUPLICATE (onBehind: 'duplicate')  KEEPSTEXT (a process keeps the text of the source)
                RESETS (a second sender uses number 0, with another payload)
   Faults:      CRASHES  EXPIRIES (of a lease whose holder goes on)  REDELIVERIES  FAILS  FORGETS (a person lets a number that is done run again)
   Bent rules:  SOURCEFIRST (a claim asks the source before the records)  UNASKED (a grant does not ask it)  NOCAS (a text is written whatever is there)
                REMOVEFIRST (records are removed before the source knows)  BLINDREMOVE (also those that are not done)  UNREMOVED (one that comes below
                the tail keeps its record)  GAPDONE (a number below the high mark is done)  FORGOTTENDONE (so is one below the floor)
                OVERSETTLED (a run without a known end is settled if its number is done)
   Law RUNS: what is done does not run, if its holder still has it. Law A10: settled as a duplicate only after an effect of its own.
   Law SIZE: at last only the tail has records that are done. */
#include "law.pml"
#ifndef N
#define N 3
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TAIL
#define TAIL 0
#endif
#ifndef MAXGAPS
#define MAXGAPS 4
#endif
#ifndef DUPLICATE
#define DUPLICATE 0
#endif
#ifndef RESETS
#define RESETS 0
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef REDELIVERIES
#define REDELIVERIES 1
#endif
#ifndef FAILS
#define FAILS 0
#endif
#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef SOURCEFIRST
#define SOURCEFIRST 0
#endif
#ifndef UNASKED
#define UNASKED 0
#endif
#ifndef NOCAS
#define NOCAS 0
#endif
#ifndef REMOVEFIRST
#define REMOVEFIRST 0
#endif
#ifndef BLINDREMOVE
#define BLINDREMOVE 0
#endif
#ifndef UNREMOVED
#define UNREMOVED 0
#endif
#ifndef GAPDONE
#define GAPDONE 0
#endif
#ifndef FORGOTTENDONE
#define FORGOTTENDONE 0
#endif
#ifndef OVERSETTLED
#define OVERSETTLED 0
#endif
#ifndef ASK_SIZE
#define ASK_SIZE 0
#endif
#ifndef KEEPSTEXT
#define KEEPSTEXT 0
#endif
#define NOTHING 0
#define REFUSED 1
#define ADDED_LATER 2
#define BEHIND 3
#define FORGOTTEN_PARKED 4
#define RUN_AGAIN 5
#define REMOVED 6
#define FILLED 7
#ifndef REACH
#define REACH NOTHING
#endif
#define M (N + RESETS)
#define NUM(m) (m < N -> m : 0)
#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#define ALL (BIT(M) - 1)
#define START(high) (high > TAIL -> high - TAIL : 0)                    /* of the tail */
#define absent 0                                                        /* states of a record */
#define proc 1
#define released 2
#define done 3
#define parked 4
#define new 1                                                           /* what the source says of a number; and `done` */
#define forgotten 2

byte rec[N], owner[N], payload[N], again[N];                                     /* owner 0: nobody holds it, or its holder has died; again: how often a person sent it again */
byte lowest, high, sdone;                                               /* the source: floor, next, and what is not a gap */
byte settled, effect, letter, marked;                                   /* sets of messages, the last one of numbers */
byte crashes, expiries, redeliveries, fails, forgets, fin; bool reached;

#define HOLDS (rec[n] == proc && owner[n] == id)
#define GRANTED (!dup && (fresh || over))
#define SETTLES (s == done && DUPLICATE && (!over || OVERSETTLED))
/* The process dies after what it has just done: its lease ends, what it remembers is gone. */
#define MAYDIE if :: crashes < CRASHES -> crashes++; printf("> process %d dies\n", id); if :: HOLDS -> owner[n] = 0 :: else fi; \
                     known = false; tLowest = 0; tHigh = 0; tDone = 0; clear(); goto idle :: true fi
inline clear() { m = 0; n = 0; s = 0; sent = 0; over = false; fresh = false; dup = false; aLowest = 0; aHigh = 0; aDone = 0 }
inline reach(state) { if :: REACH == state -> reached = true :: else fi }
inline put(k, state) { rec[k] = state; owner[k] = 0; if :: state == absent -> payload[k] = 0 :: else fi }
inline ask() { if :: n < lowest -> s = (FORGOTTENDONE -> done : forgotten)
                  :: n >= lowest && (n >= high || (!GAPDONE && !HAS(sdone, n))) -> s = new
                  :: else -> s = done fi; printf("> process %d: the source says %d of number %d\n", id, s, n) }
/* Of a delivery from before a person sent the message again, that one is not settled. */
inline settle() { if :: sent == again[n] -> settled = settled | BIT(m) :: else fi; printf("> process %d settles message %d\n", id, m) }
inline setAside() { letter = letter | BIT(m); settle() }
inline removeAll() { k = 0;
  do :: k < N ->
          if :: k < START(aHigh) && HAS(aDone, k) && k >= aLowest && (k >= START(tHigh) || (k == n && !UNREMOVED)) && (rec[k] == done || (BLINDREMOVE && rec[k] != absent)) ->
                  put(k, absent); reach(REMOVED); printf("> process %d removes the record of number %d\n", id, k)
             :: else fi; k++
     :: else -> break od; k = 0 }
/* What follows from the text that is known, with number n. */
inline withNumber() { aLowest = tLowest; aHigh = tHigh; aDone = tDone;
  if :: n < tLowest || (n < tHigh && HAS(tDone, n)) -> skip
     :: else -> if :: n < tHigh -> reach(FILLED) :: else fi;
          aDone = aDone | BIT(n); if :: n >= aHigh -> aHigh = n + 1 :: else fi;
          do :: true -> gaps = 0; above = 0; k = aLowest;               /* above the lowest gap */
                  do :: k < aHigh -> if :: !HAS(aDone, k) && (k + 1 == aHigh || HAS(aDone, k + 1)) -> gaps++; if :: above == 0 -> above = k + 1 :: else fi :: else fi; k++
                     :: else -> break od;
                  if :: gaps > MAXGAPS -> aLowest = above :: else -> break fi od;
          k = 0; gaps = 0; above = 0 fi }

proctype Worker(byte id) { byte m, n, s, sent, k, gaps, above, tLowest, tHigh, tDone, aLowest, aHigh, aDone; bool known, over, fresh, dup;
idle:
  if
  :: atomic { settled == ALL -> fin++ }; goto stop
  :: atomic { settled != ALL || redeliveries < REDELIVERIES ->          /* a message comes */
       do :: m < M - 1 -> m++ :: break od;
       if :: HAS(settled, m) && redeliveries == REDELIVERIES -> clear(); goto idle
          :: HAS(settled, m) && redeliveries < REDELIVERIES -> redeliveries++; settled = settled & ~BIT(m); printf("> message %d is delivered again\n", m)
          :: !HAS(settled, m) fi;
       n = NUM(m); sent = again[n];
       if :: SOURCEFIRST -> ask() :: else fi }
  fi;
  atomic {                                                              /* the records are asked */
    if
    :: rec[n] == absent -> fresh = true
    :: rec[n] != absent && payload[n] != m -> setAside(); clear(); goto idle                    /* a conflict */
    :: rec[n] == parked && payload[n] == m -> setAside(); clear(); goto idle
    :: rec[n] == released && payload[n] == m -> skip                                            /* it had a record: its source is not asked */
    :: rec[n] == proc && payload[n] == m && owner[n] == 0 -> over = true
    :: rec[n] == proc && payload[n] == m && owner[n] != 0 ->
         if :: expiries < EXPIRIES -> expiries++; over = true; printf("> the lease of number %d has ended\n", n)
            :: true -> clear(); goto idle fi                                                    /* busy */
    :: rec[n] == done && payload[n] == m -> dup = true
    fi;
    if :: !dup -> rec[n] = proc; owner[n] = id; payload[n] = m; printf("> process %d claims number %d\n", id, n) :: else fi;
    MAYDIE };
  if
  :: atomic { (dup || fresh || over) -> if :: !SOURCEFIRST -> ask() :: else fi; MAYDIE;
       if
       :: dup && s == new -> reach(ADDED_LATER); goto add               /* a process died between the mark and its source */
       :: dup && s != new -> goto duplicate
       :: GRANTED && (s == new || UNASKED) -> goto handler
       :: GRANTED && !UNASKED && s != new && SETTLES -> dup = true; goto mark
       :: GRANTED && !UNASKED && s != new && !SETTLES ->
            if :: HOLDS -> put(n, parked); setAside(); if :: s == done -> reach(BEHIND) :: else -> reach(FORGOTTEN_PARKED) fi :: else fi;
            clear(); goto idle
       fi }
  :: atomic { !dup && !fresh && !over -> if :: n < high && HAS(sdone, n) -> reach(RUN_AGAIN) :: else fi }
  fi;
handler:
  atomic { LAW(RUNS, !(HAS(marked, n) && HOLDS)); s = 0; printf("> process %d runs message %d\n", id, m);
    if :: fails < FAILS -> fails++; if :: HOLDS -> put(n, released) :: else fi; clear(); goto idle
       :: effect = effect | BIT(m) fi;
    MAYDIE };
mark:
  atomic {
    if :: (rec[n] == proc && owner[n] != id) || (rec[n] != absent && payload[n] != m) -> clear(); goto idle     /* refused */
       :: else -> put(n, done); payload[n] = m; marked = marked | BIT(n); printf("> process %d marks number %d\n", id, n) fi;
    MAYDIE };
add:
  if :: !known -> atomic { known = true; tLowest = lowest; tHigh = high; tDone = sdone } :: known -> skip fi;
  if :: REMOVEFIRST -> atomic { withNumber(); removeAll(); MAYDIE } :: else fi;
  atomic {
    if
    :: (tLowest == lowest && tHigh == high && tDone == sdone) || NOCAS ->
         withNumber(); lowest = aLowest; high = aHigh; sdone = aDone; removeAll(); printf("> the source has number %d\n", n);
         if :: KEEPSTEXT -> tLowest = aLowest; tHigh = aHigh; tDone = aDone :: else -> known = false; tLowest = 0; tHigh = 0; tDone = 0 fi
    :: else -> reach(REFUSED); known = false; tLowest = 0; tHigh = 0; tDone = 0; goto add
    fi;
    MAYDIE;
    if :: dup -> goto duplicate :: else fi;
    settle(); clear(); goto idle };
duplicate:
  atomic { LAW(A10, HAS(effect, m) || sent != again[n]); settle(); clear(); goto idle };
stop: skip }

#if FORGETS
active proctype Person() { byte i;
  do :: atomic { forgets < FORGETS && fin == 0 -> do :: i < N - 1 -> i++ :: break od;
          if :: HAS(marked, i) && rec[i] == absent && i < high && HAS(sdone, i) -> put(i, done); payload[i] = i :: else fi };
        atomic { if :: HAS(marked, i) && rec[i] == done && payload[i] == i && fin == 0 -> rec[i] = released; forgets++; again[i]++;
                       marked = marked & ~BIT(i); effect = effect & ~BIT(i); settled = settled & ~BIT(i); printf("> a person lets number %d run again\n", i) :: else fi; i = 0 }
     :: forgets == FORGETS -> break
     :: fin > 0 -> break od }
#endif

init { byte i;
  atomic { do :: i < WORKERS -> run Worker(i + 1); i++ :: else -> break od };
  atomic { fin == WORKERS;
    i = 0; do :: i < M -> LAW(A1, HAS(effect, i) || HAS(letter, i)); i++ :: else -> break od;
    i = 0; do :: i < N -> LAW(SIZE, !ASK_SIZE || !(rec[i] == done && i < START(high) && i >= lowest)); i++ :: else -> break od };
  LAW(REACH, !reached) }

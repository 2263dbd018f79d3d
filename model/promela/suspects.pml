/* Messages of an inbox, some of which kill the process that runs them, in one process that is started again each time. An attempt is counted
   for all of a transaction before it begins, and for all that run beside it when the process dies. What was counted before runs in
   smaller groups, and what has one attempt left beside nothing.

   Sizes:       N messages  KILLERS at most  TRANSACTIONS beside each other  MAXATTEMPTS
   Bent rules:  LASTBESIDE (the last attempt runs beside other transactions)
                FRESHBESIDE (only what was never counted may begin beside a last attempt) */
#include "law.pml"
#ifndef N
#define N 4
#endif
#ifndef KILLERS
#define KILLERS 2
#endif
#ifndef TRANSACTIONS
#define TRANSACTIONS 2
#endif
#ifndef MAXATTEMPTS
#define MAXATTEMPTS 3
#endif
#ifndef LASTBESIDE
#define LASTBESIDE 0
#endif
#ifndef FRESHBESIDE
#define FRESHBESIDE 0
#endif
#define NOTHING 0
#define HURT 1
#define LAST_DONE 2
#ifndef REACH
#define REACH NOTHING
#endif
#define LAST (MAXATTEMPTS - 1)
/* How many of a transaction, by the attempts counted before: all, some, one. */
#define TOGETHER(c) ((c) == 0 -> N : ((c) < LAST -> 2 : 1))

byte att[N], in[N], over[N], crashes, hurt; bool killer[N], lastDone;   /* in: its transaction; over: 1 done, 2 given up */

inline look(t) {                                       /* size and smallest limit of a transaction, and what runs beside */
  size = 0; limit = N; fresh = true; lastRuns = false; others = 0; k = 0;
  do :: k < N -> if :: in[k] != 0 -> others++; if :: att[k] == MAXATTEMPTS -> lastRuns = true :: else fi :: else fi;
                 if :: in[k] == t -> size++;
                       if :: TOGETHER(att[k] - 1) < limit -> limit = TOGETHER(att[k] - 1) :: else fi;
                       if :: att[k] > 1 -> fresh = false :: else fi
                    :: else fi; k++
     :: else -> break od }

active proctype Process() { byte m, t, k, size, limit, others, kills; bool fresh, lastRuns, deadly;
  atomic { m = 0; do :: m < N -> if :: kills < KILLERS -> killer[m] = true; kills++ :: skip fi; m++ :: else -> break od; m = 0 };
again:
  atomic { m = 0; do :: m < N && over[m] != 0 -> m++ :: else -> break od; if :: m == N -> m = 0; goto stop :: else -> m = 0 fi };
  if
  :: atomic { m = 0; do :: m < N - 1 -> m++ :: break od;                        /* some message, claimed for some transaction */
       t = 1; do :: t < TRANSACTIONS -> t++ :: break od;
       look(t);
       if :: over[m] != 0 || in[m] != 0 || size + 1 > limit || size + 1 > TOGETHER(att[m]) || (size > 0 && fresh != (att[m] == 0)) -> skip
          :: lastRuns && !LASTBESIDE && !(FRESHBESIDE && att[m] == 0) -> skip
          :: att[m] == LAST && others > 0 && !LASTBESIDE && !FRESHBESIDE -> skip
          :: att[m] >= MAXATTEMPTS && over[m] == 0 && in[m] == 0 -> over[m] = 2; printf("> message %d is given up\n", m);
             LAW(POISON, killer[m])
          :: else -> att[m]++; in[m] = t; printf("> message %d: attempt %d, in transaction %d\n", m, att[m], t) fi;
       m = 0; t = 0; size = 0; limit = 0; others = 0; k = 0; fresh = false; lastRuns = false }; goto again
  :: atomic { t = 1; do :: t < TRANSACTIONS -> t++ :: break od;                 /* its handlers run */
       k = 0; deadly = false; size = 0;
       do :: k < N -> if :: in[k] == t -> size++; deadly = deadly || killer[k] :: else fi; k++ :: else -> break od;
       k = 0;
       if :: size == 0 -> skip
          :: size > 0 && deadly -> crashes++; printf("> the process dies in transaction %d\n", t);
             do :: k < N -> if :: in[k] != 0 && !killer[k] && att[k] == LAST -> hurt++ :: else fi; in[k] = 0; k++ :: else -> break od
          :: else -> printf("> transaction %d commits\n", t);
             do :: k < N -> if :: in[k] == t -> in[k] = 0; over[k] = 1; if :: att[k] == MAXATTEMPTS -> lastDone = true :: else fi :: else fi; k++
                :: else -> break od fi;
       t = 0; k = 0; size = 0; deadly = false }; goto again
  fi;
stop:
  atomic { k = 0; do :: k < N -> LAW(POISON, (over[k] == 2) == killer[k]); k++ :: else -> break od };
  LAW(CRASHES, crashes <= KILLERS * MAXATTEMPTS);
  LAW(REACH, !(REACH == HURT && hurt > 0));
  LAW(REACH, !(REACH == LAST_DONE && lastDone)) }

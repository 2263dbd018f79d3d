/* N messages of one ordering key on one partition, two processes, rebalances and crashes: is the order of effects that of the log?
   A process runs the head of its lane only, and goes on when that is over: marked, found done, or set aside. A process that has lost
   the partition may not know it yet, and goes on with its lane.

   Rules, as built:  PARK (else rerun)  INBOX (else lease)  KEYED
   Faults:           REBALANCES  CRASHES  EXPIRIES  FAILS (plain throws: retried in the lane, or given up)
   Bent rules:       NOLANES (any message may run next)  ELSEWHERE (a retry goes to a retry place, the lane goes on)
   STRICT: no effect at all out of order; else those of a holder whose lease is lost are left out, as the allowed sets say. */
#include "law.pml"
#ifndef N
#define N 2
#endif
#ifndef PARK
#define PARK 0
#endif
#ifndef INBOX
#define INBOX 0
#endif
#ifndef KEYED
#define KEYED 0
#endif
#ifndef REBALANCES
#define REBALANCES 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef NOLANES
#define NOLANES 0
#endif
#ifndef ELSEWHERE
#define ELSEWHERE 0
#endif
#ifndef STRICT
#define STRICT 0
#endif
#define NOTHING 0
#define ZOMBIE_HANDLED 1
#define RETRIED 2
#ifndef REACH
#define REACH NOTHING
#endif
#define OURS(i) (rec[i] == processing && own[i] == my)
#define CRASHPOINT if :: atomic { crashes < CRASHES -> crashes++; printf("> process %d dies\n", id); my = 0; pos = N; mine = 0 }; goto join :: skip fi

mtype = { absent, processing, released, done, aside };
mtype rec[N] = absent;
bool live[N], doubt[N], happened[N], retry[N], letter[N], zombieHandled;
byte own[N], tok, committed, epoch = 1, holder = 1, moved, crashes, ended, fails, fin;

/* j is ahead of i, and its effect has happened before that of i. */
#define OVERTAKEN(i) (i + 1 < N && happened[i + 1])

inline effect(i) {
  if :: KEYED && happened[i] -> skip
     :: else ->
        LAW(A8, !OVERTAKEN(i) || (!STRICT && !OURS(i)) || letter[i]);
        happened[i] = true; if :: mine != epoch -> zombieHandled = true :: else fi;
        printf("> process %d: effect of message %d\n", id, i) fi }

proctype Process(byte id) { byte my, mine, pos, i, v; bool ok, fromRetry, over[N];
join:
  atomic { my = 0; v = 0; fromRetry = false;
    (holder == id || committed == N) ->
    if :: committed == N -> goto stop :: else fi;
    mine = epoch; pos = committed; over[0] = false; over[N-1] = false;
    printf("> process %d gets the partition from %d\n", id, pos) }
lane:
  fromRetry = false;
  if
  :: committed == N && !retry[0] && !retry[N-1] -> goto stop
  :: mine != epoch -> goto join                                                 /* it learns that it is not its own any more */
  :: pos < N && !NOLANES -> i = pos
  :: pos < N && NOLANES && !over[0] -> i = 0
  :: pos < N && NOLANES && !over[N-1] -> i = N - 1
  :: ELSEWHERE && retry[0] -> i = 0; fromRetry = true
  :: ELSEWHERE && retry[N-1] -> i = N - 1; fromRetry = true
  :: pos == N && committed < N -> goto commit
  fi;
  atomic {
    if :: rec[i] == absent || (rec[i] == released && !doubt[i]) -> v = 1
       :: rec[i] == released && doubt[i] -> v = 2
       :: rec[i] == processing && live[i] -> v = 0
       :: rec[i] == processing && !live[i] && INBOX -> v = 1
       :: rec[i] == processing && !live[i] && !INBOX -> v = 2; doubt[i] = true
       :: rec[i] == done -> v = 3
       :: rec[i] == aside -> v = 4 fi;
    if :: v == 1 || v == 2 -> tok++; my = tok; own[i] = tok; rec[i] = processing; live[i] = true;
          printf("> process %d claims message %d with token %d\n", id, i, tok)
       :: else fi }
  CRASHPOINT;
  if
  :: v == 0 -> goto lane                                                        /* busy: the lane waits */
  :: v == 3 -> goto isOver
  :: v == 4 -> goto deadletter
  :: v == 2 && PARK -> goto setaside
  :: v == 1 || (v == 2 && !PARK) -> skip
  fi;
  if
  :: fails < FAILS -> fails++;
     if :: goto setaside                                                        /* fatal */
        :: true -> atomic { if :: OURS(i) -> rec[i] = (INBOX -> absent : released); live[i] = false :: else fi;
             printf("> process %d: message %d fails, is released\n", id, i) };
#if ELSEWHERE
           atomic { retry[i] = true; printf("> process %d: message %d goes to the retry place\n", id, i) }; goto isOver
#else
           goto lane
#endif
     fi
  :: INBOX -> atomic { ok = OURS(i); if :: ok -> effect(i); rec[i] = done; live[i] = false :: else fi }
  :: !INBOX -> atomic { effect(i) };
     CRASHPOINT;
     atomic { if :: OURS(i) -> rec[i] = done; live[i] = false; ok = true
                 :: rec[i] == released || rec[i] == aside -> rec[i] = done; own[i] = my; ok = true
                 :: else -> ok = false fi }
  fi;
  CRASHPOINT;
  if :: !ok -> goto lane :: ok -> goto isOver fi;
setaside:
  atomic { ok = OURS(i); if :: ok -> rec[i] = aside; live[i] = false :: else fi };
  if :: !ok -> goto lane :: ok -> skip fi;
deadletter:
  atomic { letter[i] = true; printf("> process %d dead-letters message %d\n", id, i) };
isOver:
  atomic { over[i] = true;
    if :: fromRetry -> retry[i] = false
       :: !fromRetry && !NOLANES -> pos = i + 1
       :: !fromRetry && NOLANES -> pos = (over[0] -> (over[N-1] -> N : 1) : 0) fi };
commit:
  CRASHPOINT;
  atomic { if :: mine == epoch && pos > committed -> committed = pos; printf("> process %d commits %d\n", id, pos) :: else fi };
  goto lane;
stop: fin++ }

active proctype Lease() { byte k; do :: atomic { ended < EXPIRIES && rec[0] == processing && live[0] -> live[0] = false; ended++; printf("> the lease of message 0 ends\n") }
    :: atomic { ended < EXPIRIES && rec[N-1] == processing && live[N-1] -> live[N-1] = false; ended++; printf("> the lease of message %d ends\n", N - 1) }
    :: fin == 2 -> break od }

active proctype Group() { do :: atomic { moved < REBALANCES && committed < N -> moved++; epoch++; holder = 3 - holder; printf("> the partition goes to process %d\n", holder) }
    :: atomic { moved < REBALANCES && committed < N -> moved++; epoch++; printf("> the group rebalances, process %d keeps it\n", holder) }
    :: fin == 2 -> break od }

init {
  atomic { run Process(1); run Process(2) };
  fin == 2;
  LAW(A1, (happened[0] || letter[0]) && (happened[N-1] || letter[N-1]));
  LAW(REACH, !(REACH == ZOMBIE_HANDLED && zombieHandled));
  LAW(REACH, !(REACH == RETRIED && fails > 0 && happened[0] && happened[N-1])) }

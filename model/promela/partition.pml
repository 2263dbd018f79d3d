/* N messages of different keys on one partition, two processes. Handlers end in any order, the watermark is committed. Rebalances end
   epochs; a process learns that late, goes on, and marks what ends. A message that comes again while it still runs joins it.

   Faults:      REBALANCES  CRASHES  EXPIRIES
   Bent rules:  HIGHEST (commits past the highest that ended)  EARLY (finished when its handler ends, before the mark)
                STAMPEDLATE (a watermark of an old epoch is sent under the generation of the moment)
                OLDTICKET (what was delivered in an old epoch finishes the same ticket of the new one) */
#include "law.pml"
#ifndef N
#define N 3
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
#ifndef HIGHEST
#define HIGHEST 0
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef STAMPEDLATE
#define STAMPEDLATE 0
#endif
#ifndef OLDTICKET
#define OLDTICKET 0
#endif
#define NOTHING 0
#define REFUSED 1
#define OUT_OF_ORDER 2
#ifndef REACH
#define REACH NOTHING
#endif
#define ALL_DONE(w) ((w < 1 || rec[0] == done) && (w < 2 || rec[1] == done) && (w < 3 || rec[2] == done))
#define UNDER_WATERMARK(k) (k < start || finished[k])

mtype = { absent, processing, done };
mtype rec[3] = absent;
byte own[3], committed, epoch = 1, holder = 1, moved, crashes, ended, fin;
bool live[3], refused, outOfOrder;

inline watermark(w) {                                  /* the lowest that is not finished; bent: past the highest that is */
  if :: HIGHEST -> w = (finished[2] -> 3 : (finished[1] -> 2 : (finished[0] -> 1 : start)))
     :: !HIGHEST -> w = (UNDER_WATERMARK(0) -> (UNDER_WATERMARK(1) -> (UNDER_WATERMARK(2) -> 3 : 2) : 1) : 0) fi;
  if :: w > N -> w = N :: else fi }
inline finish(k) {
  if :: OLDTICKET && ticket[k] + start < 3 -> finished[ticket[k] + start] = true
     :: else -> if :: k >= start -> finished[k] = true :: else fi fi }

proctype Process(byte id) { byte mine, start, w, g, k, ticket[3]; bool my[3], finished[3];
  do
  :: committed == N -> break
  :: atomic { holder == id && mine != epoch ->                                  /* joins, or learns that it lost and has it again */
       mine = epoch; start = committed; finished[0] = false; finished[1] = false; finished[2] = false;
       printf("> process %d reads from %d in epoch %d\n", id, start, mine) }
  :: atomic { mine > 0 -> select(k: 0 .. N - 1);                                /* claims what was delivered */
       if :: k >= start && !my[k] && !finished[k] ->
             if :: rec[k] == absent || (rec[k] == processing && !live[k]) ->
                   own[k] = id; my[k] = true; rec[k] = processing; live[k] = true; ticket[k] = k - start;
                   printf("> process %d runs message %d\n", id, k)
                :: rec[k] == done -> finished[k] = true; printf("> process %d: message %d is a duplicate\n", id, k)
                :: else fi
          :: else fi;
       k = 0 }
#if EARLY
  :: atomic { mine > 0 -> select(k: 0 .. N - 1); if :: my[k] -> finish(k); printf("> process %d: handler of %d ended\n", id, k) :: else fi; k = 0 }
#endif
  :: atomic { mine > 0 -> select(k: 0 .. N - 1);                                /* a handler has ended: its mark, then its ticket */
       if :: my[k] ->
             if :: rec[k] == processing && own[k] == id -> rec[k] = done; live[k] = false; own[k] = 0; finish(k);
                   if :: k > 0 && rec[k-1] != done -> outOfOrder = true :: else fi;
                   printf("> process %d: message %d marked\n", id, k)
                :: else fi;
             my[k] = false; ticket[k] = 0
          :: else fi;
       k = 0 }
  :: atomic { mine > 0 -> watermark(w); g = mine };                             /* watermark and generation in one breath */
#if STAMPEDLATE
     atomic { if :: holder == id && mine != epoch -> mine = epoch; start = committed; finished[0] = false; finished[1] = false; finished[2] = false :: else fi; g = epoch };
#endif
     atomic {
       if :: w <= start && !STAMPEDLATE -> skip                                /* nothing new */
          :: (w > start || STAMPEDLATE) && g != epoch -> refused = true
          :: (w > start || STAMPEDLATE) && g == epoch ->
             LAW(A9, w >= committed);
             LAW(A3, ALL_DONE(w));
             if :: w > committed -> printf("> process %d commits %d\n", id, w) :: else fi;
             committed = w fi;
       w = 0; g = 0 }
  :: atomic { crashes < CRASHES && mine > 0 -> crashes++; mine = 0; start = 0; my[0] = false; my[1] = false; my[2] = false;
       finished[0] = false; finished[1] = false; finished[2] = false; ticket[0] = 0; ticket[1] = 0; ticket[2] = 0; printf("> process %d dies\n", id);
       epoch++; holder = 3 - id }
  od; fin++ }

active proctype Lease() { byte k; do
    :: atomic { ended < EXPIRIES + crashes * N -> select(k: 0 .. N - 1);
         if :: rec[k] == processing && live[k] -> live[k] = false; ended++; printf("> the lease of message %d ends\n", k) :: else fi; k = 0 }
    :: committed == N -> break od }

active proctype Group() { do :: atomic { moved < REBALANCES && committed < N -> moved++; epoch++; holder = 3 - holder; printf("> epoch %d, the partition goes to process %d\n", epoch, holder) }
    :: atomic { moved < REBALANCES && committed < N -> moved++; epoch++; printf("> epoch %d, process %d keeps the partition\n", epoch, holder) }
    :: committed == N -> break od }

init {
  atomic { run Process(1); run Process(2) };
  fin == 2;
  LAW(A1, ALL_DONE(N));
  LAW(REACH, !(REACH == REFUSED && refused));
  LAW(REACH, !(REACH == OUT_OF_ORDER && outOfOrder)) }

/* Strategy offsets: N messages of one partition; the position moves in the transaction of the effects. The database may be set back to an
   earlier state (a replica promoted without its tail, a restore), effects and position together, while the group's committed offset
   stays where it is. Two processes, one of which may not know that the partition has gone.

   Faults:      RESTORES  CRASHES  REBALANCES  FAILS (set aside, dead-lettered, passed)
                HANDCOMMITS (a handler commits the transaction itself, with its effect or before it: the row in `begun` stays, and parks)
   Bent rules:  BROKERSTART (a join begins at the broker's offset, not at the stored one)  NOGAPCHECK (what comes is granted)
                TWOTRANSACTIONS (1: effects first, 2: position first)  UNHELD (the position is not locked while a handler runs)
                TORNMISSED (1: no row tells of a handler's own commit, 2: it is there, and no claim reads it)
                EARLYRESTORE (the database is set back to before the first row: a known limit) */
#include "law.pml"
#ifndef N
#define N 4
#endif
#ifndef RESTORES
#define RESTORES 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef REBALANCES
#define REBALANCES 1
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef BROKERSTART
#define BROKERSTART 0
#endif
#ifndef NOGAPCHECK
#define NOGAPCHECK 0
#endif
#ifndef TWOTRANSACTIONS
#define TWOTRANSACTIONS 0
#endif
#ifndef UNHELD
#define UNHELD 0
#endif
#ifndef HANDCOMMITS
#define HANDCOMMITS 1
#endif
#ifndef TORNMISSED
#define TORNMISSED 0
#endif
#ifndef EARLYRESTORE
#define EARLYRESTORE 0
#endif
#define NOTHING 0
#define BEHIND 1
#define HEALED 2
#define AFTER_GAP 3
#define OUTLIVED 4
#define TORN 5
#define TORN_BEFORE 6
#ifndef REACH
#define REACH NOTHING
#endif
#define NONE 9
#define GAP 1                                          /* offset 1 is a transaction marker: nothing is delivered there */

byte effects[N], next = NONE, asideAt = NONE, begun = NONE;      /* the database, as committed */
byte savedEffects[N], savedNext = NONE, savedAside = NONE, savedBegun = NONE; bool saved, letter[N];
byte group, holder = 1, epoch = 1, lock, restores, crashes, moved, fails, hands, torn, fin;
bool behind, healed, afterGap, outlived;
#define OVER(i) (i == GAP || effects[i] > 0 || letter[i])
#define CRASHPOINT if :: atomic { crashes < CRASHES -> crashes++; printf("> process %d dies\n", id); if :: lock == id -> lock = 0 :: else fi }; goto join :: skip fi

proctype Process(byte id) { byte pos, mine, follows, was, tx;
join:
  atomic { (holder == id || group == N) ->
    if :: group == N && next == N -> goto stop :: else fi;
    mine = epoch; follows = NONE; was = 0; tx = 0;
    pos = ((BROKERSTART || next == NONE) -> group : next);
    if :: next != NONE && !BROKERSTART -> follows = next :: else fi;
    printf("> process %d reads from %d\n", id, pos) }
read:
  if
  :: group == N && next == N -> goto stop
  :: mine != epoch -> goto join
  :: atomic { pos == GAP -> pos++; afterGap = true }; goto read                 /* it says what it follows, so this is no gap */
  :: pos == N -> goto commit
  :: pos < N && pos != GAP -> skip
  fi;
  atomic { (lock == 0 || UNHELD) ->                                             /* claims: holds the position */
    was = next;
    if
    :: next != NONE && pos < next -> printf("> process %d: message %d is over\n", id, pos); follows = pos + 1; pos++; goto read
    :: next == NONE && follows != NONE && !NOGAPCHECK -> behind = true; goto join
    :: next != NONE && (follows == NONE -> pos : follows) > next && !NOGAPCHECK ->
       behind = true; printf("> process %d: the store is behind, at %d\n", id, next); goto join
    :: asideAt == pos -> goto letterout
    :: asideAt != pos && begun == pos && TORNMISSED != 2 -> printf("> process %d: message %d was committed by its handler\n", id, pos); goto letterout
    :: else -> lock = id; tx = restores; if :: next == NONE -> next = pos; was = pos :: else fi;    /* the count makes the row */ printf("> process %d claims message %d\n", id, pos)
    fi };
  CRASHPOINT;
  if
  :: atomic { fails < FAILS -> fails++;
       if :: tx == restores && (next == was || UNHELD) -> asideAt = pos; next = pos; printf("> process %d sets message %d aside\n", id, pos) :: else -> goto lost fi;
       if :: lock == id -> lock = 0 :: else fi }; goto letterout
  :: atomic { hands < HANDCOMMITS && tx == restores && next == was -> hands++; torn = pos;  /* the transaction ends here, and with it the lock */
       if :: TORNMISSED != 1 -> begun = pos :: else fi;
       if :: effects[pos]++; was = NONE; printf("> the handler of %d commits its effect\n", pos)
          :: was = pos; printf("> the handler of %d commits before its effect\n", pos) fi;
       if :: lock == id -> lock = 0 :: else fi };
     CRASHPOINT;
     atomic { if :: was == pos && tx == restores -> effects[pos]++; printf("> its effect follows\n") :: else fi };
     goto lost                                                                    /* the mark finds another transaction, and does not settle */
#if TWOTRANSACTIONS == 1
  :: atomic { effects[pos]++; printf("> process %d commits the effect of %d\n", id, pos) }; CRASHPOINT; atomic { next = pos + 1; lock = 0 }
#elif TWOTRANSACTIONS == 2
  :: atomic { next = pos + 1; printf("> process %d commits position %d\n", id, next) }; CRASHPOINT; atomic { effects[pos]++; lock = 0 }
#else
  :: true -> atomic { if :: tx != restores || (next != was && !UNHELD) -> goto lost :: else fi;       /* its transaction died with the database */
       effects[pos]++; next = pos + 1; if :: lock == id -> lock = 0 :: else fi;
       LAW(A2, effects[pos] <= 1);
       if :: mine != epoch -> outlived = true :: else fi;                       /* the partition has gone, the handler ran on */
       if :: restores > 0 && group > pos -> healed = true :: else fi;
       printf("> process %d commits the effect of %d and position %d\n", id, pos, next) }
#endif
  fi;
  CRASHPOINT;
  atomic { follows = pos + 1; pos++ };
  goto commit;
lost: atomic { if :: lock == id -> lock = 0 :: else fi }; goto join;
letterout:
  CRASHPOINT;
  atomic { letter[pos] = true; printf("> process %d dead-letters message %d\n", id, pos) };
  CRASHPOINT;
  atomic { if :: asideAt == pos -> asideAt = NONE; next = pos + 1
              :: asideAt != pos && begun == pos && next <= pos && next >= (follows == NONE -> pos : follows) -> next = pos + 1 :: else fi;
           if :: begun == pos && next > pos -> begun = NONE :: else fi; follows = pos + 1; pos++ };   /* passed, once it is confirmed */
commit:
  atomic { if :: mine == epoch && pos > group -> group = pos; printf("> process %d tells the broker %d\n", id, pos) :: else fi };
  if :: pos == N && (next != N) -> goto join :: else -> goto read fi;
stop: fin++ }

active proctype Database() {
  do :: atomic { !saved && (next != NONE || EARLYRESTORE) && restores < RESTORES -> saved = true;
          savedNext = next; savedAside = asideAt; savedBegun = begun; savedEffects[0] = effects[0]; savedEffects[1] = effects[1]; savedEffects[2] = effects[2]; savedEffects[3] = effects[3];
          printf("> the replica has the database up to here\n") }
     :: atomic { saved && restores < RESTORES && !(group == N && next == N) -> restores++; saved = false; lock = 0;
          next = savedNext; asideAt = savedAside; begun = savedBegun; effects[0] = savedEffects[0]; effects[1] = savedEffects[1]; effects[2] = savedEffects[2]; effects[3] = savedEffects[3];
          savedNext = NONE; savedAside = NONE; savedBegun = NONE; savedEffects[0] = 0; savedEffects[1] = 0; savedEffects[2] = 0; savedEffects[3] = 0;
          printf("> the database is set back\n") }
     :: group == N && next == N -> break
     :: fin == 2 -> break od }

active proctype Group() { do :: atomic { moved < REBALANCES && group < N -> moved++; epoch++; holder = 3 - holder; printf("> the partition goes to process %d\n", holder) }
    :: fin == 2 -> break :: moved == REBALANCES -> break od }

init {
  atomic { run Process(1); run Process(2) };
  fin == 2;
  LAW(A1, OVER(0) && OVER(2) && OVER(3));
  LAW(A2, effects[0] <= 1 && effects[2] <= 1 && effects[3] <= 1);
  LAW(REACH, !(REACH == BEHIND && behind));
  LAW(REACH, !(REACH == AFTER_GAP && afterGap && effects[2] == 1));
  LAW(REACH, !(REACH == OUTLIVED && outlived && next == N));
  LAW(REACH, !(REACH == TORN && torn == 2 && letter[2] && effects[2] == 1 && next == N));
  LAW(REACH, !(REACH == TORN_BEFORE && torn == 2 && letter[2] && effects[2] == 0 && next == N));
  LAW(REACH, !(REACH == HEALED && healed && next == N)) }

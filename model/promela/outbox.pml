/* The outbox: rows that commit with their effects, and relays that publish them. A relay locks a line in a transaction, reads its rows by a
   second statement, sends each when the one before it is confirmed, removes what was confirmed, and commits. It has no position.

   Sizes:       ROWS  LINES  RELAYS
   Faults:      CRASHES (of a relay, whose backend ends with it)  FREEZES (of a relay: its lock is lost, and it goes on later; so does a
                message that is answered too late for its transaction)
                REFUSALS (of a row by the broker)
   Bent rules:  EARLY (a row is published before its COMMIT)  NOLOCK (several relays work on one line)  REMOVEFIRST (rows are removed before they
                are confirmed)  POSITION (a relay goes on behind the highest row that it has read)  SKIPREFUSED (a relay goes on behind a row that
                was refused)  READFIRST (a relay reads its rows before it has the lock)  UNSERIALISED (transactions of one line do not wait for each other)

   A transaction writes one row. Of one line it begins when the one before it is over: what makes their order matter, a lock of the user or a
   lane of the consumer, is held at the COMMIT. Law PHANTOM: nothing is published that was not committed. Law ORDER: of each line the first
   publications are in the order of the rows. Law LOST: nothing is removed, and nothing left alone, that was not published. Law ONCE: nothing is
   published again where no relay died or froze. */
#include "law.pml"
#ifndef ROWS
#define ROWS 3
#endif
#ifndef LINES
#define LINES 2
#endif
#ifndef RELAYS
#define RELAYS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FREEZES
#define FREEZES 1
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef NOLOCK
#define NOLOCK 0
#endif
#ifndef REMOVEFIRST
#define REMOVEFIRST 0
#endif
#ifndef POSITION
#define POSITION 0
#endif
#ifndef SKIPREFUSED
#define SKIPREFUSED 0
#endif
#ifndef READFIRST
#define READFIRST 0
#endif
#ifndef UNSERIALISED
#define UNSERIALISED 0
#endif
#define NOTHING 0
#define TWICE 1
#define LATE 2
#ifndef REACH
#define REACH NOTHING
#endif
/* A row: not yet there, written, committed, removed, rolled back. */
#define NONE 0
#define WRITTEN 1
#define THERE 2
#define GONE 3
#define UNDONE 4

byte row[ROWS], line[ROWS], next, locked[LINES], position, crashes, freezes, refusals, writing; bool sent[ROWS];

/* Of this line a transaction is open. */
inline open(l) { isOpen = false; k = 0;
  do :: k < next -> if :: line[k] == l && row[k] == WRITTEN && !UNSERIALISED -> isOpen = true :: else fi; k++ :: else -> break od; k = 0 }

proctype Writer() { byte r, k, l; bool isOpen;
again:
  atomic { if :: next == ROWS -> goto stop :: else fi;
    if :: l = 0 :: l = LINES - 1 fi; open(l);
    if :: isOpen -> l = 0; isOpen = false; goto again :: else fi;
    r = next; next++; line[r] = l; row[r] = WRITTEN; printf("> row %d of line %d is written\n", r, l) };
  atomic { if :: row[r] = THERE; printf("> row %d is committed\n", r)
              :: row[r] = UNDONE; printf("> row %d is rolled back\n", r) fi; r = 0; l = 0 };
  goto again;
stop:
  atomic { writing--; l = 0 } }

/* Rows of this line that may be taken: `mine`, one bit for each. */
inline read(l) { mine = 0; k = 0;
  do :: k < ROWS -> if :: line[k] == l && (row[k] == THERE || (EARLY && row[k] == WRITTEN)) && !(POSITION && k < position) -> mine = mine | (1 << k)
                       :: else fi; k++ :: else -> break od;
  if :: POSITION && mine != 0 -> k = 0; do :: k < ROWS -> if :: (mine & (1 << k)) != 0 && k + 1 > position -> position = k + 1 :: else fi; k++ :: else -> break od
     :: else fi; k = 0 }
inline remove(rows) { k = 0;
  do :: k < ROWS -> if :: (rows & (1 << k)) != 0 && row[k] == THERE -> LAW(LOST, sent[k] || REMOVEFIRST); row[k] = GONE :: else fi; k++ :: else -> break od; k = 0 }
/* Rows before this one, of its line, that are committed and were never published. */
inline before(r) { isBehind = false; k = 0;
  do :: k < r -> if :: line[k] == line[r] && (row[k] == THERE || row[k] == GONE) && !sent[k] -> isBehind = true :: else fi; k++ :: else -> break od; k = 0 }

proctype Relay() { byte l, k, r, mine, confirmed; bool isBehind, isLocked;
again:
  atomic { mine = 0; confirmed = 0; r = 0;
    if :: READFIRST && LINES == 1 -> read(0) :: else fi };
  atomic {
    if
    :: locked[0] == 0 || NOLOCK -> l = 0
    :: LINES > 1 && (locked[LINES - 1] == 0 || NOLOCK) -> l = LINES - 1
    :: writing == 0 -> k = 0;                                            /* may it end? */
       do :: k < ROWS -> if :: row[k] == THERE && !(POSITION && k < position) -> break :: else fi; k++ :: else -> break od;
       if :: k == ROWS -> k = 0; goto stop :: else -> k = 0; goto again fi
    fi;
    locked[l]++; isLocked = true };
  atomic { if :: !READFIRST -> read(l) :: else fi;                       /* by a statement of its own */
    if :: REMOVEFIRST -> remove(mine) :: else fi;
    if :: mine == 0 -> locked[l]--; isLocked = false; l = 0;
            if :: writing == 0 -> k = 0;
                    do :: k < ROWS -> if :: row[k] == THERE && !(POSITION && k < position) -> break :: else fi; k++ :: else -> break od;
                    if :: k == ROWS -> k = 0; goto stop :: else -> k = 0 fi
               :: else fi;
            goto again
       :: else fi };
send:
  if
  :: atomic { r < ROWS && (mine & (1 << r)) == 0 -> r++ }; goto send
  :: atomic { r < ROWS && (mine & (1 << r)) != 0 -> before(r);
       LAW(PHANTOM, row[r] == THERE || row[r] == GONE);
       LAW(ORDER, sent[r] || !isBehind); isBehind = false;
       LAW(ONCE, !sent[r] || crashes + freezes > 0);
       LAW(REACH, !(REACH == TWICE && sent[r]));
       LAW(REACH, !(REACH == LATE && !isLocked));
       sent[r] = true; confirmed = confirmed | (1 << r); printf("> row %d is published\n", r); r++ }; goto send
  :: atomic { r < ROWS && (mine & (1 << r)) != 0 && refusals < REFUSALS -> refusals++; printf("> row %d is refused\n", r);
       if :: SKIPREFUSED -> r++ :: else -> r = ROWS fi }; goto send
  :: atomic { isLocked && crashes < CRASHES -> crashes++; locked[l]--; isLocked = false; l = 0; printf("> a relay dies\n") }; goto again
  :: atomic { isLocked && freezes < FREEZES -> freezes++; locked[l]--; isLocked = false; printf("> a relay freezes, and loses its lock\n") }; goto send
  /* What was confirmed too late for its transaction is removed by another, without the lock. */
  :: atomic { r == ROWS -> remove(confirmed); if :: isLocked -> locked[l]--; isLocked = false :: else fi; l = 0 }; goto again
  fi;
stop:
  skip }

init { byte n;
  atomic { writing = 2; run Writer(); run Writer(); do :: n < RELAYS -> run Relay(); n++ :: else -> break od };
  (_nr_pr == 1);
  atomic { n = 0; do :: n < ROWS -> LAW(LOST, row[n] != THERE && (row[n] != GONE || sent[n])); n++ :: else -> break od } }

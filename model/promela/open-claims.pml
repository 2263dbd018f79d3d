/* The attempts of one message of an inbox, where a claim counts by a row of its own: committed before its transaction begins, moved by that
   once it holds the message (so others see whether it is open), removed by its COMMIT. What is left of a claim that is gone counts as an
   attempt. A claim inserts the row of the inbox, which waits for whoever holds it, moves its own row, and then looks what is left of others:
   whoever held the message is gone by then. A claim that is granted nothing, or waits for too long, takes its row away.

   Sizes:       WORKERS  ROWS (claims)
   Faults:      CRASHES (of a process, whose transaction its backend ends later)  FAILS (of a handler, written in its transaction or not at all)
                LOSSES (a connection is lost under a process that lives: it holds the message back, or gives the attempt back, afterwards)
   Bent rules:  LOOKFIRST (it looks before it inserts)  WINDOWCOUNTS (a claim that does not hold it yet counts)  MOVEFIRST (it moves its row before
                it inserts)  GONELATE (the row of a claim that is granted nothing goes after its transaction)  NOTWITHDRAWN (what a failure has
                written is not taken out of the rows)  LATEOVERALL (what is held back afterwards may be in another claim too)

   `starts`: how often its handler has started, without what was given back. Law COUNTED: whoever starts it knows of each. Law BLAME: of no more,
   but for claims that died or were given back without a start while others looked (`early`). */
#include "law.pml"
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ROWS
#define ROWS 5
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef LOOKFIRST
#define LOOKFIRST 0
#endif
#ifndef WINDOWCOUNTS
#define WINDOWCOUNTS 0
#endif
#ifndef MOVEFIRST
#define MOVEFIRST 0
#endif
#ifndef GONELATE
#define GONELATE 0
#endif
#ifndef NOTWITHDRAWN
#define NOTWITHDRAWN 0
#endif
#ifndef LATEOVERALL
#define LATEOVERALL 0
#endif
#define NOTHING 0
#define TWICE 1
#ifndef REACH
#define REACH NOTHING
#endif
/* A row of a claim: counted, moved by an open transaction, or left by one that is gone. */
#define NONE 0
#define COUNTED_ROW 1
#define OPEN 2
#define LEFT 3

byte row[ROWS], next, owner, att, writer, starts, early, crashes, fails, losses; bool done;

inline look() { known = att; k = 0;
  do :: k < ROWS -> if :: k != r && k + 1 != writer && (row[k] == LEFT || (WINDOWCOUNTS && row[k] == COUNTED_ROW)) -> known++ :: else fi; k++
     :: else -> break od; k = 0 }
/* The message leaves all rows that are left. `writer`: the claim that the attempt row counts. */
inline withdraw() { k = 0; do :: k < ROWS -> if :: row[k] == LEFT && !NOTWITHDRAWN -> row[k] = NONE :: else fi; k++ :: else -> break od; k = 0 }
inline others() { isOther = false; k = 0;
  do :: k < ROWS -> if :: k != r && row[k] != NONE -> isOther = true :: else fi; k++ :: else -> break od; k = 0 }

active [WORKERS] proctype Worker() { byte r, known, k; bool isOther;
again:
  atomic { if :: done -> goto stop :: else fi; if :: next == ROWS -> goto stop :: else fi;
    r = next; next++; row[r] = COUNTED_ROW; known = 0; printf("> claim %d counts\n", r) };
  if :: LOOKFIRST -> atomic { look() } :: else fi;
  if :: MOVEFIRST -> row[r] = OPEN :: else fi;
  if
  :: atomic { crashes < CRASHES -> crashes++; early++; printf("> the process of claim %d dies while it waits\n", r);
       if :: row[r] = LEFT :: skip fi; r = 0; known = 0 }; goto again       /* left, once it is old enough */
  :: atomic { owner != 0 -> if :: row[r] == OPEN -> row[r] = LEFT :: else fi; printf("> claim %d waits for too long\n", r) };
     atomic { row[r] = NONE; r = 0; known = 0 }; goto again
  :: atomic { owner == 0 -> if :: done -> row[r] = NONE; r = 0; known = 0; goto stop :: else -> owner = r + 1; row[r] = OPEN fi }
  fi;
  atomic { if :: !LOOKFIRST -> look() :: else fi };
  if
  :: atomic { crashes < CRASHES -> crashes++; early++; row[r] = LEFT; owner = 0; printf("> the process of claim %d dies before its handler\n", r); r = 0; known = 0 }; goto again
  :: atomic { known > 0 -> printf("> claim %d is granted nothing: it claims the message alone\n", r);
       if :: GONELATE -> row[r] = LEFT :: else -> row[r] = NONE fi; owner = 0 };
     atomic { row[r] = NONE; r = 0; known = 0 }; goto again
  :: atomic { printf("> claim %d: attempt %d\n", r, known + 1);
       LAW(COUNTED, known >= starts);
       LAW(BLAME, known <= starts + early);
       LAW(REACH, !(REACH == TWICE && starts > 1)); starts++ }
  fi;
  if
  :: atomic { done = true; row[r] = NONE; withdraw(); att = 0; owner = 0; printf("> claim %d is marked\n", r) }
  :: atomic { fails < FAILS -> fails++; att = known + 1; writer = r + 1; row[r] = NONE; withdraw(); writer = 0; owner = 0; printf("> claim %d is held back\n", r) }
  :: atomic { fails < FAILS -> fails++; row[r] = LEFT; owner = 0; printf("> claim %d fails\n", r) }
  :: atomic { crashes < CRASHES -> crashes++; printf("> the process of claim %d dies\n", r) }; atomic { row[r] = LEFT; owner = 0; printf("> its backend is gone\n") }
  :: atomic { losses < LOSSES -> losses++; printf("> claim %d loses its connection\n", r) }; atomic { row[r] = LEFT; owner = 0 };
     if
     :: atomic { others();                                                /* held back afterwards */
          if :: row[r] == LEFT && (!isOther || LATEOVERALL) -> row[r] = NONE; if :: att < known + 1 -> att = known + 1 :: else fi; withdraw();
                printf("> claim %d is held back afterwards\n", r)
             :: else fi }
     :: atomic { if :: row[r] == LEFT -> row[r] = NONE; starts--; early++; printf("> claim %d is given back\n", r) :: else fi }
     fi
  fi;
  atomic { r = 0; known = 0; isOther = false }; goto again;
stop:
  skip }

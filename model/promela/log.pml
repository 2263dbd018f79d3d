/* The log of one partition, N messages, and a group's committed offset in it. At an unclean election the log may be cut off, down to any
   length, and grow again with other messages. Two processes, one of which may not know that the partition has gone. What is read is
   handled and committed in turn; a commit names the last message below it.

   Faults:      CUTS  CRASHES  REBALANCES
   Bent rules:  UNNAMED (a commit names no message)  LAZY (a join compares only when there is something new to read)
                BLIND (a running member does not look back) */
#include "law.pml"
#ifndef N
#define N 3
#endif
#ifndef CUTS
#define CUTS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef REBALANCES
#define REBALANCES 2
#endif
#ifndef UNNAMED
#define UNNAMED 0
#endif
#ifndef LAZY
#define LAZY 0
#endif
#ifndef BLIND
#define BLIND 0
#endif
#define NOTHING 0
#define FOUND 1
#define FOUND_QUIET 2
#define CUT_WHILE_HANDLED 3
#ifndef REACH
#define REACH NOTHING
#endif
#define NONE 0
#define HANDLED(i) (log[i] == NONE || (handled[i] >> log[i]) & 1)

byte log[3], end, term = 1, handled[3];               /* a message is the term that wrote it; handled[i] has a bit for each that lay there */
byte group, named = NONE, holder = 1, epoch = 1, cuts, crashes, moved, fin;
bool found, foundQuiet, cutWhile, over, checked;      /* checked: the member of this epoch has compared since the last cut */

#define ENDED (mine == epoch && pos == end && end == N && cuts == CUTS)

proctype Process(byte id) { byte pos, mine, at, was;
join:
  atomic { (holder == id || over) ->
    if :: over -> goto stop :: else fi;
    mine = epoch; pos = group; was = NONE; at = NONE;
    printf("> process %d joins at %d\n", id, pos) }
#if LAZY
  if :: pos != end :: mine != epoch :: over :: atomic { ENDED -> over = true } fi;
#endif
  atomic {                                                        /* compares the last message below the offset */
    if :: over -> goto stop :: mine != epoch && !over -> goto join :: else fi;
    if :: pos > end -> pos = 0; found = true; printf("> process %d: the log is shorter\n", id)
       :: pos <= end && pos > 0 && named != NONE && log[pos - 1] != named ->
            if :: pos == end -> foundQuiet = true :: else fi;
            pos = 0; found = true; printf("> process %d: the log is another one\n", id)
       :: else -> was = (pos > 0 -> log[pos - 1] : NONE) fi;
    checked = true };
read:
  if :: over -> goto stop
     :: mine != epoch -> goto join
     :: atomic { mine == epoch && !checked ->                     /* looks back: it fetches the last message once more */
          if :: pos > end || (!BLIND && was != NONE && log[pos - 1] != was) -> pos = 0; was = NONE; found = true;
                  printf("> process %d: the log is another one while it runs\n", id)
             :: else fi;
          checked = true }; goto read
     :: atomic { ENDED && checked -> over = true }; goto stop
     :: atomic { mine == epoch && checked && pos < end -> at = log[pos]; printf("> process %d reads message %d of term %d\n", id, pos, at) }
  fi;
  if :: atomic { crashes < CRASHES && mine == epoch -> crashes++; epoch++; holder = 3 - id; checked = false; printf("> process %d dies\n", id) }; goto join
     :: skip fi;
  atomic { handled[pos] = handled[pos] | (1 << at); if :: log[pos] != at -> cutWhile = true :: else fi;
    was = at; at = NONE; pos++ };
  atomic {                                                        /* commits in the generation of the moment, or is refused */
    if :: mine == epoch -> group = pos; named = (UNNAMED -> NONE : was); printf("> process %d commits %d\n", id, pos) :: else fi };
  goto read;
stop: fin++ }

active proctype Broker() {
  do :: atomic { end < N -> log[end] = term; end++; printf("> message %d of term %d\n", end - 1, term) }
     :: atomic { cuts < CUTS && end > 0 -> cuts++; term++; end--; log[end] = NONE; checked = false;
          if :: end > 0 -> end--; log[end] = NONE :: true -> skip fi;
          printf("> the log is cut off at %d\n", end) }
     :: atomic { cuts < CUTS -> cuts++ }                          /* fewer cuts */
     :: over -> break od }

active proctype Group() { do :: atomic { moved < REBALANCES && !over -> moved++; epoch++; holder = 3 - holder; checked = false; printf("> the partition goes to process %d\n", holder) }
    :: over -> break :: moved == REBALANCES -> break od }

init {
  atomic { run Process(1); run Process(2) };
  fin == 2;
  LAW(A1, HANDLED(0) && HANDLED(1) && HANDLED(2));
  LAW(REACH, !(REACH == FOUND && found));
  LAW(REACH, !(REACH == FOUND_QUIET && foundQuiet));
  LAW(REACH, !(REACH == CUT_WHILE_HANDLED && cutWhile && found)) }

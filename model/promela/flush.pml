/* An inbox whose COMMITs do not wait for the disk: what is committed is seen by all at once, and a crash of the server undoes it until a
   flush that began later has returned. Two workers hold the message: a delivery and its duplicate. A worker settles what it committed,
   or read as done, only after a flush, asked of a backend that was there before.

   Faults:      CRASHES (of the server)
   Bent rules:  NOREADWAIT (a duplicate is settled by the mark that was read)  NOMARKWAIT (settled after COMMIT, without a flush)
                NOWITNESS (any backend's flush is believed)  EMPTYFLUSH (the reader flushes by a commit that wrote nothing) */
#include "law.pml"
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef WORKERCRASHES
#define WORKERCRASHES 1
#endif
#ifndef NOREADWAIT
#define NOREADWAIT 0
#endif
#ifndef NOMARKWAIT
#define NOMARKWAIT 0
#endif
#ifndef NOWITNESS
#define NOWITNESS 0
#endif
#ifndef EMPTYFLUSH
#define EMPTYFLUSH 0
#endif
#ifndef ASK_A3
#define ASK_A3 1
#endif
#define NOTHING 0
#define UNDONE 1
#define AMBIGUOUS 2
#ifndef REACH
#define REACH NOTHING
#endif
bool row, durable, locked, copy[WORKERS] = true;      /* the row and its effect are one transaction: seen, on disk */
byte effects, backend, crashes, died, fin;
bool undone, ambiguous;
#define DRAINED (!copy[0] && !copy[1] && !copy[WORKERS-1])

proctype Worker(byte id) { byte witness; bool wrote;
again:
  atomic { wrote = false; witness = 0;
    if :: !copy[id] -> goto stop :: else fi };
  witness = backend;                                                            /* attends before it reads or commits */
  if
  :: atomic { row -> printf("> worker %d reads it as done\n", id) }
  :: atomic { !row && !locked -> locked = true; witness = backend;
       printf("> worker %d claims\n", id) };
     atomic { if :: witness != backend -> printf("> worker %d: its transaction is gone\n", id); goto again
                 :: else -> row = true; effects++; locked = false; wrote = true; printf("> worker %d commits effect and mark\n", id) fi }
  fi;
  if :: atomic { died < WORKERCRASHES -> died++; printf("> worker %d dies\n", id) }; goto again :: skip fi;
  if
  :: (NOREADWAIT && !wrote) || (NOMARKWAIT && wrote) -> skip
  :: else ->
     atomic { if :: (EMPTYFLUSH && !wrote) -> printf("> worker %d flushes nothing\n", id)
                 :: else -> if :: row -> durable = true :: else fi; printf("> worker %d has it flushed\n", id) fi;
              if :: !NOWITNESS && witness != backend -> ambiguous = true; printf("> by another backend: worker %d asks again\n", id); goto again
                 :: else fi }
  fi;
  atomic { LAW(A3, !ASK_A3 || durable);
    copy[id] = false; printf("> worker %d settles\n", id) };
  goto again;
stop: fin++ }

active proctype Server() {
  do :: atomic { crashes < CRASHES && !DRAINED -> crashes++; backend++; locked = false;
          if :: row && !durable -> row = false; effects--; undone = true; printf("> the server crashes, and forgets it\n")
             :: else -> printf("> the server crashes\n") fi }
     :: atomic { row && !durable -> durable = true; printf("> the server writes its log by itself\n") }
     :: DRAINED -> break od }

init {
  atomic { byte i; do :: i < WORKERS -> run Worker(i); i++ :: else -> break od; i = 0 };
  fin == WORKERS;
  LAW(A1, row && durable && effects >= 1);
  LAW(A2, effects <= 1);
  LAW(REACH, !(REACH == UNDONE && undone));
  LAW(REACH, !(REACH == AMBIGUOUS && ambiguous)) }

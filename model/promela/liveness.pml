/* One message, two workers, faults that end: is it drained at last, and does no record stay owned by nobody? Weak fairness: who can go
   on for good, goes on. A worker that dies may stay dead, one of the two comes back.

   Faults:      CRASHES  FAILS  UNKNOWNS (a handler that never ends)  DOWNS (of the store)
   Bent rules:  BUSYFORGOTTEN (what was busy is never asked for again)  KEPTFOREVER (what is not running any more is renewed on)
                DEAFKEPT (so is the handler that does not end)  NODEADLINE (a lease without an end)  GIVESUP (after an error of the store)
   ASK_L2: no record stays owned; else L1, the message is drained. */
#include "law.pml"
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef UNKNOWNS
#define UNKNOWNS 1
#endif
#ifndef DOWNS
#define DOWNS 1
#endif
#ifndef BUSYFORGOTTEN
#define BUSYFORGOTTEN 0
#endif
#ifndef KEPTFOREVER
#define KEPTFOREVER 0
#endif
#ifndef DEAFKEPT
#define DEAFKEPT 0
#endif
#ifndef NODEADLINE
#define NODEADLINE 0
#endif
#ifndef GIVESUP
#define GIVESUP 0
#endif
#ifndef ASK_L2
#define ASK_L2 0
#endif
mtype = { absent, processing, released, done };
mtype rec = absent;
bool broker = true, live, up = true, kept[3];          /* kept: by the keeper of that worker, which renews it */
byte own, crashes, fails, unknowns, downs;

#define owned (rec == processing)
#if ASK_L2
ltl L2 { [] (owned -> <> !owned) }
#else
ltl L1 { <> !broker }
#endif

proctype Worker(byte id) {
again:
  do
  :: !broker -> break
  :: atomic { broker && up && (rec == absent || rec == released || (rec == processing && !live)) ->
       rec = processing; live = true; own = id; kept[id] = true; printf("> worker %d claims\n", id) };
     if
     :: atomic { crashes < CRASHES -> crashes++; kept[id] = false; printf("> worker %d dies\n", id) };
        if :: id == 1 -> goto stop                                              /* for good */
           :: goto again fi
     :: atomic { fails < FAILS -> fails++; printf("> worker %d: handler fails\n", id) };
        atomic { up -> if :: KEPTFOREVER -> printf("> its release is forgotten\n")
                          :: else -> kept[id] = false; if :: rec == processing && own == id -> rec = released; live = false :: else fi fi }
     :: atomic { unknowns < UNKNOWNS -> unknowns++; printf("> worker %d: handler does not end\n", id);
          if :: DEAFKEPT -> skip :: else -> kept[id] = false fi }               /* past its time and grace nobody renews it */
     :: atomic { up -> kept[id] = false;
          if :: rec == processing && own == id -> rec = done; live = false; printf("> worker %d marks\n", id) :: else fi }
     fi
  :: atomic { broker && up && rec == done -> broker = false; printf("> worker %d settles\n", id) }
  :: broker && up && rec == processing && live ->                               /* busy: it waits, and asks again */
     if :: BUSYFORGOTTEN -> atomic { printf("> worker %d finds it busy, and never asks again\n", id) }; goto stop :: else -> skip fi
  :: atomic { broker && !up && GIVESUP -> printf("> worker %d meets an error of the store, and gives up\n", id) }; goto stop
  od;
stop: skip }

/* The store ends a lease that nobody renews. */
active proctype Lease() {
end: do :: atomic { rec == processing && live && !kept[own] && !NODEADLINE -> live = false; printf("> the lease ends\n") } od }

active proctype Store() {
  do :: atomic { downs < DOWNS -> downs++; up = false; printf("> the store is down\n") }; atomic { up = true; printf("> the store is up\n") }
     :: !broker -> break
     :: downs == DOWNS -> break od }

init { atomic { run Worker(1); run Worker(2) } }

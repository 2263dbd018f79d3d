/* One message, WORKERS workers that may all hold a delivery of it, faults in bounded number: the protocol of DESIGN's way of a
   message, whole. A lease may end at any moment, which covers pauses, frozen processes and clocks. At most one handler is deaf, or
   has its request under way while its process dies: it may apply its effect later, then try its mark.

   Rules, as built:   PARK (else rerun)  INBOX (else lease)  KEYED (a provider that dedups)  TRANSFER (retry places)
                      MARKABS, MARKLATE (a mark on what is absent; released, given up or parked: written)
                      DOUBTPARKED (in doubt and attempts spent: parked, never given up)
   Faults:            CRASHES  EXPIRIES (leases that end)  FAILS (plain throws, drains)  UNKNOWNS  LOSS (the store forgets)
                      SENTTWICE (by the sender)
                      CUTS (the delivery is lost while its handler runs in a transaction)  STOPS (its deadline ends a transaction)
   People:            REDRIVE (dead letters are sent again)  DECIDE (1 reopen what is given up, 2 rerun what is set aside)
   Bent rules:        SWALLOW SETTLEFIRST RELEASEAFTER FORGETDOUBT PLAINUNKNOWN OLDORDER
                      CUTRELEASES (a lost delivery rolls back, and gives the attempt back)  CUTFREES (it frees the row of what runs on)
                      STOPREFUNDS (what a stop or a lost partition interrupted is given back) */
#include "law.pml"
#ifndef PARK
#define PARK 0
#endif
#ifndef INBOX
#define INBOX 0
#endif
#ifndef KEYED
#define KEYED 0
#endif
#ifndef TRANSFER
#define TRANSFER 0
#endif
#ifndef MARKABS
#define MARKABS 1
#endif
#ifndef MARKLATE
#define MARKLATE 1
#endif
#ifndef DOUBTPARKED
#define DOUBTPARKED 1
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 2
#endif
#ifndef MAXATTEMPTS
#define MAXATTEMPTS 2
#endif
#ifndef FAILS
#define FAILS 1
#endif
#ifndef UNKNOWNS
#define UNKNOWNS 1
#endif
#ifndef LOSS
#define LOSS 0
#endif
#ifndef SENTTWICE
#define SENTTWICE 0
#endif
#ifndef REDRIVE
#define REDRIVE 0
#endif
#ifndef DECIDE
#define DECIDE 0
#endif
#ifndef SWALLOW
#define SWALLOW 0
#endif
#ifndef SETTLEFIRST
#define SETTLEFIRST 0
#endif
#ifndef RELEASEAFTER
#define RELEASEAFTER 0
#endif
#ifndef FORGETDOUBT
#define FORGETDOUBT 0
#endif
#ifndef PLAINUNKNOWN
#define PLAINUNKNOWN 0
#endif
#ifndef OLDORDER
#define OLDORDER 0
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef CUTRELEASES
#define CUTRELEASES 0
#endif
#ifndef CUTFREES
#define CUTFREES 0
#endif
#ifndef STOPREFUNDS
#define STOPREFUNDS 0
#endif
/* A trace: the letters of what a store wrote for one message, in their order, from the environment (model/trace.ts). `SEE` is taken
   when one is written; a step that is not the next of the trace goes no further. Asked is whether the model can take all of them.
   C claimed  T taken over  M marked  R released  D released in doubt  F released, the attempt given back  G given up  P parked */
#ifdef TRACED
c_decl {
\#include <stdlib.h>
\#include <string.h>
static char trace[256];
__attribute__((constructor)) static void load(void) { strncpy(trace, getenv("TRACE"), 255); }
}
byte seen; bool off;
/* A trace says nothing of these, and each would be a state of its own: faults come as often as they like, deliveries stay, no law is asked. */
#undef LAW
#define LAW(name, e) skip
#define COUNT(fault) skip
#define GOES_ON !off
#define SEE(letter) if :: !off && c_expr { trace[now.seen] == letter } -> seen++ :: else -> off = true; false fi
#else
#define COUNT(fault) fault++
#define GOES_ON true
#define SEE(letter) skip
#endif
/* What is asked. COUNTED: no handler starts more often than attempts allow. EFFECTS: at most so many, 99 for not asked. */
#ifndef EFFECTS
#define EFFECTS 99
#endif
#ifndef ASK_A14
#define ASK_A14 1
#endif
#ifndef ASK_SEAL
#define ASK_SEAL 1
#endif
#ifndef ASK_REDRIVEN
#define ASK_REDRIVEN 0
#endif
#ifndef ASK_NOWORSE
#define ASK_NOWORSE 0
#endif
#ifndef ASK_COUNTED
#define ASK_COUNTED 0
#endif
#define NOTHING 0
#define DONE 1
#define GIVENUP 2
#define PARKED 3
#define REDRIVEN_GIVENUP 4
#define REOPENED_RAN 5
#define TRANSFERRED 6
#define REDRIVEN_PARKED 7
#define MARKED_AFTER_LOSS 8
#define PARKED_WITH_EFFECT 9
#define MARKED_LATE 10
#define DEAF_EFFECT 11
#define UNKNOWN_EFFECT 12
#define OUTLIVED 13
#ifndef REACH
#define REACH NOTHING
#endif

#define WHO (_pid - 4)                                /* workers start after init and four others */
#define KEPT (effects > 0 || letters_given + letters_parked > 0)
#define MINE (rec == processing && own == my)
mtype = { absent, processing, released, done, given_up, parked };
mtype rec = absent;                                   /* the record */
bool live, doubt, accepted, markEver, opDone, sealed, decided, redriven, transferred, lateMark, deafEffect, unknownEffect;
byte copies = 1 + 8 * SENTTWICE;                      /* bits: 1 original, 2 on a retry place, 4 redriven, 8 sent twice */
byte letters_given, letters_parked;                   /* dead letters: as given-up, as parked (2: two or more) */
byte tok, own, att, effects, crashes, ended, fails, unknowns, losses, fin;
byte cuts, stops, starts; bool outlived;
byte deaf; bool deafMarks;                            /* the handler nobody waits for: its token, and whether it can still mark */

#define CRASHPOINT if :: atomic { crashes < CRASHES -> COUNT(crashes); printf("> worker %d dies\n", WHO) }; goto again :: skip fi

inline effect() { if :: KEYED && accepted -> skip :: else -> accepted = true; COUNT(effects) fi }
inline mark(t, ok) {
  if :: rec == processing && own == t -> SEE('M'); rec = done; ok = 1
     :: rec == done && own == t -> ok = 1
     :: MARKABS && rec == absent -> SEE('M'); rec = done; own = t; ok = 1
     :: MARKLATE && (rec == released || rec == given_up || rec == parked) -> SEE('M'); rec = done; own = t; ok = 1; lateMark = true
     :: else -> ok = 0 fi;
  if :: ok -> markEver = true; doubt = false; live = false :: else fi }
inline release(ok, refund, leavesDoubt) {
  if :: MINE -> if :: refund -> SEE('F') :: else -> if :: leavesDoubt -> SEE('D') :: else -> SEE('R') fi fi;
               rec = (INBOX -> absent : released); live = false; att = att - refund; doubt = doubt || leavesDoubt; ok = 1
     :: else -> ok = 0 fi }
inline settle(c) {
#ifndef TRACED
  copies = copies & (255 - c);
#endif
  LAW(A1, copies != 0 || KEPT) }

proctype Worker() { byte my, v, c, a; bool ok;   /* v: 0 busy, 1 claimed, 2 taken-over, 3 done, 4 given-up, 5 parked, 6 attempts spent */
again:
  GOES_ON;
  my = 0; v = 0; c = 0; a = 0; ok = 0;
  if
  :: copies == 0 && opDone -> goto stop
  :: copies & 1 -> c = 1 :: copies & 2 -> c = 2 :: copies & 4 -> c = 4 :: copies & 8 -> c = 8
  fi;
  atomic {
    if :: rec == absent || (rec == released && !doubt) -> v = 1
       :: rec == released && doubt -> v = 2
       :: rec == processing && live -> v = 0
       :: rec == processing && !live && INBOX -> v = 1            /* its transaction is gone, and what was in it */
       :: rec == processing && !live && !INBOX -> v = 2; doubt = true
       :: rec == done -> v = 3
       :: rec == given_up -> v = 4
       :: rec == parked -> v = 5 fi;
    if :: v == 1 || v == 2 ->
          LAW(SEAL, !ASK_SEAL || !sealed || losses > 0);
          if :: v == 1 -> SEE('C') :: else -> SEE('T') fi;
          tok++; own = tok; my = tok; rec = processing; live = true; att++; a = att;
          printf("> worker %d claims with token %d, attempt %d%c\n", WHO, tok, att, (v == 2 -> '?' : ' '));
          if :: att > MAXATTEMPTS && !(v == 2 && PARK) -> v = 6 :: else fi
       :: else fi }
  CRASHPOINT;
  if
  :: v == 0 && !(TRANSFER && !transferred) -> goto again                        /* busy: wait */
  :: v == 0 && TRANSFER && !transferred ->                                      /* busy: wait, or hand over to a retry place */
     if :: goto again :: goto transfer fi
  :: v == 3 -> atomic { printf("> worker %d finds it done, settles\n", WHO);
       LAW(A3, rec == done || losses > 0);
       settle(c) }; goto again
  :: v == 4 || v == 5 -> goto publish
  :: v == 6 -> goto giveup
  :: v == 2 && PARK -> goto parkit
  :: (v == 1 || v == 2) && fails < FAILS ->                                     /* drain: the handler never began; attempt refunded, doubt kept */
     atomic { COUNT(fails); release(ok, 1, false);
       if :: FORGETDOUBT -> doubt = false :: else fi;
       printf("> worker %d stops before its handler began, releases\n", WHO) }; goto again
  :: v == 1 || (v == 2 && !PARK) ->                                             /* the handler starts */
#if ASK_COUNTED
     atomic { COUNT(starts); LAW(COUNTED, starts <= MAXATTEMPTS) }
#else
     skip
#endif
  fi;
  if
  :: !INBOX && crashes < CRASHES && deaf == 0 ->
     atomic { COUNT(crashes); deaf = my; deafMarks = 0; printf("> worker %d dies, its request is under way\n", WHO) }; goto again
  :: !INBOX && !MINE && deaf == 0 ->
     atomic { deaf = my; deafMarks = 1; printf("> worker %d has lost its lease, its handler is deaf\n", WHO) }; goto again
  :: fails < FAILS -> atomic { COUNT(fails); printf("> worker %d: handler throws, no effect\n", WHO) };
     CRASHPOINT;
     if :: a >= MAXATTEMPTS -> goto giveup
        :: a < MAXATTEMPTS -> if :: goto giveup /* fatal */ :: skip fi fi;
     atomic { release(ok, 0, false);
       if :: FORGETDOUBT -> doubt = false :: else fi;
       printf("> worker %d releases: %d\n", WHO, ok) };
     CRASHPOINT;
     if :: !ok -> goto again                                                    /* lease lost: claim again */
        :: ok -> goto again                                                     /* retry in the lane */
        :: ok && TRANSFER && !transferred -> goto transfer fi
  :: !INBOX && unknowns < UNKNOWNS ->                                           /* OutcomeUnknownError, or timed out and ended */
     atomic { COUNT(unknowns);
       if :: true -> effect(); unknownEffect = true; printf("> worker %d: outcome unknown, the effect happened\n", WHO)
          :: printf("> worker %d: outcome unknown, no effect\n", WHO) fi };
     CRASHPOINT;
     if :: PARK && !PLAINUNKNOWN -> goto parkit
        :: !PARK || PLAINUNKNOWN ->
           atomic { release(ok, 0, !PLAINUNKNOWN); printf("> worker %d releases\n", WHO) }; goto again
        :: !PARK && !PLAINUNKNOWN ->                                            /* by a stop or a lost partition: counted too */
           atomic { release(ok, STOPREFUNDS, true); printf("> worker %d was interrupted, releases\n", WHO) }; goto again fi
  :: !INBOX && PARK && unknowns < UNKNOWNS && deaf == 0 ->
     atomic { COUNT(unknowns); deaf = my; deafMarks = 1; printf("> worker %d: its handler is deaf past its time\n", WHO) }; goto parkit
  :: INBOX && stops < STOPS ->
     atomic { COUNT(stops); release(ok, STOPREFUNDS, false); printf("> worker %d: the stop deadline ends its transaction\n", WHO) }; goto again
  :: INBOX && cuts < CUTS ->                                                    /* only the settle is refused */
     atomic { COUNT(cuts); printf("> worker %d has lost its delivery, its handler runs\n", WHO);
       if :: CUTRELEASES -> release(ok, 1, false); goto again
          :: CUTFREES -> if :: MINE -> rec = absent; live = false :: else fi
          :: else fi };
     atomic { if :: MINE || (CUTFREES && rec == absent) -> SEE('M'); rec = done; live = false; markEver = true; outlived = true; effect();
                    printf("> worker %d commits effect and mark, and cannot settle\n", WHO)
                 :: CUTFREES && rec != absent && !MINE -> effect(); printf("> worker %d commits its effect\n", WHO)
                 :: else fi }; goto again
  :: INBOX ->                                                                   /* effect and mark in one transaction */
     atomic { if :: MINE -> SEE('M'); rec = done; live = false; markEver = true; effect(); ok = 1; printf("> worker %d commits effect and mark\n", WHO)
                 :: else -> ok = 0 fi };
     CRASHPOINT;
     if :: !ok -> goto again
        :: ok -> atomic { printf("> worker %d settles\n", WHO);
             LAW(A3, rec == done || losses > 0);
             settle(c) }; goto again
        :: goto again fi                                                        /* the reply to COMMIT is lost */
  :: !INBOX -> atomic { effect(); printf("> worker %d: effect %d\n", WHO, effects) };
     CRASHPOINT;
     if :: RELEASEAFTER -> atomic { release(ok, 0, false); printf("> worker %d: mark not answered, releases\n", WHO) }; goto again
        :: !RELEASEAFTER -> goto again                                          /* mark never answered, not applied: no release */
        :: true -> atomic { mark(my, ok); printf("> worker %d marks: %d\n", WHO, ok) } fi;
     CRASHPOINT;
     if :: !ok -> goto again
        :: ok -> atomic { printf("> worker %d settles\n", WHO);
             LAW(A3, rec == done || losses > 0);
             settle(c) }; goto again
        :: goto again fi                                                        /* mark applied, reply lost */
  fi;

transfer:
#if SETTLEFIRST
  atomic { printf("> worker %d settles before its copy\n", WHO); settle(c) }; CRASHPOINT; atomic { copies = copies | 2; transferred = true }; goto again;
#else
  atomic { if :: transferred -> goto again :: else -> copies = copies | 2; transferred = true; printf("> worker %d: copy on the retry place\n", WHO) fi };
  CRASHPOINT;
  atomic { printf("> worker %d settles the original\n", WHO);
    LAW(A3, markEver || letters_given + letters_parked > 0 || (copies & (255 - c)) != 0);
    settle(c) }; goto again;
#endif

giveup:
#if OLDORDER
  atomic { if :: DOUBTPARKED && doubt -> goto parkit :: else fi; if :: letters_given < 2 -> COUNT(letters_given) :: else fi; printf("> worker %d dead-letters\n", WHO) };
  CRASHPOINT;
  atomic { if :: MINE -> rec = given_up; live = false; sealed = true; ok = 1 :: else -> ok = 0 fi };
  CRASHPOINT;
  if :: ok -> atomic { settle(c) } :: else -> skip fi; goto again;
#else
  atomic { if :: MINE -> if :: DOUBTPARKED && doubt -> SEE('P'); rec = parked; v = 5 :: else -> SEE('G'); rec = given_up; v = 4 fi;
                 live = false; sealed = true; ok = 1; printf("> worker %d sets aside as %e\n", WHO, rec)
              :: else -> ok = 0 fi };
  CRASHPOINT;
  if :: ok -> goto publish :: else -> goto again fi;
#endif
parkit:
  atomic { if :: MINE -> SEE('P'); rec = parked; v = 5; live = false; sealed = true; ok = 1; printf("> worker %d parks\n", WHO) :: else -> ok = 0 fi };
  CRASHPOINT;
  if :: ok -> skip :: else -> goto again fi;
publish:
#if !SWALLOW
  atomic { if :: v == 4 && letters_given < 2 -> COUNT(letters_given) :: v != 4 && letters_parked < 2 -> COUNT(letters_parked) :: else fi;
           printf("> worker %d dead-letters\n", WHO) };
  CRASHPOINT;
#endif
  atomic { printf("> worker %d settles what is set aside\n", WHO);
    LAW(A3, SWALLOW || markEver || letters_given + letters_parked > 0 || (copies & (255 - c)) != 0);
    settle(c) };
  goto again;
stop: fin++ }

active proctype Deaf() { bool ok;
#if !INBOX
  do
  :: deaf != 0 ->
     if :: true -> atomic { effect(); deafEffect = true; printf("> the deaf handler: effect %d\n", effects) };
           if :: deafMarks -> atomic { mark(deaf, ok); printf("> the deaf handler marks: %d\n", ok) } :: skip fi
        :: skip fi;                                                             /* its effect never happens */
     atomic { deaf = 0; deafMarks = 0; ok = 0 }
  :: fin == WORKERS && deaf == 0 -> break
  od
#endif
  skip }

active proctype Lease() { do :: atomic { ended < EXPIRIES && rec == processing && live -> live = false; COUNT(ended); printf("> the lease ends\n") }
                             :: copies == 0 && opDone -> break od }

active proctype Loss() {
#if LOSS
  do :: atomic { losses < 1 && rec != absent -> rec = absent; live = false; doubt = false; att = 0; own = 0; losses++; printf("> the store forgets the record\n") }
     :: copies == 0 && opDone -> break od
#endif
  skip }

active proctype Person() {
#if REDRIVE
  if :: letters_given + letters_parked > 0 ->
#if DECIDE
        atomic { if :: rec == given_up || (DECIDE == 2 && rec == parked) ->
                       rec = released; att = 0; doubt = false; sealed = false; decided = true; printf("> a person lets it run again\n")
                    :: else fi };
#endif
        if :: goto out :: skip fi;                                              /* the tool dies in between */
        atomic { copies = copies | 4; redriven = true; printf("> a person sends the dead letter again\n") };
        if :: atomic { if :: letters_given > 0 -> letters_given-- :: letters_parked > 0 -> letters_parked-- fi;
                LAW(A1, copies != 0 || KEPT) }
           :: skip fi
     :: skip fi;
out:
#endif
  opDone = true }

init {
  atomic { byte i; do :: i < WORKERS -> run Worker(); i++ :: else -> break od; i = 0 };
  atomic { fin == WORKERS && opDone && deaf == 0 };
  LAW(A1, KEPT);
  LAW(A2, effects <= EFFECTS);
  LAW(A14, !ASK_A14 || !(letters_given > 0 && effects > 0));
  LAW(A14, !ASK_A14 || !(rec == given_up && effects > 0));
  LAW(NOWORSE, !ASK_NOWORSE || effects <= 1 + losses);
  LAW(REDRIVEN, !ASK_REDRIVEN || !(decided && redriven) || effects == 1);
  LAW(REACH, !(REACH == DONE && rec == done));
  LAW(REACH, !(REACH == GIVENUP && rec == given_up && effects == 0));
  LAW(REACH, !(REACH == PARKED && rec == parked && effects == 0));
  LAW(REACH, !(REACH == PARKED_WITH_EFFECT && rec == parked && effects > 0));
  LAW(REACH, !(REACH == REDRIVEN_GIVENUP && redriven && rec == given_up && letters_given >= 1));
  LAW(REACH, !(REACH == REDRIVEN_PARKED && redriven && rec == parked && letters_parked >= 1));
  LAW(REACH, !(REACH == REOPENED_RAN && decided && effects == 1 && letters_given == 0));
  LAW(REACH, !(REACH == TRANSFERRED && transferred && effects == 1));
  LAW(REACH, !(REACH == MARKED_AFTER_LOSS && losses && rec == done && own > 0));
  LAW(REACH, !(REACH == DEAF_EFFECT && deafEffect));
  LAW(REACH, !(REACH == UNKNOWN_EFFECT && unknownEffect));
  LAW(REACH, !(REACH == OUTLIVED && outlived && effects == 1));
  LAW(REACH, !(REACH == MARKED_LATE && lateMark && rec == done)) }
#ifdef TRACED
active proctype Traced() {
end:
  !off && c_expr { trace[now.seen] == 0 };
  assert(false) }
#endif

/* N messages on a queue of RabbitMQ, one consumer, prefetch N. A channel closes: what is not acked goes back to the queue, and tags
   begin with 1 again. Handlers run on, and mark when they end; a message that comes again while it runs joins it.

   Faults:      CLOSES (of the channel)  RETURNS (a delivery handed back by a frame of its own)
   Bent rules:  OLDTAG (a delivery of an old channel is acked on the new one)  HIGHEST (ack multiple of the highest that is finished)
                EARLY (ack when the handler ends, before the mark)  OVERSETTLED (multiple of a tag that had a frame of its own)
   Law TAG: a frame names a tag that is not acked yet, or the broker closes the channel (406). */
#include "law.pml"
#ifndef N
#define N 3
#endif
#ifndef CLOSES
#define CLOSES 2
#endif
#ifndef RETURNS
#define RETURNS 1
#endif
#ifndef OLDTAG
#define OLDTAG 0
#endif
#ifndef HIGHEST
#define HIGHEST 0
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef OVERSETTLED
#define OVERSETTLED 0
#endif
#define NOTHING 0
#define STALE 1
#define MULTIPLE 2
#ifndef REACH
#define REACH NOTHING
#endif
#define T (N + RETURNS + 1)                            /* tags of one channel, and 0 */

mtype = { queued, unacked, gone };
mtype place[N] = queued;
bool done[N], running[N];
byte tagOf[N], oldTagOf[N];                            /* on this channel, on an earlier one; 0: none */
byte messageOf[T]; bool finished[T], settled[T], known[T];   /* known to the broker: not acked */
byte next = 1, upTo, closes, returns, generation = 1;
bool stale, multiple;

inline accept(t) {                                     /* the broker: the message of that tag is gone */
  LAW(A3, done[messageOf[t]]);
  place[messageOf[t]] = gone; known[t] = false; settled[t] = true; tagOf[messageOf[t]] = 0 }
inline finish(m) {
  if :: tagOf[m] > 0 -> finished[tagOf[m]] = true
     :: OLDTAG && tagOf[m] == 0 && oldTagOf[m] > 0 && oldTagOf[m] < next ->
        printf("> tag %d of message %d, of an old channel, is finished on the new one\n", oldTagOf[m], m);
        finished[oldTagOf[m]] = true
     :: else -> stale = true fi;
  oldTagOf[m] = 0 }

active proctype Consumer() { byte m, t, top;
  do
  :: atomic { place[0] == gone && place[1] == gone && place[N-1] == gone -> break }
  :: atomic { next < T -> select(m: 0 .. N - 1);                                /* delivered */
       if :: place[m] == queued ->
             place[m] = unacked; tagOf[m] = next; messageOf[next] = m; known[next] = true; next++;
             printf("> message %d comes with tag %d of channel %d\n", m, tagOf[m], generation);
             if :: running[m] -> skip                                           /* joins */
                :: !running[m] && done[m] -> finish(m); printf("> message %d is a duplicate\n", m)
                :: else -> running[m] = true fi
          :: else fi;
       m = 0 }
#if EARLY
  :: atomic { select(m: 0 .. N - 1); if :: running[m] -> finish(m) :: else fi; m = 0 }
#endif
  :: atomic { select(m: 0 .. N - 1);                                            /* a handler ends: mark, then settle */
       if :: running[m] -> done[m] = true; running[m] = false; printf("> message %d is marked\n", m); finish(m) :: else fi;
       m = 0 }
  :: atomic { returns < RETURNS -> select(m: 0 .. N - 1);                       /* handed back before it ran */
       if :: running[m] && tagOf[m] > 0 && oldTagOf[m] == 0 ->
             returns++; running[m] = false; place[m] = queued; known[tagOf[m]] = false; settled[tagOf[m]] = true; finished[tagOf[m]] = true;
             printf("> message %d goes back, tag %d\n", m, tagOf[m]); tagOf[m] = 0
          :: else fi;
       m = 0 }
  :: atomic {                                                                   /* all up to the watermark, with one frame */
       t = upTo + 1; top = 0;
       do :: t < next && (finished[t] || HIGHEST) ->
             if :: finished[t] && (OVERSETTLED || !settled[t]) -> top = t :: else fi;
             if :: !HIGHEST || finished[t] -> upTo = t :: else fi; t++
          :: else -> break od;
       if :: top > 0 ->
             LAW(TAG, known[top]);
             printf("> ack of tag %d and all below\n", top);
             multiple = true; t = 1;
             do :: t <= top -> if :: known[t] -> accept(t) :: else fi; t++ :: else -> break od
          :: else fi;
       t = 0; top = 0 }
  :: atomic { select(t: 1 .. T - 1);                                            /* a straggler holds the watermark: one alone */
       if :: t < next && t > upTo && finished[t] && !settled[t] -> LAW(TAG, known[t]);
             printf("> ack of tag %d alone\n", t); accept(t)
          :: else fi;
       t = 0 }
  :: atomic { closes < CLOSES -> closes++; generation++; next = 1; upTo = 0; printf("> the channel closes\n");
       m = 0;
       do :: m < N -> if :: place[m] == unacked -> place[m] = queued; if :: running[m] -> oldTagOf[m] = tagOf[m] :: else fi :: else fi; tagOf[m] = 0; m++
          :: else -> break od;
       t = 0;
       do :: t < T -> messageOf[t] = 0; finished[t] = false; settled[t] = false; known[t] = false; t++ :: else -> break od;
       m = 0; t = 0 }
  od;
  LAW(A1, done[0] && done[1] && done[N-1]);
  LAW(REACH, !(REACH == STALE && stale));
  LAW(REACH, !(REACH == MULTIPLE && multiple)) }

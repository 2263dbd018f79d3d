/* Three messages with two keys each, each in a process of its own. In a ring, each shares a key with each other one; in a chain, the middle
   one shares a key with either end. A message claims its keys in one call of the store, and runs only if all are granted. If one is
   busy, the others are given back and it tries again; if one is done, the others become done with it.

   Shape:       CHAIN (else a ring)
   Bent rules:  PARTIAL (one granted key is enough)  FORGETS (a duplicate does not mark its other keys)
                BYKEY (one call for each key)  KEEPS (what is granted is kept while another is busy)
   Law A2: of two messages that share a key one has an effect. Law LINKED: nothing runs that shares a key with what is settled. */
#include "law.pml"
#ifndef CHAIN
#define CHAIN 0
#endif
#ifndef PARTIAL
#define PARTIAL 0
#endif
#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef BYKEY
#define BYKEY 0
#endif
#ifndef KEEPS
#define KEEPS 0
#endif
#ifndef ASK_L1
#define ASK_L1 0
#endif
#define NOTHING 0
#define GIVEN_BACK 1
#define LINKED_LATE 2
#ifndef REACH
#define REACH NOTHING
#endif
#define N 3
#define SECOND(m) (CHAIN -> (m) + 1 : ((m) + 1) % N)   /* the keys of message m are m and SECOND(m) */
#define SHARE(m, o) ((m) != (o) && ((m) == SECOND(o) || (o) == SECOND(m)))
#define FREE(k) (owner[k] == 0 && !done[k])
#define BUSY(k) (owner[k] != 0 && owner[k] != me + 1)

byte owner[N + 1], settled; bool done[N + 1], ran[N], over[N], gaveBack, late;

inline claim(k) { if :: FREE(k) -> owner[k] = me + 1; printf("> message %d is granted key %d\n", me, k) :: else fi }
inline giveBack(k) { if :: owner[k] == me + 1 -> owner[k] = 0; gaveBack = true :: else fi }
inline mark(k) { if :: owner[k] == me + 1 -> owner[k] = 0; done[k] = true :: else fi }

active [N] proctype Process() { byte me = _pid, a, b, o;
  a = me; b = SECOND(me);
again:
  if
  :: BYKEY -> atomic { claim(a) }; atomic { claim(b) }
  :: !BYKEY -> atomic { claim(a); claim(b) }
  fi;
  if
  :: atomic { owner[a] == me + 1 && owner[b] == me + 1 -> skip }
  :: atomic { PARTIAL && ((owner[a] == me + 1) != (owner[b] == me + 1)) -> skip }
  :: atomic { !PARTIAL && (done[a] || done[b]) && !BUSY(a) && !BUSY(b) && (done[a] || owner[a] == me + 1) && (done[b] || owner[b] == me + 1) ->
       if :: FORGETS -> giveBack(a); giveBack(b)
          :: else -> if :: owner[a] == me + 1 || owner[b] == me + 1 -> late = true :: else fi; mark(a); mark(b) fi;
       printf("> message %d is a duplicate\n", me) }; goto end
  :: atomic { PARTIAL && done[a] && done[b] -> printf("> message %d is a duplicate\n", me) }; goto end
  :: atomic { !KEEPS && !(owner[a] == me + 1 && owner[b] == me + 1) && !PARTIAL &&
              (BUSY(a) || BUSY(b) || FREE(a) || FREE(b)) -> giveBack(a); giveBack(b) }; goto again
  :: atomic { KEEPS && (FREE(a) || FREE(b)) -> skip }; goto again
  :: atomic { PARTIAL && owner[a] != me + 1 && owner[b] != me + 1 && (FREE(a) || FREE(b)) -> skip }; goto again
  fi;
  atomic { o = 0;                                      /* its handler */
    do :: o < N ->
            LAW(A2, !(SHARE(me, o) && ran[o]));
            LAW(LINKED, !(SHARE(me, o) && over[o]));
            o++
       :: else -> break od;
    o = 0; ran[me] = true; printf("> message %d runs\n", me) };
  atomic { mark(a); mark(b) };
end:
  atomic { over[me] = true; settled++;
    LAW(REACH, !(REACH == GIVEN_BACK && settled == N && gaveBack));
    LAW(REACH, !(REACH == LINKED_LATE && settled == N && late)) } }

#if ASK_L1
ltl L1 { <> (settled == N) }
#endif

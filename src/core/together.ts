import type { ClaimVerdict } from './record.ts'

type Answer =
  | ClaimVerdict
  | { readonly verdict: 'again-alone'; readonly attempts: number }
  | { readonly verdict: 'behind' }

type Granted<A extends Answer> = Extract<A, { verdict: 'claimed' | 'taken-over' }>

/** The severest decides. Whatever is not `done` keeps the message from being settled as a duplicate. */
const SEVERITY: Readonly<Record<Answer['verdict'], number>> = {
  claimed: 0,
  'taken-over': 0,
  done: 1,
  'in-doubt': 2,
  'again-alone': 2,
  busy: 3,
  behind: 4,
  'given-up': 5,
  conflict: 6,
  parked: 7,
  unreadable: 8,
}

/** What the keys of one message say together. */
export interface Together<A extends Answer> {
  readonly decides: A
  /** Granted keys. If `decides` is `done` they become done with it; if it is a grant they run; else they are given back. */
  readonly granted: readonly Granted<A>[]
}

/**
 * Folds the answers for all keys of one message. It runs only if all are granted: with the most attempts of any, and in
 * doubt if one is. Of two equally severe answers the one that asks for more patience decides.
 */
export function together<A extends Answer>(answers: readonly [A, ...A[]]): Together<A> {
  const granted: Granted<A>[] = []
  let [decides] = answers
  let isInDoubt = false
  for (const answer of answers) {
    if (isGranted(answer)) granted.push(answer)
    isInDoubt ||= answer.verdict === 'taken-over'
    const more = SEVERITY[answer.verdict] - SEVERITY[decides.verdict]
    if (more > 0 || (more === 0 && patienceOf(answer) > patienceOf(decides))) decides = answer
  }
  if (decides.verdict === 'claimed' && isInDoubt) decides = { ...decides, verdict: 'taken-over' }
  return { decides, granted }
}

function isGranted<A extends Answer>(answer: A): answer is Granted<A> {
  return SEVERITY[answer.verdict] === 0
}

function patienceOf(answer: Answer): number {
  if ('attempts' in answer) return answer.attempts
  if ('leaseLeftMs' in answer) return answer.leaseLeftMs
  return answer.verdict === 'claimed' || answer.verdict === 'taken-over' ? answer.attempt : 0
}

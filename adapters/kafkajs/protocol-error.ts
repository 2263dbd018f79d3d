/**
 * The broker's error type (`ILLEGAL_GENERATION`, ...) of a kafkajs error, also if it is wrapped; else the error's name.
 */
export function errorType(error: unknown): string {
  const answer = answerIn(error)
  if (answer !== undefined) return answer.type
  return error instanceof Error ? error.name : typeof error
}

/** True if a broker answered with an error. */
export function isAnswer(error: unknown): boolean {
  return answerIn(error) !== undefined
}

/** True if the broker asks to wait: a coordinator that loads or moves, a group that rebalances. */
export function isTransient(error: unknown): boolean {
  return answerIn(error)?.retriable === true
}

/** After these errors the member is no longer in its generation: it can commit nothing before it has rejoined. */
export function endsGeneration(type: string): boolean {
  return type === 'ILLEGAL_GENERATION' || type === 'UNKNOWN_MEMBER_ID' || type === 'REBALANCE_IN_PROGRESS'
}

/** After errors of these types in a callback, kafkajs rejoins its group. */
export function makesJoinAgain(type: string): boolean {
  return endsGeneration(type) || type === 'NOT_COORDINATOR_FOR_GROUP'
}

interface Answer {
  readonly type: string
  readonly retriable?: unknown
}

/** kafkajs wraps once or twice, by `cause`. */
function answerIn(error: unknown): Answer | undefined {
  for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 8; depth++) {
    const { type, retriable, cause } = at as { type?: unknown; retriable?: unknown; cause?: unknown }
    if (typeof type === 'string') return { type, retriable }
    at = cause
  }
  return undefined
}

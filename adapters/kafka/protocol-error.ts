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

/** For kafkajs these are final, although a broker that dies causes them too. */
const ALSO_UNANSWERED: ReadonlySet<unknown> = new Set([
  'KafkaJSGroupCoordinatorNotFound',
  'KafkaJSTimeout',
  'KafkaJSLockTimeout',
])

/**
 * True if a request got no answer: no connection, a closed one, a time-out, a broker that is no longer known. The outermost
 * error tells nothing: kafkajs wraps its last try in one that is final.
 */
export function isUnanswered(error: unknown): boolean {
  if (answerIn(error) !== undefined) return false
  return causesOf(error).some(
    (cause) => cause.retriable === true || ALSO_UNANSWERED.has(cause.name) || isNoMetadata(cause),
  )
}

/** If no broker answers a request for metadata, kafkajs makes null of that, and then reads a field of it. */
function isNoMetadata({ name, message }: Cause): boolean {
  return name === 'TypeError' && typeof message === 'string' && message.includes('topicMetadata')
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

/** The first answer of a broker in the causes. Of several topics that were refused, that of the first final refusal. */
function answerIn(error: unknown): Answer | undefined {
  for (const { type, retriable, errors } of causesOf(error)) {
    if (typeof type === 'string') return { type, retriable }
    if (!Array.isArray(errors)) continue
    const answers = errors.map(answerIn).filter((answer) => answer !== undefined)
    const first = answers.find((answer) => answer.retriable !== true) ?? answers[0]
    if (first !== undefined) return first
  }
  return undefined
}

interface Cause {
  readonly name?: unknown
  readonly message?: unknown
  readonly type?: unknown
  readonly retriable?: unknown
  readonly cause?: unknown
  /** Those of several topics. */
  readonly errors?: unknown
}

/** The error and its causes: kafkajs wraps once or twice. */
function causesOf(error: unknown): readonly Cause[] {
  const causes: Cause[] = []
  for (let at = error; typeof at === 'object' && at !== null && causes.length < 8; at = (at as Cause).cause) {
    causes.push(at)
  }
  return causes
}

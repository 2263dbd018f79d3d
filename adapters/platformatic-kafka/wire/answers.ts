import { describeError } from '../../../src/internal.ts'

/** A broker answered with an error. Under the names of kafkajs, by which this library judges it. */
export class BrokerAnswer extends Error {
  override readonly name = 'BrokerAnswer'
  readonly type: string
  readonly retriable: boolean

  /** @param told - what the broker says beside the code */
  constructor(type: string, retriable: boolean, cause?: unknown, told?: unknown) {
    super(typeof told === 'string' && told !== '' ? `${type} (${told})` : type, { cause })
    this.type = type
    this.retriable = retriable
  }
}

/** A request got no answer: no connection, a closed one, a time-out. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
  readonly retriable = true

  constructor(cause: unknown) {
    super(describeError(cause), { cause })
  }
}

/** What kafkajs calls otherwise than the protocol does. */
const NAMES: Readonly<Record<string, string>> = {
  COORDINATOR_LOAD_IN_PROGRESS: 'GROUP_LOAD_IN_PROGRESS',
  COORDINATOR_NOT_AVAILABLE: 'GROUP_COORDINATOR_NOT_AVAILABLE',
  NOT_COORDINATOR: 'NOT_COORDINATOR_FOR_GROUP',
  NOT_LEADER_OR_FOLLOWER: 'NOT_LEADER_FOR_PARTITION',
}

type Errors = Readonly<Record<string, { readonly id: string; readonly code: number; readonly canRetry: boolean }>>

/** `undefined` for 0: no error. */
export type AnswerOf = (code: number) => BrokerAnswer | undefined

export function answersBy(errors: Errors): AnswerOf {
  const byCode = new Map(Object.values(errors).map((error) => [error.code, error]))
  return (code) => {
    if (code === 0) return undefined
    const { id, canRetry } = byCode.get(code) ?? { id: `UNKNOWN_ERROR_${code}`, canRetry: false }
    return new BrokerAnswer(NAMES[id] ?? id, canRetry)
  }
}

/**
 * The first answer of a broker in an error of the client, which counts before the others; else it got none.
 */
export function answerIn(error: unknown): BrokerAnswer | Unanswered {
  for (const { apiId, canRetry, code, serverErrorMessage: told } of withCauses(error)) {
    if (code === 'PLT_KFK_UNSUPPORTED_API') return new BrokerAnswer('UNSUPPORTED_VERSION', false, error)
    if (typeof apiId === 'string') return new BrokerAnswer(NAMES[apiId] ?? apiId, canRetry === true, error, told)
  }
  return new Unanswered(error)
}

interface ErrorOfClient {
  readonly apiId?: unknown
  readonly canRetry?: unknown
  readonly code?: unknown
  readonly serverErrorMessage?: unknown
  readonly errors?: unknown
  readonly cause?: unknown
}

function* withCauses(error: unknown, depth = 0): Generator<ErrorOfClient> {
  if (typeof error !== 'object' || error === null || depth > 8) return
  yield error
  const { errors, cause } = error as ErrorOfClient
  if (Array.isArray(errors)) for (const one of errors) yield* withCauses(one, depth + 1)
  yield* withCauses(cause, depth + 1)
}

import {
  askedForTransaction,
  hasCode,
  isConsumeOnceError,
  LostRun,
  noTransaction,
  onceInOneRun,
  OutcomeUnknownError,
} from '../../src/internal.ts'
import { keyIn } from './key.ts'
import type { IdempotencyContext, IdempotencySettings } from './options.ts'
import type { BodyRead } from './parsed-body.ts'
import { keptReply, problem, replyIn, type Reply } from './reply.ts'
import { uncompressed } from './uncompressed.ts'

/** What an adapter reads of a request. */
export interface Facts<Request> {
  readonly request: Request
  readonly method: string
  /** With the query. */
  readonly path: string
  /** The header `Idempotency-Key`; several values joined by commas. */
  readonly key: string | undefined
  /** What the body is compared by, up to `maxBodyBytes`. */
  readonly body: () => BodyRead | Promise<BodyRead>
}

/** Handles the request, and gives its response before that is sent. */
type Handle = (context: object | undefined) => Promise<Reply>

/** What is answered in place of a handler's response: a problem, or the replay of an earlier response. */
export type Refused = Reply & { readonly body: Uint8Array }
/** `own`: the adapter sends the response of its handler. */
export type Answer = 'own' | Refused

const LONGEST_CALLER = 200
const SOON = [['retry-after', '1']] as const
const NOTHING_COMMITTED =
  'the database ended the transaction of this request (a deadlock, a conflict, a lost connection): nothing was committed'
const UNSEEN = 'the body of this request cannot be compared with that of another one with its Idempotency-Key'

/** A response that frees the key again. */
class NotRemembered extends Error {}

/** The request was handled under a lease that another owner took, and gave back. */
class HandledBefore extends OutcomeUnknownError {}

/** The rules of `Idempotency-Key`, for all adapters. */
export class Guard<Request> {
  readonly settings: IdempotencySettings<Request>
  #hasWarned = false

  constructor(settings: IdempotencySettings<Request>) {
    this.settings = settings
  }

  /** Requests of other methods pass. */
  applies(method: string): boolean {
    return this.settings.methods.has(method.toUpperCase())
  }

  /** @throws any error of `handle` and of `caller` */
  async answer(facts: Facts<Request>, handle: Handle): Promise<Answer> {
    const { key: header } = facts
    if (!this.applies(facts.method) || (header === undefined && !this.settings.required)) {
      await handle(undefined)
      return 'own'
    }
    if (header === undefined) {
      return problem(400, 'IDEMPOTENCY_KEY_MISSING', 'this request needs the header Idempotency-Key')
    }
    const key = keyIn(header)
    if (key === undefined) {
      const detail = 'Idempotency-Key: expected one string of 1 to 255 visible ASCII characters'
      return problem(400, 'IDEMPOTENCY_KEY_INVALID', detail)
    }
    const caller = await this.settings.caller(facts.request)
    if (typeof caller !== 'string' || caller === '') {
      return problem(401, 'CALLER_UNKNOWN', 'a request with an Idempotency-Key needs an authenticated caller')
    }
    if (Buffer.byteLength(caller) > LONGEST_CALLER) {
      throw new RangeError(
        `idempotency: caller: expected at most ${LONGEST_CALLER} bytes, got ${Buffer.byteLength(caller)}`,
      )
    }
    const body = await this.#compared(facts)
    switch (body.kind) {
      case 'bytes':
        return this.#once(`${caller.length}:${caller}:${key}`, payloadOf(facts, body.bytes), handle)
      case 'too-large':
        return problem(413, 'BODY_TOO_LARGE', `expected a body of at most ${this.settings.maxBodyBytes} bytes`)
      case 'unseen':
        return problem(415, 'BODY_NOT_COMPARABLE', `${UNSEEN}: ${body.why}; ${body.advice}`)
    }
  }

  /** What the body of the request is compared by. */
  async #compared({ request, body }: Facts<Request>): Promise<BodyRead> {
    const { fingerprint } = this.settings
    if (fingerprint === undefined) return body()
    const given: unknown = await fingerprint(request)
    if (given instanceof Uint8Array) return { kind: 'bytes', bytes: given }
    if (typeof given === 'string' && given.isWellFormed()) return { kind: 'bytes', bytes: Buffer.from(given) }
    const got = typeof given === 'string' ? 'text with a lone surrogate' : typeof given
    throw new TypeError(`idempotency: fingerprint: expected text or bytes, got ${got}`)
  }

  /** Frameworks answer errors of handlers themselves: the error is not seen here, and says `undefined` only. */
  #warn(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    process.emitWarning(noTransaction('claim.tx'), { code: 'CONSUME_ONCE_NO_TRANSACTION' })
  }

  async #once(id: string, payload: Uint8Array, handle: Handle): Promise<Answer> {
    const { store, remember, headers, once: options } = this.settings
    let hasRun = false
    const work = async (context: IdempotencyContext): Promise<unknown> => {
      // A request has one response, so its handler runs once.
      if (hasRun) throw new HandledBefore('the request was handled, and another owner had its key before the mark')
      hasRun = true
      const reply = await handle(context)
      if (reply.status >= 500 && askedForTransaction(context)) this.#warn()
      if (!(await isRemembered(remember, reply.status))) throw new NotRemembered()
      return keptReply(reply, headers)
    }
    try {
      const { result, replayed } = await onceInOneRun(store, id, work, { ...options, payload })
      return replayed ? await replayOf(replyIn(result)) : 'own'
    } catch (error) {
      if (error instanceof NotRemembered) return 'own'
      const refusal = refusalOf(error, hasRun)
      if (refusal === undefined) throw error
      return refusal
    }
  }
}

/** The handler has ended: an error of `remember` frees no key whose effect has happened. */
async function isRemembered(remember: IdempotencySettings<never>['remember'], status: number): Promise<boolean> {
  try {
    return await remember({ status })
  } catch (error) {
    throw new OutcomeUnknownError('remember failed after the request was handled', { cause: error })
  }
}

/** Method and path belong to the request: the same key on another path is another request. */
function payloadOf({ method, path }: Facts<unknown>, body: Uint8Array): Uint8Array {
  const line = `${method.toUpperCase()} ${path}`
  return Buffer.concat([Buffer.from(`${Buffer.byteLength(line)}:${line}`), body])
}

async function replayOf(reply: Reply): Promise<Refused> {
  const { status, headers, body } = await uncompressed(reply)
  if (body !== undefined) return { status, headers: [...headers, ['idempotency-replayed', 'true']], body }
  const detail = `the request was answered with ${status}, and its response was not kept, or is too large`
  return problem(409, 'RESPONSE_NOT_KEPT', detail, [['idempotency-replayed', 'true']])
}

/** `undefined`: the error is not about the key; the caller gets it as it is. */
function refusalOf(error: unknown, hasRun: boolean): Answer | undefined {
  if (error instanceof LostRun) return problem(503, 'NOTHING_COMMITTED', NOTHING_COMMITTED, SOON)
  if (error instanceof HandledBefore) return problem(409, 'RESPONSE_NOT_KEPT', error.message)
  if (hasCode(error, 'ONCE_BUSY')) {
    return problem(409, 'IDEMPOTENCY_KEY_IN_USE', 'a request with this Idempotency-Key is under way', SOON)
  }
  if (hasCode(error, 'ONCE_CONFLICT')) {
    return problem(422, 'IDEMPOTENCY_KEY_REUSED', 'this Idempotency-Key was used with another request')
  }
  if (hasCode(error, 'ONCE_SET_ASIDE')) {
    return problem(409, 'OUTCOME_UNKNOWN', 'it is not known whether the first request with this key had its effect')
  }
  if (hasCode(error, 'RESULT_UNREADABLE')) {
    return problem(409, 'RESPONSE_NOT_KEPT', 'the request was handled, and its response cannot be read')
  }
  const isStoreDown = hasCode(error, 'STORE_UNREACHABLE') || hasCode(error, 'STORE_AMBIGUOUS')
  return isStoreDown ? problem(503, 'STORE_UNREACHABLE', storeDetail(hasRun), SOON) : undefined
}

/** Where nobody else answers a failure after the answer of a handler. */
export function failed(error: unknown): Refused {
  const code = isConsumeOnceError(error) ? error.code : 'REQUEST_FAILED'
  return problem(500, code, 'the request failed after its handler had answered, and that answer is not given')
}

function storeDetail(hasRun: boolean): string {
  return hasRun ? 'the request was handled, and its key could not be stored' : 'the request was not handled'
}

import { failed, Guard, type Facts } from './guard.ts'
import type { ResponseLike } from './held.ts'
import { holdResponse, sendOn } from './hold.ts'
import { settingsOf, type IdempotencyContext, type IdempotencyOptions } from './options.ts'
import { bytesOfParsed, type BodyStreamLike } from './parsed-body.ts'

/** What is used of a request of Express, or of Nest on Express. */
export interface ExpressRequestLike extends BodyStreamLike {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly originalUrl?: string
  /** Parsed before, such as by `express.json()`. */
  readonly body?: unknown
  /** The bytes that were parsed, if the parser keeps them. */
  readonly rawBody?: Uint8Array
  /** Set by the parser of Express 4. */
  readonly _body?: boolean
}

/** What is used of a response: that of `node:http`. */
export type ExpressResponseLike = ResponseLike

const claims = new WeakMap<object, unknown>()

/** The claim under which a request is handled. `undefined`: it has none. */
export function idempotencyOf<Tx = never>(request: object): IdempotencyContext<Tx> | undefined {
  return claims.get(request) as IdempotencyContext<Tx> | undefined
}

/**
 * Middleware for Express and for Nest on Express, see `idempotent`. Mount it behind the authentication and the parser of
 * bodies (bodies are compared by `rawBody`, or as parsed), and before the routes. Handlers find their claim by
 * `idempotencyOf(request)`.
 *
 * The response is held in memory until its handler has ended it (`response.json`, `send`, `end`) and its key is marked.
 * That end is the end of the handler: the transaction commits, a query on `tx` after it is refused with
 * `TRANSACTION_OVER`, and a failure after it changes nothing, as without this library.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function expressIdempotency<R extends ExpressRequestLike = ExpressRequestLike, Tx = never>(
  options: IdempotencyOptions<R, Tx>,
): (request: R, response: ExpressResponseLike, next: (error?: unknown) => void) => void {
  const guard = new Guard(settingsOf(options, 'expressIdempotency()'), 'parsed')
  return (request, response, next) => {
    const { method } = request
    if (method === undefined) throw new TypeError('idempotency: expected a request with a method')
    if (!guard.applies(method)) return next()
    void holdResponse(
      guard,
      factsOf(request, method, guard.settings.maxBodyBytes),
      { request, response },
      {
        handle: (claim) => {
          if (claim !== undefined) claims.set(request, claim)
          next()
        },
        answer: (answer) => sendOn(response, answer),
        fail: (error, _hasRun, isGivenUp) => {
          if (!isGivenUp) return next(error)
          // The handlers of errors have passed on an earlier failure: only Express itself is left, which would send a stack.
          response.setHeader('connection', 'close')
          sendOn(response, failed(error))
          response.once('close', () => next(error))
        },
      },
    )
  }
}

function factsOf<R extends ExpressRequestLike>(request: R, method: string, most: number): Facts<R> {
  const path = request.originalUrl ?? request.url
  if (path === undefined) throw new TypeError('idempotency: expected a request with a URL')
  const header = request.headers['idempotency-key']
  const key = typeof header === 'string' || header === undefined ? header : header.join(', ')
  const { rawBody, body, _body: isParsed = false } = request
  return { request, method, path, key, body: () => bytesOfParsed({ stream: request, rawBody, body, isParsed }, most) }
}

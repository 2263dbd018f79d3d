import { keepClaim } from './claims.ts'
import { failed, type Facts, type Guard } from './guard.ts'
import type { ResponseLike } from './held.ts'
import { holdResponse, sendOn } from './hold.ts'
import { bytesOfParsed, keyHeader, type BodyStreamLike } from './parsed-body.ts'

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

export type ExpressMiddleware<R> = (
  request: R & ExpressRequestLike,
  response: ExpressResponseLike,
  next: (error?: unknown) => void,
) => void

export function express<R>(guard: Guard<R>): ExpressMiddleware<R> {
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
          keepClaim(request, claim)
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

function factsOf<R>(request: R & ExpressRequestLike, method: string, most: number): Facts<R> {
  const path = request.originalUrl ?? request.url
  if (path === undefined) throw new TypeError('idempotency: expected a request with a URL')
  const { rawBody, body, _body: isParsed = false } = request
  const read = () => bytesOfParsed({ stream: request, rawBody, body, isParsed }, most)
  return { request, method, path, key: keyHeader(request), body: read }
}

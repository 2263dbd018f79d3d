import { express, type ExpressMiddleware } from './express.ts'
import { fastify, type FastifyHook } from './fastify.ts'
import { fetchHandler, hono, type FetchWrapper, type HonoMiddleware } from './fetch.ts'
import { Guard } from './guard.ts'
import { settingsOf, type IdempotencyOptions } from './options.ts'

/** One guard in the forms that frameworks take. `R` is the request that `caller` gets. */
export interface Idempotency<R> {
  /**
   * Middleware for Express and for Nest on Express. Mount it behind the authentication and the parser of bodies (bodies
   * are compared by `rawBody`, or as parsed), and before the routes. `response.json`, `send` or `end` is the end of the
   * handler: the transaction commits, a query on `tx` after it is refused with `TRANSACTION_OVER`, and a failure after it
   * changes nothing, as without this library.
   */
  readonly express: ExpressMiddleware<R>
  /**
   * Hook for Fastify, `app.addHook('preHandler', …)`, for the routes that are added to `app` or to a scope of
   * `app.register`. Authenticate before, in `onRequest`. `reply.send` is the end of the handler; a stream ends it at its
   * end.
   */
  readonly fastify: FastifyHook<R>
  /** Middleware for Hono. Mount it behind the authentication, and before whatever changes responses, such as compression. */
  readonly hono: HonoMiddleware<R>
  /**
   * Wraps a handler of the fetch form. The function that is returned rejects with any error of the handler; the key is
   * then free again.
   */
  readonly fetch: FetchWrapper<R>
}

/**
 * Makes requests idempotent by the header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): the first
 * response is stored with the mark of the key, and repeated with `Idempotency-Replayed: true`. Handlers find their claim
 * by `claimOf(request)`.
 *
 * | status | `code`                                               | when                                               |
 * | ------ | ---------------------------------------------------- | -------------------------------------------------- |
 * | 400    | `IDEMPOTENCY_KEY_MISSING`, `IDEMPOTENCY_KEY_INVALID` |                                                    |
 * | 401    | `CALLER_UNKNOWN`                                     | `caller` gave none                                 |
 * | 409    | `IDEMPOTENCY_KEY_IN_USE`, with `Retry-After`         | the first request with the key is under way        |
 * | 409    | `OUTCOME_UNKNOWN`                                    | `onInDoubt: 'park'`, and its run has no known end  |
 * | 409    | `RESPONSE_NOT_KEPT`                                  | handled; the response was too large to be kept     |
 * | 413    | `BODY_TOO_LARGE`                                     |                                                    |
 * | 415    | `BODY_NOT_COMPARABLE`                                | nothing is known of the body, or it is an upload   |
 * | 422    | `IDEMPOTENCY_KEY_REUSED`                             | the key came with another body, path or method     |
 * | 503    | `NOTHING_COMMITTED`, with `Retry-After`              | an inbox: a deadlock, or a lost connection         |
 * | 503    | `STORE_UNREACHABLE`, with `Retry-After`              |                                                    |
 *
 * The response is held in memory until it is whole, a stream too, and its key is marked: this is the end of the handler.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function idempotency<R, Tx = never>(options: IdempotencyOptions<R, Tx>): Idempotency<R> {
  const guard = new Guard(settingsOf(options))
  return { express: express(guard), fastify: fastify(guard), hono: hono(guard), fetch: fetchHandler(guard) }
}

// HTTP requests that have their effect once, as `consume-once/http`: the header `Idempotency-Key`.

export { claimOf } from './claims.ts'
export { idempotency, type Idempotency } from './idempotency.ts'
export type { ExpressMiddleware, ExpressRequestLike, ExpressResponseLike } from './express.ts'
export type { FastifyHook, FastifyReplyLike, FastifyRequestLike } from './fastify.ts'
export type { FetchWrapper, HonoContextLike, HonoMiddleware } from './fetch.ts'
export type { IdempotencyContext, IdempotencyOptions } from './options.ts'

// HTTP requests that have their effect once, as `consume-once/http`: the header `Idempotency-Key`.

export { idempotent, type IdempotentHandler } from './fetch.ts'
export { expressIdempotency, idempotencyOf, type ExpressRequestLike, type ExpressResponseLike } from './express.ts'
export {
  fastifyIdempotency,
  fastifyIdempotencyOf,
  type FastifyLike,
  type FastifyReplyLike,
  type FastifyRequestLike,
} from './fastify.ts'
export { honoIdempotency, type HonoContextLike } from './hono.ts'
export type { IdempotencyContext, IdempotencyOptions } from './options.ts'

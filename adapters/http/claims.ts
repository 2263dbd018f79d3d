import type { IdempotencyContext } from './options.ts'

const claims = new WeakMap<object, unknown>()

/**
 * The claim under which a request is handled; `undefined`: it has none, because it needs no key.
 *
 * @param request - what the handler gets: the request of Express, Nest, Fastify or fetch; in Hono the context
 */
export function claimOf<Tx = never>(request: object): IdempotencyContext<Tx> | undefined {
  return claims.get(request) as IdempotencyContext<Tx> | undefined
}

/** `undefined`: the request is handled without a claim. */
export function keepClaim(request: object, claim: object | undefined): void {
  if (claim !== undefined) claims.set(request, claim)
}

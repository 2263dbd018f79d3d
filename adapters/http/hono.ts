import { answerFetch } from './fetch.ts'
import { Guard } from './guard.ts'
import { settingsOf, type IdempotencyOptions } from './options.ts'

/** What is used of a context of Hono. */
export interface HonoContextLike {
  readonly req: { readonly raw: Request }
  // Hono's own setter takes both.
  get res(): Response
  set res(response: Response | undefined)
  set(name: string, value: unknown): void
}

/**
 * Middleware for Hono, see `idempotent`. Handlers find their claim as `c.get('idempotency')`. Mount it behind the
 * authentication, and before whatever changes responses, such as compression.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function honoIdempotency<Tx = never>(
  options: IdempotencyOptions<Request, Tx>,
): (context: HonoContextLike, next: () => Promise<void>) => Promise<void> {
  const guard = new Guard(settingsOf(options, 'honoIdempotency()'), 'bytes')
  return async (context, next) => {
    const response = await answerFetch(guard, context.req.raw, async (claim) => {
      if (claim !== undefined) context.set('idempotency', claim)
      await next()
      return context.res
    })
    // Hono merges the headers of the response that was set before.
    context.res = undefined
    context.res = response
  }
}

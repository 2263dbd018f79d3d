import { describeError } from '../../../src/internal.ts'
import type { RedisPort } from '../clients/redis-port.ts'

/** Errors of the operating system for a server that takes no connection: its name is unknown, or nobody listens there. */
const REFUSED = /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)\b/

/** Tells of connections that are refused. However many wait, the client has one listener, and none while nobody does. */
export class Refusals {
  readonly #redis: RedisPort
  readonly #listeners = new Set<(why: string) => void>()
  #unwatch: (() => void) | undefined

  constructor(redis: RedisPort) {
    this.#redis = redis
  }

  watch(listener: (why: string) => void): () => void {
    this.#listeners.add(listener)
    this.#unwatch ??= this.#redis.onError?.((error) => this.#tell(error))
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#unwatch?.()
      this.#unwatch = undefined
    }
  }

  #tell(error: unknown): void {
    const text = textOf(error)
    if (!REFUSED.test(text)) return
    const { address } = this.#redis
    const server = address === undefined ? 'Redis' : `Redis at ${address}`
    for (const listener of this.#listeners) listener(`${server} cannot be connected to: ${text}`)
  }
}

/** The error of several addresses of one name has no text of its own. */
function textOf(error: unknown): string {
  const { errors } = (error ?? {}) as { readonly errors?: unknown }
  return Array.isArray(errors) && errors.length > 0 ? errors.map(describeError).join('; ') : describeError(error)
}

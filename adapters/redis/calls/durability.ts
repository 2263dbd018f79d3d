import { StoreError, type DurationMs } from '../../../src/internal.ts'

/** How durable a mark must be before it counts. */
export type Durability =
  | { readonly kind: 'memory' }
  | { readonly kind: 'replicas'; readonly replicas: number; readonly withinMs: DurationMs }
  | { readonly kind: 'fsync'; readonly replicas: number; readonly withinMs: DurationMs }

export type Waiting = Exclude<Durability, { kind: 'memory' }>

/**
 * WAIT and WAITAOF cover the writes of their own connection. They also reply when their time is over: only the count in
 * the reply shows how far the writes have come.
 */
export function waitCommand(durability: Waiting): readonly string[] {
  const { kind, replicas, withinMs } = durability
  // 0 would mean no limit.
  const words = [String(replicas), String(Math.max(1, Math.ceil(withinMs)))]
  return kind === 'replicas' ? ['WAIT', ...words] : ['WAITAOF', '1', ...words]
}

/** The server is up and has the writes, but they are not durable enough yet. */
export class NotFarEnoughError extends StoreError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super('STORE_AMBIGUOUS', message, options)
  }
}

/** @throws NotFarEnoughError if the writes are not durable enough: they may still be lost, so they are sent again */
export function checkWaited({ kind, replicas, withinMs }: Waiting, reply: unknown): void {
  const [synced, reached] = kind === 'replicas' ? [1, Number(reply)] : numbersOf(reply)
  if (synced >= 1 && reached >= replicas) return // mutant: redis-wait-unread
  const found = [
    ...(kind === 'fsync' ? [synced >= 1 ? 'on disk' : 'not on disk'] : []),
    ...(replicas > 0 ? [`on ${reached} of ${replicas} replicas`] : []),
  ]
  throw new NotFarEnoughError(`Redis: written, but ${found.join(' and ')} within ${withinMs} ms`)
}

function numbersOf(reply: unknown): readonly [number, number] {
  return Array.isArray(reply) ? [Number(reply[0]), Number(reply[1])] : [Number.NaN, Number.NaN]
}

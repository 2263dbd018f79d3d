import type {
  Key,
  MarkVerdict,
  MessageRecord,
  Reason,
  ReleaseVerdict,
  RenewVerdict,
  SetAsideVerdict,
} from '../core/record.ts'
import { transition } from '../core/record.ts'
import type { DurationMs } from '../core/units.ts'
import { systemClock } from '../clock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Claim, ClaimAnswer, ClaimRequest, ReleaseOptions, Store } from '../ports/store.ts'

/**
 * The reference store: `transition()` and a Map. For tests, demos and single processes that may forget on exit. It never
 * shrinks but by retention, which it checks when a key is met again.
 */
export function memoryStore({ clock = systemClock }: { readonly clock?: Pick<Clock, 'now'> } = {}): Store {
  return new MemoryStore(clock)
}

class MemoryStore implements Store {
  readonly strategy = 'lease'
  readonly #clock: Pick<Clock, 'now'>
  readonly #records = new Map<Key, MessageRecord>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  async open(): Promise<void> {}

  async claim({ token, leaseMs, retentionMs, alone, scope, items }: ClaimRequest): Promise<readonly ClaimAnswer[]> {
    const now = this.#clock.now()
    return items.map(({ key, digest }): ClaimAnswer => {
      const command = { command: 'claim', token, digest, leaseMs, retentionMs, alone } as const
      const { next, verdict: answer } = transition<'claim'>(this.#record(key), command, now)
      this.#records.set(key, next)
      if (!('fence' in answer)) return answer
      const { verdict, fence, attempt } = answer
      return { verdict, fence, attempt, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
    })
  }

  async renew(claims: readonly Claim[], leaseMs: DurationMs): Promise<readonly RenewVerdict[]> {
    return claims.map(({ key, token }) => this.#move<'renew'>(key, { command: 'renew', token, leaseMs }))
  }

  async mark(claims: readonly Claim[]): Promise<readonly MarkVerdict[]> {
    return claims.map(({ key, token, digest, fence, retentionMs }) =>
      this.#move<'mark'>(key, { command: 'mark', token, digest, fence, retentionMs }),
    )
  }

  async release(claims: readonly Claim[], { refund, doubt }: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return claims.map(({ key, token }) => this.#move<'release'>(key, { command: 'release', token, refund, doubt }))
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    reason: Reason,
  ): Promise<readonly SetAsideVerdict[]> {
    return claims.map(({ key, token }) => this.#move<'set-aside'>(key, { command: 'set-aside', token, as, reason }))
  }

  #record(key: Key): MessageRecord {
    return this.#records.get(key) ?? { state: 'absent' }
  }

  #move<C extends 'renew' | 'mark' | 'release' | 'set-aside'>(
    key: Key,
    command: Parameters<typeof transition<C>>[1],
  ): ReturnType<typeof transition<C>>['verdict'] {
    const { next, verdict } = transition<C>(this.#record(key), command, this.#clock.now())
    this.#records.set(key, next)
    return verdict
  }
}

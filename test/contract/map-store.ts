import { transition, type Command, type Key, type MessageRecord, type Transition } from '../../src/core/record.ts'
import type { Claim, ClaimAnswer, ClaimRequest, ReleaseOptions, Store } from '../../src/ports/store.ts'
import type { MarkVerdict, ReleaseVerdict, RenewVerdict, Result, SetAsideVerdict } from '../../src/core/record.ts'
import type { LeaseHarness } from './harness.ts'

export type AnyTransition = Transition<Command['command']>

/** Moves one record: `transition()`, or something that looks like it. */
export type Step = (record: MessageRecord, command: Command, now: number) => AnyTransition

export const rightStep: Step = (record, command, now) => transition<Command['command']>(record, command, now)

/** `memoryStore()` over a step of one's own. */
export class MapStore implements Store {
  readonly strategy = 'lease'
  readonly records: Map<Key, MessageRecord> = new Map()
  now = 1_000_000
  readonly #step: Step

  constructor(step: Step = rightStep) {
    this.#step = step
  }

  async open(): Promise<void> {}

  async claim({ items, scope, token, leaseMs, retentionMs, alone }: ClaimRequest): Promise<readonly ClaimAnswer[]> {
    return items.map(({ key, digest }): ClaimAnswer => {
      const answer = this.move(key, { command: 'claim', token, digest, leaseMs, retentionMs, alone })
      if (typeof answer === 'string') throw new TypeError('a verdict of another command (map-store)')
      if (!('fence' in answer)) return answer
      const { fence, attempt } = answer
      return { ...answer, claim: { key, digest, scope, token, fence, attempt, retentionMs } }
    })
  }

  async renew(claims: readonly Claim[], leaseMs: number): Promise<readonly RenewVerdict[]> {
    return claims.map(({ key, token }) => this.move(key, { command: 'renew', token, leaseMs }) as RenewVerdict)
  }

  async mark(claims: readonly Claim[], results: readonly (Result | undefined)[] = []): Promise<readonly MarkVerdict[]> {
    return claims.map(
      ({ key, ...claimed }, at) => this.move(key, { command: 'mark', ...claimed, result: results[at] }) as MarkVerdict,
    )
  }

  async release(claims: readonly Claim[], how: ReleaseOptions): Promise<readonly ReleaseVerdict[]> {
    return claims.map(({ key, token }) => this.move(key, { command: 'release', token, ...how }) as ReleaseVerdict)
  }

  async setAside(
    claims: readonly Claim[],
    as: 'given-up' | 'parked',
    reason: string,
  ): Promise<readonly SetAsideVerdict[]> {
    return claims.map(
      ({ key, token }) => this.move(key, { command: 'set-aside', token, as, reason }) as SetAsideVerdict,
    )
  }

  move(key: Key, command: Command): AnyTransition['verdict'] {
    const { next, verdict } = this.#step(this.records.get(key) ?? { state: 'absent' }, command, this.now)
    this.records.set(key, next)
    return verdict
  }
}

export function mapHarness(store: MapStore): LeaseHarness {
  return {
    store,
    secondStore: async () => store,
    advance: async (ms) => {
      store.now += ms
    },
    forget: async (key) => void store.records.delete(key),
    close: async () => {},
  }
}

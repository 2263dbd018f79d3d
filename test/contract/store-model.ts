import * as fc from 'fast-check'
import { expect } from '@jest/globals'
import type { Result } from '../../src/core/record.ts'
import type { Claim, ClaimRequest, ReleaseOptions, Store } from '../../src/ports/store.ts'
import { newName } from './harness.ts'
import { MapStore } from './map-store.ts'

type Call =
  | { readonly call: 'wait'; readonly ms: number }
  | { readonly call: 'claim'; readonly request: ClaimRequest }
  | { readonly call: 'renew'; readonly claims: readonly Claim[]; readonly leaseMs: number }
  | { readonly call: 'mark'; readonly claims: readonly Claim[]; readonly results: readonly (Result | undefined)[] }
  | { readonly call: 'release'; readonly claims: readonly Claim[]; readonly how: ReleaseOptions }
  | { readonly call: 'set-aside'; readonly claims: readonly Claim[]; readonly as: 'given-up' | 'parked' }

interface Times {
  readonly leases: readonly number[]
  readonly retentions: readonly number[]
  readonly waits: readonly number[]
}

/** For a clock that is moved by hand. */
const STEERED: Times = { leases: [0, 5, 20], retentions: [10, 30, 1_000], waits: [1, 4, 5, 25] }

/** For a server's own clock: leases are over at once or never, so nothing depends on the time between two calls. */
const UNSTEERED: Times = { leases: [0, 3_600_000], retentions: [3_600_000], waits: [0] }

/**
 * Sends random calls of three owners, granted or not, about three keys, and compares every answer with that of
 * `transition()` over a Map.
 */
export async function assertLikeTransition(
  store: Store,
  { numRuns, wait }: { readonly numRuns: number; readonly wait?: (ms: number) => void },
): Promise<void> {
  const calls = fc.array(callIn(wait === undefined ? UNSTEERED : STEERED), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(calls, async (ofRun) => {
      const model = new MapStore()
      const run = newName()
      for (const call of ofRun) {
        if (call.call === 'wait') {
          wait?.(call.ms)
          model.now += call.ms
        } else {
          const [answer, expected] = [await send(store, call, run), await send(model, call, run)]
          if (wait === undefined) expect(answer.map(withoutTime)).toEqual(expected.map(withoutTime))
          else expect(answer).toEqual(expected)
        }
      }
    }),
    { numRuns },
  )
}

/** Keys of another run are other keys. */
function send(store: Store, call: Exclude<Call, { call: 'wait' }>, run: string): Promise<readonly unknown[]> {
  const own = <T extends { readonly key: string }>(item: T): T => ({ ...item, key: `${item.key}${run}` })
  if (call.call === 'claim') return store.claim({ ...call.request, items: call.request.items.map(own) })
  const claims = call.claims.map(own)
  switch (call.call) {
    case 'renew':
      return store.renew(claims, call.leaseMs)
    case 'mark':
      return store.mark(claims, call.results)
    case 'release':
      return store.release(claims, call.how)
    case 'set-aside':
      return store.setAside(claims, call.as, `${call.as}|why`)
  }
}

/** What a lease has left depends on the store's clock. */
function withoutTime(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'leaseLeftMs' in answer ? 'busy' : answer
}

function callIn({ leases, retentions, waits }: Times): fc.Arbitrary<Call> {
  const token = fc.constantFrom('left', 'middle', 'right')
  const retentionMs = fc.constantFrom(...retentions)
  const leaseMs = fc.constantFrom(...leases)
  const item = fc.record({ key: fc.constantFrom('a', 'b', 'c'), digest: fc.constantFrom('same', 'same', 'other', '') })
  const items = fc.uniqueArray(item, { minLength: 1, maxLength: 3, selector: ({ key }) => key })
  const claim = fc.record({ token, retentionMs, fence: fc.integer({ min: 1, max: 3 }) })
  const claims = fc
    .tuple(items, claim)
    .map(([of, shared]): readonly Claim[] => of.map((one) => ({ ...one, ...shared, scope: 'model', attempt: 1 })))
  const result = fc.constantFrom(undefined, 'u', 'v"a|b"', 'f{}')
  const results = fc.array(result, { maxLength: 3 })
  const request = fc.record({ token, leaseMs, retentionMs, alone: fc.boolean(), scope: fc.constant('model'), items })
  const how = fc.record({ refund: fc.boolean(), doubt: fc.boolean() })
  return fc.oneof(
    { weight: 1, arbitrary: fc.record({ call: fc.constant('wait' as const), ms: fc.constantFrom(...waits) }) },
    { weight: 4, arbitrary: fc.record({ call: fc.constant('claim' as const), request }) },
    { weight: 1, arbitrary: fc.record({ call: fc.constant('renew' as const), claims, leaseMs }) },
    { weight: 2, arbitrary: fc.record({ call: fc.constant('mark' as const), claims, results }) },
    { weight: 3, arbitrary: fc.record({ call: fc.constant('release' as const), claims, how }) },
    {
      weight: 1,
      arbitrary: fc.record({
        call: fc.constant('set-aside' as const),
        claims,
        as: fc.constantFrom('given-up' as const, 'parked' as const),
      }),
    },
  )
}

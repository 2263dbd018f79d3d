import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect } from '@jest/globals'
import { viewOf, type Decision, type Key, type Result } from '../../src/core/record.ts'
import type { StoreAdmin } from '../../src/ports/store-admin.ts'
import type { Claim, ClaimRequest, ReleaseOptions, SetAsideOptions, Store } from '../../src/ports/store.ts'
import { newName } from '../../testing/contract/store/claims.ts'
import { MapStore } from './map-store.ts'

type Call =
  | { readonly call: 'wait'; readonly ms: number }
  | { readonly call: 'claim'; readonly request: ClaimRequest }
  | { readonly call: 'renew'; readonly claims: readonly Claim[]; readonly leaseMs: number }
  | { readonly call: 'mark'; readonly claims: readonly Claim[]; readonly results: readonly (Result | undefined)[] }
  | { readonly call: 'release'; readonly claims: readonly Claim[]; readonly how: ReleaseOptions }
  | {
      readonly call: 'set-aside'
      readonly claims: readonly Claim[]
      readonly as: 'given-up' | 'parked'
      readonly why: SetAsideOptions
    }
  | {
      readonly call: 'decide'
      readonly keys: readonly Key[]
      readonly decision: Decision
      readonly retentionMs: number
    }
  | { readonly call: 'peek'; readonly keys: readonly Key[] }

interface Times {
  readonly leases: readonly number[]
  readonly retentions: readonly number[]
  readonly waits: readonly number[]
  readonly delays: readonly number[]
}

/** For a clock that is moved by hand. */
const STEERED: Times = { leases: [0, 5, 20], retentions: [10, 30, 1_000], waits: [1, 4, 5, 25], delays: [0, 4, 20] }

const HOUR_MS = 3_600_000

/** For a server's own clock whose records can be made older: in steps that the time between two calls is nothing beside. */
const AGED: Times = {
  leases: [0, HOUR_MS, 4 * HOUR_MS],
  retentions: [2 * HOUR_MS, 6 * HOUR_MS, 1_000 * HOUR_MS],
  waits: [HOUR_MS, 2 * HOUR_MS, 5 * HOUR_MS],
  delays: [0, 1.5 * HOUR_MS, 4.5 * HOUR_MS],
}

/** For a server's own clock: leases are over at once or never, so nothing depends on the time between two calls. */
const UNSTEERED: Times = { leases: [0, HOUR_MS], retentions: [HOUR_MS], waits: [0], delays: [0, HOUR_MS] }

export interface ModelOptions {
  readonly numRuns: number
  /** The same calls in each run, and no search for the shortest that fail: for a store that must be found out. @defaultValue by chance */
  readonly seed?: number
  /** Moves the store's clock, by exactly so much. */
  readonly wait?: (ms: number) => void
  /** Makes all records of the store older, whatever its clock does. */
  readonly age?: (ms: number) => Promise<void>
  /** A decision that the store follows by a law of its own. */
  readonly without?: Decision
}

/**
 * Sends random calls of three owners, granted or not, about three keys, and compares every answer with that of
 * `transition()` over a Map. Where the store has `admin`, people decide in between.
 */
export async function assertLikeTransition(
  store: Store,
  { numRuns, seed, wait, age, without }: ModelOptions,
): Promise<void> {
  // In a scope that is in use: a store may not know when something was marked before its first claim.
  const [retentionMs = HOUR_MS] = UNSTEERED.retentions
  await store.admin?.import?.('model', [named(newName())], { by: 'model', reason: 'first use', retentionMs })
  const times = wait !== undefined ? STEERED : age !== undefined ? AGED : UNSTEERED
  const calls = fc.array(callIn(times, store.admin, without), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(calls, async (ofRun) => {
      const model = new MapStore()
      const run = newName()
      for (const call of ofRun) {
        if (call.call === 'wait') {
          wait?.(call.ms)
          await age?.(call.ms)
          model.now += call.ms
        } else {
          const own = ownOf(call, run)
          const [answer, expected] = [await send(store, own), await tell(model, own)]
          const comparable = wait === undefined ? withoutTimes : withoutDates
          expect(answer.map(comparable)).toEqual(expected.map(comparable))
        }
      }
    }),
    { numRuns, ...(seed === undefined ? {} : { seed, endOnFailure: true }) },
  )
}

type StoreCall = Exclude<Call, { call: 'wait' }>

/** Keys of another run are other keys. Keys and digests have the shape of real ones. */
function ownOf(call: StoreCall, run: string): StoreCall {
  const keyOf = (key: Key): Key => named(`${key} ${run}`)
  const own = <T extends { readonly key: Key; readonly digest: string }>(item: T): T => ({
    ...item,
    key: keyOf(item.key),
    digest: item.digest === '' ? '' : named(item.digest),
  })
  if (call.call === 'claim') return { ...call, request: { ...call.request, items: call.request.items.map(own) } }
  return 'keys' in call ? { ...call, keys: call.keys.map(keyOf) } : { ...call, claims: call.claims.map(own) }
}

function named(name: string): string {
  return createHash('sha256').update(name).digest().subarray(0, 16).toString('base64url')
}

/** Whose a record is, transition() does not know. */
async function peek(admin: StoreAdmin, keys: readonly Key[]): Promise<readonly unknown[]> {
  return (await admin.peek('model', keys)).map((view) => ({ ...view, scope: undefined }))
}

function send(store: Store, call: StoreCall): Promise<readonly unknown[]> {
  switch (call.call) {
    case 'claim':
      return store.claim(call.request)
    case 'renew':
      return store.renew(call.claims, call.leaseMs)
    case 'mark':
      return store.mark(call.claims, call.results)
    case 'release':
      return store.release(call.claims, call.how)
    case 'set-aside':
      return store.setAside(call.claims, call.as, call.why)
    case 'decide':
      return decide(adminOf(store), call)
    case 'peek':
      return peek(adminOf(store), call.keys)
  }
}

/** The model needs no `admin` to be told what people decide. */
function tell(model: MapStore, call: StoreCall): Promise<readonly unknown[]> {
  if (call.call === 'peek') {
    const views = call.keys.map((key) => viewOf(model.records.get(key) ?? { state: 'absent' }, model.now))
    return Promise.resolve(views)
  }
  if (call.call !== 'decide') return send(model, call)
  const { decision, retentionMs } = call
  return Promise.resolve(call.keys.map((key) => model.move(key, { command: 'decide', decision, retentionMs })))
}

function decide(
  admin: StoreAdmin,
  { keys, decision, retentionMs }: Extract<Call, { call: 'decide' }>,
): Promise<readonly unknown[]> {
  const why = { by: 'model', reason: 'because', retentionMs }
  if (decision === 'reopen' || decision === 'forget') return admin[decision]('model', keys, why)
  if (decision === 'import') return Promise.resolve(admin.import?.('model', keys, why) ?? [])
  return admin.resolve('model', keys, { ...why, as: decision })
}

function adminOf({ admin }: Store): StoreAdmin {
  if (admin === undefined) throw new TypeError('a store with admin was expected (store-model)')
  return admin
}

/** The clocks of store and model need not begin at the same date. That there is one is told, of what the model has. */
function withoutDates(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer
  const { since, notBefore } = answer as { readonly since?: unknown; readonly notBefore?: unknown }
  return { ...answer, keepUntil: undefined, since: typeof since, notBefore: typeof notBefore }
}

/** What is left of a lease depends on the store's clock. */
function withoutTimes(answer: unknown): unknown {
  const dateless = withoutDates(answer)
  return typeof dateless === 'object' && dateless !== null ? { ...dateless, leaseLeftMs: undefined } : dateless
}

function callIn(
  { leases, retentions, waits, delays }: Times,
  admin: StoreAdmin | undefined,
  without: Decision | undefined,
): fc.Arbitrary<Call> {
  // As long as real tokens.
  const token = fc.constantFrom('left-owner--', 'middle-owner', 'right-owner-')
  const retentionMs = fc.constantFrom(...retentions)
  const leaseMs = fc.constantFrom(...leases)
  const key = fc.constantFrom('a', 'b', 'c')
  const item = fc.record({ key, digest: fc.constantFrom('same', 'same', 'other', '') })
  const items = fc.uniqueArray(item, { minLength: 1, maxLength: 3, selector: (one) => one.key })
  const claim = fc.record({ token, retentionMs, fence: fc.integer({ min: 1, max: 3 }) })
  const claims = fc
    .tuple(items, claim)
    .map(([of, shared]): readonly Claim[] => of.map((one) => ({ ...one, ...shared, scope: 'model', attempt: 1 })))
  const result = fc.constantFrom(undefined, 'u', 'v"a|b"', 'f{}')
  const results = fc.array(result, { maxLength: 3 })
  const request = fc.record({ token, leaseMs, retentionMs, alone: fc.boolean(), scope: fc.constant('model'), items })
  const cause = fc.constantFrom(undefined, 'Error: no', 'a|b\n100 % %7C')
  const how = fc.record({ refund: fc.boolean(), doubt: fc.boolean(), delayMs: fc.constantFrom(...delays), cause })
  const why = fc.record({ reason: fc.constantFrom('no', 'given-up|why\n'), refund: fc.boolean(), cause })
  const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 3 })
  const onRecords: readonly Decision[] = ['done', 'rerun', 'reopen', 'forget']
  const decisions = admin?.import === undefined ? onRecords : [...onRecords, 'import' as const]
  const decision = fc.constantFrom(...decisions.filter((one) => one !== without))
  const byPeople = admin === undefined ? 0 : 2
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ call: fc.constant('wait' as const), ms: fc.constantFrom(...waits) }) },
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
        why,
      }),
    },
    {
      weight: byPeople,
      arbitrary: fc.record({ call: fc.constant('decide' as const), keys, decision, retentionMs }),
    },
    { weight: byPeople, arbitrary: fc.record({ call: fc.constant('peek' as const), keys }) },
  )
}

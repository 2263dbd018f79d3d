import { expect } from '@jest/globals'
import type { Store } from '../../src/index.ts'
import { claim, hold, newItem, newToken, SCOPE } from '../../testing/contract/store/claims.ts'
import { ALONE, holdNew, NO_REFUND, REFUND } from '../../testing/contract/store/given.ts'
import type { Fault, FaultProxy } from '../../test/kit/fault-proxy.ts'
import { untilAnswered } from '../../test/kit/eventually.ts'

/** A lease store whose connections go over a link, and another on the same data whose do not. */
export interface LeaseOnLink {
  readonly link: FaultProxy
  readonly store: Store
  readonly before: Store
  /** The store loses a record. */
  readonly forget: (key: string) => Promise<void>
  /** Decisions that were written down, in order. */
  readonly audit: () => Promise<readonly unknown[]>
}

const WHY = { by: 'somebody', reason: 'it was looked at', retentionMs: 60_000 }

interface Scene {
  readonly call: (store: Store) => Promise<unknown>
  /** Expected last answer. The call may have been the first that reached the server. */
  readonly answer: unknown
  readonly after: (store: Store) => Promise<unknown>
  readonly left: unknown
}

/** Each call, on a record that another store has prepared. */
const SCENES: Readonly<Record<string, (on: LeaseOnLink) => Promise<Scene>>> = {
  async claim() {
    const [item, token] = [newItem(), newToken()]
    return {
      call: (store) => claim(store, item, { token }),
      answer: expect.objectContaining({ verdict: 'claimed', fence: 1, attempt: 1 }),
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async 'take-over'({ before }) {
    const [item, token] = [newItem(), newToken()]
    await hold(before, item, { leaseMs: 0 })
    return {
      call: (store) => claim(store, item, { ...ALONE, token }),
      answer: expect.objectContaining({ verdict: 'taken-over', fence: 2, attempt: 2 }),
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async 'claim of what was released'({ before }) {
    const [item, token] = [newItem(), newToken()]
    await before.release([(await hold(before, item)).claim], NO_REFUND)
    return {
      call: (store) => claim(store, item, { token }),
      answer: expect.objectContaining({ verdict: 'claimed', fence: 2, attempt: 2 }),
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async renew({ before }) {
    const { item, claim: claimed } = await holdNew(before, { leaseMs: 0 })
    return {
      call: (store) => store.renew([claimed], 60_000),
      answer: ['renewed'],
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async mark({ before }) {
    const { item, claim: claimed } = await holdNew(before)
    return {
      call: (store) => store.mark([claimed], ['v1']),
      answer: [expect.stringMatching(/^(already-)?marked$/)],
      after: (store) => claim(store, item),
      left: expect.objectContaining({ verdict: 'done', result: 'v1' }),
    }
  },
  async 'mark of what is gone'({ before, forget }) {
    const { item, claim: claimed } = await holdNew(before)
    await forget(item.key)
    return {
      call: (store) => store.mark([claimed]),
      answer: [expect.stringMatching(/^(already-marked|marked-late)$/)],
      after: (store) => claim(store, item),
      left: expect.objectContaining({ verdict: 'done' }),
    }
  },
  async release({ before }) {
    const item = newItem()
    await before.release([(await hold(before, item)).claim], NO_REFUND)
    const { claim: claimed } = await hold(before, item)
    return {
      call: (store) => store.release([claimed], REFUND),
      answer: [expect.stringMatching(/^(already-)?released$/)],
      after: (store) => claim(store, item),
      left: expect.objectContaining({ verdict: 'claimed', attempt: 2 }),
    }
  },
  async 'set aside in doubt'({ before }) {
    const item = newItem()
    await hold(before, item, { leaseMs: 0 })
    const { claim: taken } = await hold(before, item, ALONE)
    return {
      call: (store) => store.setAside([taken], 'given-up', { reason: 'no' }),
      answer: ['parked'],
      after: (store) => claim(store, item),
      left: expect.objectContaining({ verdict: 'parked', reason: 'no', attempt: 2 }),
    }
  },
  async 'set aside'({ before }) {
    const { item, claim: claimed } = await holdNew(before)
    return {
      call: (store) => store.setAside([claimed], 'given-up', { reason: 'no' }),
      answer: ['given-up'],
      after: (store) => claim(store, item),
      left: expect.objectContaining({ verdict: 'given-up', reason: 'no', attempt: 1 }),
    }
  },
  async decide({ before, audit }) {
    const item = newItem()
    await before.setAside([(await hold(before, item)).claim], 'parked', { reason: 'wait' })
    const { length } = await audit()
    return {
      call: async (store) => store.admin?.resolve(SCOPE, [item.key], { ...WHY, as: 'done' }),
      answer: [expect.stringMatching(/^(decided|already)$/)],
      after: async () => (await audit()).slice(length),
      left: [{ decision: 'done', by_whom: WHY.by, reason: WHY.reason }],
    }
  },
}

const FAULTS: readonly Fault[] = ['cut before', 'cut after', 'swallowed']

/** Each call meets each fault, in each of its requests in turn. */
export const LOST_ANSWERS: readonly (readonly [string, Fault])[] = Object.keys(SCENES).flatMap((name) =>
  FAULTS.map((fault) => [name, fault] as const),
)

/** Plays a scene until the call in it has no further request to lose. */
export async function losingEach(on: LeaseOnLink, name: string, fault: Fault): Promise<void> {
  const { link, store, before: rival } = on
  let nth = 0
  for (let faults = -1; link.faults > faults; nth++) {
    const { call, answer, after, left } = (await SCENES[name]?.(on)) ?? {}
    if (call === undefined) throw new Error(`expected a scene, got ${name}`)
    // Connected, and the scope known: its requests are those of the call.
    await untilAnswered(() => hold(store, newItem()))
    faults = link.faults
    link.breakNext(fault, nth)
    expect(await untilAnswered(() => call(store))).toEqual(answer)
    link.breakNext(fault, Number.POSITIVE_INFINITY)
    expect(await after?.(rival)).toEqual(left)
  }
  // The last time there was no request left to lose.
  expect(nth).toBeGreaterThan(1)
}

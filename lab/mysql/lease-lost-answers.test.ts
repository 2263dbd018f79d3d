import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { hasCode, type Store } from '../../src/index.ts'
import { claim, hold, newItem, newToken, SCOPE } from '../../testing/contract/store/claims.ts'
import { server } from '../../test/kit/servers/server.ts'
import { startFaultProxy, type Fault, type FaultProxy } from '../../test/kit/fault-proxy.ts'
import { mysqlLeaseHarness, type MysqlLeaseHarness } from '../../test/mysql/lease-harness.ts'
import { ALONE, describeMariadb, NO_REFUND } from '../../test/mysql/support.ts'

const REFUND = { refund: true, doubt: false }
const WHY = { by: 'somebody', reason: 'it was looked at', retentionMs: 60_000 }

interface Scene {
  readonly call: (store: Store) => Promise<unknown>
  /** Of the last answer: the call may have been the first that came through. */
  readonly answer: unknown
  readonly after: (store: Store) => Promise<unknown>
  readonly left: unknown
}

/** Each call, on a record that another store has prepared. */
const SCENES: Readonly<Record<string, (harness: MysqlLeaseHarness) => Promise<Scene>>> = {
  async claim() {
    const [item, token] = [newItem(), newToken()]
    return {
      call: (store) => claim(store, item, { token }),
      answer: expect.objectContaining({ verdict: 'claimed', fence: 1, attempt: 1 }),
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async 'take-over'({ store: before }) {
    const [item, token] = [newItem(), newToken()]
    await hold(before, item, { leaseMs: 0 })
    return {
      call: (store) => claim(store, item, { ...ALONE, token }),
      answer: expect.objectContaining({ verdict: 'taken-over', fence: 2, attempt: 2 }),
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async 'claim of what was released'({ store: before }) {
    const [item, token] = [newItem(), newToken()]
    await before.release([(await hold(before, item)).claim], NO_REFUND)
    return {
      call: (store) => claim(store, item, { token }),
      answer: expect.objectContaining({ verdict: 'claimed', fence: 2, attempt: 2 }),
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async renew({ store: before }) {
    const item = newItem()
    const { claim: claimed } = await hold(before, item, { leaseMs: 0 })
    return {
      call: (store) => store.renew([claimed], 60_000),
      answer: ['renewed'],
      after: async (store) => (await claim(store, item, ALONE)).verdict,
      left: 'busy',
    }
  },
  async mark({ store: before }) {
    const item = newItem()
    const { claim: claimed } = await hold(before, item)
    return {
      call: (store) => store.mark([claimed], ['v1']),
      answer: [expect.stringMatching(/^(already-)?marked$/)],
      after: (store) => claim(store, item),
      left: { verdict: 'done', result: 'v1' },
    }
  },
  async 'mark of what is gone'({ store: before, forget }) {
    const item = newItem()
    const { claim: claimed } = await hold(before, item)
    await forget?.(item.key)
    return {
      call: (store) => store.mark([claimed]),
      answer: [expect.stringMatching(/^(already-marked|marked-late)$/)],
      after: (store) => claim(store, item),
      left: { verdict: 'done' },
    }
  },
  async release({ store: before }) {
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
  async 'set aside in doubt'({ store: before }) {
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
  async decide({ store: before, place }) {
    const item = newItem()
    await before.setAside([(await hold(before, item)).claim], 'parked', { reason: 'wait' })
    await place.pool.query('delete from consume_once_audit')
    return {
      call: async (store) => store.admin?.resolve(SCOPE, [item.key], { ...WHY, as: 'done' }),
      answer: [expect.stringMatching(/^(decided|already)$/)],
      after: () => place.rows('select decision from consume_once_audit'),
      left: [{ decision: 'done' }],
    }
  },
}

const FAULTS: readonly Fault[] = ['cut before', 'cut after', 'swallowed']
const LOST_ANSWERS = Object.keys(SCENES).flatMap((name) => FAULTS.map((fault) => [name, fault] as const))

describeMariadb('mysqlLease, when an answer is lost', () => {
  let harness: MysqlLeaseHarness
  let link: FaultProxy
  let store: Store
  beforeEach(async () => {
    harness = await mysqlLeaseHarness()
    const url = new URL((await server('mariadb')).url)
    link = await startFaultProxy(Number(url.port || 3306))
    url.hostname = '127.0.0.1'
    url.port = String(link.port)
    const pool = harness.place.newPool({ uri: url.href, connectionLimit: 2 })
    store = await harness.newLease({ pool, lockTimeoutMs: 1_000, queryTimeoutMs: 1_200 })
  })
  afterEach(async () => {
    await link[Symbol.asyncDispose]()
    await harness.close()
  })

  it.each(LOST_ANSWERS)('does what it was asked for once: %s, each of its requests %s', async (name, fault) => {
    let nth = 0
    for (let before = -1; link.faults > before; nth++) {
      const { call, answer, after, left } = (await SCENES[name]?.(harness)) ?? {}
      if (call === undefined) throw new Error(`expected a scene, got ${name}`)
      // Connected, and the scope known: its requests are those of the call.
      await untilAnswered(() => hold(store, newItem()))
      before = link.faults
      link.breakNext(fault, nth)
      expect(await untilAnswered(() => call(store))).toEqual(answer)
      link.breakNext(fault, Number.POSITIVE_INFINITY)
      expect(await after?.(harness.store)).toEqual(left)
    }
    // The last time there was no request left to lose.
    expect(nth).toBeGreaterThan(1)
  })
})

/** Asks as the pipeline does: the same again, until there is an answer. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 15_000
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isUnknown = hasCode(error, 'STORE_AMBIGUOUS') || hasCode(error, 'STORE_UNREACHABLE')
      if (!isUnknown || performance.now() > deadline) throw error
    }
  }
}

import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, type ConsumerSettings, type Running, type Store } from '../../src/index.ts'
import { MemoryBroker, runMemory } from '../../src/memory/index.ts'
import { setTimeout as after } from 'node:timers/promises'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { gate } from '../../test/kit/rig.ts'
import { describeMariadb, newMysqlPlace } from '../../test/mysql/support.ts'
import { describePostgres, newPlace } from '../../test/pg/support.ts'
import { closedAfterEach } from '../../test/kit/after-each.ts'

const closing = closedAfterEach()

interface Place<Tx> {
  readonly newInbox: () => Promise<Store<Tx>>
  readonly write: (tx: Tx, effect: string) => Promise<unknown>
  readonly committed: (effect: string) => Promise<number>
  readonly close: () => Promise<void>
}

interface Work {
  readonly id: string
  readonly attempt: number
  readonly write: () => Promise<unknown>
}

class Consumers<Tx> {
  readonly ids: string[] = []
  /** Calls of `claim`. */
  claims = 0
  readonly #broker = new MemoryBroker()
  readonly #topic = uniqueName('topic')
  readonly #store: Store<Tx>
  readonly #place: Place<Tx>

  constructor(place: Place<Tx>, store: Store<Tx>) {
    this.#place = place
    this.#store = store
  }

  publish(count: number, name: string): readonly string[] {
    const ids = Array.from({ length: count }, (_, at) => `${name}${at}`)
    for (const id of ids) {
      this.#broker.publish(this.#topic, { value: Buffer.from(id), key: Buffer.from(id), headers: { id } })
    }
    this.ids.push(...ids)
    return ids
  }

  async start(
    handle: (work: Work) => Promise<unknown>,
    settings: Partial<ConsumerSettings<unknown, unknown, never>> = {},
  ): Promise<Running> {
    const consumer = defineConsumer<unknown, unknown, Tx>({
      name: 'consumer',
      id: messageId.header('id'),
      decode: () => undefined,
      backoff: { initialMs: 5, maxMs: 10 },
      observe: (event) => {
        if (event.type === 'store-call' && event.operation === 'claim') this.claims++
      },
      ...(settings as object),
      store: this.#store,
      handle: ({ message, attempt, ...context }) => {
        const id = String(message.headers['id'])
        return handle({ id, attempt, write: () => this.#place.write((context as unknown as { tx: Tx }).tx, id) })
      },
    })
    const running = await runMemory(this.#broker, consumer, { topic: this.#topic, group: 'group' })
    closing.push(() => running.stop({ deadlineMs: 1_000 }))
    return running
  }

  async committed(): Promise<readonly string[]> {
    const counts = await Promise.all(this.ids.map((id) => this.#place.committed(id)))
    if (counts.some((count) => count > 1)) throw new Error('expected one effect of each message, got more')
    return this.ids.filter((_, at) => counts[at] === 1)
  }
}

async function consumers<Tx>(place: Place<Tx>): Promise<Consumers<Tx>> {
  closing.push(place.close)
  return new Consumers(place, await place.newInbox())
}

async function endsAtItsNextHandler<Tx>(place: Place<Tx>): Promise<void> {
  const them = await consumers(place)
  const [late, stopping] = [gate(), gate()]
  const ended: string[] = []
  const attempts = new Map<string, number>()
  const first = await them.start(
    async ({ id, write }) => {
      await write()
      // Once they are quick, transactions are shared. Then one handler waits for the stop.
      if (id.startsWith('late') && ended.filter((one) => one.startsWith('late')).length === 5) {
        late.open()
        await stopping.opened
      }
      ended.push(id)
    },
    { transactions: 1 },
  )
  them.publish(60, 'quick')
  await eventually(() => ended.length === 60)
  them.publish(60, 'late')
  await late.opened
  const stopped = first.stop({ deadlineMs: 60_000 })
  stopping.open()
  await stopped
  expect(ended.length).toBe(66)
  expect(await them.committed()).toEqual(ended.toSorted((a, b) => them.ids.indexOf(a) - them.ids.indexOf(b)))
  const second = await them.start(async ({ id, attempt, write }) => {
    attempts.set(id, attempt)
    await write()
  })
  await eventually(async () => (await them.committed()).length === 120)
  await second.stop()
  expect([attempts.size, new Set(attempts.values())]).toEqual([54, new Set([1])])
}

async function spreadOverIdleTransactions<Tx>(place: Place<Tx>): Promise<void> {
  const them = await consumers(place)
  const all = gate()
  const inside = new Set<string>()
  them.publish(4, 'm')
  // They wait for each other: in one transaction none of them would ever end.
  await them.start(async ({ id, write }) => {
    inside.add(id)
    if (inside.size === 4) all.open()
    await all.opened
    await write()
  })
  await eventually(async () => (await them.committed()).length === 4)
}

async function costsFewClaims<Tx>(place: Place<Tx>): Promise<void> {
  const them = await consumers(place)
  const starts = new Map<string, number>()
  const failing = new Set(them.publish(600, 'm').filter((_, at) => at % 40 === 20))
  await them.start(async ({ id, attempt, write }) => {
    starts.set(id, (starts.get(id) ?? 0) + 1)
    await write()
    if (failing.has(id) && attempt === 1) throw new Error('the first time')
  })
  await eventually(async () => (await them.committed()).length === 600)
  const innocent = [...starts].filter(([id]) => !failing.has(id))
  expect(Math.max(...innocent.map(([, count]) => count))).toBeLessThanOrEqual(2)
  // One by one it would be some 600.
  expect(them.claims).toBeLessThan(200)
}

async function keepsTheProvenTogether<Tx>(place: Place<Tx>): Promise<void> {
  const them = await consumers(place)
  const starts = new Map<string, number>()
  // Batches have grown when they meet these, and those behind the first are in the next batch.
  const failing = new Set(them.publish(300, 'm').filter((_, at) => at === 199 || (at % 6 === 5 && at > 199)))
  await them.start(
    async ({ id, attempt, write }) => {
      const run = (starts.get(id) ?? 0) + 1
      starts.set(id, run)
      // Slower the second time: the transaction has to end before all of those that were handled had their turn again.
      await after(run === 2 ? 5 : 1)
      await write()
      if (failing.has(id) && attempt === 1) throw new Error('the first time')
    },
    { transactions: 1 },
  )
  await eventually(async () => (await them.committed()).length === 300)
  const innocent = [...starts].filter(([id]) => !failing.has(id))
  expect(Math.max(...innocent.map(([, count]) => count))).toBe(2)
}

const LAWS: readonly (readonly [string, <Tx>(place: Place<Tx>) => Promise<void>])[] = [
  [
    'ends at its next handler when it is stopped: what ended is committed, what never began has its attempts',
    endsAtItsNextHandler,
  ],
  ['spreads what waits over idle transactions', spreadOverIdleTransactions],
  ['pays for a message that fails with a few claims, and with one more run of its neighbours', costsFewClaims],
  [
    'lets no neighbour meet another message that fails, also when they take long the second time',
    keepsTheProvenTogether,
  ],
]

describePostgres('an inbox on Postgres', () => {
  // oxlint-disable-next-line jest/expect-expect -- the laws expect
  it.each(LAWS)('%s', async (_, law) => law(await newPlace()))
})

describeMariadb('an inbox on MariaDB', () => {
  // oxlint-disable-next-line jest/expect-expect -- the laws expect
  it.each(LAWS)('%s', async (_, law) => law(await newMysqlPlace()))
})

describe('a batch', () => {
  const settings = { name: 'consumer', id: messageId.header('id') }

  it('of an inbox is refused where a message has one attempt, with what to do', async () => {
    const place = await newPlace()
    closing.push(place.close)
    const store = await place.newInbox()
    const define = (options: object): unknown => defineConsumer({ ...settings, store, ...options } as never)
    for (const batch of [{ handle: () => {}, batchSize: 2 }, { handleBatch: () => {} }]) {
      expect(() => define({ maxAttempts: 1, ...batch })).toThrow(
        /maxAttempts: expected at least 2 with batches of up to \d+ messages, got 1: .*Set batchSize: 1, or maxAttempts: 2/,
      )
    }
    expect(() => define({ maxAttempts: 1, handle: () => {} })).not.toThrow()
    expect(() => define({ maxAttempts: 1, handleBatch: () => {}, batchSize: 1 })).not.toThrow()
  })
})

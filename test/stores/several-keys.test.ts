import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, runInline, type InlineRunning, type Message, type Store } from '../../src/index.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { mysqlLeaseHarness } from '../mysql/lease-harness.ts'
import { describeMariadb, newMysqlPlace } from '../mysql/support.ts'
import { pgLeaseHarness } from '../pg/lease-harness.ts'
import { describePostgres, newPlace } from '../pg/support.ts'
import { redisHarness } from '../redis/harness.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const closing = closedAfterEach()

type Stores = readonly [Store<unknown>, Store<unknown>]

const describeRedis = backends.has('redis') ? describe : describe.skip

async function leases(harness: {
  readonly store: unknown
  readonly secondStore: () => Promise<unknown>
  readonly close: () => Promise<unknown>
}): Promise<Stores> {
  closing.push(harness.close)
  return [harness.store, await harness.secondStore()] as unknown as Stores
}

async function inboxes(place: {
  readonly newInbox: () => Promise<unknown>
  readonly close: () => Promise<unknown>
}): Promise<Stores> {
  closing.push(place.close)
  return [await place.newInbox(), await place.newInbox()] as unknown as Stores
}

const STORES = [
  ['redisLease', describeRedis, async () => leases(await redisHarness((await server('redis')).url))],
  ['postgresLease', describePostgres, async () => leases(await pgLeaseHarness())],
  ['mysqlLease', describeMariadb, async () => leases(await mysqlLeaseHarness())],
  ['postgresInbox', describePostgres, async () => inboxes(await newPlace())],
  ['mysqlInbox', describeMariadb, async () => inboxes(await newMysqlPlace())],
] as const

const ROUNDS = 15

for (const [name, describeOn, open] of STORES) {
  describeOn(`messages with several keys on ${name}`, () => {
    it('have one effect when they cross in two processes, and all end', async () => {
      const stores = await open()
      const group = uniqueName('group')
      const effects: string[] = []
      const processes = stores.map((store) => start(store, group, effects))
      const ends: Promise<{ readonly settle: string }>[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const pair = [of(`a${round}`, `${round}`), of(`b${round}`, `${round}`)]
        for (const running of processes) {
          for (const message of pair) ends.push(running.handle(message))
          pair.reverse()
        }
      }
      const settled = await Promise.all(ends)
      expect(settled.map(({ settle }) => settle)).toEqual(settled.map(() => 'ack'))
      expect(effects.toSorted()).toEqual(Array.from({ length: ROUNDS }, (_, round) => String(round)).toSorted())
    }, 60_000)

    it('are duplicates by any of them, also by one of a duplicate [T266]', async () => {
      const stores = await open()
      const group = uniqueName('group')
      const effects: string[] = []
      const [first, second] = stores.map((store) => start(store, group, effects))
      const outcomes: (string | undefined)[] = []
      for (const message of [of('a', '1'), of('a', '2'), of('b', '2'), of('c', '3')]) {
        outcomes.push((await first?.handle(message))?.outcome)
        outcomes.push((await second?.handle(message))?.outcome)
      }
      expect(outcomes).toEqual(['handled', ...Array.from({ length: 5 }, () => 'duplicate'), 'handled', 'duplicate'])
    })
  })
}

function start(store: Store<unknown>, group: string, effects: string[]): InlineRunning {
  const consumer = defineConsumer({
    name: 'consumer',
    id: [messageId.header('id'), messageId.header('order')],
    store: store as Store,
    handle: ({ message }) => void effects.push(String(message.headers['order'])),
  })
  const running = runInline(consumer, { group })
  closing.push(() => running.stop())
  return running
}

function of(id: string, order: string): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'memory', ...place, key: null, value: Buffer.from('{}'), headers: { id, order } }
}

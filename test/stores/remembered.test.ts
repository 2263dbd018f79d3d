import { eventually } from '../kit/eventually.ts'
import { describe, expect, it } from '@jest/globals'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import {
  defineConsumer,
  messageId,
  runInline,
  type ConsumerOptions,
  type InlineRunning,
  type Message,
  type ObserverEvent,
  type Store,
} from '../../src/index.ts'
import { backends } from '../kit/backends.ts'
import { ManualClock } from '../kit/manual-clock.ts'
import { uniqueName } from '../kit/namespace.ts'
import { server } from '../kit/servers/server.ts'
import { pgLeaseHarness } from '../pg/lease-harness.ts'
import { describePostgres, newPlace, type PgPlace } from '../pg/support.ts'
import { redisHarness } from '../redis/harness.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const closing = closedAfterEach()

class Declined extends Error {
  override readonly name = 'Declined'
  readonly code = 'CARD_DECLINED'
}

const FAILURE = { name: 'Declined', message: "no | cover, it's", code: 'CARD_DECLINED' }

type Options = Partial<ConsumerOptions<unknown, unknown, PgTransaction>>

function start(
  store: Store<PgTransaction>,
  options: Options,
  clock?: ManualClock,
): InlineRunning & { readonly events: readonly ObserverEvent[] } {
  const events: ObserverEvent[] = []
  const consumer = defineConsumer({
    name: 'consumer',
    id: messageId.header('id'),
    rememberResult: true,
    rememberFailure: (error: unknown) => error instanceof Declined,
    ...options,
    store,
    observe: (event: ObserverEvent) => events.push(event),
  } as ConsumerOptions<unknown, unknown, PgTransaction>)
  const inline = runInline(consumer, { group: uniqueName('group'), ...(clock === undefined ? {} : { clock }) })
  closing.push(() => inline.stop())
  return Object.assign(inline, { events })
}

function messageOf(id: string, timestamp?: number): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'rabbitmq', ...place, key: null, value: Buffer.from('{}'), headers: { id }, timestamp }
}

const describeRedis = backends.has('redis') ? describe : describe.skip

const LEASES = [
  ['redisLease', describeRedis, async () => redisHarness((await server('redis')).url)],
  ['postgresLease', describePostgres, () => pgLeaseHarness()],
] as const

const RESULT = { text: 'ключ | 🔑', none: null }

for (const [name, describeOn, open] of LEASES) {
  describeOn(name, () => {
    it('hands result and failure to duplicates', async () => {
      const harness = await open()
      closing.push(harness.close)
      let runs = 0
      const running = start(harness.store, {
        handle: ({ message }) => {
          runs++
          if (message.headers['id'] === 'b') throw new Declined(FAILURE.message)
          return RESULT
        },
      })
      for (const outcome of ['handled', 'duplicate']) {
        expect(await running.handle(messageOf('a'))).toEqual({ outcome, settle: 'ack', result: RESULT })
        expect(await running.handle(messageOf('b'))).toEqual({ outcome, settle: 'ack', failure: FAILURE })
      }
      expect(runs).toBe(2)
    })
  })
}

async function newInbox(): Promise<{ readonly place: PgPlace; readonly store: Store<PgTransaction> }> {
  const place = await newPlace()
  closing.push(place.close)
  return { place, store: await place.newInbox() }
}

describePostgres('postgresInbox', () => {
  it('hands result and failure to duplicates, and rolls back what the failing handler of a batch wrote', async () => {
    const { place, store } = await newInbox()
    const running = start(store, {
      handle: async ({ message, tx }) => {
        const id = String(message.headers['id'])
        await place.write(tx, id)
        if (id === 'b') throw new Declined(FAILURE.message)
        return RESULT
      },
    })
    await running.open()
    for (const outcome of ['handled', 'duplicate']) {
      const settlements = await Promise.all(['a', 'b', 'c'].map((id) => running.handle(messageOf(id))))
      expect(settlements).toEqual([
        { outcome, settle: 'ack', result: RESULT },
        { outcome, settle: 'ack', failure: FAILURE },
        { outcome, settle: 'ack', result: RESULT },
      ])
    }
    expect(await Promise.all(['a', 'b', 'c'].map((id) => place.committed(id)))).toEqual([1, 0, 1])
  })

  it('commits nothing of a handler whose result cannot be kept', async () => {
    const { place, store } = await newInbox()
    const running = start(store, { handle: async ({ tx }) => place.write(tx, 'a').then(() => 7n) })
    const settlement = await running.handle(messageOf('a'))
    expect(settlement).toMatchObject({ outcome: 'dead-lettered', reason: 'handler-failed' })
    expect(await place.committed('a')).toBe(0)
    expect(await running.handle(messageOf('a'))).toMatchObject({ outcome: 'dead-lettered', settle: 'dead-letter' })
  })

  it.each(['skip', 'park'] as const)('takes what is beyond retention out of a batch: %s', async (onBeyondRetention) => {
    const { place, store } = await newInbox()
    const running = start(store, {
      onBeyondRetention,
      handle: ({ message, tx }) => place.write(tx, String(message.headers['id'])).then(() => 1),
    })
    await running.open()
    const messages = [messageOf('a', Date.now()), messageOf('old', 1), messageOf('c', Date.now())]
    const settlements = await Promise.all(messages.map((message) => running.handle(message)))
    const old = onBeyondRetention === 'skip' ? 'duplicate' : 'parked'
    expect(settlements.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['handled', undefined],
      [old, 'beyond-retention'],
      ['handled', undefined],
    ])
    expect(await Promise.all(['a', 'old', 'c'].map((id) => place.committed(id)))).toEqual([1, 0, 1])
    const again = await running.handle(messageOf('old', 1))
    expect(again).toMatchObject({ outcome: old, settle: onBeyondRetention === 'skip' ? 'ack' : 'dead-letter' })
  })

  it('is purged in the background of what is past its retention', async () => {
    const { place, store } = await newInbox()
    const clock = new ManualClock()
    const running = start(store, { handle: () => 1, retentionMs: 3_600_000 }, clock)
    await running.open()
    await Promise.all(['a', 'b'].map((id) => running.handle(messageOf(id))))
    await place.pool.query(
      `update ${place.schema}.inbox set done_at = done_at - interval '2 hours', keep_until = keep_until - interval '2 hours'`,
    )
    await running.handle(messageOf('c'))
    await clock.advance(300_000)
    await eventually(async () => running.events.some(({ type }) => type === 'purged' || type === 'purge-failed'))
    expect(running.events).toContainEqual(expect.objectContaining({ type: 'purged', removed: 2 }))
    expect((await place.pool.query(`select 1 from ${place.schema}.inbox`)).rowCount).toBe(1)
  })
})

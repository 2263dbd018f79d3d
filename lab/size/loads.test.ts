import { describe, expect, it, jest } from '@jest/globals'
import { Client, Pool } from 'pg'
import { Redis } from 'ioredis'
import { postgresInbox } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { eachOnce, withDuplicates, type Deliveries } from '../../bench/places/duplicates.ts'
import type { Load } from '../../cli/size/load.ts'
import { sizeOf } from '../../cli/size/size.ts'
import { defineConsumer, type Consumer } from '../../src/consumer/define-consumer.ts'
import { messageId } from '../../src/identity/message-id.ts'
import { MemoryBroker, memoryStore, runMemory } from '../../src/memory/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'

jest.setTimeout(SERVER_WITHIN_MS)

/** A fifth are duplicates, so that 20,000 are handled. */
const DELIVERIES = 25_000
const PAYLOAD = Buffer.from(JSON.stringify({ text: 'x'.repeat(1_012) }))
const PLACE = { topic: 'size', group: 'size' }

/** As many deliveries in a second that is the whole retention: what is a second's is that of the whole run. */
const LOAD: Load = {
  rate: DELIVERIES,
  duplicates: 0.2,
  retentionMs: 1_000,
  payloadBytes: PAYLOAD.length,
  handlerMs: 0,
  store: 'redisLease',
  broker: 'kafka',
  isBatch: false,
  memoryBytes: 64e9,
  diskBytes: 1e12,
}

function said(load: Load, name: string): number {
  const line = sizeOf(load).lines.find((one) => one.name === name)
  if (line?.value === undefined) throw new Error(`expected a line ${name}`)
  return line.value
}

/** What was measured, as a part of what `size` says, where it is not within 20 %. */
function farOff(load: Load, measured: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(measured)
    .map(([name, value]) => [name, value / said(load, name)] as const)
    .filter(([, ratio]) => !(ratio >= 0.8 && ratio <= 1.2))
}

function brokerWith({ messages, idOf }: Deliveries, key?: (id: number) => string): MemoryBroker {
  const broker = new MemoryBroker()
  for (let at = 0; at < messages; at++) {
    const id = idOf(at)
    broker.publish(PLACE.topic, {
      key: key === undefined ? null : Buffer.from(key(id)),
      value: PAYLOAD,
      headers: { id: `message-${id}` },
    })
  }
  return broker
}

const WHO = { name: 'size', id: messageId.header('id') }

async function consumed(consumer: Consumer, broker: MemoryBroker): Promise<void> {
  const running = await runMemory(broker, consumer, PLACE)
  try {
    await broker.drained(PLACE.topic, PLACE.group)
  } finally {
    await running.stop()
  }
}

const numberIn = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])

;(backends.has('redis') ? describe : describe.skip)('what size says of leases in Redis', () => {
  it.each([
    ['a fifth of them twice', withDuplicates(DELIVERIES), 0.2],
    ['each once', eachOnce(20_000), 0],
  ])('is within 20 %% of what 20,000 messages of 1 KB take: %s', async (_, deliveries, duplicates) => {
    const load: Load = { ...LOAD, rate: deliveries.messages, duplicates }
    await using server = await startPrivateRedis()
    const [admin, redis] = [new Redis(server.url), new Redis(server.url)]
    try {
      const store = redisLease({ redis, prefix: 'co' })
      const consumer = defineConsumer({ ...WHO, store, handle: () => {} })
      await consumed(consumer, brokerWith(eachOnce(500)))
      const look = async (): Promise<Readonly<Record<string, number>>> => {
        const info = await admin.info('everything')
        const buffers = ['mem_clients_normal', 'used_memory_scripts', 'used_memory_vm_eval', 'mem_aof_buffer']
        return {
          records: await admin.dbsize(),
          'memory of the records':
            numberIn(info, 'used_memory') - buffers.reduce((sum, name) => sum + (numberIn(info, name) || 0), 0),
          'keys written': Number(/^cmdstat_set:calls=(\d+)/m.exec(info)?.[1]),
          'sent to the store': numberIn(info, 'total_net_input_bytes'),
        }
      }
      await admin.flushdb()
      const before = await look()
      await consumed(consumer, brokerWith(deliveries))
      const after = await look()
      const grown = Object.fromEntries(Object.entries(after).map(([name, n]) => [name, n - (before[name] ?? 0)]))
      expect(farOff(load, grown)).toEqual([])
      const file = async (): Promise<number> => numberIn(await admin.info('persistence'), 'aof_current_size')
      expect(await file()).toBeGreaterThan(0)
      await admin.bgrewriteaof()
      await eventually(async () => {
        const info = await admin.info('persistence')
        return numberIn(info, 'aof_rewrite_in_progress') + numberIn(info, 'aof_rewrite_scheduled') === 0
      })
      // A third: the file grows to twice this, and its successor lies beside it.
      expect(await file()).toBeLessThanOrEqual(said(load, 'disk, at most') / 3)
    } finally {
      admin.disconnect()
      redis.disconnect()
    }
  })
})

;(backends.has('postgres') ? describe : describe.skip)('what size says of an inbox in Postgres', () => {
  it.each([
    ['handle', false],
    ['handleBatch', true],
  ])('is within 20 %% of what 20,000 messages of 1 KB take: %s', async (_, isBatch) => {
    const load: Load = { ...LOAD, store: 'postgresInbox', isBatch }
    await using server = await startPrivatePostgres()
    const pool = new Pool({ connectionString: server.url, max: said(load, 'connections of a pool') })
    const store = postgresInbox({ pool, schema: 'size' })
    const how = isBatch ? { handleBatch: () => {} } : { handle: () => {} }
    await consumed(defineConsumer({ ...WHO, store, ...how }), brokerWith(withDuplicates(DELIVERIES)))
    await pool.end()
    const admin = new Client({ connectionString: server.url })
    await admin.connect()
    try {
      const ask = async (text: string): Promise<number> => Number((await admin.query<{ n: string }>(text)).rows[0]?.n)
      // A backend tells its last counts when it ends.
      const others = `select count(*) as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
      await eventually(async () => (await ask(others)) === 0)
      const counts = `select sum(n_tup_ins + n_tup_upd + n_tup_del) as n from pg_stat_user_tables where schemaname = 'size'`
      const measured = {
        records: await ask('select count(*) as n from size.inbox'),
        'disk of the records': await ask(`select pg_table_size('size.inbox') + pg_indexes_size('size.inbox') as n`),
        // The purge, which size adds, comes after the retention.
        'rows written': (await ask(counts)) + said(load, 'messages handled'),
      }
      expect(farOff(load, measured)).toEqual([])
    } finally {
      await admin.end()
    }
  })
})

describe('what size says of handlers at once', () => {
  const SLOTS = 96
  const HANDLER_MS = 20
  const MESSAGES = 12_000

  it('is within 20 % of the slots that a rate took, in the order of keys; concurrency has more than these', async () => {
    const busy = { now: 0, most: 0, handled: 0, ms: 0 }
    const handle = async (): Promise<void> => {
      const from = performance.now()
      busy.most = Math.max(busy.most, ++busy.now)
      await new Promise((settle) => setTimeout(settle, HANDLER_MS))
      busy.now -= 1
      busy.handled += 1
      busy.ms += performance.now() - from
    }
    const broker = brokerWith(withDuplicates(MESSAGES), (id) => `key-${id}`)
    const startedAt = performance.now()
    await consumed(defineConsumer({ ...WHO, store: memoryStore(), concurrency: SLOTS, handle }), broker)
    // A busy machine takes longer for 20 ms, so that rate and time are those that were measured.
    const rate = MESSAGES / ((performance.now() - startedAt) / 1_000)
    const load: Load = { ...LOAD, rate, handlerMs: busy.ms / busy.handled }
    expect(busy.most).toBe(SLOTS)
    expect(farOff(load, { 'handlers at once': SLOTS })).toEqual([])
    expect(said(load, 'concurrency')).toBeGreaterThanOrEqual(SLOTS)
  })
})

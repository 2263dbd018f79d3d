import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import type { PgTransaction, PostgresOffsetsOptions } from '../../adapters/pg/index.ts'
import { defineConsumer, positionsOf, type BatchItem, type GoOnFrom, type Running } from '../../src/index.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import {
  KafkaWorker,
  type KafkaConfig,
  type KafkaCrashPoint as CrashPoint,
  type WorkerMessage,
} from '../kit/mortal/worker.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'

let cluster: Cluster
let place: PgPlace
const started: Running[] = []

openedOnce(Cluster, (made) => (cluster = made))
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 500 })))
  await place.close()
})

interface Started {
  readonly running: Running
  readonly watching: Watching
  /** Payloads whose handler was started, with the attempt. */
  readonly starts: string[]
}

interface Wanted extends Partial<KafkaOptions> {
  readonly topic: string
  readonly group: string
  readonly scope?: string
  readonly store?: Partial<PostgresOffsetsOptions>
  readonly maxAttempts?: number
  /** Before the effect is written. */
  readonly before?: (payload: string, attempt: number) => unknown
  readonly batches?: boolean
}

/** A consumer whose effect is the payload of each message. */
async function start({
  topic,
  group: groupId,
  store,
  before,
  batches,
  maxAttempts,
  scope,
  ...options
}: Wanted): Promise<Started> {
  const watching = new Watching()
  const starts: string[] = []
  const act = async ({ payload, attempt }: Pick<BatchItem<string>, 'payload' | 'attempt'>): Promise<void> => {
    starts.push(`${payload} ${attempt}`)
    await before?.(payload, attempt)
  }
  const settings = {
    name: 'effects',
    decode: String,
    store: await place.newOffsets(store),
    backoff: { initialMs: 5, maxMs: 20 },
    graceMs: 200,
    observe: watching.observe,
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    ...(scope === undefined ? {} : { scope }),
  }
  const consumer =
    batches === true
      ? defineConsumer<string, string, PgTransaction>({
          ...settings,
          handleBatch: async ({ messages, tx }) => {
            for (const message of messages) await act(message)
            const payloads = messages.map(({ payload }) => payload)
            await tx.query(`insert into ${place.schema}.effect (name) select unnest($1::text[])`, [payloads])
          },
        })
      : defineConsumer<string, string, PgTransaction>({
          ...settings,
          handle: async (context) => {
            await act(context)
            await place.write(context.tx, context.payload)
          },
        })
  const running = await runKafka(cluster.client(), consumer, {
    ...FAST,
    ...options,
    topics: options.topics ?? [topic],
    group: groupId,
    consumer: { ...FAST.consumer, ...options.consumer },
  })
  started.push(running)
  return { running, watching, starts }
}

async function stop({ running }: Started): Promise<void> {
  started.splice(started.indexOf(running), 1)
  await running.stop({ deadlineMs: 500 })
}

/** All effects that are committed, in order. */
async function effects(): Promise<readonly string[]> {
  const { rows } = await place.pool.query(`select name from ${place.schema}.effect order by ctid`)
  return (rows as { name: string }[]).map(({ name }) => name)
}

const untilEffects = (count: number): Promise<void> => eventually(async () => (await effects()).length >= count)

async function position(topic: string, partition = 0): Promise<number | undefined> {
  const { rows } = await place.pool.query(
    `select next_offset::int as n from ${place.schema}.position where stream = $1`,
    [`${topic}/${partition}`],
  )
  return (rows as { n: number }[])[0]?.n
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index).padStart(3, '0'))

describe.each([
  ['handle', false],
  ['handleBatch', true],
])('offsets in Postgres (%s)', (_style, batches) => {
  it('are moved with the effects, and told to the group', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    await cluster.send(topic, names(1, 40))
    await cluster.send(topic, names(41, 50), 1)
    const { watching } = await start({ topic, group: groupId, batches })
    await cluster.untilCommitted(groupId, topic, [40, 10])
    expect([await position(topic), await position(topic, 1)]).toEqual([40, 10])
    const done = await effects()
    expect(done.toSorted()).toEqual(names(1, 50))
    expect(done.filter((name) => name <= '040')).toEqual(names(1, 40))
    expect(watching.ended('handled')).toBe(50)
  })

  it('are where a member begins after an administrator has reset the group to the beginning', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 5))
    const first = await start({ topic, group: groupId, batches })
    await untilEffects(5)
    await stop(first)
    await cluster.admin.resetOffsets({ groupId, topic, earliest: true })
    await cluster.send(topic, names(6, 7))
    const second = await start({ topic, group: groupId, batches })
    await untilEffects(7)
    expect(await effects()).toEqual(names(1, 7))
    expect(second.starts).toEqual(['006 1', '007 1'])
    await cluster.untilCommitted(groupId, topic, [7])
    expect(second.watching.told('position-sought')).toBeGreaterThan(0)
    expect(second.watching.told('offset-skipped')).toBe(0)
  })

  it('heal a database that was restored while the consumer was stopped, without a new message', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 9))
    const first = await start({ topic, group: groupId, batches })
    await untilEffects(9)
    await stop(first)
    await restore(topic, 4)
    await start({ topic, group: groupId, batches })
    await untilEffects(9)
    expect(await effects()).toEqual(names(1, 9))
    expect(await position(topic)).toBe(9)
  })

  it('heal a database that was restored under a consumer that runs [T35]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 9))
    const { watching } = await start({ topic, group: groupId, batches })
    await untilEffects(9)
    await cluster.untilCommitted(groupId, topic, [9])
    await restore(topic, 4)
    await cluster.send(topic, names(10, 12))
    await untilEffects(12)
    expect(await effects()).toEqual(names(1, 12))
    expect(watching.told('position-rewound')).toBe(1)
    await cluster.untilCommitted(groupId, topic, [12])
  })

  it('stay while a handler fails, which holds its partition, and pass a dead letter', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    await cluster.send(topic, ['a', 'flaky', 'bad', 'b'])
    await cluster.send(topic, ['c'], 1)
    const { starts, watching } = await start({
      topic,
      group: groupId,
      batches,
      maxAttempts: 3,
      before: (payload, attempt) => {
        if (payload === 'bad' || (payload === 'flaky' && attempt < 3)) throw new Error('declined')
      },
    })
    await cluster.untilCommitted(groupId, topic, [4, 1])
    const done = await effects()
    expect(done.toSorted()).toEqual(['a', 'b', 'c', 'flaky'])
    expect(done.indexOf('a')).toBeLessThan(done.indexOf('flaky'))
    expect(done.indexOf('flaky')).toBeLessThan(done.indexOf('b'))
    expect(starts.filter((one) => one.startsWith('bad')).at(-1)).toBe('bad 3')
    const [deadLetter, ...others] = await cluster.read(`${topic}.dead-letter`, 1)
    expect([String(deadLetter?.value), others.length]).toEqual(['bad', 0])
    expect(watching.ended('dead-lettered')).toBe(1)
    expect(await position(topic)).toBe(4)
  })

  it('step over the markers of transactions and what was aborted', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const producer = cluster
      .client()
      .producer({ transactionalId: uniqueName('tx'), maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    const transact = async (values: readonly string[], end: 'commit' | 'abort'): Promise<void> => {
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: values.map((value) => ({ value, partition: 0 })) })
      await transaction[end]()
    }
    await transact(['a', 'b'], 'commit')
    await transact(['never', 'seen'], 'abort')
    await transact(['c'], 'commit')
    const first = await start({ topic, group: groupId, batches })
    await untilEffects(3)
    await cluster.untilCommitted(groupId, topic, [8])
    await transact(['neither'], 'abort')
    await transact(['d'], 'commit')
    await untilEffects(4)
    await stop(first)
    await cluster.admin.resetOffsets({ groupId, topic, earliest: true })
    await start({ topic, group: groupId, batches })
    await transact(['e'], 'commit')
    await untilEffects(5)
    expect(await effects()).toEqual(['a', 'b', 'c', 'd', 'e'])
    await producer.disconnect()
  })
})

/** The database after this many messages were handled: rows and effects. */
async function restore(topic: string, handled: number): Promise<void> {
  await place.pool.query(`begin;
    delete from ${place.schema}.effect where ctid in (select ctid from ${place.schema}.effect order by ctid offset ${handled});
    update ${place.schema}.position set next_offset = ${handled}, attempt_offset = null, attempt_until = null, attempts = 0
      where stream = '${topic}/0';
    commit`)
}

describe('a member with offsets in Postgres', () => {
  it('has one effect of each message with another that believes to own its partition [T39]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const config = workerConfig(topic, groupId)
    const send = (ids: readonly string[], does?: WorkerMessage['does']): Promise<void> =>
      cluster.send(
        topic,
        ids.map((id) => JSON.stringify({ id, ...(does && { does }) })),
      )
    await using zombie = new KafkaWorker(config)
    await zombie.untilTold('running')
    await send(['a', 'b', 'c'], 'linger')
    await zombie.untilTold('effect')
    zombie.freeze()
    await using second = new KafkaWorker(config)
    await second.untilTold('running')
    await send(['d', 'e'])
    // Frozen in its transaction it still holds the partition: the database ends that, here by the hand of the test.
    await terminateIdle()
    await eventually(async () => (await position(topic)) === 5)
    zombie.thaw()
    await send(['f'])
    await eventually(async () => (await position(topic)) === 6)
    await zombie.untilTold('group-joined', 2)
    expect(await effects()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('goes on where another was, through a rebalance with handlers running', async () => {
    const [topic, groupId] = [await cluster.topic(3), uniqueName('group')]
    const all = names(1, 90)
    for (const partition of [0, 1, 2])
      await cluster.send(topic, all.slice(partition * 30, partition * 30 + 30), partition)
    await start({ topic, group: groupId, before: linger })
    await untilEffects(5)
    const second = await start({ topic, group: groupId, before: linger })
    await untilEffects(30)
    await stop(second)
    await untilEffects(90)
    expect((await effects()).toSorted()).toEqual(all)
    await cluster.untilCommitted(groupId, topic, [30, 30, 30])
  })

  it('resolves a COMMIT whose answer was lost [T38]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const proxy = await startProxyOf((await server('postgres')).url, 5432)
    const commits = await place.holdCommits()
    const pool = place.newPool({ connectionString: proxy.url })
    const { watching } = await start({ topic, group: groupId, store: { pool, queryTimeoutMs: 3_000 } })
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      await cluster.send(topic, [name])
      await commits.waiting()
      proxy.cut()
      await commits.letGo()
      await cluster.untilCommitted(groupId, topic, [index + 1])
      await commits.hold()
    }
    expect(await effects()).toEqual(['a', 'b', 'c'])
    expect(watching.ended('handled')).toBe(3)
    await proxy.stop()
  })

  it('waits for a store that is down at a join, stays a member, and goes on by itself', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const proxy = await startProxyOf((await server('postgres')).url, 5432)
    const pool = place.newPool({ connectionString: proxy.url })
    const first = await start({ topic, group: groupId, store: { pool, queryTimeoutMs: 1_500 } })
    await cluster.send(topic, ['a'])
    await untilEffects(1)
    proxy.refuse()
    proxy.cut()
    const joins = first.watching.told('group-joined')
    const other = await start({ topic, group: groupId })
    await stop(other)
    await first.watching.until(() => first.watching.told('positions-unknown') > 1)
    expect(first.running.health().ready).toBe(false)
    await cluster.send(topic, ['b'])
    proxy.accept()
    await untilEffects(2)
    await eventually(async () => first.running.health().ready)
    expect(await effects()).toEqual(['a', 'b'])
    expect(first.watching.told('group-joined')).toBeGreaterThan(joins)
    await stop(first)
    await proxy.stop()
  })

  it('begins at the committed offset of a group that had another store, and keeps its own from there', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 5))
    await cluster.admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '3' }] })
    const { starts } = await start({ topic, group: groupId })
    await untilEffects(2)
    expect(starts).toEqual(['004 1', '005 1'])
    expect(await position(topic)).toBe(5)
  })

  it('has the effect again of what its producer sends again, which is another offset [T42]', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, ['same', 'same'])
    await start({ topic, group: groupId })
    await untilEffects(2)
    expect(await effects()).toEqual(['same', 'same'])
  })
})

describe('a topic that was compacted', () => {
  it('is handled behind the gap that was left at the stored position', async () => {
    const compacted = {
      'cleanup.policy': 'compact',
      'min.cleanable.dirty.ratio': '0.001',
      'segment.ms': '100',
      'max.compaction.lag.ms': '100',
    }
    const [topic, groupId] = [await cluster.topic(1, compacted), uniqueName('group')]
    await cluster.send(topic, [{ key: 'first', value: 'a' }])
    const first = await start({ topic, group: groupId })
    await untilEffects(1)
    await stop(first)
    for (const value of ['gone', 'gone too', 'b']) await cluster.send(topic, [{ key: 'same', value }])
    // A new segment begins with a message after segment.ms; only closed segments are cleaned.
    const left = async (): Promise<readonly string[]> => {
      await cluster.send(topic, [{ key: 'other', value: 'x' }])
      const { intake, source } = await cluster.open({ topics: [topic], group: uniqueName('look') })
      await intake.until(() => intake.deliveries.some(({ message }) => String(message.value) === 'x'))
      await source.close()
      return intake.positions
    }
    let positions = await left()
    while (positions.includes('0@1') || positions.includes('0@2')) positions = await left()
    const { watching } = await start({ topic, group: groupId })
    await untilEffects(3)
    expect((await effects()).slice(0, 3)).toEqual(['a', 'b', 'x'])
    expect(watching.told('lost-by-retention')).toBe(0)
  }, 60_000)
})

describe('a topic that was deleted and created anew', () => {
  it('is held while running and by the next process, grows beyond the position, and is handled whole once a person says so', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 5))
    const first = await start({ topic, group: groupId })
    await untilEffects(5)
    await makeAgain(topic)
    await cluster.send(topic, ['new 0'])
    await first.watching.until(() => heldIn(first) > 0)
    expect(first.running.health()).toMatchObject({ live: true, ready: false })
    expect(first.running.health().checks['source']).toContain(`${topic}/0 is held`)
    await cluster.send(topic, ['new 1', 'new 2', 'new 3', 'new 4', 'new 5', 'new 6'])
    await stop(first)
    const second = await start({ topic, group: groupId })
    await second.watching.until(() => heldIn(second) > 0)
    expect(second.running.health()).toMatchObject({ live: true, ready: false })
    expect(await effects()).toEqual(names(1, 5))
    await decide(groupId, topic, 'beginning')
    await untilEffects(12)
    expect((await effects()).slice(5)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4', 'new 5', 'new 6'])
    await eventually(async () => second.running.health().ready)
  }, 60_000)

  it('is noticed though nobody ran until it had grown beyond the position, and its other topic goes on', async () => {
    const [topic, other, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 5))
    const first = await start({ topic, group: groupId, topics: [topic, other] })
    await untilEffects(5)
    await stop(first)
    await makeAgain(topic)
    await cluster.send(
      topic,
      names(1, 9).map((name) => `new ${name}`),
    )
    const second = await start({ topic, group: groupId, topics: [topic, other] })
    await second.watching.until(() => second.watching.told('position-of-another-log') > 0)
    await cluster.send(other, ['elsewhere'])
    await untilEffects(6)
    expect((await effects()).slice(5)).toEqual(['elsewhere'])
    expect(second.running.health().ready).toBe(false)
    await decide(groupId, topic, 7n)
    await untilEffects(8)
    expect((await effects()).slice(6)).toEqual(['new 008', 'new 009'])
  }, 60_000)

  it('is held where that happened, and it grew beyond what was fetched, while its partition was paused with messages under way', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 30))
    const madeAgain = new AbortController()
    const isMadeAgain = once(madeAgain.signal, 'abort')
    // Metadata that is old: no other look at the topic is in the way.
    const running = await start({
      topic,
      group: groupId,
      before: () => isMadeAgain,
      maxWatermarkLag: 10,
      consumer: { metadataMaxAge: 300_000 },
    })
    await running.watching.until(() => running.watching.told('partition-paused') > 0)
    await makeAgain(topic)
    const anew = names(1, 50).map((name) => `new ${name}`)
    await cluster.send(topic, anew)
    madeAgain.abort()
    await running.watching.until(() => running.watching.told('position-of-another-log') > 0)
    await eventually(async () => (await position(topic)) === 30)
    expect(await effects()).toEqual(names(1, 30))
    await eventually(async () => (await heldWhy(topic)) !== undefined)
    await decide(groupId, topic, 'beginning')
    await untilEffects(80)
    expect((await effects()).slice(30)).toEqual(anew)
  }, 60_000)

  it('is told from the same topic by the last message handled: a restart goes on', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, names(1, 5))
    const first = await start({ topic, group: groupId })
    await untilEffects(5)
    await stop(first)
    const second = await start({ topic, group: groupId })
    await cluster.send(topic, ['006'])
    await untilEffects(6)
    expect(second.starts).toEqual(['006 1'])
    expect(heldIn(second)).toBe(0)
    expect(second.watching.ended('duplicate')).toBe(0)
  })
})

async function decide(groupId: string, topic: string, from: GoOnFrom): Promise<void> {
  const consumer = defineConsumer({ name: 'effects', store: await place.newOffsets(), handle: () => {} })
  const why = { by: 'test', reason: 'created anew' }
  expect(await positionsOf(consumer, { group: groupId }).release(`${topic}/0`, { ...why, goOnFrom: from })).toBe(
    'released',
  )
}

async function heldWhy(topic: string): Promise<string | undefined> {
  const { rows } = await place.pool.query<{ held: string | null }>(
    `select held from ${place.schema}.position where stream = $1`,
    [`${topic}/0`],
  )
  return rows[0]?.held ?? undefined
}

function heldIn({ watching }: Started): number {
  return ['position-beyond-end', 'position-of-another-log', 'position-held'].reduce(
    (sum, event) => sum + watching.told(event),
    0,
  )
}

describe('a process with offsets in Postgres that dies', () => {
  it('by a poison message, again and again, is rid of it after maxAttempts, and of nothing else', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const config = { ...workerConfig(topic, groupId), maxAttempts: 2 }
    await cluster.send(topic, [
      JSON.stringify({ id: 'a' }),
      JSON.stringify({ id: 'poison', does: 'kill' }),
      JSON.stringify({ id: 'b' }),
    ])
    for (const _ of [1, 2]) {
      await using dying = new KafkaWorker(config)
      expect(await dying.ended).toBe('SIGKILL')
    }
    await using last = new KafkaWorker(config)
    await eventually(async () => (await position(topic)) === 3)
    expect(await effects()).toEqual(['a', 'b'])
    const deadLetters = await cluster.read(`${topic}.dead-letter`, 1)
    expect(deadLetters.map(({ value, headers }) => [String(value), headers['consume-once-reason']])).toEqual([
      [JSON.stringify({ id: 'poison', does: 'kill' }), 'attempts-spent'],
    ])
    expect(last.told('dead-lettered')).toEqual(['poison'])
  }, 60_000)

  it.each<[CrashPoint, { readonly effects: number; readonly deadLetters: number }]>([
    ['before the mark', { effects: 1, deadLetters: 0 }],
    ['after the mark', { effects: 1, deadLetters: 0 }],
    ['before the set-aside', { effects: 0, deadLetters: 1 }],
    ['after the set-aside', { effects: 0, deadLetters: 1 }],
    ['after the dead letter', { effects: 0, deadLetters: 2 }],
  ])(
    '%s has one effect, or none and a dead letter, and what follows is handled [T34]',
    async (dieAt, expected) => {
      const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
      const does = dieAt.endsWith('mark') ? {} : { does: 'fail' }
      await cluster.send(topic, [JSON.stringify({ id: 'x', ...does }), JSON.stringify({ id: 'after' })])
      const config = { ...workerConfig(topic, groupId), maxAttempts: 1 + Number(dieAt.endsWith('mark')) }
      await using first = new KafkaWorker({ ...config, dieAt })
      expect(await first.ended).toBe('SIGKILL')
      await using second = new KafkaWorker(config)
      await second.untilTold('running')
      await cluster.untilCommitted(groupId, topic, [2])
      const done = await effects()
      const deadLetters = (await cluster.highs(`${topic}.dead-letter`)).reduce((sum, { high }) => sum + Number(high), 0)
      expect({ effects: done.filter((name) => name === 'x').length, deadLetters: deadLetters }).toEqual(expected)
      expect(done.filter((name) => name === 'after')).toEqual(['after'])
      expect(await position(topic)).toBe(2)
    },
    60_000,
  )
})

function workerConfig(topic: string, groupId: string): KafkaConfig {
  const url = place.newPool().options.connectionString ?? ''
  const store = { on: 'postgres', strategy: 'offsets', url, schema: place.schema } as const
  return { brokers: cluster.brokers, topics: [topic], groupId, store, sessionTimeoutMs: 2_000 }
}

function linger(): Promise<unknown> {
  return new Promise((resolve) => void setTimeout(resolve, 20))
}

async function terminateIdle(): Promise<void> {
  await place.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where state like 'idle in transaction%' and query like '%${place.schema}%' or
       pid in (select l.pid from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and l.pid <> pg_backend_pid())`,
    [place.schema],
  )
}

async function makeAgain(topic: string): Promise<void> {
  await cluster.admin.deleteTopics({ topics: [topic] })
  await eventually(async () => !(await cluster.admin.listTopics()).includes(topic))
  await eventually(async () =>
    cluster.admin
      .createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: 1 }] })
      .then(() => true)
      .catch(() => false),
  )
  await eventually(async () => (await cluster.admin.listTopics()).includes(topic))
}

import { describe, expect, it } from '@jest/globals'
import { eventually } from '../../test/kit/eventually.ts'
import { startProxyOf } from '../../test/kit/fault-proxy.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { KafkaWorker, type KafkaConfig, type WorkerMessage } from '../kit/mortal/worker.ts'
import { names, onOffsets, type OnOffsets } from './offsets-group.ts'

const { open } = onOffsets()

describe.each([
  ['handle', false],
  ['handleBatch', true],
])('offsets in Postgres (%s)', (_style, batches) => {
  it('are moved with the effects, and told to the group', async () => {
    const on = await open(2)
    await on.send(names(1, 40))
    await on.send(names(41, 50), 1)
    const { watching } = await on.start({ batches })
    await on.untilCommitted(40, 10)
    expect([await on.position(), await on.position(1)]).toEqual([40, 10])
    const done = await on.effects()
    expect(done.toSorted()).toEqual(names(1, 50))
    expect(done.filter((name) => name <= '040')).toEqual(names(1, 40))
    expect(watching.ended('handled')).toBe(50)
  })

  it('are where a member begins after an administrator has reset the group to the beginning', async () => {
    const on = await open()
    await on.send(names(1, 5))
    await on.ranUntil(5, { batches })
    await on.cluster.admin.resetOffsets({ groupId: on.group, topic: on.topic, earliest: true })
    await on.send(names(6, 7))
    const second = await on.start({ batches })
    await on.untilEffects(7)
    expect(await on.effects()).toEqual(names(1, 7))
    expect(second.starts).toEqual(['006 1', '007 1'])
    await on.untilCommitted(7)
    expect(second.watching.told('position-sought')).toBeGreaterThan(0)
    expect(second.watching.told('offset-skipped')).toBe(0)
  })

  it('heal a database that was restored while the consumer was stopped, without a new message', async () => {
    const on = await open()
    await on.send(names(1, 9))
    await on.ranUntil(9, { batches })
    await restore(on, 4)
    await on.start({ batches })
    await on.untilEffects(9)
    expect(await on.effects()).toEqual(names(1, 9))
    expect(await on.position()).toBe(9)
  })

  it('heal a database that was restored under a consumer that runs [T35]', async () => {
    const on = await open()
    await on.send(names(1, 9))
    const { watching } = await on.start({ batches })
    await on.untilEffects(9)
    await on.untilCommitted(9)
    await restore(on, 4)
    await on.send(names(10, 12))
    await on.untilEffects(12)
    expect(await on.effects()).toEqual(names(1, 12))
    expect(watching.told('position-rewound')).toBe(1)
    await on.untilCommitted(12)
  })

  it('stay while a handler fails, which holds its partition, and pass a dead letter', async () => {
    const on = await open(2)
    await on.send(['a', 'flaky', 'bad', 'b'])
    await on.send(['c'], 1)
    const { starts, watching } = await on.start({
      batches,
      maxAttempts: 3,
      before: (payload, attempt) => {
        if (payload === 'bad' || (payload === 'flaky' && attempt < 3)) throw new Error('declined')
      },
    })
    await on.untilCommitted(4, 1)
    const done = await on.effects()
    expect(done.toSorted()).toEqual(['a', 'b', 'c', 'flaky'])
    expect(done.indexOf('a')).toBeLessThan(done.indexOf('flaky'))
    expect(done.indexOf('flaky')).toBeLessThan(done.indexOf('b'))
    expect(starts.filter((one) => one.startsWith('bad')).at(-1)).toBe('bad 3')
    const [deadLetter, ...others] = await on.cluster.read(`${on.topic}.dead-letter`, 1)
    expect([String(deadLetter?.value), others.length]).toEqual(['bad', 0])
    expect(watching.ended('dead-lettered')).toBe(1)
    expect(await on.position()).toBe(4)
  })

  it('step over the markers of transactions and what was aborted', async () => {
    const on = await open()
    const producer = on.cluster
      .client()
      .producer({ transactionalId: uniqueName('tx'), maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    const transact = async (values: readonly string[], end: 'commit' | 'abort'): Promise<void> => {
      const transaction = await producer.transaction()
      await transaction.send({ topic: on.topic, messages: values.map((value) => ({ value, partition: 0 })) })
      await transaction[end]()
    }
    await transact(['a', 'b'], 'commit')
    await transact(['never', 'seen'], 'abort')
    await transact(['c'], 'commit')
    const first = await on.start({ batches })
    await on.untilEffects(3)
    await on.untilCommitted(8)
    await transact(['neither'], 'abort')
    await transact(['d'], 'commit')
    await on.untilEffects(4)
    await on.stop(first)
    await on.cluster.admin.resetOffsets({ groupId: on.group, topic: on.topic, earliest: true })
    await on.start({ batches })
    await transact(['e'], 'commit')
    await on.untilEffects(5)
    expect(await on.effects()).toEqual(['a', 'b', 'c', 'd', 'e'])
    await producer.disconnect()
  })
})

/** The database after this many messages were handled: rows and effects. */
async function restore(on: OnOffsets, handled: number): Promise<void> {
  await on.place.pool.query(`begin;
    delete from ${on.place.schema}.effect where ctid in (select ctid from ${on.place.schema}.effect order by ctid offset ${handled});
    update ${on.place.schema}.position set next_offset = ${handled}, attempt_offset = null, attempt_until = null, attempts = 0
      where stream = '${on.topic}/0';
    commit`)
}

describe('a member with offsets in Postgres', () => {
  it('has one effect of each message with another that believes to own its partition [T39]', async () => {
    const on = await open()
    const config = workerConfig(on)
    const send = (ids: readonly string[], does?: WorkerMessage['does']): Promise<void> =>
      on.cluster.send(
        on.topic,
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
    await terminateIdle(on)
    await eventually(async () => (await on.position()) === 5)
    zombie.thaw()
    await send(['f'])
    await eventually(async () => (await on.position()) === 6)
    await zombie.untilTold('group-joined', 2)
    expect(await on.effects()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('goes on where another was, through a rebalance with handlers running', async () => {
    const on = await open(3)
    const all = names(1, 90)
    for (const partition of [0, 1, 2]) await on.send(all.slice(partition * 30, partition * 30 + 30), partition)
    await on.start({ before: linger })
    await on.untilEffects(5)
    const second = await on.start({ before: linger })
    await on.untilEffects(30)
    await on.stop(second)
    await on.untilEffects(90)
    expect((await on.effects()).toSorted()).toEqual(all)
    await on.untilCommitted(30, 30, 30)
  })

  it('resolves a COMMIT whose answer was lost [T38]', async () => {
    const on = await open()
    const proxy = await startProxyOf((await server('postgres')).url, 5432)
    const commits = await on.place.holdCommits()
    const pool = on.place.newPool({ connectionString: proxy.url })
    const { watching } = await on.start({ store: { pool, queryTimeoutMs: 3_000 } })
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      await on.send([name])
      await commits.waiting()
      proxy.cut()
      await commits.letGo()
      await on.untilCommitted(index + 1)
      await commits.hold()
    }
    expect(await on.effects()).toEqual(['a', 'b', 'c'])
    expect(watching.ended('handled')).toBe(3)
    await proxy.stop()
  })

  it('waits for a store that is down at a join, stays a member, and goes on by itself', async () => {
    const on = await open()
    const proxy = await startProxyOf((await server('postgres')).url, 5432)
    const pool = on.place.newPool({ connectionString: proxy.url })
    const first = await on.start({ store: { pool, queryTimeoutMs: 1_500 } })
    await on.send(['a'])
    await on.untilEffects(1)
    proxy.refuse()
    proxy.cut()
    const joins = first.watching.told('group-joined')
    const other = await on.start()
    await on.stop(other)
    await first.watching.until(() => first.watching.told('positions-unknown') > 1)
    expect(first.running.health().ready).toBe(false)
    await on.send(['b'])
    proxy.accept()
    await on.untilEffects(2)
    await eventually(async () => first.running.health().ready)
    expect(await on.effects()).toEqual(['a', 'b'])
    expect(first.watching.told('group-joined')).toBeGreaterThan(joins)
    await on.stop(first)
    await proxy.stop()
  })

  it('begins at the committed offset of a group that had another store, and keeps its own from there', async () => {
    const on = await open()
    await on.send(names(1, 5))
    await on.cluster.admin.setOffsets({
      groupId: on.group,
      topic: on.topic,
      partitions: [{ partition: 0, offset: '3' }],
    })
    const { starts } = await on.start()
    await on.untilEffects(2)
    expect(starts).toEqual(['004 1', '005 1'])
    expect(await on.position()).toBe(5)
  })

  it('has the effect again of what its producer sends again, which is another offset [T42]', async () => {
    const on = await open()
    await on.send(['same', 'same'])
    await on.start()
    await on.untilEffects(2)
    expect(await on.effects()).toEqual(['same', 'same'])
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
    const on = await open(1, compacted)
    await on.send([{ key: 'first', value: 'a' }])
    await on.ranUntil(1)
    for (const value of ['gone', 'gone too', 'b']) await on.send([{ key: 'same', value }])
    // A new segment begins with a message after segment.ms; only closed segments are cleaned.
    const left = async (): Promise<readonly string[]> => {
      await on.send([{ key: 'other', value: 'x' }])
      const { intake, source } = await on.cluster.open({ topics: [on.topic], group: uniqueName('look') })
      await intake.until(() => intake.deliveries.some(({ message }) => String(message.value) === 'x'))
      await source.close()
      return intake.positions
    }
    let positions = await left()
    while (positions.includes('0@1') || positions.includes('0@2')) positions = await left()
    const { watching } = await on.start()
    await on.untilEffects(3)
    expect((await on.effects()).slice(0, 3)).toEqual(['a', 'b', 'x'])
    expect(watching.told('lost-by-retention')).toBe(0)
  }, 60_000)
})

describe('a process with offsets in Postgres that dies', () => {
  it('by a poison message, again and again, is rid of it after maxAttempts, and of nothing else', async () => {
    const on = await open()
    const config = { ...workerConfig(on), maxAttempts: 2 }
    await on.send([
      JSON.stringify({ id: 'a' }),
      JSON.stringify({ id: 'poison', does: 'kill' }),
      JSON.stringify({ id: 'b' }),
    ])
    for (const _ of [1, 2]) {
      await using dying = new KafkaWorker(config)
      expect(await dying.ended).toBe('SIGKILL')
    }
    await using last = new KafkaWorker(config)
    await eventually(async () => (await on.position()) === 3)
    expect(await on.effects()).toEqual(['a', 'b'])
    const deadLetters = await on.cluster.read(`${on.topic}.dead-letter`, 1)
    expect(deadLetters.map(({ value, headers }) => [String(value), headers['consume-once-reason']])).toEqual([
      [JSON.stringify({ id: 'poison', does: 'kill' }), 'attempts-spent'],
    ])
    expect(last.told('dead-lettered')).toEqual(['poison'])
  }, 60_000)
})

function workerConfig({ cluster, place, topic, group: groupId }: OnOffsets): KafkaConfig {
  const url = place.newPool().options.connectionString ?? ''
  const store = { on: 'postgres', strategy: 'offsets', url, schema: place.schema } as const
  return { brokers: cluster.brokers, topics: [topic], groupId, store, sessionTimeoutMs: 2_000 }
}

function linger(): Promise<unknown> {
  return new Promise((resolve) => void setTimeout(resolve, 20))
}

async function terminateIdle({ place }: OnOffsets): Promise<void> {
  await place.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where state like 'idle in transaction%' and query like '%${place.schema}%' or
       pid in (select l.pid from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and l.pid <> pg_backend_pid())`,
    [place.schema],
  )
}

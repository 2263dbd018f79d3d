import { eventually } from '../../test/kit/eventually.ts'
import { Watching } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { defineConsumer, type Running, type Store } from '../../src/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { gate } from '../../test/kit/rig.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'
import { newPlace, type PgPlace } from '../../test/pg/support.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'

let cluster: Cluster
let place: PgPlace
const started = stoppedAfterEach<Running>({ deadlineMs: 500 })

beforeAllOpen(async (own) => {
  cluster = own(await Cluster.open())
  place = own(await newPlace())
})

interface Member {
  readonly watching: Watching
  readonly starts: string[]
  readonly aborts: unknown[]
  readonly letGo: () => void
}

/** A member whose handlers wait until they are let go, then write their payload. */
async function join(store: Store<PgTransaction>, topic: string, groupId: string): Promise<Member> {
  const [watching, starts, aborts] = [new Watching(), [] as string[], [] as unknown[]]
  const held = gate()
  const consumer = defineConsumer<string, string, PgTransaction>({
    name: 'outlived',
    ...(store.strategy === 'inbox' ? { id: ({ payload }: { readonly payload: string }) => payload } : {}),
    decode: String,
    batchSize: 1,
    store,
    graceMs: 200,
    observe: watching.observe,
    handle: async ({ payload, tx, signal }) => {
      starts.push(payload)
      signal.addEventListener('abort', () => aborts.push(signal.reason))
      await held.opened
      await place.write(tx, payload)
    },
  })
  // Nobody but the other one is to join: a member that gets no CPU for long is not taken for dead.
  const patient = {
    ...FAST,
    consumerConfig: { ...FAST.consumerConfig, sessionTimeout: 30_000, rebalanceTimeout: 30_000 },
  }
  const running = await runKafka(cluster.client(), consumer, { ...patient, topics: [topic], group: groupId })
  started.push(running)
  return { watching, starts, aborts, letGo: held.open }
}

describe.each<[string, () => Promise<Store<PgTransaction>>]>([
  ['postgresInbox', () => place.newInbox()],
  ['postgresOffsets', () => place.newOffsets()],
])('a handler whose partition went to another member (%s)', (_, newStore) => {
  it('commits effect and mark together; its new owner waits, and finds it done', async () => {
    const [topic, groupId] = [await cluster.topic(2), uniqueName('group')]
    const ids = [uniqueName('a'), uniqueName('b')]
    for (const [partition, id] of ids.entries()) await cluster.send(topic, [{ key: id, value: id }], partition)
    const one = await join(await newStore(), topic, groupId)
    await eventually(async () => one.starts.length === 2)
    const other = await join(await newStore(), topic, groupId)
    await Promise.all([one.watching.untilTold('group-joined', 2), other.watching.untilTold('group-joined')])
    // Until its new owner is at it: of one that is done, offsets would begin behind it, and there would be no duplicate.
    await place.waiting()
    one.letGo()
    other.letGo()
    await cluster.untilCommitted(groupId, topic, [1, 1])
    await Promise.all([one.watching.untilOutcomes('settle-refused', 1), other.watching.untilOutcomes('duplicate', 1)])
    expect(one.aborts).toEqual([])
    expect(other.starts).toEqual([])
    expect(other.watching.ended('duplicate')).toBe(1)
    expect(one.watching.told('attempt-failed')).toBe(0)
    const counts = await Promise.all(ids.map((id) => place.committed(id)))
    expect(counts).toEqual([1, 1])
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { Cluster } from '../../test/kafka/kit.ts'
import { Transactions } from '../../test/kafka/transactions.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { handled, idIn } from '../../test/platformatic-kafka/handled.ts'
import { ownCluster } from './own-cluster.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

const PLAIN = ['plain 1', 'plain 2', 'plain 3', 'plain 4']
/** More than lies between two entries of a broker's offset index, by which it finds where a fetch ends. */
const padding = 'x'.repeat(5_000)
/** Ends well before the transaction of the other producer. */
const SMALL_FETCH = 6_500
const ENTRY_BYTES = 34
const LAST_OFFSET_AT = 18
const STABLE_OFFSET_AT = 26

/** By how much the index of a broker is wrong about the first aborted transaction: nothing undecided follows before that offset. */
function stableBeyond(node: number, topic: string): number {
  const folder = join(kafka.dataFolders[node - 1] as string, `${topic}-0`)
  const file = readdirSync(folder).find((name) => name.endsWith('.txnindex')) as string
  const entry = readFileSync(join(folder, file)).subarray(0, ENTRY_BYTES)
  return Number(entry.readBigInt64BE(STABLE_OFFSET_AT) - entry.readBigInt64BE(LAST_OFFSET_AT)) - 1
}

describe('a replica that has fetched several transactions of a producer at once', () => {
  it('lists too few aborted transactions, whose messages are not handled', async () => {
    const topic = await cluster.topic(1, { 'min.insync.replicas': '1' })
    const move = async (node: number): Promise<void> => {
      const partitionAssignment = [{ partition: 0, replicas: [node] }]
      await cluster.admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] })
      await eventually(async () => {
        const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [topic] })
        const [{ leader, replicas } = { leader: 0, replicas: [] }] = topics[0]?.partitions ?? []
        return leader === node && String(replicas) === String(node)
      })
    }
    await move(1)
    await using transactions = await Transactions.open(cluster, topic, 2)
    for (const id of ['aborted 1', 'aborted 2']) {
      const aborted = await transactions.begin(0)
      await aborted.send(id)
      await aborted.end('abort')
    }
    for (const id of PLAIN) await cluster.send(topic, [JSON.stringify({ id, padding })])
    const other = await transactions.begin(1)
    await other.send('of another producer')
    await other.end('commit')
    expect(stableBeyond(1, topic)).toBe(0)
    await move(2)
    expect(stableBeyond(2, topic)).toBe(2 + PLAIN.length)

    const intake = RecordingIntake.settling()
    const consumerConfig = { maxBytes: SMALL_FETCH, maxBytesPerPartition: SMALL_FETCH }
    await cluster.open({ topics: [topic], group: uniqueName('group'), consumerConfig }, intake)
    const ids = (): readonly string[] => intake.deliveries.map(({ message }) => idIn(message.value))
    await intake.until(() => ids().includes('of another producer'))
    const byPlatformatic = await handled(cluster, topic, 'of another producer', SMALL_FETCH)
    const all = [...PLAIN, 'of another producer']
    expect([ids(), byPlatformatic]).toEqual([all, all])
  })
})

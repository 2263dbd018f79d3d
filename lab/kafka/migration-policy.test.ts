import { describe, expect, it } from '@jest/globals'
import { ConfigResourceTypes } from 'kafkajs'
import { runKafka, type AdaptedKafka, type KafkaLike } from '../../adapters/kafkajs/index.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { stoppedAfterEach } from '../../test/kit/after-each.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { beforeAllOpen, openedOnce } from '../../test/kit/opened.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { membersOfIncremental, platformaticOf } from '../../test/kafka/client/platformatic.ts'
import { Cluster, FAST } from '../../test/kafka/kit.ts'

// What docs/migrate.md says of `group.consumer.migration.policy`.

const POLICY = 'group.consumer.migration.policy'

const HEARTBEAT_MS = FAST.consumerConfig?.heartbeatInterval ?? 0
/** A classic member would have been told by one of them. */
const HEARTBEATS = 20

const running = stoppedAfterEach<Running>({ deadlineMs: 1_000 })

async function policyOf({ admin }: Cluster): Promise<string | undefined> {
  const { brokers } = await admin.describeCluster()
  const name = String(brokers[0]?.nodeId)
  const resources = [{ type: ConfigResourceTypes.BROKER, name, configNames: [POLICY] }]
  const { resources: found } = await admin.describeConfigs({ includeSynonyms: false, resources })
  return found[0]?.configEntries[0]?.configValue
}

class Group {
  readonly handled: string[] = []
  readonly #cluster: Cluster
  readonly #topic: string
  readonly #group = uniqueName('group')
  readonly #store = memoryStore()

  constructor(cluster: Cluster, topic: string) {
    this.#cluster = cluster
    this.#topic = topic
  }

  async start(client: 'kafkajs' | 'platformatic', groupProtocol: 'classic' | 'consumer'): Promise<Running> {
    const consumer = defineConsumer({
      name: 'migrated',
      id: messageId.header('id'),
      store: this.#store,
      handle: ({ payload }) => void this.handled.push(String(payload)),
    })
    const { brokers } = this.#cluster
    const kafka: KafkaLike | AdaptedKafka = client === 'kafkajs' ? this.#cluster.client() : platformaticOf(brokers)
    const consumerConfig = { ...FAST.consumerConfig, groupProtocol }
    const one = runKafka(kafka, consumer, { ...FAST, consumerConfig, topics: [this.#topic], group: this.#group })
    running.push(one)
    await one.ready()
    return one
  }

  async handles(id: string, withinMs?: number): Promise<void> {
    await this.#cluster.send(this.#topic, [{ value: JSON.stringify(id), headers: { id } }])
    await eventually(() => this.handled.includes(id), withinMs)
  }

  members(): Promise<number> {
    return membersOfIncremental(this.#cluster.brokers, this.#group)
  }
}

describe('a broker of Kafka 4 as it is', () => {
  let cluster: Cluster
  openedOnce(Cluster, (made) => (cluster = made))

  it('has the policy `bidirectional`', async () => {
    expect(await policyOf(cluster)).toBe('bidirectional')
  })

  it('turns a group into one of KIP-848 when the first such member joins, and back when the last one leaves', async () => {
    const group = new Group(cluster, await cluster.topic())
    const first = await group.start('kafkajs', 'classic')
    await expect(group.members()).rejects.toMatchObject({ type: 'GROUP_ID_NOT_FOUND' })
    const second = await group.start('platformatic', 'consumer')
    expect(await group.members()).toBe(2)
    await first.stop()
    await group.handles('by KIP-848')
    const third = await group.start('platformatic', 'classic')
    expect(await group.members()).toBe(2)
    await second.stop()
    await group.handles('by the classic protocol')
    await expect(group.members()).rejects.toMatchObject({ type: 'GROUP_ID_NOT_FOUND' })
    await third.stop()
    expect(group.handled).toEqual(['by KIP-848', 'by the classic protocol'])
  }, 60_000)
})

const POLICIES = ['disabled', 'upgrade', 'downgrade'] as const

describe.each(POLICIES)('a broker with the policy `%s`', (policy) => {
  let cluster: Cluster
  beforeAllOpen(async (own) => {
    const kafka = own(await startPrivateKafka({ properties: { [POLICY]: policy } }))
    cluster = own(await Cluster.open(kafka.brokers))
  })

  const refuses = (): void =>
    it('refuses a member by KIP-848 while members of the classic protocol run, and not when they have stopped', async () => {
      const group = new Group(cluster, await cluster.topic())
      const old = await group.start('platformatic', 'classic')
      await group.handles('before')
      await expect(group.start('platformatic', 'consumer')).rejects.toThrow('GROUP_ID_NOT_FOUND')
      await group.handles('meanwhile')
      await old.stop()
      await group.start('platformatic', 'consumer')
      await group.handles('after')
      expect(group.handled).toEqual(['before', 'meanwhile', 'after'])
    }, 60_000)

  const leaves = (): void =>
    it.each(['kafkajs', 'platformatic'] as const)(
      'gives the partitions of the last member by KIP-848 to nobody, until all members have stopped: %s',
      async (client) => {
        const group = new Group(cluster, await cluster.topic())
        const old = await group.start('platformatic', 'consumer')
        await group.handles('before')
        const next = await group.start(client, 'classic')
        await group.handles('meanwhile')
        await old.stop()
        await expect(group.handles('for nobody', HEARTBEATS * HEARTBEAT_MS)).rejects.toThrow('not so within')
        await next.stop()
        await group.start(client, 'classic')
        await group.handles('after')
        expect(group.handled).toEqual(['before', 'meanwhile', 'for nobody', 'after'])
      },
      60_000,
    )

  if (policy !== 'upgrade') refuses()
  if (policy !== 'downgrade') leaves()
})

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { consumerOf, decodeForAll, uncheckedIn } from '../../../../adapters/kafkajs/fetch/own-decoder.ts'
import { readFetchResponse } from '../../../../adapters/kafkajs/fetch/fetch-response.ts'
import type { RawMessage } from '../../../../adapters/kafka/client.ts'
import type { ConsumerLike, KafkaLike } from '../../../../adapters/kafkajs/kafkajs-like.ts'
import { batchBytes, messageSetBytes, responseBytes } from './fetch-bytes.ts'

type Decode = (bytes: Buffer) => Promise<{ responses: { partitions: { messages: RawMessage[] }[] }[] }>

/** The places of kafkajs that are changed, as it has them. */
interface ClusterLike {
  findBroker(options: { nodeId: string }): Promise<BrokerLike>
  brokerPool: { findBroker(options: unknown): Promise<BrokerLike> }
}
interface BrokerLike {
  lookupRequest(apiKey: number, definition: unknown): (request: object) => { response: { decode: Decode } }
}

const client = (): Kafka => new Kafka({ brokers: ['127.0.0.1:9'], logLevel: logLevel.NOTHING })
const contextOf = (producerId: string): object => ({ producerId, inTransaction: true })
const factoryIn = (kafka: object): symbol => {
  const names = Object.getOwnPropertySymbols(kafka)
  const name = names.find(({ description }) => description === 'private:Kafka:createCluster')
  if (name === undefined) throw new Error('kafkajs has changed')
  return name
}
const clusterOf = (kafka: Kafka): ClusterLike => {
  const create = Reflect.get(kafka, factoryIn(kafka)) as (options: object) => ClusterLike
  return create({})
}

/** How a broker decodes a response of a fetch, after it has connected again. */
async function decoderOf(cluster: ClusterLike): Promise<Decode> {
  const protocol = { request: { apiVersion: 11 }, response: { decode: async () => ({ responses: [] }) } }
  const broker: BrokerLike = { lookupRequest: () => () => protocol }
  cluster.brokerPool.findBroker = async () => broker
  const found = await cluster.findBroker({ nodeId: '0' })
  found.lookupRequest = () => () => protocol
  const request = { topics: [{ topic: 't', partitions: [{ partition: 0, fetchOffset: '0' }] }] }
  expect(found.lookupRequest(3, {})({}).response.decode).toBe(protocol.response.decode)
  return found.lookupRequest(1, {})(request).response.decode
}

const BATCH = batchBytes({ firstOffset: 4n, isTransactional: true, producerId: 1n, records: [{ offsetDelta: 0 }] })
const RESPONSE = responseBytes(11, { t: [{ partition: 0, records: BATCH }] })

describe('a consumer of a client of kafkajs', () => {
  it('has its fetches decoded here, also after a broker has connected again, and other consumers have not', async () => {
    const kafka = client()
    const name = factoryIn(kafka)
    const create = Reflect.get(kafka, name) as (options: object) => ClusterLike
    let cluster: ClusterLike | undefined
    Reflect.set(kafka, name, (options: object) => (cluster = create(options)))
    const noting: unknown = Reflect.get(kafka, name)
    expect(consumerOf(kafka as KafkaLike, { groupId: 'g' }).isReached).toBe(true)
    expect(Reflect.get(kafka, name)).toBe(noting)
    if (cluster === undefined) throw new Error('no cluster was made')
    const { responses } = await (await decoderOf(cluster))(RESPONSE)
    expect(responses[0]?.partitions[0]?.messages).toHaveLength(1)
    kafka.consumer({ groupId: 'other' })
    expect(Object.hasOwn(cluster, 'findBroker')).toBe(false)
  })

  it('that was made before has its fetches decoded here too, once all have', async () => {
    const kafka = client()
    const cluster = clusterOf(kafka)
    expect([decodeForAll(kafka), decodeForAll(client())]).toEqual([true, true])
    expect((await (await decoderOf(cluster))(RESPONSE)).responses).toHaveLength(1)
  })

  it('that cannot be reached is left as it is: another class, a client that is frozen, a kafkajs that has changed', () => {
    const consumer = {} as ConsumerLike
    const stranger = { consumer: () => consumer } as unknown as KafkaLike
    expect(consumerOf(stranger, { groupId: 'g' })).toEqual({ consumer, isReached: false })
    expect(decodeForAll(stranger)).toBe(false)
    expect(consumerOf(Object.freeze(client()) as KafkaLike, { groupId: 'g' }).isReached).toBe(false)
    const changed = client()
    Reflect.set(changed, factoryIn(changed), () => ({}))
    expect(decodeForAll(changed)).toBe(false)
  })

  it('whose fetch is left to kafkajs has aborted messages passed over all the same', async () => {
    const kafka = client()
    decodeForAll(kafka)
    const cluster = clusterOf(kafka)
    const messages = [
      { offset: '0', key: null, isControlRecord: false },
      { offset: '1', key: null, isControlRecord: false, batchContext: contextOf('1') },
      { offset: '2', key: null, isControlRecord: false, batchContext: contextOf('2') },
      { offset: '3', key: Buffer.alloc(4), isControlRecord: false, batchContext: contextOf('1') },
      { offset: '4', key: Buffer.alloc(4), isControlRecord: true, batchContext: contextOf('1') },
      { offset: '5', key: null, isControlRecord: false, batchContext: contextOf('1') },
    ]
    const partition = { abortedTransactions: [{ producerId: '1', firstOffset: '1' }], messages }
    const decode = async (): Promise<object> => ({ responses: [{ partitions: [partition] }] })
    const broker = { lookupRequest: () => () => ({ request: { apiVersion: 11 }, response: { decode } }) }
    cluster.brokerPool.findBroker = async () => broker as unknown as BrokerLike
    const found = await cluster.findBroker({ nodeId: '0' })
    const old = responseBytes(11, {
      t: [{ partition: 0, records: messageSetBytes(0n, Buffer.from('k'), Buffer.from('v')) }],
    })
    await found.lookupRequest(1, {})({ topics: [] }).response.decode(old)
    expect(partition.abortedTransactions).toEqual([])
    expect(messages.map(({ isControlRecord }) => isControlRecord)).toEqual([false, true, false, true, true, false])
    expect(uncheckedIn(messages as unknown as RawMessage[])).toBeUndefined()
  })
})

describe('a message', () => {
  it('of a transaction is unchecked unless it was decoded here', async () => {
    const { responses } = await readFetchResponse(RESPONSE, 11, () => 0n)
    const checked = responses[0]?.partitions[0]?.messages ?? []
    expect(checked).toHaveLength(1)
    expect(uncheckedIn(checked)).toBeUndefined()
    const [message] = checked
    const plain = { ...message, batchContext: { inTransaction: false } } as RawMessage
    const foreign = { ...message, batchContext: { inTransaction: true } } as RawMessage
    const { batchContext: _, ...older } = plain
    expect(uncheckedIn([...checked, plain, older, ...checked])).toBeUndefined()
    expect(uncheckedIn([...checked, plain, foreign])).toBe(foreign)
  })
})

describe('the adapter', () => {
  it('makes no consumer of kafkajs whose fetches are decoded by kafkajs', () => {
    const root = join(__dirname, '../../../../adapters/kafkajs')
    const files = readdirSync(root, { recursive: true }).map(String)
    const makers = files.filter(
      (name) => name.endsWith('.ts') && /kafka\.consumer\(\w/.test(readFileSync(join(root, name), 'utf8')),
    )
    expect(makers).toEqual(['fetch/own-decoder.ts'])
  })
})

import { describe, expect, it } from '@jest/globals'
import type { BrokerError } from '../../../src/index.ts'
import { standardId } from '../../../src/identity/message-id.ts'
import { defaultPartition } from '../../../adapters/kafka/copies/default-partition.ts'
import type { KafkaClient, Producer } from '../../../adapters/kafka/client.ts'
import {
  KafkaConfirmedPublisher,
  type ConfirmedPublisher,
} from '../../../adapters/kafka/publishing/confirmed-publisher.ts'
import { eventually } from '../../kit/eventually.ts'
import { openedOnce } from '../../kit/opened.ts'
import { Cluster } from '../kit.ts'

interface Client {
  /** As a user gets it. */
  readonly publisherOn: (brokers: readonly string[]) => ConfirmedPublisher
  /** The broker writes what the first sends bring, and their answers do not arrive. */
  readonly losingAnswers: (brokers: readonly string[], sends: number) => KafkaClient
  /** How often a message is in the topic then. */
  readonly timesWritten: (sends: number) => number
}

interface Stored {
  readonly partition: number
  readonly key: string | undefined
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, unknown>>
}

const idOf = ({ headers }: Stored): string => String(headers['message-id'])
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)

async function refusalOf(publishing: Promise<void>): Promise<BrokerError> {
  return publishing.then(
    () => Promise.reject(new Error('it was confirmed')),
    (error: unknown) => error as BrokerError,
  )
}

export function describePublisher(title: string, { publisherOn, losingAnswers, timesWritten }: Client): void {
  let cluster: Cluster

  openedOnce(Cluster, (made) => (cluster = made))

  async function storedIn(topic: string): Promise<readonly Stored[]> {
    const stored: Stored[] = []
    await cluster.readAll(topic, ({ key, value, headers = {} }, partition) =>
      stored.push({ partition, key: key?.toString(), value, headers }),
    )
    return stored
  }

  describe(`confirmedPublisher on ${title}`, () => {
    it('publishes with an ID that consumers find by themselves, where other producers put the key', async () => {
      const topic = await cluster.topic(4)
      await using publisher = publisherOn(cluster.brokers)
      await publisher.publish({
        topic,
        messageId: 'é-1',
        key: 'order 1',
        value: 'hé',
        headers: { tenant: 'a', many: ['x', Buffer.from([255])] },
      })
      const [message] = await storedIn(topic)
      expect(message).toMatchObject({ partition: defaultPartition(Buffer.from('order 1'), 4), key: 'order 1' })
      expect(message?.value).toEqual(Buffer.from('hé'))
      expect(message?.headers).toEqual({
        tenant: Buffer.from('a'),
        many: [Buffer.from('x'), Buffer.from([255])],
        'message-id': Buffer.from('é-1'),
      })
      expect(String(standardId()({ headers: message?.headers } as never))).toBe('é-1')
    })

    it('publishes tombstones, bytes, and to a partition that is asked for; without a key the partitions take turns', async () => {
      const topic = await cluster.topic(2)
      await using publisher = publisherOn(cluster.brokers)
      await publisher.publish({ topic, messageId: 'none', key: 'k', value: null, partition: 1 })
      await publisher.publish({ topic, messageId: 'bytes', key: null, value: Uint8Array.of(0, 255), partition: 1 })
      await publisher.publish({ topic, messageId: 'a', value: '' })
      await publisher.publish({ topic, messageId: 'b', value: '' })
      const stored = await storedIn(topic)
      const asked = stored.filter((message) => !['a', 'b'].includes(idOf(message)))
      expect(asked.map(({ partition, value }) => [partition, value])).toEqual([
        [1, null],
        [1, Buffer.from([0, 255])],
      ])
      const others = stored.filter((message) => !asked.includes(message))
      expect(new Set(others.map(({ partition }) => partition))).toEqual(new Set([0, 1]))
    })

    it('keeps the order of the calls, which need not wait for each other', async () => {
      const topic = await cluster.topic(3)
      await using publisher = publisherOn(cluster.brokers)
      await Promise.all(
        numbers(3_000).map((at) =>
          publisher.publish({ topic, messageId: `m${at}`, key: `k${at % 7}`, value: String(at) }),
        ),
      )
      const stored = await storedIn(topic)
      expect(stored).toHaveLength(3_000)
      for (const key of numbers(7)) {
        const ofKey = stored.filter((message) => message.key === `k${key}`).map(({ value }) => Number(value))
        expect(ofKey).toEqual(numbers(3_000).filter((at) => at % 7 === key))
      }
    })

    it('refuses a message that is too large, and publishes those around it', async () => {
      const topic = await cluster.topic(1, { 'max.message.bytes': '20000' })
      await using publisher = publisherOn(cluster.brokers)
      const sizes = [10, 15_000, 30_000, 15_000, 10]
      const ends = await Promise.allSettled(
        sizes.map((size, at) => publisher.publish({ topic, messageId: `m${at}`, value: Buffer.alloc(size) })),
      )
      expect(ends.map(({ status }) => status)).toEqual(sizes.map((size) => (size > 20_000 ? 'rejected' : 'fulfilled')))
      const [{ reason }] = ends.filter((end) => end.status === 'rejected') as [PromiseRejectedResult]
      expect(reason).toMatchObject({ name: 'BrokerError', code: 'BROKER_PUBLISH_REFUSED' })
      expect(String(reason)).toMatch(/not in the topic\. Raise max\.message\.bytes of the topic, or send less/)
      expect((await storedIn(topic)).map(idOf)).toEqual(['m0', 'm1', 'm3', 'm4'])
    })

    it('refuses a topic that does not exist, which is not created, and a partition that it does not have', async () => {
      const topic = await cluster.topic(2)
      await using publisher = publisherOn(cluster.brokers)
      const missing = await refusalOf(publisher.publish({ topic: `${topic}.missing`, messageId: '1', value: 'v' }))
      expect(missing).toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
      expect(missing.message).toMatch(/\.missing: the topic does not exist\. Create it, .*It is not in the topic/)
      expect(await cluster.admin.listTopics()).not.toContain(`${topic}.missing`)
      const beyond = await refusalOf(publisher.publish({ topic, messageId: '1', value: 'v', partition: 2 }))
      expect(beyond.message).toMatch(/it has partitions 0 to 1, got partition 2\. It is not in the topic/)
      await publisher.publish({ topic, messageId: '2', value: 'v' })
    })

    it('says at once that no broker answers', async () => {
      await using publisher = publisherOn(['127.0.0.1:1'])
      const refusal = await refusalOf(publisher.publish({ topic: 'sms', messageId: '1', value: 'v' }))
      expect(refusal).toMatchObject({ code: 'BROKER_UNREACHABLE' })
      expect(refusal.message).toMatch(/It is not in the topic\. Check that the brokers are up/)
    })

    it('sends a message again, under one ID, of which the answer was lost', async () => {
      const topic = await cluster.topic()
      await using publisher = new KafkaConfirmedPublisher(losingAnswers(cluster.brokers, 2))
      await Promise.all(['1', '2'].map((messageId) => publisher.publish({ topic, messageId, value: 'v' })))
      await publisher.publish({ topic, messageId: '3', value: 'v' })
      const ids = (await storedIn(topic)).map(idOf)
      const times = timesWritten(2)
      expect(ids.toSorted()).toEqual([...Array(times).fill('1'), ...Array(times).fill('2'), '3'])
    })

    it('does not take the next message for one that it gave up, and that is there', async () => {
      const topic = await cluster.topic()
      await using publisher = new KafkaConfirmedPublisher(losingAnswers(cluster.brokers, 1_000), 700)
      const giveUp = () => refusalOf(publisher.publish({ topic, messageId: 'given up', value: 'v' }))
      let refusal = await giveUp()
      // On a busy machine the brokers may not have told of the topic before it is given up.
      for (let tries = 1; tries < 20 && refusal.message.includes('It is not in the topic'); tries++)
        refusal = await giveUp()
      expect(refusal).toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
      expect(refusal.message).toMatch(/may be in the topic all the same: publish it again, with the same message ID/)
      await refusalOf(publisher.publish({ topic, messageId: 'next', value: 'w' }))
      expect(new Set((await storedIn(topic)).map(idOf))).toEqual(new Set(['given up', 'next']))
    })

    it('closes its connection once it has published nothing for a while, and opens another for the next message', async () => {
      const topic = await cluster.topic()
      const client = losingAnswers(cluster.brokers, 0)
      let [opened, closed] = [0, 0]
      const producer = async (): Promise<Producer> => {
        const made = await client.producer()
        opened++
        return { ...made, disconnect: () => made.disconnect().finally(() => closed++) }
      }
      await using publisher = new KafkaConfirmedPublisher({ producer, admin: () => client.admin() }, 30_000, 20)
      const publish = (messageId: string) => publisher.publish({ topic, messageId, value: 'v' })
      await Promise.all(['1', '2'].map(publish))
      await eventually(() => closed === 1)
      await publish('3')
      expect(opened).toBe(2)
      expect((await storedIn(topic)).map(idOf).toSorted()).toEqual(['1', '2', '3'])
    })

    it('has room for 10,000 messages, and refuses more', async () => {
      const topic = await cluster.topic()
      await using publisher = publisherOn(cluster.brokers)
      const ends = await Promise.allSettled(
        numbers(10_001).map((at) => publisher.publish({ topic, messageId: `m${at}`, value: 'v' })),
      )
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(10_000)
      expect(String((ends.at(-1) as PromiseRejectedResult).reason)).toMatch(
        /10000 messages are not confirmed yet; await/,
      )
      await publisher.publish({ topic, messageId: 'next', value: 'v' })
    })

    it('refuses after its end, which may come twice or first, and rejects what is not confirmed', async () => {
      const topic = await cluster.topic()
      const unused = publisherOn(cluster.brokers)
      await unused.close()
      await expect(unused.publish({ topic, messageId: '1', value: 'v' })).rejects.toMatchObject({ code: 'STOPPED' })
      const publisher = publisherOn(cluster.brokers)
      await publisher.publish({ topic, messageId: '1', value: 'v' })
      const pending = refusalOf(publisher.publish({ topic, messageId: '2', value: 'v' }))
      await Promise.all([publisher.close(), publisher.close()])
      expect((await pending).message).toMatch(/the publisher was closed\. It (?:is not|may be) in the topic/)
    })
  })
}

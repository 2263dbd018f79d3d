import { Watching } from '../../test/kit/recording-intake.ts'
import { expect, it } from '@jest/globals'
import { removeKeys } from '../../test/kit/servers/clients.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Redis } from 'ioredis'
import { redisLease } from '../../adapters/redis/index.ts'
import { eachBatch, eachMessage } from '../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../src/index.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { KafkaWorker } from '../kit/mortal/worker.ts'
import { body, OwnConsumer, type Payload } from '../../test/kafka/own-consumer.ts'

let cluster: Cluster
let redis: Redis
let url: string
const prefix = uniqueName('dropin')

beforeAllOpen(async (own) => {
  cluster = own(await Cluster.open())
  url = (await server('redis')).url
  redis = own(new Redis(url))
  own(() => removeKeys(redis, prefix))
})

it.each(['eachMessage', 'eachBatch'] as const)(
  '%s, killed between the mark and the commit: the message comes again, as a duplicate without an effect',
  async (which) => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const own = `${prefix}_${which}`
    await cluster.send(topic, [body('a')])
    await using worker = new KafkaWorker({
      brokers: cluster.brokers,
      topics: [topic],
      groupId,
      sessionTimeoutMs: 1_500,
      dropIn: which,
      name: 'sms',
      store: { on: 'redis', strategy: 'lease', url, options: { prefix: own } },
      leaseMs: 30_000,
      dieAt: 'after the mark',
    })
    expect(await worker.ended).toBe('SIGKILL')
    expect([worker.told('effect'), await cluster.committed(groupId, topic)]).toEqual([['a'], [-1]])

    await cluster.send(topic, [body('b')])
    const watching = new Watching()
    const effects: string[] = []
    const sms = defineConsumer<Payload>({
      name: 'sms',
      id: ({ payload }) => payload.id,
      store: redisLease({ redis, prefix: own }),
      handle: ({ payload }) => effects.push(payload.id),
      observe: watching.observe,
    })
    const [onMessage, onBatch] = [eachMessage(sms, { group: groupId }), eachBatch(sms, { group: groupId })]
    const run =
      which === 'eachMessage' ? { eachMessage: onMessage } : { eachBatch: onBatch, eachBatchAutoResolve: false }
    await using consumer = await OwnConsumer.run(cluster, { topics: [topic], groupId, run })
    await cluster.untilCommitted(groupId, topic, [2])
    expect(effects).toEqual(['b'])
    expect([watching.ended('duplicate'), watching.ended('handled'), consumer.crashes]).toEqual([1, 1, []])
    await Promise.all([consumer.stop(), onMessage.stop(), onBatch.stop()])
  },
  60_000,
)

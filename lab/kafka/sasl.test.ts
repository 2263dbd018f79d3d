import { describe, expect, it } from '@jest/globals'
import * as platformatic from '@platformatic/kafka'
import { Kafka, logLevel, type SASLOptions } from 'kafkajs'
import { kafkaSubscription, runKafka, type AdaptedKafka, type KafkaLike } from '../../adapters/kafkajs/index.ts'
import { platformaticClient } from '../../adapters/platformatic-kafka/client.ts'
import { defineConsumer, doctor, type Consumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateKafka, type PrivateKafka } from '../../test/kit/servers/private-kafka.ts'

const TOPIC = 'sms'
let kafka: PrivateKafka

beforeAllOpen(async (own) => {
  kafka = own(await startPrivateKafka({ users: { alice: 'secret' } }))
  const admin = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic: TOPIC }] })
  await admin.disconnect()
})

interface Login {
  readonly mechanism: 'plain' | 'scram-sha-256'
  readonly password: string
}
type Client = (login: Login) => KafkaLike | AdaptedKafka

const ofKafkajs: Client = (login) => {
  const sasl = { ...login, username: 'alice' } as SASLOptions
  return new Kafka({ brokers: kafka.saslBrokers, logLevel: logLevel.NOTHING, sasl })
}
const ofPlatformatic: Client = ({ mechanism, password }) => {
  const sasl = { mechanism: mechanism.toUpperCase(), username: 'alice', password }
  return platformaticClient(platformatic, { clientId: 'test', bootstrapBrokers: kafka.saslBrokers, sasl })
}

const consumer = (): Consumer => defineConsumer({ name: 'sms', id: () => '1', store: memoryStore(), handle: () => {} })

describe.each([
  ['kafkajs', ofKafkajs],
  ['@platformatic/kafka', ofPlatformatic],
])('%s with SASL', (group, client) => {
  it('joins with the right password', async () => {
    const running = runKafka(client({ mechanism: 'plain', password: 'secret' }), consumer(), { topics: [TOPIC], group })
    expect(await running.ready()).toBe('ready')
    await running.stop()
  })

  it.each<Login>([
    { mechanism: 'plain', password: 'wrong' },
    { mechanism: 'scram-sha-256', password: 'secret' }, // Not enabled.
  ])('refuses to start with $mechanism and the password $password, which another try does not mend', async (login) => {
    const began = performance.now()
    const refused = {
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('Kafka refused the login of the client'),
    }
    const running = runKafka(client(login), consumer(), { topics: [TOPIC], group })
    await expect(running.ready()).rejects.toMatchObject(refused)
    await running.stop()
    const subscription = kafkaSubscription(client(login), { topics: [TOPIC], group })
    await expect(doctor(consumer(), subscription)).rejects.toMatchObject(refused)
    expect(performance.now() - began).toBeLessThan(10_000)
  })
})

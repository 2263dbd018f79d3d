import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Strangers, WITHIN_MS } from './installed.ts'

/** Its types alone: the package is native, and nothing of it is built or downloaded here. */
const CLIENT = '@confluentinc/kafka-javascript@1.10.1'

const PROGRAM = `
import { KafkaJS } from '@confluentinc/kafka-javascript'
import { defineConsumer } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { eachBatch, eachMessage } from 'consume-once/kafkajs'

const sms = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })

export async function main(): Promise<void> {
  const kafka = new KafkaJS.Kafka({ kafkaJS: { brokers: ['localhost:9092'] } })
  const onMessage = eachMessage(sms, { group: 'sms', checkFetches: false })
  const first = kafka.consumer({ kafkaJS: { groupId: 'sms', fromBeginning: true } })
  await first.run({ eachMessage: onMessage })
  const onBatch = eachBatch(sms, { group: 'sms', checkFetches: false })
  const second = kafka.consumer({ kafkaJS: { groupId: 'sms' }, 'js.consumer.max.batch.size': 500 })
  await second.run({ eachBatch: onBatch, eachBatchAutoResolve: false })
  await Promise.all([first.disconnect(), onMessage.stop()])
  // @ts-expect-error a batch is no message
  await first.run({ eachMessage: onBatch })
  // @ts-expect-error its client publishes no dead letters: it is not that of kafkajs
  eachMessage(sms, { group: 'sms', kafka })
}
`

const strangers = new Strangers()
beforeAll(async () => {
  await strangers.pack()
  await strangers.install('confluent', [CLIENT, 'typescript@5.9.3', '@types/node@20'])
}, WITHIN_MS)
afterAll(() => strangers[Symbol.dispose]())

it(
  'eachMessage and eachBatch fit the types of the KafkaJS API of confluent-kafka-javascript',
  async () => {
    strangers.write('confluent/program.ts', PROGRAM)
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--skipLibCheck', '--target', 'es2022']
    const format = ['--module', 'nodenext', '--types', 'node']
    expect(await strangers.run('confluent', 'node_modules/.bin/tsc', [...options, ...format, 'program.ts'])).toBe('')
  },
  WITHIN_MS,
)

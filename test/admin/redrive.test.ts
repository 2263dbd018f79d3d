import { eventually } from '../kit/eventually.ts'
import { describe, expect, it } from '@jest/globals'
import { rabbitSubscription, runRabbit } from '../../adapters/amqplib/index.ts'
import { kafkaSubscription, runKafka } from '../../adapters/kafkajs/index.ts'
import { adminOf, defineConsumer, messageId, TerminalError, type Consumer, type Subscription } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { Rabbit } from '../rabbitmq/rabbit.ts'
import { Cluster, FAST } from '../kafka/kit.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'

const describeKafka = backends.has('kafka') ? describe : describe.skip
const describeRabbit = backends.has('rabbitmq') ? describe : describe.skip

const WITHIN_MS = 120_000
const WHY = { by: 'kim', reason: 'fixed in 2.4.1' }

/** A consumer that gives everything up until its bug is fixed. */
class Buggy {
  readonly handled: string[] = []
  isFixed = false
  readonly consumer: Consumer = defineConsumer({
    name: 'sms-sender',
    store: memoryStore(),
    id: messageId.header('message-id'),
    maxAttempts: 2,
    backoff: { initialMs: 1, maxMs: 1 },
    handle: ({ message }) => {
      if (!this.isFixed) throw this.error
      this.handled.push(String(message.headers['message-id']))
    },
  })
  error: Error = new TerminalError('cannot read the field')

  async stateOf(id: string, from: Subscription): Promise<string | undefined> {
    return (await adminOf(this.consumer, from).inspect([id]))[0]?.state
  }
}

describeKafka('what was given up on Kafka', () => {
  it(
    'is found by its ID, also when it went over a retry topic, and runs when its dead letter is moved back after a reopen [T63]',
    async () => {
      await using cluster = await Cluster.open()
      const topic = await cluster.topic()
      const retryTopic = await cluster.topic()
      const deadLetterTopic = await cluster.topic()
      const options = {
        topics: [topic],
        group: uniqueName('group'),
        deadLetter: { topic: deadLetterTopic },
        retry: { topics: [{ delayMs: 50, topic: retryTopic }] },
        ...FAST,
      }
      const buggy = new Buggy()
      buggy.error = new Error('cannot read the field')
      const from = kafkaSubscription(cluster.client(), options)
      await using running = await runKafka(cluster.client(), buggy.consumer, options)
      await cluster.send(topic, [{ value: '{}', headers: { 'message-id': 'a' } }])
      const [deadLetter] = await cluster.read(deadLetterTopic, 1)
      expect(await buggy.stateOf('a', from)).toBe('given-up')

      buggy.isFixed = true
      const copy = { value: deadLetter?.value ?? null, headers: { ...deadLetter?.headers } as Record<string, string> }
      await cluster.send(topic, [copy])
      await cluster.read(deadLetterTopic, 2)
      expect(buggy.handled).toEqual([])

      expect(await adminOf(buggy.consumer, from).reopen(['a'], WHY)).toMatchObject([{ verdict: 'decided' }])
      await cluster.send(topic, [copy])
      await eventually(() => buggy.handled.length > 0)
      expect(buggy.handled).toEqual(['a'])
      await eventually(async () => (await buggy.stateOf('a', from)) === 'done')
      await running.stop()
    },
    WITHIN_MS,
  )
})

describeRabbit('what was given up on RabbitMQ', () => {
  it(
    'is found by its ID, and runs when its dead letter is moved back after a reopen',
    async () => {
      await using rabbit = await Rabbit.open()
      const queue = rabbit.name()
      const buggy = new Buggy()
      const from = rabbitSubscription(rabbit.url, { queue })
      await using running = await runRabbit(rabbit.url, buggy.consumer, { queue })
      await rabbit.send(queue, ['{}'], { headersOf: () => ({ 'message-id': 'a' }) })
      const deadLetter = await rabbit.take(`${queue}.dead-letter`)
      expect(await buggy.stateOf('a', from)).toBe('given-up')

      buggy.isFixed = true
      const headersOf = (): Record<string, string | number> => ({ ...deadLetter.properties.headers })
      await rabbit.send(queue, [deadLetter.body], { headersOf })
      await rabbit.take(`${queue}.dead-letter`)
      expect(buggy.handled).toEqual([])

      expect(await adminOf(buggy.consumer, from).reopen(['a'], WHY)).toMatchObject([{ verdict: 'decided' }])
      await rabbit.send(queue, [deadLetter.body], { headersOf })
      await eventually(() => buggy.handled.length > 0)
      expect(buggy.handled).toEqual(['a'])
      await running.stop()
    },
    WITHIN_MS,
  )
})

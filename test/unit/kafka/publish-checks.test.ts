import { describe, expect, it } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { confirmedPublisher } from '../../../adapters/kafkajs/index.ts'
import { confirmedPublisher as platformaticPublisher } from '../../../adapters/platformatic-kafka/index.ts'
import { ConfigError } from '../../../src/index.ts'

const kafka = new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING })

describe('what is given to publish()', () => {
  const message = { topic: 'sms', messageId: 'x', value: 'x' }

  /** As JavaScript may pass it; nothing is dialled for it. */
  async function refusal(given: unknown): Promise<string> {
    await using publisher = confirmedPublisher(kafka)
    const error: unknown = await publisher.publish(given as typeof message).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).problems.join('; ')
  }

  it.each<[string, object, RegExp]>([
    ['an unknown name', { topc: 'sms' }, /topc: unknown option; did you mean topic\?/],
    ['of RabbitMQ', { body: 'x' }, /body: give it as value/],
    ['no topic', { topic: undefined }, /topic: expected the name of a topic, got undefined/],
    ['a name that no topic has', { topic: 'a b' }, /topic: expected the name of a topic, got "a b"/],
    ['no ID', { messageId: undefined }, /messageId: expected text of 1 to 512 bytes, got undefined; give the message/],
    ['a blank ID', { messageId: ' \n' }, /messageId: .* the message ID is blank/],
    ['too long an ID', { messageId: 'é'.repeat(257) }, /messageId: .* longer than 512 bytes/],
    ['an ID that is not valid Unicode', { messageId: 'a\uD800b' }, /messageId: .* lone surrogate/],
    ['no value', { value: undefined }, /value: expected bytes, text or null, got undefined; JSON.stringify/],
    ['an object', { value: { to: 'x' } }, /value: expected bytes, text or null, got object; JSON.stringify/],
    ['a key of another type', { key: 5 }, /key: expected bytes, text or null, got number/],
    ['a partition below 0', { partition: -1 }, /partition: expected a whole number from 0, got -1/],
    ['headers that are none', { headers: ['a'] }, /headers: expected an object of headers, got object/],
    ['a header of another type', { headers: { a: 'b', c: 5 } }, /headers: expected bytes, text .* value in "c"/],
    ['the header of the ID', { headers: { 'message-id': 'y' } }, /headers: .* message-id: give it as messageId/],
  ])('must not be %s', async (_what, given, expected) => {
    expect(await refusal({ ...message, ...given })).toMatch(expected)
  })

  it('must be a message at all', async () => {
    expect(await refusal(null)).toMatch(/^publish: options: expected an object, got null; publish: topic: /)
  })
})

it.each([
  ['kafkajs', (given: unknown) => confirmedPublisher(given as Kafka)],
  ['@platformatic/kafka', (given: unknown) => platformaticPublisher(given as never)],
])('a publisher of %s needs a client', (_name, publisherOn) => {
  for (const given of [undefined, null, {}, 'localhost:9092']) expect(() => publisherOn(given)).toThrow(ConfigError)
})

import { describe, expect, it } from '@jest/globals'
import { confirmedPublisher } from '../../../adapters/amqplib/index.ts'
import { ConfigError } from '../../../src/index.ts'

describe('what is given to publish()', () => {
  const message = { routingKey: 'sms', messageId: 'x', body: 'x' }

  /** As JavaScript may pass it; nothing is dialled for it. */
  async function refusal(given: unknown): Promise<string> {
    await using publisher = confirmedPublisher('amqp://127.0.0.1:1')
    const error: unknown = await publisher.publish(given as typeof message).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).problems.join('; ')
  }

  it('says of a queue where its name belongs, beside the key that is missing', async () => {
    expect(await refusal({ queue: 'sms', messageId: 'x', body: 'x' })).toBe(
      'publish: queue: give it as routingKey: the name of a queue is the routingKey, on the default exchange; ' +
        'publish: routingKey: expected text, got undefined; the name of a queue is the routingKey, on the default exchange',
    )
  })

  it.each<[string, object, RegExp]>([
    ['an unknown name', { routngKey: 'sms' }, /routngKey: unknown option; did you mean routingKey\?/],
    ['a property of the message', { contentType: 'a/b' }, /contentType: give it inside of properties/],
    ['a key of another type', { routingKey: 5 }, /routingKey: expected text, got number/],
    ['an exchange of another type', { exchange: null }, /exchange: expected text, got object; left out, it is /],
    ['no ID', { messageId: undefined }, /^publish: messageId: expected text of 1 to 255 bytes/],
    ['no body', { body: undefined }, /^publish: body: expected bytes or text, got undefined/],
  ])('must not be %s', async (_what, given, expected) => {
    expect(await refusal({ ...message, ...given })).toMatch(expected)
  })

  it('must be a message at all', async () => {
    expect(await refusal(null)).toMatch(/^publish: options: expected an object, got null; publish: routingKey: /)
  })

  it('may have fields that say nothing', async () => {
    await using publisher = confirmedPublisher('amqp://127.0.0.1:1')
    const given: typeof message & { readonly queue: undefined } = { ...message, queue: undefined }
    await expect(publisher.publish(given)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
  })
})

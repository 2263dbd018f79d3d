import { openedOnce } from '../kit/opened.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { TerminalError } from '../../src/index.ts'
import { Consumers } from './consumers.ts'
import { deadLetterOf, deliveryAt, retryOf } from './dead-letters.ts'
import { Rabbit, type Taken } from './rabbit.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

/** As a person moves it, with what it says. */
async function moveBack(queue: string, { body, properties }: Taken, changed = body): Promise<void> {
  const { messageId = '', headers = {} } = properties as { messageId?: string; headers?: Record<string, unknown> }
  await rabbit.send(queue, [changed], { messageId, headers })
}

function refuse(): never {
  throw new TerminalError('no such number')
}

async function deadLettered(): Promise<{ readonly queue: string; readonly dead: Taken }> {
  const queue = rabbit.name()
  await consumers.run(rabbit.url, { queue }, refuse)
  await rabbit.send(queue, ['a'])
  return { queue, dead: await rabbit.take(`${queue}.dead-letter`) }
}

describe('a dead letter that somebody moves back', () => {
  it('keeps its diagnosis when it is dead-lettered again without being run', async () => {
    const { queue, dead } = await deadLettered()
    expect(dead.properties.headers).toMatchObject({
      'consume-once-attempts': 1,
      'consume-once-error-class': 'TerminalError',
    })
    await moveBack(queue, dead)
    const again = await rabbit.take(`${queue}.dead-letter`)
    const anew = {
      'consume-once-dead-lettered-at': expect.any(String),
      'consume-once-publish-id': expect.any(String),
      'consume-once-repeated': true,
      // By the clock of the process in the first dead letter, and by that of the store in those that follow.
      'consume-once-set-aside-at': expect.any(String),
    }
    const { 'x-delivery-count': _ofTheGet, ...headers } = again.properties.headers ?? {}
    const { 'x-delivery-count': _ofTheFirst, ...before } = dead.properties.headers ?? {}
    expect(headers).toEqual({ ...before, ...anew })
    expect(headers['consume-once-publish-id']).not.toBe(before['consume-once-publish-id'])
  })

  it('has a new one where it is dead-lettered for another reason', async () => {
    const { queue, dead } = await deadLettered()
    await moveBack(queue, dead, 'changed')
    const { headers } = (await rabbit.take(`${queue}.dead-letter`)).properties
    expect(headers).toMatchObject({ 'consume-once-reason': 'conflict', 'consume-once-attempts': 0 })
    for (const name of ['error-class', 'repeated']) expect(headers).not.toHaveProperty([`consume-once-${name}`])
  })

  it('has a new one where another consumer dead-letters it', async () => {
    const queue = rabbit.name()
    const at = await consumers.open(rabbit.url, { queue })
    const headers = { 'consume-once-reason': 'attempts-spent', 'consume-once-consumer': 'other' }
    await rabbit.send(queue, ['a'], { headers })
    await at.intake.untilDelivered(1)
    await at.publisher.deadLetter({ ...deadLetterOf(deliveryAt(at, 0)), attempts: 0, errorClass: undefined })
    const deadLetter = await rabbit.take(`${queue}.dead-letter`)
    expect(deadLetter.properties.headers).not.toHaveProperty(['consume-once-repeated'])
  })
})

describe('consume-once-first-seen-at', () => {
  it('is when the message came, not when its first copy went', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 60_000)
    const at = await consumers.open(rabbit.url, { queue, retry: { delayQueues: [60_000] } })
    await rabbit.send(queue, ['a', 'b'])
    await at.intake.untilDelivered(2)
    const cameBy = Date.now()
    // Time passes, as far as the clock can tell.
    while (Date.now() <= cameBy + 1) await rabbit.ready(queue)
    await at.publisher.retryLater?.(retryOf(deliveryAt(at, 0)))
    await at.publisher.deadLetter(deadLetterOf(deliveryAt(at, 1)))
    for (const place of [delay, `${queue}.dead-letter`]) {
      const { headers } = (await rabbit.take(place)).properties
      expect(Date.parse(String(headers?.['consume-once-first-seen-at']))).toBeLessThanOrEqual(cameBy)
    }
  })
})

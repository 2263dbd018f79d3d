import { afterEach, describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, TerminalError, type Consumer, type HandlerContext } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { amazonMqHandler, mskHandler, type KafkaRecord } from 'consume-once/lambda'
import { MQ_EVENT, MQ_EVENT_WITHOUT_PROPERTIES, MSK_EVENT, SELF_MANAGED_EVENT, signedBytes } from './recorded.ts'

const CONTEXT = { getRemainingTimeInMillis: () => 30_000 }
const KAFKA = { group: 'sms', marginMs: 100 }

const started: { stop(options?: { deadlineMs?: number }): Promise<void> }[] = []
const last = <T extends (typeof started)[number]>(handler: T): T => {
  started.push(handler)
  return handler
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.stop({ deadlineMs: 0 })))
})

describe('an event of Amazon MSK', () => {
  it('is handled message by message, each once, over all deliveries of the batch', async () => {
    const handled: unknown[] = []
    const handler = last(
      mskHandler(
        consumerOf(({ message }) => void handled.push(message)),
        KAFKA,
      ),
    )
    expect(await handler(MSK_EVENT, CONTEXT)).toEqual({ batchItemFailures: [] })
    expect(await handler(SELF_MANAGED_EVENT, CONTEXT)).toEqual({ batchItemFailures: [] })
    expect(handled).toMatchObject([
      {
        system: 'kafka',
        destination: 'sms',
        origin: 'sms',
        position: '0@15',
        key: Buffer.from('recordKey'),
        value: Buffer.from('"one"'),
        headers: { name: Buffer.from('Zoë') },
        timestamp: 1_545_084_650_987,
      },
      { destination: 'sms', position: '0@16', value: Buffer.from('"two"'), key: null },
      { destination: 'sms', position: '1@7', value: Buffer.from('"three"') },
    ])
  })

  it('reads headers of bytes with a sign, of any name, and repeated ones', async () => {
    const seen: unknown[] = []
    const handler = last(
      mskHandler(
        consumerOf(({ message }) => void seen.push({ ...message.headers })),
        KAFKA,
      ),
    )
    const headers = [{ id: signedBytes('1') }, { sign: [-61, -87] }, { twice: [65] }, { twice: [66] }, { none: null }]
    await handler({ records: { 'sms-0': [{ ...record(0, 1), headers }] } }, CONTEXT)
    expect(seen).toEqual([
      {
        id: Buffer.from('1'),
        sign: Buffer.from('é'),
        twice: [Buffer.from('A'), Buffer.from('B')],
        none: null,
      },
    ])
  })

  it('keeps the topic of a copy, so that the message has the same key as before', async () => {
    const origins: string[] = []
    const handler = last(
      mskHandler(
        consumerOf(({ message }) => void origins.push(message.origin)),
        KAFKA,
      ),
    )
    const headers = [{ id: signedBytes('1') }, { 'consume-once-origin-topic': signedBytes('sms') }]
    await handler({ records: { 'retry-0': [{ ...record(0, 1), topic: 'retry', headers }] } }, CONTEXT)
    expect(origins).toEqual(['sms'])
  })

  it('fails as a whole where one message fails, and repeats no effect then', async () => {
    const runs: string[] = []
    let isBroken = true
    const handle = ({ message }: HandlerContext<unknown>): void => {
      runs.push(message.position)
      if (isBroken && message.position === '0@16') throw new TerminalError('no such number')
    }
    const handler = last(mskHandler(consumerOf(handle), KAFKA))
    await expect(handler(MSK_EVENT, CONTEXT)).rejects.toMatchObject({
      code: 'STOPPED',
      message: expect.stringContaining('1 of 3 messages are not handled, the first is sms 0@16 (handler-failed)'),
    })
    isBroken = false
    await expect(handler(MSK_EVENT, CONTEXT)).rejects.toThrow('1 of 3 messages')
    expect(runs.toSorted()).toEqual(['0@15', '0@16', '1@7'])
  })

  it('tells the first message of each partition that is not handled, where failures are reported', async () => {
    const handler = last(mskHandler(consumerOf(refuseAllButTheFirst), { ...KAFKA, reportsFailures: true }))
    expect(await handler(MSK_EVENT, CONTEXT)).toEqual({
      batchItemFailures: [
        { itemIdentifier: { partition: 'sms-0', offset: 16 } },
        { itemIdentifier: { partition: 'sms-1', offset: 7 } },
      ],
    })
  })

  it('counts a message as handled once its dead letter is published', async () => {
    const deadLetters: string[] = []
    const publisher = { deadLetter: async (deadLetter: { reason: string }) => void deadLetters.push(deadLetter.reason) }
    const handler = last(mskHandler(consumerOf(refuse), { ...KAFKA, publisher }))
    expect(await handler(MSK_EVENT, CONTEXT)).toEqual({ batchItemFailures: [] })
    expect(deadLetters).toHaveLength(3)
  })

  it('is given back before the time of the invocation is over: running handlers are aborted, others do not begin', async () => {
    const begun: string[] = []
    const handle = ({ message, signal }: HandlerContext<unknown>): Promise<void> => {
      begun.push(message.position)
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')))
      })
    }
    const handler = last(mskHandler(consumerOf(handle), { ...KAFKA, order: 'partition', reportsFailures: true }))
    expect(await handler(MSK_EVENT, { getRemainingTimeInMillis: () => 300 })).toEqual({
      batchItemFailures: [
        { itemIdentifier: { partition: 'sms-0', offset: 15 } },
        { itemIdentifier: { partition: 'sms-1', offset: 7 } },
      ],
    })
    expect(begun).toEqual(['0@15', '1@7'])
  })

  it('may have more messages than the consumer may have in flight', async () => {
    let count = 0
    const consumer = consumerOf(() => void count++, { concurrency: 2, maxInFlight: 2 })
    const records = Array.from({ length: 25 }, (_, at) => ({
      ...record(0, at),
      headers: [{ id: signedBytes(String(at)) }],
    }))
    expect(await last(mskHandler(consumer, KAFKA))({ records: { 'sms-0': records } }, CONTEXT)).toEqual({
      batchItemFailures: [],
    })
    expect(count).toBe(25)
  })

  it.each([
    [{ group: 'g', reportFailures: true }, 'reportFailures: unknown option; did you mean reportsFailures?'],
    [{ group: 'g', marginMs: 0 }, 'marginMs: expected a whole number from 1'],
    [{ group: 'g', order: 'offset' }, 'order: expected'],
    [{}, 'group: expected text'],
  ])('refuses the options %j', (options, problem) => {
    expect(() =>
      mskHandler(
        consumerOf(() => {}),
        options as never,
      ),
    ).toThrow(problem)
  })
})

describe('an event of Amazon MQ for RabbitMQ', () => {
  it('is handled message by message, with the headers and the queue that amqplib would give', async () => {
    const seen: unknown[] = []
    const handler = last(
      amazonMqHandler(
        consumerOf(({ message }) => void seen.push(message)),
        { group: 'sms' },
      ),
    )
    await handler(MQ_EVENT, CONTEXT)
    await handler(MQ_EVENT, CONTEXT)
    expect(seen).toMatchObject([
      {
        system: 'rabbitmq',
        destination: 'sms',
        origin: 'sms',
        value: Buffer.from('"one"'),
        headers: { id: 'm-1', name: 'Zoë', count: 3 },
        messageId: 'x-1',
        redelivered: false,
      },
    ])
  })

  it('has a message without properties, which has no usable ID', async () => {
    const handler = last(amazonMqHandler(consumerOf(refuse), { group: 'sms' }))
    await expect(handler(MQ_EVENT_WITHOUT_PROPERTIES, CONTEXT)).rejects.toThrow('the first is sms lambda/0 (no-id)')
  })

  it('fails as a whole where one message fails', async () => {
    const handler = last(amazonMqHandler(consumerOf(refuse), { group: 'sms' }))
    await expect(handler(MQ_EVENT, CONTEXT)).rejects.toThrow(
      '1 of 1 messages are not handled, the first is sms lambda/0 (handler-failed)',
    )
  })
})

function refuse(): void {
  throw new TerminalError('no')
}

function refuseAllButTheFirst({ message }: HandlerContext<unknown>): void {
  if (message.position !== '0@15') refuse()
}

function consumerOf(
  handle: (context: HandlerContext<unknown>) => unknown,
  options: { readonly concurrency?: number; readonly maxInFlight?: number } = {},
): Consumer {
  return defineConsumer({ name: 'sender', id: messageId.header('id'), store: memoryStore(), handle, ...options })
}

function record(partition: number, offset: number): KafkaRecord {
  const [first] = MSK_EVENT.records['sms-0'] ?? []
  if (first === undefined) throw new Error('expected a record')
  return { ...first, partition, offset, headers: [{ id: signedBytes(`${partition}/${offset}`) }] }
}

import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import type { ConfigError } from '../../src/index.ts'
import { Consumers } from './consumers.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

async function open(options: RabbitOptions): Promise<RecordingIntake> {
  const { source } = consumers.broker(rabbit.url, options)
  const intake = new RecordingIntake()
  await source.open(intake)
  return intake
}

/** The error of a start that must fail. */
async function refusal(options: RabbitOptions): Promise<string> {
  const error = (await open(options).catch((cause: unknown) => cause)) as ConfigError
  expect(error.code).toBe('CONFIG_INVALID')
  return error.message
}

/** What the start told, without what each start tells. */
function findings(intake: RecordingIntake): string[] {
  return intake.events.flatMap((event) =>
    event.type === 'source' && event.event !== 'consuming' ? [`${event.event}: ${event.detail ?? ''}`] : [],
  )
}

const QUORUM = { 'x-queue-type': 'quorum' }

function unlimited(): Record<string, unknown> {
  return rabbit.limitsDeliveries ? { ...QUORUM, 'x-delivery-limit': -1 } : QUORUM
}

function delaying(queue: string, delayMs: number): Record<string, unknown> {
  return {
    ...unlimited(),
    'x-message-ttl': delayMs,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': queue,
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
  }
}

describe("setup: 'auto'", () => {
  it('declares delay queues that lose nothing, and come back to the queue', async () => {
    const queue = rabbit.name()
    const [short = '', long = ''] = rabbit.delayQueues(queue, 100, 5_000)
    const intake = await open({ queue, retry: { delayQueues: [100, 5_000] } })
    expect(findings(intake)).toEqual([])
    // Declared otherwise, this would be refused.
    await rabbit.declare(short, delaying(queue, 100))
    await rabbit.declare(long, delaying(queue, 5_000))
  })

  it('refuses a queue that does not outlive the broker, though its arguments are the same', async () => {
    const queue = rabbit.name()
    await rabbit.ask((channel) => channel.assertQueue(queue, { durable: false, arguments: {} }))
    expect(await refusal({ queue, queueType: 'classic' })).toContain(
      `queue ${queue}: exists, and was declared otherwise; durable: expected true, got false.`,
    )
  })

  it('says of classic delay queues what they lose', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 100)
    const intake = await open({ queue, queueType: 'classic', retry: { delayQueues: [100] } })
    expect(findings(intake)).toEqual([
      expect.stringMatching(new RegExp(`^delay-queue: queue ${delay}: moves what is due at most once`)),
    ])
  })

  it('names each argument that differs, of all queues, and makes none on the way', async () => {
    const queue = rabbit.name()
    const [delay = '', missing = ''] = rabbit.delayQueues(queue, 100, 200)
    await rabbit.declare(queue, { ...QUORUM, 'x-max-length': 7, 'x-dead-letter-exchange': "it's" })
    await rabbit.declare(delay, { ...delaying(queue, 100), 'x-message-ttl': 99 })
    const options: RabbitOptions = { queue, singleActiveConsumer: true, retry: { delayQueues: [100, 200] } }
    const message = await refusal(options)
    for (const difference of [
      `queue ${queue}: exists, and was declared otherwise; `,
      'x-single-active-consumer: expected true, got nothing',
      'x-max-length: expected nothing, got 7',
      "x-dead-letter-exchange: expected nothing, got 'it's'",
      `queue ${delay}: exists, and was declared otherwise; x-message-ttl: expected 100, got 99.`,
    ]) {
      expect(message).toContain(difference)
    }
    await expect(rabbit.ready(missing)).rejects.toThrow(/NOT_FOUND/)
  })

  it('names the option that takes a queue of another type', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, {})
    expect(await refusal({ queue })).toContain("Choose the options after the queue (queueType: 'classic'), or take it")
    await open({ queue, queueType: 'classic', deadLetter: { exchange: 'amq.topic' } })
  })

  it('leaves the user a queue that exchanges of their own dead-letter to', async () => {
    const queue = rabbit.name()
    expect(await refusal({ queue, deadLetter: { exchange: `${queue}.none` } })).toContain(
      `deadLetter.exchange: expected to exist, got no exchange ${queue}.none`,
    )
    await open({ queue, deadLetter: { exchange: 'amq.topic' } })
    await expect(rabbit.ready(`${queue}.dead-letter`)).rejects.toThrow(/NOT_FOUND/)
  })
})

describe.each(['check', 'off'] as const)('a foreign queue with setup: %s', (setup) => {
  /** The queue as given, and a dead-letter queue without fault. */
  async function foreign(args: Record<string, unknown>, options: Partial<RabbitOptions> = {}): Promise<string[]> {
    const queue = rabbit.name()
    await rabbit.declare(queue, args)
    await rabbit.declare(`${queue}.dead-letter`, unlimited())
    return findings(await open({ queue, setup, ...options }))
  }

  it('is reported when it drops what comes back too often', async () => {
    const ofDefault = await foreign(QUORUM)
    const ofItsOwn = await foreign({ ...QUORUM, 'x-delivery-limit': 7 })
    const limit = /^delivery-limit: queue \w+: x-delivery-limit (\d+), x-dead-letter-exchange none\. /
    expect(ofItsOwn).toEqual([expect.stringMatching(limit)])
    expect(limit.exec(ofItsOwn[0] ?? '')?.[1]).toBe('7')
    expect(ofDefault.map((text) => limit.exec(text)?.[1])).toEqual(rabbit.limitsDeliveries ? ['20'] : [])
  })

  it('is fine with a dead-letter exchange, without a limit, or of another type', async () => {
    expect(await foreign({ ...QUORUM, 'x-dead-letter-exchange': 'amq.topic' })).toEqual([])
    expect(await foreign(unlimited())).toEqual([])
    expect(await foreign({ 'x-max-priority': 3 })).toEqual([])
  })

  it('is reported when it knows a single active consumer and the options do not, or the reverse', async () => {
    const active = { ...unlimited(), 'x-single-active-consumer': true }
    expect(await foreign(active)).toEqual([
      expect.stringMatching(/^single-active-consumer: .* is true there and false in the options/),
    ])
    expect(await foreign(unlimited(), { singleActiveConsumer: true })).toEqual([
      expect.stringMatching(/^single-active-consumer: .* is false there and true in the options/),
    ])
    expect(await foreign(active, { singleActiveConsumer: true })).toEqual([])
  })

  it('is reported when its dead-letter queue drops what comes back too often', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, unlimited())
    await rabbit.declare(`${queue}.dead-letter`, QUORUM)
    const told = findings(await open({ queue, setup }))
    const limit = /^delivery-limit: queue (\S+): x-delivery-limit 20,/
    const expected = rabbit.limitsDeliveries ? [`${queue}.dead-letter`] : []
    expect(told.map((text) => limit.exec(text)?.[1])).toEqual(expected)
  })

  it('is reported when it drops messages by length, bytes, age or disuse, itself or its dead-letter queue', async () => {
    const queue = rabbit.name()
    const byLength = { 'x-max-length': 3, 'x-expires': 3_600_000 }
    await rabbit.declare(queue, { ...unlimited(), ...byLength })
    await rabbit.declare(`${queue}.dead-letter`, { 'x-max-length-bytes': 1_000, 'x-message-ttl': 60_000 })
    expect(findings(await open({ queue, setup }))).toEqual([
      expect.stringContaining(`message-limits: queue ${queue}: x-max-length 3, x-expires 3600000. The broker drops`),
      expect.stringContaining(`queue ${queue}.dead-letter: x-max-length-bytes 1000, x-message-ttl 60000. The broker`),
    ])
  })

  it('is fine with a length limit that refuses what is published, where its type knows that', async () => {
    const limit = { 'x-max-length': 3 }
    expect(await foreign({ ...unlimited(), ...limit, 'x-overflow': 'reject-publish' })).toEqual([])
    expect(await foreign({ ...limit, 'x-overflow': 'reject-publish-dlx' })).toEqual([])
    const told = [expect.stringMatching(/^message-limits: queue \S+: x-max-length 3\. /)]
    expect(await foreign({ ...limit, 'x-overflow': 'drop-head' })).toEqual(told)
    expect(await foreign({ ...unlimited(), ...limit, 'x-overflow': 'reject-publish-dlx' })).toEqual(told)
  })

  it('is reported when a delay queue drops copies, but not of the time to live that is its purpose', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 100)
    await rabbit.declare(queue, unlimited())
    await rabbit.declare(`${queue}.dead-letter`, unlimited())
    await rabbit.declare(delay, { ...delaying(queue, 100), 'x-max-length': 9, 'x-expires': 60_000 })
    expect(findings(await open({ queue, setup, retry: { delayQueues: [100] } }))).toEqual([
      expect.stringContaining(`message-limits: queue ${delay}: x-expires 60000. The broker drops`),
    ])
  })

  it('is refused when it does not outlive the broker, or its consumers', async () => {
    const queue = rabbit.name()
    await rabbit.ask((channel) => channel.assertQueue(queue, { durable: true, autoDelete: true }))
    await rabbit.ask((channel) => channel.assertQueue(`${queue}.dead-letter`, { durable: false }))
    const said = await refusal({ queue, setup })
    expect(said).toMatch(new RegExp(`queue ${queue}: durable true, auto-delete true\\. .* its last consumer leaves\\.`))
    expect(said).toMatch(new RegExp(`queue ${queue}.dead-letter: durable false, .* the broker restarts\\.`))
  })

  it('is refused when the broker drops a message before its attempts are over, unless a policy may mend that', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { ...QUORUM, 'x-delivery-limit': 3 })
    await rabbit.declare(`${queue}.dead-letter`, unlimited())
    const said = setup === 'off' ? findings(await open({ queue, setup })).join() : await refusal({ queue, setup })
    expect(said).toContain(
      `queue ${queue}: x-delivery-limit 3, x-dead-letter-exchange none. The broker drops a message`,
    )
    expect(said.includes("choose setup: 'off'")).toBe(setup === 'check')
  })

  it('may publish dead letters to an exchange that is missing only where nothing is checked, and that is said', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, unlimited())
    const options: RabbitOptions = { queue, setup, deadLetter: { exchange: `${queue}.none` } }
    const said = setup === 'off' ? findings(await open(options)).join() : await refusal(options)
    expect(said).toContain(`deadLetter.exchange: expected to exist, got no exchange ${queue}.none`)
  })

  it('is told of when the dead letters that it is to move may be lost on the way', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { ...unlimited(), 'x-dead-letter-exchange': 'amq.topic' })
    expect(findings(await open({ queue, setup, deadLetter: 'reject' }))).toEqual([
      expect.stringMatching(/^dead-letter-strategy: .* at most once/),
    ])
    const sure = rabbit.name()
    const surely = { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }
    await rabbit.declare(sure, { ...unlimited(), 'x-dead-letter-exchange': 'amq.topic', ...surely })
    expect(findings(await open({ queue: sure, setup, deadLetter: 'reject' }))).toEqual([])
  })

  it('is unknown where nobody may ask, and that is said', async () => {
    const queue = await rabbit.ask(async (channel) => (await channel.assertQueue('', { durable: true })).queue)
    try {
      const intake = await open({ queue, setup, deadLetter: { exchange: 'amq.topic' } })
      expect(findings(intake)).toEqual([
        expect.stringMatching(/^queue-unknown: .* could not be found out, so nobody knows whether it loses messages/),
      ])
    } finally {
      await rabbit.delete(queue)
    }
  })

  it('is left as it was', async () => {
    const queue = rabbit.name()
    const args = { ...QUORUM, 'x-max-length': 5, 'x-dead-letter-exchange': 'amq.topic' }
    await rabbit.declare(queue, args)
    await rabbit.declare(`${queue}.dead-letter`, unlimited())
    await open({ queue, setup })
    await expect(rabbit.declare(queue, args)).resolves.toBeUndefined()
  })

  it('must have a dead-letter exchange where dead letters are rejected', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, unlimited())
    const options: RabbitOptions = { queue, setup, deadLetter: 'reject' }
    const why = `queue ${queue}: expected x-dead-letter-exchange with deadLetter: 'reject', got none`
    const said = setup === 'off' ? findings(await open(options)).join() : await refusal(options)
    expect(said).toContain(why)
    expect(said.startsWith('queue-mismatch: ')).toBe(setup === 'off')
  })

  it('must be delayed as long as expected, and come back here', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 100)
    await rabbit.declare(queue, unlimited())
    await rabbit.declare(`${queue}.dead-letter`, unlimited())
    await rabbit.declare(delay, { ...delaying('elsewhere', 200) })
    const options: RabbitOptions = { queue, setup, retry: { delayQueues: [100] } }
    const said = setup === 'off' ? findings(await open(options)).join() : await refusal(options)
    expect(said).toContain(
      `queue ${delay}: expected to delay what comes back to '${queue}'; x-message-ttl: expected 100, got 200; ` +
        `x-dead-letter-routing-key: expected '${queue}', got 'elsewhere'.`,
    )
  })
})

describe.each(['auto', 'check', 'off'] as const)('a queue that is missing with setup: %s', (setup) => {
  it('is to be declared by the user where only they know its dead-letter exchange', async () => {
    const queue = rabbit.name()
    expect(await refusal({ queue, setup, deadLetter: 'reject' })).toMatch(
      new RegExp(`queue ${queue}: expected to exist, got: .* Declare it yourself, with x-dead-letter-exchange: `),
    )
    if (setup === 'auto') return
    expect(await refusal({ queue, setup })).toContain("Create it, or let setup: 'auto' declare queues")
  })
})

describe('delayed retry of the queue itself', () => {
  it.each(['auto', 'check', 'off'] as const)(
    'is refused below RabbitMQ 4.3, naming the version, and only there (setup: %s)',
    async (setup) => {
      const queue = rabbit.name()
      // Such as RabbitMQ 4.3 would take.
      const delayed = { 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 100, 'x-delayed-retry-max': 300 }
      if (setup !== 'auto') {
        await rabbit.declare(queue, { ...unlimited(), ...delayed })
        await rabbit.declare(`${queue}.dead-letter`, unlimited())
      }
      const said = await open({ queue, setup, retry: { delayedByQueue: { minMs: 100, maxMs: 300 } } }).then(
        () => 'consuming',
        (error: unknown) => String(error),
      )
      expect(said).toMatch(
        rabbit.isAtLeast(4, 3)
          ? /^consuming$/
          : /RabbitMQ: retry.delayedByQueue: expected RabbitMQ 4.3 or later, got RabbitMQ \d+\.\d+\.\d+\. /,
      )
    },
  )
})

import { openedOnce } from '../../kit/opened.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Options } from 'amqplib'
import { rabbitSubscription, type RabbitOptions } from '../../../adapters/amqplib/index.ts'
import { AT_START } from '../../../adapters/amqplib/topology/findings.ts'
import type { ConfigError } from '../../../src/index.ts'
import { refusalsOf, type CheckFinding } from '../../../src/internal.ts'
import { Consumers } from '../consumers.ts'
import { Rabbit } from '../rabbit.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

const { capacity } = new RecordingIntake()
const CHECKED = { strategy: 'lease', retentionMs: 60_000, onBeyondRetention: 'run', ...capacity } as const

const QUORUM = { 'x-queue-type': 'quorum' }
const ELSEWHERE: Partial<RabbitOptions> = { deadLetter: { exchange: 'amq.topic' } }

interface Situation {
  /** `undefined`: the queue is missing. */
  readonly declared: Options.AssertQueue | undefined
  readonly options?: Partial<RabbitOptions>
}

const args = (given: Record<string, unknown>): Options.AssertQueue => ({ arguments: given })

/** For each check that can be `broken`, situations in which it may be. The start waits for a queue in use: start.test. */
const SITUATIONS: Readonly<
  Record<Exclude<keyof typeof AT_START, 'queue-in-use' | 'connection'>, readonly Situation[]>
> = {
  queue: [
    { declared: undefined, options: { deadLetter: 'reject' } },
    { declared: args(QUORUM), options: {} },
  ],
  'queue-type': [{ declared: args({ 'x-queue-type': 'stream' }) }, { declared: {} }],
  durability: [{ declared: { durable: false } }, { declared: { autoDelete: true } }],
  'delivery-limit': [
    { declared: args({ ...QUORUM, 'x-delivery-limit': 3 }) },
    { declared: args({ ...QUORUM, 'x-delivery-limit': 3, 'x-dead-letter-exchange': 'amq.topic' }) },
    { declared: args({ ...QUORUM, 'x-delivery-limit': 5 }) },
  ],
  options: [
    { declared: args(QUORUM), options: { deadLetter: 'reject' } },
    { declared: args({ ...QUORUM, 'x-max-length': 5 }) },
    { declared: args(QUORUM), options: { ...ELSEWHERE, retry: { delayedByQueue: { minMs: 10, maxMs: 100 } } } },
  ],
  'dead-letter-exchange': [{ declared: args(QUORUM), options: { deadLetter: { exchange: 'none.such' } } }],
  'consumer-timeout': [
    { declared: args(QUORUM), options: { ...ELSEWHERE, consumerTimeoutMs: 60_000 } },
    { declared: args(QUORUM), options: { ...ELSEWHERE, consumerTimeoutMs: 70_000 } },
  ],
}

interface Seen {
  readonly findings: readonly CheckFinding[]
  /** `undefined`: it consumes. */
  readonly refusal: Pick<ConfigError, 'code' | 'message'> | undefined
}

async function see({ declared, options = ELSEWHERE }: Situation, setup: 'auto' | 'check' | 'off'): Promise<Seen> {
  const queue = rabbit.name()
  if (declared !== undefined) {
    await rabbit.ask((channel) => channel.assertQueue(queue, { durable: true, ...declared }))
  }
  const given: RabbitOptions = { queue, setup, ...options }
  const findings = (await rabbitSubscription(rabbit.url, given).checkup?.(CHECKED)) ?? []
  const { source } = consumers.broker(rabbit.url, given)
  const refusal = await source.open(new RecordingIntake()).then(
    () => undefined,
    (error: ConfigError) => ({ code: error.code, message: error.message }),
  )
  await source.close()
  return { findings, refusal }
}

describe.each(Object.entries(SITUATIONS))('what doctor calls broken by rabbitmq.%s', (check, situations) => {
  it.each(['auto', 'check', 'off'] as const)(
    'is refused at the start, and nothing else is (setup: %s)',
    async (setup) => {
      for (const situation of situations) {
        const { findings, refusal } = await see(situation, setup)
        const code = refusalsOf(findings).length > 0 ? 'CONFIG_INVALID' : undefined
        expect({ situation, refusal, code: refusal?.code }).toEqual({ situation, refusal, code })
      }
    },
  )

  it('is seen in one of its situations', async () => {
    const seen = await Promise.all(situations.map((situation) => see(situation, 'check')))
    const found = seen.flatMap(({ findings }) => findings).filter(({ verdict }) => verdict === 'broken')
    expect(found.map((finding) => finding.check)).toContain(`rabbitmq.${check}`)
  })
})

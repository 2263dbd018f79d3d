// Whether doctor calls a setting the default of RabbitMQ: of a queue that was declared with no arguments, and with some.
import { describe, expect, it } from '@jest/globals'
import type { Options } from 'amqplib'
import { rabbitSubscription, type RabbitOptions } from '../../../adapters/amqplib/index.ts'
import { resolveRabbitOptions } from '../../../adapters/amqplib/options/resolve.ts'
import { judge } from '../../../adapters/amqplib/topology/judgement.ts'
import { queuePlans } from '../../../adapters/amqplib/topology/plans.ts'
import type { CheckFinding } from '../../../src/index.ts'
import { openedOnce } from '../../kit/opened.ts'
import { Rabbit } from '../rabbit.ts'

const CHECKED = {
  strategy: 'lease',
  retentionMs: 60_000,
  onBeyondRetention: 'run',
  leaseMs: 30_000,
  // Longer than RabbitMQ waits.
  longestRunMs: 7_200_000,
  maxAttempts: 5,
} as const

let rabbit: Rabbit
openedOnce(Rabbit, (made) => (rabbit = made))

/** Each flaw, and whether it is called a default. */
function flawsOf(findings: readonly CheckFinding[]): Readonly<Record<string, boolean>> {
  const flaws = findings.filter(({ verdict }) => verdict === 'weaker')
  return Object.fromEntries(flaws.map(({ check, isServerDefault }) => [check, isServerDefault === true]))
}

async function look(declared: Options.AssertQueue, options: Partial<RabbitOptions> = {}): Promise<object> {
  const queue = rabbit.name()
  await rabbit.ask((channel) => channel.assertQueue(queue, { durable: true, ...declared }))
  const asked = { queue, setup: 'check', deadLetter: { exchange: 'amq.topic' }, ...options } as const
  return flawsOf((await rabbitSubscription(rabbit.url, asked).checkup?.(CHECKED)) ?? [])
}

describe('what doctor says of a queue', () => {
  it('is that what nobody declared is the default', async () => {
    expect(await look({}, { singleActiveConsumer: true })).toEqual({
      'rabbitmq.queue-type': true,
      'rabbitmq.single-active-consumer': true,
      'rabbitmq.consumer-timeout': true,
    })
    const rejecting = { 'x-queue-type': 'quorum', 'x-dead-letter-exchange': 'amq.topic' }
    expect(await look({ arguments: rejecting }, { deadLetter: 'reject' })).toEqual({
      'rabbitmq.dead-letter-strategy': true,
      'rabbitmq.consumer-timeout': true,
    })
  })

  it('is that what somebody declared is none', async () => {
    const chosen = {
      'x-queue-type': 'quorum',
      'x-dead-letter-exchange': 'amq.topic',
      'x-dead-letter-strategy': 'at-most-once',
      'x-single-active-consumer': true,
      'x-max-length': 1_000,
    }
    const options = { deadLetter: 'reject', consumerTimeoutMs: 14_400_000 } as const
    expect(await look({ arguments: chosen }, options)).toEqual({
      'rabbitmq.dead-letter-strategy': false,
      'rabbitmq.single-active-consumer': false,
      'rabbitmq.message-limits': false,
    })
  })

  it.each([
    ['the default of 4.0', undefined, true],
    ['a number of somebody', 30, false],
  ])('is of its delivery limit that it is %s', (_, limit, isDefault) => {
    const settings = resolveRabbitOptions({ queue: 'q', setup: 'check' }, 'a test')
    const [plan] = queuePlans(settings, '4.0.5').filter(({ role }) => role === 'consumed')
    const args = { 'x-queue-type': 'quorum', ...(limit === undefined ? {} : { 'x-delivery-limit': limit }) }
    if (plan === undefined) throw new Error('no plan')
    const declared = { durable: true, autoDelete: false, arguments: args }
    const findings = judge(plan, declared, { settings, version: '4.0.5', maxAttempts: 5 })
    expect(flawsOf(findings)).toEqual({ 'rabbitmq.delivery-limit': isDefault })
  })
})

import { describe, expect, it } from '@jest/globals'
import type { Options } from 'amqplib'
import { rabbitSubscription, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { defineConsumer, doctor, type CheckFinding } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { type CheckedConsumer } from '../../src/internal.ts'
import { beforeAllOpen, openedOnce } from '../../test/kit/opened.ts'
import { backends } from '../../test/kit/backends.ts'
import { rabbitVersions } from '../kit/server-versions.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'

const describeRabbit = backends.has('rabbitmq') ? describe : describe.skip

const DAY_MS = 86_400_000
const STARTS_WITHIN_MS = 120_000

const CONSUMER: CheckedConsumer = {
  strategy: 'lease',
  retentionMs: 7 * DAY_MS,
  onBeyondRetention: 'run',
  leaseMs: 30_000,
  longestRunMs: 65_000,
  maxAttempts: 5,
}

async function look(
  { url }: Rabbit,
  options: RabbitOptions,
  consumer: Partial<CheckedConsumer> = {},
): Promise<readonly CheckFinding[]> {
  const findings = (await rabbitSubscription(url, options).checkup?.({ ...CONSUMER, ...consumer })) ?? []
  for (const { verdict, meaning } of findings) expect(meaning === '').toBe(verdict === 'holds')
  return findings
}

/** Verdict for one queue; without `queue`, for any. */
function verdictOf(findings: readonly CheckFinding[], check: string, queue?: string): string | undefined {
  const isOf = (found: string): boolean => queue === undefined || new RegExp(`queue ${queue}(:|$)`).test(found)
  return findings.find((finding) => finding.check === check && isOf(finding.found))?.verdict
}

const QUORUM = { 'x-queue-type': 'quorum' }

describeRabbit('rabbitSubscription', () => {
  let rabbit: Rabbit
  openedOnce(Rabbit, (made) => (rabbit = made))

  /** A queue of that kind, and its findings. */
  const lookAt = async (
    declared: Options.AssertQueue,
    { of, ...options }: Partial<RabbitOptions> & { readonly of?: Partial<CheckedConsumer> } = {},
  ): Promise<{
    readonly findings: readonly CheckFinding[]
    readonly verdict: (check: string) => string | undefined
  }> => {
    const queue = rabbit.name()
    await rabbit.ask((channel) => channel.assertQueue(queue, { durable: true, ...declared }))
    const findings = await look(rabbit, { queue, setup: 'check', ...options }, of)
    return {
      findings,
      verdict: (check) => verdictOf(findings, check, check === 'rabbitmq.delays' ? undefined : queue),
    }
  }

  it('reports the queue as group and as origin', () => {
    expect(rabbitSubscription(rabbit.url, { queue: 'q' })).toMatchObject({ group: 'q', origins: ['q'] })
    expect(() => rabbitSubscription(rabbit.url, { queue: '' })).toThrow('queue: expected a name')
  })

  it('reports nothing for a quorum queue without a limit, except what AMQP does not show', async () => {
    const limits = rabbit.limitsDeliveries ? { 'x-delivery-limit': -1 } : {}
    const { verdict, findings } = await lookAt({ arguments: { ...QUORUM, ...limits } })
    for (const check of ['durability', 'queue-type', 'message-limits', 'delivery-limit']) {
      expect(verdict(`rabbitmq.${check}`)).toBe('holds')
    }
    expect(verdict('rabbitmq.policies')).toBe('unknown')
    expect(verdictOf(findings, 'rabbitmq.version')).toBe('holds')
    expect(verdictOf(findings, 'rabbitmq.consumer-timeout')).toBe('unknown')
    expect(findings.filter((finding) => finding.check === 'rabbitmq.queue')).toMatchObject([
      { verdict: 'broken', found: expect.stringContaining('does not exist') },
    ])
  })

  it.each([
    [{ durable: false }, 'durability', 'broken'],
    [{ autoDelete: true }, 'durability', 'broken'],
    [{}, 'queue-type', 'weaker'],
    [{ arguments: { 'x-max-length': 10 } }, 'message-limits', 'weaker'],
    [{ arguments: { 'x-max-length-bytes': 10_000, 'x-overflow': 'drop-head' } }, 'message-limits', 'weaker'],
    [{ arguments: { 'x-max-length': 10, 'x-overflow': 'reject-publish' } }, 'message-limits', 'holds'],
    [{ arguments: { 'x-message-ttl': 60_000 } }, 'message-limits', 'weaker'],
    [{ arguments: { 'x-expires': 600_000 } }, 'message-limits', 'weaker'],
    [{ arguments: { ...QUORUM, 'x-delivery-limit': 20 } }, 'delivery-limit', 'weaker'],
    [{ arguments: { ...QUORUM, 'x-delivery-limit': 3 } }, 'delivery-limit', 'broken'],
    [{ arguments: { ...QUORUM, 'x-delivery-limit': 3, 'x-dead-letter-exchange': '' } }, 'delivery-limit', 'holds'],
    [{ arguments: { ...QUORUM, 'x-single-active-consumer': true } }, 'single-active-consumer', 'weaker'],
  ] as const)('%j: %s %s', async (declared, check, verdict) => {
    expect((await lookAt(declared)).verdict(`rabbitmq.${check}`)).toBe(verdict)
  })

  it('finds a queue that is exclusive to another connection', async () => {
    const { findings } = await lookAt({ exclusive: true, durable: false })
    expect(findings.find(({ check }) => check === 'rabbitmq.queue-in-use')).toMatchObject({
      verdict: 'broken',
      startsBecause: expect.stringContaining('the start waits for that'),
      found: expect.stringContaining('exclusive to another connection'),
    })
  })

  it("finds deadLetter: 'reject' on a queue without a dead-letter exchange", async () => {
    expect((await lookAt({ arguments: QUORUM }, { deadLetter: 'reject' })).verdict('rabbitmq.options')).toBe('broken')
  })

  it('finds a dead-letter exchange that is missing, and cannot say where one leads that is there', async () => {
    const missing = await lookAt({ arguments: QUORUM }, { deadLetter: { exchange: uniqueName('exchange') } })
    expect(verdictOf(missing.findings, 'rabbitmq.dead-letter-exchange')).toBe('broken')
    const there = await lookAt({ arguments: QUORUM }, { deadLetter: { exchange: 'amq.topic' } })
    expect(verdictOf(there.findings, 'rabbitmq.dead-letter-exchange')).toBe('unknown')
  })

  it('declares nothing: neither what is missing, nor what it looks into', async () => {
    const queue = rabbit.name()
    const asserted = await look(rabbit, { queue, retry: { delayQueues: [1_000] } })
    expect(asserted.filter(({ check }) => check === 'rabbitmq.queue').map(({ verdict }) => verdict)).toEqual([
      'unknown',
      'holds',
      'holds',
    ])
    const checked = await look(rabbit, { queue, setup: 'check', retry: { delayQueues: [1_000] } })
    expect(checked.filter(({ verdict }) => verdict === 'broken')).toHaveLength(3)
    for (const name of [queue, `${queue}.dead-letter`, `${queue}.retry.1000`]) {
      await expect(rabbit.ready(name)).rejects.toThrow('404')
    }
  })

  it('looks into delay and dead-letter queues too', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 1_000)
    await rabbit.declare(queue, QUORUM)
    await rabbit.declare(`${queue}.dead-letter`, { 'x-max-length': 5 })
    await rabbit.declare(delay, {
      'x-message-ttl': 2_000,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': queue,
    })
    const findings = await look(rabbit, { queue, setup: 'check', retry: { delayQueues: [1_000] } })
    expect(verdictOf(findings, 'rabbitmq.message-limits', `${queue}.dead-letter`)).toBe('weaker')
    expect(verdictOf(findings, 'rabbitmq.delay-queue', delay)).toBe('weaker')
    expect(verdictOf(findings, 'rabbitmq.options', delay)).toBe('broken')
    expect(verdictOf(findings, 'rabbitmq.message-limits', delay)).toBe('holds')
  })

  it('holds delays against how long records are kept, and the timeout against how long handlers run', async () => {
    const retry = { delayQueues: [DAY_MS] }
    const short = await lookAt({ arguments: QUORUM }, { retry, of: { retentionMs: DAY_MS, longestRunMs: 1_800_000 } })
    expect(short.verdict('rabbitmq.delays')).toBe('weaker')
    expect(verdictOf(short.findings, 'rabbitmq.consumer-timeout')).toBe('weaker')
    expect((await lookAt({ arguments: QUORUM }, { retry })).verdict('rabbitmq.delays')).toBe('holds')
  })

  it('rejects if no broker answers, and doctor reports that', async () => {
    const consumer = defineConsumer({ name: 'c', store: memoryStore(), handle: () => {} })
    const url = `amqp://guest:s3cret@127.0.0.1:${await freePort()}`
    const { unreachable, guarantee } = await doctor(consumer, rabbitSubscription(url, { queue: 'q' }))
    expect(unreachable).toEqual(['broker'])
    expect(guarantee).not.toContain('s3cret')
  })
})

rabbitVersions.describeOn('4.3', 'rabbitSubscription, on RabbitMQ 4.3', () => {
  let server: Awaited<ReturnType<typeof startPrivateRabbit>>
  let rabbit: Rabbit
  beforeAllOpen(async (own) => {
    server = own(await startPrivateRabbit({ version: '4.3' }))
    rabbit = own(await Rabbit.open(server.url))
  }, STARTS_WITHIN_MS)

  it('finds the delivery limit that a quorum queue has by default, on the dead-letter queue too', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, QUORUM)
    await rabbit.declare(`${queue}.dead-letter`, QUORUM)
    const findings = await look(rabbit, { queue, setup: 'check' })
    expect(verdictOf(findings, 'rabbitmq.delivery-limit', queue)).toBe('weaker')
    expect(verdictOf(findings, 'rabbitmq.delivery-limit', `${queue}.dead-letter`)).toBe('weaker')
    const patient = await look(rabbit, { queue, setup: 'check' }, { maxAttempts: 50 })
    expect(verdictOf(patient, 'rabbitmq.delivery-limit', queue)).toBe('broken')
  })

  it('knows the timeout that the consumer sets', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, QUORUM)
    const findings = await look(rabbit, { queue, setup: 'check', consumerTimeoutMs: 120_000 })
    expect(verdictOf(findings, 'rabbitmq.consumer-timeout')).toBe('holds')
  })
})

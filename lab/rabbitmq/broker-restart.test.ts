import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { Source } from '../../src/internal.ts'
import { backends } from '../../test/kit/backends.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { bodies, textOf } from '../../test/rabbitmq/watching.ts'

const isWanted = backends.has('rabbitmq')
const opened: Source[] = []
let broker: Awaited<ReturnType<typeof startPrivateRabbit>>

beforeAllOpen(async (own) => {
  if (isWanted) broker = own(await startPrivateRabbit())
  own(() => Promise.all(opened.map((source) => source.close())))
})

describe('a broker that restarts', () => {
  it('is waited for, and nothing is lost, after a shutdown and after a crash', async () => {
    const { source, publisher } = rabbitSource(broker.url, { queue: 'work' })
    opened.push(source)
    const intake = new RecordingIntake()
    await source.open(intake)
    const rabbit = await Rabbit.open(broker.url)
    await rabbit.send('work', bodies(10))
    await intake.untilDelivered(10)
    intake.deliveries[0]?.settle()
    await intake.until(() => intake.settled === 1)

    await broker.restart() // Says 320 CONNECTION_FORCED to each connection.
    await intake.untilTold('rebuilt')
    expect(intake.deliveries[1]?.settle()).toBe(false)
    await intake.until(() => intake.deliveries.length >= 19)
    // The ack of m0 may have come too late.
    expect(intake.deliveries.slice(10).map(textOf)).toEqual(expect.arrayContaining(bodies(10).slice(1)))

    const before = intake.deliveries.length
    await broker.kill()
    const [first] = intake.deliveries
    if (first === undefined) throw new Error('nothing was delivered')
    const deadLetter = { reason: 'conflict', parked: false, detail: '', errorClass: undefined, attempts: 0 }
    const publishing = publisher.deadLetter({ ...deadLetter, message: first.message, consumer: 'c', group: 'work' })
    await expect(publishing).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    await broker.restart()
    await intake.untilTold('rebuilt', 2)
    await intake.until(() => intake.deliveries.length >= before + 9)
    await publisher.deadLetter({ ...deadLetter, message: first.message, consumer: 'c', group: 'work' })
    for (const delivery of intake.deliveries.slice(before)) expect(delivery.settle()).toBe(true)
    await source.close()

    const after = await Rabbit.open(broker.url)
    expect(await after.takeLeft('work')).toEqual([])
    expect((await after.takeLeft('work.dead-letter')).map(({ body }) => body)).toEqual(['m0'])
    await after[Symbol.asyncDispose]()
    await rabbit[Symbol.asyncDispose]()
  }, 120_000)

  it('or only closes all connections is connected to again, and what was not settled comes again', async () => {
    const { source } = rabbitSource(broker.url, { queue: 'closed' })
    opened.push(source)
    const intake = new RecordingIntake()
    await source.open(intake)
    await using rabbit = await Rabbit.open(broker.url)
    await rabbit.send('closed', bodies(3))
    await intake.untilDelivered(3)
    intake.deliveries[0]?.settle()
    await intake.until(() => intake.settled === 1)
    await broker.control('close_all_connections', 'maintenance')
    await intake.untilTold('rebuilt')
    const why = expect.stringMatching(/CONNECTION_FORCED.*maintenance/)
    expect(intake.events).toContainEqual({ type: 'source', event: 'connection-lost', detail: why, isWarning: true })
    expect(intake.deliveries[1]?.settle()).toBe(false)
    await intake.untilDelivered(5)
    expect(intake.deliveries.slice(3).map(textOf)).toEqual(['m1', 'm2'])
    expect(source.health()).toMatchObject({ ready: true, detail: 'consuming' })
  }, 60_000)

  it('does not hold up a stop when it is silent', async () => {
    const { source } = rabbitSource(broker.url, { queue: 'silent' })
    opened.push(source)
    const intake = new RecordingIntake()
    await source.open(intake)
    broker.freeze()
    try {
      const from = performance.now()
      await source.close()
      expect(performance.now() - from).toBeLessThan(12_000)
    } finally {
      broker.thaw()
    }
  }, 60_000)
})

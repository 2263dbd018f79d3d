import { eventually } from '../../kit/eventually.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type KafkaOptions } from '../../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../../adapters/kafkajs/client.ts'
import type { Delivery, Source } from '../../../src/internal.ts'
import { uniqueName } from '../../kit/namespace.ts'
import { ScriptedKafka, type ScriptedConsumer } from '../../kafka/scripted.ts'

const opened: Source[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((source) => source.close()))
})

/** Counts what is delivered in each turn of the event loop, which bears so many deliveries and the rest of their slice. */
class CountingIntake extends RecordingIntake {
  readonly turns: number[] = []
  readonly #bearsInATurn: number
  #inTurn = 0

  constructor(maxInFlight: number, bearsInATurn: number = Number.POSITIVE_INFINITY) {
    super()
    this.capacity = { ...this.capacity, maxInFlight }
    this.#bearsInATurn = bearsInATurn
  }

  get isTurnOver(): boolean {
    return this.#inTurn >= this.#bearsInATurn
  }

  override deliver(deliveries: readonly Delivery[]): void {
    if (this.#inTurn === 0) {
      setImmediate(() => {
        this.turns.push(this.#inTurn)
        this.#inTurn = 0
      })
    }
    this.#inTurn += deliveries.length
    super.deliver(deliveries)
  }

  of(partition: number): readonly Delivery[] {
    return this.deliveries.filter(({ message }) => message.position.startsWith(`${partition}@`))
  }
}

interface Started {
  readonly consumer: ScriptedConsumer
  readonly source: Source
  readonly intake: CountingIntake
}

/** A source that has joined with so many partitions of `t`, each of them empty before 0. */
async function start(
  partitions: number,
  maxInFlight: number,
  { bearsInATurn, ...options }: Partial<KafkaOptions> & { readonly bearsInATurn?: number } = {},
): Promise<Started> {
  const kafka = new ScriptedKafka()
  kafka.topics.push('t')
  const numbers = Array.from({ length: partitions }, (_, partition) => partition)
  for (const one of numbers) {
    kafka.bounds.set(`t/${one}`, { low: 0n, high: 100_000n })
    kafka.committed.set(`t/${one}`, 0n)
  }
  kafka.onRun = (consumer) => consumer.join({ t: numbers })
  const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group'), commitEveryMs: 5, ...options })
  opened.push(source)
  const intake = new CountingIntake(maxInFlight, bearsInATurn)
  await source.open(intake)
  return { consumer: kafka.newest, source, intake }
}

const upTo = (end: number, from = 0): number[] => Array.from({ length: end - from }, (_, index) => from + index)

function settle(deliveries: readonly Delivery[]): void {
  for (const delivery of deliveries) delivery.settle()
}

describe('a batch of thousands of messages', () => {
  it('is taken in one turn of the event loop, and so are eight: what arrives together is claimed together', async () => {
    const { consumer, intake } = await start(8, 5_000)
    await Promise.all(upTo(8).map((partition) => consumer.fetch(`t/${partition}`, 0, upTo(2_000))))
    await intake.untilDelivered(16_000)
    await nextTurn()
    // At most 2,000 in a turn, and the rest of their slices.
    expect(intake.turns).toEqual([...Array<number>(7).fill(2_048), 16_000 - 7 * 2_048])
  })

  it('leaves the others their turns: each partition gives 64 messages, and then the next one', async () => {
    const { consumer, intake } = await start(3, 10_000, { bearsInATurn: 640 })
    await Promise.all(upTo(3).map((partition) => consumer.fetch(`t/${partition}`, 0, upTo(640))))
    await intake.untilDelivered(3 * 640)
    const order = intake.batches.map(([first]) => first?.message.position.split('@')[0])
    // Each begins some microtasks after the one before, and has so much more behind it.
    for (const partition of ['0', '1', '2']) expect(order.slice(0, 9)).toContain(partition)
    expect(order.slice(9, 21).join('')).toMatch(/^(?:012|120|201)+$/)
  })

  it('is taken in several turns if one does not bear it: eight at once give no turn more than that', async () => {
    const { consumer, intake } = await start(8, 5_000, { bearsInATurn: 250 })
    await Promise.all(upTo(8).map((partition) => consumer.fetch(`t/${partition}`, 0, upTo(2_000))))
    await intake.untilDelivered(16_000)
    expect(Math.max(...intake.turns)).toBeLessThanOrEqual(250 + 64)
    expect(intake.turns.length).toBeLessThanOrEqual(16_000 / 250)
  })

  it('waits as it is beyond maxInFlight, and is taken when half is left; then its partition is fetched again', async () => {
    const { consumer, intake } = await start(1, 100)
    await consumer.fetch('t/0', 0, upTo(250))
    expect(intake.deliveries).toHaveLength(100)
    expect([...consumer.pausedNow]).toEqual(['t/0'])
    settle(intake.deliveries.slice(0, 49))
    await nextTurn()
    expect(intake.deliveries).toHaveLength(100)
    settle(intake.deliveries.slice(49, 50))
    await intake.untilDelivered(150)
    settle(intake.deliveries.slice(50))
    await intake.untilDelivered(250)
    expect([...consumer.pausedNow]).toEqual(['t/0'])
    settle(intake.deliveries.slice(150))
    await intake.untilTold('partition-resumed')
    expect([...consumer.pausedNow]).toEqual([])
    await consumer.fetch('t/0', 250, [250])
    expect(intake.positions).toEqual(upTo(251).map((offset) => `0@${offset}`))
    settle(intake.deliveries)
    await eventually(async () => consumer.commits.at(-1) === 't/0@251')
  })

  it('lets other partitions go on, each with a maxInFlight of its own', async () => {
    const { consumer, intake } = await start(3, 100)
    await Promise.all([consumer.fetch('t/0', 0, upTo(1_000)), consumer.fetch('t/1', 0, upTo(1_000))])
    await consumer.fetch('t/2', 0, upTo(60))
    expect([0, 1, 2].map((partition) => intake.of(partition).length)).toEqual([100, 100, 60])
  })

  it('is committed up to the first message that waits, while running and at the stop', async () => {
    const { consumer, intake, source } = await start(1, 100)
    await consumer.fetch('t/0', 10, upTo(300, 10)).catch(() => {})
    expect(intake.deliveries).toHaveLength(0) // From 0 on, or not at all.
    await consumer.fetch('t/0', 0, upTo(300))
    await source.stopIntake()
    settle(intake.deliveries)
    await source.close()
    expect(intake.deliveries).toHaveLength(100)
    expect(consumer.commits.at(-1)).toBe('t/0@100')
  })

  it('is forgotten by a join as far as it waits, and read again from what is committed', async () => {
    const { consumer, intake } = await start(1, 100)
    await consumer.fetch('t/0', 0, upTo(300))
    consumer.join({ t: [0] })
    settle(intake.deliveries)
    await nextTurn()
    expect(intake.deliveries).toHaveLength(100)
    await consumer.fetch('t/0', 0, upTo(80))
    expect(intake.positions.slice(100)).toEqual(upTo(80).map((offset) => `0@${offset}`))
  })

  it('is resolved before anything else happens: a join in the middle of it moves no position of the next epoch', async () => {
    const { consumer, intake } = await start(1, 10_000)
    const taking = consumer.fetch('t/0', 0, upTo(2_000))
    await intake.untilDelivered(1)
    expect(consumer.resolved).toEqual(['t/0@1999'])
    consumer.join({ t: [0] })
    await taking
    expect(consumer.resolved).toEqual(['t/0@1999'])
  })

  it('that comes behind one which waits is dropped unresolved: one of each partition is in memory', async () => {
    const { consumer, intake } = await start(1, 100)
    await consumer.fetch('t/0', 0, upTo(300))
    await consumer.fetch('t/0', 300, upTo(400, 300))
    expect(consumer.resolved).toEqual(['t/0@299'])
    settle(intake.deliveries)
    await intake.untilDelivered(200)
    settle(intake.deliveries)
    await intake.untilDelivered(300)
    expect(intake.positions.at(-1)).toBe('0@299')
  })
})

/** What comes first: the end of so many messages, or the next fetch. */
async function endOrFetch(count: number): Promise<readonly string[]> {
  const { consumer, intake } = await start(1, 5_000)
  const seen: string[] = []
  const fetching = consumer.fetch('t/0', 0, upTo(count)).then(() => seen.push('next fetch'))
  await intake.untilDelivered(count)
  // As for a claim, a handler and a mark that are quickly answered.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
  seen.push('ended')
  settle(intake.deliveries)
  await fetching
  return seen
}

describe('a batch of few messages', () => {
  it('ends before the client works for its next fetch; one of many does not wait for that', async () => {
    // On a machine that is held up for a moment they do not end soon.
    const tries: string[] = []
    while (tries.length < 20 && !tries.includes('ended, next fetch')) tries.push((await endOrFetch(8)).join(', '))
    expect(tries.at(-1)).toBe('ended, next fetch')
    expect(await endOrFetch(9)).toEqual(['next fetch', 'ended'])
  })

  it('that does not end soon holds up no fetch', async () => {
    const { consumer, intake } = await start(1, 5_000)
    await consumer.fetch('t/0', 0, upTo(1))
    await consumer.fetch('t/0', 1, upTo(2, 1))
    expect(intake.positions).toEqual(['0@0', '0@1'])
  })
})

describe('one message that never ends', () => {
  it('lets its partition use all of maxWatermarkLag, also after that was full by number once', async () => {
    const { consumer, intake } = await start(1, 100, { maxWatermarkLag: 1_000 })
    intake.onDeliver = (delivery) => {
      if (delivery.message.position !== '0@0') setImmediate(() => delivery.settle())
    }
    await consumer.fetch('t/0', 0, upTo(600))
    await intake.untilDelivered(600)
    await consumer.fetch('t/0', 600, upTo(1_500, 600))
    await intake.untilDelivered(1_000)
    await nextTurn()
    expect(intake.deliveries).toHaveLength(1_000)
    settle(intake.deliveries.slice(0, 1))
    await intake.untilDelivered(1_500)
  })
})

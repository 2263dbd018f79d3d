import { describe, expect, it } from '@jest/globals'
import { Relay, type RelayOptions } from '../../../src/outbox/relay.ts'
import { BrokerError } from '../../../src/index.ts'
import { unanswered } from '../../../src/foundation/errors.ts'
import type {
  OutboxTable,
  OutgoingRow,
  OutgoingSystem,
  RelayEvent,
  TakenRows,
  UnpublishedRow,
} from '../../../src/ports/outbox.ts'
import { ManualClock } from '../../kit/manual-clock.ts'

/** Rows in memory; a line belongs to one relay at a time. */
class Table implements OutboxTable {
  readonly rows: OutgoingRow[] = []
  readonly putOff: UnpublishedRow[] = []
  looks = 0
  takes = 0
  failure: Error | undefined
  readonly #locked = new Set<number>()

  add(id: string, line: number, system: OutgoingSystem = 'kafka'): void {
    const value = Buffer.from(id)
    const row = { id, line, attempts: 0, hasWaited: false, system, messageId: id, place: 't' } as const
    this.rows.push({ ...row, key: null, value, attributes: '{}' })
  }

  async open(): Promise<void> {}

  async isAnyDue(systems: readonly OutgoingSystem[]): Promise<boolean> {
    this.looks++
    if (this.failure !== undefined) throw this.failure
    return this.#due(systems).length > 0
  }

  async take(most: number, systems: readonly OutgoingSystem[]): Promise<TakenRows | undefined> {
    this.looks++
    this.takes++
    if (this.failure !== undefined) throw this.failure
    const rows = this.#due(systems)
      .filter(({ line }) => !this.#locked.has(line))
      .slice(0, most)
    if (rows.length === 0) return undefined
    const lines = new Set(rows.map(({ line }) => line))
    for (const line of lines) this.#locked.add(line)
    return {
      rows,
      settle: async (published, unpublished) => {
        await this.settle(published, unpublished)
        for (const line of lines) this.#locked.delete(line)
      },
    }
  }

  #due(systems: readonly OutgoingSystem[]): readonly OutgoingRow[] {
    const waiting = new Set(this.putOff.map(({ row }) => row.line))
    return this.rows.filter(({ line, system }) => !waiting.has(line) && systems.includes(system))
  }

  async settle(published: readonly OutgoingRow[], unpublished: readonly UnpublishedRow[]): Promise<void> {
    for (const row of published) this.rows.splice(this.rows.indexOf(row), 1)
    const isOver = (row: OutgoingRow): boolean =>
      published.includes(row) || unpublished.some((one) => one.row === row && one.as !== 'parked')
    const left = this.putOff.splice(0).filter(({ row }) => !isOver(row))
    this.putOff.push(...left, ...unpublished.filter((one) => one.as === 'parked' || one.retryAfterMs > 0))
  }
}

interface Rig {
  readonly relay: Relay
  readonly table: Table
  readonly clock: ManualClock
  readonly sent: string[]
  readonly told: RelayEvent[]
}

function rig(more: Partial<RelayOptions> = {}): Rig {
  const [table, clock, sent, told] = [new Table(), new ManualClock(), [] as string[], [] as RelayEvent[]]
  const relay = new Relay({
    table,
    publish: { kafka: async ({ messageId }) => void sent.push(String(messageId)) },
    pollMs: 100,
    maxAttempts: undefined,
    clock,
    entropy: { fraction: () => 0 },
    tell: (event) => told.push(event),
    ...more,
  })
  return { relay, table, clock, sent, told }
}

/** A broker that answers some messages alone, and the others when they are let go. */
const partly = (isAnswered: (id: string) => boolean): Rig & { readonly letGo: (error?: Error) => Promise<void> } => {
  const held: ((error?: Error) => void)[] = []
  const sent: string[] = []
  const publish = ({ messageId }: Readonly<Record<string, unknown>>): Promise<void> =>
    new Promise((resolve, reject) => {
      const id = String(messageId)
      const end = (error?: Error): void => (error === undefined ? resolve(void sent.push(id)) : reject(error))
      if (isAnswered(id)) end()
      else held.push(end)
    })
  const made = rig({ publish: { kafka: publish, rabbitmq: publish } })
  const letGo = async (error?: Error): Promise<void> => {
    for (const end of held.splice(0)) end(error)
    await made.clock.advance(0)
    await made.clock.advance(0)
  }
  return { ...made, sent, letGo }
}

const SECOND = 1_000
const advance = async (clock: ManualClock, seconds: number): Promise<void> => {
  for (let turn = 0; turn < seconds * 4; turn++) await clock.advance(SECOND / 4)
}

describe('a relay', () => {
  it('looks when it is woken, and for the rows of others each pollMs', async () => {
    const { relay, table, clock, sent } = rig()
    relay.start()
    await clock.advance(0)
    table.add('a', 1)
    relay.wake()
    await clock.advance(0)
    expect(sent).toEqual(['a'])
    table.add('b', 1)
    await clock.advance(0)
    expect(sent).toEqual(['a'])
    await clock.advance(100)
    await clock.advance(0)
    expect(sent).toEqual(['a', 'b'])
    await relay.stop(0)
  })

  it('stops when the last of those who started it stops it, and publishes what is there first', async () => {
    const { relay, table, clock, sent } = rig()
    relay.start()
    relay.start()
    await relay.stop(1_000)
    table.add('a', 1)
    relay.wake()
    await clock.advance(0)
    expect(sent).toEqual(['a'])
    table.add('b', 1)
    await relay.stop(1_000)
    expect(sent).toEqual(['a', 'b'])
    const { looks } = table
    table.add('c', 1)
    relay.wake()
    await clock.advance(0)
    expect(table.looks).toBe(looks)
  })

  it('may be started again while it still stops', async () => {
    const held: (() => void)[] = []
    const { relay, table, clock, sent } = rig({
      publish: {
        kafka: ({ messageId }) => {
          sent.push(String(messageId))
          return new Promise((resolve) => void held.push(resolve))
        },
      },
    })
    table.add('a', 1)
    relay.start()
    await clock.advance(0)
    const stopped = relay.stop(1_000)
    relay.start()
    table.add('b', 2)
    relay.wake()
    await clock.advance(0)
    expect(sent).toEqual(['a', 'b'])
    held[1]?.()
    const { takes } = table
    await clock.advance(500)
    // Two workers, one of which waits for the broker; those of the first start take nothing more.
    expect(table.takes - takes).toBeLessThanOrEqual(12)
    held[0]?.()
    await stopped
    await relay.stop(0)
    expect(clock.pending).toBe(0)
  })

  it('waits while broker or database is down, longer each time, and no wake shortens that', async () => {
    let isDown = true
    const { relay, table, clock, told, sent } = rig({
      publish: {
        kafka: async ({ messageId }) => {
          if (isDown) throw new BrokerError('BROKER_UNREACHABLE', 'nobody there')
          sent.push(String(messageId))
        },
      },
    })
    table.add('a', 1)
    relay.start()
    await clock.advance(0)
    expect(told).toContainEqual({ event: 'waits', cause: 'nobody there', forMs: 500 })
    relay.wake()
    await clock.advance(0)
    expect(told).toHaveLength(1) // It looks for rows of the other broker; this one is not asked again.
    await clock.advance(500)
    await clock.advance(0)
    expect(told.filter(({ event }) => event === 'waits').length).toBeGreaterThan(1)
    expect(table.putOff).toEqual([])
    isDown = false
    await relay.stop(10_000) // It tries once more.
    expect(sent).toEqual(['a'])
    expect(clock.pending).toBe(0)
  })

  it('stops after one more look where the broker is still down: the rows are for the next relay', async () => {
    const { relay, table, clock } = rig({
      publish: {
        kafka: async () => {
          throw new BrokerError('BROKER_UNREACHABLE', 'nobody there')
        },
      },
    })
    table.add('a', 1)
    relay.start()
    await clock.advance(0)
    await relay.stop(10_000)
    expect(table.rows).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('goes on after an error of the database', async () => {
    const { relay, table, clock, sent } = rig()
    table.failure = new Error('connection lost')
    relay.start()
    await clock.advance(0)
    table.failure = undefined
    table.add('a', 1)
    await clock.advance(60_000)
    await clock.advance(0)
    expect(sent).toEqual(['a'])
    await relay.stop(0)
  })

  it('leaves alone what lies behind a row that failed, and tells which one', async () => {
    const { relay, table, clock, told, sent } = rig({
      publish: {
        kafka: async ({ messageId }) => {
          if (messageId === 'a') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'too large')
          sent.push(String(messageId))
        },
      },
      maxAttempts: 1,
    })
    table.add('a', 1)
    table.add('b', 1)
    table.add('c', 2)
    relay.start()
    await clock.advance(0)
    expect(sent).toEqual(['c'])
    expect(table.putOff).toMatchObject([{ row: { id: 'a' }, as: 'parked', cause: 'too large' }])
    expect(told).toContainEqual({ event: 'parked', place: 't', messageId: 'a', cause: 'too large' })
    await relay.stop(0)
  })

  it('counts no attempt of what RabbitMQ refuses with another message, and sends each by itself', async () => {
    let inFlight: { readonly id: string; readonly end: (error?: Error) => void }[] = []
    const sent: string[] = []
    /** A bad one closes the channel: all that is in flight is refused. */
    const answer = (): void => {
      const all = inFlight
      inFlight = []
      const isClosed = all.some(({ id }) => id.startsWith('bad'))
      for (const { end } of all) end(isClosed ? new BrokerError('BROKER_PUBLISH_REFUSED', 'no exchange') : undefined)
    }
    const { relay, table, clock } = rig({
      publish: {
        rabbitmq: ({ messageId }) =>
          new Promise<void>((resolve, reject) => {
            const id = String(messageId)
            const end = (error?: Error): void => (error === undefined ? resolve(void sent.push(id)) : reject(error))
            if (inFlight.push({ id, end }) === 1) setImmediate(answer)
          }),
      },
    })
    for (const [line, id] of ['bad-1', 'a', 'b', 'bad-2', 'c'].entries()) table.add(id, line, 'rabbitmq')
    relay.start()
    for (let turn = 0; turn < 30; turn++) await clock.advance(0)
    expect(sent.toSorted()).toEqual(['a', 'b', 'c'])
    expect(table.putOff.map(({ row }) => row.id)).toEqual(['bad-1', 'bad-2'])
    await relay.stop(0)
  })

  it('tells each listener how many messages of each place were published, whatever another listener does', async () => {
    const { relay, table, clock, told } = rig()
    relay.watch(() => {
      throw new Error('theirs')
    })
    const seen: RelayEvent[] = []
    relay.watch((event) => void seen.push(event))
    for (const [at, id] of ['a', 'b', 'c'].entries()) table.add(id, at)
    table.rows.push(...table.rows.splice(0).map((row) => ({ ...row, place: row.id === 'b' ? 'other' : 't' })))
    relay.start()
    await clock.advance(0)
    expect(seen).toEqual([
      { event: 'published', place: 't', count: 2 },
      { event: 'published', place: 'other', count: 1 },
    ])
    expect(told).toEqual(seen)
    await relay.stop(0)
  })

  it('counts a message for a broker that it has no publisher for as failed, and survives a listener that throws', async () => {
    const { relay, table, clock } = rig({
      publish: {},
      tell: () => {
        throw new Error('theirs')
      },
    })
    table.add('a', 1)
    relay.start()
    await clock.advance(0)
    expect(table.putOff).toMatchObject([{ cause: 'the outbox has no publisher for Kafka', retryAfterMs: 500 }])
    await relay.stop(0)
  })

  it('leaves a message that is not answered for 2 s alone, with its line, and settles it when it is', async () => {
    const { relay, table, clock, sent, letGo } = partly((id) => id !== 'stuck')
    for (const [id, line] of [
      ['stuck', 1],
      ['behind', 1],
      ['other', 2],
    ] as const)
      table.add(id, line)
    relay.start()
    await advance(clock, 4)
    expect(table.putOff).toMatchObject([{ row: { id: 'stuck' }, as: 'unanswered', cause: undefined }])
    table.add('later', 3)
    await advance(clock, 1)
    expect(sent).toEqual(['other', 'later'])
    await letGo()
    await advance(clock, 1)
    expect(sent).toEqual(['other', 'later', 'stuck', 'behind'])
    expect(table.rows).toEqual([])
    await relay.stop(0)
    expect(clock.pending).toBe(0)
  })

  it('counts no attempt of a message that is not answered, also when it is rejected late', async () => {
    const { relay, table, clock, told, letGo } = partly((id) => id !== 'stuck')
    for (const [id, line] of [
      ['stuck', 1],
      ['other', 2],
    ] as const)
      table.add(id, line)
    relay.start()
    await advance(clock, 4)
    await letGo(unanswered(new BrokerError('BROKER_PUBLISH_REFUSED', 'no leader')))
    expect(table.putOff).toMatchObject([{ row: { id: 'stuck' }, as: 'unanswered', cause: 'no leader' }])
    expect(told.map(({ event }) => event)).not.toContain('failed')
    await relay.stop(0)
  })

  it('gives what is under way to the next relay when it stops', async () => {
    const { relay, table, clock } = partly((id) => id !== 'stuck')
    for (const [id, line] of [
      ['stuck', 1],
      ['other', 2],
    ] as const)
      table.add(id, line)
    relay.start()
    await advance(clock, 4)
    expect(table.putOff).toHaveLength(1)
    await relay.stop(0)
    expect(table.putOff).toEqual([])
    expect(table.rows).toMatchObject([{ id: 'stuck' }])
  })

  it('publishes to RabbitMQ while Kafka does not answer, and asks Kafka with few messages', async () => {
    const { relay, table, clock, sent } = partly((id) => id.startsWith('rabbit'))
    for (let n = 0; n < 3_000; n++) table.add(`kafka-${n}`, n)
    relay.start()
    await advance(clock, 4)
    for (let n = 0; n < 600; n++) table.add(`rabbit-${n}`, 10_000 + n, 'rabbitmq')
    await advance(clock, 1)
    expect(sent).toHaveLength(600)
    await advance(clock, 60)
    // Two batches, and 20 each time that it is asked.
    expect(table.putOff.length).toBeLessThan(1_500)
    await relay.stop(0)
  })
})

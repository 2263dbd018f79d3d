import { describe, expect, it, jest } from '@jest/globals'
import { PartitionHolds } from '../../../adapters/kafka/membership/partition-holds.ts'
import { RetryDelays } from '../../../adapters/kafka/intake/retry-delays.ts'
import { Assignment } from '../../../adapters/kafka/membership/assignment.ts'
import type { PartitionEpoch } from '../../../adapters/kafka/membership/partition-epoch.ts'
import type { FetchedBatch } from '../../../adapters/kafka/client.ts'

const DELAY_MS = 60_000
const PLACE = { kind: 'retry', topic: 'r', sources: ['t'], delayMs: DELAY_MS } as const

/** One retry topic of a minute, whose messages have no time of their own; the monotonic clock is moved by hand. */
class Bench implements Disposable {
  readonly delays: RetryDelays
  readonly #assignment = new Assignment()
  readonly #now = jest.spyOn(performance, 'now').mockReturnValue(0)

  constructor() {
    const holds = new PartitionHolds({
      assignment: this.#assignment,
      report: () => {},
      consumer: () => undefined,
      resuming: () => {},
    })
    this.delays = new RetryDelays(holds, [PLACE])
    this.#assignment.join({ r: [0] })
  }

  at(ms: number): void {
    this.#now.mockReturnValue(ms)
  }

  /** Whether the message at `offset` of a log that ends at `high` may be taken. */
  isDue(offset: number, high: number): boolean {
    return this.delays.takeDue(this.epoch, batchOf(offset, high)).length > 0
  }

  get epoch(): PartitionEpoch {
    const epoch = this.#assignment.live('r', 0)
    if (epoch === undefined) throw new Error('not joined')
    return epoch
  }

  [Symbol.dispose](): void {
    this.delays.forget()
    this.#now.mockRestore()
  }
}

function batchOf(offset: number, high: number): FetchedBatch {
  const headers = { 'consume-once-not-before': String(Date.now() + DELAY_MS) }
  const message = { key: null, value: null, timestamp: '-1', offset: String(offset), headers }
  return {
    topic: 'r',
    partition: 0,
    highWatermark: String(high),
    messages: [message],
    lastOffset: () => String(offset),
  }
}

describe('a message of a retry topic', () => {
  it('has waited since the first look at its log', () => {
    using bench = new Bench()
    expect(bench.isDue(0, 10)).toBe(false)
    bench.at(DELAY_MS)
    expect([bench.isDue(9, 12), bench.isDue(10, 12)]).toEqual([true, false])
  })

  it('waits for its delay where its log ends before what was seen: it is another one', () => {
    using bench = new Bench()
    expect(bench.isDue(0, 10)).toBe(false)
    bench.at(DELAY_MS)
    expect(bench.isDue(0, 5)).toBe(false)
    bench.at(2 * DELAY_MS)
    expect(bench.isDue(0, 5)).toBe(true)
  })

  it('waits for its delay where its log turned out to be another one', () => {
    using bench = new Bench()
    expect(bench.isDue(0, 10)).toBe(false)
    bench.at(DELAY_MS)
    bench.delays.anotherLog(bench.epoch)
    expect(bench.isDue(0, 20)).toBe(false)
  })
})

import { withDuplicates } from '../../bench/places/duplicates.ts'
import { defineConsumer } from '../../src/consumer/define-consumer.ts'
import type { ConsumerOptions } from '../../src/consumer/options.ts'
import { messageId } from '../../src/identity/message-id.ts'
import type { Publisher, Source } from '../../src/ports/source.ts'
import { runConsumer } from '../../src/run/run.ts'
import { LogSource } from '../kit/log-source.ts'
import { ManualClock } from '../kit/manual-clock.ts'
import { RecordingSource } from '../kit/recording-source.ts'
import { steadyEntropy } from '../kit/rig.ts'
import type { Counted } from './expected.ts'
import type { Lockstep } from './lockstep.ts'

const MESSAGES = 1_000
/** Enough for the batches of an inbox to reach their size. */
const MESSAGES_BEFORE = 500

/** 1 KB. */
export const PAYLOAD: object = { text: 'x'.repeat(1_013) }

/** Reads all counters of a place. */
export type Meter = () => Counted | Promise<Counted>

interface Sending {
  readonly source: Source & Publisher
  readonly send: (messages: number) => void
  /** How many messages are settled. */
  readonly settled: () => number
}

export type Options<Tx> = Omit<ConsumerOptions<unknown, unknown, Tx>, 'name' | 'id'>

/**
 * What 1,000 messages cost a consumer that has run for a while, when they wait for it all at once. Its clock stands
 * still: handlers are quick, and no timer runs.
 */
export async function countedRun<Tx>(options: Options<Tx>, gate: Lockstep, meter: Meter): Promise<Counted> {
  const { source, send, settled } = options.store.strategy === 'offsets' ? partitions() : queue()
  const consumer = defineConsumer({
    ...options,
    ...(options.store.strategy === 'offsets' ? {} : { id: messageId.header('id') }),
    name: 'counts',
    store: gate.through(options.store),
  } as ConsumerOptions<unknown, unknown, Tx>)
  const dependencies = { source, publisher: source, clock: new ManualClock(), entropy: steadyEntropy() }
  const running = await runConsumer(consumer, dependencies)
  try {
    send(MESSAGES_BEFORE)
    await gate.rest()
    const before = await meter()
    send(MESSAGES)
    await gate.rest()
    const after = await meter()
    const sent = MESSAGES_BEFORE + MESSAGES
    if (settled() !== sent) throw new Error(`expected ${sent} messages to be settled, got ${settled()}`)
    return difference(before, after)
  } finally {
    await running.stop({ deadlineMs: 0 })
  }
}

/** A fifth are repeats of what came 10 to 500 messages before, as in a benchmark. */
function queue(): Sending {
  const source = new RecordingSource()
  let sends = 0
  return {
    source,
    send: (messages) => {
      const batch = ++sends
      const { idOf } = withDuplicates(messages)
      source.deliver(...Array.from({ length: messages }, (_, at) => ({ id: `${batch}-${idOf(at)}`, payload: PAYLOAD })))
    },
    settled: () => source.deliveries.filter(({ settled }) => settled === 1).length,
  }
}

/** Four partitions, without repeats: a log that is read from its stored position has none. */
function partitions(): Sending {
  const log = new Map<string, Map<bigint, unknown>>()
  for (let partition = 0; partition < 4; partition++) log.set(`topic/${partition}`, new Map())
  const source = new LogSource(log)
  return {
    source,
    send: (messages) => {
      for (const [stream, partition] of log) {
        for (let left = messages / log.size; left > 0; left--) partition.set(BigInt(partition.size), PAYLOAD)
        source.fetch(stream)
      }
    },
    settled: () => [...source.committed.values()].reduce((sum, next) => sum + Number(next), 0),
  }
}

export function difference(before: Counted, after: Counted): Counted {
  const counts = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count !== 0))
}

/** `ask` asks the server itself, which `wire` counts too: that is taken off. */
export function meterOf(wire: () => Counted, ask: () => Promise<Counted>): Meter {
  let own: Counted = {}
  return async () => {
    const before = wire()
    const asked = await ask()
    const counted = difference(own, before)
    const after = wire()
    own = Object.fromEntries(Object.keys(after).map((name) => [name, (after[name] ?? 0) - (counted[name] ?? 0)]))
    return { ...counted, ...asked }
  }
}

import {
  ConfigError,
  type AskedRange,
  type ReadOptions,
  type ReplayItem,
  type ReplayRange,
  type ReplayReader,
} from '../../../src/internal.ts'
import type { ResolvedKafka } from '../options/resolve.ts'
import type { KafkaClient } from '../client.ts'
import { answered, type LogPlace, type ReplayAdmin } from './log-place.ts'
import { rangeOf } from './range.ts'
import { Reading } from './reading.ts'

interface ReaderParts {
  readonly client: KafkaClient
  readonly adminClient: ReplayAdmin
  readonly options: ResolvedKafka
  readonly place: LogPlace
}

/** Also the most in a batch. */
const MOST_AHEAD = 1_000

/** Reads a topic, or one of its partitions, in a group of its own. */
export class LogReader implements ReplayReader {
  readonly takes = false
  readonly #parts: ReaderParts
  readonly #open = new Set<Reading>()

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  range(asked: AskedRange): Promise<ReplayRange> {
    const { adminClient, place } = this.#parts
    return answered(place, () => adminClient.askAgain((admin) => rangeOf(admin, place, asked)))
  }

  async *read(
    { parts }: ReplayRange,
    { from = {}, signal, ahead: asked = MOST_AHEAD }: ReadOptions,
  ): AsyncGenerator<readonly ReplayItem[], void> {
    const { place, ...shared } = this.#parts
    const foreign = parts.find(({ part }) => !isPartOf(place, part))
    if (foreign !== undefined) {
      throw new ConfigError([
        `range: expected partitions of topic ${place.topic}, got ${foreign.part}; open its own place`,
      ])
    }
    const rest = parts.map((part) => ({ ...part, from: from[part.part] ?? part.from }))
    const ahead = Math.max(1, Math.min(asked, MOST_AHEAD))
    const reading = new Reading({ ...shared, topic: place.topic, parts: rest, ahead, signal })
    this.#open.add(reading)
    try {
      await answered(place, () => reading.start())
      for (;;) {
        const items = await reading.next()
        if (items === undefined) return
        yield items
      }
    } finally {
      this.#open.delete(reading)
      await reading.end()
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((reading) => reading.end()))
  }
}

function isPartOf({ topic }: LogPlace, part: string): boolean {
  return part.startsWith(`${topic}/`) && /^\d{1,9}$/.test(part.slice(topic.length + 1))
}

import { ConfigError } from '../foundation/errors.ts'
import type { AskedRange, ReadOptions, ReplayItem, ReplayPlaces, ReplayRange, ReplayReader } from '../ports/replay.ts'
import type { MemoryBroker } from './broker.ts'

const BATCH = 100

/** The topics of a broker in this process as places of a replay, and its dead letters as `memory:dead-letters`. */
export function memoryReplay(broker: MemoryBroker): ReplayPlaces {
  return {
    system: 'memory',
    deadLetters: [DEAD_LETTERS],
    open: async (place) => new MemoryReader(broker, place),
    publisher: async () => ({
      publish: async (messages) => {
        for (const { item, destination, headers } of messages) {
          const { key, value, timestamp, headers: own } = item.message
          const at = timestamp === undefined ? {} : { timestamp }
          broker.publish(destination, { key, value, headers: { ...own, ...headers }, ...at })
        }
      },
      close: async () => {},
    }),
  }
}

const DEAD_LETTERS = 'dead-letters'

class MemoryReader implements ReplayReader {
  readonly takes = false
  readonly #parts: ReadonlyMap<string, readonly Omit<ReplayItem, 'part' | 'position'>[]>

  /** @throws ConfigError `CONFIG_INVALID` */
  constructor(broker: MemoryBroker, place: string) {
    const parts = place === DEAD_LETTERS ? deadLettersOf(broker) : logsOf(broker, place)
    if (parts.size === 0) throw new ConfigError([`from: expected a topic, got ${JSON.stringify(place)}`])
    this.#parts = parts
  }

  async range({ from = 0n, to, max = Number.POSITIVE_INFINITY }: AskedRange): Promise<ReplayRange> {
    let left = max
    const parts = [...this.#parts].map(([part, items]) => {
      const end = Math.min(Number(to ?? items.length), items.length, Number(from) + left)
      left -= Math.max(0, end - Number(from))
      return { part, from: String(from), to: String(Math.max(Number(from), end)) }
    })
    return { parts, warnings: [] }
  }

  async *read({ parts }: ReplayRange, { from = {}, signal }: ReadOptions): AsyncIterable<readonly ReplayItem[]> {
    for (const { part, from: begin, to } of parts) {
      const items = this.#parts.get(part) ?? []
      for (let at = Number(from[part] ?? begin); at < Number(to); at += BATCH) {
        if (signal.aborted) return
        const end = Math.min(at + BATCH, Number(to))
        yield items.slice(at, end).map((item, index) => ({ ...item, part, position: String(at + index) }))
      }
    }
  }

  async close(): Promise<void> {}
}

type Items = Map<string, readonly Omit<ReplayItem, 'part' | 'position'>[]>

function logsOf(broker: MemoryBroker, topic: string): Items {
  return new Map(
    broker
      .logs(topic)
      .map((log, partition) => [
        `${topic}/${partition}`,
        log.map((message) => ({ message, timestamp: message.timestamp, timestampOf: 'producer' as const })),
      ]),
  )
}

function deadLettersOf({ deadLetters }: MemoryBroker): Items {
  const items = deadLetters.map(({ message, reason, parked, setAsideAt, consumer, group }) => ({
    message,
    timestamp: message.timestamp,
    timestampOf: 'producer' as const,
    deadLetter: { reason, parked, since: setAsideAt, consumer, group, destination: message.origin },
  }))
  return new Map([[DEAD_LETTERS, items]])
}

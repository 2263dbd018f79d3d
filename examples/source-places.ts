// What lets people replay the log, and send its dead letters back: for a config of the command-line tool.
import { ConfigError, deadLetterIn, redrivenHeaders } from 'consume-once/spi'
import type {
  AskedRange,
  ReadOptions,
  ReplayItem,
  ReplayPlaces,
  ReplayRange,
  ReplayReader,
  Republished,
  Subscription,
} from 'consume-once/spi'
import { deadLetterTopic, messageOf, textOf, type LogPlace } from './source.ts'
import type { Log } from './support/log.ts'

// #region subscription
export function logSubscription(log: Log, { topic, group }: LogPlace): Subscription {
  return { group, origins: [topic], replay: placesOf(log, topic) }
}

function placesOf(log: Log, topic: string): ReplayPlaces {
  return {
    system: 'example-log', // what stands before the `:` of `example-log:sms`
    deadLetters: [deadLetterTopic(topic)],
    open: async (place) => {
      if (place === topic || place === deadLetterTopic(topic)) return readerOf(log, place)
      throw new ConfigError([`from: expected ${topic} or ${deadLetterTopic(topic)}, got ${JSON.stringify(place)}`])
    },
    publisher: async () => ({
      publish: async (messages: readonly Republished[]) => {
        for (const one of messages) {
          const { key, value } = one.item.message
          await log.append(one.destination, { key: textOf(key), value, headers: redrivenHeaders(one) })
        }
      },
      close: async () => {},
    }),
  }
}
// #endregion

function readerOf(log: Log, topic: string): ReplayReader {
  return {
    takes: false, // a log is read again as often as one likes
    range: async ({ from = 0n, to, max = Number.POSITIVE_INFINITY }: AskedRange): Promise<ReplayRange> => {
      let left = max
      const parts = (await log.ends(topic)).map((end, partition) => {
        const until = Math.max(Number(from), Math.min(Number(to ?? end), end, Number(from) + left))
        left -= until - Number(from)
        return { part: `${topic}/${partition}`, from: String(from), to: String(until) }
      })
      return { parts, warnings: [] }
    },
    read: (range, options) => items(log, topic, range, options),
    close: async () => {},
  }
}

async function* items(
  log: Log,
  topic: string,
  { parts }: ReplayRange,
  { from: begin = {}, signal }: ReadOptions,
): AsyncIterable<readonly ReplayItem[]> {
  for (const [partition, { part, from, to }] of parts.entries()) {
    let next = Number(begin[part] ?? from)
    while (next < Number(to) && !signal.aborted) {
      const records = (await log.fetch(topic, partition, next)).filter(({ offset }) => offset < Number(to))
      next = (records.at(-1)?.offset ?? next) + 1
      yield records.map((record) => {
        const message = messageOf(topic, partition, record)
        const told = deadLetterIn(record.headers)
        const facts = told && { deadLetter: { ...told, destination: message.origin } }
        const { timestamp } = record
        return { part, position: String(record.offset), message, timestamp, timestampOf: 'broker' as const, ...facts }
      })
    }
  }
}

import { connect, type Socket } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { FAST, Cluster } from '../kafka/kit.ts'
import { backends } from '../kit/backends.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { changes } from './changes.ts'
import { PAYLOAD } from './consumed.ts'
import type { Counted } from './expected.ts'
import { Frames } from './frames.ts'
import { countedFrom, KINDS, type Kind } from './from-broker.ts'

const describeKafka = backends.has('kafka') ? describe : describe.skip

describeKafka('what 1,000 messages cost at Kafka', () => {
  let cluster: Cluster

  openedOnce(Cluster, (made) => (cluster = made))

  for (const [kind, title] of Object.entries(KINDS) as [Kind, string][]) {
    it(`costs what it did: ${title}`, async () => {
      const topic = await cluster.topic()
      const requests = new Requests()
      const retry: Pick<KafkaOptions, 'retry'> =
        kind === 'retries' ? { retry: { topics: [{ delayMs: 3_600_000 }] } } : {}
      const options = { ...FAST, ...retry, topics: [topic], group: uniqueName('counts'), commitEveryMs: 600_000 }
      const { source, publisher } = kafkaSource(cluster.client({ socketFactory: requests.socketFactory }), options)
      const value = JSON.stringify(PAYLOAD)
      const counted = await countedFrom(
        {
          source,
          publisher,
          // One record batch, so one fetch.
          send: (ids) =>
            cluster.send(
              topic,
              ids.map((id) => ({ value, headers: { id } })),
            ),
          meter: () => requests.counts,
        },
        kind,
      )
      const scene = `Kafka ${title}`
      expect(changes(scene, counted)).toBe('')
    })
  }
})

/** Requests that do not depend on how long a broker waits for messages, and their names. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [0, 'produce requests'],
  [8, 'offset commits'],
])

/** Counts what clients send to brokers. */
class Requests {
  readonly #counts: Record<string, number> = {}

  get counts(): Counted {
    return { ...this.#counts }
  }

  readonly socketFactory = ({ host, port, onConnect }: Connecting): Socket => {
    const socket = connect({ host, port }, onConnect)
    const sent = new Frames(
      (bytes) => (bytes.length < 4 ? undefined : 4 + bytes.readUInt32BE(0)),
      (frame) => this.#count(frame),
    )
    const write = socket.write.bind(socket) as (bytes: Buffer, ...more: unknown[]) => boolean
    socket.write = (bytes: Buffer, ...more: unknown[]) => {
      sent.read(bytes)
      return write(bytes, ...more)
    }
    return socket
  }

  #count(frame: Buffer): void {
    const name = NAMES.get(frame.readInt16BE(4))
    if (name === undefined) return
    this.#counts[name] = (this.#counts[name] ?? 0) + 1
    this.#counts['bytes sent'] = (this.#counts['bytes sent'] ?? 0) + frame.length
  }
}

interface Connecting {
  readonly host: string
  readonly port: number
  readonly onConnect: () => void
}

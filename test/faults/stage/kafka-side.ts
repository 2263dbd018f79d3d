import { uniqueName } from '../../support/namespace.ts'
import { kafkaVersion } from '../../support/servers/kafka/version.ts'
import { Cluster, eventually, type ReadMessage } from '../../adapters/kafkajs-kit.ts'
import type { FaultMessage } from '../message.ts'
import type { BrokerPlace, BrokerSide, Letter } from './broker-side.ts'

/**
 * Topics of one partition: what is sent in turn has the number of its send as offset. None is deleted before the end: a producer
 * of kafkajs that has sent to a topic asks for it with all others, and gets no answer for those any more.
 */
export async function kafkaSide(brokers: string[]): Promise<BrokerSide> {
  const cluster = await Cluster.open(brokers)
  const [broker = ''] = brokers
  return {
    version: `Kafka ${kafkaVersion()}`,
    async newPlace(): Promise<BrokerPlace> {
      const [topic, groupId] = [await cluster.topic(), uniqueName('faults')]
      return {
        group: groupId,
        origin: topic,
        port: Number(broker.split(':')[1]),
        worker: (port) => ({ kind: 'kafka', broker, port, topic, groupId }),
        placeOf: (send) => `${topic}/0@${send}`,
      }
    },
    send: ({ origin }, message: FaultMessage) =>
      cluster.send(origin, [{ key: message.id, value: JSON.stringify(message) }]),
    async isDrained({ group, origin }, sent) {
      // A broker that was restarted loads its groups first.
      const committed = await cluster.committed(group, origin).catch((): readonly number[] => [])
      return committed[0] === sent
    },
    async left({ group, origin, placeOf }, sent, hasLetters) {
      const committed = Math.max(0, (await cluster.committed(group, origin))[0] ?? 0)
      const unsettled = Array.from({ length: sent - committed }, (_, index) => placeOf(committed + index))
      const letters = hasLetters ? (await readAll(cluster, `${origin}.dead-letter`)).map(letterOf) : []
      return { unsettled, letters }
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

/** kafkajs fails with a TypeError where a broker does not answer for a partition yet. */
async function readAll(cluster: Cluster, topic: string): Promise<readonly ReadMessage[]> {
  let found: readonly ReadMessage[] = []
  await eventually(async () => {
    const messages = await cluster.read(topic, 0).catch(() => undefined)
    found = messages ?? []
    return messages !== undefined
  })
  return found
}

function letterOf({ value, headers }: ReadMessage): Letter {
  const { send } = JSON.parse(String(value)) as FaultMessage
  return { send, isParked: headers['x-parked'] !== undefined, reason: String(headers['x-dead-letter-reason']) }
}

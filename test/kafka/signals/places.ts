import type { StopPlaces } from '../../kit/stops/chain.ts'
import { Cluster, FAST } from '../kit.ts'

/** A topic for each consumer of a process that is told to stop. */
export async function stopPlaces(consumers: number): Promise<StopPlaces> {
  const cluster = await Cluster.open()
  const names = await Promise.all(Array.from({ length: consumers }, () => cluster.topic()))
  return {
    broker: { kind: 'kafka', brokers: cluster.brokers, options: FAST },
    names,
    send: async (topic, ids) => {
      const messages = ids.map((id) => ({ value: id, headers: { id } }))
      await cluster.send(topic, messages)
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

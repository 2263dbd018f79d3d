import type { StopPlaces } from '../../kit/stops/chain.ts'
import { Rabbit } from '../rabbit.ts'

/** A queue for each consumer of a process that is told to stop. */
export async function stopPlaces(consumers: number): Promise<StopPlaces> {
  const rabbit = await Rabbit.open()
  const names = Array.from({ length: consumers }, () => rabbit.name())
  for (const name of names) await rabbit.declare(name)
  return {
    broker: { kind: 'rabbitmq', url: rabbit.url },
    names,
    send: (queue, ids) => rabbit.send(queue, ids, { headersOf: (id) => ({ id }) }),
    [Symbol.asyncDispose]: () => rabbit[Symbol.asyncDispose](),
  }
}

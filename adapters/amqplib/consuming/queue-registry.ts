import { ConfigError } from '../../../src/index.ts'

/** A queue that is consumed in this process. */
interface Consumed {
  readonly consumer: string
  members: number
}

/** By what tells a virtual host, and by the queue's name there. */
const places = new Map<unknown, Map<string, Consumed>>()

/**
 * One queue, one consumer: those of two names would share the messages between them, so that each handles a part. `place` is the
 * same for what certainly leads to one virtual host of one broker. Returns what leaves the queue again.
 *
 * @throws ConfigError `CONSUMER_NAME_TAKEN`
 */
export function enterQueue(place: unknown, queue: string, consumer: string): () => void {
  const queues = places.get(place) ?? new Map<string, Consumed>()
  const consumed = queues.get(queue) ?? { consumer, members: 0 }
  if (consumed.consumer !== consumer) {
    throw new ConfigError([otherName(queue, consumed.consumer, consumer)], 'CONSUMER_NAME_TAKEN')
  }
  consumed.members++
  places.set(place, queues.set(queue, consumed))
  let hasLeft = false
  return () => {
    if (hasLeft) return
    hasLeft = true
    consumed.members--
    if (consumed.members === 0) queues.delete(queue)
    if (queues.size === 0 && places.get(place) === queues) places.delete(place)
  }
}

function otherName(queue: string, runs: string, got: string): string {
  return `queue: expected one consumer for one queue, got ${JSON.stringify(got)} where ${JSON.stringify(runs)} already consumes ${queue}: each would handle a part of the messages. Give each a queue of its own, bound to the same exchange`
}

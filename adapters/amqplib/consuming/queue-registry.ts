import { ConfigError } from '../../../src/internal.ts'

/** A queue that is consumed in this process. */
interface Consumed {
  readonly consumer: string
  members: number
}

/** By the identity of the virtual host, then by queue name. */
const places = new Map<unknown, Map<string, Consumed>>()

/**
 * Ensures one consumer for each queue in this process: two with different names would each handle a part of the
 * messages. `place` is equal only for connections to the same virtual host of the same broker. Returns a function that
 * leaves the queue.
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

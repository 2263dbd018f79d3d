import type { DeadLetterFacts, Message, ReplayItem } from '../../../src/internal.ts'
import { deadLetterFacts } from '../copies/dead-letter-facts.ts'
import { isAppendTimed } from '../copies/headers.ts'
import { toMessage } from '../intake/delivery.ts'
import type { Topology } from '../options/topology.ts'
import type { RawMessage } from '../client.ts'
import type { Part } from './part.ts'

export function itemOf(part: Part, raw: RawMessage, topology: Topology): ReplayItem {
  const read = toMessage(part, raw, (topic, named) => topology.originOf(topic, named))
  const deadLetter = deadLetterFacts(read)
  const message = { ...read, origin: originOf(read, deadLetter, topology) }
  return {
    part: part.name,
    position: raw.offset,
    message,
    timestamp: message.timestamp,
    timestampOf: isAppendTimed(message) ? 'broker' : 'producer',
    deadLetter,
  }
}

/**
 * The dead letter of another program has no origin that the library reads. On a topic that the live consumer does not
 * read, it has the one of its message, under which it runs when it is sent back.
 */
function originOf(
  { destination, origin }: Message,
  deadLetter: DeadLetterFacts | undefined,
  { sources }: Topology,
): string {
  const isForeign = deadLetter !== undefined && deadLetter.reason === undefined && !sources.includes(destination)
  return (isForeign ? deadLetter.destination : undefined) ?? origin
}

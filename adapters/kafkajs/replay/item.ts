import type { ReplayItem } from '../../../src/spi.ts'
import { deadLetterFacts } from '../copies/dead-letter-facts.ts'
import { isAppendTimed } from '../copies/headers.ts'
import { toMessage } from '../intake/delivery.ts'
import type { KafkaMessageLike } from '../slice.ts'
import type { Part } from './part.ts'

export function itemOf(part: Part, raw: KafkaMessageLike): ReplayItem {
  const message = toMessage(part, raw)
  return {
    part: part.name,
    position: raw.offset,
    message,
    timestamp: message.timestamp,
    timestampOf: isAppendTimed(message) ? 'broker' : 'producer',
    deadLetter: deadLetterFacts(message),
  }
}

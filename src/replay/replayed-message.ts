import { COPY_HEADER } from '../copies/vocabulary.ts'
import type { Message } from '../ports/message.ts'

/** Not a spread: the message of an adapter may be an object with getters. */
export function withReplayHeaders(message: Message, id: string, replays: number): Message {
  const { system, destination, origin, position, key, value, headers, messageId, timestamp } = message
  const { firstTimestamp, redelivered } = message
  const added = { [COPY_HEADER.replayId]: id, [COPY_HEADER.replayCount]: String(replays + 1) }
  return {
    system,
    destination,
    origin,
    position,
    key,
    value,
    messageId,
    timestamp,
    firstTimestamp,
    redelivered,
    headers: { ...headers, ...added },
  }
}

import type { Message } from '../ports/message.ts'
import { REPLAY_COUNT_HEADER, REPLAY_ID_HEADER } from '../ports/replay.ts'

/** Not a spread: the message of an adapter may be an object with getters. */
export function withReplayHeaders(message: Message, id: string, replays: number): Message {
  const { system, destination, origin, position, key, value, headers, messageId, timestamp, redelivered } = message
  const added = { [REPLAY_ID_HEADER]: id, [REPLAY_COUNT_HEADER]: String(replays + 1) }
  return {
    system,
    destination,
    origin,
    position,
    key,
    value,
    messageId,
    timestamp,
    redelivered,
    headers: { ...headers, ...added },
  }
}

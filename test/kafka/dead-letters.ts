import type { Message } from '../../src/index.ts'
import type { DeadLetter, RetryCopy } from '../../src/internal.ts'

/** As the library makes it: 22 characters. */
export const DEAD_LETTER_KEY = 'U1nmhO_WlHMIQdRLsEpnZw'

export function deadLetterOf(message: Message, more: Partial<DeadLetter> = {}): DeadLetter {
  return {
    message,
    key: DEAD_LETTER_KEY,
    reason: 'fatal',
    parked: false,
    detail: 'card declined',
    errorClass: 'TerminalError',
    attempts: 3,
    consumer: 'sms-sender',
    group: 'sms',
    ...more,
  }
}

export function messageOn(topic: string, more: Partial<Message> = {}): Message {
  return {
    system: 'kafka',
    destination: topic,
    origin: topic,
    position: '2@17',
    key: Buffer.from('k'),
    value: Buffer.from('v'),
    headers: {},
    timestamp: 1_700_000_000_000,
    ...more,
  }
}

export function retryCopyOf(message: Message, more: Partial<RetryCopy> = {}): RetryCopy {
  const { reason: _reason, parked: _parked, ...deadLetter } = deadLetterOf(message)
  return { ...deadLetter, why: 'failed', attempts: 1, delayMs: 60_000, ...more }
}
